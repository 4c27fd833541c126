//! What is looked for in a push before it is let in: large files, secrets, paths, links to repositories that nobody has,
//! pointers to files that are elsewhere, and histories that have nothing to do with this one.

use std::{process::Stdio, sync::Arc};

use carrel_model::{CommitId, push::PushLimits};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use super::{quarantine::Quarantine, rules::SecretRules};
use crate::{GitError, program::hear_out};

/// What a repo wants of the files that are pushed to it.
#[derive(Debug, Clone, Default)]
pub struct ContentRules {
    /// What secrets look like; nothing when they are not looked for.
    pub secrets: Option<Arc<SecretRules>>,
    /// Only paths that fit may be changed, when there are any.
    allow: Option<GlobSet>,
    /// Paths that fit may not be changed.
    deny: Option<GlobSet>,
    /// The commit that the work began at: what is pushed has something in common with it.
    root: Option<CommitId>,
}

/// Something that a push may not bring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// A few words.
    pub short: &'static str,
    /// A sentence with the place. It never repeats a secret.
    pub sentence: String,
}

/// What was looked through before. Work in progress was not: it is saved as it is, and looked through when it is pushed.
const KNOWN: [&str; 2] = ["--exclude=refs/carrel/wip/*", "--all"];
/// So many findings are told; the rest are counted.
const MOST_TOLD: usize = 10;

impl ContentRules {
    /// The usual rules: secrets are looked for, every path may be changed.
    pub fn usual() -> ContentRules {
        ContentRules { secrets: Some(SecretRules::shipped()), ..ContentRules::default() }
    }

    /// Adds which paths may be changed, as patterns such as `src/**`.
    pub fn with_paths(mut self, allow: &[String], deny: &[String]) -> Result<ContentRules, GitError> {
        self.allow = patterns(allow)?;
        self.deny = patterns(deny)?;
        Ok(self)
    }

    /// Adds the commit that the work began at.
    pub fn with_root(self, root: CommitId) -> ContentRules {
        ContentRules { root: Some(root), ..self }
    }

    fn permits(&self, path: &str) -> bool {
        self.allow.as_ref().is_none_or(|allow| allow.is_match(path))
            && self.deny.as_ref().is_none_or(|deny| !deny.is_match(path))
    }
}

fn patterns(texts: &[String]) -> Result<Option<GlobSet>, GitError> {
    if texts.is_empty() {
        return Ok(None);
    }
    let mut set = GlobSetBuilder::new();
    for text in texts {
        let glob = GlobBuilder::new(text).literal_separator(true).build();
        set.add(glob.map_err(|error| GitError::unfit(format!("`{text}` is no pattern of paths: {error}")))?);
    }
    set.build().map(Some).map_err(|error| GitError::unfit(error.to_string()))
}

/// Looks at everything that is new. The commits are those that refs are to move to. Without rules only sizes count, and
/// that nothing is missing.
pub(super) async fn inspect(
    quarantine: &Quarantine,
    commits: &[CommitId],
    limits: &PushLimits,
    rules: Option<&ContentRules>,
) -> Result<Vec<Finding>, GitError> {
    let tips: String = commits.iter().map(|commit| format!("{commit}\n")).collect();
    let mut findings = large_files(quarantine, &tips, limits).await?;
    // Nobody reads a file that will not come in.
    if let Some(rules) = rules.filter(|_| findings.is_empty()) {
        if rules.allow.is_some() || rules.deny.is_some() {
            findings.extend(paths(quarantine, &tips, rules).await?);
        }
        let diff = read_through(quarantine, &tips, rules.secrets.as_deref()).await?;
        findings.extend(diff.findings);
        if diff.speaks_of_lfs {
            findings.extend(pointers(quarantine, commits).await?);
        }
        if let Some(root) = rules.root.as_ref().filter(|_| diff.begins_anew) {
            findings.extend(strangers(quarantine, commits, root).await?);
        }
    }
    let rest = findings.len().saturating_sub(MOST_TOLD);
    if rest > 0 {
        let short = findings[0].short;
        findings.truncate(MOST_TOLD);
        findings.push(Finding { short, sentence: format!("… and {rest} more.") });
    }
    Ok(findings)
}

/// Walks everything that is new, which also proves that nothing is missing, and finds files over the limit.
async fn large_files(quarantine: &Quarantine, tips: &str, limits: &PushLimits) -> Result<Vec<Finding>, GitError> {
    let list = || quarantine.call("rev-list").args(["--objects", "--stdin", "--not"]).args(KNOWN).input(tips);
    let call = list()
        .args(["--no-object-names", "--filter-print-omitted"])
        .arg(("--filter=blob:limit=", limits.file_bytes + 1));
    let answer = call.patience(std::time::Duration::from_secs(1800)).answer().await?;
    if !answer.status.success() {
        let sentence =
            "The push lacks objects that its commits name. Is the clone it comes from whole? (git fsck)".into();
        return Ok(vec![Finding { short: "objects are missing", sentence }]);
    }
    let text = String::from_utf8_lossy(&answer.output);
    let large: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix('~')).collect();
    if large.is_empty() {
        return Ok(Vec::new());
    }
    let named = list().run().await?;
    let named = String::from_utf8_lossy(&named);
    let tell = |id: &&str| {
        let path = named.lines().find_map(|line| line.strip_prefix(id)).map_or("a file", str::trim);
        let most = limits.file_bytes >> 20;
        Finding {
            short: "a file is too large",
            sentence: format!(
                "{path} is larger than {most} MiB. Take it out of the commits (git rebase -i), or keep it elsewhere."
            ),
        }
    };
    Ok(large.iter().map(tell).collect())
}

/// Paths that new commits change and may not.
async fn paths(quarantine: &Quarantine, tips: &str, rules: &ContentRules) -> Result<Vec<Finding>, GitError> {
    let call =
        quarantine.call("log").args(["--format=", "--name-only", "-z", "--no-renames", "--stdin", "--not"]).args(KNOWN);
    let listing = call.arg("--diff-merges=remerge").input(tips).run().await?;
    let mut seen: Vec<String> = listing
        .split(|byte| *byte == 0)
        .map(|path| String::from_utf8_lossy(path).trim_start_matches('\n').to_owned())
        .filter(|path| !path.is_empty() && !rules.permits(path))
        .collect();
    seen.sort();
    seen.dedup();
    let tell = |path: String| Finding {
        short: "a path may not be changed",
        sentence: format!("{path} may not be changed in this repository."),
    };
    Ok(seen.into_iter().map(tell).collect())
}

/// Commits whose history has nothing in common with what the work began at.
async fn strangers(quarantine: &Quarantine, commits: &[CommitId], root: &CommitId) -> Result<Vec<Finding>, GitError> {
    let mut found = Vec::new();
    for commit in commits {
        // 1 is the answer "nothing"; anything else, such as a root that is not here, is no reason to refuse.
        if quarantine.call("merge-base").arg(root).arg(commit).answer().await?.status.code() == Some(1) {
            found.push(Finding {
                short: "another history",
                sentence: format!(
                    "The history of {} has nothing in common with this repository's, so it could never be merged. Put \
                     the work on top of the branch it began at: git rebase --root --onto {}",
                    commit.short(),
                    root.short()
                ),
            });
        }
    }
    Ok(found)
}

/// Commits whose files would be kept in Git LFS: what would arrive are pointers, and nobody here could check them out.
async fn pointers(quarantine: &Quarantine, commits: &[CommitId]) -> Result<Vec<Finding>, GitError> {
    let mut found = Vec::new();
    for commit in commits {
        let call = quarantine.call("grep").args(["-l", "-z", "-E", "-e", "^[^#]*filter=lfs"]).arg(commit);
        let answer = call.args(["--", ":(top,glob)**/.gitattributes"]).answer().await?;
        let listing = String::from_utf8_lossy(&answer.output).into_owned();
        let paths = listing.split('\0').filter_map(|line| line.split_once(':')).map(|(_, path)| path.to_owned());
        found.extend(paths.map(|path| Finding {
            short: "files in Git LFS",
            sentence: format!(
                "{path} in commit {} keeps files in Git LFS, which Carrel does not support yet: only pointers would \
                 arrive, none of the files. Take `filter=lfs` out of {path} and add the files as they are, or leave them \
                 out.",
                commit.short()
            ),
        }));
    }
    Ok(found)
}

/// Reads every line that new commits add.
async fn read_through(quarantine: &Quarantine, tips: &str, secrets: Option<&SecretRules>) -> Result<Diff, GitError> {
    let call = quarantine
        .call("log")
        .args(["-p", "-U0", "--format=commit %H %P", "--no-color", "--no-ext-diff", "--submodule=short"])
        .args(["--no-textconv", "--no-renames", "--diff-merges=remerge", "--src-prefix=a/", "--dst-prefix=b/"])
        .args(["--stdin", "--not"])
        .args(KNOWN)
        .config("core.quotePath", "false")
        // A large file that may come in is read like any other: git shows nothing of what it calls big.
        .config("core.bigFileThreshold", "4095m");
    let mut running = call.start(Stdio::piped())?;
    let missing = || GitError::Failed { what: "log", why: "it has no pipes".into() };
    let (mut stdin, stdout) = (running.stdin().ok_or_else(missing)?, running.stdout().ok_or_else(missing)?);
    let hearing = hear_out(running.child.stderr.take(), None);
    let reading = async {
        let _ = stdin.write_all(tips.as_bytes()).await;
        drop(stdin);
        let (mut lines, mut diff) = (BufReader::with_capacity(64 << 10, stdout), Diff::default());
        let mut line = Vec::new();
        loop {
            line.clear();
            let length = (&mut lines).take(MOST_OF_A_LINE).read_until(b'\n', &mut line).await;
            if length.map_err(GitError::io("read what is new"))? == 0 {
                return Ok(diff);
            }
            diff.read(line.strip_suffix(b"\n").unwrap_or(&line), secrets);
        }
    };
    let (diff, said) = tokio::join!(reading, hearing);
    let status = running.child.wait().await.map_err(GitError::io("wait for git"))?;
    if status.success() { diff } else { Err(GitError::understand("log", &said)) }
}

/// A line that is longer is read in pieces.
const MOST_OF_A_LINE: u64 = 1 << 20;

/// Where in a diff we are.
#[derive(Default)]
struct Diff {
    commit: String,
    path: String,
    /// The number of the next added line.
    number: u64,
    /// How many lines of the hunk are still to come, taken away and added.
    left: (u64, u64),
    /// What stands here is no file but the name of a commit of another repository.
    is_link: bool,
    /// A commit without parents came by.
    begins_anew: bool,
    /// A line that asks for Git LFS came by. Whether it is still there is another question.
    speaks_of_lfs: bool,
    findings: Vec<Finding>,
}

impl Diff {
    fn read(&mut self, line: &[u8], secrets: Option<&SecretRules>) {
        // Lines of a hunk are counted, so that no content passes for a heading.
        match line.first() {
            Some(b'-') if self.left.0 > 0 => self.left.0 -= 1,
            Some(b'+') if self.left.1 > 0 => {
                self.left.1 -= 1;
                self.speaks_of_lfs |=
                    self.path.ends_with(".gitattributes") && line.windows(10).any(|word| word == b"filter=lfs");
                if let Some(rule) = secrets.and_then(|secrets| secrets.find(&line[1..])) {
                    self.findings.push(Finding {
                        short: "it holds a secret",
                        sentence: format!(
                            "{}:{} in commit {}: {} ({}).",
                            self.path,
                            self.number,
                            self.commit.get(..10).unwrap_or_default(),
                            rule.description,
                            rule.id
                        ),
                    });
                }
                self.number += 1;
            }
            _ => self.read_heading(&String::from_utf8_lossy(line)),
        }
    }

    fn read_heading(&mut self, line: &str) {
        if let Some(commits) = line.strip_prefix("commit ") {
            let (commit, parents) = commits.split_once(' ').unwrap_or((commits, ""));
            self.begins_anew |= parents.is_empty();
            self.commit = commit.to_owned();
        } else if line.starts_with("diff ") {
            self.is_link = false;
        } else if line == "new file mode 160000" || (line.starts_with("index ") && line.ends_with(" 160000")) {
            self.is_link = true;
        } else if let Some(path) = line.strip_prefix("+++ ") {
            let path = path.trim_matches('"');
            self.path = path.strip_prefix("b/").unwrap_or(path).trim_end_matches('\t').to_owned();
            if std::mem::take(&mut self.is_link) && path != "/dev/null" {
                self.findings.push(link_at(&self.path, &self.commit));
            }
        } else if let Some(hunk) = line.strip_prefix("@@ -").and_then(|rest| rest.split_once(" @@")) {
            let (old, new) = hunk.0.split_once(" +").unwrap_or_default();
            let count = |text: &str| text.split_once(',').map_or(1, |(_, count)| count.parse().unwrap_or(0));
            self.left = (count(old), count(new));
            self.number = new.split(',').next().and_then(|start| start.parse().ok()).unwrap_or(0);
        }
    }
}

/// A folder with a repository of its own is recorded as the name of a commit; the files behind it would be nowhere.
fn link_at(path: &str, commit: &str) -> Finding {
    Finding {
        short: "a repository within the repository",
        sentence: format!(
            "{path} in commit {} is a git repository of its own (or a submodule): only the name of its commit would \
             arrive, none of its files. Remove {path}/.git and add the files, or leave it out (git rm --cached {path}, \
             and a line in .gitignore).",
            commit.get(..10).unwrap_or_default()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_added_line_cannot_pass_for_a_heading() {
        let rules = SecretRules::shipped();
        let mut diff = Diff::default();
        let key = format!("AKIA{}", "Z7QXM3RTPLK2WV5N");
        let text = format!(
            "commit {}\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +4,2 @@\n+++ b/innocent\n+id = {key}\n",
            "a".repeat(40)
        );
        text.lines().for_each(|line| diff.read(line.as_bytes(), Some(&rules)));
        assert_eq!(diff.findings.len(), 1);
        assert!(diff.findings[0].sentence.starts_with("x:5 in commit aaaaaaaaaa: "), "{:?}", diff.findings);
        assert!(!diff.findings[0].sentence.contains(&key));
    }

    #[test]
    fn paths_are_allowed_and_denied_by_patterns() {
        let text = |text: &str| vec![text.to_owned()];
        let rules = ContentRules::default().with_paths(&text("src/**"), &text("**/secret.*")).unwrap();
        assert!(rules.permits("src/a/b.rs"));
        assert!(!rules.permits("src/a/secret.rs"));
        assert!(!rules.permits("README.md"));
        assert!(ContentRules::default().with_paths(&text("a["), &[]).is_err());
    }
}
