//! The embedded forge with its rows in a real database.

use std::sync::Arc;

use async_trait::async_trait;
use carrel_control::StoreLedger;
use carrel_forge::{
    BranchName, CommitId, Forge, NewPull, PullNumber,
    contract::{World, broken_promises},
    forges::{
        embedded::{Config, Embedded},
        fake::Pretend,
    },
};
use carrel_store::Store;
use carrel_testkit::{TestDatabase, on_both_databases};

struct Hosted {
    store: Store,
    repo: &'static str,
    commits: Arc<Pretend>,
}

impl Hosted {
    async fn open(database: &TestDatabase) -> Hosted {
        let store = Store::open(database.options()).await.unwrap();
        Hosted { store, repo: "hello", commits: Arc::default() }
    }

    fn forge(&self) -> Embedded {
        let ledger = StoreLedger::new(self.store.clone(), self.repo.parse().unwrap());
        let url = format!("http://127.0.0.1:7070/app/repos/{}/pulls", self.repo);
        Config { ledger: Arc::new(ledger), repository: Arc::clone(&self.commits) as _, login: "carrel".into(), url }
            .build()
    }
}

#[async_trait]
impl World for Hosted {
    fn open(&self) -> Box<dyn Forge> {
        Box::new(self.forge())
    }
    fn mona(&self) -> Box<dyn Forge> {
        Box::new(self.forge().acting_as("mona"))
    }
    async fn push(&self, branch: &BranchName, path: &str, text: &str) -> CommitId {
        self.commits.push(branch, path, text).unwrap()
    }
}

fn new_pull(head: &str) -> NewPull {
    NewPull {
        title: "feat: x".into(),
        body: "y".into(),
        head: head.parse().unwrap(),
        base: "main".parse().unwrap(),
        draft: false,
    }
}

on_both_databases! {
    async fn the_embedded_forge_keeps_the_contract_in_the_database(database: TestDatabase) {
        let world = Hosted::open(&database).await;
        assert_eq!(broken_promises(&world).await, Vec::<String>::new());
        world.store.close().await;
        database.drop().await;
    }

    async fn fifty_that_open_at_once_get_one_pull_for_each_branch_and_no_number_twice(database: TestDatabase) {
        let world = Hosted::open(&database).await;
        for number in 0..10 {
            world.push(&format!("task-{number}").parse().unwrap(), &format!("{number}"), "x\n").await;
        }
        let forge = world.forge();
        let asks: Vec<_> = (0..50).map(|n| new_pull(&format!("task-{}", n % 10))).collect();
        let opened = futures::future::join_all(asks.iter().map(|new| forge.open(new))).await;
        let mut numbers: Vec<PullNumber> = opened.into_iter().map(|pull| pull.unwrap().number).collect();
        numbers.sort();
        numbers.dedup();
        assert_eq!(numbers, (1..=10).map(PullNumber).collect::<Vec<_>>());
        let other = Hosted { repo: "other", store: world.store.clone(), commits: Arc::clone(&world.commits) };
        let first = other.forge().open(&new_pull("task-3")).await.unwrap();
        assert_eq!((first.number, first.url.as_str()), (PullNumber(1), "http://127.0.0.1:7070/app/repos/other/pulls/1"));
        world.store.close().await;
        database.drop().await;
    }
}
