//! Conversations on the command line, with a real server and real desks.

use reqwest::Method;
use serde_json::{Value, json};

use crate::{cards::run, pulls};

#[tokio::test]
async fn an_answer_is_broken_off_and_gone_back_to_from_the_command_line() {
    assert!(rustix::process::geteuid().is_root(), "this test makes namespaces and needs root");
    let data = tempfile::tempdir().unwrap();
    let server = pulls::start(data.path()).await;
    let carrel = async |args: &[&str]| run(&server, data.path(), data.path(), args).await;
    let good = async |args: &[&str]| {
        let (code, out, err) = carrel(args).await;
        assert_eq!(code, 0, "{args:?}: {err}");
        out
    };
    good(&["repo", "add", "--new", "town"]).await;
    let works = "case \"$CARREL_PROMPT\" in *long*) echo working; sleep 1000;; *) echo \"$CARREL_PROMPT\" >>notes.txt; echo noted;; esac";
    let agent = json!({"name": "slow", "dialect": "shell", "command": works});
    assert!(pulls::ask(&server, Method::POST, "/agents", Some(agent)).await.0.is_success());
    let id = good(&["session", "new", "--agent", "slow", "--repo", "town", "-q"]).await.trim().to_owned();
    let id = id.as_str();
    let (code, _, err) = carrel(&["session", "interrupt", id]).await;
    assert_eq!(code, 4, "nobody works on an answer: {err}");

    good(&["session", "say", id, "a long one", "--no-wait"]).await;
    while !good(&["session", "show", id]).await.contains("working") {}
    let said = good(&["session", "interrupt", id, "one"]).await;
    assert!(said.contains("stopped it.") && said.contains("noted"), "what follows is printed: {said}");
    good(&["session", "say", id, "two"]).await;
    good(&["session", "say", id, "a long one", "--no-wait"]).await;
    while !good(&["session", "show", id]).await.trim_end().ends_with("working") {}
    let told: Value = serde_json::from_str(&good(&["session", "interrupt", id, "--json"]).await).unwrap();
    assert_eq!(told["busy"], false, "{told}");

    let (_, page) = pulls::ask(&server, Method::GET, &format!("/sessions/{id}/messages?limit=1000"), None).await;
    let saves = page["items"].as_array().unwrap().iter().filter(|item| item["kind"] == "checkpoint");
    let place = saves.filter(|item| item["files"] == json!(["notes.txt"])).map(|item| item["seq"].to_string()).next();
    let place = place.unwrap_or_else(|| panic!("{page}"));
    assert!(good(&["session", "diff", id]).await.contains("+one\n+two"));
    assert!(good(&["session", "diff", id, "--from", &place]).await.contains("\n one\n+two"));
    let sandbox = good(&["session", "open", id, "--from", &place]).await;
    assert!(pulls::ask(&server, Method::GET, &format!("/sandboxes/{}", sandbox.trim()), None).await.0.is_success());
    let fork = good(&["session", "fork", id, "--from", &place, "-q"]).await;
    let shown = good(&["session", "show", fork.trim()]).await;
    assert!(shown.contains(&format!("This goes on from session {id}")) && !shown.contains("two"), "{shown}");
    for id in [id, fork.trim()] {
        good(&["session", "close", id]).await;
    }
    assert!(server.terminate().await.success());
}
