//! A sandbox and its first command, asked for at once.

use carrel_control::{Quotas, Workload};
use carrel_testkit::{Bare, EventStream, House, Setup, on_both_databases};
use reqwest::Method;
use serde_json::{Value, json};

use crate::refused;

/// Asks for a sandbox in which this is run.
fn asked(house: &House, exec: Value) -> reqwest::RequestBuilder {
    house.request(Method::POST, "/api/v1/sandboxes").json(&json!({"env": {"COLOUR": "red"}, "exec": exec}))
}

/// What stands in the list.
async fn listed(house: &House) -> usize {
    let (_, page) = house.ask(house.request(Method::GET, "/api/v1/sandboxes")).await;
    page["items"].as_array().unwrap().len()
}

/// Waits until nothing stands any more, at the house and at its provider.
async fn until_nothing_is_left(house: &House, bare: &Bare) {
    while listed(house).await > 0 || bare.count() > 0 {
        tokio::task::yield_now().await;
    }
}

on_both_databases! {
    async fn a_sandbox_and_its_first_command_are_one_request(database: TestDatabase) {
        let (house, bare) = House::bare(&database).await;
        // Made after their rows, and then before them.
        for claimed in [false, true] {
            if claimed {
                bare.claim_from_now_on();
            }
            let (status, made) = house.ask(asked(&house, json!({"command": "echo $COLOUR; exit 3"}))).await;
            assert_eq!((status.as_u16(), &made["phase"]), (201, &json!("ready")), "{made}");
            assert_eq!((&made["exec"]["stdout"], &made["exec"]["exit_code"]), (&json!("red\n"), &json!(3)));
            let place = format!("/api/v1/sandboxes/{}", made["id"].as_str().unwrap());
            let (_, page) = house.ask(house.request(Method::GET, &format!("{place}/execs"))).await;
            assert_eq!(page["items"][0]["exec_id"], made["exec"]["exec_id"], "{page}");
            assert_eq!(page["items"][0]["exit_code"], 3);
            let (_, again) = house.ask(house.request(Method::POST, &format!("{place}/execute")).json(&json!({"argv": ["echo", "on"]}))).await;
            assert_eq!(again["stdout"], "on\n", "it goes on like any other");
        }
        house.close().await;
        database.drop().await;
    }

    async fn what_a_first_command_prints_is_told_after_its_sandbox(database: TestDatabase) {
        let (house, bare) = House::bare(&database).await;
        bare.claim_from_now_on();
        let request = asked(&house, json!({"command": "echo out"})).header("accept", "text/event-stream");
        let mut told = EventStream::open(request).await;
        let mut names = Vec::new();
        while let Some(event) = told.next().await {
            if event.name == "sandbox" {
                let sandbox: Value = serde_json::from_str(&event.data).unwrap();
                assert_eq!(sandbox["phase"], "ready");
            }
            names.push(event.name);
        }
        assert_eq!(names, ["sandbox", "start", "stdout", "end"]);

        let (status, made) = house.ask(asked(&house, json!({"argv": ["sleep", "3600"], "background": true}))).await;
        assert_eq!((status.as_u16(), &made["exec"]["status"]), (201, &json!("running")), "nobody waits for it");
        house.close().await;
        database.drop().await;
    }

    async fn where_the_command_cannot_be_started_no_sandbox_is_left(database: TestDatabase) {
        let (house, bare) = House::bare(&database).await;
        for claimed in [false, true] {
            if claimed {
                bare.claim_from_now_on();
            }
            let problem = refused(404, asked(&house, json!({"argv": ["no-such-program"]}))).await;
            assert!(problem["detail"].as_str().unwrap().contains("no-such-program"), "{problem}");
            until_nothing_is_left(&house, &bare).await;
        }
        for (body, field) in [(json!({}), "exec.command"), (json!({"argv": []}), "exec.argv")] {
            let problem = refused(422, asked(&house, body)).await;
            assert!(problem.to_string().contains(field), "{problem}");
        }
        let paused = house.request(Method::POST, "/api/v1/sandboxes?wait=paused").json(&json!({"exec": {"command": "true"}}));
        refused(422, paused).await;
        house.close().await;
        database.drop().await;
    }

    async fn a_request_that_is_repeated_runs_nothing_again(database: TestDatabase) {
        let (house, bare) = House::bare(&database).await;
        bare.claim_from_now_on();
        let ask = || asked(&house, json!({"command": "echo once"})).header("idempotency-key", "one");
        let (status, first) = house.ask(ask()).await;
        assert_eq!((status.as_u16(), &first["exec"]["stdout"]), (201, &json!("once\n")), "{first}");
        let (status, second) = house.ask(ask()).await;
        assert_eq!((status.as_u16(), &second["id"]), (201, &first["id"]));
        assert_eq!(second.get("exec"), None, "it ran once");
        let place = format!("/api/v1/sandboxes/{}/execs", first["id"].as_str().unwrap());
        let (_, page) = house.ask(house.request(Method::GET, &place)).await;
        assert_eq!((page["items"].as_array().unwrap().len(), bare.count()), (1, 1));
        house.close().await;
        database.drop().await;
    }

    async fn a_row_that_is_refused_takes_sandbox_and_command_with_it(database: TestDatabase) {
        let bare = Bare::new();
        bare.claim_from_now_on();
        let work = Workload { quotas: Quotas { member_sandboxes: Some(0), ..Quotas::default() }, ..Workload::default() };
        let house = House::build(&database, Setup { bare: Some(std::sync::Arc::clone(&bare)), work, ..Setup::default() }).await;
        let (_, ada) = house.mint(json!({"name": "Ada", "role": "member"})).await;
        let ask = house.request_as(&ada, Method::POST, "/api/v1/sandboxes").json(&json!({"exec": {"argv": ["sleep", "3600"]}}));
        refused(429, ask).await;
        until_nothing_is_left(&house, &bare).await;
        house.close().await;
        database.drop().await;
    }
}
