//! What the embedded forge asks of git, answered by our mirrors.

use std::sync::Arc;

use async_trait::async_trait;
use carrel_forge::{ForgeError, MergeWay, Repository, Weave, Woven};
use carrel_git::{
    GitError, Identity, Mirror, Move,
    merge::{Integrated, Offer, Outcome},
};
use carrel_model::{
    Branch, CommitId,
    repo::{MergeStyle, Repo},
};
use carrel_store::Lane;

use crate::{Error, house::House, pulls::still_holds};

/// The commits of a repository whose pulls are here.
pub(crate) struct Hosted {
    house: Arc<House>,
    repo: Repo,
    mirror: Mirror,
    held: Option<Held>,
}

/// A merge that was made and checked, by one who holds the lane. Nothing else is merged through it.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) lane: Lane,
    pub(crate) base: CommitId,
    pub(crate) head: CommitId,
    pub(crate) commit: CommitId,
}

impl Hosted {
    pub(crate) fn new(house: &Arc<House>, repo: Repo, mirror: Mirror, held: Option<Held>) -> Hosted {
        Hosted { house: Arc::clone(house), repo, mirror, held }
    }

    async fn still_holds(&self, lane: &Lane) -> Result<bool, ForgeError> {
        let asked = still_holds(&self.house, lane).await;
        asked.map_err(|error| ForgeError::Unavailable { why: error.to_string() })
    }

    /// The base of one that follows somebody moves there first; here it follows.
    async fn advance_upstream(&self, branch: &Branch, from: &CommitId, to: &CommitId) -> Result<bool, ForgeError> {
        let upstream = self.house.upstream_of(&self.repo).await.map_err(refused)?;
        let step = Move { name: branch.full(), from: Some(from.clone()), to: Some(to.clone()) };
        match self.mirror.push(&upstream, &[step]).await {
            Ok(()) => {}
            // It may be there already: a former try died before it could say so.
            Err(GitError::Moved { .. }) => {
                let there = self.mirror.upstream_tip(&upstream, branch).await.map_err(away)?;
                if there.as_ref() != Some(to) {
                    self.mirror.sync(&upstream).await.map_err(away)?;
                    return Ok(false);
                }
            }
            Err(GitError::Denied { why }) => return Err(ForgeError::Denied { why, missing: vec![] }),
            Err(error) => return Err(away(error)),
        }
        // A look at the upstream that began before the push does not count.
        for _ in 0..3 {
            self.mirror.sync(&upstream).await.map_err(away)?;
            if self.contains(branch, to).await? {
                return Ok(true);
            }
        }
        Err(ForgeError::Unavailable { why: format!("the upstream does not show where `{branch}` went") })
    }
}

#[async_trait]
impl Repository for Hosted {
    async fn default_branch(&self) -> Result<Branch, ForgeError> {
        let own = self.mirror.default_branch().await.map_err(away)?;
        let branch = self.repo.rules.pinned_branch.clone().or(own);
        branch.ok_or_else(|| ForgeError::Invalid { why: "the repository is empty".into() })
    }

    async fn tip(&self, branch: &Branch) -> Result<Option<CommitId>, ForgeError> {
        self.mirror.find(&branch.full()).await.map_err(away)
    }

    async fn contains(&self, branch: &Branch, commit: &CommitId) -> Result<bool, ForgeError> {
        match self.tip(branch).await? {
            Some(tip) => self.mirror.is_here_before(commit, &tip).await.map_err(away),
            None => Ok(false),
        }
    }

    async fn diff(&self, base: &CommitId, head: &CommitId) -> Result<String, ForgeError> {
        self.mirror.diff(base, head).await.map_err(away)
    }

    /// What no rung of the ladder settles.
    async fn conflicts(&self, base: &CommitId, head: &CommitId) -> Result<Vec<String>, ForgeError> {
        // What two commits come to does not change; how it is settled may, because we learn.
        let pair = vec![(base.clone(), head.clone())];
        let forecaster = self.house.forges.forecaster(&self.repo.name);
        let plain = forecaster.conflicts(&self.mirror, pair).await.map_err(away)?.pop().unwrap_or_default();
        if plain.is_empty() {
            return Ok(plain);
        }
        let attempt = self.house.forges.ladder.merge(&self.mirror, base, head, None).await.map_err(away)?;
        Ok(match attempt.outcome {
            Outcome::Merged { .. } => Vec::new(),
            Outcome::Conflicted { paths } => paths,
        })
    }

    async fn weave(&self, weave: &Weave) -> Result<Woven, ForgeError> {
        if let Some(held) = &self.held {
            if held.base == weave.base && held.head == weave.head {
                return Ok(Woven::Clean(held.commit.clone()));
            }
            return Err(ForgeError::Conflict { why: MOVED.into() });
        }
        let author = self.mirror.author_of(&weave.head).await.map_err(away)?;
        let signer = crate::pulls::signer_of(&self.house, &self.repo.name).await.map_err(refused)?;
        let offer = Offer {
            base: &weave.base,
            head: &weave.head,
            style: style_of(weave.way),
            message: &weave.message,
            author: &author,
            committer: &Identity::house(),
            signer: signer.as_ref(),
            since: None,
        };
        match self.house.forges.ladder.integrate(&self.mirror, &offer).await.map_err(away)? {
            Integrated::Already => Ok(Woven::Clean(weave.base.clone())),
            Integrated::Ready { commit, regenerate, .. } if regenerate.is_empty() => Ok(Woven::Clean(commit)),
            Integrated::Ready { regenerate, .. } => {
                Ok(Woven::Conflicted(regenerate.into_iter().map(|file| file.path).collect()))
            }
            Integrated::Conflicted { paths, .. } => Ok(Woven::Conflicted(paths)),
        }
    }

    async fn advance(&self, branch: &Branch, from: &CommitId, to: &CommitId) -> Result<bool, ForgeError> {
        // One who was taken for dead and comes back finds the lane in other hands. Should it change hands right after
        // this look, the move below still fits nothing but the base that the merge was made and checked on.
        if let Some(held) = &self.held
            && !self.still_holds(&held.lane).await?
        {
            return Err(ForgeError::Unavailable { why: "the merge lane is in other hands by now".into() });
        }
        if !self.repo.is_hosted() {
            return self.advance_upstream(branch, from, to).await;
        }
        match self.mirror.advance(branch, from, to).await {
            Ok(()) => Ok(true),
            Err(GitError::Moved { .. }) => Ok(false),
            Err(error) => Err(away(error)),
        }
    }

    async fn delete(&self, branch: &Branch) -> Result<(), ForgeError> {
        if !self.repo.is_hosted() {
            let upstream = self.house.upstream_of(&self.repo).await.map_err(refused)?;
            self.mirror.unpublish(&upstream, branch).await.map_err(away)?;
        }
        let Some(tip) = self.tip(branch).await? else { return Ok(()) };
        let step = Move { name: branch.full(), from: Some(tip), to: None };
        self.mirror.move_refs(&[step]).await.map_err(away)
    }
}

/// What a merge is told when the base is no longer the one that it was made for.
pub(crate) const MOVED: &str = "the base has moved since the merge was made";

pub(crate) fn style_of(way: MergeWay) -> MergeStyle {
    match way {
        MergeWay::Merge => MergeStyle::Merge,
        MergeWay::Squash => MergeStyle::Squash,
        MergeWay::Rebase => MergeStyle::Rebase,
    }
}

fn away(error: GitError) -> ForgeError {
    match error {
        GitError::Unfit { why } => ForgeError::Conflict { why },
        error @ GitError::Moved { .. } => ForgeError::Conflict { why: error.to_string() },
        GitError::Missing { what } => ForgeError::NotFound { what },
        GitError::Denied { why } => ForgeError::Denied { why, missing: vec![] },
        error => ForgeError::Unavailable { why: error.to_string() },
    }
}

fn refused(error: Error) -> ForgeError {
    ForgeError::Unavailable { why: error.to_string() }
}
