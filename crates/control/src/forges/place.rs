//! Where the pulls of a repository are.

use std::sync::Arc;

use carrel_forge::{Slug, forges::github, hooks::Dialect};
use carrel_model::{git::Locator, repo::Repo};
use secrecy::ExposeSecret;

use crate::{Error, credentials::ForgeKeys, house::House};

/// Where the pulls of a repository are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// Here.
    Embedded,
    /// At a GitHub.
    GitHub {
        /// The address of its interface.
        api: String,
        /// The repository there.
        slug: Slug,
        /// Whether it may be shown the house's own credential, and not the repository's alone.
        wide: bool,
    },
    /// At a Gitea or Forgejo.
    Gitea {
        /// Its root.
        url: String,
        /// The repository there.
        slug: Slug,
        /// Whether it may be shown the house's own credential.
        wide: bool,
    },
}

/// A source, as an address of a web server.
struct Web {
    scheme: &'static str,
    host: String,
    /// What stands before the repository, with a slash in front, or nothing.
    root: String,
    slug: Slug,
}

impl Place {
    /// The place of a repository: as its rules say, else by where it comes from, if we have an account there.
    pub(crate) async fn of(house: &Arc<House>, repo: &Repo) -> Result<Place, Error> {
        let Some(web) = web_of(repo) else {
            return match repo.rules.forge.as_deref() {
                None | Some("embedded") => Ok(Place::Embedded),
                Some(forge) => Err(Error::Conflict {
                    why: format!("the source of `{}` names no repository at {forge}", repo.name),
                }),
            };
        };
        match repo.rules.forge.as_deref() {
            Some("github") => web.at_github(house).await,
            Some("gitea") => web.at_gitea(house).await,
            None if web.host == "github.com" => {
                let keys = ForgeKeys::new(house, Some(repo.name.clone()), Dialect::GitHub, true);
                if keys.is_there().await? { web.at_github(house).await } else { Ok(Place::Embedded) }
            }
            _ => Ok(Place::Embedded),
        }
    }

    /// The word of the forge, as rules have it.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Place::Embedded => "embedded",
            Place::GitHub { .. } => "github",
            Place::Gitea { .. } => "gitea",
        }
    }
}

impl Web {
    async fn at_github(self, house: &Arc<House>) -> Result<Place, Error> {
        if self.host == "github.com" {
            return Ok(Place::GitHub { api: github::Config::PUBLIC.into(), slug: self.slug, wide: true });
        }
        let wide = is_the_house_s_own(house, "github-host", &self.host).await?;
        Ok(Place::GitHub { api: format!("{}://{}/api/v3", self.scheme, self.host), slug: self.slug, wide })
    }

    async fn at_gitea(self, house: &Arc<House>) -> Result<Place, Error> {
        let wide = is_the_house_s_own(house, "gitea-host", &self.host).await?;
        Ok(Place::Gitea { url: format!("{}://{}{}", self.scheme, self.host, self.root), slug: self.slug, wide })
    }
}

/// Whether the house's credential is for this host. Whoever may add a repository could otherwise have it sent anywhere.
async fn is_the_house_s_own(house: &House, name: &str, host: &str) -> Result<bool, Error> {
    let name = name.parse().expect("a good name");
    Ok(house.reveal(None, &name).await?.is_some_and(|own| own.expose_secret().trim() == host))
}

fn web_of(repo: &Repo) -> Option<Web> {
    match repo.source.as_ref()?.locator() {
        Locator::Path(_) => None,
        Locator::GitHub { owner, name } => {
            let slug = format!("{owner}/{name}").parse().ok()?;
            Some(Web { scheme: "https", host: "github.com".into(), root: String::new(), slug })
        }
        Locator::Http { url, host } => {
            let scheme = if url.starts_with("http://") { "http" } else { "https" };
            let path = url.splitn(4, '/').nth(3)?;
            web(scheme, host, path)
        }
        Locator::Ssh { url, host } => {
            let path = match url.strip_prefix("ssh://") {
                Some(rest) => rest.split_once('/')?.1,
                None => url.split_once(':')?.1,
            };
            // The port is ssh's; the web server has its own.
            let host = host.split(':').next()?.to_owned();
            web("https", host, path)
        }
    }
}

fn web(scheme: &'static str, host: String, path: &str) -> Option<Web> {
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let (owner, name) = path.rsplit_once('/')?;
    let (root, owner) = owner.rsplit_once('/').map_or(("", owner), |(root, owner)| (root, owner));
    let root = if root.is_empty() { String::new() } else { format!("/{root}") };
    Some(Web { scheme, host, root, slug: format!("{owner}/{name}").parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_names_a_repository_at_a_web_server() {
        let of = |scheme, host: &str, path| web(scheme, host.into(), path).map(|web| (web.root, web.slug.to_string()));
        assert_eq!(of("https", "h", "octo/hello.git"), Some((String::new(), "octo/hello".into())));
        assert_eq!(of("https", "h", "sub/path/octo/hello/"), Some(("/sub/path".into(), "octo/hello".into())));
        assert_eq!(of("https", "h", "alone"), None);
    }
}
