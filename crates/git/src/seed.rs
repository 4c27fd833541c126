//! Seeds: the few small files that make a sandbox's `.git` its own, over a layer that it shares with others.

use carrel_model::{Branch, CommitId, RefName, TaskId};

use crate::{GitError, Mirror, commit::Identity, refs};

/// What a sandbox's repository is to be like.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The branch that is checked out.
    pub branch: Branch,
    /// The commit that it begins at; its tree is the layer's.
    pub commit: CommitId,
    /// The task, for the trailer of commits.
    pub task: Option<TaskId>,
    /// Who commits.
    pub author: Option<Identity>,
    /// Where `origin` is, as the sandbox sees it: the gateway. It holds no secret.
    pub origin: String,
}

/// A file to be laid into a sandbox before anybody works there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Laid {
    /// Where, below the working tree.
    pub path: String,
    /// What it holds.
    pub content: String,
    /// Whether it is a program.
    pub runs: bool,
}

/// The files that make a checkout its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seed {
    /// Each of them.
    pub files: Vec<Laid>,
}

/// The hook that writes the task into a commit, unless it is there already. It runs inside, like anybody's hook.
fn commit_hook(task: TaskId) -> String {
    format!(
        "#!/bin/sh\n# Says which task a commit belongs to.\nexec git interpret-trailers --in-place --if-exists doNothing \
         --trailer 'Carrel-Task: {task}' \"$1\"\n"
    )
}

impl Mirror {
    /// The seed of a sandbox: its branch, what it knows of `origin`, and who commits.
    pub async fn seed(&self, plan: &Plan) -> Result<Seed, GitError> {
        let plain = |text: &str| !text.contains(['"', '\\', '\n', '\r', '\0']);
        if !plain(&plan.origin) {
            return Err(GitError::unfit("the address of the gateway is one line without quotes"));
        }
        let known = refs::list(self.git(), &self.path(), &["refs/heads", "refs/tags"]).await?;
        let mut files = vec![
            Laid::text(".git/HEAD", format!("ref: {}\n", plan.branch.full())),
            Laid::text(".git/config", configuration(plan)),
            Laid::text(".git/packed-refs", packed(plan, &known)),
        ];
        if let Some(default) = self.default_branch().await? {
            files.push(Laid::text(".git/refs/remotes/origin/HEAD", format!("ref: refs/remotes/origin/{default}\n")));
        }
        if let Some(task) = plan.task {
            let hook = Laid::text(".git/hooks/commit-msg", commit_hook(task));
            files.push(Laid { runs: true, ..hook });
        }
        Ok(Seed { files })
    }
}

impl Laid {
    fn text(path: &str, content: String) -> Laid {
        Laid { path: path.to_owned(), content, runs: false }
    }
}

fn configuration(plan: &Plan) -> String {
    let mut text = String::from(
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
         \tcheckStat = minimal\n\ttrustctime = false\n\
         [push]\n\tdefault = current\n\tautoSetupRemote = true\n",
    );
    text.push_str(&format!(
        "[remote \"origin\"]\n\turl = \"{}\"\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
        plan.origin
    ));
    if let Some(author) = &plan.author {
        text.push_str(&format!("[user]\n\tname = \"{}\"\n\temail = \"{}\"\n", author.name(), author.email()));
    }
    text
}

/// Every ref in one file: the branch itself, tags, and the branches of `origin` as they are now.
fn packed(plan: &Plan, known: &refs::Refs) -> String {
    let mut lines: Vec<(String, &CommitId)> = vec![(plan.branch.full().to_string(), &plan.commit)];
    for (name, id) in known {
        match name.branch() {
            Some(branch) => lines.push((format!("refs/remotes/origin/{branch}"), id)),
            None if name.is_below("refs/tags") => lines.push((RefName::to_string(name), id)),
            None => {}
        }
    }
    // Git looks names up by halving.
    lines.sort();
    let lines: String = lines.into_iter().map(|(name, id)| format!("{id} {name}\n")).collect();
    format!("# pack-refs with: sorted \n{lines}")
}
