//! The command line against a real server: what it prints, and the exit codes that scripts rely on.

use std::{path::Path, process::Output};

use carrel_testkit::Server;
use serde_json::Value;

use crate::binary;

/// A server and a shell in front of it.
struct Desk {
    server: Server,
    data: tempfile::TempDir,
}

impl Desk {
    async fn open() -> Self {
        let data = tempfile::tempdir().unwrap();
        let server = Server::with(binary(), data.path()).env("CARREL_LOG_LEVEL", "error").start().await;
        Desk { server, data }
    }

    async fn run(&self, args: &[&str]) -> (i32, String, String) {
        told(&command(&self.server.url, self.data.path()).args(args).output().await.unwrap())
    }

    async fn json(&self, args: &[&str]) -> Value {
        let (code, out, err) = self.run(&[args, &["--json"]].concat()).await;
        assert_eq!(code, 0, "{err}");
        serde_json::from_str(&out).unwrap()
    }

    async fn close(self) {
        assert!(self.server.terminate().await.success());
    }
}

fn command(url: &str, data: &Path) -> tokio::process::Command {
    let mut command = tokio::process::Command::new(binary());
    command.env("CARREL_URL", url).env("CARREL_DATA", data).env_remove("CARREL_KEY").kill_on_drop(true);
    command
}

fn told(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[tokio::test]
async fn a_sandbox_lives_on_the_command_line() {
    let desk = Desk::open().await;
    let made =
        desk.json(&["sandbox", "create", "--wait", "--metadata", "who=me", "--timeout", "600", "--cpus", "0.5"]).await;
    assert_eq!(
        (&made["phase"], &made["metadata"]["who"], &made["limits"]["cpus"]),
        (&"ready".into(), &"me".into(), &0.5.into())
    );
    let id = made["id"].as_str().unwrap();

    let (_, quiet, _) = desk.run(&["sandbox", "ls", "-q"]).await;
    assert_eq!(quiet.trim(), id);
    let (_, table, _) = desk.run(&["sandbox", "ls"]).await;
    assert!(table.contains("PHASE") && table.contains(id) && table.contains("ready"), "{table}");

    assert_eq!(desk.json(&["sandbox", "pause", &id[..8], "--wait"]).await["phase"], "paused");
    assert_eq!(desk.json(&["sandbox", "resume", id, "--wait"]).await["phase"], "ready");
    assert_eq!(desk.json(&["sandbox", "timeout", id, "99"]).await["timeout_s"], 99);
    let (code, _, _) = desk.run(&["sandbox", "rm", id, "--wait"]).await;
    assert_eq!(code, 0);
    assert_eq!(desk.json(&["sandbox", "show", id]).await["phase"], "gone");
    assert_eq!(desk.run(&["sandbox", "rm", id]).await.0, 0, "ending it again is no mistake");
    desk.close().await;
}

#[tokio::test]
async fn exit_codes_mean_what_they_promise() {
    let desk = Desk::open().await;
    let cases: [(&[&str], i32); 8] = [
        (&["sandbox", "frobnicate"], 2),
        (&["sandbox", "create", "--cpus", "900"], 2),
        (&["sandbox", "create", "--template", "no-such-thing"], 2),
        (&["sandbox", "create", "--allow", "example.org"], 2),
        (&["sandbox", "show", "nothing"], 3),
        (&["sandbox", "show", "i0000000000000000000"], 3),
        (&["key", "revoke", "admin"], 4),
        (&["config", "--config", "/no/such/file.toml"], 2),
    ];
    for (args, expected) in cases {
        let (code, out, err) = desk.run(args).await;
        assert_eq!(code, expected, "{args:?}: {out}{err}");
        assert!(!err.is_empty(), "{args:?} failed without a word");
    }
    let id = desk.json(&["sandbox", "create", "--wait"]).await["id"].as_str().unwrap().to_owned();
    desk.run(&["sandbox", "rm", &id, "--wait"]).await;
    assert_eq!(desk.run(&["sandbox", "pause", &id]).await.0, 4);

    let wrong = command(&desk.server.url, desk.data.path())
        .args(["sandbox", "ls"])
        .env("CARREL_KEY", "crl_wrong")
        .output()
        .await
        .unwrap();
    let (code, _, err) = told(&wrong);
    assert_eq!(code, 5);
    assert!(err.contains("hint:"), "{err}");
    let nobody = command("http://127.0.0.1:1", desk.data.path()).args(["sandbox", "ls"]).output().await.unwrap();
    let (code, _, err) = told(&nobody);
    assert_eq!(code, 1);
    assert!(err.contains("carrel serve"), "{err}");
    desk.close().await;
}

#[tokio::test]
async fn a_wait_that_takes_too_long_says_so_by_its_exit_code() {
    let data = tempfile::tempdir().unwrap();
    let start =
        Server::with(binary(), data.path()).env("CARREL_FAKE_CREATE_MS", "600000").env("CARREL_SERVER_DRAIN_S", "1");
    let server = start.env("CARREL_LOG_LEVEL", "error").start().await;
    let args = ["sandbox", "create", "--wait", "--wait-timeout", "1"];
    let (code, out, err) = told(&command(&server.url, data.path()).args(args).output().await.unwrap());
    assert_eq!(code, 7, "{out}{err}");
    assert!(out.contains("preparing") && err.contains("after 1 s"), "{out}{err}");
    assert!(server.terminate().await.success());
}

#[tokio::test]
async fn keys_are_minted_rotated_and_revoked_and_the_audit_knows() {
    let desk = Desk::open().await;
    let minted = desk.json(&["key", "create", "robot", "--role", "agent", "--agent", "robot"]).await;
    let (id, secret) = (minted["key"]["id"].as_str().unwrap(), minted["secret"].as_str().unwrap());
    assert!(secret.starts_with("crl_") && secret.len() == 44);
    let as_robot = |secret: &str, args: &[&str]| {
        let mut command = command(&desk.server.url, desk.data.path());
        command.args(args).env("CARREL_KEY", secret);
        async move { told(&command.output().await.unwrap()) }
    };
    assert_eq!(as_robot(secret, &["sandbox", "create", "--wait"]).await.0, 0);
    assert_eq!(as_robot(secret, &["key", "ls"]).await.0, 5);
    assert_eq!(as_robot(secret, &["sandbox", "create", "--agent", "other"]).await.0, 5);

    let rotated = desk.json(&["key", "rotate", "robot"]).await;
    assert_eq!(as_robot(secret, &["sandbox", "ls"]).await.0, 5, "the old secret still works");
    let fresh = rotated["secret"].as_str().unwrap();
    assert_eq!(as_robot(fresh, &["sandbox", "ls"]).await.0, 0);
    assert_eq!(desk.run(&["key", "revoke", id]).await.0, 0);
    assert_eq!(as_robot(fresh, &["sandbox", "ls"]).await.0, 5);

    let denied = desk.json(&["audit", "--outcome", "denied"]).await;
    assert_eq!(denied.as_array().unwrap().len(), 4, "{denied:#}");
    let actions: Vec<_> = desk
        .json(&["audit", "--actor", id])
        .await
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["action"].clone())
        .collect();
    assert!(actions.contains(&"sandbox.create".into()) && actions.contains(&"key.read".into()), "{actions:?}");
    let everything = desk.run(&["audit", "--json"]).await.1;
    assert!(!everything.contains(secret) && !everything.contains(fresh), "a secret is in the audit");
    desk.close().await;
}

#[tokio::test]
async fn whoever_rotates_the_admin_key_goes_on_with_the_new_one() {
    let desk = Desk::open().await;
    let before = std::fs::read_to_string(desk.data.path().join("admin.key")).unwrap();
    desk.json(&["key", "rotate", "admin"]).await;
    assert_ne!(std::fs::read_to_string(desk.data.path().join("admin.key")).unwrap(), before);
    assert_eq!(desk.run(&["sandbox", "ls"]).await.0, 0);

    // Another key of the same name is another key.
    let namesake = desk.json(&["key", "create", "admin"]).await["key"]["id"].as_str().unwrap().to_owned();
    assert_eq!(desk.run(&["key", "rotate", "admin"]).await.0, 4, "it guessed which one was meant");
    let before = std::fs::read_to_string(desk.data.path().join("admin.key")).unwrap();
    desk.json(&["key", "rotate", &namesake]).await;
    assert_eq!(std::fs::read_to_string(desk.data.path().join("admin.key")).unwrap(), before);
    desk.close().await;
}

#[tokio::test]
async fn what_is_kept_is_for_this_user_alone_and_in_one_file_after_an_orderly_end() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::open().await;
    desk.json(&["sandbox", "create", "--wait"]).await;
    let data = desk.data.path().to_owned();
    for file in std::fs::read_dir(&data).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode() & 0o077;
        assert_eq!(mode, 0, "{:?} is open to others", file.file_name());
    }
    let Desk { server, data } = desk;
    assert!(server.terminate().await.success());
    let left: Vec<_> = std::fs::read_dir(data.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(
        !left.iter().any(|name| name.to_string_lossy().contains("-wal")),
        "a copy of carrel.db would be empty: {left:?}"
    );
}

#[tokio::test]
async fn a_secret_that_was_rotated_away_does_not_come_back_with_a_restart() {
    let desk = Desk::open().await;
    let old = desk.server.key.clone();
    // From another machine: `admin.key` keeps the old secret.
    let rotate = command(&desk.server.url, desk.data.path())
        .args(["key", "rotate", "admin", "--json"])
        .env("CARREL_KEY", &old)
        .output();
    let minted: Value = serde_json::from_slice(&rotate.await.unwrap().stdout).unwrap();
    let Desk { server, data } = desk;
    assert!(server.terminate().await.success());
    let server = Server::with(binary(), data.path()).env("CARREL_LOG_LEVEL", "error").start().await;
    assert_eq!(server.link, None, "a link for a key that is void");
    let with = |secret: &str| {
        let mut command = command(&server.url, data.path());
        command.args(["sandbox", "ls"]).env("CARREL_KEY", secret);
        async move { told(&command.output().await.unwrap()).0 }
    };
    assert_eq!(with(&old).await, 5);
    assert_eq!(with(minted["secret"].as_str().unwrap()).await, 0);
    assert!(server.terminate().await.success());
}

#[tokio::test]
async fn the_server_greets_with_a_link_and_keeps_its_key_for_one_user() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::open().await;
    assert!(desk.server.link.as_ref().unwrap().starts_with(&format!("{}/app/sign-in#code=", desk.server.url)));
    let mode = std::fs::metadata(desk.data.path().join("admin.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let (code, link, _) = desk.run(&["sign-in"]).await;
    assert_eq!(code, 0);
    assert!(link.contains("/app/sign-in#code="));
    // Neither secret nor hash of it is in the process list or the database in the clear.
    let secret = desk.server.key.trim_start_matches("crl_").as_bytes().to_vec();
    for file in ["carrel.db", "carrel.db-wal"] {
        let bytes = std::fs::read(desk.data.path().join(file)).unwrap();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret), "the secret is in {file}");
    }
    desk.close().await;
}

#[tokio::test]
async fn the_rest_of_the_command_line_answers() {
    let desk = Desk::open().await;
    let findings = desk.json(&["doctor"]).await;
    assert!(
        findings.as_array().unwrap().iter().any(|finding| finding["what"] == "server" && finding["state"] == "good")
    );
    let config = desk.json(&["config"]).await;
    assert!(
        config.as_array().unwrap().iter().any(|line| line["key"] == "server.listen" && line["origin"] == "default")
    );
    for shell in ["bash", "zsh", "fish"] {
        let (code, script, _) = desk.run(&["completions", shell]).await;
        assert!(code == 0 && script.contains("carrel"), "{shell}");
    }
    assert_eq!(desk.json(&["openapi"]).await["info"]["title"], "Carrel");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_for_help_holds_no_secret_and_the_manual_every_verb() {
    let data = tempfile::tempdir().unwrap();
    let place = |name: &str| data.path().join(name).to_str().unwrap().to_owned();
    let server = Server::with(binary(), data.path()).env("CARREL_SANDBOXES_PROVIDER", "fake").start().await;
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new(binary());
        command.args(["--data", data.path().to_str().unwrap(), "--url", &server.url]).args(args);
        command.env("CARREL_E2B_API_KEY", "e2b_0123456789abcdef").env("CARREL_KEEPERS_LEASE_S", "17").output().unwrap()
    };
    let file = place("support.json");
    let made = run(&["support", &file]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let told = std::fs::read_to_string(&file).unwrap();
    let told_json: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told_json["ready"], &told_json["settings"]["keepers.lease_s"]), (&"ready".into(), &"17".into()));
    assert!(told_json["disk"]["total"].as_u64().unwrap() > 0 && told.contains("carrel_http_requests_total"), "{told}");
    for secret in
        ["e2b_0123456789abcdef", server.key.as_str(), std::fs::read_to_string(place("master.key")).unwrap().trim()]
    {
        assert!(!told.contains(secret), "a secret is in what is sent for help");
    }
    assert!(!run(&["support", &file]).status.success(), "a file was written over");
    let disk = run(&["df"]);
    assert!(String::from_utf8_lossy(&disk.stdout).contains("database"), "{disk:?}");
    assert!(run(&["man", &place("man")]).status.success());
    assert!(std::fs::read_to_string(place("man/carrel-task-merge.1")).unwrap().contains(".TH carrel-task-merge"));
    assert!(server.terminate().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_for_machines_is_one_object_to_a_line() {
    let data = tempfile::tempdir().unwrap();
    let log = data.path().join("log.txt");
    let server = Server::with(binary(), data.path())
        .env("CARREL_LOG_FORMAT", "json")
        .env("CARREL_LOG_LEVEL", "debug")
        .log_to(std::fs::File::create(&log).unwrap());
    assert!(server.start().await.terminate().await.success());
    let text = std::fs::read_to_string(&log).unwrap();
    // What is said to whoever sits there is no part of the log.
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("carrel: ")).collect();
    assert!(!lines.is_empty(), "nothing was logged");
    for line in lines {
        let entry: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no object: {line}"));
        assert!(entry["timestamp"].is_string() && entry["level"].is_string() && entry["fields"].is_object(), "{line}");
    }
}
