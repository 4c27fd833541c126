//! Memory is a bound. Times are only shown, to whoever asks with `--ignored --nocapture`.

use std::{process::Command, time::Instant};

use carrel_envd::Start;
use futures::StreamExt;

use crate::guest::{Guest, all, content, gather};

/// Private memory of a process: what would come back if it ended.
pub fn private_kib(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let field = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    field("Private_Clean:") + field("Private_Dirty:")
}

#[tokio::test]
#[ignore = "a measurement"]
async fn how_long_a_command_takes() {
    let guest = Guest::new();
    let start = Start { program: "/bin/true".into(), ..Default::default() };
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..2000 {
        let began = Instant::now();
        let mut events = guest.envd.start(&start).await.unwrap();
        while let Some(event) = events.next().await {
            event.unwrap();
        }
        ours.push(began.elapsed());
        let began = Instant::now();
        Command::new("/bin/true").output().unwrap();
        plain.push(began.elapsed());
    }
    ours.sort();
    plain.sort();
    eprintln!("exec {:?} (p99 {:?}), plain spawn {:?} (p99 {:?})", ours[1000], ours[1980], plain[1000], plain[1980]);
}

#[tokio::test]
#[ignore = "a measurement"]
async fn how_fast_files_move() {
    let guest = Guest::new();
    const SIZE: usize = 1 << 30;
    let (source, target) = (guest.path("source"), guest.path("target"));
    std::fs::write(&source, vec![7u8; SIZE]).unwrap();
    let began = Instant::now();
    assert!(Command::new("cp").arg("--reflink=never").args([&source, &target]).status().unwrap().success());
    let cp = began.elapsed();
    std::fs::remove_file(&target).unwrap();
    let began = Instant::now();
    let mut down = guest.envd.download(&source, None).await.unwrap();
    let mut bytes = 0;
    while let Some(some) = down.content.next().await {
        bytes += some.unwrap().len();
    }
    let down = began.elapsed();
    assert_eq!(bytes, SIZE);
    let chunk = bytes::Bytes::from(vec![7u8; 256 << 10]);
    let chunks = futures::stream::iter((0..SIZE / (256 << 10)).map(move |_| Ok(chunk.clone())));
    let began = Instant::now();
    guest.envd.upload(&target, None, chunks.boxed()).await.unwrap();
    let up = began.elapsed();
    eprintln!("1 GiB: cp {cp:?}, download {down:?}, upload {up:?}, private {} KiB", private_kib(guest.child.id()));
}

#[tokio::test]
async fn an_idle_envd_holds_at_most_two_megabytes() {
    let guest = Guest::new();
    // Pages of the program itself are shared between all sandboxes of a machine; a second guest makes that so here.
    let other = Guest::new();
    other.envd.health().await.unwrap();
    for _ in 0..3 {
        for guest in [&guest, &other] {
            guest.run("echo hi; head -c 1000000 /dev/zero").await;
            guest.envd.upload(&guest.path("file"), None, content(vec![1; 3 << 20])).await.unwrap();
            assert_eq!(all(guest.envd.download(&guest.path("file"), None).await.unwrap().content).await.len(), 3 << 20);
            guest.envd.list("/", 1, None).await.unwrap();
            guest.envd.metrics().await.unwrap();
            let start = Start { program: "/bin/true".into(), ..Default::default() };
            gather(guest.envd.start(&start).await.unwrap()).await;
        }
    }
    guest.envd.hang_up();
    // The threads beside go away after a second of having nothing to do.
    let threads = || std::fs::read_dir(format!("/proc/{}/task", guest.child.id())).unwrap().count();
    while threads() > 1 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let memory = private_kib(guest.child.id());
    eprintln!("an idle envd holds {memory} KiB of private memory");
    // The build without optimisation is larger; its own data is not.
    assert!(memory <= 2 << 10, "an idle envd holds {memory} KiB");
}
