//! Repositories of strangers: what they hold is read, and nothing of it is run.

use std::os::unix::{ffi::OsStrExt, fs::PermissionsExt};

use crate::bench::Room;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_in_a_repository_is_run_while_it_is_mirrored_and_checked_out() {
    let room = Room::open().await;
    let work = room.work("work");
    let trace = room.path("ran");
    let evil = room.path("evil.sh");
    std::fs::write(&evil, format!("#!/bin/sh\necho \"$0 $*\" >> {}\n", trace.display())).unwrap();
    std::fs::set_permissions(&evil, std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = evil.to_str().unwrap();
    work.write(".gitattributes", "* filter=evil diff=evil merge=evil\n");
    work.write("file", "x");
    let head = work.commit("feat: filters");
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.gitProxy",
        "core.alternateRefsCommand",
        "uploadpack.packObjectsHook",
        "core.editor",
        "core.pager",
        "core.askPass",
        "filter.evil.smudge",
        "filter.evil.clean",
        "filter.evil.process",
        "diff.evil.command",
        "diff.evil.textconv",
        "merge.evil.driver",
        "diff.external",
        "gpg.program",
        "credential.helper",
    ] {
        work.git(&["config", key, program]);
    }
    work.git(&["config", "core.hooksPath", room.path("hooks").to_str().unwrap()]);
    std::fs::create_dir(room.path("hooks")).unwrap();
    for hook in [
        "post-checkout",
        "pre-receive",
        "post-update",
        "reference-transaction",
        "post-index-change",
        "pre-auto-gc",
        "update",
    ] {
        std::fs::copy(&evil, room.path("hooks").join(hook)).unwrap();
    }
    let _ = std::fs::remove_file(&trace);
    let mirror = room.mirror_of(&work).await;
    room.layers().prepare(&mirror, &head).await.unwrap();
    mirror.repack().await.unwrap();
    mirror.check().await.unwrap();
    assert!(!trace.exists(), "{}", std::fs::read_to_string(&trace).unwrap_or_default());
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_look_like_options_are_names() {
    let room = Room::open().await;
    let work = room.work("work");
    work.write("--output=evil", "x");
    work.write("-x/--exec=touch pwned", "x");
    let head = work.commit("feat: --amend\n\n--allow-empty");
    work.git(&["update-ref", "refs/heads/--upload-pack", head.as_str()]);
    work.git(&["update-ref", "refs/tags/-d", head.as_str()]);
    // One is no text, and one is longer than what we write down.
    let odd = std::ffi::OsStr::from_bytes(b"refs/heads/u\xff\xfe");
    assert!(work.command("git").arg("update-ref").arg(odd).arg(head.as_str()).status().unwrap().success());
    work.git(&["update-ref", &format!("refs/heads/{}", "x".repeat(230)), head.as_str()]);
    let mirror = room.mirror_of(&work).await;
    let again = mirror.sync(&room.upstream(work.folder.to_str().unwrap())).await.unwrap();
    assert!(!again.fetched && again.moved.is_empty(), "nothing is fetched for the sake of a name: {again:?}");
    let names: Vec<_> = mirror.refs().await.unwrap().into_keys().map(String::from).collect();
    assert_eq!(names, ["refs/heads/main", "refs/tags/-d"]);
    assert!(
        mirror.find(&"refs/heads/--upload-pack".parse().unwrap()).await.unwrap().is_none(),
        "nobody can write it down"
    );
    assert!(mirror.find(&"refs/tags/-d".parse().unwrap()).await.unwrap().is_some());
    let layer = room.layers().prepare(&mirror, &head).await.unwrap();
    assert!(layer.folder.join("workspace/-x/--exec=touch pwned").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_answers_is_given_up_and_leaves_no_process() {
    let room = Room::open().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mirror = room.mirror("app").await;
    let upstream = room.upstream(&format!("http://127.0.0.1:{port}/never/app.git"));
    let marker = format!("127.0.0.1:{port}/never");
    let asking = tokio::spawn({
        let mirror = mirror.clone();
        async move { mirror.sync(&upstream).await }
    });
    // Somebody has called: the git process is there.
    let (_line, _) = listener.accept().await.unwrap();
    let processes = || {
        let running = std::fs::read_dir("/proc").unwrap().flatten();
        let names = |entry: std::fs::DirEntry| std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        running.map(names).filter(|line| String::from_utf8_lossy(line).contains(&marker)).count()
    };
    assert!(processes() > 0);
    asking.abort();
    let _ = asking.await;
    // The flight goes on without those who asked; ending the house ends it.
    drop(mirror);
    drop(listener);
    drop(_line);
    while processes() > 0 {
        tokio::task::yield_now().await;
    }
}
