//! A mirror is brought up to date with its upstream: looked at first, fetched when something moved, once for everybody
//! who asks at the same time.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use backon::{ExponentialBuilder, Retryable};
use carrel_model::{Branch, BranchFormat, CommitId, RefName, RepoSource};
use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};

use crate::{
    Credential, GitError, Mirror, Progress,
    refs::{self, Move, Refs},
    secret,
};

/// What a mirror follows, and how patiently.
#[derive(Debug, Clone)]
pub struct Upstream {
    /// Where it is.
    pub source: RepoSource,
    /// What opens it.
    pub credential: Option<Credential>,
    /// How often an upstream that does not answer is asked again.
    pub retries: usize,
    /// How long to wait before the first time; doubles from there.
    pub pause: Duration,
    /// How long one fetch may take.
    pub patience: Duration,
    /// How the branches of tasks are named: they are ours, and never follow anybody.
    pub format: BranchFormat,
    /// Where other servers fetch into the same mirror: waits until it is our turn.
    pub turn: Option<Turn>,
}

/// A turn in our hands, until it is dropped.
pub trait Held: Send + Sync {
    /// Refuses to go on when the turn is somebody else's by now: whoever slept over it must not write what it once saw.
    fn still_ours(&self) -> BoxFuture<'_, Result<(), GitError>>;
}

/// A turn that comes, or does not.
type Coming = BoxFuture<'static, Result<Box<dyn Held>, GitError>>;

/// Waits for a turn.
#[derive(Clone)]
pub struct Turn(pub Arc<dyn Fn() -> Coming + Send + Sync>);

impl std::fmt::Debug for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Turn")
    }
}

impl Upstream {
    /// An upstream with the usual patience.
    pub fn new(source: RepoSource, credential: Option<Credential>) -> Upstream {
        let (pause, patience) = (Duration::from_millis(500), Duration::from_secs(3600));
        Upstream { source, credential, retries: 5, pause, patience, format: BranchFormat::default(), turn: None }
    }
}

/// What came of a look at the upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Synced {
    /// The upstream's default branch; nothing while it is empty.
    pub default_branch: Option<Branch>,
    /// Branches that moved, appeared or went.
    pub moved: Vec<BranchMove>,
    /// Whether anything had to be fetched.
    pub fetched: bool,
    /// Whether the mirror was damaged and made anew, and what could not be saved of it.
    pub rebuilt: Option<Vec<RefName>>,
}

/// A branch of the upstream that moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchMove {
    /// The branch.
    pub branch: Branch,
    /// Where it was.
    pub from: Option<CommitId>,
    /// Where it is.
    pub to: Option<CommitId>,
    /// Whether its history was rewritten: the old commit is no ancestor of the new one.
    pub rewritten: bool,
}

type Outcome = Result<Arc<Synced>, GitError>;

/// The one fetch that goes on.
#[derive(Default)]
pub(crate) struct Flight(Mutex<Option<Shared<BoxFuture<'static, Outcome>>>>);

impl std::fmt::Debug for Flight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Flight")
    }
}

const UPSTREAM_HEADS: &str = "refs/carrel/upstream/heads";
/// How many moved branches are looked at for rewritten history; beyond that the answer is worth less than the time.
const MOST_COMPARED: usize = 50;

impl Mirror {
    /// Brings the mirror up to date. Everybody who asks while one goes on gets the answer of that one; it goes on when
    /// they leave.
    pub async fn sync(&self, upstream: &Upstream) -> Outcome {
        let flight = {
            let mut slot = self.0.flight.0.lock().unwrap_or_else(PoisonError::into_inner);
            match &*slot {
                Some(flight) if flight.peek().is_none() => flight.clone(),
                _ => {
                    let (mirror, upstream) = (self.clone(), upstream.clone());
                    let work = tokio::spawn(async move { mirror.sync_patiently(&upstream).await.map(Arc::new) });
                    let lost = |_| Err(GitError::Failed { what: "fetch", why: "it was broken off".into() });
                    let flight = work.map(move |done| done.unwrap_or_else(lost)).boxed().shared();
                    *slot = Some(flight.clone());
                    flight
                }
            }
        };
        flight.await
    }

    async fn sync_patiently(&self, upstream: &Upstream) -> Result<Synced, GitError> {
        let turn = match &upstream.turn {
            Some(Turn(take)) => Some(take().await?),
            None => None,
        };
        let pace = ExponentialBuilder::default()
            .with_min_delay(upstream.pause)
            .with_max_delay(Duration::from_secs(30))
            .with_max_times(upstream.retries)
            .with_jitter();
        let turn = turn.as_deref();
        let synced = (|| self.sync_once(upstream, turn)).retry(pace).when(GitError::is_passing).await;
        self.0.progress.send_replace(None);
        match synced {
            Err(GitError::Broken { why }) => {
                tracing::warn!(repo = %self.name(), why, "a mirror is damaged and is made anew");
                still_ours(turn).await?;
                let lost = self.rebuild(upstream).await?;
                Ok(Synced { rebuilt: Some(lost), ..self.sync_once(upstream, turn).await? })
            }
            synced => synced,
        }
    }

    async fn sync_once(&self, upstream: &Upstream, turn: Option<&dyn Held>) -> Result<Synced, GitError> {
        self.check_if_suspect().await?;
        let seen = self.look_at(upstream).await?;
        let repository = self.path();
        let known = refs::list(self.git(), &repository, &[UPSTREAM_HEADS, "refs/tags"]).await?;
        let wanted: Refs = seen.refs.iter().filter_map(|(name, id)| Some((as_kept(name)?, id.clone()))).collect();
        // A page for visitors of a network or for a time of repair is read by git as a repository with nothing in it. One
        // that had branches and shows none at all is not believed: everything here would go with them.
        if seen.refs.is_empty() && known.keys().any(|name| name.is_below(UPSTREAM_HEADS)) {
            let why =
                "it shows no branch at all, though it had some: perhaps something else answers in its place".into();
            return Err(GitError::Unreachable { why });
        }
        if seen.refs.is_empty() && !self.hears_git_at(upstream).await? {
            let what = "repository there: what answers does not speak git; is the address right?".into();
            return Err(GitError::Missing { what });
        }
        let fetched = known != wanted;
        if fetched {
            still_ours(turn).await?;
            self.fetch(upstream).await?;
        }
        still_ours(turn).await?;
        let moved = self.follow(&upstream.format).await?;
        if let Some(branch) = &seen.default_branch
            && self.default_branch().await?.as_ref() != Some(branch)
        {
            self.set_default_branch(branch).await?;
        }
        Ok(Synced { default_branch: seen.default_branch, moved, fetched, rebuilt: None })
    }

    /// What the upstream has, without fetching any of it.
    async fn look_at(&self, upstream: &Upstream) -> Result<Seen, GitError> {
        let mut call = self.git().call("ls-remote").arg("--symref").patience(Duration::from_secs(120));
        let secret = secret::introduce(&mut call, &upstream.source, upstream.credential.as_ref())?;
        let call =
            call.arg("--end-of-options").arg(&upstream.source).arg("HEAD").arg("refs/heads/*").arg("refs/tags/*");
        let output = call.run().await;
        drop(secret);
        Seen::read(&output?)
    }

    /// Whether git's own protocol is spoken by an upstream that shows nothing: a page of one line looks the same.
    pub(crate) async fn hears_git_at(&self, upstream: &Upstream) -> Result<bool, GitError> {
        if !upstream.source.url().starts_with("http") {
            return Ok(true);
        }
        let call = self.git().call("ls-remote").patience(Duration::from_secs(120));
        // Every piece of the protocol is told on the second voice. It holds no credential: those are in HTTP's part.
        let mut call = call.env("GIT_TRACE_PACKET", "2");
        let secret = secret::introduce(&mut call, &upstream.source, upstream.credential.as_ref())?;
        let answer = call.arg("--end-of-options").arg(&upstream.source).arg("HEAD").answer().await;
        drop(secret);
        let answer = answer?;
        match answer.status.success() {
            true => Ok(answer.said.contains("packet:")),
            false => Err(GitError::understand("ls-remote", &answer.said)),
        }
    }

    /// Fetches the upstream's branches and tags into their places.
    pub(crate) async fn fetch(&self, upstream: &Upstream) -> Result<(), GitError> {
        self.fetch_into(&self.path(), upstream).await
    }

    pub(crate) async fn fetch_into(&self, repository: &std::path::Path, upstream: &Upstream) -> Result<(), GitError> {
        let progress = self.0.progress.clone();
        let mut call = self.git().at(repository, "fetch").patience(upstream.patience);
        let secret = secret::introduce(&mut call, &upstream.source, upstream.credential.as_ref())?;
        let call = call
            // Always a pack: whole or not there at all, whatever happens to the machine.
            .config("transfer.unpackLimit", "1")
            .config("fetch.negotiationAlgorithm", "skipping")
            .args(["--progress", "--no-tags", "--prune", "--force", "--no-write-fetch-head", "--no-auto-maintenance"])
            .args(["--no-recurse-submodules", "--no-show-forced-updates", "--end-of-options"])
            .arg(&upstream.source)
            .args(["+refs/heads/*:refs/carrel/upstream/heads/*", "+refs/tags/*:refs/tags/*"])
            .watched(move |step: Progress| {
                let _ = progress.send_replace(Some(step));
            });
        let fetched = call.run().await;
        drop(secret);
        fetched.map(drop)
    }

    /// Our branches follow the upstream's; those of tasks are our own.
    async fn follow(&self, format: &BranchFormat) -> Result<Vec<BranchMove>, GitError> {
        // Ours first: whoever sleeps from here on finds that they moved, and moves nothing.
        let ours = refs::list(self.git(), &self.path(), &["refs/heads"]).await?;
        let upstream = refs::list(self.git(), &self.path(), &[UPSTREAM_HEADS]).await?;
        let mut theirs: Refs = upstream.iter().filter_map(|(name, id)| Some((as_shown(name)?, id.clone()))).collect();
        // One that git has no room for beside our own is kept, and not shown: else nothing at all could follow.
        theirs.retain(|name, _| name.branch().is_some_and(|branch| !format.is_blocked_by(&branch)));
        let is_tasks = |name: &RefName| name.branch().is_some_and(|branch| format.task(&branch).is_some());
        let gone = ours.iter().filter(|(name, _)| !theirs.contains_key(*name) && !is_tasks(name));
        let gone: Vec<Move> =
            gone.map(|(name, id)| Move { name: name.clone(), from: Some(id.clone()), to: None }).collect();
        let new = theirs.iter().filter(|(name, id)| !is_tasks(name) && ours.get(*name) != Some(id));
        let new: Vec<Move> = new
            .map(|(name, id)| Move { name: name.clone(), from: ours.get(name).cloned(), to: Some(id.clone()) })
            .collect();
        // First what goes: `a` may make room for `a/b`.
        self.move_refs(&gone).await?;
        self.move_refs(&new).await?;
        let mut moved = Vec::new();
        for step in gone.into_iter().chain(new) {
            let Some(branch) = step.name.branch() else { continue };
            let rewritten = match (&step.from, &step.to) {
                (Some(from), Some(to)) if moved.len() < MOST_COMPARED => !self.is_ancestor(from, to).await?,
                _ => false,
            };
            moved.push(BranchMove { branch, from: step.from, to: step.to, rewritten });
        }
        Ok(moved)
    }
}

async fn still_ours(turn: Option<&dyn Held>) -> Result<(), GitError> {
    match turn {
        Some(turn) => turn.still_ours().await,
        None => Ok(()),
    }
}

/// What `ls-remote --symref` showed.
struct Seen {
    default_branch: Option<Branch>,
    refs: Refs,
}

impl Seen {
    /// Names that nobody can write down are left out.
    fn read(text: &[u8]) -> Result<Seen, GitError> {
        let (mut default_branch, mut refs) = (None, Refs::new());
        for line in text.split(|byte| *byte == b'\n') {
            let line = std::str::from_utf8(line).ok().and_then(|line| line.split_once('\t'));
            let Some((value, name)) = line else { continue };
            if let Some(target) = value.strip_prefix("ref: ") {
                if name == "HEAD" {
                    default_branch = target.parse().ok().and_then(|name: RefName| name.branch());
                }
                continue;
            }
            if value.len() == 64 {
                return Err(GitError::unfit(
                    "this repository names its objects by SHA-256, which Carrel does not take yet",
                ));
            }
            let name: Result<RefName, _> = name.parse();
            if let (Ok(name), Ok(id)) = (name, value.parse())
                && (name.is_below("refs/heads") || name.is_below("refs/tags"))
                && !name.as_str().ends_with("^{}")
            {
                refs.insert(name, id);
            }
        }
        // A default branch that does not exist yet is none.
        let default_branch = default_branch.filter(|branch: &Branch| refs.contains_key(&branch.full()));
        Ok(Seen { default_branch, refs })
    }
}

/// Where a ref of the upstream is kept; nothing when its name is too long for that.
pub(crate) fn as_kept(name: &RefName) -> Option<RefName> {
    match name.as_str().strip_prefix("refs/heads/") {
        Some(branch) => format!("{UPSTREAM_HEADS}/{branch}").parse().ok(),
        None => Some(name.clone()),
    }
}

/// The ref that shows where an upstream's branch is, of one that is kept.
fn as_shown(name: &RefName) -> Option<RefName> {
    let branch = name.as_str().strip_prefix(UPSTREAM_HEADS)?.strip_prefix('/')?;
    branch.parse().ok().map(|branch: Branch| branch.full())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_upstream_shows_is_read_with_its_default_branch() {
        let id = "a".repeat(40);
        let text = format!(
            "ref: refs/heads/trunk\tHEAD\n{id}\tHEAD\n{id}\trefs/heads/trunk\n{id}\trefs/tags/v1\n{id}\trefs/tags/v1^{{}}\n\
             {id}\trefs/pull/1/head\n"
        );
        let seen = Seen::read(text.as_bytes()).unwrap();
        assert_eq!(seen.default_branch, Some("trunk".parse().unwrap()));
        assert_eq!(seen.refs.len(), 2);
        let unborn = Seen::read(b"ref: refs/heads/main\tHEAD\n").unwrap();
        assert_eq!(unborn.default_branch, None);
        let sha256 = format!("{}\trefs/heads/main\n", "b".repeat(64));
        assert!(matches!(Seen::read(sha256.as_bytes()), Err(GitError::Unfit { .. })));
    }

    #[test]
    fn an_upstreams_branch_has_one_place_where_it_is_kept() {
        let shown: RefName = "refs/heads/a/b".parse().unwrap();
        assert_eq!(as_shown(&as_kept(&shown).unwrap()), Some(shown));
    }
}
