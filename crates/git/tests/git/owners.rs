//! Folders of other users of this machine: what they set up runs as themselves, and what is written there is theirs.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use crate::bench::{Room, Work, below};

const ALICE: u32 = 4242;

/// A working tree of a user who starts a program wherever git can be told to.
fn hers(room: &Room) -> Work {
    std::fs::set_permissions(room.folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::create_dir(room.path("traces")).unwrap();
    std::fs::set_permissions(room.path("traces"), PermissionsExt::from_mode(0o777)).unwrap();
    let program = room.path("program.sh");
    let trace = room.path("traces/ran");
    std::fs::write(&program, format!("#!/bin/sh\nid -u >>{}\ncat\n", trace.display())).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let work = room.work("hers");
    work.write(".gitattributes", "* filter=hers\n");
    work.commit("feat: filters");
    for key in ["core.fsmonitor", "filter.hers.smudge", "filter.hers.clean", "core.sshCommand", "core.pager"] {
        work.git(&["config", key, program.to_str().unwrap()]);
    }
    below(&work.folder).iter().chain([&work.folder]).for_each(|path| chown(path, Some(ALICE), Some(ALICE)).unwrap());
    work
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_another_user_is_read_and_written_as_that_user() {
    assert!(rustix::process::geteuid().is_root(), "this test gives folders to another user and needs root");
    let room = Room::open().await;
    let work = hers(&room);
    let upstream = room.upstream(work.folder.to_str().unwrap());
    let mirror = room.mirror("app").await;
    mirror.sync(&upstream).await.unwrap();
    let main = "main".parse().unwrap();
    let head = mirror.head_of(&main).await.unwrap();
    // Somebody changes a file, and the folder that she works in follows.
    let clone = room.clone(mirror.path().to_str().unwrap(), "clone", &[]);
    clone.write("docs/new.md", "new\n");
    let new = clone.commit("feat: new");
    clone.git(&["push", "-q", "origin", "HEAD:refs/heads/task-1"]);
    let step = carrel_git::Move { name: "refs/heads/main".parse().unwrap(), from: Some(head), to: Some(new.clone()) };
    mirror.push(&upstream, &[step]).await.unwrap();
    assert_eq!(work.read("docs/new.md"), "new\n");
    assert_eq!(mirror.upstream_tip(&upstream, &main).await.unwrap(), Some(new));

    let ran = std::fs::read_to_string(room.path("traces/ran")).unwrap_or_default();
    assert!(ran.lines().all(|user| user == ALICE.to_string()), "something of hers ran as somebody else: {ran}");
    let not_hers = |path: &std::path::PathBuf| std::fs::symlink_metadata(path).unwrap().uid() != ALICE;
    let strange: Vec<_> = below(&work.folder).into_iter().filter(not_hers).collect();
    assert_eq!(strange, [] as [std::path::PathBuf; 0], "files that she cannot change any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_to_what_its_owner_may_not_read_leads_nowhere() {
    assert!(rustix::process::geteuid().is_root(), "this test gives folders to another user and needs root");
    let room = Room::open().await;
    let private = room.work("private");
    private.write("secret", "for root alone\n");
    let secret = private.commit("feat: secret");
    let work = hers(&room);
    std::fs::set_permissions(&private.folder, PermissionsExt::from_mode(0o700)).unwrap();
    // She knows the name of a commit that she may not read, and borrows it.
    let objects = private.folder.join(".git/objects");
    std::fs::write(work.folder.join(".git/objects/info/alternates"), format!("{}\n", objects.display())).unwrap();
    std::fs::write(work.folder.join(".git/refs/heads/lent"), format!("{secret}\n")).unwrap();
    let mirror = room.mirror("app").await;
    let _ = mirror.sync(&room.upstream(work.folder.to_str().unwrap())).await;
    assert!(!mirror.has(&secret).await.unwrap(), "what she may not read is in a mirror that she can read");
}
