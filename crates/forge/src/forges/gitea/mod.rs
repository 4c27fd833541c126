//! Gitea and Forgejo.
//!
//! Much like GitHub, and different in what matters: a draft is a title that begins with `WIP:`, a comment on a line is
//! part of a review, labels go by number, a wish to be merged can be made but not seen. `wire.rs` is their language.

mod pulls;
mod wire;

pub(crate) use wire::{CommentWire, PullWire, StatusWire};

use std::{sync::Arc, time::Duration};

use http::Method;
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;

use crate::{
    ForgeError, Key, Keyring, Slug,
    rest::{Answer, Ask, Rest, Sane},
};

/// Items on a page: as many as a server gives by default.
const PAGE: usize = 50;
/// The longest list that is read.
const MOST_PAGES: usize = 100;

/// How to reach a Gitea or Forgejo.
#[derive(Clone)]
pub struct Config {
    /// Its root, such as `https://codeberg.org`.
    pub url: String,
    /// Where the credential is kept.
    pub keyring: Arc<dyn Keyring>,
    /// How long one answer may take.
    pub patience: Duration,
}

impl Config {
    /// Understands the address. Nothing is asked yet.
    pub fn build(self) -> Result<Connection, ForgeError> {
        let wrong = || ForgeError::invalid(format!("`{}` is no address of a Gitea", self.url));
        let mut url = Url::parse(&self.url).map_err(|_| wrong())?;
        url.path_segments_mut().map_err(|()| wrong())?.pop_if_empty().extend(["api", "v1"]);
        Ok(Connection { inner: Arc::new(Inner { rest: Rest::new(url, self.patience)?, keyring: self.keyring }) })
    }
}

/// One Gitea, met with one credential.
#[derive(Clone)]
pub struct Connection {
    inner: Arc<Inner>,
}

struct Inner {
    rest: Rest,
    keyring: Arc<dyn Keyring>,
}

impl Connection {
    /// The forge of one repository.
    pub fn repository(&self, slug: Slug) -> Gitea {
        Gitea { inner: Arc::clone(&self.inner), slug }
    }
}

/// A repository at a Gitea.
#[derive(Clone)]
pub struct Gitea {
    inner: Arc<Inner>,
    slug: Slug,
}

impl Gitea {
    /// A question about this repository.
    fn ask<'s>(&'s self, method: Method, path: &[&'s str]) -> Ask {
        let start = ["repos", self.slug.owner(), self.slug.name()];
        self.inner.rest.ask(method, start.into_iter().chain(path.iter().copied()))
    }

    async fn send(&self, ask: Ask) -> Result<Answer, ForgeError> {
        let shown: SecretString = match self.inner.keyring.key().await? {
            Key::Token(token) => format!("token {}", token.expose_secret()).into(),
            Key::App(_) => return Err(ForgeError::invalid("a Gitea knows no apps; give it a token")),
        };
        self.inner.rest.send(ask, &shown).await
    }

    async fn fetch<T: DeserializeOwned>(&self, ask: Ask) -> Result<T, ForgeError> {
        self.send(ask).await?.json()
    }

    /// A list, page by page, until `enough` says so. Pages are counted: the links that a Gitea gives lead to its public
    /// address, which may not be the one that it was met at.
    async fn list<T: DeserializeOwned>(&self, ask: Ask, enough: impl Fn(&T) -> bool) -> Result<Vec<T>, ForgeError> {
        let (mut all, mut read) = (Vec::new(), 0);
        for page in 1..=MOST_PAGES {
            let ask = ask.clone().query("page", &page.to_string()).query("limit", &PAGE.to_string());
            let answer = self.send(ask).await?;
            let items: Vec<Sane<T>> = answer.json::<Option<Vec<Sane<T>>>>()?.unwrap_or_default();
            let count = items.len();
            read += count;
            let items: Vec<T> = items.into_iter().filter_map(Sane::found).collect();
            let done = items.iter().any(&enough);
            all.extend(items);
            let total =
                answer.headers.get("x-total-count").and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
            if done || count == 0 || total.map_or(count < PAGE, |total| read >= total) {
                break;
            }
        }
        Ok(all)
    }
}
