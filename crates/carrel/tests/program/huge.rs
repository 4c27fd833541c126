//! A file far beyond every limit passes by a real server, in and out, and the server does not grow with it.
//!
//! The file is large enough to show whether anybody holds it in memory. `CARREL_TEST_HUGE_MB=2048` makes it as large as the
//! worst that we promise to survive; that takes some minutes and six times its size on disk.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use carrel_testkit::Server;
use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::pulls::{ask, git, start};

/// What a server may grow by while a file passes, whatever the file's size.
const MOST_GROWN_KB: u64 = 64 << 10;

fn size_mb() -> u64 {
    std::env::var("CARREL_TEST_HUGE_MB").ok().and_then(|text| text.parse().ok()).unwrap_or(160)
}

/// The most memory that a process ever had, in kB.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().trim().parse().unwrap()
}

/// Commits one file that nothing makes smaller, without anybody holding it whole.
fn commit_noise(repository: &Path, branch: &str, name: &str, seed: u64) {
    let mut command = Command::new("git");
    command.current_dir(repository).args(["-c", "core.bigFileThreshold=16m", "-c", "core.compression=0"]);
    command.args(["fast-import", "--quiet", "--force"]).env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", "/nonexistent");
    let mut importing = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut out = std::io::BufWriter::with_capacity(1 << 20, importing.stdin.take().unwrap());
    let size = size_mb() << 20;
    write!(out, "commit refs/heads/{branch}\ncommitter Ada <ada@example.org> 1700000000 +0000\ndata 10\nfeat: huge\n")
        .unwrap();
    write!(out, "from refs/heads/main^0\nM 100644 inline {name}\ndata {size}\n").unwrap();
    let mut state = seed;
    for _ in 0..size / 8 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.write_all(&state.to_le_bytes()).unwrap();
    }
    out.write_all(b"\n").unwrap();
    out.flush().unwrap();
    drop(out);
    assert!(importing.wait().unwrap().success());
}

fn repository(folder: &Path) -> PathBuf {
    std::fs::create_dir_all(folder).unwrap();
    git(folder, &["init", "-q", "-b", "main"]);
    std::fs::write(folder.join("README"), "hello\n").unwrap();
    git(folder, &["add", "."]);
    git(folder, &["commit", "-q", "-m", "feat: begin"]);
    folder.to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_huge_file_passes_in_and_out_and_the_server_does_not_grow_with_it() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let upstream = repository(&place.path().join("upstream"));
    commit_noise(&upstream, "large", "huge.bin", 0x9e37_79b9_7f4a_7c15);
    let server: Server = start(&data).await;
    let before = peak(server.pid());

    // From an upstream into the mirror.
    let new = json!({"name": "app", "source": upstream, "default_branch": "main"});
    assert_eq!(ask(&server, Method::POST, "/repos", Some(new)).await.0, StatusCode::CREATED);
    let (status, repo) = ask(&server, Method::POST, "/repos/app/sync", None).await;
    assert_eq!((status, &repo["phase"]), (StatusCode::OK, &json!("ready")), "{repo}");
    // Out through the gateway.
    let with_key = server.url.replace("http://", &format!("http://x:{}@", server.key));
    let copy = place.path().join("copy.git");
    let address = format!("{with_key}/git/app.git");
    git(place.path(), &["clone", "-q", "--bare", "--branch", "large", "--single-branch", &address, "copy.git"]);
    let large = |folder: &Path| git(folder, &["cat-file", "-s", "large:huge.bin"]);
    assert_eq!(large(&copy), (size_mb() << 20).to_string());
    // In through the gateway: refused by its size, in words, with nothing left of it.
    let (status, _) = ask(&server, Method::POST, "/repos", Some(json!({"new": true, "name": "own"}))).await;
    assert_eq!(status, StatusCode::CREATED);
    let own = format!("{with_key}/git/own.git");
    git(&upstream, &["push", "-q", &own, "main"]);
    let mut push = Command::new("git");
    let pushed =
        push.current_dir(&upstream).env("HOME", "/nonexistent").args(["push", &own, "large"]).output().unwrap();
    let said = String::from_utf8_lossy(&pushed.stderr);
    assert!(!pushed.status.success(), "{said}");
    let words = ["remote: huge.bin is larger than 50 MiB.", "remote: The pack is larger than 512 MiB"];
    assert!(words.iter().any(|words| said.contains(words)), "{said}");
    let mirror = data.join("library/mirrors/own/1.git");
    assert_eq!(git(&mirror, &["-c", "safe.directory=*", "for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    assert!(!mirror.join("quarantine").exists(), "nothing of it is kept");

    let grown = peak(server.pid()) - before;
    println!("a file of {} MB passed three times; the server grew by {grown} kB at most", size_mb());
    assert!(grown < MOST_GROWN_KB, "it held what passed: {grown} kB");
    assert!(server.terminate().await.success());
}
