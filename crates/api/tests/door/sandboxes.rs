//! Sandboxes from the first request to the tombstone.

use std::time::Duration;

use carrel_model::sandbox::Phase;
use carrel_sandbox::providers::fake::Weather;
use carrel_testkit::{House, Setup, on_both_databases};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{refused, traces};

/// Sends a request; the status, how the wait ended, and the body.
async fn ask(house: &House, method: Method, path: &str, body: Value) -> (u16, String, Value) {
    let mut request = house.request(method, &format!("/api/v1/sandboxes{path}"));
    if !body.is_null() {
        request = request.json(&body);
    }
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let waited = headers.get("carrel-waited").map(|word| word.to_str().unwrap().to_owned()).unwrap_or_default();
    let body = response.bytes().await.unwrap();
    (status, waited, serde_json::from_slice(&body).unwrap_or_default())
}

fn ids(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect()
}

on_both_databases! {
    async fn a_sandbox_is_what_was_asked_for_and_hides_its_environment(database: TestDatabase) {
        let house = House::open(&database).await;
        let body = json!({
            "template": "base", "provider": "fake", "isolation": "none", "agent_id": "scout", "task_id": 7, "env": {"TOKEN": "hunter2"},
            "metadata": {"colour": "red"}, "timeout_s": 600, "auto_pause": true,
            "limits": {"cpus": 0.5, "memory_mb": 64, "disk_mb": 128, "pids": 16}, "network": {"mode": "allow", "allow": ["example.org"]},
        });
        let request = house.request(Method::POST, "/api/v1/sandboxes?wait=ready").json(&body);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 201);
        let place = response.headers()["location"].to_str().unwrap().to_owned();
        let made: Value = response.json().await.unwrap();
        let (status, mut shown) = house.ask(house.request(Method::GET, &place)).await;
        let fitness = shown.as_object_mut().unwrap().remove("fitness").unwrap();
        assert!(fitness[0].as_str().unwrap().contains("Nothing runs"), "a look at it alone says what it lacks");
        assert_eq!((status.as_u16(), &shown), (200, &made));
        for field in ["template", "provider", "isolation", "agent_id", "task_id", "metadata", "timeout_s", "auto_pause", "limits", "network"] {
            assert_eq!(shown[field], body[field], "{field}");
        }
        assert_eq!((&shown["phase"], &shown["status"], &shown["want"]), (&json!("ready"), &json!("running"), &json!("ready")));
        assert_eq!((&shown["env_names"], &shown["created_by"]), (&json!(["TOKEN"]), &json!(house.admin.key)));
        assert!(shown["ready_at"].is_string() && shown["expires_at"].is_string() && shown["ended"].is_null());
        assert!(!shown.to_string().contains("hunter2"));
        house.close().await;
        database.drop().await;
    }

    async fn a_sandbox_is_paused_resumed_given_time_and_destroyed(database: TestDatabase) {
        let house = House::open(&database).await;
        let id = house.ready_sandbox().await.id;
        let (status, waited, paused) = ask(&house, Method::POST, &format!("/{id}/pause?wait=paused"), json!(null)).await;
        assert_eq!((status, &*waited, &paused["phase"], &paused["status"]), (200, "reached", &json!("paused"), &json!("paused")));
        let (status, waited, ready) = ask(&house, Method::POST, &format!("/{id}/resume?wait=ready"), json!(null)).await;
        assert_eq!((status, &*waited, &ready["phase"]), (200, "reached", &json!("ready")));
        let (status, waited, longer) = ask(&house, Method::POST, &format!("/{id}/timeout"), json!({"timeout_s": 86_400})).await;
        assert_eq!((status, &*waited, &longer["timeout_s"]), (200, "", &json!(86_400)));
        let end = |view: &Value| view["expires_at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        assert!(end(&longer) > end(&ready));
        let (status, waited, _) = ask(&house, Method::DELETE, &format!("/{id}?wait=gone"), json!(null)).await;
        assert_eq!((status, &*waited), (204, "reached"));
        let (_, lines) = house.ask(house.request(Method::GET, &format!("/api/v1/audit?subject={id}"))).await;
        let told: Vec<_> = lines["items"].as_array().unwrap().iter().map(|line| line["action"].as_str().unwrap()).collect();
        assert_eq!(told, ["sandbox.destroy", "sandbox.timeout", "sandbox.resume", "sandbox.pause", "sandbox.create"]);
        house.close().await;
        database.drop().await;
    }

    async fn a_tombstone_says_who_ended_it_why_and_when(database: TestDatabase) {
        let house = House::open(&database).await;
        let (key, secret) = house.mint(json!({"name": "undertaker", "role": "member"})).await;
        let id = house.ready_sandbox().await.id;
        let request = house.request_as(&secret, Method::DELETE, &format!("/api/v1/sandboxes/{id}?wait=gone"));
        assert_eq!(request.send().await.unwrap().status(), 204);
        let (status, _, gone) = ask(&house, Method::GET, &format!("/{id}"), json!(null)).await;
        assert_eq!((status, &gone["phase"], &gone["status"], &gone["expires_at"]), (200, &json!("gone"), &json!("stopped"), &json!(null)));
        assert_eq!(gone["ended"]["by"], key.as_str());
        assert!(gone["ended"]["why"].as_str().unwrap().contains("undertaker"));
        assert!(gone["ended"]["at"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
        let before = traces(&house).await;
        for (verb, body) in [("pause", json!(null)), ("resume", json!(null)), ("timeout", json!({"timeout_s": 60}))] {
            let request = house.request(Method::POST, &format!("/api/v1/sandboxes/{id}/{verb}"));
            let problem = refused(409, if body.is_null() { request } else { request.json(&body) }).await;
            assert!(problem["detail"].as_str().unwrap().contains(id.as_str()), "{verb}: {problem}");
        }
        assert_eq!(ask(&house, Method::DELETE, &format!("/{id}"), json!(null)).await.0, 204, "asking again is no mistake");
        assert_eq!(ask(&house, Method::DELETE, &format!("/{id}?wait=gone"), json!(null)).await.1, "reached");
        assert_eq!(traces(&house).await, before);
        let (_, _, again) = ask(&house, Method::GET, &format!("/{id}"), json!(null)).await;
        assert_eq!(again, gone, "the first to end it stays on the stone");
        house.close().await;
        database.drop().await;
    }

    async fn an_unknown_sandbox_is_not_found_by_any_verb(database: TestDatabase) {
        let house = House::open(&database).await;
        let before = traces(&house).await;
        let unknown = "/api/v1/sandboxes/i0000000000000000000";
        refused(404, house.request(Method::GET, unknown)).await;
        refused(404, house.request(Method::DELETE, unknown)).await;
        refused(404, house.request(Method::POST, &format!("{unknown}/pause"))).await;
        refused(404, house.request(Method::POST, &format!("{unknown}/resume"))).await;
        refused(404, house.request(Method::POST, &format!("{unknown}/timeout")).json(&json!({"timeout_s": 60}))).await;
        assert_eq!(traces(&house).await, before);
        house.close().await;
        database.drop().await;
    }

    async fn lists_have_pages_and_filters_and_leave_out_what_is_gone(database: TestDatabase) {
        let house = House::open(&database).await;
        let mut made = Vec::new();
        for n in 0..7 {
            let body = json!({"template": if n % 2 == 0 { "host" } else { "base" }, "agent_id": format!("agent-{}", n % 3), "task_id": n + 1});
            let (status, _, view) = ask(&house, Method::POST, "?wait=ready", body).await;
            assert_eq!(status, 201);
            made.insert(0, view["id"].as_str().unwrap().to_owned());
        }
        let (gone, paused) = (made.remove(3), made[0].clone());
        ask(&house, Method::DELETE, &format!("/{gone}?wait=gone"), json!(null)).await;
        ask(&house, Method::POST, &format!("/{paused}/pause?wait=paused"), json!(null)).await;

        for limit in 1..=7 {
            let (mut listed, mut cursor) = (Vec::new(), String::new());
            loop {
                let (status, _, page) = ask(&house, Method::GET, &format!("?limit={limit}{cursor}"), json!(null)).await;
                assert_eq!(status, 200);
                assert!(ids(&page).len() <= limit);
                listed.extend(ids(&page).into_iter().map(str::to_owned));
                let Some(next) = page["next"].as_str() else { break };
                cursor = format!("&cursor={next}");
            }
            assert_eq!(listed, made, "newest first, {limit} at a time");
        }
        for (query, expected) in [
            ("?phase=gone", vec![&gone]),
            ("?phase=paused", vec![&paused]),
            ("?phase=failed", vec![]),
            ("?template=base", vec![&made[1], &made[4]]),
            ("?template=base&phase=gone", vec![&gone]),
            ("?provider=fake&task_id=1", vec![&made[5]]),
            ("?provider=elsewhere", vec![]),
            ("?agent_id=agent-1", vec![&made[2], &made[4]]),
            ("?agent_id=agent-1&template=host", vec![&made[2]]),
        ] {
            assert_eq!(ids(&ask(&house, Method::GET, query, json!(null)).await.2), expected, "{query}");
        }
        // The list says from where to follow: what changes later is an entry after it.
        let (_, _, page) = ask(&house, Method::GET, "", json!(null)).await;
        let as_of = page["as_of"].as_i64().unwrap();
        let made = house.ready_sandbox().await;
        let first = house.events(&format!("?after={as_of}")).await.entry().await;
        assert_eq!(serde_json::to_value(first).unwrap()["sandbox"]["id"], made.id.as_str());
        house.close().await;
        database.drop().await;
    }

    async fn a_wait_says_how_it_ended(database: TestDatabase) {
        let setup = Setup { create_takes: Duration::from_secs(3600), ..Setup::default() };
        let house = House::build(&database, setup).await;
        let (status, waited, view) = ask(&house, Method::POST, "?wait=preparing", json!({})).await;
        assert_eq!((status, &*waited, &view["phase"], &view["status"]), (201, "reached", &json!("preparing"), &json!("starting")));
        let id = view["id"].as_str().unwrap();
        let (status, waited, view) = ask(&house, Method::POST, &format!("/{id}/pause?wait=paused&timeout=1"), json!(null)).await;
        assert_eq!((status, &*waited, &view["phase"]), (200, "not-yet", &json!("preparing")));
        let (_, waited, _) = ask(&house, Method::POST, &format!("/{id}/resume?wait=requested"), json!(null)).await;
        assert_eq!(waited, "never", "nothing goes back to where it began");
        // Somebody ends it while another waits for it to be ready.
        let ready = ask(&house, Method::POST, "?wait=ready", json!({"metadata": {"fate": "unready"}}));
        let destroy = async {
            let mut events = house.events("?after=0&kind=sandbox").await;
            loop {
                let entry = serde_json::to_value(events.entry().await).unwrap();
                if entry["sandbox"]["metadata"]["fate"] == "unready" && entry["sandbox"]["phase"] == "preparing" {
                    let id = entry["sandbox"]["id"].as_str().unwrap().to_owned();
                    return ask(&house, Method::DELETE, &format!("/{id}?wait=gone"), json!(null)).await;
                }
            }
        };
        let ((status, waited, _), (_, destroyed, _)) = tokio::join!(ready, destroy);
        assert_eq!((status, &*waited, &*destroyed), (201, "never", "reached"));
        ask(&house, Method::DELETE, &format!("/{id}?wait=gone"), json!(null)).await;
        house.close().await;
        database.drop().await;
    }

    async fn a_wait_for_what_has_passed_does_not_wait(database: TestDatabase) {
        let house = House::open(&database).await;
        let id = house.ready_sandbox().await.id;
        for phase in ["requested", "preparing"] {
            let (_, waited, _) = ask(&house, Method::POST, &format!("/{id}/resume?wait={phase}&timeout=600"), json!(null)).await;
            assert_eq!(waited, "never", "{phase}");
        }
        house.close().await;
        database.drop().await;
    }

    async fn a_sandbox_whose_lifetime_has_passed_is_gone_by_its_lifetime(database: TestDatabase) {
        let house = House::open(&database).await;
        let (_, _, ends) = ask(&house, Method::POST, "?wait=ready", json!({"timeout_s": 1})).await;
        let (_, _, pauses) = ask(&house, Method::POST, "?wait=ready", json!({"timeout_s": 1, "auto_pause": true})).await;
        let gone = house.until(&serde_json::from_value(ends).unwrap(), Phase::Gone).await;
        let ended = gone.ended.unwrap();
        assert_eq!((&*ended.by, &*ended.why), ("lifetime", "Its lifetime of 1 s had passed."));
        let paused = house.until(&serde_json::from_value(pauses).unwrap(), Phase::Paused).await;
        assert_eq!(paused.ended, None);
        let (_, waited, resumed) = ask(&house, Method::POST, &format!("/{}/timeout", paused.id), json!({"timeout_s": 600})).await;
        assert_eq!((&*waited, resumed["timeout_s"].as_u64()), ("", Some(600)));
        let (_, waited, _) = ask(&house, Method::POST, &format!("/{}/resume?wait=ready", paused.id), json!(null)).await;
        assert_eq!(waited, "reached", "what was paused at its end comes back");
        house.close().await;
        database.drop().await;
    }

    async fn a_sandbox_that_cannot_be_made_says_why_and_can_be_destroyed(database: TestDatabase) {
        let house = House::open(&database).await;
        house.weather(Weather::Storm);
        let (status, waited, failed) = ask(&house, Method::POST, "?wait=ready", json!({})).await;
        assert_eq!((status, &*waited, &failed["phase"], &failed["status"]), (201, "never", &json!("failed"), &json!("error")));
        assert!(failed["note"].as_str().unwrap().contains("bad weather"));
        let id = failed["id"].as_str().unwrap();
        refused(409, house.request(Method::POST, &format!("/api/v1/sandboxes/{id}/pause"))).await;
        house.weather(Weather::Clear);
        let (status, waited, _) = ask(&house, Method::DELETE, &format!("/{id}?wait=gone"), json!(null)).await;
        assert_eq!((status, &*waited), (204, "reached"));
        house.close().await;
        database.drop().await;
    }
}
