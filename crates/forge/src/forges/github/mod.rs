//! GitHub, and GitHub Enterprise Server.
//!
//! `access.rs` shows who we are, `wire.rs` is GitHub's language, `graphql.rs` the few things that its REST interface
//! cannot do. Requests go through `rest`, which keeps the budget.

mod access;
mod graphql;
mod pulls;
mod wire;

pub(crate) use wire::{CheckRunWire, CommentWire, LineCommentWire, PullWire, ReviewWire, StatusWire};

use std::{sync::Arc, time::Duration};

use http::{Method, StatusCode};
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;

use crate::{
    ForgeError, Keyring, Slug,
    rest::{Answer, Ask, Rest, Sane, Unanswered, next_page},
};

/// The media type of GitHub's interface, and that of a diff.
const JSON: &str = "application/vnd.github+json";
const DIFF: &str = "application/vnd.github.diff";
/// The longest list that is read, in pages of a hundred.
const MOST_PAGES: usize = 50;

/// How to reach a GitHub.
#[derive(Clone)]
pub struct Config {
    /// `https://api.github.com`, or `https://HOST/api/v3` of an Enterprise Server.
    pub api: String,
    /// Where the credential is kept.
    pub keyring: Arc<dyn Keyring>,
    /// How long one answer may take.
    pub patience: Duration,
}

impl Config {
    /// The address of github.com.
    pub const PUBLIC: &str = "https://api.github.com";

    /// Understands the address. Nothing is asked yet.
    pub fn build(self) -> Result<Connection, ForgeError> {
        let wrong = || ForgeError::invalid(format!("`{}` is no address of a GitHub", self.api));
        let rest = Rest::new(Url::parse(&self.api).map_err(|_| wrong())?, self.patience)?;
        Ok(Connection { inner: Arc::new(Inner { rest, access: access::Access::new(self.keyring) }) })
    }
}

/// One GitHub, met with one credential. Its repositories share the budget.
#[derive(Clone)]
pub struct Connection {
    inner: Arc<Inner>,
}

struct Inner {
    rest: Rest,
    access: access::Access,
}

impl Connection {
    /// The forge of one repository.
    pub fn repository(&self, slug: Slug) -> GitHub {
        GitHub { inner: Arc::clone(&self.inner), slug }
    }
}

/// A repository at GitHub.
#[derive(Clone)]
pub struct GitHub {
    inner: Arc<Inner>,
    slug: Slug,
}

impl GitHub {
    /// What opens this repository over https, for git itself: a token that may end within the hour. Ask each time.
    pub async fn git_token(&self) -> Result<SecretString, ForgeError> {
        let Inner { rest, access } = &*self.inner;
        let shown = access.authorization(rest, &self.slug).await?;
        Ok(shown.expose_secret().trim_start_matches("Bearer ").to_owned().into())
    }

    /// A question about this repository.
    fn ask<'s>(&'s self, method: Method, path: &[&'s str]) -> Ask {
        let start = ["repos", self.slug.owner(), self.slug.name()];
        self.inner.rest.ask(method, start.into_iter().chain(path.iter().copied())).accept(JSON)
    }

    /// Asks as the bearer of a token for this repository.
    async fn send(&self, ask: Ask) -> Result<Answer, ForgeError> {
        let Inner { rest, access } = &*self.inner;
        let shown = access.authorization(rest, &self.slug).await?;
        match rest.try_send(ask.clone(), &shown).await {
            // A token of an app may be withdrawn before its time; a fresh one decides.
            Err(Unanswered { status: Some(StatusCode::UNAUTHORIZED), .. }) if access.forget(&shown).await => {
                let shown = access.authorization(rest, &self.slug).await?;
                rest.send(ask, &shown).await
            }
            answer => answer.map_err(|unanswered| unanswered.error),
        }
    }

    async fn fetch<T: DeserializeOwned>(&self, ask: Ask) -> Result<T, ForgeError> {
        self.send(ask).await?.json()
    }

    /// A whole list, page by page.
    async fn list<T: DeserializeOwned>(&self, ask: Ask) -> Result<Vec<T>, ForgeError> {
        self.list_while(ask, |page: Vec<Sane<T>>| page.into_iter().filter_map(Sane::found).collect(), |_| true).await
    }

    /// A list, page by page, for as long as `go_on` wants. `items` takes the list out of a page.
    async fn list_while<P: DeserializeOwned, T>(
        &self,
        ask: Ask,
        items: impl Fn(P) -> Vec<T>,
        go_on: impl Fn(&T) -> bool,
    ) -> Result<Vec<T>, ForgeError> {
        let mut all = Vec::new();
        let mut ask = ask.query("per_page", "100");
        for _ in 0..MOST_PAGES {
            let answer = self.send(ask).await?;
            all.extend(items(answer.json()?));
            match next_page(&answer.headers) {
                Some(next) if all.last().is_some_and(&go_on) => {
                    ask = self.inner.rest.ask_at(Method::GET, next)?.accept(JSON);
                }
                _ => break,
            }
        }
        Ok(all)
    }
}
