//! The OCI provider keeps the same promises as the others, with each runtime.

use std::path::PathBuf;

use carrel_model::sandbox::Isolation;
use carrel_sandbox::{
    Provider, ProviderError,
    contract::{Reopen, broken_promises},
    providers::oci::Config,
};

use crate::yard::{Yard, assert_nothing_is_left, config, find, new_id};

struct Again(Config);

impl Reopen for Again {
    fn open(&self) -> Box<dyn Provider> {
        let config = self.0.clone();
        let opened = tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(config.build()));
        Box::new(opened.unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_keeps_every_promise_with_gvisor() {
    keeps_every_promise_with("runsc").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_keeps_every_promise_with_runc() {
    keeps_every_promise_with("runc").await;
}

async fn keeps_every_promise_with(runtime: &str) {
    let folder = tempfile::tempdir().unwrap();
    let again = Again(config(folder.path(), find(runtime)));
    assert_eq!(broken_promises(&again).await, Vec::<String>::new());
    again.0.clone().build().await.unwrap().close().await;
    assert_nothing_is_left(folder.path(), &again.0.house);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_gvisor_offers_is_found_out_by_trying() {
    let yard = Yard::open().await;
    let fitness = yard.oci.probe().await.unwrap();
    assert_eq!(fitness.isolation, [Isolation::Gvisor]);
    assert_eq!(fitness.templates.first().map(|name| name.as_str()), Some("host"));
    let mut spec = yard.spec().await;
    spec.isolation = Isolation::Microvm;
    let refused = yard.oci.create(&new_id(), &spec).await;
    assert!(matches!(refused, Err(ProviderError::Unfit { .. })), "{refused:?}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_that_does_not_work_is_not_offered() {
    let folder = tempfile::tempdir().unwrap();
    // Has the name of one, and ends at once.
    let program = folder.path().join("runsc-that-fails");
    std::os::unix::fs::symlink("/bin/false", &program).unwrap();
    let config = config(folder.path(), program.clone());
    let oci = config.clone().build().await.unwrap();
    let fitness = oci.probe().await.unwrap();
    assert_eq!(fitness.isolation, []);
    let named = fitness.missing.iter().any(|sentence| sentence.contains("runsc-that-fails does not work here"));
    assert!(named, "{:?}", fitness.missing);
    oci.close().await;
    assert_nothing_is_left(folder.path(), &config.house);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_that_is_not_there_is_asked_for_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), PathBuf::from("/nowhere/runsc"));
    let oci = config.clone().build().await.unwrap();
    let fitness = oci.probe().await.unwrap();
    assert!(fitness.isolation.is_empty() && fitness.missing[0].contains("/nowhere/runsc"), "{fitness:?}");
    oci.close().await;
    assert_nothing_is_left(folder.path(), &config.house);
}
