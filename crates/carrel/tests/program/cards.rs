//! Many cards on the command line, and what is said to whoever begins in the wrong place.

use std::{path::Path, process::Output};

use carrel_testkit::Server;
use serde_json::{Value, json};

use crate::binary;

pub(crate) async fn run(server: &Server, data: &Path, folder: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = tokio::process::Command::new(binary());
    command.env("CARREL_URL", &server.url).env("CARREL_DATA", data).env_remove("CARREL_KEY").kill_on_drop(true);
    let Output { status, stdout, stderr } = command.current_dir(folder).args(args).output().await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (status.code().unwrap(), text(&stdout), text(&stderr))
}

#[tokio::test]
async fn cards_are_found_freed_and_closed_many_at_a_time() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::with(binary(), data.path()).env("CARREL_LOG_LEVEL", "error").start().await;
    let carrel = async |args: &[&str]| run(&server, data.path(), data.path(), args).await;
    let good = async |args: &[&str]| {
        let (code, out, err) = carrel(args).await;
        assert_eq!(code, 0, "{args:?}: {err}");
        out
    };
    good(&["repo", "add", "--new", "town"]).await;
    good(&["task", "new", "Mend the bridge", "--label", "road", "--label", "urgent"]).await;
    good(&["task", "new", "Paint the hall", "--prompt", "In the colours of the bridge"]).await;
    good(&["task", "new", "Sweep the yard", "--depends-on", "1:merged"]).await;
    assert_eq!(good(&["task", "ls", "-q", "--label", "urgent"]).await, "1\n");
    assert_eq!(good(&["task", "ls", "-q", "--text", "BRIDGE"]).await, "2\n1\n");
    assert_eq!(good(&["task", "ls", "-q", "--text", "nobody says this"]).await, "");

    // An empty list takes everything away that a card waits for.
    let waits: Value = serde_json::from_str(&good(&["task", "show", "3", "--json"]).await).unwrap();
    assert_eq!(waits["depends_on"][0]["task_id"], 1, "{waits}");
    let freed: Value = serde_json::from_str(&good(&["task", "set", "3", "--depends-on", "", "--json"]).await).unwrap();
    assert_eq!(freed["depends_on"], json!([]), "{freed}");

    // One that is not there keeps nobody, and is told.
    let (code, out, err) = carrel(&["task", "close", "1", "99", "2", "--wait", "-q"]).await;
    assert_eq!((code, out.as_str()), (3, "1\n2\n"), "{err}");
    assert!(err.contains("task 99"), "{err}");
    assert_eq!(good(&["task", "ls", "-q", "--phase", "closed"]).await, "2\n1\n");
    // Each is an object of its own, where JSON is wanted.
    let told = good(&["task", "start", "3", "--json"]).await;
    assert_eq!(serde_json::from_str::<Value>(&told).unwrap()["id"], 3, "{told}");
    good(&["task", "close", "3", "--wait"]).await;
    assert!(server.terminate().await.success());
}

#[tokio::test]
async fn a_card_shows_when_it_is_due_and_what_it_has_claimed() {
    let data = tempfile::tempdir().unwrap();
    let server = crate::pulls::start(data.path()).await;
    let carrel = async |args: &[&str]| run(&server, data.path(), data.path(), args).await;
    let good = async |args: &[&str]| {
        let (code, out, err) = carrel(args).await;
        assert_eq!(code, 0, "{args:?}: {err}");
        out
    };
    good(&["repo", "add", "--new", "town"]).await;
    good(&["task", "new", "Mend the bridge", "--due", "2030-05-06"]).await;
    let shown = good(&["task", "show", "1"]).await;
    assert!(shown.contains("due        2030-05-06 23:59:59Z"), "{shown}");
    assert!(!shown.contains("area "), "{shown}");
    let claim = json!({"paths": ["src/parser", "Cargo.toml"], "for_s": 3600});
    let (status, claimed) = crate::pulls::ask(&server, reqwest::Method::POST, "/tasks/1/claims", Some(claim)).await;
    assert!(status.is_success(), "{claimed}");
    let shown = good(&["task", "show", "1"]).await;
    assert!(shown.contains("area       src/parser, Cargo.toml until 20"), "{shown}");
    good(&["task", "set", "1", "--due", "2030-05-06T07:08:09Z"]).await;
    assert!(good(&["task", "show", "1"]).await.contains("due        2030-05-06 07:08:09Z"));
    good(&["task", "set", "1", "--due", ""]).await;
    assert!(!good(&["task", "show", "1"]).await.contains("due "));
    let (code, _, err) = carrel(&["task", "set", "1", "--due", "soon"]).await;
    assert!(code == 2 && err.contains("a day, or a moment with its zone"), "{code}: {err}");
    assert!(server.terminate().await.success());
}

#[tokio::test]
async fn an_agent_is_proved_end_to_end_and_nothing_of_it_stays() {
    assert!(rustix::process::geteuid().is_root(), "this test makes namespaces and needs root");
    let data = tempfile::tempdir().unwrap();
    let server = crate::pulls::start(data.path()).await;
    let carrel = async |args: &[&str]| run(&server, data.path(), data.path(), args).await;
    let (code, _, err) = carrel(&["agent", "test", "demo"]).await;
    assert!(code == 0 && err.contains("the agent demo works: task 1 reached a pull request"), "{code}: {err}");
    // One that does not work says why.
    carrel(&["agent", "add", "broken", "--dialect", "shell", "--command", "echo no such luck >&2; exit 3"]).await;
    let (code, _, err) = carrel(&["agent", "test", "broken"]).await;
    assert!(code != 0 && err.contains("no such luck"), "{code}: {err}");
    assert_eq!(carrel(&["repo", "ls", "-q"]).await.1, "", "the repositories are gone again");
    assert_eq!(carrel(&["task", "ls", "-q", "--phase", "closed"]).await.1, "2\n1\n");
    assert_eq!(carrel(&["sandbox", "ls", "-q"]).await.1, "");

    // How a program comes into a template is known for those that are installed by a command.
    let (code, recipe, err) = carrel(&["agent", "recipe", "codex", "--from", "node"]).await;
    assert_eq!(code, 0, "{err}");
    assert!(recipe.starts_with("FROM node\nUSER root\nRUN npm install -g @openai/codex\n"), "{recipe}");
    assert!(recipe.ends_with("RUN codex --version\n"), "{recipe}");
    for unknown in ["demo", "goose"] {
        let (code, _, err) = carrel(&["agent", "recipe", unknown]).await;
        assert!(code == 3 && err.contains("nobody here knows"), "{code}: {err}");
    }
    assert!(server.terminate().await.success());
}

#[tokio::test]
async fn a_run_in_the_wrong_place_says_what_to_do() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::with(binary(), data.path()).env("CARREL_LOG_LEVEL", "error").start().await;
    let folder = tempfile::tempdir().unwrap();
    let (code, _, err) = run(&server, data.path(), folder.path(), &["run", "Say hello"]).await;
    assert!(code == 3 && err.contains("is no git repository") && err.contains("`git init &&"), "{code}: {err}");
    let (code, _, err) = run(&server, data.path(), folder.path(), &["run", "  "]).await;
    assert!(code == 2 && err.contains("the prompt is empty") && err.contains("hint"), "{code}: {err}");
    let init = std::process::Command::new("git").args(["init", "-q", "-b", "main"]).current_dir(folder.path()).status();
    assert!(init.unwrap().success());
    let (code, _, err) = run(&server, data.path(), folder.path(), &["run", "Say hello"]).await;
    assert!(code == 4 && err.contains("has no commit yet") && err.contains("commit something first"), "{code}: {err}");
    assert!(server.terminate().await.success());
}
