//! Many cards at once: found by what stands on them, and asked the same by one request.

use carrel_testkit::{House, on_both_databases};
use reqwest::Method;
use serde_json::{Value, json};

use crate::refused;

/// Writes cards into a new repository; gives the house.
async fn with_cards(house: &House, cards: &[Value]) {
    let repo = json!({"new": true, "name": "town"});
    assert_eq!(house.ask(house.request(Method::POST, "/api/v1/repos").json(&repo)).await.0, 201);
    for card in cards {
        let mut body = json!({"repo": "town"});
        body.as_object_mut().unwrap().extend(card.as_object().unwrap().clone());
        let (status, task) = house.ask(house.request(Method::POST, "/api/v1/tasks").json(&body)).await;
        assert_eq!(status.as_u16(), 201, "{task}");
    }
}

async fn found(house: &House, query: &str) -> Vec<i64> {
    let (status, page) = house.ask(house.request(Method::GET, &format!("/api/v1/tasks?{query}"))).await;
    assert_eq!(status.as_u16(), 200, "{page}");
    page["items"].as_array().unwrap().iter().map(|task| task["id"].as_i64().unwrap()).collect()
}

on_both_databases! {
    async fn cards_are_found_by_label_and_by_words(database: TestDatabase) {
        let house = House::open(&database).await;
        with_cards(&house, &[
            json!({"title": "Mend the bridge", "labels": ["road", "urgent"]}),
            json!({"title": "Paint the hall", "prompt": "Use the BRIDGE colours: 100%_sure", "labels": ["house"]}),
            json!({"title": "Sweep the yard", "labels": ["roads"]}),
        ]).await;
        assert_eq!(found(&house, "label=road").await, [1], "a label is compared as a whole");
        assert_eq!(found(&house, "label=nothing").await, Vec::<i64>::new());
        assert_eq!(found(&house, "text=bridge").await, [2, 1]);
        assert_eq!(found(&house, "text=bridge&label=house").await, [2]);
        assert_eq!(found(&house, "text=100%25_").await, [2], "what means something to the database means itself");
        assert_eq!(found(&house, "text=%25").await, [2]);
        assert_eq!(found(&house, "text=title").await, Vec::<i64>::new(), "the words of the body are not its field names");
        assert_eq!(found(&house, "text=%20&phase=backlog&repo=town").await, [3, 2, 1]);
        let (_, page) = house.ask(house.request(Method::GET, "/api/v1/tasks?text=bridge&limit=1")).await;
        let next = page["next"].as_str().unwrap();
        assert_eq!(found(&house, &format!("text=bridge&limit=1&cursor={next}")).await, [1]);
        house.close().await;
        database.drop().await;
    }

    async fn one_word_for_many_cards_is_answered_for_each(database: TestDatabase) {
        let house = House::open(&database).await;
        with_cards(&house, &[json!({"title": "One"}), json!({"title": "Two"}), json!({"title": "Three"})]).await;
        let bulk = |key: &str, body: Value| house.request_as(key, Method::POST, "/api/v1/tasks/bulk").json(&body);

        let (status, page) = house.ask(bulk(&house.key, json!({"verb": "set", "ids": [3, 1, 3], "change": {"priority": 7, "labels": ["later"]}}))).await;
        assert_eq!(status.as_u16(), 200, "{page}");
        let seen: Vec<_> = page["items"].as_array().unwrap().iter().map(|it| (&it["id"], &it["task"]["priority"])).collect();
        assert_eq!(seen, [(&json!(3), &json!(7)), (&json!(1), &json!(7))], "in the order of the question, each once");
        assert_eq!(found(&house, "label=later").await, [3, 1]);

        // One that is not there and one that cannot keep nobody.
        let (status, page) = house.ask(bulk(&house.key, json!({"verb": "merge", "ids": [1, 99]}))).await;
        assert_eq!(status.as_u16(), 200, "{page}");
        let problems: Vec<_> = page["items"].as_array().unwrap().iter().map(|it| it["problem"]["status"].as_u64()).collect();
        assert_eq!(problems, [Some(409), Some(404)], "{page}");
        let (_, page) = house.ask(bulk(&house.key, json!({"verb": "close", "ids": [99, 2, 1]}))).await;
        let items = page["items"].as_array().unwrap();
        assert_eq!(items[0]["problem"]["type"], "/problems/not-found", "{page}");
        assert!(items[0].get("task").is_none() && items[1].get("problem").is_none(), "{page}");
        assert_eq!((&items[1]["task"]["want"], &items[2]["task"]["want"]), (&json!("closed"), &json!("closed")), "{page}");
        for id in [1, 2] {
            let (_, closed) = house.ask(house.request(Method::GET, &format!("/api/v1/tasks/{id}?wait=closed"))).await;
            assert_eq!(closed["phase"], "closed", "{closed}");
        }

        // Each is asked with the grant of whoever asks.
        let (_, agent) = house.mint(json!({"name": "scout's", "role": "agent", "agent_id": "scout"})).await;
        let (_, page) = house.ask(bulk(&agent, json!({"verb": "message", "ids": [3], "text": "Hello"}))).await;
        assert_eq!(page["items"][0]["problem"]["status"], 403, "{page}");

        let problem = refused(422, bulk(&house.key, json!({"verb": "start", "ids": (1..=201).collect::<Vec<_>>()}))).await;
        assert_eq!(problem["errors"][0]["field"], "ids", "{problem}");
        refused(422, bulk(&house.key, json!({"verb": "message", "ids": [3]}))).await;
        refused(422, bulk(&house.key, json!({"verb": "explode", "ids": [3]}))).await;
        let (_, three) = house.ask(house.request(Method::GET, "/api/v1/tasks/3")).await;
        assert_eq!((&three["phase"], &three["want"]), (&json!("backlog"), &json!("rest")), "nobody was asked: {three}");
        house.close().await;
        database.drop().await;
    }
}
