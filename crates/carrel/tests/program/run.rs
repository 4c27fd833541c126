//! `carrel run`: one command in a folder, no server before it and none after it.

use std::{path::Path, process::Output};

use crate::{binary, pulls::git};

/// Runs the program in a folder, at a house that nobody answers for yet.
async fn run(data: &Path, folder: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = tokio::process::Command::new(binary());
    command.env("CARREL_URL", "http://127.0.0.1:9").env("CARREL_DATA", data).env_remove("CARREL_KEY");
    command.env("CARREL_LOG_LEVEL", "error").env("CARREL_LOCAL_DISK", "folder").env("CARREL_LOCAL_POOL", "1");
    let output = command.kill_on_drop(true).current_dir(folder).arg("run").args(args).output().await.unwrap();
    let Output { status, stdout, stderr } = output;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (status.code().unwrap(), text(&stdout), text(&stderr))
}

#[tokio::test]
async fn one_command_in_a_folder_leads_from_a_sentence_to_a_pull_and_leaves_no_house_behind() {
    assert!(rustix::process::geteuid().is_root(), "this test makes namespaces and needs root");
    let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    git(folder.path(), &["init", "-q", "-b", "main", "."]);
    std::fs::write(folder.path().join("README.md"), "# Town\n").unwrap();
    git(folder.path(), &["add", "-A"]);
    git(folder.path(), &["commit", "-q", "-m", "docs: begin"]);
    std::fs::write(folder.path().join("loose.txt"), "not committed\n").unwrap();
    let carrel = async |args: &[&str]| run(data.path(), folder.path(), args).await;

    let (code, out, err) = carrel(&["--agent", "demo", "Say hello"]).await;
    assert_eq!(code, 0, "{out}{err}");
    assert!(err.contains("1 file here is not committed") && err.contains("carrel: task 1 on"), "{err}");
    assert!(out.contains("I was asked: Say hello"), "what happens is told as it does: {out}");
    let end: Vec<&str> = out.lines().rev().take(4).collect();
    assert!(end[3].starts_with("pull 1 mergeable") && end[2] == "branch task-1 → main", "{out}");
    assert!(end[1].starts_with("  docs/say-hello.md | +") && end[0].starts_with("  1 file, +"), "{out}");
    assert!(
        git(folder.path(), &["show", "task-1:docs/say-hello.md"]).contains("Say hello"),
        "it is at the folder's own branch"
    );
    assert!(git(folder.path(), &["log", "-1", "--format=%(trailers)", "task-1"]).contains("Carrel-Task: 1"));

    // Whoever is asked something is told how to answer: nobody is there any more.
    let (code, _, err) = carrel(&["--agent", "demo", "[ask] Say why"]).await;
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("task 2 needs you: Shall I go on") && err.contains("`carrel serve`, then"), "{err}");

    let (code, out, err) = carrel(&["--agent", "demo", "--merge", "Say more"]).await;
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.lines().any(|line| line.starts_with("pull 2 merged")), "{out}");
    assert!(git(folder.path(), &["show", "main:docs/say-more.md"]).contains("Say more"));
    assert_eq!(
        git(folder.path(), &["status", "--porcelain", "loose.txt"]),
        "?? loose.txt",
        "what was there is left alone"
    );

    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(data.path().to_str().unwrap()), "mounts are left behind: {mounts}");
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        assert!(!line.contains(data.path().to_str().unwrap()), "a process is left behind: {line}");
    }
}

#[tokio::test]
async fn runs_at_a_server_leave_each_other_alone_and_begin_anywhere_in_a_repository() {
    assert!(rustix::process::geteuid().is_root(), "this test makes namespaces and needs root");
    let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    git(folder.path(), &["init", "-q", "-b", "main", "."]);
    let below = folder.path().join("docs/deep");
    std::fs::create_dir_all(&below).unwrap();
    std::fs::write(below.join("README.md"), "# Town\n").unwrap();
    git(folder.path(), &["add", "-A"]);
    git(folder.path(), &["commit", "-q", "-m", "docs: begin"]);
    let server = crate::pulls::start(data.path()).await;
    let carrel = async |folder: &Path, args: &[&str]| crate::cards::run(&server, data.path(), folder, args).await;
    let good = async |folder: &Path, args: &[&str]| {
        let (code, out, err) = carrel(folder, args).await;
        assert_eq!(code, 0, "{args:?}: {out}{err}");
        (out, err)
    };
    let slow = ["agent", "add", "slow", "--dialect", "shell", "--command", "echo begun; sleep 100000"];
    good(folder.path(), &slow).await;

    let first = ["run", "--agent", "slow", "Take your time"];
    let mut first = Box::pin(carrel(folder.path(), &first));
    let second = async {
        let phase = async || good(folder.path(), &["task", "ls", "--json"]).await.0;
        while !phase().await.contains("\"working\"") {}
        let (_, err) = good(&below, &["run", "--agent", "demo", "Say hello"]).await;
        assert!(err.contains("carrel: task 2 on"), "{err}");
    };
    tokio::select! {
        ended = &mut first => panic!("somebody else's run ended it: {ended:?}"),
        () = second => {}
    }
    let (shown, _) = good(folder.path(), &["task", "show", "1", "--json"]).await;
    assert!(shown.contains("\"phase\": \"working\"") || shown.contains("\"phase\":\"working\""), "{shown}");
    let (repos, _) = good(&below, &["repo", "ls", "-q"]).await;
    assert_eq!(repos.lines().count(), 1, "a folder of it is no other repository: {repos}");
    good(folder.path(), &["task", "stop", "1"]).await;
    let (code, _, err) = first.await;
    assert_eq!(code, 1, "{err}");
    good(folder.path(), &["task", "close", "1", "2", "--wait"]).await;
    assert!(server.terminate().await.success());
}
