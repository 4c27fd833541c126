//! What was made here goes upstream: branches are pushed, each from where it must be there.

use std::time::Duration;

use carrel_model::{Branch, CommitId, RefName};

use crate::{GitError, Mirror, Upstream, program::Argument, refs::Move, secret, sync};

/// How long a push may take.
const PATIENCE: Duration = Duration::from_secs(3600);

/// What came of publishing a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Publication {
    /// The upstream has it.
    Pushed,
    /// The upstream had it.
    Already,
}

/// An option that names where a ref must be: `--force-with-lease=REF:COMMIT`.
struct Lease<'a>(&'a RefName, Option<&'a CommitId>);

impl Argument for Lease<'_> {
    fn text(&self) -> std::ffi::OsString {
        format!("--force-with-lease={}:{}", self.0, self.1.map_or("", CommitId::as_str)).into()
    }
}

/// What goes where: `COMMIT:REF`, or `:REF` for one that goes away.
struct Step<'a>(Option<&'a CommitId>, &'a RefName);

impl Argument for Step<'_> {
    fn text(&self) -> std::ffi::OsString {
        format!("{}:{}", self.0.map_or("", CommitId::as_str), self.1).into()
    }
}

impl Mirror {
    /// Brings a branch of ours upstream. History that we published ourselves may be replaced; what somebody else pushed
    /// to the same branch meanwhile is not.
    pub async fn publish(
        &self,
        upstream: &Upstream,
        branch: &Branch,
        commit: &CommitId,
    ) -> Result<Publication, GitError> {
        let there = self.upstream_tip(upstream, branch).await?;
        let note = published(branch);
        let ours = self.find(&note).await?;
        if there.as_ref() == Some(commit) {
            self.note(&note, ours, Some(commit)).await?;
            return Ok(Publication::Already);
        }
        let may_replace = match &there {
            None => true,
            Some(there) if ours.as_ref() == Some(there) => true,
            // Not by us, as far as we know: forward only. What we do not have cannot be behind us.
            Some(there) => self.is_here_before(there, commit).await?,
        };
        if !may_replace {
            return Err(GitError::Moved { name: format!("`{branch}` upstream") });
        }
        self.push(upstream, &[Move { name: branch.full(), from: there, to: Some(commit.clone()) }]).await?;
        self.note(&note, ours, Some(commit)).await?;
        Ok(Publication::Pushed)
    }

    /// Deletes a branch upstream that we published, if it is still where we left it; is content to find none.
    pub async fn unpublish(&self, upstream: &Upstream, branch: &Branch) -> Result<(), GitError> {
        let note = published(branch);
        let Some(ours) = self.find(&note).await? else { return Ok(()) };
        if self.upstream_tip(upstream, branch).await?.as_ref() == Some(&ours) {
            self.push(upstream, &[Move { name: branch.full(), from: Some(ours.clone()), to: None }]).await?;
            // What was last seen of it there is gone with it.
            if let Some(seen) = sync::as_kept(&branch.full()) {
                self.note(&seen, self.find(&seen).await?, None).await?;
            }
        }
        self.note(&note, Some(ours), None).await
    }

    /// Moves refs of the upstream, all or none, each from where it must be.
    pub async fn push(&self, upstream: &Upstream, moves: &[Move]) -> Result<(), GitError> {
        let mut call = self.git().at(&self.path(), "push").patience(PATIENCE);
        let secret = secret::introduce(&mut call, &upstream.source, upstream.credential.as_ref())?;
        let mut call = call.args(["--porcelain", "--no-verify", "--no-signed"]);
        if moves.len() > 1 {
            call = call.arg("--atomic");
        }
        call = call.args(moves.iter().map(|step| Lease(&step.name, step.from.as_ref())));
        call = call.arg("--end-of-options").arg(&upstream.source);
        call = call.args(moves.iter().map(|step| Step(step.to.as_ref(), &step.name)));
        let answer = call.answer().await;
        drop(secret);
        let answer = answer?;
        if answer.status.success() {
            return Ok(());
        }
        let error = understand(&String::from_utf8_lossy(&answer.output), &answer.said);
        if !matches!(error, GitError::Moved { .. } | GitError::Denied { .. }) {
            return Err(error);
        }
        match (&error, self.stand(upstream, moves).await) {
            // It was done, its answer was lost, and whoever asked again was late.
            (_, Ok((_, true))) => Ok(()),
            // A page in the place of the upstream looks like one that has nothing.
            (GitError::Moved { .. }, Ok((true, _))) => {
                Err(GitError::Unreachable { why: "it seemed to have moved, and has not".into() })
            }
            _ => Err(error),
        }
    }

    /// Whether all branches are upstream where they must be before they move, and whether they are where they go.
    async fn stand(&self, upstream: &Upstream, moves: &[Move]) -> Result<(bool, bool), GitError> {
        let (mut before, mut after) = (true, true);
        for step in moves {
            let Some(branch) = step.name.branch() else { return Ok((false, false)) };
            let tip = self.upstream_tip(upstream, &branch).await?;
            (before, after) = (before && tip == step.from, after && tip == step.to);
        }
        Ok((before, after))
    }

    /// Where a branch is upstream, asked now.
    pub async fn upstream_tip(&self, upstream: &Upstream, branch: &Branch) -> Result<Option<CommitId>, GitError> {
        let name = branch.full();
        let mut output = self.ask_for(upstream, &name).await?;
        if output.is_empty() {
            // Nothing at all: perhaps a page of one line, and not the repository.
            if !self.hears_git_at(upstream).await? {
                return Err(GitError::Unreachable { why: "what answers there does not speak git".into() });
            }
            output = self.ask_for(upstream, &name).await?;
        }
        let text = String::from_utf8_lossy(&output);
        // The pattern also fits longer names that end like this one.
        let line = text.lines().filter_map(|line| line.split_once('\t')).find(|(_, found)| *found == name.as_str());
        Ok(line.and_then(|(id, _)| id.parse().ok()))
    }

    /// What the upstream shows of a ref, beside what every repository shows.
    async fn ask_for(&self, upstream: &Upstream, name: &RefName) -> Result<Vec<u8>, GitError> {
        let mut call = self.git().call("ls-remote").patience(Duration::from_secs(120));
        let secret = secret::introduce(&mut call, &upstream.source, upstream.credential.as_ref())?;
        let output = call.arg("--end-of-options").arg(&upstream.source).arg("HEAD").arg(name).run().await;
        drop(secret);
        output
    }

    /// Whether a commit is here.
    pub async fn has(&self, commit: &CommitId) -> Result<bool, GitError> {
        let call = self.git().at(&self.path(), "cat-file").arg("-e").arg((commit, "^{commit}"));
        Ok(call.answer().await?.status.success())
    }

    async fn note(&self, name: &RefName, from: Option<CommitId>, to: Option<&CommitId>) -> Result<(), GitError> {
        if from.as_ref() == to {
            return Ok(());
        }
        self.move_refs(&[Move { name: name.clone(), from, to: to.cloned() }]).await
    }
}

/// Where we remember what we published of a branch.
fn published(branch: &Branch) -> RefName {
    let name = format!("refs/carrel/published/{branch}");
    name.parse().unwrap_or_else(|_| branch.full())
}

/// What a push that did not work means.
fn understand(report: &str, said: &str) -> GitError {
    let refused = report.lines().find_map(|line| line.strip_prefix("!\t"));
    let Some(refused) = refused else { return GitError::understand("push", said) };
    let (names, why) = refused.split_once('\t').unwrap_or(("", refused));
    let name = names.rsplit(':').next().unwrap_or(names).to_owned();
    if why.starts_with("[rejected]") || why.contains("stale info") || why.contains("incorrect old value") {
        return GitError::Moved { name };
    }
    let words: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("remote:")).map(str::trim).collect();
    let words = words.into_iter().filter(|word| !word.is_empty()).take(4).collect::<Vec<_>>().join("; ");
    let why = why.trim_start_matches("[remote rejected] ").trim_matches(['(', ')']);
    let why = if words.is_empty() { why.to_owned() } else { format!("{why}: {words}") };
    GitError::Denied { why: format!("{name} was not taken: {why}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_push_that_came_too_late_is_told_from_one_that_is_not_allowed() {
        let late = understand("To x\n!\ta:refs/heads/task-1\t[rejected] (stale info)\nDone\n", "");
        assert!(matches!(late, GitError::Moved { ref name } if name == "refs/heads/task-1"), "{late:?}");
        let said = "remote: error: GH006: Protected branch update failed\n";
        let report = "To x\n!\ta:refs/heads/main\t[remote rejected] (protected branch hook declined)\n";
        let refused = understand(report, said);
        assert!(matches!(refused, GitError::Denied { ref why } if why.contains("GH006")), "{refused:?}");
        assert!(matches!(understand("", "fatal: Authentication failed for x"), GitError::Denied { .. }));
        assert!(understand("", "fatal: Could not resolve host: x").is_passing());
    }
}
