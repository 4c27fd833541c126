//! Browsers: signed in by a link or a key, signed out, and not to be used by other sites.

use carrel_testkit::{EventStream, House, on_both_databases};
use futures::future::join_all;
use reqwest::{Method, RequestBuilder};
use serde_json::json;

use crate::{denials, refused, traces};

async fn new_code(house: &House) -> String {
    let (status, link) = house.ask(house.request(Method::POST, "/api/v1/sign-in/link")).await;
    assert_eq!(status, 201);
    link["path"].as_str().unwrap().strip_prefix("/app/sign-in#code=").unwrap().to_owned()
}

fn redeem(house: &House, code: &str) -> RequestBuilder {
    house.bare_request(Method::POST, "/api/v1/sign-in").json(&json!({"code": code}))
}

async fn signed_in_browser(house: &House) -> String {
    let response = redeem(house, &new_code(house).await).send().await.unwrap();
    assert_eq!(response.status(), 200);
    response.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned()
}

on_both_databases! {
    async fn a_link_signs_one_browser_in_once(database: TestDatabase) {
        let house = House::open(&database).await;
        let code = new_code(&house).await;
        let response = redeem(&house, &code).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let cookie = response.headers()["set-cookie"].to_str().unwrap().to_owned();
        let parts: Vec<_> = cookie.split("; ").collect();
        assert!(["HttpOnly", "SameSite=Strict", "Path=/"].iter().all(|part| parts.contains(part)), "{cookie}");
        assert!(parts.iter().any(|part| part.starts_with("Max-Age=")), "{cookie}");
        let body: serde_json::Value = response.json().await.unwrap();
        assert_eq!(body["bearer"]["key_id"], house.admin.key.as_str());

        let (status, me) = house.ask(house.bare_request(Method::GET, "/api/v1/me").header("cookie", parts[0])).await;
        assert_eq!((status.as_u16(), &me["role"]), (200, &json!("admin")));
        let before = denials(&house).await.len();
        let problem = refused(401, redeem(&house, &code)).await;
        assert!(!problem.to_string().contains(&code));
        assert_eq!(denials(&house).await.len(), before + 1);
        house.close().await;
        database.drop().await;
    }

    async fn a_link_that_two_browsers_use_at_once_signs_one_in(database: TestDatabase) {
        let house = House::open(&database).await;
        for _ in 0..10 {
            let code = new_code(&house).await;
            let answers = join_all((0..6).map(|_| redeem(&house, &code).send())).await;
            let statuses: Vec<_> = answers.into_iter().map(|answer| answer.unwrap().status().as_u16()).collect();
            assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
            assert_eq!(statuses.iter().filter(|status| **status == 401).count(), 5, "{statuses:?}");
        }
        house.close().await;
        database.drop().await;
    }

    async fn a_key_signs_a_browser_in_and_a_wrong_one_does_not(database: TestDatabase) {
        let house = House::open(&database).await;
        let sign_in = |key: &str| house.bare_request(Method::POST, "/api/v1/sign-in").json(&json!({"key": key}));
        assert_eq!(sign_in(&format!(" {}\n", house.key)).send().await.unwrap().status(), 200, "as it was pasted");
        for wrong in ["", "nonsense", "crl_0123456789012345678901234567890123456789"] {
            let mut before = traces(&house).await;
            refused(401, sign_in(wrong)).await;
            before.audit += 1;
            assert_eq!(traces(&house).await, before);
            assert_eq!(denials(&house).await[0].action, "sign_in");
        }
        house.close().await;
        database.drop().await;
    }

    async fn a_page_of_another_site_cannot_use_the_cookie(database: TestDatabase) {
        let house = House::open(&database).await;
        let cookie = signed_in_browser(&house).await;
        let create = || house.bare_request(Method::POST, "/api/v1/sandboxes").header("cookie", &cookie);
        for origin in ["http://evil.example", "null", "https://127.0.0.1", "", "http://127.0.0.1:1"] {
            let mut before = traces(&house).await;
            refused(401, create().header("origin", origin)).await;
            before.audit += 1;
            assert_eq!(traces(&house).await, before, "{origin}");
        }
        // Nor can it sign the browser out.
        let sign_out = |origin: &str| house.bare_request(Method::POST, "/api/v1/sign-out").header("cookie", &cookie).header("origin", origin).send();
        sign_out("http://evil.example").await.unwrap();
        assert_eq!(create().header("origin", &house.url).send().await.unwrap().status(), 201);
        house.close().await;
        database.drop().await;
    }

    async fn signing_out_ends_this_browser_and_no_other(database: TestDatabase) {
        let house = House::open(&database).await;
        let (one, other) = (signed_in_browser(&house).await, signed_in_browser(&house).await);
        let me = |cookie: &str| house.bare_request(Method::GET, "/api/v1/me").header("cookie", cookie).send();
        assert_eq!(me(&one).await.unwrap().status(), 200);
        let left = house.bare_request(Method::POST, "/api/v1/sign-out").header("cookie", &one).send().await.unwrap();
        assert_eq!(left.status(), 204);
        assert!(left.headers()["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
        assert_eq!(me(&one).await.unwrap().status(), 401);
        let (_, lines) = house.ask(house.request(Method::GET, "/api/v1/audit?action=sign_out")).await;
        assert_eq!((lines["items"].as_array().unwrap().len(), &lines["items"][0]["outcome"]), (1, &json!("done")));
        assert_eq!(me(&other).await.unwrap().status(), 200);
        let again = house.bare_request(Method::POST, "/api/v1/sign-out").header("cookie", &one).send().await.unwrap();
        assert_eq!(again.status(), 204, "asking again is no mistake");
        house.close().await;
        database.drop().await;
    }

    async fn a_stream_of_events_ends_when_its_browser_signs_out(database: TestDatabase) {
        let house = House::open(&database).await;
        let (one, two) = (signed_in_browser(&house).await, signed_in_browser(&house).await);
        let follow = |cookie: &str| EventStream::open(house.bare_request(Method::GET, "/api/v1/events").header("cookie", cookie));
        let (mut ends, mut stays) = (follow(&one).await, follow(&two).await);
        let mut with_key = house.events("").await;
        let out = house.bare_request(Method::POST, "/api/v1/sign-out").header("cookie", &one).send().await.unwrap();
        assert_eq!(out.status(), 204);
        loop {
            match ends.next().await {
                Some(event) if event.name == "drain" => {}
                Some(event) => panic!("{event:?} was told to somebody who had left"),
                None => break,
            }
        }
        refused(401, house.bare_request(Method::GET, "/api/v1/events").header("cookie", &one)).await;
        let made = house.control.sandboxes().create(&house.admin, Default::default(), None).await.unwrap().sandbox;
        for stream in [&mut stays, &mut with_key] {
            let told = serde_json::to_value(stream.entry().await).unwrap();
            assert_eq!(told["sandbox"]["id"], made.id.as_str(), "the others go on");
        }
        house.close().await;
        database.drop().await;
    }
}
