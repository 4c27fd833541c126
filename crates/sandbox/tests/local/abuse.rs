//! Bad luck and bad intent: the host keeps working, and the neighbour does not notice.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use bytes::Bytes;
use carrel_envd::{EnvdError, Event, Selector, Start};
use carrel_model::{
    SandboxId,
    sandbox::{Depth, Spec},
};
use carrel_sandbox::{
    Forking, Pausing, Provider, ProviderError, Sighting, providers::local::DiskChoice, template::Shelves,
};
use futures::{StreamExt, future::join_all, stream};
use serde_json::json;

use crate::yard::Yard;

fn shell(command: &str) -> Start {
    Start {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), command.into()],
        user: Some("root".into()),
        ..Start::default()
    }
}

/// The memory of this process, in bytes.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_ends_at_its_limit_and_the_neighbour_goes_on() {
    let yard = Yard::open().await;
    let spec = yard.spec().await;
    let (bomb, neighbour) = (yard.create(&spec).await, yard.create(&spec).await);
    let ran =
        yard.run(&bomb, "i=0; while [ $i -lt 500 ]; do sleep 100 >/dev/null 2>&1 & i=$((i+1)); done; echo done").await;
    assert!(ran.err.contains("fork") || ran.err.contains("Resource"), "{ran:?}");
    assert_eq!(yard.run(&neighbour, "echo fine").await.out, "fine\n");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_process_table_is_told_in_a_sentence_and_ends_with_its_sandbox() {
    let yard = Yard::open().await;
    let spec = yard.spec_with(json!({"pids": 32})).await;
    let (full, neighbour) = (yard.create(&spec).await, yard.create(&spec).await);
    // Forks until it cannot, and stays.
    let script =
        "import os, time\ntry:\n  while os.fork(): pass\nexcept OSError: print('full', flush=True)\ntime.sleep(100000)";
    let start = Start {
        program: "/usr/bin/python3".into(),
        args: vec!["-c".into(), script.into()],
        user: Some("root".into()),
        ..Start::default()
    };
    let envd = yard.envd(&full).await;
    let mut events = envd.start(&start).await.unwrap();
    while !matches!(events.next().await.unwrap().unwrap(), Event::Stdout(text) if text.starts_with(b"full")) {}
    match yard.start(&full, &shell("echo fine")).await {
        Err(error) => assert!(error.to_string().contains("Resource temporarily unavailable"), "{error}"),
        Ok(ran) => panic!("there was room for one more: {ran:?}"),
    }
    assert_eq!(yard.run(&neighbour, "echo fine").await.out, "fine\n");
    assert_eq!(yard.local.inspect(&full).await, Ok(Sighting::Running));
    yard.local.destroy(&full).await.unwrap();
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_memory_bomb_ends_inside_and_the_neighbour_goes_on() {
    let yard = Yard::open().await;
    let spec = yard.spec_with(json!({"memory_mb": 96})).await;
    let (bomb, neighbour) = (yard.create(&spec).await, yard.create(&spec).await);
    yard.run(&bomb, "echo work > /home/user/work").await;
    let eaten = yard.start(&bomb, &shell("exec /usr/bin/python3 -c 'x = bytearray(1 << 30)'")).await;
    match eaten {
        Ok(ran) => assert_eq!(ran.code, 128 + 9, "{ran:?}"),
        // The kernel chose the first process.
        Err(EnvdError::Unreachable(_)) => {}
        Err(error) => panic!("{error}"),
    }
    assert!(yard.local.usage(&bomb).await.unwrap().out_of_memory.unwrap() >= 1);
    // Memory that is not freed by ending whoever wrote it is limited below the limit of all.
    if yard.local.inspect(&bomb).await == Ok(Sighting::Paused) {
        yard.local.resume(&bomb).await.unwrap();
    }
    let filled = yard.run(&bomb, "head -c 1000000000 /dev/zero > /dev/shm/x; rm /dev/shm/x; cat /home/user/work").await;
    assert_eq!(filled.out, "work\n", "{filled:?}");
    assert!(filled.err.contains("No space left"), "{filled:?}");
    assert_eq!(yard.run(&neighbour, "echo fine").await.out, "fine\n");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burner_of_processors_is_held_back() {
    let yard = Yard::open().await;
    let spec = yard.spec_with(json!({"cpus": 0.25})).await;
    let id = yard.create(&spec).await;
    yard.run(&id, "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done").await;
    assert!(yard.throttled(&id) > 0, "nobody held it back");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_told_inside_and_nobody_else_notices() {
    let yard = Yard::with(DiskChoice::Image(Some(1 << 30)), 0).await;
    let spec = yard.spec_with(json!({"disk_mb": 64})).await;
    let (full, neighbour) = (yard.create(&spec).await, yard.create(&spec).await);
    let lacks = yard.local.lacks(&full).await.unwrap();
    let watched = lacks.iter().any(|sentence| sentence.contains("watched"));
    assert!(!watched, "this test needs the simple quotas of btrfs, from Linux 6.7 on");
    let ran = yard.run(&full, "for i in 1 2 3 4 5 6 7 8 9; do head -c 10000000 /dev/urandom > /f$i || break; done; sync; ls / | grep -c ^f").await;
    assert!(ran.err.contains("Disk quota exceeded") || ran.err.contains("No space left"), "{ran:?}");
    assert!(ran.out.trim().parse::<u32>().unwrap() < 9, "{ran:?}");
    let zeros = stream::repeat_with(|| Ok(Bytes::from(vec![7; 1 << 20]))).take(64).boxed();
    let refused = yard.envd(&full).await.upload("/upload", Some("root"), zeros).await.unwrap_err();
    assert!(matches!(refused, EnvdError::DiskFull(_)), "{refused:?}");
    let ran = yard.run(&neighbour, "head -c 10000000 /dev/urandom > /f && sync && echo fine").await;
    assert_eq!(ran.out, "fine\n", "{ran:?}");
    // Room can be made again.
    assert_eq!(yard.run(&full, "rm /f*; echo again > /again && cat /again").await.out, "again\n");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_quotas_one_file_ends_at_the_limit_and_many_are_ended_by_the_watch() {
    let yard = Yard::open().await;
    let spec = yard.spec_with(json!({"disk_mb": 64})).await;
    let (full, neighbour) = (yard.create(&spec).await, yard.create(&spec).await);
    let ran = yard.run(&full, "head -c 300000000 /dev/zero > /one; stat -c %s /one; rm /one").await;
    assert_eq!(ran.out, format!("{}\n", 64 << 20), "{ran:?}");
    // At a pace that leaves the host's disk alone until somebody looks.
    let many = "i=0; while :; do head -c 4000000 /dev/zero > /many$i; i=$((i+1)); sleep 0.05; done";
    let ended = yard.start(&full, &shell(many)).await.unwrap();
    assert_eq!(ended.code, 128 + 9, "{ended:?}");
    assert_eq!(yard.run(&full, "rm /many*; echo fine").await.out, "fine\n");
    assert_eq!(yard.run(&neighbour, "echo fine").await.out, "fine\n");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_files_are_listed_and_leave_with_their_sandbox() {
    let yard = Yard::open().await;
    let spec = yard.spec_with(json!({"disk_mb": 2048, "memory_mb": 512})).await;
    let id = yard.create(&spec).await;
    let made = yard.run(&id, "mkdir /many && cd /many && seq 100000 | xargs touch && ls -f | wc -l").await;
    assert_eq!(made.out.trim(), "100002", "{made:?}");
    let listed = yard.envd(&id).await.list("/many", 1, Some("root")).await.unwrap();
    assert_eq!(listed.len(), 100_000);
    yard.local.destroy(&id).await.unwrap();
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_ignores_a_polite_signal_ends_with_its_sandbox() {
    let yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    let stubborn = "trap '' TERM HUP INT; echo ready; while :; do sleep 1000; done";
    let envd = yard.envd(&id).await;
    let start = Start { tag: Some("stubborn".into()), ..shell(stubborn) };
    let mut events = envd.start(&start).await.unwrap();
    while !matches!(events.next().await.unwrap().unwrap(), Event::Stdout(_)) {}
    // It says so before it begins to sleep.
    let before = loop {
        let before = yard.processes(&id);
        if before.len() >= 3 {
            break before;
        }
    };
    envd.signal(&Selector::Tag("stubborn".into()), 15).await.unwrap();
    assert_eq!(envd.processes().await.unwrap().len(), 1, "it goes on");
    yard.local.destroy(&id).await.unwrap();
    for pid in before {
        // One that has ended may still wait to be collected by its parent; the number may be another's by now.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let home = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let ended = stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']));
        // And one that is about to has no cgroup any more.
        let mut homes = home.lines().filter(|home| !home.ends_with(" (deleted)"));
        assert!(ended || !homes.any(|home| home.contains("carrel/test")), "{pid} lives on: {stat} {home}");
    }
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_nobody_reads_costs_the_host_nothing() {
    let yard = Yard::open().await;
    let (loud, neighbour) = (yard.create(&yard.spec().await).await, yard.create(&yard.spec().await).await);
    let before = resident();
    let envd = yard.envd(&loud).await;
    let start = Start { tag: Some("loud".into()), ..shell("exec yes a-line-that-is-repeated-for-ever") };
    let mut events = envd.start(&start).await.unwrap();
    let Event::Started { pid, .. } = events.next().await.unwrap().unwrap() else { panic!("it did not start") };
    // Until what it has written stands still, or is far more than anybody should keep.
    let mut last = None;
    loop {
        let ran = yard.run(&loud, &format!("sed -n 's/^wchar: //p' /proc/{pid}/io; sleep 0.2")).await;
        let written: u64 = ran.out.trim().parse().unwrap();
        if last == Some(written) || written > 4 << 30 {
            break;
        }
        last = Some(written);
    }
    assert!(resident() < before + (128 << 20), "{} bytes before, {} after", before, resident());
    assert_eq!(yard.run(&neighbour, "echo fine").await.out, "fine\n");
    drop(events);
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_upload_passes_through_without_filling_memory() {
    const PIECE: usize = 256 * 1024;
    const PIECES: usize = 8192;
    let yard = Yard::open().await;
    let spec = yard.spec_with(json!({"disk_mb": 4096, "memory_mb": 256})).await;
    let id = yard.create(&spec).await;
    let before = resident();
    let piece = Bytes::from(vec![0; PIECE]);
    let content = stream::repeat_with(move || Ok(piece.clone())).take(PIECES).boxed();
    yard.envd(&id).await.upload("/large", Some("root"), content).await.unwrap();
    assert!(resident() < before + (128 << 20), "{} bytes before, {} after", before, resident());
    assert_eq!(yard.run(&id, "stat -c %s /large").await.out.trim(), (PIECE * PIECES).to_string());
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_paths_stay_inside_or_are_refused_in_a_sentence() {
    let yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    let envd = yard.envd(&id).await;
    let outside = yard.folder.path().join("outside");
    fs::write(&outside, "of the host").unwrap();
    yard.run(&id, "ln -s /../../../../../../../.. /up; ln -s /proc/1/root /first").await;
    let content = |text: &'static str| stream::iter([Ok(Bytes::from_static(text.as_bytes()))]).boxed();
    let up = "../".repeat(40);
    for path in [
        format!("/{up}{}", outside.display()),
        format!("/up{}", outside.display()),
        format!("/first{}", outside.display()),
    ] {
        assert!(envd.stat(&path, Some("root")).await.is_err(), "{path}");
        assert!(envd.download(&path, Some("root")).await.is_err(), "{path}");
        let _ = envd.upload(&path, Some("root"), content("of the guest")).await;
        let _ = envd.remove(&path, Some("root")).await;
    }
    assert_eq!(fs::read_to_string(&outside).unwrap(), "of the host");
    let long = format!("/{}", "x/".repeat(3000));
    let wide = format!("/{}", "n".repeat(256));
    for path in ["/nul\0byte", long.as_str(), wide.as_str()] {
        let refused = envd.upload(path, Some("root"), content("x")).await.unwrap_err();
        assert!(!refused.to_string().is_empty() && !matches!(refused, EnvdError::Unreachable(_)), "{refused:?}");
        assert!(envd.stat(path, Some("root")).await.is_err());
    }
    for name in
        ["two\nlines".to_owned(), "n".repeat(255), " ".into(), "-rf".into(), "ü ✓ \u{202e}".into(), "%00%2e%2e".into()]
    {
        let path = format!("/odd/{name}");
        envd.upload(&path, Some("root"), content("odd")).await.unwrap();
        assert_eq!(envd.stat(&path, Some("root")).await.unwrap().name, name);
    }
    assert_eq!(envd.list("/odd", 1, Some("root")).await.unwrap().len(), 6);
    yard.close().await;
}

/// A template like the usual one with a layer on top that somebody else has made.
async fn with_layer(yard: &Yard, name: &str, make: impl FnOnce(&Path)) -> Spec {
    let mut spec = yard.spec().await;
    let first = yard.create(&spec).await;
    yard.local.destroy(&first).await.unwrap();
    let shelves = Shelves::open(yard.folder.path().join("templates")).unwrap();
    let mut template = shelves.find(&spec.template).unwrap().unwrap();
    let draft = shelves.draft().unwrap();
    make(draft.folder());
    let (layer, _) = shelves.adopt(draft.folder().to_owned()).unwrap();
    template.name = name.parse().unwrap();
    template.layers.push(layer);
    shelves.keep(&template).unwrap();
    spec.template = template.name;
    spec
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_with_setuid_programs_and_devices_gives_nothing() {
    use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
    let yard = Yard::open().await;
    let spec = with_layer(&yard, "sly", |layer| {
        let sly = layer.join("sly");
        fs::create_dir(&sly).unwrap();
        fs::copy("/usr/bin/id", sly.join("id")).unwrap();
        fs::set_permissions(sly.join("id"), fs::Permissions::from_mode(0o6755)).unwrap();
        for (name, kind, major, minor) in [
            ("mem", FileType::CharacterDevice, 1, 1),
            ("null", FileType::CharacterDevice, 1, 3),
            ("loop", FileType::BlockDevice, 7, 0),
        ] {
            mknodat(CWD, sly.join(name), kind, Mode::from_raw_mode(0o666), makedev(major, minor)).unwrap();
            fs::set_permissions(sly.join(name), fs::Permissions::from_mode(0o666)).unwrap();
        }
    })
    .await;
    let id = yard.create(&spec).await;
    assert_eq!(yard.run_as(&id, "user", "/sly/id -u; /sly/id -g").await.out, "1000\n1000\n");
    for who in ["root", "user"] {
        let ran = yard.run_as(&id, who, "for d in mem null loop; do head -c 1 /sly/$d; echo x > /sly/$d; done").await;
        assert_eq!(ran.out, "", "{ran:?}");
        assert_eq!(ran.err.matches("Permission denied").count(), 6, "{ran:?}");
    }
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_whose_folders_are_links_is_refused_in_a_sentence() {
    for place in ["proc", "dev", "usr", "run"] {
        let yard = Yard::open().await;
        let outside = yard.folder.path().join("outside");
        fs::create_dir(&outside).unwrap();
        let target = outside.clone();
        let spec = with_layer(&yard, "linked", |layer| {
            std::os::unix::fs::symlink(&target, layer.join(place)).unwrap();
        })
        .await;
        let id: SandboxId = crate::yard::new_id();
        let refused = yard.local.create(&id, &spec).await.unwrap_err();
        assert!(
            matches!(&refused, ProviderError::Unavailable { why } if why.contains("could not be launched")),
            "{place}: {refused}"
        );
        assert_eq!(yard.local.inspect(&id).await, Ok(Sighting::Missing));
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{place} led outside");
        yard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_deletes_its_own_root_can_be_paused_resumed_and_destroyed() {
    let yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    yard.run(&id, "rm -rf --no-preserve-root / 2>/dev/null").await;
    assert_eq!(yard.local.inspect(&id).await, Ok(Sighting::Running));
    assert_eq!(yard.local.pause(&id, Depth::Frozen).await, Ok(Depth::Frozen));
    yard.local.resume(&id).await.unwrap();
    assert_eq!(yard.local.pause(&id, Depth::Files).await, Ok(Depth::Files));
    assert_eq!(yard.local.resume(&id).await, Ok(Depth::Files));
    assert_eq!(yard.local.inspect(&id).await, Ok(Sighting::Running));
    yard.envd(&id).await.health().await.unwrap();
    yard.local.destroy(&id).await.unwrap();
    assert_eq!(yard.local.inspect(&id).await, Ok(Sighting::Missing));
    assert!(Path::new("/usr/bin/env").exists(), "the host keeps its programs");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_who_come_at_once_are_all_served() {
    let yard = Yard::with(DiskChoice::Folder, 2).await;
    let spec = yard.spec().await;
    let made = join_all((0..20).map(|_| yard.create(&spec))).await;
    let ran = join_all(made.iter().map(|id| yard.run(id, "echo $CARREL_SANDBOX_ID"))).await;
    for (id, ran) in made.iter().zip(ran) {
        assert_eq!(ran.out, format!("{id}\n"));
    }
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_that_sleeps_is_kept_as_often_as_one_likes() {
    for disk in [DiskChoice::Folder, DiskChoice::Image(Some(1 << 30))] {
        let yard = Yard::with(disk, 0).await;
        let spec = yard.spec().await;
        let id = yard.create(&spec).await;
        yard.run(&id, "echo kept > /state").await;
        yard.local.pause(&id, Depth::Files).await.unwrap();
        for name in ["snapshot/one", "snapshot/two", "snapshot/three"] {
            yard.local.snapshot(&id, &name.parse().unwrap(), false).await.unwrap();
            let forked = yard.create(&Spec { template: name.parse().unwrap(), ..spec.clone() }).await;
            assert_eq!(yard.run(&forked, "cat /state").await.out, "kept\n", "{name}");
        }
        yard.local.resume(&id).await.unwrap();
        assert_eq!(yard.run(&id, "cat /state").await.out, "kept\n");
        yard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_command_runs_once_whoever_serves_the_sandbox_next() {
    let mut yard = Yard::open().await;
    let mut spec = with_layer(&yard, "started", |layer| fs::create_dir(layer.join("x")).unwrap()).await;
    let shelves = Shelves::open(yard.folder.path().join("templates")).unwrap();
    let mut template = shelves.find(&spec.template).unwrap().unwrap();
    template.name = "starting".parse().unwrap();
    template.config.start_command = Some("echo started >> /tmp/starts; sleep 100000".into());
    template.config.ready_command = Some("test -s /tmp/starts".into());
    shelves.keep(&template).unwrap();
    spec.template = template.name;
    let id = yard.create(&spec).await;
    assert_eq!(yard.run(&id, "cat /tmp/starts").await.out, "started\n");
    yard.reopen().await;
    // Whoever asks next would start it again, if that had not been remembered.
    yard.envd(&id).await.health().await.unwrap();
    let ran = yard.run(&id, "cat /tmp/starts; cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -c '^100000$'").await;
    assert_eq!(ran.out, "started\n1\n", "{ran:?}");
    yard.close().await;
}
