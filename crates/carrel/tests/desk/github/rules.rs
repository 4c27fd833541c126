//! What a repository wants of the pulls of its tasks holds at GitHub too, and what is said there reaches the agent.

use std::sync::{Arc, Mutex};

use carrel_forge::{
    Check, CheckState, CommitId, Forge, Merge, MergeWay, NewReview, Pull, PullNumber, PullState, Verdict,
};
use serde_json::{Value, json};

use super::{bare::Bare, standin::StandIn, upstream::Upstream};
use crate::{tasks::COMMITS, yard::Yard};

/// A yard, a GitHub, and a repository at it.
pub(crate) struct World {
    pub(crate) yard: Yard,
    pub(crate) standin: StandIn,
    pub(crate) bare: Bare,
    upstream: Arc<Upstream>,
}

const FIRST: PullNumber = PullNumber(1);

impl World {
    pub(crate) async fn open(rules: Value) -> World {
        let yard = Yard::open().await;
        let bare = Bare::make(yard.house.folder());
        // Put together here, so that it is in no file.
        let token = ["ghp", "purple", "monkey", "dishwasher"].join("_");
        let upstream = Arc::new(Upstream {
            slug: "octo-org/hello-world".into(),
            folder: bare.folder.clone(),
            token: Mutex::new(token.clone()),
            seen: Mutex::default(),
            broken: Mutex::default(),
        });
        let standin = StandIn::over("/api/v3", Arc::new(bare.clone()), Arc::default(), upstream.routes()).await;
        standin.house.memory().tokens.insert(token.clone(), ("carrel".into(), None));
        let source = format!("http://{}/octo-org/hello-world.git", standin.address);
        let secret = json!({"name": "github-token", "value": token, "repo": "hello"});
        yard.post("/api/v1/secrets", secret).await;
        let repo = json!({"source": source, "name": "hello", "forge": "github", "pulls": rules});
        yard.post("/api/v1/repos", repo).await;
        yard.sync("hello").await;
        yard.agent("scribe", COMMITS).await;
        World { yard, standin, bare, upstream }
    }

    /// The first pull, as GitHub has it.
    pub(crate) async fn pull(&self) -> Pull {
        self.standin.house.forge.get(FIRST).await.unwrap()
    }

    /// Somebody judges it there.
    async fn judge(&self, verdict: Verdict, body: &str) {
        let review = NewReview { verdict, body: body.into() };
        self.standin.house.forge.acting_as("mona").review(FIRST, &review).await.unwrap();
    }

    /// A program there says how far it is with the head.
    pub(crate) async fn check(&self, state: CheckState) -> CommitId {
        let head = self.pull().await.head_commit;
        let check = Check { name: "ci".into(), state, summary: None, url: None, at: None };
        self.standin.house.forge.report(&head, &check).await.unwrap();
        head
    }

    pub(crate) async fn close(self) {
        self.standin.assert_by_the_book();
        drop(self.standin);
        self.yard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_repository_wants_of_pulls_holds_at_github_and_what_is_said_there_reaches_the_agent() {
    let rules =
        json!({"approvals": 1, "labels": ["by-agent"], "reviewers": ["mona"], "draft": true, "auto_merge": true});
    let world = World::open(rules).await;
    let yard = &world.yard;
    let task = yard.task("hello", "scribe", "Write down a wish", "in_review").await;
    let pull = world.pull().await;
    assert_eq!((pull.draft, pull.labels, pull.reviewers), (true, vec!["by-agent".into()], vec!["mona".into()]));
    assert_eq!(pull.auto_merge, None, "a draft is not to be merged by itself");
    assert_eq!(world.bare.find("task-1"), Some(pull.head_commit.clone()), "its branch is upstream");

    // What a person asks for at GitHub is work for the agent, and what it did goes there again.
    world.judge(Verdict::ChangesRequested, "Say please.").await;
    let mut events = yard.house.events("?kind=task").await;
    yard.sync("hello").await;
    while serde_json::to_value(events.entry().await).unwrap()["task"]["phase"] != "working" {}
    let task = yard.wait(&task, "in_review").await;
    let told = yard.said(&task, "message", "house").await;
    assert!(told.iter().any(|text| text.contains("mona asks for changes") && text.contains("Say please.")), "{told:?}");
    let second = world.pull().await;
    assert!(second.draft && second.head_commit != pull.head_commit, "people decide when it is no draft");
    assert_eq!(world.bare.find("task-1"), Some(second.head_commit));

    // It is ready, and its checks run: who must agree first has not, so GitHub is not asked to merge it.
    let ready = yard.post("/api/v1/pulls/hello/1/ready", json!({})).await;
    assert_eq!((&ready["draft"], &ready["approvals"]), (&json!(false), &Value::Null), "{ready}");
    assert!(!world.pull().await.draft, "GitHub knows");
    world.check(CheckState::Pending).await;
    yard.sync("hello").await;
    assert_eq!(world.pull().await.auto_merge, None);
    let refused = yard.act(&task, "merge", "needs_you").await;
    assert!(refused["needs"]["detail"].as_str().unwrap().contains("a reviewer wants changes first"), "{refused}");

    world.judge(Verdict::Approved, "").await;
    let approved = yard.look("/api/v1/pulls/hello/1").await;
    assert_eq!((&approved["approvals"], &approved["auto_merge"]), (&json!(1), &json!("squash")), "{approved}");
    assert_eq!(world.pull().await.auto_merge, Some(MergeWay::Squash), "now GitHub merges it once its checks are done");

    // What comes after an approval was approved by nobody: GitHub is told to wait again.
    let task = yard.tell(&task, "once more", "in_review").await;
    let third = world.pull().await;
    assert_eq!(third.auto_merge, None, "{third:?}");
    let head = world.check(CheckState::Pending).await;
    world.judge(Verdict::Approved, "").await;
    yard.sync("hello").await;
    assert_eq!(world.pull().await.auto_merge, Some(MergeWay::Squash));

    // A wish that somebody takes back at GitHub is not said again.
    world.standin.house.forge.auto_merge(FIRST, None).await.unwrap();
    yard.sync("hello").await;
    assert_eq!(yard.look("/api/v1/pulls/hello/1").await["auto_merge"], Value::Null);

    world.check(CheckState::Passed).await;
    let merge = Merge { way: MergeWay::Squash, head, title: None, message: None };
    world.standin.house.forge.acting_as("mona").merge(FIRST, &merge).await.unwrap();
    // Nobody here asked for it: it is heard of by looking, and whoever waits from then on is told.
    yard.sync("hello").await;
    let task = yard.wait(&task, "merged").await;
    assert_eq!(task["pull"]["phase"], "merged");
    assert!(matches!(world.pull().await.state, PullState::Merged { .. }));
    world.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_published_is_tried_again_until_it_is_and_the_card_says_so() {
    let world = World::open(json!({})).await;
    let yard = &world.yard;
    let task = yard.task("hello", "scribe", "Write down a wish", "in_review").await;
    let first = world.bare.find("task-1").unwrap();
    // The upstream breaks down, for longer than anybody would try by hand.
    *world.upstream.broken.lock().unwrap() = usize::MAX;
    let mut events = yard.house.events("?kind=task").await;
    yard.post("/api/v1/tasks/1/message", json!({"text": "once more"})).await;
    let waiting = loop {
        let task = serde_json::to_value(events.entry().await).unwrap()["task"].clone();
        if task["attempts"].as_u64().is_some_and(|attempts| attempts > 5) {
            break task;
        }
    };
    assert_eq!(waiting["phase"], "publishing", "nobody gives up: {waiting}");
    let doing = waiting["doing"].as_str().unwrap();
    assert!(doing.contains("not published yet") && doing.contains("upstream cannot be reached"), "{waiting}");
    assert_eq!(yard.show("hello", "task-1:wishes.txt").await.lines().count(), 2, "what was done is here");
    assert_eq!(world.bare.find("task-1"), Some(first), "and not there");

    *world.upstream.broken.lock().unwrap() = 0;
    let task = yard.wait(&task, "in_review").await;
    assert_eq!(task["doing"], Value::Null, "{task}");
    assert_eq!(world.bare.find("task-1").unwrap().to_string(), task["head"].as_str().unwrap());
    world.close().await;
}
