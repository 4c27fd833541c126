//! The forge of each repository: where its pull requests are, and how it is reached.
//!
//! A repository that is hosted here has its pulls here; so has one whose upstream nobody gave us an account for.

mod hosted;
mod place;

pub(crate) use self::{
    hosted::{Held, Hosted, MOVED, style_of},
    place::Place,
};

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use carrel_forge::{
    Forge, ForgeError, Keyring,
    forges::{embedded, gitea, github},
    hooks::{Dialect, Replays},
};
use carrel_git::merge::{Forecaster, Ladder, Mergiraf};
use carrel_model::{CommitId, RepoName, public::PullView, repo::Repo};
use secrecy::SecretString;

use crate::{Error, StoreLedger, credentials::ForgeKeys, house::House};

/// How long one answer of a forge may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Who acts where nobody is named.
pub(crate) const LOGIN: &str = "carrel";

/// A head, and the base that it was tried with.
type Tried = (CommitId, Option<CommitId>);

/// What the house keeps for its forges, merges and forecasts.
pub(crate) struct Forges {
    /// Connections that are open: they know their budget, and hold tokens that were lent.
    open: Mutex<HashMap<RepoName, (Place, Outside)>>,
    /// How conflicts are settled here.
    pub(crate) ladder: Ladder,
    /// What branches change, by repository.
    forecasters: Mutex<HashMap<RepoName, Arc<Forecaster>>>,
    /// One at a time, by name.
    turns: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    /// Letters that came before.
    pub(crate) replays: Mutex<Replays>,
    /// The pulls that were to be merged by themselves, each with the head and the base that it was last tried with.
    tried: Mutex<HashMap<(RepoName, u64), Tried>>,
}

/// A forge that is somewhere else.
#[derive(Clone)]
enum Outside {
    GitHub(github::GitHub),
    Gitea(gitea::Gitea),
}

impl Forges {
    pub(crate) fn new() -> Forges {
        Forges {
            open: Mutex::default(),
            ladder: Ladder { mergiraf: Mergiraf::find() },
            forecasters: Mutex::default(),
            turns: Mutex::default(),
            replays: Mutex::new(Replays::default()),
            tried: Mutex::default(),
        }
    }

    /// Whether a pull was not yet tried with this head on this base. From now on it was.
    pub(crate) fn is_worth_a_try(&self, pull: &PullView, base: Option<CommitId>) -> bool {
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        let (which, with) = ((pull.repo.clone(), pull.number), (pull.head_commit.clone(), base));
        tried.insert(which, with.clone()) != Some(with)
    }

    /// A try that came to nothing for no reason of the pull's does not count.
    pub(crate) fn forget_the_try(&self, pull: &PullView) {
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        tried.remove(&(pull.repo.clone(), pull.number));
    }

    /// What is known of the branches of a repository.
    pub(crate) fn forecaster(&self, repo: &RepoName) -> Arc<Forecaster> {
        let mut forecasters = self.forecasters.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(forecasters.entry(repo.clone()).or_default())
    }

    /// Waits for one's turn at something. Those who wait are served in the order in which they came.
    pub(crate) async fn turn(&self, name: &str) -> tokio::sync::OwnedMutexGuard<()> {
        self.turn_of(name).lock_owned().await
    }

    /// One's turn, when nobody else has it or waits for it.
    pub(crate) fn turn_now(&self, name: &str) -> Option<tokio::sync::OwnedMutexGuard<()>> {
        self.turn_of(name).try_lock_owned().ok()
    }

    fn turn_of(&self, name: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        // What nobody holds or waits for need not be kept.
        if turns.len() > 1024 {
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        }
        Arc::clone(turns.entry(name.to_owned()).or_default())
    }

    fn open_ones(&self) -> MutexGuard<'_, HashMap<RepoName, (Place, Outside)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The forge of a repository, for the house itself.
pub(crate) async fn forge_of(house: &Arc<House>, repo: &Repo) -> Result<Arc<dyn Forge>, Error> {
    forge_as(house, repo, LOGIN, None).await
}

/// The forge of a repository, for somebody. At a forge outside everybody acts with the house's credential.
pub(crate) async fn forge_as(
    house: &Arc<House>,
    repo: &Repo,
    login: &str,
    held: Option<Held>,
) -> Result<Arc<dyn Forge>, Error> {
    let place = Place::of(house, repo).await?;
    if place == Place::Embedded {
        let mirror = house.library.mirror(&repo.name).await?;
        let config = embedded::Config {
            ledger: Arc::new(StoreLedger::new(house.store.clone(), repo.name.clone())),
            repository: Arc::new(Hosted::new(house, repo.clone(), mirror, held)),
            login: login.to_owned(),
            // Relative: by which name people call this house is not known to it.
            url: format!("/app/pulls/{}", repo.name),
        };
        return Ok(Arc::new(config.build()));
    }
    Ok(match outside(house, repo, place)? {
        Outside::GitHub(github) => Arc::new(github),
        Outside::Gitea(gitea) => Arc::new(gitea),
    })
}

/// What opens a repository at its forge over https, for git itself; nothing where its pulls are here.
pub(crate) async fn git_token(house: &Arc<House>, repo: &Repo, place: Place) -> Result<Option<SecretString>, Error> {
    if place == Place::Embedded {
        return Ok(None);
    }
    let token = match outside(house, repo, place.clone())? {
        Outside::GitHub(github) => github.git_token().await?,
        Outside::Gitea(_) => match keys(house, repo, &place).key().await? {
            carrel_forge::Key::Token(token) => token,
            carrel_forge::Key::App(_) => return Ok(None),
        },
    };
    Ok(Some(token))
}

fn outside(house: &Arc<House>, repo: &Repo, place: Place) -> Result<Outside, Error> {
    if let Some((known, forge)) = house.forges.open_ones().get(&repo.name)
        && *known == place
    {
        return Ok(forge.clone());
    }
    let keyring = Arc::new(keys(house, repo, &place));
    let forge = match &place {
        Place::Embedded => return Err(Error::Conflict { why: "its pulls are here".into() }),
        Place::GitHub { api, slug, .. } => {
            let config = github::Config { api: api.clone(), keyring, patience: PATIENCE };
            Outside::GitHub(config.build()?.repository(slug.clone()))
        }
        Place::Gitea { url, slug, .. } => {
            let config = gitea::Config { url: url.clone(), keyring, patience: PATIENCE };
            Outside::Gitea(config.build()?.repository(slug.clone()))
        }
    };
    house.forges.open_ones().insert(repo.name.clone(), (place, forge.clone()));
    Ok(forge)
}

fn keys(house: &Arc<House>, repo: &Repo, place: &Place) -> ForgeKeys {
    let (dialect, wide) = match place {
        Place::Gitea { wide, .. } => (Dialect::Gitea, *wide),
        Place::GitHub { wide, .. } => (Dialect::GitHub, *wide),
        Place::Embedded => (Dialect::GitHub, false),
    };
    ForgeKeys::new(house, Some(repo.name.clone()), dialect, wide)
}

impl From<ForgeError> for Error {
    fn from(error: ForgeError) -> Self {
        match error {
            ForgeError::NotFound { what } => Error::NotFound { what },
            ForgeError::Denied { why, .. } | ForgeError::Conflict { why } => Error::Conflict { why },
            ForgeError::Limited { until } => {
                let wait = until.duration_since(jiff::Timestamp::now());
                let retry_after = wait.max(jiff::SignedDuration::from_secs(1));
                let why = format!("the forge asks for patience until {until}");
                Error::Limited { why, retry_after, of: crate::TooMuch::Haste }
            }
            ForgeError::Unavailable { why } => Error::Unavailable { why, source: None },
            ForgeError::Invalid { why } => Error::field("pull", why),
        }
    }
}
