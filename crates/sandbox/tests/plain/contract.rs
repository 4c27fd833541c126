//! A plain user's provider keeps the same promises as root's.

use carrel_sandbox::{
    Provider,
    contract::{Reopen, broken_promises},
    providers::local::Config,
};

use crate::yard::as_plain_user;

struct Again(Config);

impl Reopen for Again {
    fn open(&self) -> Box<dyn Provider> {
        let config = self.0.clone();
        let opened = tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(config.build()));
        Box::new(opened.unwrap())
    }
}

#[test]
fn a_plain_users_provider_keeps_every_promise() {
    as_plain_user("contract::a_plain_users_provider_keeps_every_promise", async |yard| {
        let again = Again(yard.config());
        let broken = tokio::spawn(async move { broken_promises(&again).await }).await.unwrap();
        assert_eq!(broken, Vec::<String>::new());
    });
}
