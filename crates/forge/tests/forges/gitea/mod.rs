//! Gitea's client, against a stand-in with Gitea's manners.

mod standin;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::Router;
use carrel_forge::{
    BranchName, CommitId, Forge, ForgeError, Key,
    contract::{World, broken_promises},
    forges::{
        fake::Pretend,
        gitea::{Config, Gitea},
    },
};

use self::standin::{SLUG, StandIn};

/// A Gitea whose repository is only pretended.
struct Pretended {
    standin: StandIn,
    repository: Arc<Pretend>,
}

impl Pretended {
    async fn start() -> Pretended {
        let repository: Arc<Pretend> = Arc::default();
        Pretended { standin: StandIn::over(Arc::clone(&repository) as _, Router::new()).await, repository }
    }

    fn client(&self, token: &str) -> Gitea {
        let keyring = Arc::new(Key::Token(token.into()));
        let url = format!("http://{}/", self.standin.address);
        let config = Config { url, keyring, patience: Duration::from_secs(20) };
        config.build().unwrap().repository(SLUG.parse().unwrap())
    }
}

#[async_trait]
impl World for Pretended {
    fn open(&self) -> Box<dyn Forge> {
        Box::new(self.client("carrel"))
    }
    fn mona(&self) -> Box<dyn Forge> {
        Box::new(self.client("mona"))
    }
    async fn push(&self, branch: &BranchName, path: &str, text: &str) -> CommitId {
        self.repository.push(branch, path, text).unwrap()
    }
}

#[tokio::test]
async fn gitea_keeps_the_contract() {
    let world = Pretended::start().await;
    assert_eq!(broken_promises(&world).await, Vec::<String>::new());
    assert_eq!(*world.standin.house.violations.lock().unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_gitea_token_that_is_not_accepted_is_denied_and_an_app_is_invalid() {
    let world = Pretended::start().await;
    assert!(matches!(world.client("nobody").default_branch().await, Err(ForgeError::Denied { .. })));
    let app = carrel_forge::AppKey { id: "1".into(), pem: "x".into() };
    let config = Config {
        url: format!("http://{}", world.standin.address),
        keyring: Arc::new(Key::App(app)),
        patience: Duration::from_secs(5),
    };
    let gitea = config.build().unwrap().repository(SLUG.parse().unwrap());
    assert!(matches!(gitea.default_branch().await, Err(ForgeError::Invalid { .. })));
}
