//! The local provider keeps the same promises as the others.

use std::sync::Mutex;

use carrel_sandbox::{
    Provider,
    contract::{Reopen, broken_promises},
    providers::local::{Config, DiskChoice},
};

use crate::yard::{Yard, config};

struct Again(Config, Mutex<()>);

impl Reopen for Again {
    fn open(&self) -> Box<dyn Provider> {
        let _one = self.1.lock().unwrap();
        let config = self.0.clone();
        let opened = tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(config.build()));
        Box::new(opened.unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_local_provider_keeps_every_promise() {
    let folder = tempfile::tempdir().unwrap();
    let again = Again(config(folder.path(), DiskChoice::Folder, 0), Mutex::default());
    assert_eq!(broken_promises(&again).await, Vec::<String>::new());
    again.0.clone().build().await.unwrap().close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_keeps_them_on_an_image_with_subvolumes_too() {
    let folder = tempfile::tempdir().unwrap();
    let again = Again(config(folder.path(), DiskChoice::Image(Some(1 << 30)), 0), Mutex::default());
    assert_eq!(broken_promises(&again).await, Vec::<String>::new());
    again.0.clone().build().await.unwrap().close().await;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(folder.path().to_str().unwrap()), "the image is let go");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_takes_what_waits_and_a_used_slot_never_returns() {
    let yard = Yard::with(DiskChoice::Folder, 2).await;
    let spec = yard.spec().await;
    let first = yard.create(&spec).await;
    // The pool learns from the first, and fills behind it.
    while yard.local.pool_waiting() < 2 {
        tokio::task::yield_now().await;
    }
    let second = yard.create(&spec).await;
    assert_eq!(yard.local.pool_counts(), (1, 1));
    yard.run(&second, "echo used > /mark").await;
    yard.local.destroy(&second).await.unwrap();
    while yard.local.pool_waiting() < 2 {
        tokio::task::yield_now().await;
    }
    for _ in 0..2 {
        let next = yard.create(&spec).await;
        assert_eq!(yard.run(&next, "test -e /mark").await.code, 1, "nobody finds what another left");
    }
    yard.local.destroy(&first).await.unwrap();
    yard.close().await;
}
