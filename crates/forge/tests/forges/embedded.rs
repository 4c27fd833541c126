//! The embedded forge over a real bare repository, asked with the git command line.

use std::sync::{Arc, atomic::Ordering};

use async_trait::async_trait;
use carrel_forge::{
    BranchName, CommitId, Forge, Ledger, Merge, MergeWay, NewPull, Notebook, PullState, Repository,
    contract::{World, broken_promises},
    forges::embedded::{Config, Embedded},
};

use crate::bare::Bare;

struct EmbeddedWorld {
    bare: Bare,
    folder: tempfile::TempDir,
}

impl EmbeddedWorld {
    fn make() -> EmbeddedWorld {
        let folder = tempfile::tempdir().unwrap();
        EmbeddedWorld { bare: Bare::make(folder.path()), folder }
    }

    fn forge(&self) -> Embedded {
        self.forge_over(Arc::new(Notebook::in_file(self.folder.path().join("pulls.json")).unwrap()))
    }

    fn forge_over(&self, ledger: Arc<dyn Ledger>) -> Embedded {
        let url = "http://127.0.0.1:7070/app/repos/hello/pulls".into();
        Config { ledger, repository: Arc::new(self.bare.clone()), login: "carrel".into(), url }.build()
    }
}

/// One forge for everybody, as in one house.
struct OneHouse(EmbeddedWorld, Embedded);

#[async_trait]
impl World for OneHouse {
    fn open(&self) -> Box<dyn Forge> {
        Box::new(self.1.clone())
    }
    fn mona(&self) -> Box<dyn Forge> {
        Box::new(self.1.acting_as("mona"))
    }
    async fn push(&self, branch: &BranchName, path: &str, text: &str) -> CommitId {
        self.0.bare.push(branch, path, text)
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

#[tokio::test]
async fn the_embedded_forge_keeps_the_contract_over_a_real_repository() {
    let world = EmbeddedWorld::make();
    let forge = world.forge();
    assert_eq!(broken_promises(&OneHouse(world, forge)).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_merge_that_died_half_way_is_finished_by_whoever_looks_next() {
    for way in [MergeWay::Merge, MergeWay::Squash, MergeWay::Rebase] {
        let world = EmbeddedWorld::make();
        let head = world.bare.push(&"task-1".parse().unwrap(), "x.txt", "x\n");
        let pull = world.forge().open(&new_pull("task-1")).await.unwrap();
        world.bare.dies_after_advance.store(true, Ordering::Relaxed);
        let merge = Merge { way, head, title: None, message: None };
        assert!(world.forge().merge(pull.number, &merge).await.is_err());
        let base = world.bare.find("main").unwrap();

        // A new house over the same files: the base has moved once, and that is known.
        let state = world.forge().get(pull.number).await.unwrap().state;
        assert_eq!(state, PullState::Merged { commit: Some(base.clone()) }, "{way:?}");
        assert_eq!(world.forge().merge(pull.number, &merge).await.unwrap().commit, Some(base.clone()));
        assert_eq!(world.bare.find("main").unwrap(), base, "it was merged twice");
    }
}

#[tokio::test]
async fn two_that_merge_at_once_merge_once_and_the_base_never_moves_back() {
    let world = EmbeddedWorld::make();
    let forge = world.forge();
    let mut merges = Vec::new();
    for number in 0..8 {
        let branch = format!("task-{number}");
        let head = world.bare.push(&branch.parse().unwrap(), &format!("{number}.txt"), "x\n");
        let pull = forge.open(&new_pull(&branch)).await.unwrap();
        merges.push((pull.number, Merge { way: MergeWay::Merge, head, title: None, message: None }));
    }
    // Each is asked for twice, by two houses that share the ledger.
    let all = merges.iter().chain(&merges).map(|(number, merge)| forge.merge(*number, merge));
    for merged in futures::future::join_all(all).await {
        merged.unwrap();
    }
    let merged = world.bare.git(&["rev-list", "--count", "--merges", "main"]).unwrap();
    assert_eq!(merged, "8");
    for (_, merge) in &merges {
        assert!(world.bare.contains(&"main".parse().unwrap(), &merge.head).await.unwrap());
    }
}

#[tokio::test]
async fn a_pull_whose_branch_goes_back_to_its_base_is_not_merged() {
    let world = EmbeddedWorld::make();
    let head = world.bare.push(&"task-1".parse().unwrap(), "x.txt", "x\n");
    let pull = world.forge().open(&new_pull("task-1")).await.unwrap();
    world.bare.git(&["update-ref", "refs/heads/task-1", "refs/heads/main"]).unwrap();
    let seen = world.forge().get(pull.number).await.unwrap();
    assert_eq!((seen.state, seen.head_commit), (PullState::Open, head.clone()), "it is what it was");
    // It goes on from there, and then it is merged by somebody who pushes it.
    world.bare.git(&["update-ref", "refs/heads/task-1", head.as_str()]).unwrap();
    let next = world.bare.push(&"task-1".parse().unwrap(), "y.txt", "y\n");
    assert_eq!(world.forge().get(pull.number).await.unwrap().head_commit, next);
    world.bare.git(&["update-ref", "refs/heads/main", next.as_str()]).unwrap();
    assert_eq!(world.forge().get(pull.number).await.unwrap().state, PullState::Merged { commit: Some(next) });
}

#[tokio::test]
async fn a_pull_whose_commits_were_pushed_to_the_base_is_merged() {
    let world = EmbeddedWorld::make();
    let head = world.bare.push(&"task-1".parse().unwrap(), "x.txt", "x\n");
    let pull = world.forge().open(&new_pull("task-1")).await.unwrap();
    world.bare.git(&["update-ref", "refs/heads/main", head.as_str()]).unwrap();
    assert_eq!(world.forge().get(pull.number).await.unwrap().state, PullState::Merged { commit: Some(head) });
}
