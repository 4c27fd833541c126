//! Tasks under the rules of their repository, and in trouble that is not theirs.

use carrel_testkit::{Mood, Setup, Upstream};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    tasks::{COMMITS, PATIENCE},
    yard::{Yard, commit, engine, git},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_not_conventional_is_reported_and_stays_as_its_agent_wrote_it() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    let agent = "case \"$CARREL_PROMPT\" in *again*) echo more >more.txt; git add -A; git commit -qm 'feat: more';; *)
        echo one >one.txt; git add -A; git commit -qm 'Did `some` things'
        echo two >two.txt; git add -A; git commit -qm 'feat: two';; esac";
    yard.agent("terse", agent).await;
    let task = yard.task("hello", "terse", "Add files", "in_review").await;
    let notes = yard.said(&task, "note", "house").await;
    let note =
        notes.iter().find(|note| note.contains("not conventional commits")).unwrap_or_else(|| panic!("{notes:?}"));
    assert!(note.contains("\u{201c}Did some things\u{201d}") && !note.contains("feat: two"), "{note}");
    let pull = yard.look("/api/v1/pulls/hello/1").await;
    let body = pull["body"].as_str().unwrap();
    assert!(
        body.contains("## Messages that are not conventional commits") && body.contains("Did some things"),
        "{body}"
    );
    let log = git(Some(&yard.mirror("hello")), &["log", "--format=%s", "main..task-1"]).await;
    assert_eq!(log, "feat: two\nDid `some` things", "nobody rewrote it");
    // Another turn says it once more of nothing.
    let task = yard.tell(&task, "and again", "in_review").await;
    let notes = yard.said(&task, "note", "house").await;
    assert_eq!(notes.iter().filter(|note| note.contains("Did some things")).count(), 1, "{notes:?}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_within_the_repository_is_told_and_its_files_are_not_lost() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    let agent = "case \"$CARREL_PROMPT\" in *please*) rm -rf lib/.git;; esac
        mkdir -p lib && cd lib && test -e one.txt || { git init -q . && echo one >one.txt && git add -A && \
        git -c user.name=a -c user.email=a@b commit -qm 'feat: one'; }";
    yard.agent("nester", agent).await;
    let task = yard.task("hello", "nester", "Add a library", "needs_you").await;
    assert_eq!(task["needs"]["reason"], "push_refused", "{task}");
    let detail = task["needs"]["detail"].as_str().unwrap();
    assert!(detail.contains("a git repository stands within the repository: lib"), "{detail}");
    assert_eq!(yard.show("hello", "refs/carrel/wip/1:lib/one.txt").await, "one", "it is saved as it is");
    yard.tell(&task, "please make it plain files", "in_review").await;
    assert_eq!(yard.show("hello", "task-1:lib/one.txt").await, "one");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_repository_wants_of_pulls_is_done_and_nobody_merges_without_enough_approvals() {
    let yard = Yard::open().await;
    let rules = json!({"pulls": {"approvals": 2, "labels": ["by-agent"], "reviewers": ["mona"], "draft": true}});
    yard.hosted("hello", rules).await;
    yard.agent("scribe", COMMITS).await;
    let task = yard.task("hello", "scribe", "Write down a wish", "in_review").await;
    let pull = yard.look("/api/v1/pulls/hello/1").await;
    assert_eq!(
        (&pull["draft"], &pull["labels"], &pull["reviewers"]),
        (&json!(true), &json!(["by-agent"]), &json!(["mona"])),
        "{pull}"
    );
    // A person says that it is no draft any more; the next turn of the agent leaves it so.
    let ready = json!({"repo": "hello", "head": "task-1", "title": pull["title"], "body": pull["body"]});
    assert_eq!(yard.post("/api/v1/pulls", ready).await["draft"], json!(false));
    let task = yard.tell(&task, "once more", "in_review").await;
    let pull = yard.look("/api/v1/pulls/hello/1").await;
    assert_eq!((&pull["draft"], &pull["phase"]), (&json!(false), &json!("open")), "{pull}");
    let refused = |problem: &Value, has: u32| {
        let detail = problem["detail"].as_str().unwrap_or_default();
        assert!(detail.contains(&format!("has {has} of the 2 approvals")), "{problem}");
    };
    let merge = async || yard.house.ask(yard.house.request(Method::POST, "/api/v1/pulls/hello/1/merge")).await;
    refused(&merge().await.1, 0);
    for (number, name) in ["mona", "lisa"].into_iter().enumerate() {
        let (_, key) = yard.house.mint(json!({"name": name, "role": "member"})).await;
        let review = yard.house.request_as(&key, Method::POST, "/api/v1/pulls/hello/1/reviews");
        let (status, review) = yard.house.ask(review.json(&json!({"verdict": "approved", "body": ""}))).await;
        assert!(status.is_success(), "{review}");
        if number == 0 {
            refused(&merge().await.1, 1);
        }
    }
    let pull = yard.look("/api/v1/pulls/hello/1").await;
    assert_eq!((&pull["approvals"], &pull["phase"]), (&json!(2), &json!("mergeable")), "{pull}");
    yard.act(&task, "merge", "merged").await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_kept_of_a_closed_task_goes_when_its_time_is_over() {
    for (kept, stays) in [(jiff::SignedDuration::ZERO, false), (jiff::SignedDuration::from_hours(1), true)] {
        let mut setup = Setup { engine: Some(engine()), ..Setup::default() };
        setup.retention.kept = kept;
        let yard = Yard::built(setup).await;
        yard.hosted("hello", json!({})).await;
        yard.agent("curious", "echo draft >draft.txt; echo 'QUESTION: go on?'").await;
        let task = yard.task("hello", "curious", "Begin", "needs_you").await;
        yard.act(&task, "close", "closed").await;
        yard.sync("hello").await;
        let refs = git(Some(&yard.mirror("hello")), &["for-each-ref", "--format=%(refname)", "refs/carrel/kept"]).await;
        assert_eq!(!refs.is_empty(), stays, "{refs}");
        yard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_that_is_rewritten_under_a_task_takes_its_work_and_one_that_is_gone_says_so() {
    let yard = Yard::open().await;
    let upstream = yard.repo("hello").await;
    yard.agent("scribe", COMMITS).await;
    let task = yard.task("hello", "scribe", "Write down a wish", "in_review").await;
    // Upstream, somebody rewrites the last commit of the branch that the task began at.
    std::fs::write(upstream.join("OTHER.md"), "other notes\n").unwrap();
    git(Some(&upstream), &["add", "--all"]).await;
    git(Some(&upstream), &["commit", "-q", "--amend", "-m", "docs: other notes"]).await;
    yard.sync("hello").await;
    let merged = yard.act(&task, "merge", "merged").await;
    assert_eq!(merged["pull"]["phase"], "merged");
    assert_eq!(yard.show("hello", "main:wishes.txt").await, "Write down a wish");
    assert_eq!(yard.show("hello", "main:OTHER.md").await, "other notes");
    let log = git(Some(&upstream), &["log", "--format=%s", "main"]).await;
    assert!(!log.contains("docs: notes"), "nothing of the old history came back: {log}");
    assert_eq!(git(Some(&upstream), &["show", "main:wishes.txt"]).await, "Write down a wish");

    let task = yard.task("hello", "scribe", "Another wish", "in_review").await;
    git(Some(&upstream), &["branch", "-q", "-m", "main", "trunk"]).await;
    yard.sync("hello").await;
    // It goes where the branch went.
    let task = yard.act(&task, "merge", "merged").await;
    assert_eq!(task["base"], "trunk", "{task}");
    assert_eq!(yard.show("hello", "trunk:wishes.txt").await, "Write down a wish\nAnother wish");
    // What begins now begins at the new name.
    let task = yard.task("hello", "scribe", "A third wish", "in_review").await;
    assert_eq!(task["base"], "trunk");

    // One that is gone with none in its place says so, and takes another.
    git(Some(&upstream), &["branch", "-q", "feature"]).await;
    let body = json!({"repo": "hello", "agent": "scribe", "title": "A fourth", "base": "feature", "start": true});
    let task = yard.post(&format!("/api/v1/tasks?wait=in_review&timeout={PATIENCE}"), body).await;
    yard.expect(&task, "in_review").await;
    git(Some(&upstream), &["branch", "-q", "-D", "feature"]).await;
    yard.sync("hello").await;
    let task = yard.act(&task, "merge", "needs_you").await;
    assert!(task["needs"]["detail"].as_str().unwrap().contains("its base `feature` is gone"), "{task:#}");
    let change = yard.house.request(Method::PATCH, &format!("/api/v1/tasks/{}", task["id"]));
    let (status, changed) = yard.house.ask(change.json(&json!({"base": "trunk"}))).await;
    assert!(status.is_success(), "{changed}");
    yard.act(&task, "merge", "merged").await;
    assert!(yard.show("hello", "trunk:wishes.txt").await.ends_with("A fourth"));
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_would_begin_where_nobody_can_says_why_and_begins_when_that_is_gone() {
    let yard = Yard::open().await;
    let upstream = yard.repo("hello").await;
    yard.agent("scribe", COMMITS).await;
    let under_way = yard.task("hello", "scribe", "Write down a wish", "in_review").await;
    std::fs::write(upstream.join(".gitattributes"), "*.bin filter=lfs diff=lfs merge=lfs -text\n").unwrap();
    commit(&upstream, "feat: large files").await;
    let task = yard.task("hello", "scribe", "Another wish", "needs_you").await;
    assert_eq!(task["needs"]["reason"], "repo", "{task:#}");
    let detail = task["needs"]["detail"].as_str().unwrap();
    assert!(detail.contains("`.gitattributes` keeps files in Git LFS"), "{task:#}");
    let lost = yard.said(&task, "note", "house").await;
    assert_eq!(lost, [] as [&str; 0], "nobody loses a desk that cannot be");
    // What was under way goes on, and what it brings is only its own.
    let under_way = yard.tell(&under_way, "once more", "in_review").await;
    assert_eq!(under_way["ahead"], 2, "{under_way:#}");
    git(Some(&upstream), &["rm", "-q", ".gitattributes"]).await;
    commit(&upstream, "feat: as they are").await;
    yard.sync("hello").await;
    yard.act(&task, "retry", "in_review").await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_is_closed_while_its_upstream_is_away_leaves_no_branch_there() {
    let yard = Yard::open().await;
    let upstream = yard.repo("hello").await;
    yard.agent("scribe", COMMITS).await;
    let task = yard.task("hello", "scribe", "Write down a wish", "in_review").await;
    let branch = format!("refs/heads/{}", task["branch"].as_str().unwrap());
    let branches = async || git(Some(&upstream), &["for-each-ref", "--format=%(refname)", "refs/heads"]).await;
    assert!(branches().await.contains(&branch));

    let away = upstream.with_extension("away");
    std::fs::rename(&upstream, &away).unwrap();
    yard.post(&format!("/api/v1/tasks/{}/close", task["id"]), json!({})).await;
    loop {
        let task = yard.look(&format!("/api/v1/tasks/{}", task["id"])).await;
        assert_ne!(task["phase"], "closed", "its branch would stay there");
        if task["doing"].as_str().is_some_and(|doing| doing.contains("its branch is still upstream")) {
            break;
        }
    }
    std::fs::rename(&away, &upstream).unwrap();
    let wait = format!("/api/v1/tasks/{}/close?wait=closed&timeout={PATIENCE}", task["id"]);
    assert_eq!(yard.post(&wait, json!({})).await["phase"], "closed");
    assert!(!branches().await.contains(&branch), "{}", branches().await);
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_in_a_bad_mood_holds_a_pull_up_and_takes_nothing_from_it() {
    let yard = Yard::open().await;
    let (folder, work) = (yard.house.folder().join("web"), yard.repo("source").await);
    git(None, &["clone", "-q", "--bare", work.to_str().unwrap(), folder.join("hello.git").to_str().unwrap()]).await;
    let bare = folder.join("hello.git");
    git(Some(&bare), &["config", "http.receivepack", "true"]).await;
    let upstream = Upstream::open(&folder).await;
    yard.add("hello", std::path::Path::new(&upstream.url("hello.git"))).await;
    yard.agent("scribe", COMMITS).await;
    let mut task = yard.task("hello", "scribe", "Write down a wish", "in_review").await;
    for (number, mood) in [Mood::Broken, Mood::Page, Mood::Hasty, Mood::Silent].into_iter().enumerate() {
        let before = git(Some(&bare), &["rev-parse", "task-1"]).await;
        let mut events = yard.house.events("?kind=task").await;
        upstream.is(mood);
        yard.post("/api/v1/tasks/1/message", json!({"text": format!("once more, {mood:?}")})).await;
        let waiting = loop {
            let card = serde_json::to_value(events.entry().await).unwrap()["task"].clone();
            // Who says nothing at all is waited for; the others are asked again.
            let is_held_up = card["attempts"].as_u64() > Some(1) || mood == Mood::Silent;
            if card["phase"] == "publishing" && is_held_up {
                break card;
            }
            assert_ne!(card["phase"], "needs_you", "{mood:?}: {card:#}");
        };
        if mood != Mood::Silent {
            let doing = waiting["doing"].as_str().unwrap_or_default();
            assert!(doing.contains("not published yet"), "{mood:?}: {waiting:#}");
        }
        assert_eq!(git(Some(&bare), &["rev-parse", "task-1"]).await, before, "{mood:?}: it is not there yet");
        upstream.is(Mood::Well);
        task = yard.wait(&task, "in_review").await;
        assert_eq!(git(Some(&bare), &["rev-parse", "task-1"]).await, task["head"].as_str().unwrap(), "{mood:?}");
        let wishes = git(Some(&bare), &["show", "task-1:wishes.txt"]).await;
        assert_eq!(wishes.lines().count(), number + 2, "{mood:?}: {wishes}");
    }
    yard.act(&task, "merge", "merged").await;
    assert_eq!(git(Some(&bare), &["show", "main:wishes.txt"]).await.lines().count(), 5);
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_credential_of_a_repository_is_anywhere_in_a_desk_or_in_what_the_house_lays_down_for_it() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    // Put together here, so that they are in no file.
    let values: Vec<(&str, String)> =
        ["github-token", "gitea-token", "git-token", "webhook-secret", "anthropic-api-key"]
            .iter()
            .map(|name| (*name, ["value", "of", name, "47110815"].join("=")))
            .collect();
    for (name, value) in &values {
        let repo = if *name == "anthropic-api-key" { Value::Null } else { json!("hello") };
        yard.post("/api/v1/secrets", json!({"name": name, "value": value, "repo": repo})).await;
    }
    let desk = yard.sandbox(json!({"repo": "hello", "task_id": 7, "agent_id": "scout", "checkout": {}})).await;
    yard.sh(&desk, "echo x >x.txt; git add -A; git commit -qm 'feat: x'; git push -q origin HEAD:task-7").await;
    let inside = "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'; env; git config --list --show-origin
        grep -rIl --exclude-dir=proc --exclude-dir=sys -F 4711''0815 /workspace /home /root /tmp /run /etc /var 2>/dev/null || true";
    let told = yard.sh(&desk, inside).await;
    assert!(told.contains("remote.origin.url"), "it did look: {told}");
    for (name, value) in &values {
        assert!(!told.contains("47110815") && !told.contains(value.as_str()), "{name} is inside: {told}");
    }
    for place in ["library", "local"] {
        let mut found = Vec::new();
        search(&yard.house.folder().join(place), b"47110815", &mut found);
        assert_eq!(found, Vec::<std::path::PathBuf>::new());
    }
    yard.remove(&desk).await;
    yard.close().await;
}

fn search(folder: &std::path::Path, what: &[u8], found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            search(&entry.path(), what, found);
        } else if kind.is_file()
            && std::fs::read(entry.path()).is_ok_and(|content| content.windows(what.len()).any(|part| part == what))
        {
            found.push(entry.path());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_house_commits_is_signed_with_the_key_that_it_was_given() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({"merge": "merge"})).await;
    let key = yard.house.folder().join("signs");
    let mut draw = tokio::process::Command::new("ssh-keygen");
    assert!(draw.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).status().await.unwrap().success());
    let private = std::fs::read_to_string(&key).unwrap();
    std::fs::remove_file(&key).unwrap();
    yard.post("/api/v1/secrets", json!({"name": "signing-key", "value": private, "repo": "hello"})).await;
    yard.agent("scribe", COMMITS).await;
    let task = yard.task("hello", "scribe", "Write down a wish", "in_review").await;
    yard.act(&task, "merge", "merged").await;
    let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
    let signers = yard.house.folder().join("signers");
    std::fs::write(&signers, format!("carrel@localhost {public}")).unwrap();
    let file = format!("gpg.ssh.allowedSignersFile={}", signers.display());
    let args = ["-c", "gpg.format=ssh", "-c", &file, "verify-commit", "main"];
    git(Some(&yard.mirror("hello")), &args).await;
    let mut found = Vec::new();
    let secret = private.lines().nth(2).unwrap();
    search(yard.house.folder(), secret.as_bytes(), &mut found);
    assert_eq!(found, Vec::<std::path::PathBuf>::new(), "the key is in no file");
    yard.close().await;
}
