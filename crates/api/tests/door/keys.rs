//! Keys: shown, wrong, expired, rotated, revoked.

use carrel_model::public::Happening;
use carrel_testkit::{EventStream, House, TestDatabase, on_both_databases};
use reqwest::Method;
use serde_json::json;

use crate::{denials, me, refused, traces};

const UNKNOWN: &str = "crl_0123456789012345678901234567890123456789";

on_both_databases! {
    async fn either_spelling_in_either_header_opens_the_door(database: TestDatabase) {
        let house = House::open(&database).await;
        let other_spelling = house.key.replace("crl_", "e2b_");
        let before = traces(&house).await;
        for key in [&house.key, &other_spelling] {
            let bare = || house.bare_request(Method::GET, "/api/v1/me");
            for request in [bare().bearer_auth(key), bare().header("x-api-key", key), bare().header("authorization", format!("bearer {key}"))] {
                let (status, body) = house.ask(request).await;
                assert_eq!((status.as_u16(), &body["role"]), (200, &json!("admin")));
            }
        }
        assert_eq!(traces(&house).await, before);
        house.close().await;
        database.drop().await;
    }

    async fn a_wrong_key_is_refused_changes_nothing_and_is_one_line_of_the_audit(database: TestDatabase) {
        let house = House::open(&database).await;
        let (gone, revoked) = house.mint(json!({"name": "revoked", "role": "admin"})).await;
        assert_eq!(house.request(Method::DELETE, &format!("/api/v1/keys/{gone}")).send().await.unwrap().status(), 204);
        let (_, expired) = house.mint(json!({"name": "expired", "role": "admin", "expires_in_s": 1})).await;
        while me(&house, &expired).await != 401 {}
        let long = format!("crl_{}", "a".repeat(4000));
        let upper = house.key.to_uppercase();
        for wrong in ["", "nonsense", "crl_", "crl_xyz", UNKNOWN, &*upper, &*long, &*revoked, &*expired] {
            for method in [Method::GET, Method::POST] {
                let mut before = traces(&house).await;
                let problem = refused(401, house.request_as(wrong, method.clone(), "/api/v1/sandboxes").json(&json!({}))).await;
                assert!(wrong.len() < 10 || !problem.to_string().contains(wrong), "a secret is in {problem}");
                before.audit += 1;
                assert_eq!(traces(&house).await, before, "{wrong} {method}");
                let line = &denials(&house).await[0];
                assert_eq!((&*line.actor.name, &*line.action), ("nobody", &*format!("{method} /api/v1/sandboxes")));
                assert_eq!(line.origin.as_deref(), Some("127.0.0.1"));
            }
        }
        let mut before = traces(&house).await;
        for request in [
            house.bare_request(Method::GET, "/api/v1/me").header("authorization", "Basic YTpi"),
            house.bare_request(Method::GET, "/api/v1/me").header("x-api-key", "é"),
            house.bare_request(Method::GET, "/api/v1/me").header("cookie", "carrel_visit_test=0123"),
        ] {
            refused(401, request).await;
            before.audit += 1;
        }
        assert_eq!(traces(&house).await, before);
        house.close().await;
        database.drop().await;
    }

    async fn without_any_key_a_look_is_asked_for_one_and_a_change_is_a_denial(database: TestDatabase) {
        let house = House::open(&database).await;
        let mut before = traces(&house).await;
        refused(401, house.bare_request(Method::GET, "/api/v1/sandboxes")).await;
        refused(401, house.bare_request(Method::GET, "/api/v1/events")).await;
        assert_eq!(traces(&house).await, before, "nobody was refused anything yet");
        refused(401, house.bare_request(Method::POST, "/api/v1/sandboxes").json(&json!({}))).await;
        before.audit += 1;
        assert_eq!(traces(&house).await, before);
        house.close().await;
        database.drop().await;
    }

    async fn a_rotated_or_revoked_key_is_void_with_the_very_next_request_and_so_are_its_browsers(database: TestDatabase) {
        let house = House::open(&database).await;
        for verb in ["rotate", "revoke"] {
            let (id, secret) = house.mint(json!({"name": verb, "role": "member"})).await;
            let signed_in = house.bare_request(Method::POST, "/api/v1/sign-in").json(&json!({"key": secret})).send().await.unwrap();
            let cookie = signed_in.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
            let browser = || house.bare_request(Method::GET, "/api/v1/me").header("cookie", &cookie);
            let (_, link) = house.ask(house.request_as(&secret, Method::POST, "/api/v1/sign-in/link")).await;
            let code = link["path"].as_str().unwrap().split_once("#code=").unwrap().1.to_owned();
            assert_eq!(me(&house, &secret).await, 200);
            assert_eq!(browser().send().await.unwrap().status(), 200);

            let fresh = match verb {
                "rotate" => {
                    let (status, minted) = house.ask(house.request(Method::POST, &format!("/api/v1/keys/{id}/rotate"))).await;
                    assert_eq!(status, 200);
                    assert_eq!(minted["key"]["id"], id.as_str(), "it is the same key");
                    Some(minted["secret"].as_str().unwrap().to_owned())
                }
                _ => {
                    let revoked = house.request(Method::DELETE, &format!("/api/v1/keys/{id}")).send().await.unwrap();
                    assert_eq!(revoked.status(), 204);
                    None
                }
            };
            assert_eq!(me(&house, &secret).await, 401, "{verb}");
            assert_eq!(browser().send().await.unwrap().status(), 401, "{verb}");
            refused(401, house.bare_request(Method::POST, "/api/v1/sign-in").json(&json!({"code": code}))).await;
            refused(401, house.bare_request(Method::POST, "/api/v1/sign-in").json(&json!({"key": secret}))).await;
            if let Some(fresh) = fresh {
                assert_eq!(me(&house, &fresh).await, 200);
            }
        }
        house.close().await;
        database.drop().await;
    }

    async fn a_stream_of_events_ends_with_the_key_that_opened_it(database: TestDatabase) {
        let house = House::open(&database).await;
        for verb in ["rotate", "revoke", "expire"] {
            let lasts = if verb == "expire" { json!(1) } else { json!(null) };
            let (id, secret) = house.mint(json!({"name": verb, "role": "admin", "expires_in_s": lasts})).await;
            // From the beginning: what happened to the key before is no reason to end.
            let mut events = EventStream::open(house.request_as(&secret, Method::GET, "/api/v1/events?after=0")).await;
            match verb {
                "rotate" => assert_eq!(house.request(Method::POST, &format!("/api/v1/keys/{id}/rotate")).send().await.unwrap().status(), 200),
                "revoke" => assert_eq!(house.request(Method::DELETE, &format!("/api/v1/keys/{id}")).send().await.unwrap().status(), 204),
                _ => {}
            }
            let later = format!("after {verb}");
            house.mint(json!({"name": later, "role": "member"})).await;
            let mut born = false;
            while let Some(event) = events.next().await {
                if event.name == "drain" {
                    continue;
                }
                if let Happening::Key { key } = event.entry().happening {
                    born |= key.id == id;
                    assert!(key.name != later || verb == "expire", "{verb}: heard what came after the end of its key");
                }
            }
            assert!(born, "{verb}: it ended before its key did");
            // A node that compares clocks with its database may be a moment off: an expiry is waited for, an end is not.
            while verb == "expire" && me(&house, &secret).await == 200 {}
            assert_eq!(me(&house, &secret).await, 401, "{verb}");
        }
        house.close().await;
        database.drop().await;
    }

    async fn the_last_admin_key_cannot_be_revoked(database: TestDatabase) {
        let house = House::open(&database).await;
        let before = traces(&house).await;
        let mine = format!("/api/v1/keys/{}", house.admin.key);
        let problem = refused(409, house.request(Method::DELETE, &mine)).await;
        assert!(problem["detail"].as_str().unwrap().contains("last good admin key"));
        assert_eq!(traces(&house).await, before);

        // Two admins who revoke each other at the same moment: one of them stays.
        let (id, secret) = house.mint(json!({"name": "second", "role": "admin"})).await;
        let theirs = format!("/api/v1/keys/{id}");
        let (first, second) = tokio::join!(
            house.request(Method::DELETE, &theirs).send(),
            house.request_as(&secret, Method::DELETE, &mine).send(),
        );
        let done = [first, second].into_iter().filter(|answer| answer.as_ref().unwrap().status() == 204).count();
        let alive = [me(&house, &house.key).await, me(&house, &secret).await];
        assert_eq!((done, alive.iter().filter(|status| **status == 200).count()), (1, 1));
        house.close().await;
        database.drop().await;
    }

    async fn keys_are_listed_and_shown_without_their_secrets(database: TestDatabase) {
        let house = House::open(&database).await;
        let (id, secret) = house.mint(json!({"name": "helper", "role": "agent", "agent_id": "scout", "expires_in_s": 3600})).await;
        let (status, shown) = house.ask(house.request(Method::GET, &format!("/api/v1/keys/{id}"))).await;
        assert_eq!((status.as_u16(), &shown["name"], &shown["agent_id"]), (200, &json!("helper"), &json!("scout")));
        assert_eq!(shown["prefix"], secret[..10]);
        let (_, first) = house.ask(house.request(Method::GET, "/api/v1/keys?limit=1")).await;
        let next = first["next"].as_str().unwrap();
        let (_, second) = house.ask(house.request(Method::GET, &format!("/api/v1/keys?limit=1&cursor={next}"))).await;
        assert_eq!((&first["items"][0], &second["items"][0]["name"], &second["next"]), (&shown, &json!("admin"), &json!(null)));
        for answer in [&shown, &first, &second] {
            assert!(!answer.to_string().contains(&secret) && !answer.to_string().contains(&house.key));
        }

        let gone = house.request(Method::DELETE, &format!("/api/v1/keys/{id}"));
        let again = gone.try_clone().unwrap();
        assert_eq!(gone.send().await.unwrap().status(), 204);
        let before = traces(&house).await;
        assert_eq!(again.send().await.unwrap().status(), 204, "asking again is no mistake");
        refused(409, house.request(Method::POST, &format!("/api/v1/keys/{id}/rotate"))).await;
        refused(404, house.request(Method::DELETE, "/api/v1/keys/key_0000000000000000")).await;
        assert_eq!(traces(&house).await, before);
        let (_, shown) = house.ask(house.request(Method::GET, &format!("/api/v1/keys/{id}"))).await;
        assert!(shown["revoked_at"].is_string(), "a revoked key stays on the list");
        house.close().await;
        database.drop().await;
    }

    async fn every_change_of_keys_is_a_line_of_the_audit(database: TestDatabase) {
        let house = House::open(&database).await;
        let (id, _) = house.mint(json!({"name": "helper", "role": "member"})).await;
        house.request(Method::POST, &format!("/api/v1/keys/{id}/rotate")).send().await.unwrap();
        house.request(Method::DELETE, &format!("/api/v1/keys/{id}")).send().await.unwrap();
        let (_, lines) = house.ask(house.request(Method::GET, &format!("/api/v1/audit?subject={id}"))).await;
        let lines = lines["items"].as_array().unwrap();
        let told: Vec<_> = lines.iter().map(|line| (line["action"].as_str().unwrap(), line["outcome"].as_str().unwrap())).collect();
        assert_eq!(told, [("key.revoke", "done"), ("key.rotate", "done"), ("key.create", "done")]);
        assert!(lines.iter().all(|line| line["actor"]["key_id"] == house.admin.key.as_str() && line["origin"] == "127.0.0.1"));
        let filters = format!("?actor={}&action=key.rotate&outcome=done", house.admin.key);
        let (_, rotated) = house.ask(house.request(Method::GET, &format!("/api/v1/audit{filters}"))).await;
        assert_eq!(rotated["items"], json!([lines[1]]));

        let (mut paged, mut cursor) = (Vec::new(), String::new());
        loop {
            let (_, page) = house.ask(house.request(Method::GET, &format!("/api/v1/audit?limit=1{cursor}"))).await;
            paged.extend(page["items"].as_array().unwrap().clone());
            let Some(next) = page["next"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        let (_, whole) = house.ask(house.request(Method::GET, "/api/v1/audit")).await;
        assert_eq!(json!(paged), whole["items"]);
        house.close().await;
        database.drop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_one_node_ends_is_void_at_the_other_once_it_has_heard() {
    let database = TestDatabase::postgres().await;
    let (here, there) = (House::open(&database).await, House::open(&database).await);
    for round in 0..20 {
        let (id, secret) = here.mint(json!({"name": "traveller", "role": "member"})).await;
        let mut heard = there.events("?kind=key").await;
        assert_eq!(me(&there, &secret).await, 200);
        let request = match round % 2 {
            0 => here.request(Method::POST, &format!("/api/v1/keys/{id}/rotate")),
            _ => here.request(Method::DELETE, &format!("/api/v1/keys/{id}")),
        };
        assert!(request.send().await.unwrap().status().is_success());
        loop {
            let Happening::Key { key } = heard.entry().await.happening else { panic!("only keys were asked for") };
            if key.id == id && key.revision > 1 {
                break;
            }
        }
        assert_eq!(me(&there, &secret).await, 401, "round {round}");
    }
    here.close().await;
    there.close().await;
    database.drop().await;
}
