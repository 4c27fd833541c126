//! Templates, snapshots and forks, through the door.

use carrel_sandbox::{Forking, Templating};
use carrel_testkit::{EventStream, House, Setup, on_both_databases};
use reqwest::Method;
use serde_json::{Value, json};

use crate::refused;

/// Follows the making of a template to its end.
pub(crate) async fn made(house: &House, name: &str) -> (String, Value) {
    let path = format!("/api/v1/templates/{name}/log");
    let mut log = EventStream::open(house.request(Method::GET, &path).header("accept", "text/event-stream")).await;
    let mut text = String::new();
    loop {
        let event = log.next().await.unwrap();
        let data: Value = serde_json::from_str(&event.data).unwrap();
        if event.name == "end" {
            return (text, data);
        }
        text.push_str(data["text"].as_str().unwrap());
    }
}

on_both_databases! {
    async fn a_template_is_made_told_of_used_and_forgotten(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let mut events = house.events("?kind=template").await;
        let new = json!({"name": "mine/own:1", "from": "recipe", "recipe": "FROM host\nRUN true\n"});
        let response = house.request(Method::POST, "/api/v1/templates").json(&new).send().await.unwrap();
        assert_eq!((response.status().as_u16(), &response.headers()["location"]), (201, &"/api/v1/templates/mine%2Fown%3A1".parse().unwrap()));
        let body: Value = response.json().await.unwrap();
        assert_eq!((&body["phase"], &body["source"]["from"]), (&json!("building"), &json!("recipe")));
        let (log, template) = made(&house, "mine%2Fown%3A1").await;
        assert_eq!(log, "making mine/own:1\nstep FROM host\nstep RUN true\ndone\n");
        assert_eq!((&template["phase"], &template["origin"]), (&json!("ready"), &json!("a recipe")));
        for phase in ["building", "ready"] {
            let entry = serde_json::to_value(events.entry().await).unwrap();
            assert_eq!((&entry["template"]["name"], &entry["template"]["phase"]), (&json!("mine/own:1"), &json!(phase)));
        }
        let (status, sandbox) = house.ask(house.request(Method::POST, "/api/v1/sandboxes?wait=ready").json(&json!({"template": "mine/own:1"}))).await;
        assert_eq!((status.as_u16(), &sandbox["phase"]), (201, &json!("ready")));
        let (_, list) = house.ask(house.request(Method::GET, "/api/v1/templates")).await;
        let names: Vec<_> = list["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["base", "host", "mine/own:1"]);

        assert_eq!(house.request(Method::DELETE, "/api/v1/templates/mine%2Fown%3A1").send().await.unwrap().status(), 204);
        refused(404, house.request(Method::GET, "/api/v1/templates/mine%2Fown%3A1")).await;
        refused(404, house.request(Method::DELETE, "/api/v1/templates/mine%2Fown%3A1")).await;
        refused(409, house.request(Method::DELETE, "/api/v1/templates/host")).await;
        refused(422, house.request(Method::POST, "/api/v1/sandboxes").json(&json!({"template": "mine/own:1"}))).await;
        house.close().await;
        database.drop().await;
    }

    async fn a_member_does_not_lead_the_server_to_itself(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let (_, member) = house.mint(json!({"name": "m", "role": "member"})).await;
        for near in ["localhost:5000/x", "127.0.0.1/x:1", "169.254.169.254/latest/x", "[::1]:5000/x"] {
            for new in [
                json!({"name": "sly", "from": "image", "reference": near}),
                json!({"name": "sly", "from": "recipe", "recipe": format!("FROM {near}\nRUN true\n")}),
            ] {
                let problem = refused(422, house.request_as(&member, Method::POST, "/api/v1/templates").json(&new)).await;
                assert!(problem["detail"].as_str().unwrap().contains("with an admin key only"), "{problem}");
            }
        }
        refused(404, house.request(Method::GET, "/api/v1/templates/sly")).await;
        house.close().await;
        database.drop().await;
    }

    async fn a_template_that_cannot_be_made_says_why(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let new = json!({"name": "broken", "from": "recipe", "recipe": "FROM host\nFAIL\nnever"});
        assert_eq!(house.request(Method::POST, "/api/v1/templates").json(&new).send().await.unwrap().status(), 201);
        let (log, template) = made(&house, "broken").await;
        assert!(log.contains("step FAIL") && !log.contains("never") && log.contains("the recipe says so"), "{log}");
        assert_eq!(template["phase"], "failed");
        assert!(template["note"].as_str().unwrap().contains("the recipe says so"));
        for bad in [
            json!({"name": "x"}),
            json!({"name": "../x", "from": "host"}),
            json!({"name": "snapshot/x", "from": "host"}),
            json!({"name": "x", "from": "image"}),
            json!({"name": "x", "from": "image", "reference": "a", "username": "b"}),
            json!({"name": "x", "from": "recipe"}),
            json!({"name": "x", "from": "archive"}),
            json!({"name": "x", "from": "debian", "suite": "--evil"}),
            json!({"name": "x", "from": "nothing"}),
        ] {
            refused(422, house.request(Method::POST, "/api/v1/templates").json(&bad)).await;
        }
        let junk = house.request(Method::PUT, "/api/v1/templates/x/content?kind=recipe").body("no archive");
        refused(422, junk).await;
        house.close().await;
        database.drop().await;
    }

    async fn a_build_that_fails_leaves_the_one_before_it_as_it_was(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let make = async |recipe: &str| {
            let new = json!({"name": "tool", "from": "recipe", "recipe": recipe});
            assert_eq!(house.request(Method::POST, "/api/v1/templates").json(&new).send().await.unwrap().status(), 201);
            made(&house, "tool").await
        };
        let (_, first) = make("FROM host\nRUN true").await;
        let (log, second) = make("FROM host\nFAIL").await;
        assert!(log.contains("the recipe says so"), "{log}");
        assert_eq!((&second["phase"], &second["origin"]), (&json!("ready"), &first["origin"]));
        let note = second["note"].as_str().unwrap();
        assert!(note.contains("last build failed") && note.contains("the recipe says so"), "{note}");
        let create = house.request(Method::POST, "/api/v1/sandboxes?wait=ready").json(&json!({"template": "tool"}));
        let (status, sandbox) = house.ask(create).await;
        assert_eq!((status.as_u16(), &sandbox["phase"]), (201, &json!("ready")));
        let (_, third) = make("FROM host\nRUN true").await;
        assert_eq!((&third["phase"], &third["note"]), (&json!("ready"), &json!(null)));
        house.close().await;
        database.drop().await;
    }

    async fn forks_have_the_files_of_their_origin_and_go_their_own_ways(database: TestDatabase) {
        let (house, bare) = House::bare(&database).await;
        let new = json!({"metadata": {"kind": "origin"}, "env": {"COLOUR": "red"}, "timeout_s": 600});
        let (_, origin) = house.ask(house.request(Method::POST, "/api/v1/sandboxes?wait=ready").json(&new)).await;
        let origin = serde_json::from_value(origin).unwrap();
        house.execute(&origin, json!({"command": "echo one > file"})).await;
        let fork = house.request(Method::POST, &format!("/api/v1/sandboxes/{}/fork?wait=ready", origin.id)).json(&json!({"count": 3}));
        let (status, forks) = house.ask(fork).await;
        assert_eq!((status.as_u16(), forks["items"].as_array().unwrap().len()), (201, 3), "{forks}");
        house.execute(&origin, json!({"command": "echo two > file"})).await;
        for fork in forks["items"].as_array().unwrap() {
            assert_eq!((&fork["phase"], &fork["metadata"]["kind"], &fork["timeout_s"]), (&json!("ready"), &json!("origin"), &json!(600)));
            let fork = serde_json::from_value(fork.clone()).unwrap();
            assert_eq!(house.execute(&fork, json!({"command": "cat file; echo $COLOUR"})).await["stdout"], "one\nred\n");
        }
        let snapshot = house.request(Method::POST, &format!("/api/v1/sandboxes/{}/snapshot", origin.id)).json(&json!({"name": "kept"}));
        let (status, template) = house.ask(snapshot).await;
        assert_eq!((status.as_u16(), &template["name"], &template["phase"]), (201, &json!("snapshot/kept"), &json!("ready")));
        let again = house.request(Method::POST, &format!("/api/v1/sandboxes/{}/snapshot", origin.id)).json(&json!({"name": "kept"}));
        refused(409, again).await;
        let (_, made) = house.ask(house.request(Method::POST, "/api/v1/sandboxes?wait=ready").json(&json!({"template": "snapshot/kept"}))).await;
        let made: carrel_model::public::SandboxView = serde_json::from_value(made).unwrap();
        assert_eq!(std::fs::read_to_string(bare.files(&made.id).join("file")).unwrap(), "two\n");
        refused(422, house.request(Method::POST, &format!("/api/v1/sandboxes/{}/fork", origin.id)).json(&json!({"count": 0}))).await;
        house.close().await;
        database.drop().await;
    }

    async fn a_snapshot_that_a_dead_server_took_for_copies_is_forgotten(database: TestDatabase) {
        let (house, bare) = House::bare(&database).await;
        let origin = house.ready_sandbox().await;
        // As it is when a server dies after it took one and before the row is written.
        for name in ["snapshot/fork-left", "snapshot/kept"] {
            bare.snapshot(&origin.id, &name.parse().unwrap(), false).await.unwrap();
        }
        house.close().await;
        let house = House::build(&database, Setup { bare: Some(std::sync::Arc::clone(&bare)), ..Setup::default() }).await;
        let names = async || bare.templates().await.unwrap().into_iter().map(|template| template.name.to_string()).collect::<Vec<_>>();
        while names().await.contains(&"snapshot/fork-left".to_owned()) {
            tokio::task::yield_now().await;
        }
        assert_eq!(names().await, ["snapshot/kept"], "that one may be somebody's");
        house.close().await;
        database.drop().await;
    }
}
