//! A task leaves one house in a file, in the middle of its work, and goes on in another.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use carrel_testkit::Server;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    binary,
    pulls::{ask, git as plain, start},
};

/// Finds what it left when it comes back, and finishes then.
const STEPS: &str = "if [ -e dirty ]; then git add -A; git commit -qm 'feat: went on'; git push -q; exit; fi; \
                     echo one >one; git add -A; git commit -qm 'feat: one'; echo half >dirty; exec sleep 100000";

fn carrel(server: &Server, args: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command.env("CARREL_URL", &server.url).env("CARREL_KEY", &server.key).args(args).output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn git(data: &Path, args: &[&str]) -> String {
    let mirror = data.join("library/mirrors/own/1.git");
    let told = Command::new("git").arg("--git-dir").arg(mirror).args(["-c", "safe.directory=*"]).args(args).output();
    String::from_utf8_lossy(&told.unwrap().stdout).trim().to_owned()
}

/// A house with an agent and a repository that comes from elsewhere.
async fn house(data: &Path, source: &Path) -> Server {
    fs::create_dir(data).unwrap();
    let server = start(data).await;
    let repo = json!({"name": "own", "source": source.to_str().unwrap()});
    ask(&server, Method::POST, "/repos", Some(repo)).await;
    let (status, told) = ask(&server, Method::POST, "/repos/own/sync", Some(json!({}))).await;
    assert!(status.is_success(), "{told}");
    let agent = json!({"name": "slow", "dialect": "shell", "command": STEPS});
    ask(&server, Method::POST, "/agents", Some(agent)).await;
    server
}

async fn moments(server: &Server, task: i64) -> Vec<Value> {
    let (_, page) = ask(server, Method::GET, &format!("/tasks/{task}/timeline?limit=500"), None).await;
    page["items"].as_array().unwrap().clone()
}

async fn end(server: Server, task: i64) {
    let (_, closed) = ask(&server, Method::POST, &format!("/tasks/{task}/close?wait=closed&timeout=300"), None).await;
    assert_eq!(closed["phase"], "closed", "{closed}");
    let is_left = |page: &Value| page["items"].as_array().unwrap().iter().any(|sandbox| sandbox["want"] != "gone");
    while is_left(&ask(&server, Method::GET, "/sandboxes", None).await.1) {}
    assert!(server.terminate().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_goes_on_in_another_house_with_all_that_was_saved() {
    assert!(rustix::process::geteuid().is_root(), "this test makes namespaces and needs root");
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let source = at("source");
    fs::create_dir(&source).unwrap();
    plain(&source, &["init", "-q", "-b", "main"]);
    fs::write(source.join("readme"), "hello\n").unwrap();
    plain(&source, &["add", "."]);
    plain(&source, &["commit", "-q", "-m", "feat: begin"]);

    let first = house(&at("first"), &source).await;
    let task = json!({"repo": "own", "agent": "slow", "title": "Work", "prompt": "Do the work.", "start": true, "labels": ["far"]});
    assert!(ask(&first, Method::POST, "/tasks", Some(task)).await.0.is_success());
    while git(&at("first"), &["cat-file", "-p", "refs/carrel/wip/1:dirty"]) != "half" {
        let (_, now) = ask(&first, Method::GET, "/tasks/1", None).await;
        assert!(!["needs_you", "failed"].contains(&now["phase"].as_str().unwrap()), "{now}");
    }
    let (file, whole) = (at("task.tar"), at("whole.tar"));
    let (file, whole) = (file.to_str().unwrap(), whole.to_str().unwrap());
    let made = carrel(&first, &["task", "export", "1", file]);
    assert!(made.status.success(), "{}", said(&made));
    assert_eq!(carrel(&first, &["task", "export", "1", file]).status.code(), Some(4), "a file was written over");
    assert!(carrel(&first, &["task", "export", "1", whole, "--whole"]).status.success());
    assert_eq!(carrel(&first, &["task", "export", "9", whole]).status.code(), Some(3));
    let (before, (_, original)) = (moments(&first, 1).await, ask(&first, Method::GET, "/tasks/1", None).await);
    end(first, 1).await;

    // A house in which nobody knows where it began takes it only with its whole history.
    let stranger = at("stranger");
    fs::create_dir(&stranger).unwrap();
    let other = start(&stranger).await;
    ask(&other, Method::POST, "/repos", Some(json!({"new": true, "name": "own"}))).await;
    let refused = carrel(&other, &["task", "import", file, "--agent", "demo"]);
    assert_eq!(refused.status.code(), Some(4), "{}", said(&refused));
    assert!(said(&refused).contains("--whole"), "{}", said(&refused));
    let refused = carrel(&other, &["task", "import", whole]);
    assert!(said(&refused).contains("there is no agent `slow`"), "{}", said(&refused));
    let taken = carrel(&other, &["task", "import", whole, "--agent", "demo", "--quiet"]);
    assert_eq!(said(&taken).trim(), "1", "what was refused drew no number");
    assert_eq!(git(&stranger, &["cat-file", "-p", "refs/carrel/wip/1:dirty"]), "half");
    for broken in [&b"not a parcel"[..], &fs::read(whole).unwrap()[..4000]] {
        fs::write(at("broken"), broken).unwrap();
        let refused = carrel(&other, &["task", "import", at("broken").to_str().unwrap()]);
        assert!(!refused.status.success(), "half a parcel was taken");
    }
    let (_, page) = ask(&other, Method::GET, "/tasks", None).await;
    assert_eq!(page["items"].as_array().unwrap().len(), 1, "what was refused left a card");
    assert!(other.terminate().await.success());

    let second = house(&at("second"), &source).await;
    // Numbers are each house's own.
    ask(&second, Method::POST, "/tasks", Some(json!({"repo": "own", "title": "Another"}))).await;
    let taken = carrel(&second, &["task", "import", file, "--json"]);
    let task: Value = serde_json::from_slice(&taken.stdout).unwrap_or_else(|_| panic!("{}", said(&taken)));
    let id = task["id"].as_i64().unwrap();
    assert_eq!((id, &task["phase"], &task["branch"]), (2, &json!("backlog"), &json!("task-2")), "{task}");
    for same in ["title", "prompt", "agent", "base", "base_commit", "labels", "network", "created_at"] {
        assert_eq!(task[same], original[same], "{same}");
    }
    let after = moments(&second, id).await;
    // What was said before it was wrapped is word for word the same; a house adds how it came.
    let known = after.len() - 1;
    assert_eq!(after[..known], before[..known], "the past was changed on the way");
    assert!(after[known]["text"].as_str().unwrap().contains("task 1 in `own`"), "{}", after[known]);
    let diff = carrel(&second, &["task", "diff", "2"]);
    assert!(said(&diff).contains("+half") && said(&diff).contains("+one"), "{}", said(&diff));
    assert!(carrel(&second, &["task", "start", "2"]).status.success());
    loop {
        let (_, task) = ask(&second, Method::GET, "/tasks/2?wait=in_review&timeout=60", None).await;
        assert!(!["needs_you", "failed"].contains(&task["phase"].as_str().unwrap()), "{task}");
        if task["phase"] == "in_review" {
            break;
        }
    }
    assert_eq!(git(&at("second"), &["log", "--format=%s", "main..task-2"]), "feat: went on\nfeat: one");

    // What is over comes as what it is, with its work kept.
    let closed = at("closed.tar");
    ask(&second, Method::POST, "/tasks/2/close?wait=closed&timeout=300", None).await;
    assert!(carrel(&second, &["task", "export", "2", closed.to_str().unwrap()]).status.success());
    let taken = carrel(&second, &["task", "import", closed.to_str().unwrap(), "--json"]);
    let task: Value = serde_json::from_slice(&taken.stdout).unwrap_or_else(|_| panic!("{}", said(&taken)));
    assert_eq!((&task["id"], &task["phase"]), (&json!(3), &json!("closed")), "{task}");
    assert_eq!(git(&at("second"), &["cat-file", "-p", "refs/carrel/kept/task-3:dirty"]), "half");
    assert_eq!(git(&at("second"), &["for-each-ref", "refs/heads/task-3", "refs/carrel/wip/3"]), "");

    // A program's key brings nothing from elsewhere.
    let (_, minted) =
        ask(&second, Method::POST, "/keys", Some(json!({"name": "bot", "role": "agent", "agent_id": "slow"}))).await;
    let secret = minted["secret"].as_str().unwrap_or_else(|| panic!("{minted}"));
    let mut command = Command::new(binary());
    command.env("CARREL_URL", &second.url).env("CARREL_KEY", secret).args(["task", "import", file]);
    let refused = command.output().unwrap();
    assert_eq!(refused.status.code(), Some(5), "{}", said(&refused));
    end(second, 1).await;
}
