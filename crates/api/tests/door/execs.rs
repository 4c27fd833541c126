//! What runs inside, through the door: commands, their output, and what one can say to them.

use std::sync::Arc;

use base64::Engine;
use carrel_model::public::SandboxView;
use carrel_testkit::{Bare, EventStream, House, Setup, on_both_databases};
use reqwest::Method;
use serde_json::{Value, json};

use crate::refused;

/// The path of an exec, or of something below it.
fn exec_path(sandbox: &SandboxView, exec: &Value, rest: &str) -> String {
    format!("/api/v1/sandboxes/{}/execs/{}{rest}", sandbox.id, exec["exec_id"].as_str().unwrap())
}

async fn output(house: &House, sandbox: &SandboxView, exec: &Value, query: &str) -> Vec<u8> {
    let request = house.request(Method::GET, &exec_path(sandbox, exec, &format!("/output{query}")));
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    response.bytes().await.unwrap().to_vec()
}

/// What the next events of a stream say, until one says that it is over.
async fn told(stream: &mut EventStream) -> (Vec<(String, String)>, Value) {
    let mut told = Vec::new();
    loop {
        let event = stream.next().await.expect("the stream ended without an end");
        let data: Value = serde_json::from_str(&event.data).unwrap();
        if event.name == "end" {
            return (told, data);
        }
        told.push((event.name, data["text"].as_str().unwrap_or_default().to_owned()));
    }
}

on_both_databases! {
    async fn a_command_says_how_it_went(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let sandbox = house.ready_sandbox().await;
        let went = house.execute(&sandbox, json!({"command": "echo out; echo err >&2; exit 3"})).await;
        assert_eq!((&went["exit_code"], &went["stdout"], &went["stderr"]), (&json!(3), &json!("out\n"), &json!("err\n")));
        assert_eq!((&went["timed_out"], &went["status"]), (&json!(false), &json!("ended")));
        assert!(went["duration_ms"].is_u64() && went.get("truncated").is_none());
        let went = house.execute(&sandbox, json!({"argv": ["printf", "%s|", "a b", "$HOME", "*"]})).await;
        assert_eq!(went["stdout"], "a b|$HOME|*|", "words are words");
        let went = house.execute(&sandbox, json!({"command": "cat; pwd; echo $COLOUR", "stdin": "hello\n", "cwd": "/", "env": {"COLOUR": "red"}})).await;
        assert_eq!(went["stdout"], "hello\n/\nred\n");
        let went = house.execute(&sandbox, json!({"command": "kill -9 $$"})).await;
        assert_eq!(went["exit_code"], 137);

        let (_, page) = house.ask(house.request(Method::GET, &format!("/api/v1/sandboxes/{}/execs", sandbox.id))).await;
        let codes: Vec<_> = page["items"].as_array().unwrap().iter().map(|exec| exec["exit_code"].as_i64().unwrap()).collect();
        assert_eq!(codes, [137, 0, 0, 3], "newest first, and all that was answered is there");
        let (_, shown) = house.ask(house.request(Method::GET, &exec_path(&sandbox, &went, ""))).await;
        assert_eq!(shown, page["items"][0]);
        house.close().await;
        database.drop().await;
    }

    async fn a_command_whose_time_is_up_is_ended(database: TestDatabase) {
        let (house, bare) = House::bare(&database).await;
        let sandbox = house.ready_sandbox().await;
        let went = house.execute(&sandbox, json!({"command": "echo begun; exec sleep 3600", "timeout_s": 1})).await;
        assert_eq!((&went["timed_out"], &went["exit_code"], &went["stdout"]), (&json!(true), &json!(124), &json!("begun\n")));
        while !bare.processes(&sandbox.id).is_empty() {
            tokio::task::yield_now().await;
        }
        house.close().await;
        database.drop().await;
    }

    async fn output_is_told_while_it_comes_and_a_reader_who_comes_back_misses_nothing(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let sandbox = house.ready_sandbox().await;
        let exec = house.execute(&sandbox, json!({"argv": ["cat"], "background": true, "keep_stdin": true})).await;
        assert_eq!((&exec["status"], &exec["exit_code"]), (&json!("running"), &json!(null)));
        let events = |query: &str| house.request(Method::GET, &exec_path(&sandbox, &exec, &format!("/output{query}"))).header("accept", "text/event-stream");
        let mut first = EventStream::open(events("")).await;
        let say = async |text: &'static str| {
            let request = house.request(Method::POST, &exec_path(&sandbox, &exec, "/input")).body(text);
            assert_eq!(request.send().await.unwrap().status(), 204);
        };
        say("one\n").await;
        let seen = first.next().await.unwrap();
        assert_eq!((&*seen.name, &*seen.id), ("stdout", "4"));
        drop(first);
        say("two\n").await;
        let mut second = EventStream::open(events("?offset=4")).await;
        let mut third = EventStream::open(events("").header("last-event-id", &seen.id)).await;
        let closed = house.request(Method::POST, &exec_path(&sandbox, &exec, "/close_stdin")).send().await.unwrap();
        assert_eq!(closed.status(), 204);
        for stream in [&mut second, &mut third] {
            let (told, end) = told(stream).await;
            assert_eq!(told.iter().map(|(_, text)| &**text).collect::<String>(), "two\n");
            assert_eq!((&end["exit_code"], &end["status"]), (&json!(0), &json!("ended")));
        }
        assert_eq!(output(&house, &sandbox, &exec, "").await, b"one\ntwo\n");
        assert_eq!(output(&house, &sandbox, &exec, "?offset=4&follow=true").await, b"two\n");
        refused(409, house.request(Method::POST, &exec_path(&sandbox, &exec, "/input")).body("more")).await;
        house.close().await;
        database.drop().await;
    }

    async fn events_of_a_command_begin_and_end_with_it(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let sandbox = house.ready_sandbox().await;
        let path = format!("/api/v1/sandboxes/{}/execute", sandbox.id);
        let request = house.request(Method::POST, &path).header("accept", "text/event-stream");
        let mut stream = EventStream::open(request.json(&json!({"command": "echo hi; echo no >&2; printf '\\377'"}))).await;
        let start = stream.next().await.unwrap();
        assert_eq!(start.name, "start");
        let (mut out, mut err) = (Vec::new(), Vec::new());
        loop {
            let event = stream.next().await.unwrap();
            let data: Value = serde_json::from_str(&event.data).unwrap();
            match &*event.name {
                "end" => break assert_eq!(data["exit_code"], 0),
                name => {
                    let kept = if name == "stdout" { &mut out } else { &mut err };
                    kept.extend(data["text"].as_str().unwrap_or_default().bytes());
                    kept.extend(base64::engine::general_purpose::STANDARD.decode(data["base64"].as_str().unwrap_or_default()).unwrap());
                }
            }
        }
        assert_eq!((&*out, &*err), (&b"hi\n\xff"[..], &b"no\n"[..]), "what is no text comes whole all the same");
        assert!(stream.next().await.is_none());
        house.close().await;
        database.drop().await;
    }

    async fn much_output_is_kept_up_to_a_limit_and_the_command_goes_on(database: TestDatabase) {
        let bare = Bare::new();
        let setup = Setup { bare: Some(Arc::clone(&bare)), transcript_cap: 20_000_000, ..Setup::default() };
        let house = House::build(&database, setup).await;
        let sandbox = house.ready_sandbox().await;
        let went = house.execute(&sandbox, json!({"command": "head -c 50000000 /dev/zero; echo end > done"})).await;
        assert_eq!((&went["exit_code"], &went["truncated"]), (&json!(0), &json!(true)));
        assert_eq!(went["stdout"].as_str().unwrap().len(), 10 * 1024 * 1024);
        assert!(bare.files(&sandbox.id).join("done").exists(), "it was not held up for ever");
        let kept = output(&house, &sandbox, &went, "").await;
        assert!(kept[..20_000_000].iter().all(|byte| *byte == 0));
        let marker = String::from_utf8(kept[20_000_000..].to_vec()).unwrap();
        assert!(marker.contains("[carrel: the transcript is cut here"), "{marker}");
        house.close().await;
        database.drop().await;
    }

    async fn a_signal_reaches_the_command(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let sandbox = house.ready_sandbox().await;
        let exec = house.execute(&sandbox, json!({"command": "trap 'echo caught; exit 7' TERM; echo set; while :; do sleep 0.01; done", "background": true})).await;
        let mut stream = EventStream::open(house.request(Method::GET, &exec_path(&sandbox, &exec, "/output")).header("accept", "text/event-stream")).await;
        assert!(stream.next().await.unwrap().data.contains("set"));
        let request = house.request(Method::POST, &exec_path(&sandbox, &exec, "/signal")).json(&json!({"signal": 15}));
        assert_eq!(request.send().await.unwrap().status(), 204);
        let (told, end) = told(&mut stream).await;
        assert_eq!((told[0].1.as_str(), &end["exit_code"]), ("caught\n", &json!(7)));
        refused(422, house.request(Method::POST, &exec_path(&sandbox, &exec, "/signal")).json(&json!({"signal": 0}))).await;
        house.close().await;
        database.drop().await;
    }

    async fn a_server_that_restarts_finds_what_runs_and_what_was_printed_meanwhile(database: TestDatabase) {
        let (bare, node) = (Bare::new(), carrel_control::new_node_id());
        let setup = || Setup { bare: Some(Arc::clone(&bare)), node: Some(node.clone()), ..Setup::default() };
        let house = House::build(&database, setup()).await;
        let sandbox = house.ready_sandbox().await;
        let folder = tempfile::tempdir().unwrap();
        let (go, done) = (folder.path().join("go"), folder.path().join("done"));
        assert!(std::process::Command::new("mkfifo").arg(&go).status().unwrap().success());
        let command = format!("read -r go < {}; echo meanwhile; touch {}; exec cat", go.display(), done.display());
        let exec = house.execute(&sandbox, json!({"command": command, "background": true, "keep_stdin": true})).await;
        let short = house.execute(&sandbox, json!({"argv": ["sleep", "3600"], "background": true})).await;
        house.close().await;
        let gone = bare.processes(&sandbox.id);
        assert_eq!(gone.len(), 2, "commands do not end with the server");
        std::fs::write(&go, "go\n").unwrap();
        while !done.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }

        let house = House::build(&database, setup()).await;
        let mut stream = EventStream::open(house.request(Method::GET, &exec_path(&sandbox, &exec, "/output")).header("accept", "text/event-stream")).await;
        let first = stream.next().await.unwrap();
        assert!(first.name == "stdout" && first.data.contains("meanwhile"), "{first:?}");
        let request = house.request(Method::POST, &exec_path(&sandbox, &exec, "/input")).body("back\n");
        assert_eq!(request.send().await.unwrap().status(), 204);
        assert_eq!(house.request(Method::POST, &exec_path(&sandbox, &exec, "/close_stdin")).send().await.unwrap().status(), 204);
        let (told, end) = told(&mut stream).await;
        assert_eq!((told[0].1.as_str(), &end["exit_code"]), ("back\n", &json!(0)));
        // What runs in a sandbox that ends is lost, and says so.
        let mut stream = EventStream::open(house.request(Method::GET, &exec_path(&sandbox, &short, "/output")).header("accept", "text/event-stream")).await;
        let ended = house.request(Method::DELETE, &format!("/api/v1/sandboxes/{}?wait=gone", sandbox.id)).send().await.unwrap();
        assert_eq!(ended.status(), 204);
        loop {
            let event = stream.next().await.unwrap();
            if event.name == "end" {
                let data: Value = serde_json::from_str(&event.data).unwrap();
                // Its end may still have been seen: then it was killed.
                let seen = (&data["status"], &data["exit_code"]);
                break assert!([(&json!("lost"), &json!(null)), (&json!("ended"), &json!(137))].contains(&seen), "{data}");
            }
        }
        house.close().await;
        database.drop().await;
    }

    async fn what_makes_no_sense_is_refused_and_nothing_runs(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let sandbox = house.ready_sandbox().await;
        let path = format!("/api/v1/sandboxes/{}/execute", sandbox.id);
        for bad in [
            json!({}),
            json!({"command": ""}),
            json!({"command": "ls", "argv": ["ls"]}),
            json!({"argv": []}),
            json!({"argv": "ls"}),
            json!({"command": "ls", "timeout_s": 0}),
            json!({"command": "ls", "env": {"A=B": "x"}}),
            json!({"command": "ls", "colour": "red"}),
            json!({"command": "ls", "cwd": "a\u{0}b"}),
        ] {
            refused(422, house.request(Method::POST, &path).json(&bad)).await;
        }
        let fake = house.request(Method::POST, "/api/v1/sandboxes?wait=ready").json(&json!({"provider": "fake"}));
        let (_, fake) = house.ask(fake).await;
        let path = format!("/api/v1/sandboxes/{}/execute", fake["id"].as_str().unwrap());
        let problem = refused(409, house.request(Method::POST, &path).json(&json!({"command": "ls"}))).await;
        assert!(problem["detail"].as_str().unwrap().contains("othing runs in a fake sandbox"), "{problem}");
        refused(404, house.request(Method::GET, &format!("/api/v1/sandboxes/{}/execs/exec_0000000000000000", sandbox.id))).await;
        house.close().await;
        database.drop().await;
    }

    async fn a_paused_sandbox_comes_back_for_who_wants_something_if_it_was_made_to(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        for (auto_resume, status) in [(true, 200), (false, 409)] {
            let request = house.request(Method::POST, "/api/v1/sandboxes?wait=ready").json(&json!({"auto_resume": auto_resume}));
            let (_, made) = house.ask(request).await;
            let id = made["id"].as_str().unwrap();
            let pause = house.request(Method::POST, &format!("/api/v1/sandboxes/{id}/pause?wait=paused")).json(&json!({"depth": "files"}));
            let (_, paused) = house.ask(pause).await;
            assert_eq!((&paused["phase"], &paused["paused"]), (&json!("paused"), &json!({"depth": "files", "wanted": "files"})));
            let request = house.request(Method::POST, &format!("/api/v1/sandboxes/{id}/execute")).json(&json!({"command": "echo awake"}));
            let (answered, body) = house.ask(request).await;
            assert_eq!(answered, status, "{body}");
            let (_, view) = house.ask(house.request(Method::GET, &format!("/api/v1/sandboxes/{id}"))).await;
            if auto_resume {
                assert!(view["note"].as_str().unwrap().starts_with("Its processes are gone"), "{view}");
            } else {
                assert_eq!(view["phase"], "paused");
            }
        }
        house.close().await;
        database.drop().await;
    }

    async fn a_sandbox_in_which_nothing_happens_is_paused_and_a_busy_one_is_not(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let make = async |body: Value| -> SandboxView {
            let (_, made) = house.ask(house.request(Method::POST, "/api/v1/sandboxes?wait=ready").json(&body)).await;
            serde_json::from_value(made).unwrap()
        };
        // Nobody measures processors here: a command that runs is all there is to go by.
        let busy = make(json!({"idle_s": 1})).await;
        house.execute(&busy, json!({"argv": ["sleep", "3600"], "background": true})).await;
        let quiet = make(json!({"idle_s": 1})).await;
        house.until(&quiet, carrel_model::sandbox::Phase::Paused).await;
        let again = make(json!({"idle_s": 1})).await;
        house.until(&again, carrel_model::sandbox::Phase::Paused).await;
        let (_, view) = house.ask(house.request(Method::GET, &format!("/api/v1/sandboxes/{}", busy.id))).await;
        assert_eq!(view["phase"], "ready");
        let (_, stats) = house.ask(house.request(Method::GET, &format!("/api/v1/sandboxes/{}/stats", busy.id))).await;
        assert_eq!((&stats["activity"]["execs"], &stats["usage"]["pids"]), (&json!(1), &json!(2)), "{stats}");
        house.close().await;
        database.drop().await;
    }
}
