//! Checkouts for new sandboxes: planned, laid under where the provider can, cloned inside where it cannot, and carried in
//! where a sandbox cannot ask for anything.

use std::sync::Arc;

use carrel_envd::EnvdError;
use carrel_git::{BORROWED, GitError, Identity, Plan, WORKSPACE, inside};
use carrel_model::{
    Branch, CommitId, RepoName, TaskId,
    sandbox::{Author, Checkout, Sandbox},
};
use carrel_sandbox::{Furniture, Laid, Provider, ProviderError, template::Shown};

use super::{
    carry::{self, Carrier},
    errand::Errand,
    origin,
};
use crate::{
    Error,
    desks::repos::{bring_up_to_date, find},
    house::House,
};

/// Blobs of a repository larger than this are fetched when they are needed, where a sandbox clones for itself.
pub(super) const LARGE: u64 = 256 << 20;

/// What a checkout of a repository is to be: the base as it now is, or the task's branch where it was pushed before.
pub(crate) async fn plan_checkout(
    house: &Arc<House>,
    name: &RepoName,
    task: Option<TaskId>,
    base: Option<Branch>,
    branch: Option<Branch>,
    author: Author,
) -> Result<Checkout, Error> {
    let repo = find(house, name).await?;
    let empty =
        || Error::Conflict { why: format!("repo `{name}` has no commit yet, so there is nothing to check out") };
    let base = base.or_else(|| repo.default_branch.clone()).ok_or_else(empty)?;
    let format = repo.rules.branch_format.clone().unwrap_or_default();
    let branch = branch.or_else(|| task.map(|task| format.of(task))).unwrap_or_else(|| base.clone());
    let mirror = house.library.mirror(name).await?;
    let commit = match mirror.find(&branch.full()).await? {
        Some(pushed) => pushed,
        None => mirror.head_of(&base).await?,
    };
    Ok(Checkout { branch, base, commit, author })
}

/// Makes a sandbox at its provider, with its checkout if it is to have one.
pub(crate) async fn create(
    house: &Arc<House>,
    provider: &dyn Provider,
    sandbox: &Sandbox,
) -> Result<(), ProviderError> {
    let (id, spec) = (&sandbox.id, &sandbox.spec);
    let Some((checkout, repo)) = spec.checkout.as_ref().zip(spec.repo.as_ref()) else {
        return provider.create(id, spec).await;
    };
    match provider.furnishing() {
        Some(furnishing) => {
            // Until its record says where it stands, nothing is carried out.
            let _standing = house.library.standing.read().await;
            let furniture = furniture(house, repo, spec.task_id, checkout).await.map_err(understand)?;
            furnishing.create_furnished(id, spec, &furniture).await
        }
        None => {
            provider.create(id, spec).await?;
            clone(house, provider, sandbox, repo, checkout).await
        }
    }
}

/// What is laid under a sandbox, and what is its own.
async fn furniture(
    house: &Arc<House>,
    repo: &RepoName,
    task: Option<TaskId>,
    checkout: &Checkout,
) -> Result<Furniture, Error> {
    let mirror = house.library.mirror(repo).await?;
    let layers = house.library.layers()?;
    let plan = Plan {
        branch: checkout.branch.clone(),
        commit: checkout.commit.clone(),
        task,
        author: Some(Identity::from(&checkout.author)),
        origin: origin(repo),
    };
    let (layer, seed) = match tokio::try_join!(layers.prepare(&mirror, &checkout.commit), mirror.seed(&plan)) {
        // A node that has never seen this commit fetches it first.
        Err(GitError::Missing { .. }) => {
            bring_up_to_date(house, repo).await?;
            tokio::try_join!(layers.prepare(&mirror, &checkout.commit), mirror.seed(&plan))?
        }
        ready => ready?,
    };
    let laid = |file: carrel_git::Laid| Laid { path: file.path, content: file.content, runs: file.runs };
    Ok(Furniture {
        layer: house.library.layer_id(&layer.tree),
        folder: layer.folder,
        workspace: WORKSPACE.into(),
        shown: vec![Shown { from: mirror.objects(), at: BORROWED.into() }],
        files: seed.files.into_iter().map(laid).collect(),
    })
}

/// Clones inside, through the gateway or from what is carried there. A second time finds it made.
async fn clone(
    house: &Arc<House>,
    provider: &dyn Provider,
    sandbox: &Sandbox,
    repo: &RepoName,
    checkout: &Checkout,
) -> Result<(), ProviderError> {
    let endpoint = match provider.endpoint(&sandbox.id).await {
        // Nothing runs in sandboxes of this provider: there is nobody who could look for a checkout.
        Err(ProviderError::Unfit { .. }) => return Ok(()),
        endpoint => endpoint?,
    };
    let envd = endpoint.envd();
    let trouble = |error: EnvdError| ProviderError::Unavailable { why: error.to_string() };
    let make = "mkdir -p \"$1\" && chown \"$(id -u user 2>/dev/null || echo 0)\" \"$1\"";
    let mirror = house.library.mirror(repo).await.map_err(understand)?;
    mirror.check_fit(&checkout.commit).await.map_err(|error| understand(error.into()))?;
    let is_carried = carry::is_needed(provider);
    let places: &[&str] = if is_carried { &[WORKSPACE, inside::BOX_PLACE] } else { &[WORKSPACE] };
    for place in places {
        let made = Errand::new(make).args([*place]).user("root").run_by(&envd).await.map_err(trouble)?;
        made.good("make a place for its checkout").map_err(understand)?;
    }
    if is_carried {
        let carrier = Carrier::new(house, envd.clone(), &sandbox.id, repo, checkout).await.map_err(understand)?;
        carrier.bring(&[]).await.map_err(understand)?;
    }
    let much = if !is_carried && mirror.size() > LARGE { "blobless" } else { "whole" };
    let task = sandbox.spec.task_id.map(|task| task.to_string()).unwrap_or_default();
    let Checkout { branch, commit, author, .. } = checkout;
    let origin = if is_carried { inside::BOX_PLACE.to_owned() } else { origin(repo) };
    let args =
        [WORKSPACE, &origin, branch.as_str(), commit.as_str(), author.name(), author.email(), task.as_str(), much];
    let cloned = Errand::new(inside::CLONE).args(args).run_by(&envd).await.map_err(trouble)?;
    cloned.good("clone the repository").map_err(understand).map(drop)
}

/// What a desk says, as a provider would say it. What is wrong with a repository is wrong with it alone: its provider goes on
/// for everybody else, and whoever wanted the checkout is told.
fn understand(error: Error) -> ProviderError {
    let why = error.to_string();
    match error {
        Error::NotFound { .. }
        | Error::Invalid { .. }
        | Error::Denied(_)
        | Error::Refused { .. }
        | Error::Spent { .. }
        | Error::Conflict { .. } => ProviderError::Unfit { why },
        Error::AskedOtherwise { .. }
        | Error::TooSoon { .. }
        | Error::Limited { .. }
        | Error::Unavailable { .. }
        | Error::Inside { .. } => ProviderError::Unavailable { why },
        Error::Internal(source) => {
            tracing::error!(error = &*source as &dyn std::error::Error, "a checkout could not be made");
            ProviderError::Unavailable { why }
        }
    }
}

/// The commit that work goes on from, with what was saved last of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// The commit that holds the files.
    pub commit: CommitId,
    /// The commit that was checked out when they were saved.
    pub parent: Option<CommitId>,
}

/// What was saved last of a task.
pub(crate) async fn find_saved(house: &House, repo: &RepoName, task: TaskId) -> Result<Option<Saved>, Error> {
    let mirror = house.library.mirror(repo).await?;
    let Some(commit) = mirror.wip(task).await? else { return Ok(None) };
    let parent = mirror.parent_of(&commit).await?;
    Ok(Some(Saved { commit, parent }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_that_cannot_be_checked_out_is_no_failing_of_its_provider() {
        let lfs = GitError::Unfit { why: "it needs Git LFS".into() };
        let damaged = GitError::Broken { why: "bad object".into() };
        let missing = GitError::Missing { what: "commit".into() };
        for error in [lfs, damaged, missing] {
            let said = understand(error.clone().into());
            assert!(matches!(said, ProviderError::Unfit { .. }), "{error:?} became {said:?}");
        }
        let away = GitError::Unreachable { why: "nobody answers".into() };
        assert!(matches!(understand(away.into()), ProviderError::Unavailable { .. }), "that passes");
    }
}
