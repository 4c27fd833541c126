//! The fake.

use async_trait::async_trait;
use carrel_forge::{
    BranchName, CommitId, Forge, ForgeError,
    contract::{World, broken_promises},
    forges::fake::{Config, Fake},
};

struct FakeWorld {
    folder: std::path::PathBuf,
}

impl FakeWorld {
    fn fake(&self) -> Fake {
        Config { folder: Some(self.folder.clone()), login: "carrel".into() }.build().unwrap()
    }
}

#[async_trait]
impl World for FakeWorld {
    fn open(&self) -> Box<dyn Forge> {
        Box::new(self.fake())
    }
    fn mona(&self) -> Box<dyn Forge> {
        Box::new(self.fake().acting_as("mona"))
    }
    async fn push(&self, branch: &BranchName, path: &str, text: &str) -> CommitId {
        self.fake().repository().push(branch, path, text).unwrap()
    }
}

struct Shared(Fake);

#[async_trait]
impl World for Shared {
    fn open(&self) -> Box<dyn Forge> {
        Box::new(self.0.clone())
    }
    fn mona(&self) -> Box<dyn Forge> {
        Box::new(self.0.acting_as("mona"))
    }
    async fn push(&self, branch: &BranchName, path: &str, text: &str) -> CommitId {
        self.0.repository().push(branch, path, text).unwrap()
    }
}

#[tokio::test]
async fn the_fake_forge_keeps_the_contract() {
    let world = Shared(Config { folder: None, login: "carrel".into() }.build().unwrap());
    assert_eq!(broken_promises(&world).await, Vec::<String>::new());
}

#[tokio::test]
async fn the_fake_told_to_fail_fails_and_recovers() {
    let fake = Config { folder: None, login: "carrel".into() }.build().unwrap();
    let storm = ForgeError::Unavailable { why: "a storm".into() };
    fake.weather().lock().unwrap().storms.push_back(storm.clone());
    assert_eq!(fake.default_branch().await, Err(storm));
    assert!(fake.default_branch().await.is_ok());
}

#[tokio::test]
async fn a_fake_with_a_folder_finds_everything_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let world = FakeWorld { folder: folder.path().to_owned() };
    // Each call of the suite through a new fake, so the files are all that is remembered between two phases.
    let head: BranchName = "task-9".parse().unwrap();
    let tip = world.push(&head, "x", "y\n").await;
    let new = carrel_forge::NewPull {
        title: "t".into(),
        body: String::new(),
        head: head.clone(),
        base: "main".parse().unwrap(),
        draft: false,
    };
    let number = world.open().open(&new).await.unwrap().number;
    assert_eq!(world.open().get(number).await.unwrap().head_commit, tip);
    assert_eq!(world.open().find(&head).await.unwrap().unwrap().number, number);
}
