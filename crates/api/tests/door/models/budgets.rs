//! What may be spent.

use carrel_testkit::{House, on_both_databases};
use reqwest::Method;
use serde_json::json;

use super::{Upstream, message, usage};

on_both_databases! {
    async fn a_task_hears_of_its_budget_at_four_fifths_and_is_stopped_at_its_end(database: TestDatabase) {
        let upstream = Upstream::open().await;
        let mut setup = upstream.setup();
        setup.models.task_budget = Some("0.01".parse().unwrap());
        let house = House::build(&database, setup).await;
        let (_, sandbox) = house.ask(house.request(Method::POST, "/api/v1/sandboxes?wait=ready").json(&json!({"task_id": 42, "agent_id": "scout"}))).await;
        let (_, other) = house.ask(house.request(Method::POST, "/api/v1/sandboxes?wait=ready").json(&json!({"task_id": 43}))).await;
        let (_, inside) = house.mint(json!({"name": "inside", "role": "sandbox", "sandbox_id": sandbox["id"]})).await;
        let (_, beside) = house.mint(json!({"name": "beside", "role": "sandbox", "sandbox_id": other["id"]})).await;
        let mut events = house.events("?kind=budget").await;
        let ask = |key: &str| house.request_as(key, Method::POST, "/llm/anthropic/v1/messages").body(r#"{"model":"claude-sonnet-4-5"}"#);

        // $0.003 each: three of them pass four fifths, the fourth the whole.
        for _ in 0..4 {
            upstream.will_say(200, message(1000, 0));
            assert_eq!(house.ask(ask(&inside)).await.0, 200);
        }
        let (status, answer) = house.ask(ask(&inside)).await;
        assert_eq!((status.as_u16(), &answer["error"]["type"]), (402, &json!("billing_error")), "{answer}");
        let sentence = answer["error"]["message"].as_str().unwrap();
        assert!(sentence.contains("Task 42 has spent $0.0120") && sentence.contains("--budget"), "{sentence}");
        assert_eq!(upstream.seen().len(), 4, "nobody is asked any more");
        let (status, answer) = house.ask(house.request_as(&inside, Method::POST, "/llm/openai/v1/responses").body(r#"{"model":"gpt-5"}"#)).await;
        assert_eq!((status.as_u16(), &answer["error"]["type"]), (402, &json!("insufficient_quota")), "{answer}");

        // Once for each.
        let warning = serde_json::to_value(events.entry().await).unwrap();
        assert_eq!((&warning["budget"]["state"], &warning["budget"]["task_id"], &warning["budget"]["spent_usd"]), (&json!("warning"), &json!(42), &json!(0.009)));
        let spent = serde_json::to_value(events.entry().await).unwrap();
        assert_eq!((&spent["budget"]["state"], &spent["budget"]["spent_usd"], &spent["budget"]["budget_usd"]), (&json!("spent"), &json!(0.012), &json!(0.01)));

        // Another task has its own.
        upstream.will_say(200, message(1, 0));
        assert_eq!(house.ask(ask(&beside)).await.0, 200);

        let by_task = usage(&house, "?by=task").await;
        assert_eq!((&by_task["items"][0]["name"], &by_task["items"][0]["requests"]), (&json!("42"), &json!(4)));
        assert_eq!(usage(&house, "?by=agent&task_id=42").await["items"][0]["name"], "scout");
        // A sandbox sees what it used itself, whatever it asks for.
        let (_, own) = house.ask(house.request_as(&beside, Method::GET, "/api/v1/usage?by=task")).await;
        assert_eq!((&own["total"]["requests"], &own["items"][0]["name"]), (&json!(1), &json!("43")));
        let day = usage(&house, "?by=day&since=2020-01-01T00:00:00Z").await;
        assert_eq!(day["items"][0]["name"].as_str().unwrap().len(), "2026-11-16".len());
        crate::refused(422, house.request(Method::GET, "/api/v1/usage?by=moon")).await;
        drop(events);
        house.close().await;
        database.drop().await;
    }

    async fn the_house_has_a_budget_for_a_day_and_those_at_once_overshoot_by_no_more_than_themselves(database: TestDatabase) {
        let upstream = Upstream::open().await;
        let mut setup = upstream.setup();
        setup.models.day_budget = Some("0.003".parse().unwrap());
        let house = House::build(&database, setup).await;
        let ask = || house.request(Method::POST, "/llm/anthropic/v1/messages").body(r#"{"model":"claude-sonnet-4-5"}"#);
        for _ in 0..20 {
            upstream.will_say(200, message(1000, 0));
        }
        let answers = futures::future::join_all((0..8).map(|_| async { house.ask(ask()).await.0.as_u16() })).await;
        assert!(answers.iter().all(|status| [200, 402].contains(status)), "{answers:?}");
        let passed = answers.iter().filter(|status| **status == 200).count();
        assert!(passed >= 1);
        let (status, answer) = house.ask(ask()).await;
        assert_eq!(status, 402);
        assert!(answer["error"]["message"].as_str().unwrap().contains("budgets.day_usd"), "{answer}");
        assert_eq!((upstream.seen().len(), usage(&house, "").await["total"]["requests"].as_u64().unwrap()), (passed, passed as u64));
        house.close().await;
        database.drop().await;
    }
}
