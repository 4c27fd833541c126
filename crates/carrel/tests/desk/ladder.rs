//! The upper rungs of the ladder, with real programs and agents: files that are made anew, the agent, a person.

use std::path::{Path, PathBuf};

use carrel_testkit::Server;
use reqwest::Method;
use serde_json::{Value, json};

use crate::yard::{Yard, commit, git};

/// An upstream with some files, followed as `hello`.
async fn follow(yard: &Yard, files: &[(&str, &str)]) -> PathBuf {
    let upstream = yard.house.folder().join("upstream-hello");
    git(None, &["init", "-q", "-b", "main", upstream.to_str().unwrap()]).await;
    for (path, text) in files {
        std::fs::write(upstream.join(path), text).unwrap();
    }
    commit(&upstream, "feat: begin").await;
    yard.add("hello", &upstream).await;
    upstream
}

pub(crate) const PACKAGE: &str = "{
  \"name\": \"app\",
  \"version\": \"1.0.0\",
  \"description\": \"an app\",
  \"keywords\": [],
  \"scripts\": {
    \"test\": \"true\"
  },
  \"private\": true
}
";
pub(crate) const LOCK: &str = "{
  \"name\": \"app\",
  \"version\": \"1.0.0\",
  \"lockfileVersion\": 3,
  \"requires\": true,
  \"packages\": {
    \"\": {
      \"name\": \"app\",
      \"version\": \"1.0.0\"
    }
  }
}
";
/// Changes the package in places that are far apart, and the lock file in one and the same.
pub(crate) const PACKAGERS: &str = r#"case "$CARREL_PROMPT" in
    *licence*) sed -i 's/  "description"/  "license": "MIT",\n  "description"/' package.json
        sed -i 's/^      "version": "1.0.0"$/      "version": "1.0.0",\n      "license": "MIT"/' package-lock.json;;
    *) sed -i 's/  "private"/  "dependencies": { "part": "file:part" },\n  "private"/' package.json
        mkdir -p part; echo '{"name": "part", "version": "2.0.0"}' >part/package.json
        sed -i 's/^      "version": "1.0.0"$/      "version": "1.0.0",\n      "dependencies": { "part": "file:part" }/' package-lock.json;;
    esac; git add -A; git commit -qm 'feat: packages'"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_file_that_two_changed_is_made_anew_by_its_program_in_a_sandbox() {
    assert!(Path::new("/usr/bin/npm").exists() || Path::new("/usr/local/bin/npm").exists(), "npm is needed in /usr");
    let yard = Yard::open().await;
    follow(&yard, &[("package.json", PACKAGE), ("package-lock.json", LOCK)]).await;
    yard.agent("packager", PACKAGERS).await;
    let one = yard.task("hello", "packager", "Give it a licence", "in_review").await;
    let two = yard.task("hello", "packager", "Give it a part", "in_review").await;
    yard.act(&one, "merge", "merged").await;
    let two = yard.act(&two, "merge", "merged").await;
    let lock: Value = serde_json::from_str(&yard.show("hello", "main:package-lock.json").await).unwrap();
    let root = &lock["packages"][""];
    assert_eq!((&root["license"], &root["dependencies"]["part"]), (&json!("MIT"), &json!("file:part")), "{lock}");
    assert_eq!(lock["packages"]["part"]["version"], "2.0.0", "only the program knows that: {lock}");
    let notes = yard.said(&two, "note", "house").await;
    let settled = "Conflicts were settled: package-lock.json (made anew by its program).";
    assert!(notes.iter().any(|note| note.contains(settled)), "{notes:?}");
    yard.close().await;
}

/// Settles a conflict by keeping both lines; else adds a line at the end of a file.
const BOTH: &str = r#"case "$CARREL_PROMPT" in
    *'has moved on'*) git fetch -q origin; git rebase -q origin/main || { sed -i '/^[<=>]\{7\}/d' pdm.lock; git add -A
        GIT_EDITOR=true git rebase --continue; };;
    *) echo "$CARREL_PROMPT" >>pdm.lock; git commit -qam 'feat: lock';; esac"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_file_whose_program_is_not_there_goes_to_the_agent_like_any_conflict() {
    let yard = Yard::open().await;
    follow(&yard, &[("pdm.lock", "begin\n")]).await;
    yard.agent("locksmith", BOTH).await;
    let one = yard.task("hello", "locksmith", "One", "in_review").await;
    let two = yard.task("hello", "locksmith", "Two", "in_review").await;
    yard.act(&one, "merge", "merged").await;
    let mut events = yard.house.events("?kind=task").await;
    yard.post(&format!("/api/v1/tasks/{}/merge", two["id"]), json!({})).await;
    while serde_json::to_value(events.entry().await).unwrap()["task"]["phase"] != "working" {}
    let two = yard.wait(&two, "in_review").await;
    let told = yard.said(&two, "message", "house").await;
    assert!(told.iter().any(|text| text.contains("conflicts with it in: pdm.lock")), "{told:?}");
    let notes = yard.said(&two, "note", "house").await;
    let tried = "Not settled without an agent or a person: pdm.lock. Tried: by git itself, as it was settled before, made \
                 anew by its program.";
    for words in [tried, "Conflicts were settled: pdm.lock (by the agent)."] {
        assert!(notes.iter().any(|note| note.contains(words)), "{words}: {notes:#?}");
    }
    yard.act(&two, "merge", "merged").await;
    assert_eq!(yard.show("hello", "main:pdm.lock").await, "begin\nOne\nTwo");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_its_agent_does_not_settle_is_for_a_person_who_settles_it_by_a_push() {
    let yard = Yard::open().await;
    let upstream = follow(&yard, &[("notes.txt", "begin\n")]).await;
    let agent = "case \"$CARREL_PROMPT\" in *'has moved on'*) echo 'I do not know how.';; *) \
                 echo \"$CARREL_PROMPT\" >notes.txt; git commit -qam 'docs: notes';; esac";
    yard.agent("helpless", agent).await;
    let one = yard.task("hello", "helpless", "One", "in_review").await;
    let two = yard.task("hello", "helpless", "Two", "in_review").await;
    yard.act(&one, "merge", "merged").await;
    let two = yard.act(&two, "merge", "needs_you").await;
    assert_eq!(two["needs"]["reason"], "conflict", "{two}");
    let detail = two["needs"]["detail"].as_str().unwrap();
    assert!(detail.contains("conflicts with `main`") && detail.contains("changed nothing about it"), "{detail}");
    // The person works with their own git, through the same gateway.
    let clone = yard.house.folder().join("by-hand");
    let url = yard.house.url.replace("http://", &format!("http://x:{}@", yard.house.key));
    git(None, &["clone", "-q", "--branch", "task-2", &format!("{url}/git/hello.git"), clone.to_str().unwrap()]).await;
    git(Some(&clone), &["merge", "-q", "-s", "ours", "-m", "chore: settle it", "origin/main"]).await;
    std::fs::write(clone.join("notes.txt"), "One\nTwo\n").unwrap();
    let head = commit(&clone, "docs: both").await;
    git(Some(&clone), &["push", "-q", "origin", "task-2"]).await;
    while yard.look("/api/v1/tasks/2").await["head"] != json!(head) {}
    let two = yard.act(&two, "merge", "merged").await;
    assert_eq!(git(Some(&upstream), &["show", "main:notes.txt"]).await, "One\nTwo");
    let notes = yard.said(&two, "note", "house").await;
    let by_whom = |whom: &str| notes.iter().filter(|note| note.contains(&format!("notes.txt ({whom})"))).count();
    assert_eq!((by_whom("by the agent"), by_whom("by a person")), (0, 1), "{notes:#?}");
    yard.close().await;
}

/// Writes its prompt into a file; told of a conflict, it keeps both lines.
const WRITER: &str = r#"case "$CARREL_PROMPT" in
    *'has moved on'*) git fetch -q origin; git rebase -q origin/main || { sed -i '/^[<=>]\{7\}/d' notes.txt; git add -A
        GIT_EDITOR=true git rebase --continue; };;
    *) echo "$CARREL_PROMPT" >notes.txt; git commit -qam 'docs: notes';; esac"#;

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_settled_once_is_settled_the_same_way_again_and_the_timeline_says_by_whom() {
    let yard = Yard::open().await;
    let upstream = follow(&yard, &[("notes.txt", "begin\n")]).await;
    yard.agent("writer", WRITER).await;
    // Two pairs from the same beginning write the same lines: what the first pair's agent settled is known for the second.
    let one = yard.task("hello", "writer", "One", "in_review").await;
    let two = yard.task("hello", "writer", "Two", "in_review").await;
    let again = yard.task("hello", "writer", "Two", "in_review").await;
    yard.act(&one, "merge", "merged").await;
    let begin = git(Some(&upstream), &["rev-parse", "main"]).await;
    let mut events = yard.house.events("?kind=task").await;
    yard.post(&format!("/api/v1/tasks/{}/merge", two["id"]), json!({})).await;
    while serde_json::to_value(events.entry().await).unwrap()["task"]["phase"] != "working" {}
    let two = yard.wait(&two, "in_review").await;
    let notes = yard.said(&two, "note", "house").await;
    assert!(notes.iter().any(|note| note.contains("settled: notes.txt (by the agent)")), "{notes:#?}");
    yard.post(&format!("/api/v1/tasks/{}/close?wait=closed&timeout=120", two["id"]), json!({})).await;
    assert_eq!(git(Some(&upstream), &["rev-parse", "main"]).await, begin, "only the first of them is merged so far");

    let again = yard.act(&again, "merge", "merged").await;
    let notes = yard.said(&again, "note", "house").await;
    let settled = "Merged into `main`. Conflicts were settled: notes.txt (as it was settled before).";
    assert!(notes.iter().any(|note| note.contains(settled)), "{notes:#?}");
    assert_eq!(yard.show("hello", "main:notes.txt").await, "One\nTwo");
    yard.close().await;
}

/// Adds a function after the first one, at the same place as everybody else.
const PROGRAMMER: &str = r#"name=${CARREL_PROMPT##* }
    sed -i "/^}/a fn $name() -> u32 {\n    ${#name}\n}" lib.rs; git commit -qam "feat: $name""#;

#[tokio::test(flavor = "multi_thread")]
async fn what_git_cannot_merge_by_lines_is_merged_by_syntax_where_mergiraf_is() {
    let cache = std::env::var_os("CARREL_CACHE").map(PathBuf::from);
    let cache = cache.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/carrel"));
    let programs = cache.join("bin");
    assert!(programs.join("mergiraf").exists(), "mergiraf is needed at {}: `make setup-test`", programs.display());
    // It is looked for where every program is, so this is a server of its own.
    let data = tempfile::tempdir().unwrap();
    let path = std::env::join_paths(
        std::iter::once(programs).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let server = Server::with(Path::new(env!("CARGO_BIN_EXE_carrel")), data.path())
        .env("PATH", path.unwrap().into_string().unwrap())
        .env("CARREL_SANDBOXES_PROVIDER", "local")
        .env("CARREL_LOCAL_DISK", "folder")
        .env("CARREL_LOG_LEVEL", "error");
    let server = server.start().await;
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let ask = async |method: Method, path: &str, body: Value| -> Value {
        let request = http.request(method, format!("{}/api/v1{path}", server.url)).bearer_auth(&server.key);
        let response = request.json(&body).send().await.unwrap();
        assert!(response.status().is_success(), "{path}: {}", response.text().await.unwrap());
        response.json().await.unwrap()
    };
    let upstream = data.path().join("upstream");
    git(None, &["init", "-q", "-b", "main", upstream.to_str().unwrap()]).await;
    std::fs::write(upstream.join("lib.rs"), "fn first() -> u32 {\n    1\n}\n").unwrap();
    commit(&upstream, "feat: begin").await;
    ask(Method::POST, "/repos", json!({"name": "hello", "source": upstream})).await;
    ask(Method::POST, "/repos/hello/sync", json!({})).await;
    ask(Method::POST, "/agents", json!({"name": "programmer", "dialect": "shell", "command": PROGRAMMER})).await;
    for title in ["Add second", "Add third"] {
        let task = json!({"repo": "hello", "agent": "programmer", "title": title, "start": true});
        let task = ask(Method::POST, "/tasks?wait=in_review&timeout=600", task).await;
        assert_eq!(task["phase"], "in_review", "{task:#}");
    }
    for number in [1, 2] {
        let task = ask(Method::POST, &format!("/tasks/{number}/merge?wait=merged&timeout=600"), json!({})).await;
        assert_eq!(task["phase"], "merged", "{task:#}");
    }
    let page = ask(Method::GET, "/tasks/2/timeline?limit=1000", Value::Null).await;
    let settled = "Merged into `main`. Conflicts were settled: lib.rs (by syntax).";
    assert!(page["items"].as_array().unwrap().iter().any(|item| item["text"] == settled), "{page:#}");
    let text = git(Some(&data.path().join("library/mirrors/hello/1.git")), &["show", "main:lib.rs"]).await;
    for name in ["first", "second", "third"] {
        assert_eq!(text.matches(&format!("fn {name}()")).count(), 1, "{text}");
    }
    assert!(server.terminate().await.success());
}
