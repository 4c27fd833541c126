//! Pull requests on the command line: a draft, a review, and what is merged by itself.

use std::path::Path;

use carrel_testkit::Server;
use serde_json::Value;

use crate::{binary, pulls::git};

/// Runs the program as somebody; what it printed, or its exit code and what it said.
async fn carrel(server: &Server, key: &str, args: &[&str]) -> Result<Value, (i32, String)> {
    let mut command = tokio::process::Command::new(binary());
    command.args(args).arg("--json").env("CARREL_URL", &server.url).env("CARREL_KEY", key).kill_on_drop(true);
    let output = command.output().await.unwrap();
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout).unwrap()),
        false => Err((output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

/// A repository that lives here, with a branch that is to be merged.
fn topic(server: &Server, work: &Path) {
    let origin = format!("{}/git/own.git", server.url.replace("http://", &format!("http://x:{}@", server.key)));
    git(work, &["init", "-q", "-b", "main"]);
    for (branch, file) in [("main", "one"), ("topic", "two")] {
        git(work, &["checkout", "-q", "-B", branch]);
        std::fs::write(work.join(file), format!("{file}\n")).unwrap();
        git(work, &["add", "."]);
        git(work, &["commit", "-q", "-m", &format!("feat: {file}")]);
        git(work, &["push", "-q", &origin, branch]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_is_drafted_reviewed_made_ready_and_merged_by_itself_on_the_command_line() {
    let (data, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::with(binary(), data.path()).env("CARREL_LOG_LEVEL", "error").start().await;
    let admin = server.key.clone();
    let run = async |args: &[&str]| carrel(&server, &admin, args).await;
    run(&["repo", "add", "--new", "own", "--approvals", "1"]).await.unwrap();
    topic(&server, work.path());
    let minted = run(&["key", "create", "mona", "--role", "member"]).await.unwrap();
    let mona = minted["secret"].as_str().unwrap().to_owned();
    let open =
        ["pull", "open", "own", "topic", "--title", "feat: two", "--draft", "--label", "new", "--reviewer", "mona"];
    let pull = run(&open).await.unwrap();
    assert_eq!(
        (&pull["draft"], &pull["labels"][0], &pull["reviewers"][0]),
        (&true.into(), &"new".into(), &"mona".into())
    );

    // One who judges says something, unless they approve.
    for bad in [&["pull", "review", "own/1"][..], &["pull", "review", "own/1", "--request-changes"]] {
        assert_eq!(carrel(&server, &mona, bad).await.unwrap_err().0, 2);
    }
    let asked = ["pull", "review", "own/1", "--request-changes", "-m", "Say please."];
    let review = carrel(&server, &mona, &asked).await.unwrap();
    assert_eq!((&review["verdict"], &review["body"]), (&"changes_requested".into(), &"Say please.".into()), "{review}");

    let waits = run(&["pull", "auto-merge", "own/1"]).await.unwrap();
    assert_eq!((&waits["auto_merge"], &waits["phase"]), (&"squash".into(), &"open".into()), "{waits}");
    assert!(run(&["pull", "auto-merge", "own/1", "--off"]).await.unwrap()["auto_merge"].is_null());
    run(&["pull", "auto-merge", "own/1", "--style", "merge"]).await.unwrap();
    assert_eq!(run(&["pull", "ready", "own/1"]).await.unwrap()["draft"], false);
    assert_eq!(run(&["pull", "draft", "own/1"]).await.unwrap()["draft"], true);
    run(&["pull", "ready", "own/1"]).await.unwrap();
    let (code, said) = run(&["pull", "merge", "own/1"]).await.unwrap_err();
    assert!(code == 4 && said.contains("A reviewer wants changes first"), "{code} {said}");
    carrel(&server, &mona, &["pull", "review", "own/1", "--approve"]).await.unwrap();
    while run(&["pull", "show", "own/1"]).await.unwrap()["phase"] != "merged" {}
    assert_eq!(run(&["pull", "ready", "own/1"]).await.unwrap_err().0, 4, "it is merged");

    // A source that carries a password is refused without it.
    let (code, said) = run(&["repo", "add", "https://ada:hunter2@example.org/x"]).await.unwrap_err();
    assert!(code == 2 && said.contains("…@example.org/x") && !said.contains("hunter2"), "{code} {said}");
    assert!(server.terminate().await.success());
}
