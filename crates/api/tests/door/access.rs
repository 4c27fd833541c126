//! What counts as use of a sandbox: it wakes for it, and does not fall asleep while it lasts.

use carrel_model::{public::SandboxView, sandbox::Phase};
use carrel_testkit::{House, on_both_databases};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::terminal::Terminal;

/// Something that listens, begins to answer whoever calls, and never ends. Says so by its port.
async fn answering_for_ever() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut line, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut asked = [0; 4096];
                let _ = line.read(&mut asked).await;
                let _ = line.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nbegun").await;
                // Until the caller hangs up.
                while line.read(&mut asked).await.is_ok_and(|length| length > 0) {}
            });
        }
    });
    port
}

async fn make(house: &House, body: Value) -> SandboxView {
    let (_, made) = house.ask(house.request(Method::POST, "/api/v1/sandboxes?wait=ready").json(&body)).await;
    serde_json::from_value(made).unwrap()
}

async fn phase(house: &House, sandbox: &SandboxView) -> Value {
    house.ask(house.request(Method::GET, &format!("/api/v1/sandboxes/{}", sandbox.id))).await.1["phase"].clone()
}

on_both_databases! {
    async fn a_terminal_and_a_connection_to_a_port_keep_a_sandbox_awake(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let port = answering_for_ever().await;
        // Made to wake, too: on a slow machine they may be asleep before anybody comes.
        let sat_at = make(&house, json!({"idle_s": 1, "auto_resume": true})).await;
        let mut terminal = Terminal::open(&house, &sat_at, "?cmd=exec%20sh").await;
        let called = make(&house, json!({"idle_s": 1, "auto_resume": true})).await;
        let path = format!("/api/v1/sandboxes/{}/ports/{port}/", called.id);
        let mut answer = house.request(Method::GET, &path).send().await.unwrap();
        assert_eq!(answer.chunk().await.unwrap().unwrap(), "begun");
        // Two that nobody uses fall asleep one after the other, each after its second: time enough for the others.
        for _ in 0..2 {
            let quiet = make(&house, json!({"idle_s": 1})).await;
            house.until(&quiet, Phase::Paused).await;
        }
        assert_eq!((phase(&house, &sat_at).await, phase(&house, &called).await), (json!("ready"), json!("ready")));
        terminal.type_in("echo still $((40 + 2))\n").await;
        terminal.until("still 42").await;
        // Whoever gets up lets it sleep. A terminal that is left runs on: what sits in it is ended first.
        drop(answer);
        terminal.type_in("exit\n").await;
        drop(terminal);
        for sandbox in [&called, &sat_at] {
            house.until(sandbox, Phase::Paused).await;
        }
        house.close().await;
        database.drop().await;
    }

    async fn a_file_a_port_and_a_terminal_wake_a_sandbox_that_was_made_so(database: TestDatabase) {
        let (house, bare) = House::bare(&database).await;
        let port = answering_for_ever().await;
        for auto_resume in [true, false] {
            let sandbox = make(&house, json!({"auto_resume": auto_resume})).await;
            let base = format!("/api/v1/sandboxes/{}", sandbox.id);
            let path = bare.files(&sandbox.id).join("kept");
            let file = |method: Method| house.request(method, &format!("{base}/files")).query(&[("path", path.to_str().unwrap())]);
            assert_eq!(file(Method::PUT).body("kept").send().await.unwrap().status(), 204);
            let sleeps = async || {
                let pause = house.request(Method::POST, &format!("{base}/pause?wait=paused")).json(&json!({"depth": "files"}));
                assert_eq!(house.ask(pause).await.1["phase"], "paused");
            };
            let expected = if auto_resume { 200 } else { 409 };
            sleeps().await;
            assert_eq!(file(Method::GET).send().await.unwrap().status(), expected);
            sleeps().await;
            assert_eq!(house.request(Method::GET, &format!("{base}/ports/{port}/")).send().await.unwrap().status(), expected);
            sleeps().await;
            if auto_resume {
                let mut terminal = Terminal::open(&house, &sandbox, "?cmd=exec%20sh").await;
                terminal.type_in("echo awake $((40 + 2))\n").await;
                terminal.until("awake 42").await;
            } else {
                assert_eq!(phase(&house, &sandbox).await, "paused", "nobody woke it");
            }
        }
        house.close().await;
        database.drop().await;
    }
}
