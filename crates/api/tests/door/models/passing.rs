//! How questions and answers pass.

use axum::http::{StatusCode, header};
use carrel_testkit::{House, on_both_databases};
use futures::StreamExt;
use reqwest::Method;
use serde_json::json;

use super::{Pen, SECRET, Upstream, message, set_key, usage};

const START: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-sonnet-4-5\",\"usage\":{\"input_tokens\":100,\"output_tokens\":1}}}\n\n";
const TEXT: &str = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Good morning, dear reader.\"}}\n\n";
const END: &str =
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{},\"usage\":{\"output_tokens\":40}}\n\n";

on_both_databases! {
    async fn the_house_shows_its_own_key_and_nobody_elses(database: TestDatabase) {
        let upstream = Upstream::open().await;
        let house = House::build(&database, upstream.setup()).await;
        set_key(&house, "anthropic-api-key", SECRET).await;
        upstream.will(([("x-ratelimit", "7"), ("set-cookie", "a=b"), ("request-id", "r1")], axum::Json(message(1000, 100))));
        let request = house
            .bare_request(Method::POST, "/llm/anthropic/v1/messages?beta=true")
            .header("x-api-key", &house.key)
            .header("anthropic-beta", "tools")
            .header("cookie", "mine=1")
            .header("x-forwarded-for", "10.0.0.1")
            .body(r#"{"model":"claude-sonnet-4-5", "max_tokens" : 10}"#);
        let response = request.send().await.unwrap();
        let headers = response.headers().clone();
        assert_eq!((response.status().as_u16(), response.json::<serde_json::Value>().await.unwrap()), (200, message(1000, 100)));
        assert_eq!((&headers["x-ratelimit"], &headers["request-id"], headers.get("set-cookie")), (&"7".parse().unwrap(), &"r1".parse().unwrap(), None));

        let seen = &upstream.seen()[0];
        assert_eq!((seen.method.as_str(), seen.uri.as_str()), ("POST", "/v1/messages?beta=true"));
        assert_eq!(seen.body, r#"{"model":"claude-sonnet-4-5", "max_tokens" : 10}"#, "byte for byte");
        assert_eq!(seen.headers["x-api-key"], SECRET);
        assert_eq!((&seen.headers["anthropic-beta"], &seen.headers["anthropic-version"]), (&"tools".parse().unwrap(), &"2023-06-01".parse().unwrap()));
        assert!(!seen.headers.contains_key("cookie") && !seen.headers.contains_key("authorization") && !seen.headers.contains_key("x-forwarded-for"));
        assert!(!format!("{:?}", seen.headers).contains(&house.key));

        // 1000 · $3 and 100 · $15, for a million.
        let usage = usage(&house, "?by=model").await;
        assert_eq!(usage["items"][0]["name"], "claude-sonnet-4-5-20250929");
        assert_eq!(usage["total"], json!({"name": null, "requests": 1, "cost_usd": 0.0045, "unpriced": 0, "estimated": 0,
            "tokens": {"input": 1000, "output": 100, "cache_read": 0, "cache_write": 0}}));
        house.close().await;
        database.drop().await;
    }

    async fn a_stream_passes_as_it_comes_byte_for_byte(database: TestDatabase) {
        let upstream = Upstream::open().await;
        let house = House::build(&database, upstream.setup()).await;
        let mut pen = upstream.will_stream();
        let request = house.request(Method::POST, "/llm/anthropic/v1/messages").body(r#"{"model":"claude-sonnet-4-5","stream":true}"#);
        let response = request.send().await.unwrap();
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream; charset=utf-8");
        let mut pieces = response.bytes_stream();
        let mut seen = String::new();
        // Each is read before the next is written: nothing waits for the end.
        for text in [START, ": ping\n\n", TEXT, END, "data: half"] {
            assert!(pen.write(text).await);
            let mut came = String::new();
            while came.len() < text.len() {
                came.push_str(std::str::from_utf8(&pieces.next().await.unwrap().unwrap()).unwrap());
            }
            assert_eq!(came, text);
            seen.push_str(&came);
        }
        drop(pen);
        assert!(pieces.next().await.is_none());
        let total = usage(&house, "").await["total"].clone();
        assert_eq!((&total["tokens"]["input"], &total["tokens"]["output"], &total["estimated"]), (&json!(100), &json!(40), &json!(0)));
        house.close().await;
        database.drop().await;
    }

    async fn completions_are_counted_also_when_the_client_did_not_ask_for_it(database: TestDatabase) {
        let upstream = Upstream::open().await;
        let house = House::build(&database, upstream.setup()).await;
        set_key(&house, "openai-api-key", "sk-openai").await;
        const SAID: &str = "data: {\"model\":\"gpt-5\",\"choices\":[{\"delta\":{\"content\":\"hi\"}}],\"usage\":null}\n\n";
        const COUNT: &str = "data: {\"model\":\"gpt-5\",\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":10,\"prompt_tokens_details\":{\"cached_tokens\":60}}}\n\n";
        for (options, shown) in [("", format!("{SAID}data: [DONE]\n\n")), (r#","stream_options":{"include_usage":true}"#, format!("{SAID}{COUNT}data: [DONE]\n\n"))] {
            let mut pen = upstream.will_stream();
            let request = house.request(Method::POST, "/llm/openai/v1/chat/completions").body(format!(r#"{{"model":"gpt-5","stream":true{options}}}"#));
            let reading = tokio::spawn(async move { request.send().await.unwrap().text().await.unwrap() });
            for text in [SAID, COUNT, "data: [DONE]\n\n"] {
                assert!(pen.write(text).await);
            }
            drop(pen);
            assert_eq!(reading.await.unwrap(), shown);
        }
        let seen = upstream.seen();
        assert!(seen.iter().all(|seen| seen.body.contains(r#""stream_options":{"include_usage":true}"#)), "{seen:?}");
        assert_eq!(seen[0].headers["authorization"], "Bearer sk-openai");
        let total = usage(&house, "").await["total"].clone();
        assert_eq!(total["tokens"], json!({"input": 80, "output": 20, "cache_read": 120, "cache_write": 0}));
        // Twice 40 · $1.25, 10 · $10 and 60 · $0.125 for a million, each rounded to a millionth of a dollar.
        assert_eq!((&total["cost_usd"], &total["requests"]), (&json!(0.000316), &json!(2)));
        house.close().await;
        database.drop().await;
    }

    async fn what_passes_by_itself_is_asked_again_and_everything_else_is_passed_on(database: TestDatabase) {
        let upstream = Upstream::open().await;
        let house = House::build(&database, upstream.setup()).await;
        let ask = || house.request(Method::POST, "/llm/anthropic/v1/messages").body(r#"{"model":"claude-sonnet-4-5"}"#);
        upstream.will((StatusCode::from_u16(529).unwrap(), [("retry-after", "0")], "busy"));
        upstream.will((StatusCode::TOO_MANY_REQUESTS, [("retry-after-ms", "1")], "slowly"));
        upstream.will_say(200, message(1, 1));
        assert_eq!(house.ask(ask()).await.0, 200);
        assert_eq!(upstream.seen().len(), 3);
        assert!(upstream.seen().windows(2).all(|pair| pair[0].body == pair[1].body));

        // Bounded: the third refusal is passed on as it is.
        for _ in 0..3 {
            upstream.will((StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "0"), ("request-id", "r9")], r#"{"error":"down"}"#));
        }
        let response = ask().send().await.unwrap();
        assert_eq!((response.status().as_u16(), &response.headers()["request-id"], &response.headers()["retry-after"]), (503, &"r9".parse().unwrap(), &"0".parse().unwrap()));
        assert_eq!(response.text().await.unwrap(), r#"{"error":"down"}"#);

        // Whoever is told to wait for long waits at home, and a mistake is not repeated.
        for (status, header, value) in [(429, "retry-after", "3600"), (429, "x-none", "0"), (400, "retry-after", "0"), (500, "x-should-retry", "false")] {
            let before = upstream.seen().len();
            upstream.will((StatusCode::from_u16(status).unwrap(), [(header, value)], "no"));
            let response = ask().send().await.unwrap();
            assert_eq!((response.status().as_u16(), &response.headers()[header]), (status, &value.parse().unwrap()));
            assert_eq!((response.text().await.unwrap().as_str(), upstream.seen().len()), ("no", before + 1));
        }
        let total = usage(&house, "").await["total"].clone();
        assert_eq!((&total["requests"], &total["tokens"]["input"], &total["unpriced"]), (&json!(6), &json!(1), &json!(0)));
        house.close().await;
        database.drop().await;
    }

    async fn an_answer_that_is_cut_is_cut_for_the_client_and_counted_as_far_as_it_came(database: TestDatabase) {
        let upstream = Upstream::open().await;
        let house = House::build(&database, upstream.setup()).await;
        let mut pen = upstream.will_stream();
        let request = house.request(Method::POST, "/llm/anthropic/v1/messages").body(r#"{"model":"claude-sonnet-4-5","stream":true}"#);
        let response = request.send().await.unwrap();
        let mut pieces = response.bytes_stream();
        assert!(pen.write(START).await);
        assert_eq!(pieces.next().await.unwrap().unwrap(), START);
        pen.break_off().await;
        assert!(pieces.next().await.unwrap().is_err(), "an end that is none must not look like one");
        let total = usage(&house, "").await["total"].clone();
        assert_eq!((&total["tokens"]["input"], &total["estimated"]), (&json!(100), &json!(1)));
        house.close().await;
        database.drop().await;
    }

    async fn a_client_that_leaves_ends_the_question_and_pays_for_what_it_read(database: TestDatabase) {
        let upstream = Upstream::open().await;
        let house = House::build(&database, upstream.setup()).await;
        let mut pen = upstream.will_stream();
        let request = house.request(Method::POST, "/llm/anthropic/v1/messages").body(r#"{"model":"claude-sonnet-4-5","stream":true}"#);
        let mut pieces = request.send().await.unwrap().bytes_stream();
        assert!(pen.write(&format!("{START}{TEXT}")).await);
        pieces.next().await.unwrap().unwrap();
        drop(pieces);
        until_nobody_reads(&mut pen).await;
        let journal = loop {
            let total = usage(&house, "").await["total"].clone();
            if total["requests"] == 1 { break total }
        };
        assert_eq!((&journal["tokens"]["input"], &journal["estimated"]), (&json!(100), &json!(1)));
        assert!(journal["tokens"]["output"].as_u64().unwrap() > 5, "{journal}");
        house.close().await;
        database.drop().await;
    }
}

/// Writes until the line is closed: the house has hung up on the provider.
async fn until_nobody_reads(pen: &mut Pen) {
    while pen.write(": still there?\n\n").await {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn giant_answers_pass_and_giant_questions_do_not() {
    let database = carrel_testkit::TestDatabase::sqlite();
    let upstream = Upstream::open().await;
    let house = House::build(&database, upstream.setup()).await;
    let giant = "x".repeat(40 << 20);
    upstream.will(format!("{{\"text\":\"{giant}\"}}"));
    let request = house.request(Method::POST, "/llm/local/v1/embeddings").body(r#"{"model":"tiny","input":"a"}"#);
    let answer = request.send().await.unwrap().bytes().await.unwrap();
    assert_eq!(answer.len(), giant.len() + 11);
    let total = usage(&house, "?by=provider").await;
    assert_eq!(
        (&total["total"]["unpriced"], &total["total"]["estimated"], &total["items"][0]["name"]),
        (&json!(1), &json!(1), &json!("local"))
    );
    // However far a giant had come when it was refused, it hears why.
    for length in [33, 34, 36, 40] {
        let body = giant[..length << 20].to_owned();
        let (status, answer) = house.ask(house.request(Method::POST, "/llm/local/v1/embeddings").body(body)).await;
        assert_eq!((status.as_u16(), &answer["error"]["code"]), (413, &json!("request_too_large")));
        let body = giant[..length << 20].to_owned();
        let (status, answer) = house.ask(house.bare_request(Method::POST, "/api/v1/sandboxes").body(body)).await;
        assert_eq!(
            (status.as_u16(), &answer["type"].as_str().unwrap().ends_with("unauthorized")),
            (401, &true),
            "{answer}"
        );
    }
    assert_eq!(upstream.seen().len(), 1);
    house.close().await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_spoken_in_the_words_of_the_api_that_was_asked() {
    let database = carrel_testkit::TestDatabase::sqlite();
    let upstream = Upstream::open().await;
    let mut setup = upstream.setup();
    setup.models.providers.get_mut(&"anthropic".parse().unwrap()).unwrap().needs_key = true;
    let house = House::build(&database, setup).await;
    let ask = |path: &str| house.request(Method::POST, path).body(r#"{"model":"claude-sonnet-4-5"}"#);

    let response = ask("/llm/anthropic/v1/messages").send().await.unwrap();
    assert_eq!((response.status().as_u16(), &response.headers()["x-should-retry"]), (403, &"false".parse().unwrap()));
    let answer: serde_json::Value = response.json().await.unwrap();
    let sentence = answer["error"]["message"].as_str().unwrap();
    assert_eq!((&answer["type"], &answer["error"]["type"]), (&json!("error"), &json!("permission_error")));
    assert!(
        sentence.contains("ANTHROPIC_API_KEY") && sentence.contains("carrel secret set anthropic-api-key"),
        "{sentence}"
    );

    let request =
        house.bare_request(Method::POST, "/llm/openai/v1/chat/completions").bearer_auth("sk-not-ours").body("{}");
    let (status, answer) = house.ask(request).await;
    assert_eq!((status.as_u16(), &answer["error"]["code"]), (401, &json!("invalid_api_key")), "{answer}");
    for path in [
        "/llm/openai/v1/files",
        "/llm/openai/v1/messages",
        "/llm/anthropic/v1/chat/completions",
        "/llm/openai/v1/models/..%2ffiles",
    ] {
        let (status, answer) = house.ask(ask(path)).await;
        assert_eq!(status, 404, "{path} {answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("is not passed on"), "{answer}");
    }
    crate::refused(404, ask("/llm/nobody/v1/messages")).await;
    let (status, answer) = house.ask(house.request(Method::POST, "/llm/openai/v1/responses").body("not json")).await;
    assert_eq!((status.as_u16(), &answer["error"]["type"]), (400, &json!("invalid_request_error")));
    assert!(upstream.seen().is_empty(), "nothing of this is the provider's business");

    // Where nobody listens, and where somebody sends us elsewhere.
    upstream.will((StatusCode::FOUND, [("location", "http://elsewhere.example/")]));
    let (status, answer) = house.ask(ask("/llm/openai/v1/responses")).await;
    assert_eq!((status.as_u16(), &answer["error"]["code"]), (502, &json!("server_error")));
    house.close().await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_repeats_the_key_tells_it_to_nobody() {
    let database = carrel_testkit::TestDatabase::sqlite();
    let upstream = Upstream::open().await;
    let house = House::build(&database, upstream.setup()).await;
    set_key(&house, "anthropic-api-key", SECRET).await;
    upstream.will((StatusCode::UNAUTHORIZED, [("x-echo", SECRET)], format!("the key {SECRET} is not known")));
    let response = house.request(Method::POST, "/llm/anthropic/v1/messages").body("{}").send().await.unwrap();
    assert!(!format!("{:?}", response.headers()).contains(SECRET));
    assert_eq!(
        (response.status().as_u16(), response.text().await.unwrap().as_str()),
        (401, "the key (hidden) is not known")
    );
    house.close().await;
    database.drop().await;
}
