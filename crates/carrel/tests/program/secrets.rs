//! Secrets on the command line, and the search for them everywhere that they must not be.

use std::{
    path::Path,
    process::{Output, Stdio},
};

use carrel_testkit::Server;
use tokio::io::AsyncWriteExt;

use crate::binary;

const VALUE: &str = "ghp_CorrectHorseBatteryStaple0123456789";
const MASTER: &str = "8f3c1d5e7a9b2c4d6e8f0a1b3c5d7e9f8f3c1d5e7a9b2c4d6e8f0a1b3c5d7e9f";

async fn carrel(server: &Server, data: &Path, args: &[&str], typed: &str) -> Output {
    let mut command = tokio::process::Command::new(binary());
    command.env("CARREL_URL", &server.url).env("CARREL_DATA", data).env_remove("CARREL_KEY").args(args);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(typed.as_bytes()).await.unwrap();
    drop(stdin);
    child.wait_with_output().await.unwrap()
}

pub(crate) fn has(bytes: &[u8], needle: &str) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
}

/// Every file below a folder that holds the text.
pub(crate) fn files_with(folder: &Path, needle: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            found.extend(files_with(&path, needle));
        } else if kind.is_file() {
            assert!(entry.metadata().unwrap().len() < 1 << 28, "{} is too large to be searched", path.display());
            if has(&std::fs::read(&path).unwrap(), needle) {
                found.push(path);
            }
        }
    }
    found
}

/// Processes, other than this one, that show the text in their command line or in their environment.
pub(crate) fn processes_with(needle: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        for file in ["cmdline", "environ"] {
            let shown = std::fs::read(entry.path().join(file)).unwrap_or_default();
            if pid != std::process::id() && has(&shown, needle) {
                found.push(format!("{pid} {file}"));
            }
        }
    }
    found
}

#[tokio::test]
async fn a_secret_is_in_no_file_no_log_no_answer_and_no_process_list() {
    let data = tempfile::tempdir().unwrap();
    let log = data.path().join("log.txt");
    let server = Server::with(binary(), data.path())
        .env("CARREL_LOG_LEVEL", "trace")
        // An image would be mounted, and a server that is killed unmounts nothing.
        .env("CARREL_LOCAL_DISK", "folder")
        .log_to(std::fs::File::create(&log).unwrap())
        .start()
        .await;
    let set = carrel(&server, data.path(), &["secret", "set", "github-token"], &format!("{VALUE}\n")).await;
    assert!(set.status.success(), "{set:?}");
    let bad = carrel(&server, data.path(), &["secret", "set", "Bad Name"], VALUE).await;
    assert_eq!(bad.status.code(), Some(2));
    let listed = carrel(&server, data.path(), &["secret", "ls", "--json"], "").await;
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(text.contains("github-token") && !text.contains(VALUE), "{text}");
    for output in [&set, &bad, &listed] {
        assert!(!has(&output.stdout, VALUE) && !has(&output.stderr, VALUE));
    }
    let sandbox = carrel(&server, data.path(), &["sandbox", "create", "--wait", "--json"], "").await;
    assert!(sandbox.status.success() && !has(&sandbox.stdout, VALUE));
    assert_eq!(processes_with(VALUE), Vec::<String>::new());
    let master = std::fs::read_to_string(data.path().join("master.key")).unwrap();
    assert_eq!(processes_with(master.trim()), Vec::<String>::new());

    let removed = carrel(&server, data.path(), &["secret", "rm", "gitea-token"], "").await;
    assert_eq!(removed.status.code(), Some(3));
    // Killed, so that whatever it would have tidied up at its end is still there.
    server.kill().await;
    assert_eq!(files_with(data.path(), VALUE), Vec::<std::path::PathBuf>::new());
    assert_eq!(files_with(data.path(), master.trim()), [data.path().join("master.key")]);
    assert!(std::fs::metadata(&log).unwrap().len() > 0, "nothing was logged, so nothing was searched");
}

#[tokio::test]
async fn the_master_key_may_come_from_the_environment_and_a_bad_one_is_named_before_anything_is_served() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::with(binary(), data.path())
        .env("CARREL_MASTER_KEY", MASTER)
        .env("CARREL_LOCAL_DISK", "folder")
        .start()
        .await;
    assert!(carrel(&server, data.path(), &["secret", "set", "x"], VALUE).await.status.success());
    assert!(!data.path().join("master.key").exists());
    assert!(server.terminate().await.success());

    let mut command = tokio::process::Command::new(binary());
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data.path());
    command
        .env("CARREL_MASTER_KEY", "too short")
        .env("CARREL_SANDBOXES_PROVIDER", "fake")
        .env("CARREL_OCI_RUNTIME", "none")
        .env("CARREL_LOCAL_DISK", "folder");
    let refused = command.kill_on_drop(true).output().await.unwrap();
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && told.contains("64 hexadecimal digits"), "{told}");
    assert!(!told.contains("too short"), "{told}");
}
