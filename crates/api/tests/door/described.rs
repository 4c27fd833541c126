//! The API describes itself, and keeps to it. Pages, redirects and headers.

use carrel_testkit::{House, on_both_databases};
use reqwest::Method;
use serde_json::{Value, json};

use crate::refused;

on_both_databases! {
    async fn every_described_route_asks_for_a_key(database: TestDatabase) {
        let house = House::open(&database).await;
        let (status, spec) = house.ask(house.bare_request(Method::GET, "/api/v1/openapi.json")).await;
        assert_eq!((status.as_u16(), &spec), (200, &serde_json::to_value(carrel_api::openapi()).unwrap()));
        let mut walked = Vec::new();
        for (path, verbs) in spec["paths"].as_object().unwrap() {
            for (verb, about) in verbs.as_object().unwrap() {
                let open = about["security"] == json!([{}]);
                let place = path.replace("{id}", "i0000000000000000000");
                let method: Method = verb.to_uppercase().parse().unwrap();
                assert!(about["responses"].as_object().is_some_and(|responses| !responses.is_empty()));
                if open {
                    walked.push(path.clone());
                    continue;
                }
                if method == Method::HEAD {
                    // It is refused without a word: there is no body to say it in.
                    assert_eq!(house.bare_request(method, &place).send().await.unwrap().status(), 401);
                    continue;
                }
                refused(401, house.bare_request(method.clone(), &place)).await;
                refused(401, house.bare_request(method, &place).json(&json!({"nonsense": 1}))).await;
            }
        }
        walked.sort();
        assert_eq!(walked, ["/api/v1/sign-in", "/api/v1/sign-out", "/healthz", "/metrics", "/readyz"], "only these are open");
        house.close().await;
        database.drop().await;
    }

    async fn the_docs_and_the_board_answer_with_headers_that_protect_them(database: TestDatabase) {
        let house = House::open(&database).await;
        for (path, place) in [("/", "/app/"), ("/app", "/app/"), ("/app/", "/app/"), ("/app/sandboxes/x", "/app/sandboxes/x"), ("/docs", "/docs/"), ("/docs/", "/docs/")] {
            let response = house.bare_request(Method::GET, path).send().await.unwrap();
            assert_eq!((response.status().as_u16(), response.url().path()), (200, place));
            assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/html"), "{path}");
        }
        for path in ["/app/", "/docs/", "/healthz", "/nothing", "/api/v1/me", "/api/v1/openapi.json"] {
            let response = house.bare_request(Method::GET, path).send().await.unwrap();
            let headers = response.headers();
            assert_eq!((&headers["x-content-type-options"], &headers["referrer-policy"]), (&"nosniff".parse().unwrap(), &"no-referrer".parse().unwrap()));
            assert!(headers["content-security-policy"].to_str().unwrap().contains("frame-ancestors 'none'"), "{path}");
            assert!(headers["x-request-id"].to_str().unwrap().starts_with("req_"), "{path}");
        }
        let page = house.bare_request(Method::GET, "/app/").send().await.unwrap();
        let known = house.bare_request(Method::GET, "/app/").header("if-none-match", &page.headers()["etag"]);
        assert_eq!(known.send().await.unwrap().status(), 304);
        house.close().await;
        database.drop().await;
    }

    async fn the_providers_are_shown_with_what_they_offer(database: TestDatabase) {
        let house = House::open(&database).await;
        let (status, list) = house.ask(house.request(Method::GET, "/api/v1/providers")).await;
        let provider: &Value = &list["items"][0];
        assert_eq!((status.as_u16(), &provider["name"], &provider["templates"]), (200, &json!("fake"), &json!(["host", "base"])));
        assert_eq!((&provider["abilities"], &provider["breaker"]["state"]), (&json!(["pause"]), &json!("closed")));
        house.close().await;
        database.drop().await;
    }
}
