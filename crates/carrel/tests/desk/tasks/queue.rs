//! Who may begin: as many as there is room for, in all, in a repository and with an agent; the most urgent first.

use carrel_model::{public::Happening, task::TaskPhase};
use serde_json::{Value, json};

use super::COMMITS;
use crate::yard::Yard;

/// Works until it is let go.
const WAITS: &str =
    "echo begun; until test -e /tmp/go; do sleep 0.1; done; echo x >x; git add -A; git commit -qm 'feat: x'";

impl Yard {
    /// Writes a card and lets it wait for its turn.
    async fn card(&self, body: Value) -> Value {
        let mut card = json!({"start": true});
        card.as_object_mut().unwrap().extend(body.as_object().cloned().unwrap());
        self.post("/api/v1/tasks", card).await
    }

    /// Waits until a card says what it waits for.
    async fn waits_for(&self, task: &Value, words: &str) {
        while self.look(&format!("/api/v1/tasks/{}", task["id"])).await["doing"] != words {}
    }

    async fn let_go(&self, task: &Value) {
        let task = self.look(&format!("/api/v1/tasks/{}", task["id"])).await;
        let path = format!("/api/v1/sandboxes/{}/execute", task["sandbox_id"].as_str().unwrap());
        self.post(&path, json!({"command": "touch /tmp/go"})).await;
        self.wait(&task, "in_review").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_and_an_agent_have_room_for_so_many_and_hold_up_nobody_else() {
    let yard = Yard::with_work(|work| work.per_repo = 1).await;
    for repo in ["one", "two"] {
        yard.hosted(repo, json!({})).await;
    }
    yard.agent("waiter", WAITS).await;
    let alone = json!({"name": "alone", "dialect": "shell", "command": WAITS, "at_once": 1});
    yard.post("/api/v1/agents", alone).await;
    // One at a time in a repository.
    let first = yard.task("one", "waiter", "First", "working").await;
    let second = yard.card(json!({"repo": "one", "agent": "waiter", "title": "Second"})).await;
    yard.waits_for(&second, "waits for room in one").await;
    // Another repository has room, and the agent too.
    let third = yard.task("two", "alone", "Third", "working").await;
    yard.let_go(&first).await;
    yard.wait(&second, "working").await;
    // The agent has not, wherever.
    yard.let_go(&second).await;
    let fourth = yard.card(json!({"repo": "one", "agent": "alone", "title": "Fourth"})).await;
    yard.waits_for(&fourth, "waits for room with alone").await;
    yard.let_go(&third).await;
    yard.wait(&fourth, "working").await;
    yard.let_go(&fourth).await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_most_urgent_begins_first_then_who_is_due_then_who_waited_longest() {
    let yard = Yard::with_work(|work| work.at_once = 1).await;
    yard.hosted("hello", json!({})).await;
    yard.agent("waiter", WAITS).await;
    yard.agent("scribe", COMMITS).await;
    let first = yard.task("hello", "waiter", "Takes the room", "working").await;
    let mut events = yard.house.events("?kind=task").await;
    let mut cards = Vec::new();
    for (title, rest) in [
        ("some day", json!({"priority": -1})),
        ("whenever", json!({})),
        ("next year", json!({"due": "2031-01-01T00:00:00Z"})),
        ("this year", json!({"due": "2030-01-01T00:00:00Z"})),
        ("whenever as well", json!({})),
        ("now", json!({"priority": 7})),
    ] {
        let mut body = json!({"repo": "hello", "agent": "scribe", "title": title});
        body.as_object_mut().unwrap().extend(rest.as_object().cloned().unwrap());
        cards.push(yard.card(body).await);
    }
    assert_eq!(cards[2]["due"], "2031-01-01T00:00:00Z");
    // What is due can be changed, and taken away.
    let path = format!("/api/v1/tasks/{}", cards[4]["id"]);
    for due in [json!("2029-01-01T00:00:00Z"), Value::Null] {
        let request = yard.house.request(reqwest::Method::PATCH, &path).json(&json!({"due": due}));
        assert_eq!(yard.house.ask(request).await.1["due"], due);
    }
    yard.let_go(&first).await;
    let mut begun: Vec<String> = Vec::new();
    while begun.len() < cards.len() {
        let Happening::Task { task } = events.entry().await.happening else { continue };
        if task.phase == TaskPhase::Preparing && !begun.contains(&task.title) && task.title != "Takes the room" {
            begun.push(task.title.clone());
        }
    }
    assert_eq!(begun, ["now", "this year", "next year", "whenever", "whenever as well", "some day"]);
    for card in &cards {
        yard.wait(card, "in_review").await;
    }
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_another_to_be_started_begins_while_that_one_works() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    yard.agent("waiter", WAITS).await;
    yard.agent("scribe", COMMITS).await;
    let first = json!({"repo": "hello", "agent": "waiter", "title": "First", "start": false});
    let first = yard.card(first).await;
    let until = json!([{"task_id": first["id"], "until": "started"}]);
    let second = json!({"repo": "hello", "agent": "scribe", "title": "Second", "depends_on": until});
    let second = yard.card(second).await;
    yard.waits_for(&second, &format!("waits for task {}", first["id"])).await;
    yard.act(&first, "start", "working").await;
    yard.wait(&second, "in_review").await;
    assert_eq!(yard.look(&format!("/api/v1/tasks/{}", first["id"])).await["phase"], "working");
    yard.let_go(&first).await;
    yard.close().await;
}
