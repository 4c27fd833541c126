//! Who may do what.

use carrel_model::public::Happening;
use carrel_testkit::{EventStream, House, on_both_databases};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{denials, refused};

/// What a role gets for every verb. `own` belongs to the agent `scout` and is the sandbox that the sandbox key is bound to.
/// Columns: admin, member, agent, sandbox.
const TABLE: &[(&str, &str, &str, [u16; 4])] = &[
    // verb, path, action in the audit
    ("GET", "/me", "", [200, 200, 200, 200]),
    ("POST", "/sign-in/link", "sign_in.link", [201, 201, 201, 403]),
    ("GET", "/events", "events.follow", [200, 200, 200, 200]),
    ("GET", "/providers", "provider.read", [200, 200, 200, 403]),
    ("GET", "/sandboxes", "sandbox.read", [200, 200, 200, 200]),
    ("GET", "/sandboxes?agent_id=other", "sandbox.read", [200, 200, 403, 200]),
    ("GET", "/sandboxes/OWN", "sandbox.read", [200, 200, 200, 200]),
    ("GET", "/sandboxes/OTHER", "sandbox.read", [200, 200, 403, 403]),
    ("POST", "/sandboxes", "sandbox.create", [201, 201, 201, 403]),
    ("POST", "/sandboxes {\"agent_id\": \"other\"}", "sandbox.create", [201, 201, 403, 403]),
    ("POST", "/sandboxes/OWN/pause", "sandbox.pause", [200, 200, 200, 403]),
    ("POST", "/sandboxes/OTHER/pause", "sandbox.pause", [200, 200, 403, 403]),
    ("POST", "/sandboxes/OWN/resume", "sandbox.resume", [200, 200, 200, 403]),
    ("POST", "/sandboxes/OTHER/resume", "sandbox.resume", [200, 200, 403, 403]),
    ("POST", "/sandboxes/OWN/timeout {\"timeout_s\": 60}", "sandbox.timeout", [200, 200, 200, 403]),
    ("POST", "/sandboxes/OTHER/timeout {\"timeout_s\": 60}", "sandbox.timeout", [200, 200, 403, 403]),
    // What is inside is refused to whom it does not belong before anybody looks whether something runs there: 409 is the
    // fake's answer to those who may.
    ("POST", "/sandboxes/OWN/execute {\"command\": \"true\"}", "sandbox.exec", [409, 409, 409, 403]),
    ("POST", "/sandboxes/OTHER/execute {\"command\": \"true\"}", "sandbox.exec", [409, 409, 403, 403]),
    ("GET", "/sandboxes/OWN/execs", "sandbox.read", [200, 200, 200, 200]),
    ("GET", "/sandboxes/OTHER/execs", "sandbox.read", [200, 200, 403, 403]),
    ("GET", "/sandboxes/OTHER/execs/exec_0000000000000000", "sandbox.read", [404, 404, 403, 403]),
    ("GET", "/sandboxes/OTHER/execs/exec_0000000000000000/output", "sandbox.read", [404, 404, 403, 403]),
    ("POST", "/sandboxes/OWN/execs/exec_0000000000000000/input", "sandbox.exec", [404, 404, 404, 403]),
    ("POST", "/sandboxes/OTHER/execs/exec_0000000000000000/input", "sandbox.exec", [404, 404, 403, 403]),
    (
        "POST",
        "/sandboxes/OTHER/execs/exec_0000000000000000/signal {\"signal\": 9}",
        "sandbox.exec",
        [404, 404, 403, 403],
    ),
    ("GET", "/sandboxes/OWN/files?path=/", "sandbox.files.read", [409, 409, 409, 409]),
    ("GET", "/sandboxes/OTHER/files?path=/", "sandbox.files.read", [409, 409, 403, 403]),
    ("GET", "/sandboxes/OTHER/files/list?path=/", "sandbox.files.read", [409, 409, 403, 403]),
    ("PUT", "/sandboxes/OWN/files?path=/x", "sandbox.files.write", [409, 409, 409, 403]),
    ("PUT", "/sandboxes/OTHER/files?path=/x", "sandbox.files.write", [409, 409, 403, 403]),
    ("DELETE", "/sandboxes/OTHER/files?path=/x", "sandbox.files.write", [409, 409, 403, 403]),
    ("GET", "/sandboxes/OWN/ports/80/", "sandbox.port", [409, 409, 409, 403]),
    ("GET", "/sandboxes/OTHER/ports/80/", "sandbox.port", [409, 409, 403, 403]),
    ("GET", "/sandboxes/OWN/tunnel?port=80", "sandbox.port", [409, 409, 409, 403]),
    ("GET", "/sandboxes/OTHER/tunnel?port=80", "sandbox.port", [409, 409, 403, 403]),
    ("POST", "/sandboxes/OWN/port_link {\"port\": 80}", "sandbox.port", [409, 409, 409, 403]),
    ("POST", "/sandboxes/OTHER/port_link {\"port\": 80}", "sandbox.port", [409, 409, 403, 403]),
    ("GET", "/sandboxes/OWN/stats", "sandbox.stats", [200, 200, 200, 200]),
    ("GET", "/sandboxes/OTHER/stats", "sandbox.stats", [200, 200, 403, 403]),
    ("GET", "/sandboxes/OWN/refused", "sandbox.read", [200, 200, 200, 200]),
    ("GET", "/sandboxes/OTHER/refused", "sandbox.read", [200, 200, 403, 403]),
    ("GET", "/sandboxes/OWN/logs", "sandbox.read", [200, 200, 200, 200]),
    ("GET", "/sandboxes/OTHER/logs", "sandbox.read", [200, 200, 403, 403]),
    ("POST", "/sandboxes/OWN/snapshot", "sandbox.snapshot", [409, 409, 409, 403]),
    ("POST", "/sandboxes/OTHER/snapshot", "sandbox.snapshot", [409, 409, 403, 403]),
    ("POST", "/sandboxes/OWN/fork", "sandbox.fork", [409, 409, 409, 403]),
    ("POST", "/sandboxes/OTHER/fork", "sandbox.fork", [409, 409, 403, 403]),
    ("GET", "/templates", "template.read", [200, 200, 200, 403]),
    ("GET", "/templates/host", "template.read", [200, 200, 200, 403]),
    ("POST", "/templates {\"name\": \"mine\", \"from\": \"host\"}", "template.make", [409, 409, 403, 403]),
    ("PUT", "/templates/mine/content?kind=archive", "template.make", [409, 409, 403, 403]),
    ("DELETE", "/templates/mine", "template.remove", [404, 404, 403, 403]),
    ("DELETE", "/sandboxes/OWN", "sandbox.destroy", [204, 204, 204, 403]),
    ("DELETE", "/sandboxes/OTHER", "sandbox.destroy", [204, 204, 403, 403]),
    ("POST", "/keys {\"name\": \"x\", \"role\": \"member\"}", "key.create", [201, 403, 403, 403]),
    ("GET", "/keys", "key.read", [200, 403, 403, 403]),
    ("GET", "/keys/KEY", "key.read", [200, 403, 403, 403]),
    ("PATCH", "/keys/KEY {\"name\": \"y\"}", "key.change", [200, 403, 403, 403]),
    ("POST", "/keys/KEY/link", "key.change", [201, 403, 403, 403]),
    ("POST", "/keys/KEY/rotate", "key.rotate", [200, 403, 403, 403]),
    ("DELETE", "/keys/KEY", "key.revoke", [204, 403, 403, 403]),
    ("GET", "/hooks", "hook.read", [200, 403, 403, 403]),
    ("POST", "/hooks/hook_0000000000000000/replay {}", "hook.write", [404, 403, 403, 403]),
    ("DELETE", "/hooks/hook_0000000000000000", "hook.write", [404, 403, 403, 403]),
    ("GET", "/audit", "audit.read", [200, 403, 403, 403]),
];

async fn ready(house: &House, body: Value) -> String {
    let (status, body) = house.ask(house.request(Method::POST, "/api/v1/sandboxes?wait=ready").json(&body)).await;
    assert_eq!((status.as_u16(), &body["phase"]), (201, &json!("ready")));
    body["id"].as_str().unwrap().to_owned()
}

on_both_databases! {
    async fn each_role_may_do_what_it_is_for_and_each_denial_is_one_line_of_the_audit(database: TestDatabase) {
        let house = House::open(&database).await;
        for (column, role) in ["admin", "member", "agent", "sandbox"].into_iter().enumerate() {
            let own = ready(&house, json!({"agent_id": "scout"})).await;
            let other = ready(&house, json!({})).await;
            let (victim, _) = house.mint(json!({"name": "victim", "role": "member"})).await;
            let mut new = json!({"name": format!("the {role}"), "role": role});
            match role {
                "agent" => new["agent_id"] = json!("scout"),
                "sandbox" => new["sandbox_id"] = json!(own),
                _ => {}
            }
            let (id, secret) = house.mint(new).await;
            for (method, path, action, expected) in TABLE {
                let (path, body) = path.split_once(' ').unwrap_or((path, ""));
                let path = path.replace("OWN", &own).replace("OTHER", &other).replace("KEY", victim.as_str());
                let mut request = house.request_as(&secret, method.parse().unwrap(), &format!("/api/v1{path}"));
                if !body.is_empty() {
                    request = request.header("content-type", "application/json").body(body);
                }
                let before = denials(&house).await.len();
                let about = format!("{role}: {method} {path} {body}");
                if expected[column] == 403 {
                    let problem = refused(403, request).await;
                    assert!(problem["detail"].as_str().unwrap().contains(&format!("the {role}")), "{about}: {problem}");
                    let lines = denials(&house).await;
                    assert_eq!(lines.len(), before + 1, "{about}");
                    let line = &lines[0];
                    assert_eq!((line.actor.key_id.as_ref(), &*line.action), (Some(&id), *action), "{about}");
                    assert_eq!(line.origin.as_deref(), Some("127.0.0.1"), "{about}");
                } else {
                    let response = request.send().await.unwrap();
                    assert_eq!(response.status(), expected[column], "{about}");
                    assert_eq!(denials(&house).await.len(), before, "{about}");
                }
            }
        }
        house.close().await;
        database.drop().await;
    }

    async fn an_agent_sees_only_its_own_in_lists_and_events_and_a_sandbox_only_itself(database: TestDatabase) {
        let house = House::open(&database).await;
        let (_, scout) = house.mint(json!({"name": "scout", "role": "agent", "agent_id": "scout"})).await;
        let begun = house.control.events().head();
        let first = ready(&house, json!({"agent_id": "scout"})).await;
        let (_, inside) = house.mint(json!({"name": "inside", "role": "sandbox", "sandbox_id": first})).await;
        let foreign = ready(&house, json!({"agent_id": "other"})).await;
        let nobodys = ready(&house, json!({})).await;
        let (status, last) = house.ask(house.request_as(&scout, Method::POST, "/api/v1/sandboxes?wait=ready").json(&json!({}))).await;
        assert_eq!((status.as_u16(), &last["agent_id"]), (201, &json!("scout")), "an agent's sandbox is its own without saying so");
        let last = last["id"].as_str().unwrap().to_owned();

        for (secret, seen) in [(&scout, vec![&last, &first]), (&inside, vec![&first]), (&house.key, vec![&last, &nobodys, &foreign, &first])] {
            let (_, list) = house.ask(house.request_as(secret, Method::GET, "/api/v1/sandboxes")).await;
            let listed: Vec<_> = list["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
            assert_eq!(listed, seen);
        }

        let path = format!("/api/v1/events?after={}", begun.0);
        let mut events = EventStream::open(house.request_as(&scout, Method::GET, &path)).await;
        loop {
            let Happening::Sandbox { sandbox } = events.entry().await.happening else { panic!("not for an agent") };
            assert!([&first, &last].contains(&&sandbox.id.to_string()), "{sandbox:?}");
            if sandbox.id.as_str() == last && sandbox.ready_at.is_some() {
                break;
            }
        }
        // The sandbox hears of itself alone: its end is the last of it, though others ended before.
        let mut events = EventStream::open(house.request_as(&inside, Method::GET, &path)).await;
        for id in [&foreign, &nobodys, &last, &first] {
            assert_eq!(house.request(Method::DELETE, &format!("/api/v1/sandboxes/{id}?wait=gone")).send().await.unwrap().status(), 204);
        }
        loop {
            let Happening::Sandbox { sandbox } = events.entry().await.happening else { panic!("not for a sandbox") };
            assert_eq!(sandbox.id.as_str(), first);
            if sandbox.phase.is_over() {
                break;
            }
        }
        house.close().await;
        database.drop().await;
    }
}
