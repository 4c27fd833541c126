//! What is looked for in a push before it is let in: large files, secrets, paths, links to repositories that nobody has,
//! pointers to files that are elsewhere, and histories that have nothing to do with this one.

use std::{process::Stdio, sync::Arc};

use carrel_model::{CommitId, push::PushLimits};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use super::{
    quarantine::Quarantine,
    rules::{Rule, SecretRules},
};
use crate::{
    GitError,
    program::{Call, hear_out},
};

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

/// What was looked through before, or came from the upstream. What is not named here was not: work in progress is saved as
/// it is, and what is kept of it too; both are looked through when they are pushed to a branch.
const KNOWN: [&str; 5] = [
    "--branches",
    "--tags",
    "--glob=refs/carrel/upstream/*",
    "--glob=refs/carrel/published/*",
    "--glob=refs/carrel/pulls/*",
];
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

/// Looks at everything that is new. The commits are those that refs are to move to, and what tags are to name among them.
/// Without rules only sizes count, and that nothing is missing.
pub(super) async fn inspect(
    quarantine: &Quarantine,
    commits: &[CommitId],
    tagged: &[CommitId],
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
        findings.extend(tags(quarantine, tagged, rules.secrets.as_deref()).await?);
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
    let mut listing = call.arg("--diff-merges=remerge").arg("--max-parents=2").input(tips).run().await?;
    let octopuses = quarantine.call("log").args(["--format=", "--name-only", "-z", "--no-renames", "--min-parents=3"]);
    let octopuses = octopuses.args(["--diff-merges=combined", "--stdin", "--not"]).args(KNOWN);
    listing.push(0);
    listing.extend(octopuses.input(tips).run().await?);
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

/// What tags say, down to what they name: that is a commit, whose lines are read with all others. Of a file or a folder that
/// only a tag names, nobody would read any.
async fn tags(
    quarantine: &Quarantine,
    tagged: &[CommitId],
    secrets: Option<&SecretRules>,
) -> Result<Vec<Finding>, GitError> {
    let (mut found, mut names) = (Vec::new(), tagged.to_vec());
    while !names.is_empty() {
        let asked: String = std::mem::take(&mut names).iter().map(|name| format!("{name}\n")).collect();
        let call = quarantine.call("cat-file").arg("--batch-check=%(objecttype) %(objectname)").input(asked);
        for line in call.text().await?.lines() {
            let Some(("tag", id)) = line.split_once(' ') else {
                if let Some((kind @ ("blob" | "tree"), id)) = line.split_once(' ') {
                    let sentence = format!("{id} is a {kind}: a tag names a commit here.");
                    found.push(Finding { short: "a tag that names no commit", sentence });
                }
                continue;
            };
            let id: CommitId = id.parse().map_err(|_| GitError::unfit("a tag without a name"))?;
            let tag = quarantine.call("cat-file").arg("tag").arg(&id).run().await?;
            let named = tag.strip_prefix(b"object ").and_then(|rest| std::str::from_utf8(rest.get(..40)?).ok());
            names.extend(named.and_then(|named| named.parse::<CommitId>().ok()));
            let rule =
                secrets.and_then(|secrets| tag.split(|byte| *byte == b'\n').find_map(|line| find_in(secrets, line)));
            found.extend(rule.map(|rule| secret_at("The message", id.as_str(), rule)));
        }
    }
    Ok(found)
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

/// Reads every line that new commits add, and what they say. A merge of more than two is not made again by git and compared: what it adds is
/// what it adds to every one of its parents.
async fn read_through(quarantine: &Quarantine, tips: &str, secrets: Option<&SecretRules>) -> Result<Diff, GitError> {
    // Every line of a message is moved in, so that none passes for a heading.
    let format = "--format=commit %H %P%n%w(0,1,1)%B";
    let call = quarantine.call("log").args(SHOWN).args([format, "--diff-merges=remerge", "--stdin"]);
    let mut diff = read_diff(call.arg("--not").args(KNOWN), tips, Diff::default(), secrets).await?;
    diff.read_binaries(quarantine, secrets).await?;
    for (commit, parents) in std::mem::take(&mut diff.octopuses) {
        let mut common: Option<Vec<Finding>> = None;
        for parent in &parents {
            let call = quarantine.call("diff-tree").args(SHOWN).args(["-r", "--no-commit-id"]).arg(parent).arg(&commit);
            let beside = Diff { commit: commit.to_string(), ..Diff::default() };
            let mut beside = read_diff(call, "", beside, secrets).await?;
            beside.read_binaries(quarantine, secrets).await?;
            diff.speaks_of_lfs |= beside.speaks_of_lfs;
            common = Some(match common {
                Some(common) => common.into_iter().filter(|one| beside.findings.contains(one)).collect(),
                None => beside.findings,
            });
        }
        diff.findings.extend(common.unwrap_or_default());
    }
    Ok(diff)
}

/// How changes are shown.
const SHOWN: [&str; 10] = [
    "-p",
    "-U0",
    "--full-index",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

async fn read_diff(call: Call, input: &str, mut diff: Diff, secrets: Option<&SecretRules>) -> Result<Diff, GitError> {
    let call = call
        .config("core.quotePath", "false")
        // A large file that may come in is read like any other, as far as git can compare it line by line.
        .config("core.bigFileThreshold", "1000m");
    let mut running = call.start(Stdio::piped())?;
    let missing = || GitError::Failed { what: "log", why: "it has no pipes".into() };
    let (mut stdin, stdout) = (running.stdin().ok_or_else(missing)?, running.stdout().ok_or_else(missing)?);
    let hearing = hear_out(running.child.stderr.take(), None);
    let reading = async {
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        let mut lines = BufReader::with_capacity(64 << 10, stdout);
        let (mut piece, mut is_cut) = (Vec::new(), false);
        loop {
            let length = (&mut lines).take(MOST_OF_A_LINE).read_until(b'\n', &mut piece).await;
            if length.map_err(GitError::io("read what is new"))? == 0 {
                return Ok(diff);
            }
            let text = piece.strip_suffix(b"\n").unwrap_or(&piece);
            if is_cut {
                diff.read_on(text, secrets)
            } else {
                diff.read(text, secrets)
            }
            is_cut = keep_end(&mut piece);
        }
    };
    let (diff, said) = tokio::join!(reading, hearing);
    let status = running.child.wait().await.map_err(GitError::io("wait for git"))?;
    if status.success() { diff } else { Err(GitError::understand("log", &said)) }
}

/// A line that is longer is read in pieces.
const MOST_OF_A_LINE: u64 = 1 << 20;
/// So much of a piece is read again with the next one, so that nothing is hidden by a cut. No rule looks further.
const OVERLAP: usize = 4 << 10;
/// So much is read of a file that git does not compare line by line.
const MOST_OF_A_BINARY: u64 = 64 << 20;

/// Makes room for the next piece. Says whether this one was cut off; then its end stays before the next.
fn keep_end(piece: &mut Vec<u8>) -> bool {
    let is_cut = !piece.ends_with(b"\n");
    let done = if is_cut { piece.len().saturating_sub(OVERLAP) } else { piece.len() };
    piece.drain(..done);
    is_cut
}

/// What is found in each of some blobs, line by line, read by one git from their beginnings.
async fn search<'r>(
    quarantine: &Quarantine,
    blobs: &[&CommitId],
    secrets: &'r SecretRules,
) -> Result<Vec<Vec<&'r Rule>>, GitError> {
    if blobs.is_empty() {
        return Ok(Vec::new());
    }
    let mut running = quarantine.call("cat-file").args(["--batch", "--buffer"]).start(Stdio::piped())?;
    let missing = || GitError::Failed { what: "cat-file", why: "it has no pipes".into() };
    let (mut stdin, stdout) = (running.stdin().ok_or_else(missing)?, running.stdout().ok_or_else(missing)?);
    let hearing = hear_out(running.child.stderr.take(), None);
    let asked: String = blobs.iter().map(|blob| format!("{blob}\n")).collect();
    let asking = async move {
        let _ = stdin.write_all(asked.as_bytes()).await;
    };
    let odd = |_| GitError::Failed { what: "cat-file", why: "it did not show a file".into() };
    let reading = async {
        let (mut lines, mut found) = (BufReader::with_capacity(64 << 10, stdout), Vec::with_capacity(blobs.len()));
        for _ in blobs {
            let mut heading = String::new();
            lines.read_line(&mut heading).await.map_err(GitError::io("read what is new"))?;
            // The other side of a merge that git made again only to compare it: nobody has that.
            if heading.trim_end().ends_with(" missing") {
                found.push(Vec::new());
                continue;
            }
            let size: u64 = heading.trim_end().rsplit(' ').next().unwrap_or_default().parse().map_err(odd)?;
            let (mut piece, mut rules) = (Vec::new(), Vec::new());
            let mut left = size.min(MOST_OF_A_BINARY);
            while left > 0 {
                let length = (&mut lines).take(left.min(MOST_OF_A_LINE)).read_until(b'\n', &mut piece).await;
                match length.map_err(GitError::io("read what is new"))? {
                    0 => break,
                    length => left -= length as u64,
                }
                rules.extend(find_in(secrets, piece.strip_suffix(b"\n").unwrap_or(&piece)));
                keep_end(&mut piece);
            }
            // The rest, and the end of the line after it.
            let rest = size - size.min(MOST_OF_A_BINARY) + 1;
            let passed = tokio::io::copy(&mut (&mut lines).take(rest), &mut tokio::io::sink()).await;
            passed.map_err(GitError::io("read what is new"))?;
            found.push(rules);
        }
        Ok(found)
    };
    let (found, (), said) = tokio::join!(reading, asking, hearing);
    let status = running.child.wait().await.map_err(GitError::io("wait for git"))?;
    if status.success() { found } else { Err(GitError::understand("cat-file", &said)) }
}

/// A file that git shows nothing of, because it takes it for binary or too large.
struct Unshown {
    commit: String,
    path: String,
    old: Option<CommitId>,
    new: CommitId,
}

/// Where in a diff we are.
#[derive(Default)]
struct Diff {
    commit: String,
    path: String,
    /// What the file was and is.
    blobs: (Option<CommitId>, Option<CommitId>),
    /// The number of the next added line.
    number: u64,
    /// How many lines of the hunk are still to come, taken away and added.
    left: (u64, u64),
    /// The line that is being read is added, and nothing was found in it so far.
    is_read_on: bool,
    /// What stands here is no file but the name of a commit of another repository.
    is_link: bool,
    /// A commit without parents came by.
    begins_anew: bool,
    /// A line that asks for Git LFS came by. Whether it is still there is another question.
    speaks_of_lfs: bool,
    /// Merges of more than two, with their parents: of these nothing is shown.
    octopuses: Vec<(CommitId, Vec<CommitId>)>,
    binaries: Vec<Unshown>,
    findings: Vec<Finding>,
}

impl Diff {
    /// Reads a line, or the first piece of one.
    fn read(&mut self, line: &[u8], secrets: Option<&SecretRules>) {
        self.is_read_on = false;
        // Lines of a hunk are counted, so that no content passes for a heading.
        match line.first() {
            Some(b'-') if self.left.0 > 0 => self.left.0 -= 1,
            Some(b'+') if self.left.1 > 0 => {
                self.left.1 -= 1;
                self.number += 1;
                self.is_read_on = true;
                self.read_on(&line[1..], secrets);
            }
            // Only of messages: what stays as it is in a file is not shown.
            Some(b' ') if self.left == (0, 0) => {
                self.is_read_on = true;
                self.read_on(&line[1..], secrets);
            }
            _ => self.read_heading(&String::from_utf8_lossy(line)),
        }
    }

    /// Reads what a line adds, or the next piece of it. Of a heading, and of what is taken away, nobody wants more.
    fn read_on(&mut self, text: &[u8], secrets: Option<&SecretRules>) {
        if !self.is_read_on {
            return;
        }
        self.speaks_of_lfs |=
            self.path.ends_with(".gitattributes") && text.windows(10).any(|word| word == b"filter=lfs");
        let Some(rule) = secrets.and_then(|secrets| find_in(secrets, text)) else { return };
        // Once for a line, however long it is.
        self.is_read_on = false;
        let place = match self.path.as_str() {
            "" => "The message".to_owned(),
            path => format!("{path}:{}", self.number - 1),
        };
        self.findings.push(secret_at(&place, &self.commit, rule));
    }

    /// Reads the files that git showed nothing of, as a whole. What was in them before is nothing new.
    async fn read_binaries(&mut self, quarantine: &Quarantine, secrets: Option<&SecretRules>) -> Result<(), GitError> {
        let (Some(secrets), binaries) = (secrets, std::mem::take(&mut self.binaries)) else { return Ok(()) };
        let new: Vec<&CommitId> = binaries.iter().map(|file| &file.new).collect();
        let found = search(quarantine, &new, secrets).await?;
        let found: Vec<(&Unshown, Vec<&Rule>)> =
            binaries.iter().zip(found).filter(|(_, rules)| !rules.is_empty()).collect();
        let old: Vec<&CommitId> = found.iter().filter_map(|(file, _)| file.old.as_ref()).collect();
        let mut before = search(quarantine, &old, secrets).await?.into_iter();
        for (file, mut rules) in found {
            let before = file.old.as_ref().and_then(|_| before.next()).unwrap_or_default();
            let count = |all: &[&Rule], one: &Rule| all.iter().filter(|rule| rule.id == one.id).count();
            let all = rules.clone();
            rules.dedup_by_key(|rule| &rule.id);
            let new = rules.into_iter().find(|rule| count(&all, rule) > count(&before, rule));
            self.findings.extend(new.map(|rule| secret_at(&file.path, &file.commit, rule)));
        }
        Ok(())
    }

    fn read_heading(&mut self, line: &str) {
        if let Some(commits) = line.strip_prefix("commit ") {
            let (commit, parents) = commits.split_once(' ').unwrap_or((commits, ""));
            self.begins_anew |= parents.is_empty();
            self.commit = commit.to_owned();
            self.path.clear();
            let parents: Vec<CommitId> = parents.split(' ').filter_map(|id| id.parse().ok()).collect();
            if let Some(commit) = commit.parse().ok().filter(|_| parents.len() > 2) {
                self.octopuses.push((commit, parents));
            }
        } else if let Some(both) = line.strip_prefix("diff --git ") {
            self.is_link = false;
            // `a/PATH b/PATH`: nothing is renamed here.
            self.path = plain_path(both.get(both.len() / 2 + 1..).unwrap_or_default());
        } else if line.starts_with("Binary files ") {
            if let (old, Some(new)) = std::mem::take(&mut self.blobs) {
                let (commit, path) = (self.commit.clone(), self.path.clone());
                self.binaries.push(Unshown { commit, path, old, new });
            }
        } else if line == "new file mode 160000" || (line.starts_with("index ") && line.ends_with(" 160000")) {
            self.is_link = true;
        } else if let Some((old, new)) = line.strip_prefix("index ").and_then(|both| both.split_once("..")) {
            let read = |id: &str| id.parse::<CommitId>().ok().filter(|id| id.as_str() != CommitId::NONE);
            self.blobs = (read(old), read(new.split(' ').next().unwrap_or_default()));
        } else if let Some(path) = line.strip_prefix("+++ ") {
            self.path = plain_path(path);
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

/// A path as a diff writes it, as people do.
fn plain_path(path: &str) -> String {
    let path = path.trim_matches('"');
    path.strip_prefix("b/").unwrap_or(path).trim_end_matches('\t').to_owned()
}

/// A secret, without the secret.
fn secret_at(place: &str, commit: &str, rule: &Rule) -> Finding {
    let commit = commit.get(..10).unwrap_or_default();
    let sentence = format!("{place} in commit {commit}: {} ({}).", rule.description, rule.id);
    Finding { short: "it holds a secret", sentence }
}

/// Text in UTF-16 has a NUL beside every plain letter: it is read without them too.
fn find_in<'a>(secrets: &'a SecretRules, text: &[u8]) -> Option<&'a Rule> {
    secrets.find(text).or_else(|| {
        let plain: Vec<u8> = text.iter().copied().filter(|byte| *byte != 0).collect();
        if plain.len() < text.len() { secrets.find(&plain) } else { None }
    })
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
    fn a_message_is_read_and_no_line_of_it_passes_for_a_heading() {
        let rules = SecretRules::shipped();
        let mut diff = Diff::default();
        let key = format!("AKIA{}", "Z7QXM3RTPLK2WV5N");
        let text = format!(
            "commit {}\n feat: x\n \n diff --git a/x b/x\n +++ b/x\n @@ -0,0 +1,9 @@\n The key is {key}.\n\n\
             diff --git a/y b/y\n+++ b/y\n@@ -0,0 +1,1 @@\n+id = {key}\n",
            "a".repeat(40)
        );
        text.lines().for_each(|line| diff.read(line.as_bytes(), Some(&rules)));
        let told: Vec<&str> = diff.findings.iter().filter_map(|found| found.sentence.split(" in").next()).collect();
        assert_eq!(told, ["The message", "y:1"]);
    }

    #[test]
    fn a_line_in_pieces_is_read_to_its_end_and_no_piece_passes_for_a_heading() {
        let rules = SecretRules::shipped();
        let mut diff = Diff::default();
        let key = format!("AKIA{}", "Z7QXM3RTPLK2WV5N");
        for line in ["commit 0", "+++ b/x", "@@ -0,0 +1,2 @@", "+long"] {
            diff.read(line.as_bytes(), Some(&rules));
        }
        diff.read_on(b"@@ -0,0 +1,0 @@", Some(&rules));
        diff.read_on(format!("id = {key};").as_bytes(), Some(&rules));
        diff.read_on(format!("id = {key}; once is enough").as_bytes(), Some(&rules));
        diff.read(format!("+id = {key}").as_bytes(), Some(&rules));
        let places: Vec<&str> = diff.findings.iter().filter_map(|found| found.sentence.split(' ').next()).collect();
        assert_eq!(places, ["x:1", "x:2"]);
        // What goes on from a heading is no line of a file.
        diff.read(b"diff --git a/y b/y", Some(&rules));
        diff.read_on(format!("+id = {key}").as_bytes(), Some(&rules));
        assert_eq!(diff.findings.len(), 2);
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
