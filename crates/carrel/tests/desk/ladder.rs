//! The upper rungs of the ladder, with real programs and agents: files that are made anew, the agent, a person.

use std::path::{Path, PathBuf};

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

const PACKAGE: &str = "{
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
const LOCK: &str = "{
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
const PACKAGERS: &str = r#"case "$CARREL_PROMPT" in
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
    yard.act(&two, "merge", "merged").await;
    assert_eq!(git(Some(&upstream), &["show", "main:notes.txt"]).await, "One\nTwo");
    yard.close().await;
}
