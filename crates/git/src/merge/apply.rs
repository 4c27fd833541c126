//! A branch is put onto its base: merged, squashed or rebased, in the mirror, without a working tree. The base itself
//! moves last, forward only.

use std::collections::HashSet;

use carrel_model::{Branch, CommitId, repo::MergeStyle};

use super::ladder::{Attempt, Ladder, Outcome, RungRecord};
use crate::{
    GitError, Mirror,
    commit::{Draft, Identity, Signer},
    merge::Regenerate,
    refs::Move,
};

/// A branch that is offered to its base.
#[derive(Debug, Clone)]
pub struct Offer<'a> {
    /// Where the base is.
    pub base: &'a CommitId,
    /// Where the branch is.
    pub head: &'a CommitId,
    /// How it is put there.
    pub style: MergeStyle,
    /// The message of the one commit that is made; rebased commits keep theirs.
    pub message: &'a str,
    /// Who wrote what is squashed.
    pub author: &'a Identity,
    /// Who makes the commits.
    pub committer: &'a Identity,
    /// What signs them.
    pub signer: Option<&'a Signer>,
    /// Where the branch began, when the base was rewritten since and does not have that any more: what lies before it is
    /// not the branch's, and is not brought back with it.
    pub since: Option<&'a CommitId>,
}

impl Offer<'_> {
    /// The commits of the branch itself, oldest first, without merges.
    async fn own(&self, mirror: &Mirror) -> Result<Vec<CommitId>, GitError> {
        let before: HashSet<CommitId> = match self.since {
            Some(since) => mirror.commits_between(self.base, since).await?.into_iter().collect(),
            None => HashSet::new(),
        };
        let all = mirror.commits_between(self.base, self.head).await?;
        Ok(all.into_iter().filter(|commit| !before.contains(commit)).collect())
    }
}

/// What came of an offer. No ref has moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Integrated {
    /// The base has it all already.
    Already,
    /// The base would be at this commit.
    Ready {
        /// The commit.
        commit: CommitId,
        /// Files that a program must make anew, in a sandbox, before it is whole.
        regenerate: Vec<Regenerate>,
        /// How conflicts were resolved.
        records: Vec<RungRecord>,
    },
    /// These paths are for the agent, or a person.
    Conflicted {
        /// The paths.
        paths: Vec<String>,
        /// The commit of the branch that does not fit, when it was rebased.
        at: Option<CommitId>,
        /// What was tried.
        records: Vec<RungRecord>,
    },
}

impl Ladder {
    /// Puts a branch onto its base, as a commit that no ref names yet.
    pub async fn integrate(&self, mirror: &Mirror, offer: &Offer<'_>) -> Result<Integrated, GitError> {
        if mirror.is_ancestor(offer.head, offer.base).await? {
            return Ok(Integrated::Already);
        }
        // A merge would have the commits that were taken back as its ancestors.
        if offer.style == MergeStyle::Rebase || (offer.style == MergeStyle::Merge && offer.since.is_some()) {
            return self.rebase(mirror, offer).await;
        }
        let Attempt { records, outcome } = self.merge(mirror, offer.base, offer.head, offer.since).await?;
        let (tree, regenerate) = match outcome {
            Outcome::Conflicted { paths } => return Ok(Integrated::Conflicted { paths, at: None, records }),
            Outcome::Merged { tree, regenerate } => (tree, regenerate),
        };
        let both = [offer.base.clone(), offer.head.clone()];
        let parents = if offer.style == MergeStyle::Squash { &both[..1] } else { &both[..] };
        let author = if offer.style == MergeStyle::Squash { offer.author } else { offer.committer };
        let draft = Draft {
            tree: &tree,
            parents,
            message: offer.message,
            author,
            date: None,
            committer: offer.committer,
            signer: offer.signer,
        };
        let commit = draft.make(mirror.git(), &mirror.path()).await?;
        Ok(Integrated::Ready { commit, regenerate, records })
    }

    /// Puts a branch on top of its base without a merge. Merges in between dissolve; what they hold themselves (how a
    /// conflict was settled, a file that only they have) does not: where the commits alone do not come to the same files,
    /// one commit takes their place.
    async fn rebase(&self, mirror: &Mirror, offer: &Offer<'_>) -> Result<Integrated, GitError> {
        let has_base = mirror.is_ancestor(offer.base, offer.head).await?;
        if mirror.is_straight(offer.base, offer.head).await? {
            if has_base {
                let (commit, records) = (offer.head.clone(), Vec::new());
                return Ok(Integrated::Ready { commit, regenerate: Vec::new(), records });
            }
            return self.replay(mirror, offer).await;
        }
        let (tree, regenerate, records) = if has_base && offer.since.is_none() {
            (mirror.tree_of(offer.head).await?, Vec::new(), Vec::new())
        } else {
            let Attempt { records, outcome } = self.merge(mirror, offer.base, offer.head, offer.since).await?;
            match outcome {
                Outcome::Conflicted { paths } => return Ok(Integrated::Conflicted { paths, at: None, records }),
                Outcome::Merged { tree, regenerate } => (tree, regenerate, records),
            }
        };
        let replayed = self.replay(mirror, offer).await?;
        let top = match &replayed {
            Integrated::Ready { commit, .. } => Some(commit),
            Integrated::Already => Some(offer.base),
            Integrated::Conflicted { .. } => None,
        };
        if let Some(top) = top
            && mirror.tree_of(top).await? == tree
        {
            return Ok(replayed);
        }
        if mirror.tree_of(offer.base).await? == tree {
            return Ok(Integrated::Already);
        }
        let own = offer.own(mirror).await?;
        let story = mirror.story(own.last().unwrap_or(offer.head)).await?;
        let is_alone = own.len() < 2 || offer.message.trim().is_empty();
        let draft = Draft {
            tree: &tree,
            parents: std::slice::from_ref(offer.base),
            message: if is_alone { &story.message } else { offer.message },
            author: &story.author,
            date: Some(&story.date),
            committer: offer.committer,
            signer: offer.signer,
        };
        let commit = draft.make(mirror.git(), &mirror.path()).await?;
        Ok(Integrated::Ready { commit, regenerate, records })
    }

    /// Each commit again on top of the base, in order. What the base has already is left out.
    async fn replay(&self, mirror: &Mirror, offer: &Offer<'_>) -> Result<Integrated, GitError> {
        let (mut top, mut records, mut regenerate) = (offer.base.clone(), Vec::new(), Vec::new());
        for commit in offer.own(mirror).await? {
            let story = mirror.story(&commit).await?;
            let Some(parent) = story.parents.first() else { continue };
            let attempt = self.merge(mirror, &top, &commit, Some(parent)).await?;
            records.extend(attempt.records.into_iter().filter(|record| !record.given.is_empty()));
            let tree = match attempt.outcome {
                Outcome::Conflicted { paths } => {
                    return Ok(Integrated::Conflicted { paths, at: Some(commit), records });
                }
                Outcome::Merged { tree, regenerate: more } => {
                    regenerate.extend(more.into_iter().filter(|one| !regenerate.contains(one)).collect::<Vec<_>>());
                    tree
                }
            };
            if tree == mirror.tree_of(&top).await? {
                continue;
            }
            let draft = Draft {
                tree: &tree,
                parents: std::slice::from_ref(&top),
                message: &story.message,
                author: &story.author,
                date: Some(&story.date),
                committer: offer.committer,
                signer: offer.signer,
            };
            top = draft.make(mirror.git(), &mirror.path()).await?;
        }
        if top == *offer.base {
            return Ok(Integrated::Already);
        }
        Ok(Integrated::Ready { commit: top, regenerate, records })
    }
}

/// What a commit tells of itself.
pub(super) struct Story {
    pub(super) parents: Vec<CommitId>,
    pub(super) author: Identity,
    pub(super) date: String,
    pub(super) message: String,
}

impl Mirror {
    /// Moves a branch forward to a commit that has everything it had. Durable when it returns.
    pub async fn advance(&self, branch: &Branch, from: &CommitId, to: &CommitId) -> Result<(), GitError> {
        if !self.is_ancestor(from, to).await? {
            return Err(GitError::unfit(format!("`{branch}` only moves forward, and {} is behind it", to.short())));
        }
        self.move_refs(&[Move { name: branch.full(), from: Some(from.clone()), to: Some(to.clone()) }]).await
    }

    /// The commits that a branch has and its base does not, oldest first, without merges.
    pub async fn commits_between(&self, base: &CommitId, head: &CommitId) -> Result<Vec<CommitId>, GitError> {
        let call = self.git().at(&self.path(), "rev-list").args(["--reverse", "--topo-order", "--no-merges"]);
        let text = call.arg((base, head)).text().await?;
        Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
    }

    async fn is_straight(&self, base: &CommitId, head: &CommitId) -> Result<bool, GitError> {
        let call = self.git().at(&self.path(), "rev-list").args(["--merges", "--max-count=1"]).arg((base, head));
        Ok(call.text().await?.is_empty())
    }

    pub(crate) async fn tree_of(&self, commit: &CommitId) -> Result<CommitId, GitError> {
        self.git().at(&self.path(), "rev-parse").arg("--verify").arg((commit, "^{tree}")).id().await
    }

    pub(super) async fn story(&self, commit: &CommitId) -> Result<Story, GitError> {
        let call = self.git().at(&self.path(), "log").args(["--max-count=1", "--no-show-signature", "--date=raw"]);
        let output = call.arg("--format=%P%x00%an%x00%ae%x00%ad%x00%B").arg(commit).run().await?;
        let text = String::from_utf8_lossy(&output).into_owned();
        let mut fields = text.splitn(5, '\0');
        let mut next = || fields.next().unwrap_or_default();
        let (parents, name, email, date, message) = (next(), next(), next(), next(), next());
        let parents = parents.split(' ').filter_map(|id| id.parse().ok()).collect();
        // A commit may name anybody as its author, or nobody.
        let author = Identity::new(name.trim(), email.trim()).unwrap_or_else(|_| Identity::house());
        Ok(Story { parents, author, date: date.to_owned(), message: message.trim_end().to_owned() + "\n" })
    }
}
