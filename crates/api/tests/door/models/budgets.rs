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

    async fn a_budget_is_not_overshot_by_as_many_as_ask_at_once(database: TestDatabase) {
        let upstream = Upstream::open().await;
        let mut setup = upstream.setup();
        setup.models.task_budget = Some("0.01".parse().unwrap());
        let house = House::build(&database, setup).await;
        let (_, sandbox) = house.ask(house.request(Method::POST, "/api/v1/sandboxes?wait=ready").json(&json!({"task_id": 42}))).await;
        let (_, inside) = house.mint(json!({"name": "inside", "role": "sandbox", "sandbox_id": sandbox["id"]})).await;
        let ask = || house.request_as(&inside, Method::POST, "/llm/anthropic/v1/messages").body(r#"{"model":"claude-sonnet-4-5"}"#);
        // $0.003 each. Of twenty at once three are let by, for more would be too much; the others wait, and there is nothing left.
        for _ in 0..21 {
            upstream.will_say(200, message(1000, 0));
        }
        assert_eq!(house.ask(ask()).await.0, 200);
        while usage(&house, "?by=task").await["items"][0]["requests"] != 1 {}
        let answers = futures::future::join_all((0..20).map(|_| house.ask(ask()))).await;
        let passed = answers.iter().filter(|(status, _)| *status == 200).count();
        assert!(answers.iter().all(|(status, _)| matches!(status.as_u16(), 200 | 402)), "{answers:?}");
        assert!((1..=3).contains(&passed), "{passed} passed: at most $0.012 of $0.01, and not $0.063");
        assert_eq!(upstream.seen().len(), passed + 1);
        house.close().await;
        database.drop().await;
    }

    async fn how_the_budget_of_a_task_stands_is_written_on_its_card_and_its_timeline(database: TestDatabase) {
        let upstream = Upstream::open().await;
        let house = House::build(&database, upstream.setup()).await;
        let post = |path: &str, body: serde_json::Value| house.request(Method::POST, &format!("/api/v1{path}")).json(&body);
        assert_eq!(house.ask(post("/repos", json!({"new": true, "name": "town"}))).await.0, 201);
        let (status, card) = house.ask(post("/tasks", json!({"repo": "town", "title": "Be frugal", "budget_usd": 0.01}))).await;
        assert_eq!((status.as_u16(), card.get("budget_state")), (201, None), "{card}");
        let (_, sandbox) = house.ask(post("/sandboxes?wait=ready", json!({"task_id": 1}))).await;
        let (_, inside) = house.mint(json!({"name": "inside", "role": "sandbox", "sandbox_id": sandbox["id"]})).await;
        let ask = || {
            upstream.will_say(200, message(1000, 0));
            house.ask(house.request_as(&inside, Method::POST, "/llm/anthropic/v1/messages").body(r#"{"model":"claude-sonnet-4-5"}"#))
        };
        let look = |path: &str| house.ask(house.request(Method::GET, &format!("/api/v1/tasks/1{path}")));
        // $0.003 each. What was told is written by the time the answer of the next one is there.
        for (times, state) in [(2, None), (1, Some("warning")), (1, Some("spent"))] {
            for _ in 0..times {
                assert_eq!(ask().await.0, 200);
            }
            let (_, task) = loop {
                let seen = look("").await;
                if seen.1["cost_usd"].as_f64().unwrap() > if state == Some("spent") { 0.0119 } else if state.is_some() { 0.0089 } else { 0.0059 } {
                    break seen;
                }
            };
            assert_eq!(task.get("budget_state").and_then(|it| it.as_str()), state, "{task}");
        }
        let (_, timeline) = look("/timeline").await;
        let notes: Vec<&str> = timeline["items"].as_array().unwrap().iter().filter(|it| it["kind"] == "note").map(|it| it["text"].as_str().unwrap()).collect();
        assert_eq!(notes.len(), 2, "{timeline}");
        assert!(notes[0].starts_with("The budget is nearly spent: task 1 has spent $0.0090 of its budget of $0.01 on models"), "{notes:?}");
        assert!(notes[1].starts_with("The budget is spent, and models are not asked any more") && notes[1].contains("`carrel task set 1 --budget USD` raises it"), "{notes:?}");
        assert_eq!(ask().await.0, 402);

        // Another amount is another matter.
        let (_, raised) = house.ask(house.request(Method::PATCH, "/api/v1/tasks/1").json(&json!({"budget_usd": 1.0}))).await;
        assert_eq!(raised.get("budget_state"), None, "{raised}");
        assert_eq!(ask().await.0, 200);
        house.close().await;
        database.drop().await;
    }

    async fn a_budget_that_cannot_count_a_model_says_so_once_for_each(database: TestDatabase) {
        let upstream = Upstream::open().await;
        let house = House::build(&database, upstream.setup()).await;
        let post = |path: &str, body: serde_json::Value| house.request(Method::POST, &format!("/api/v1{path}")).json(&body);
        assert_eq!(house.ask(post("/repos", json!({"new": true, "name": "town"}))).await.0, 201);
        for (number, budget) in [(1, json!(0.1)), (2, json!(null))] {
            assert_eq!(house.ask(post("/tasks", json!({"repo": "town", "title": "Be frugal", "budget_usd": budget}))).await.0, 201);
            let (_, sandbox) = house.ask(post("/sandboxes?wait=ready", json!({"task_id": number}))).await;
            let (_, inside) = house.mint(json!({"name": "inside", "role": "sandbox", "sandbox_id": sandbox["id"]})).await;
            for model in ["nobody-1", "nobody-1", "claude-sonnet-4-5", "nobody-2", "nobody-2"] {
                let mut answer = message(1000, 0);
                answer["model"] = json!(model);
                upstream.will_say(200, answer);
                let ask = house.request_as(&inside, Method::POST, "/llm/anthropic/v1/messages").json(&json!({"model": model}));
                assert_eq!(house.ask(ask).await.0, 200);
            }
        }
        let notes = async |number: u32| {
            let (_, timeline) = house.ask(house.request(Method::GET, &format!("/api/v1/tasks/{number}/timeline"))).await;
            let notes = timeline["items"].as_array().unwrap().iter().filter(|it| it["kind"] == "note");
            notes.map(|it| it["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let told = notes(1).await;
        assert_eq!(told.len(), 2, "{told:?}");
        for (note, model) in told.iter().zip(["nobody-1", "nobody-2"]) {
            assert!(note.starts_with(&format!("There is no price for `{model}`: the budget cannot count what it costs")), "{note}");
            assert!(note.contains(&format!("`[prices.\"{model}\"]`")), "{note}");
        }
        assert_eq!(notes(2).await, Vec::<String>::new(), "without a budget there is nothing to count");
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
