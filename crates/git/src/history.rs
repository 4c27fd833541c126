//! Looks at histories: what is between two commits, and how far they are apart.

use std::{collections::HashMap, time::Duration};

use carrel_model::{Branch, CommitId, RefName};

use crate::{GitError, Identity, Mirror, commit::Draft, refs::Move};

/// How long a large difference may take.
const PATIENCE: Duration = Duration::from_secs(300);
/// How far back a branch is searched for what it took in.
const FAR_BACK: u64 = 100_000;

impl Mirror {
    /// Where a commit left a branch; nothing when they have nothing in common.
    pub async fn merge_base(&self, branch: &Branch, commit: &CommitId) -> Result<Option<CommitId>, GitError> {
        let Some(tip) = self.find(&branch.full()).await? else { return Ok(None) };
        let call = self.git().at(&self.path(), "merge-base").arg(&tip).arg(commit);
        let answer = call.answer().await?;
        Ok(String::from_utf8_lossy(&answer.output).trim().parse().ok())
    }

    /// Where work of so many commits left a branch, also when the branch has taken it in since.
    pub async fn left_at(&self, branch: &Branch, work: &CommitId, commits: u64) -> Result<Option<CommitId>, GitError> {
        let common = self.merge_base(branch, work).await?;
        if common.as_ref() != Some(work) {
            return Ok(common);
        }
        // The commit that brought it in is the oldest of the branch's own line that has it.
        let call = self.git().at(&self.path(), "rev-list").arg("--first-parent").arg(("--max-count=", FAR_BACK));
        let line = call.arg(&branch.full()).arg("--not").arg(work).text().await?;
        let line: Vec<CommitId> = line.lines().filter_map(|id| id.trim().parse().ok()).collect();
        let (mut has, mut lacks) = (0, line.len());
        while has < lacks {
            let middle = (has + lacks) / 2;
            match self.is_ancestor(work, &line[middle]).await? {
                true => has = middle + 1,
                false => lacks = middle,
            }
        }
        if let Some(brought) = has.checked_sub(1).map(|index| &line[index]) {
            let call = self.git().at(&self.path(), "merge-base").arg((brought, "^1")).arg(work);
            let before = String::from_utf8_lossy(&call.answer().await?.output).trim().parse().ok();
            if before.as_ref() != Some(work) {
                return Ok(before);
            }
        }
        // Its own commits are the branch's line: they are counted back.
        let call = self.git().at(&self.path(), "rev-list").arg("--first-parent").arg("--max-count=1");
        let told = call.arg(("--skip=", commits)).arg(work).text().await?;
        Ok(told.trim().parse().ok().filter(|base| base != work))
    }

    /// What is different between two commits, as a patch that git can apply.
    pub async fn patch(&self, from: &CommitId, to: &CommitId) -> Result<Vec<u8>, GitError> {
        let options = ["--full-index", "--binary", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color"];
        let call = self.git().at(&self.path(), "diff").args(options).arg(from).arg(to);
        call.patience(PATIENCE).run().await
    }

    /// The paths that are different between two commits.
    pub async fn changed_files(&self, from: &CommitId, to: &CommitId) -> Result<Vec<String>, GitError> {
        let options = ["--name-only", "-z", "--no-renames", "-r"];
        let call = self.git().at(&self.path(), "diff-tree").args(options).arg(from).arg(to);
        let text = call.patience(PATIENCE).run().await?;
        let names = text.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// Which of these commits are not here, by one look.
    pub async fn missing(&self, commits: &[CommitId]) -> Result<Vec<CommitId>, GitError> {
        let asked: String = commits.iter().map(|commit| format!("{commit}^{{commit}}\n")).collect();
        let call = self.git().at(&self.path(), "cat-file").arg("--batch-check=%(objectname)").input(asked);
        let told = call.patience(PATIENCE).text().await?;
        let is_missing = |(commit, line): (&CommitId, &str)| line.ends_with(" missing").then(|| commit.clone());
        Ok(commits.iter().zip(told.lines()).filter_map(is_missing).collect())
    }

    /// How many commits a branch has that its base has not, and the other way round.
    pub async fn distance(&self, base: &Branch, branch: &Branch) -> Result<(u32, u32), GitError> {
        let (Some(base), Some(head)) = (self.find(&base.full()).await?, self.find(&branch.full()).await?) else {
            return Ok((0, 0));
        };
        let call = self.git().at(&self.path(), "rev-list").args(["--left-right", "--count"]);
        let told = call.arg((&base, "...", &head)).patience(PATIENCE).text().await?;
        let mut numbers = told.split_whitespace().map(|number| number.parse().unwrap_or(0));
        let (behind, ahead) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        Ok((ahead, behind))
    }

    /// The same for every branch at once, by one look.
    pub async fn distances(&self, base: &Branch) -> Result<HashMap<Branch, (u32, u32)>, GitError> {
        let Some(tip) = self.find(&base.full()).await? else { return Ok(HashMap::new()) };
        let shape = ("--format=%(refname) %(ahead-behind:", &tip, ")");
        let told = self.git().at(&self.path(), "for-each-ref").arg(shape).arg("refs/heads").patience(PATIENCE);
        let told = told.text().await?;
        let read = |line: &str| {
            let mut words = line.split(' ');
            let name: RefName = words.next()?.parse().ok()?;
            Some((name.branch()?, (words.next()?.parse().ok()?, words.next()?.parse().ok()?)))
        };
        Ok(told.lines().filter_map(read).collect())
    }

    /// The commit that was checked out when this one was saved; nothing when it is no save, but somebody's commit.
    pub async fn saved_upon(&self, commit: &CommitId) -> Result<Option<CommitId>, GitError> {
        let call =
            self.git().at(&self.path(), "log").args(["-1", "--no-show-signature", "--format=%ae %s"]).arg(commit);
        let told = call.text().await?;
        match told.trim().split_once(' ') {
            Some((by, subject)) if by == Identity::house().email() && subject.starts_with("wip: ") => {
                self.parent_of(commit).await
            }
            _ => Ok(None),
        }
    }

    /// The first lines of the commits that a branch has and its base has not, oldest first.
    pub async fn subjects(&self, base: &Branch, branch: &Branch, most: u32) -> Result<Vec<String>, GitError> {
        let (Some(base), Some(head)) = (self.find(&base.full()).await?, self.find(&branch.full()).await?) else {
            return Ok(Vec::new());
        };
        let call = self.git().at(&self.path(), "log").args(["--reverse", "--format=%s", "--no-color"]);
        let told = call.arg(("--max-count=", u64::from(most))).arg((&base, &head)).patience(PATIENCE).text().await?;
        Ok(told.lines().map(str::to_owned).collect())
    }

    /// The commits that a branch has and its base has not, each with its whole message, oldest first. Merges are left out.
    pub async fn messages(
        &self,
        base: &Branch,
        branch: &Branch,
        most: u32,
    ) -> Result<Vec<(CommitId, String)>, GitError> {
        let (Some(base), Some(head)) = (self.find(&base.full()).await?, self.find(&branch.full()).await?) else {
            return Ok(Vec::new());
        };
        let call = self.git().at(&self.path(), "log").args(["--reverse", "--no-merges", "-z", "--format=%H%n%B"]);
        let call = call.arg("--no-color").arg(("--max-count=", u64::from(most))).arg((&base, &head));
        let told = call.patience(PATIENCE).run().await?;
        let read = |entry: &[u8]| {
            let text = String::from_utf8_lossy(entry).into_owned();
            let (commit, message) = text.split_once('\n')?;
            Some((commit.parse().ok()?, message.to_owned()))
        };
        Ok(told.split(|byte| *byte == 0).filter_map(read).collect())
    }

    /// Whether a commit is in a branch.
    pub async fn is_in(&self, branch: &Branch, commit: &CommitId) -> Result<bool, GitError> {
        match self.find(&branch.full()).await? {
            Some(tip) => self.is_ancestor(commit, &tip).await,
            None => Ok(false),
        }
    }

    /// Makes sure that a ref of ours holds a commit, whatever it held before.
    pub async fn hold(&self, name: &RefName, commit: &CommitId) -> Result<(), GitError> {
        let from = self.find(name).await?;
        if from.as_ref() == Some(commit) {
            return Ok(());
        }
        self.move_refs(&[Move { name: name.clone(), from, to: Some(commit.clone()) }]).await
    }
}

impl Mirror {
    /// Makes the first commit of a branch that does not exist yet: a readme. Whoever was faster is not disturbed.
    pub async fn found(&self, branch: &Branch, readme: &str) -> Result<(), GitError> {
        let blob = self.git().at(&self.path(), "hash-object").args(["-w", "--stdin"]);
        let blob = blob.input(readme).config("core.fsync", "committed,loose-object").id().await?;
        let tree = self.git().at(&self.path(), "mktree").input(format!("100644 blob {blob}\tREADME.md\n"));
        let tree = tree.config("core.fsync", "committed,loose-object").id().await?;
        let house = Identity::house();
        let draft = Draft {
            tree: &tree,
            parents: &[],
            message: "chore: begin\n",
            author: &house,
            date: None,
            committer: &house,
            signer: None,
        };
        let commit = self.commit(&draft).await?;
        match self.move_refs(&[Move { name: branch.full(), from: None, to: Some(commit) }]).await {
            Err(GitError::Moved { .. }) => Ok(()),
            moved => moved,
        }
    }
}
