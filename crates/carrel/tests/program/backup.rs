//! A house is destroyed in the middle of its work, and goes on elsewhere from its backup.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use carrel_testkit::{Server, TestDatabase};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    binary,
    pulls::{ask, git as plain, start},
};

/// Finds what it left when it comes back, and finishes then.
const SLOW: &str = "if [ -e dirty ]; then git add -A; git commit -qm 'feat: went on'; git push -q; exit; fi; \
                    echo one >one; git add -A; git commit -qm 'feat: one'; echo half >dirty; exec sleep 100000";

fn carrel(data: &Path, args: &[&str]) -> Output {
    Command::new(binary()).arg("--data").arg(data).args(args).env_remove("CARREL_MASTER_KEY").output().unwrap()
}

fn git(data: &Path, args: &[&str]) -> String {
    git_in(&data.join("library"), args)
}

fn git_in(library: &Path, args: &[&str]) -> String {
    let mirror = library.join("mirrors/own/1.git");
    let told = Command::new("git").arg("--git-dir").arg(mirror).args(["-c", "safe.directory=*"]).args(args).output();
    String::from_utf8_lossy(&told.unwrap().stdout).trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_house_that_was_destroyed_goes_on_from_its_backup() {
    assert!(rustix::process::geteuid().is_root(), "this test makes namespaces and needs root");
    let place = tempfile::tempdir().unwrap();
    let (first, second, file) = (place.path().join("first"), place.path().join("second"), place.path().join("house"));
    fs::create_dir(&first).unwrap();
    let server = start(&first).await;
    ask(&server, Method::POST, "/repos", Some(json!({"new": true, "name": "own"}))).await;
    let agent = json!({"name": "slow", "dialect": "shell", "command": SLOW});
    ask(&server, Method::POST, "/agents", Some(agent)).await;
    let task = json!({"repo": "own", "agent": "slow", "title": "Work", "start": true});
    let (status, task) = ask(&server, Method::POST, "/tasks", Some(task)).await;
    assert!(status.is_success(), "{task}");
    while git(&first, &["cat-file", "-p", "refs/carrel/wip/1:dirty"]) != "half" {
        let (_, now) = ask(&server, Method::GET, "/tasks/1", None).await;
        assert!(!["needs_you", "failed"].contains(&now["phase"].as_str().unwrap()), "{now}");
    }

    // Of a backup that was killed.
    let dead = place.path().join(".carrel-backup-dead");
    fs::create_dir(&dead).unwrap();
    fs::write(dead.join("held"), "").unwrap();
    let made = carrel(&first, &["backup", file.to_str().unwrap()]);
    assert!(!dead.exists(), "what a dead backup left is still there");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let again = carrel(&first, &["backup", file.to_str().unwrap()]);
    assert_eq!(again.status.code(), Some(4), "an earlier backup was written over");
    // Beside the original that lives: a copy of its directory would be the same node, a restored house is another.
    let copy = place.path().join("copy");
    fs::create_dir(&copy).unwrap();
    for name in ["node", "carrel.db", "master.key"] {
        fs::copy(first.join(name), copy.join(name)).unwrap();
    }
    let refused = carrel(&copy, &["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(refused.status.code(), Some(4), "{}", String::from_utf8_lossy(&refused.stderr));
    let restored = carrel(&second, &["restore", file.to_str().unwrap()]);
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    assert_ne!(fs::read(first.join("node")).unwrap(), fs::read(second.join("node")).unwrap());
    let beside = start(&second).await;
    until_reviewed(&beside, &second.join("library")).await;
    let (_, original) = ask(&server, Method::GET, "/tasks/1", None).await;
    assert_eq!((&original["phase"], &original["attempts"]), (&json!("working"), &json!(0)), "{original}");
    close(beside).await;
    fs::remove_dir_all(&second).unwrap();

    let (_, closed) = ask(&server, Method::POST, "/tasks/1/close?wait=closed&timeout=300", None).await;
    assert_eq!(closed["phase"], "closed", "{closed}");
    assert!(server.terminate().await.success());
    let refused = carrel(&first, &["restore", file.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(4), "a house was written over");
    let master = fs::read_to_string(first.join("master.key")).unwrap();
    fs::remove_dir_all(&first).unwrap();

    let whole = fs::read(&file).unwrap();
    let plain = zstd::stream::decode_all(whole.as_slice()).unwrap();
    let holds = |secret: &str| plain.windows(secret.len()).any(|part| part == secret.as_bytes());
    assert!(!holds(master.trim()), "the master key is in a backup that did not ask for it");
    let damaged = place.path().join("damaged");
    let mut bent = plain.clone();
    let middle = bent.len() / 2;
    bent[middle] ^= 1;
    let bent = zstd::stream::encode_all(bent.as_slice(), 1).unwrap();
    let cut = zstd::stream::encode_all(&plain[..plain.len() / 2], 1).unwrap();
    for broken in [&whole[..whole.len() / 2], &bent, &cut, b"not a backup"] {
        fs::write(&damaged, broken).unwrap();
        let refused = carrel(&second, &["restore", damaged.to_str().unwrap()]);
        assert!(!refused.status.success(), "a damaged backup was restored");
        assert!(!second.join("carrel.db").exists(), "a damaged backup left a database");
    }

    let restored = carrel(&second, &["restore", file.to_str().unwrap()]);
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    let server = start(&second).await;
    until_reviewed(&server, &second.join("library")).await;
    close(server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_squashed_is_in_a_backup_and_its_pull_can_still_be_read() {
    let place = tempfile::tempdir().unwrap();
    let (first, second, file) = (place.path().join("first"), place.path().join("second"), place.path().join("house"));
    let work = place.path().join("work");
    fs::create_dir(&first).unwrap();
    fs::create_dir(&work).unwrap();
    let server = start(&first).await;
    ask(&server, Method::POST, "/repos", Some(json!({"new": true, "name": "own"}))).await;
    let origin = format!("{}/git/own.git", server.url.replace("http://", &format!("http://x:{}@", server.key)));
    plain(&work, &["init", "-q", "-b", "main"]);
    let commit = |name: &str| {
        fs::write(work.join(name), format!("{name}\n")).unwrap();
        plain(&work, &["add", "."]);
        plain(&work, &["commit", "-q", "-m", &format!("feat: {name}")]);
        plain(&work, &["rev-parse", "HEAD"])
    };
    commit("one");
    plain(&work, &["push", "-q", &origin, "main"]);
    plain(&work, &["checkout", "-q", "-b", "topic"]);
    let (half, head) = (commit("two"), commit("three"));
    plain(&work, &["push", "-q", &origin, "topic"]);
    let pull = json!({"repo": "own", "head": "topic", "title": "feat: two and three"});
    ask(&server, Method::POST, "/pulls", Some(pull)).await;
    let (_, merged) = ask(&server, Method::POST, "/pulls/own/1/merge", None).await;
    assert_eq!(merged["phase"], "merged", "{merged}");
    assert!(server.terminate().await.success());
    let made = carrel(&first, &["backup", file.to_str().unwrap()]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    fs::remove_dir_all(&first).unwrap();

    let restored = carrel(&second, &["restore", file.to_str().unwrap()]);
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    for commit in [&half, &head] {
        assert_eq!(git(&second, &["cat-file", "-t", commit]), "commit");
    }
    let server = start(&second).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let diff = http.get(format!("{}/api/v1/pulls/own/1/diff", server.url)).bearer_auth(&server.key);
    let diff = diff.send().await.unwrap().text().await.unwrap();
    assert!(diff.contains("+two") && diff.contains("+three"), "{diff}");
    assert!(server.terminate().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_house_in_postgresql_with_a_shared_library_goes_on_from_its_dump_and_its_backup() {
    assert!(rustix::process::geteuid().is_root(), "this test makes namespaces and needs root");
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (database, place) = (TestDatabase::postgres().await, tempfile::tempdir().unwrap());
    let [first, second, library, other, file, dump] =
        ["first", "second", "library", "other", "house", "dump"].map(|name| place.path().join(name));
    let schema = database.options().schema.clone();
    let serve = async |data: &Path, library: &Path| {
        let server = Server::with(binary(), data)
            .args(["--database", &database.url(), "--library", library.to_str().unwrap()])
            .env("CARREL_DATABASE_SCHEMA", &schema)
            .env("CARREL_MASTER_KEY", "7".repeat(64))
            .env("CARREL_LOG_LEVEL", "error")
            .env("CARREL_SANDBOXES_PROVIDER", "local")
            .env("CARREL_LOCAL_DISK", "folder")
            .env("CARREL_LOCAL_POOL", "1");
        server.start().await
    };
    let server = serve(&first, &library).await;
    ask(&server, Method::POST, "/repos", Some(json!({"new": true, "name": "own"}))).await;
    ask(&server, Method::POST, "/agents", Some(json!({"name": "slow", "dialect": "shell", "command": SLOW}))).await;
    let task = json!({"repo": "own", "agent": "slow", "title": "Work", "start": true});
    let (status, task) = ask(&server, Method::POST, "/tasks", Some(task)).await;
    assert!(status.is_success(), "{task}");
    while git_in(&library, &["cat-file", "-p", "refs/carrel/wip/1:dirty"]) != "half" {
        let (_, now) = ask(&server, Method::GET, "/tasks/1", None).await;
        assert!(!["needs_you", "failed"].contains(&now["phase"].as_str().unwrap()), "{now}");
    }

    // First the rows, then the repositories.
    let mut dumped = Command::new("pg_dump");
    let dumped =
        dumped.arg(format!("--schema={schema}")).arg("--file").arg(&dump).arg(database.url()).output().unwrap();
    assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
    let run = |data: &Path, args: &[&str]| {
        let mut command = Command::new(binary());
        command.arg("--data").arg(data).args(args).env("CARREL_DATABASE_URL", database.url());
        command.env("CARREL_DATABASE_SCHEMA", &schema).env("CARREL_MASTER_KEY", "7".repeat(64)).output().unwrap()
    };
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let (to, from) = (file.to_str().unwrap(), library.to_str().unwrap());
    // Without a word about the library it would hold no repository: nobody is left in that belief.
    let refused = run(&first, &["backup", to]);
    assert_eq!(refused.status.code(), Some(3), "{}", said(&refused));
    assert!(said(&refused).contains("--library") && !file.exists(), "{}", said(&refused));
    let made = run(&first, &["backup", to, "--library", from]);
    assert!(made.status.success(), "{}", said(&made));
    assert!(String::from_utf8_lossy(&made.stdout).contains("1 repositories"), "{made:?}");
    let sizes = run(&first, &["--json", "df", "--library", from]);
    let sizes: Value = serde_json::from_slice(&sizes.stdout).unwrap();
    let repos = sizes["shares"].as_array().unwrap().iter().find(|share| share["what"] == "repositories").unwrap();
    assert_eq!(repos["items"], 1, "{sizes}");

    // The house is destroyed: its rows, its data directory and its library.
    let (_, closed) = ask(&server, Method::POST, "/tasks/1/close?wait=closed&timeout=300", None).await;
    assert_eq!(closed["phase"], "closed", "{closed}");
    assert!(server.terminate().await.success());
    let refused = run(&second, &["restore", to, "--library", from]);
    assert_eq!(refused.status.code(), Some(4), "a library was written over: {}", said(&refused));
    assert_eq!(git_in(&library, &["rev-parse", "--verify", "-q", "main"]).len(), 40, "a library was touched");
    let sql = |args: &[&str]| {
        let output = Command::new("psql").args(["-q", "-v", "ON_ERROR_STOP=1", &database.url()]).args(args).output();
        assert!(output.as_ref().unwrap().status.success(), "{}", said(&output.unwrap()));
    };
    sql(&["-c", &format!("DROP SCHEMA {schema} CASCADE")]);
    fs::remove_dir_all(&first).unwrap();
    fs::remove_dir_all(&library).unwrap();

    sql(&["-f", dump.to_str().unwrap()]);
    let restored = run(&second, &["restore", to, "--library", other.to_str().unwrap()]);
    assert!(restored.status.success(), "{}", said(&restored));
    assert!(said(&restored).contains(other.to_str().unwrap()), "{}", said(&restored));
    let server = serve(&second, &other).await;
    until_reviewed(&server, &other).await;
    close(server).await;
    database.drop().await;
}

/// Waits until the restored task is in review with everything that the first house had saved.
async fn until_reviewed(server: &Server, library: &Path) {
    loop {
        let (_, task) = ask(server, Method::GET, "/tasks/1?wait=in_review&timeout=60", None).await;
        assert!(!["needs_you", "failed"].contains(&task["phase"].as_str().unwrap()), "{task}");
        if task["phase"] == "in_review" {
            break;
        }
    }
    assert_eq!(git_in(library, &["log", "--format=%s", "main..task-1"]), "feat: went on\nfeat: one");
    assert_eq!(git_in(library, &["cat-file", "-p", "task-1:dirty"]), "half");
}

async fn close(server: Server) {
    let (_, closed) = ask(&server, Method::POST, "/tasks/1/close?wait=closed&timeout=300", None).await;
    assert_eq!(closed["phase"], "closed", "{closed}");
    // The desk of the first house is known and nowhere: it stays as it is, for people to see.
    let is_left = |page: &Value| {
        let mut living = page["items"].as_array().unwrap().iter().filter(|sandbox| sandbox["phase"] != "failed");
        living.any(|sandbox| sandbox["want"] != "gone")
    };
    while is_left(&ask(&server, Method::GET, "/sandboxes", None).await.1) {}
    assert!(server.terminate().await.success());
}
