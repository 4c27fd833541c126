//! What GitHub answers when it does not do what a task needs of it: a limit, a refusal, a token that has run out.

use serde_json::json;

use super::{rules::World, standin::Fault};

/// How a pull request is opened there.
const OPENS: &str = "POST /api/v3/repos/octo-org/hello-world/pulls";

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_of_github_is_waited_for_and_what_it_refuses_is_for_a_person_in_its_own_words() {
    let world = World::open(json!({})).await;
    let yard = &world.yard;
    let limit = json!({"message": "You have exceeded a secondary rate limit. Please wait a few minutes."});
    world.standin.fail(OPENS, Fault::Refuse(403, vec![("retry-after", "2".into())], limit));
    let mut events = yard.house.events("?kind=task").await;
    let card = json!({"repo": "hello", "agent": "scribe", "title": "Write down a wish", "start": true});
    let card = yard.post("/api/v1/tasks", card).await;
    let waiting = loop {
        let card = serde_json::to_value(events.entry().await).unwrap()["task"].clone();
        assert_ne!(card["phase"], "needs_you", "nobody need come for that: {card:#}");
        if card["doing"].as_str().is_some_and(|doing| doing.contains("is not published yet")) {
            break card;
        }
    };
    assert_eq!(waiting["phase"], "publishing", "{waiting:#}");
    let card = yard.wait(&card, "in_review").await;
    assert_eq!(card["pull"]["number"], 1, "{card:#}");

    // What no waiting mends is tried once more, and then said with GitHub's reason. The work is safe meanwhile.
    let refusals = [
        (
            422,
            json!({"message": "Validation Failed", "errors": [{"message": "The head is locked by a rule"}]}),
            "locked by a rule",
        ),
        (401, json!({"message": "Bad credentials"}), "does not accept the credential"),
    ];
    for (number, (status, body, words)) in (2..).zip(refusals) {
        for _ in 0..2 {
            world.standin.fail(OPENS, Fault::Refuse(status, vec![], body.clone()));
        }
        let card = yard.task("hello", "scribe", "Write down a wish", "needs_you").await;
        let detail = card["needs"]["detail"].as_str().unwrap_or_default();
        assert!(detail.contains(words), "{status}: {card:#}");
        let head = world.bare.find(&format!("task-{number}")).unwrap();
        assert_eq!(card["head"].as_str().unwrap_or(head.as_str()), head.as_str(), "its branch is upstream");
        let card = yard.act(&card, "retry", "in_review").await;
        assert_eq!(card["pull"]["number"], number, "{card:#}");
    }
    world.close().await;
}
