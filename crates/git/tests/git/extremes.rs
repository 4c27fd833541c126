//! Repositories of unusual size, made cheaply: half a million files, and one file far beyond every limit.

use std::{io::Write, process::Stdio};

use carrel_model::push::PushLimits;

use crate::bench::{Door, DoorPlan, Room, Work};

/// Feeds `git fast-import`.
pub(crate) fn import(work: &Work, feed: impl FnOnce(&mut dyn Write)) {
    let mut importing =
        work.command("git").args(["fast-import", "--quiet", "--force"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = std::io::BufWriter::new(importing.stdin.take().unwrap());
    feed(&mut stdin);
    stdin.flush().unwrap();
    drop(stdin);
    assert!(importing.wait().unwrap().success());
}

pub(crate) const COMMIT: &str =
    "commit refs/heads/main\ncommitter Ada <ada@example.org> 1700000000 +0000\ndata 11\nfeat: large\n";

#[tokio::test(flavor = "multi_thread")]
async fn half_a_million_files_are_mirrored_looked_at_and_foretold() {
    let room = Room::open().await;
    let work = room.work("work");
    let before = work.head();
    import(&work, |out| {
        writeln!(out, "blob\nmark :1\ndata 2\nx\n").unwrap();
        writeln!(out, "{COMMIT}from {before}").unwrap();
        for number in 0..500_000 {
            writeln!(out, "M 100644 :1 d{}/e{}/f{number}", number / 5000, number / 100).unwrap();
        }
        writeln!(out).unwrap();
    });
    let mirror = room.mirror_of(&work).await;
    let head = mirror.head_of(&"main".parse().unwrap()).await.unwrap();
    mirror.check_fit(&head).await.unwrap();
    assert_eq!(mirror.changed_files(&before, &head).await.unwrap().len(), 500_000);
    // One file is changed on top of it: pushed, and foretold, without anybody reading the others.
    let door = Door::open(&mirror).await;
    let sandbox = room.clone(&door.url("task-1"), "sandbox", &["--no-checkout", "-q"]);
    sandbox.git(&["read-tree", "HEAD"]);
    let blob = {
        sandbox.write("changed", "y");
        sandbox.git(&["hash-object", "-w", "changed"])
    };
    sandbox.git(&["update-index", "--cacheinfo", &format!("100644,{blob},d0/e0/f0")]);
    sandbox.git(&["commit", "-q", "-m", "feat: one of many"]);
    sandbox.git(&["push", "-q", "origin", "HEAD:task-1"]);
    assert_eq!(mirror.head_of(&"task-1".parse().unwrap()).await.unwrap(), sandbox.head());
    let pair = [(head.clone(), sandbox.head())];
    assert_eq!(mirror.conflicts(&pair).await.unwrap(), [Vec::<String>::new()]);
}

/// `CARREL_TEST_HUGE_MB=2048` asks for as much as the worst that we promise to survive, which takes a minute or two.
#[tokio::test(flavor = "multi_thread")]
async fn a_huge_file_is_mirrored_and_refused_in_a_push_by_its_name() {
    let room = Room::open().await;
    let work = room.work("work");
    let mirror = room.mirror_of(&work).await;
    // Git is told that this is as large as it gets: it is streamed from here on.
    let told = std::env::var("CARREL_TEST_HUGE_MB").ok();
    let size: u64 = told.and_then(|text| text.parse().ok()).unwrap_or(96) << 20;
    // Packed it is small: nothing but its true size gives it away.
    let door = Door::with(&mirror, DoorPlan { limits: PushLimits::default(), ..DoorPlan::default() }).await;
    let sandbox = room.clone(&door.url("task-1"), "sandbox", &["--no-checkout", "-q"]);
    sandbox.git(&["config", "core.bigFileThreshold", "16m"]);
    let before = sandbox.head();
    import(&sandbox, |out| {
        write!(out, "{COMMIT}from {before}\nM 100644 inline huge.bin\ndata {size}\n").unwrap();
        let zeros = vec![0; 1 << 20];
        for _ in 0..size / zeros.len() as u64 {
            out.write_all(&zeros).unwrap();
        }
        writeln!(out).unwrap();
    });
    let said = sandbox.refused(&["push", "origin", "main:task-1"]);
    assert!(said.contains("remote: huge.bin is larger than 50 MiB."), "{said}");
    assert_eq!(mirror.find(&"refs/heads/task-1".parse().unwrap()).await.unwrap(), None);
    // Upstream it is there, and we follow.
    let follower = room.mirror("follower").await;
    follower.sync(&room.upstream(sandbox.folder.to_str().unwrap())).await.unwrap();
    let head = follower.head_of(&"main".parse().unwrap()).await.unwrap();
    follower.check_fit(&head).await.unwrap();
    assert_eq!(follower.changed_files(&before, &head).await.unwrap(), ["huge.bin"]);
}
