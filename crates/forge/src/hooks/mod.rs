//! The letter box: what forges send by themselves.
//!
//! A letter is believed when its body was signed with a secret that we share with the forge. Then it is understood, and
//! becomes a `Notice` in the same words that polling uses. A letter that came before is told from a new one by
//! `Replays`.
//!
//! A notice is a hint, never an order: who hears it asks the forge, with our own credential, before anything is done.

mod gitea;
mod github;
mod replays;

pub use replays::Replays;

use http::HeaderMap;
use ring::hmac;
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;

use crate::{BranchName, CommitId, Notice, Slug};

/// The largest letter that is read. GitHub cuts off at 25 MB.
pub const MOST_BYTES: usize = 25 * 1024 * 1024;

/// Whose letters they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// GitHub's.
    GitHub,
    /// Gitea's and Forgejo's.
    Gitea,
}

/// A letter that was believed.
#[derive(Debug, Clone, PartialEq)]
pub struct Letter {
    /// The forge's name for this delivery.
    pub id: String,
    /// What it is called there, such as `pull_request`.
    pub event: String,
    /// The repository it is about, where it is about one.
    pub repository: Option<Slug>,
    /// What happened, if it is something that concerns us.
    pub notice: Option<Notice>,
    /// Sets the content apart from any other, for `Replays`. The delivery's name is not signed, the content is.
    pub print: [u8; 32],
}

/// Why a letter was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HookError {
    /// It is not signed, or not with a secret that we share: nothing it says is believed.
    #[error("the webhook is not signed with the secret that was agreed on")]
    Forged,
    /// It is signed, but makes no sense.
    #[error("{why}")]
    Malformed {
        /// A sentence.
        why: String,
    },
}

impl Dialect {
    /// Believes and understands a letter. Several secrets are good at once while one is replaced by another; with none,
    /// nothing is believed.
    pub fn read(self, secrets: &[SecretString], headers: &HeaderMap, body: &[u8]) -> Result<Letter, HookError> {
        let print = self.believe(secrets, headers, body)?;
        let header = |names: &[&str]| {
            let found = names.iter().find_map(|name| headers.get(*name)?.to_str().ok());
            found.map(str::to_owned).ok_or_else(|| malformed(format!("the header {} is missing", names[0])))
        };
        if headers.get("content-type").is_some_and(|kind| !kind.as_bytes().starts_with(b"application/json")) {
            return Err(malformed("choose the content type application/json for the webhook"));
        }
        let (id, event) = match self {
            Dialect::GitHub => (header(&["x-github-delivery"])?, header(&["x-github-event"])?),
            Dialect::Gitea => {
                (header(&["x-gitea-delivery", "x-forgejo-delivery"])?, header(&["x-gitea-event", "x-forgejo-event"])?)
            }
        };
        let About { repository } = parse(body)?;
        let notice = match self {
            Dialect::GitHub => github::understand(&event, body)?,
            Dialect::Gitea => gitea::understand(&event, body)?,
        };
        let repository = repository.and_then(|about| about.full_name.parse().ok());
        Ok(Letter { id, event, repository, notice, print })
    }

    /// Compares in constant time.
    fn believe(self, secrets: &[SecretString], headers: &HeaderMap, body: &[u8]) -> Result<[u8; 32], HookError> {
        let names: &[&str] = match self {
            Dialect::GitHub => &["x-hub-signature-256"],
            Dialect::Gitea => &["x-gitea-signature", "x-forgejo-signature", "x-hub-signature-256"],
        };
        let shown = names.iter().find_map(|name| headers.get(*name)?.to_str().ok()).ok_or(HookError::Forged)?;
        let shown = hex::decode(shown.strip_prefix("sha256=").unwrap_or(shown)).map_err(|_| HookError::Forged)?;
        // An empty secret signs nothing.
        for secret in secrets.iter().map(|secret| secret.expose_secret().as_bytes()).filter(|secret| !secret.is_empty())
        {
            let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
            if hmac::verify(&key, body, &shown).is_ok() {
                return shown.try_into().map_err(|_| HookError::Forged);
            }
        }
        Err(HookError::Forged)
    }
}

#[derive(serde::Deserialize)]
struct About {
    repository: Option<AboutRepository>,
}

#[derive(serde::Deserialize)]
struct AboutRepository {
    full_name: String,
}

/// A push, which both dialects tell in the same words.
#[derive(serde::Deserialize)]
struct PushWire {
    #[serde(rename = "ref")]
    name: String,
    before: String,
    after: String,
}

impl PushWire {
    /// A branch that moved; tags do not concern us.
    fn notice(self) -> Option<Notice> {
        let branch: BranchName = self.name.strip_prefix("refs/heads/")?.parse().ok()?;
        Some(Notice::Push { branch, before: commit(&self.before), after: commit(&self.after) })
    }
}

/// A commit; forges write "none" as zeros.
fn commit(text: &str) -> Option<CommitId> {
    if text.bytes().all(|byte| byte == b'0') { None } else { text.parse().ok() }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, HookError> {
    serde_json::from_slice(body).map_err(|error| malformed(format!("the webhook makes no sense: {error}")))
}

fn malformed(why: impl Into<String>) -> HookError {
    HookError::Malformed { why: why.into() }
}
