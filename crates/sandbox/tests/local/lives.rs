//! Pausing, waking, snapshots, restarts.

use carrel_model::sandbox::{Depth, Spec};
use carrel_sandbox::{Forking, Pausing, Provider, Sighting, providers::local::DiskChoice};

use crate::yard::{Yard, new_id};

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_the_server_finds_what_runs() {
    let mut yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    yard.run(&id, "sleep 1000 >/dev/null 2>&1 & echo $! > /pid").await;
    yard.reopen().await;
    assert_eq!(yard.local.inspect(&id).await, Ok(Sighting::Running));
    assert_eq!(yard.run(&id, "kill -0 $(cat /pid)").await.code, 0, "what ran before runs on");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_loses_its_processes_keeps_its_files() {
    let mut yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    yard.run(&id, "echo work > /home/user/work").await;
    yard.run(&id, "kill -9 -1").await;
    // The first process cannot be killed from inside; from outside it is, as a reboot would.
    let first = yard.run(&id, "true").await;
    assert_eq!(first.code, 0);
    yard.kill_first(&id).await;
    yard.reopen().await;
    assert_eq!(yard.local.inspect(&id).await, Ok(Sighting::Paused));
    assert_eq!(yard.local.resume(&id).await, Ok(Depth::Files));
    assert_eq!(yard.run(&id, "cat /home/user/work").await.out, "work\n");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_naps_lose_nothing() {
    let yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    yard.run(&id, "head -c 1000000 /dev/urandom > /data; sha256sum /data > /sum").await;
    for round in 0..50 {
        let depth = if round % 10 == 9 { Depth::Files } else { Depth::Frozen };
        assert_eq!(yard.local.pause(&id, depth).await, Ok(depth));
        assert_eq!(yard.local.inspect(&id).await, Ok(Sighting::Paused));
        yard.local.resume(&id).await.unwrap();
        let ran = yard.run(&id, "sha256sum -c /sum && echo x >> /count").await;
        assert_eq!(ran.code, 0, "round {round}: {ran:?}");
    }
    assert_eq!(yard.run(&id, "wc -l < /count").await.out.trim(), "50");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_is_a_template_and_leaves_its_source_alone() {
    for disk in [DiskChoice::Folder, DiskChoice::Image(Some(1 << 30))] {
        let yard = Yard::with(disk, 0).await;
        let spec = yard.spec().await;
        let source = yard.create(&spec).await;
        yard.run(&source, "echo one > /state; rm /etc/motd; mkdir /d; ln -s /state /d/link; sleep 1000 >/dev/null 2>&1 & echo $! > /pid").await;
        let name = "snapshot/first".parse().unwrap();
        let taken = yard.local.snapshot(&source, &name, false).await.unwrap();
        assert_eq!(taken.name, name);
        assert_eq!(yard.run(&source, "kill -0 $(cat /pid) && echo two > /state; cat /state").await.out, "two\n");

        let mut forked = spec.clone();
        forked.template = name.clone();
        for _ in 0..3 {
            let id = new_id();
            yard.local.create(&id, &forked).await.unwrap();
            assert_eq!(yard.run(&id, "cat /d/link; echo three > /state").await.out, "one\n");
        }
        // A second one, of a sandbox that sleeps, is a rename: the sandbox stands on what it was.
        yard.local.pause(&source, Depth::Files).await.unwrap();
        let second = "snapshot/second".parse().unwrap();
        yard.local.snapshot(&source, &second, false).await.unwrap();
        yard.local.resume(&source).await.unwrap();
        assert_eq!(yard.run(&source, "cat /state").await.out, "two\n");
        yard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_generations_of_snapshots_stand_on_few_layers() {
    let yard = Yard::with(DiskChoice::Image(Some(1 << 30)), 0).await;
    let mut spec = yard.spec().await;
    for generation in 0..50 {
        let id = yard.create(&spec).await;
        let script = format!(
            "rm -rf /d/{before} && mkdir -p /d/{generation}/x && mv /d/{generation} /d/moved-{generation} \
             && mv /d/moved-{generation} /d/{generation} && echo {generation} >> /lines",
            before = generation - 1
        );
        assert_eq!(yard.run(&id, &script).await.code, 0, "{generation}");
        spec.template = format!("snapshot/generation-{generation}").parse().unwrap();
        let template = yard.local.snapshot(&id, &spec.template, false).await.unwrap();
        assert!(template.layers.len() <= 32, "{} layers", template.layers.len());
        yard.local.destroy(&id).await.unwrap();
    }
    let last = yard.create(&spec).await;
    assert_eq!(yard.run(&last, "wc -l < /lines; ls /d; ls -d /d/49/x").await.out, "50\n49\n/d/49/x\n");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layer_leaves_with_the_last_sandbox_that_stood_on_it() {
    let yard = Yard::open().await;
    let spec = yard.spec().await;
    let source = yard.create(&spec).await;
    let template = "snapshot/short".parse().unwrap();
    let made = yard.local.snapshot(&source, &template, false).await.unwrap();
    let layer = yard.folder.path().join("templates/layers").join(made.layers.last().unwrap().as_str());
    let fork = yard.create(&Spec { template: template.clone(), ..spec }).await;
    yard.local.templating().unwrap().forget(&template).await.unwrap();
    assert!(layer.exists(), "somebody stands on it");
    yard.local.destroy(&fork).await.unwrap();
    assert!(!layer.exists(), "nobody needs it");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_expected_is_begun_and_what_does_not_come_leaves_nothing() {
    let yard = Yard::open().await;
    let spec = yard.spec().await;
    let (comes, stays_away) = (new_id(), new_id());
    yard.local.expect(&comes, &spec);
    yard.local.expect(&stays_away, &spec);
    yard.local.create(&comes, &spec).await.unwrap();
    assert_eq!(yard.run(&comes, "echo here").await.out, "here\n");
    assert_eq!(yard.local.pool_counts(), (0, 2), "both were begun, and no third one");
    yard.local.destroy(&stays_away).await.unwrap();
    assert_eq!(yard.local.list().await.unwrap().len(), 1);
    yard.close().await;
}

/// Swap for as long as this is there, unless the host has some.
struct Swap(Option<std::path::PathBuf>);

impl Swap {
    fn on(folder: &std::path::Path) -> Swap {
        if std::fs::read_to_string("/proc/swaps").unwrap().lines().count() > 1 {
            return Swap(None);
        }
        let file = folder.join("swap");
        let script = format!(
            "dd if=/dev/zero of={0} bs=1M count=96 status=none && chmod 600 {0} && mkswap -q {0} && swapon {0}",
            file.display()
        );
        let made = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        Swap(Some(file))
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        if let Some(file) = &self.0 {
            let _ = std::process::Command::new("swapoff").arg(file).status();
        }
    }
}

/// The bytes of a sandbox's processes that lie in swap.
fn swapped(yard: &Yard, id: &carrel_model::SandboxId) -> u64 {
    let of = |pid: &i32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmSwap:")?.split_whitespace().next());
        line.and_then(|number| number.parse::<u64>().ok()).unwrap_or_default() * 1024
    };
    yard.processes(id).iter().map(of).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_frozen_goes_to_swap_when_memory_is_wanted_and_comes_back_whole() {
    let yard = Yard::open().await;
    let elsewhere = tempfile::tempdir().unwrap();
    let _swap = Swap::on(elsewhere.path());
    let (id, awake) = (yard.create(&yard.spec().await).await, yard.create(&yard.spec().await).await);
    // Keeps 32 MB that only it knows, and says what they are when it is asked.
    let script = "import hashlib, os, time; x = os.urandom(32 << 20); open(\"/first\", \"w\").write(hashlib.sha256(x).hexdigest())\nwhile not os.path.exists(\"/asked\"): time.sleep(0.01)\nopen(\"/new\", \"w\").write(hashlib.sha256(x).hexdigest()); os.rename(\"/new\", \"/second\")";
    yard.run(&id, &format!("/usr/bin/python3 -c '{script}' >/dev/null 2>&1 &")).await;
    while yard.run(&id, "test -s /first").await.code != 0 {}
    assert_eq!(yard.local.pause(&id, Depth::Frozen).await, Ok(Depth::Frozen));
    assert_eq!(swapped(&yard, &id), 0);
    assert_eq!(yard.local.relieve().await, 1, "who is awake keeps its memory");
    assert!(swapped(&yard, &id) > 16 << 20, "{} bytes are in swap", swapped(&yard, &id));
    assert_eq!(yard.local.relieve().await, 0, "it is there already");
    assert_eq!(yard.local.pause(&id, Depth::Frozen).await, Ok(Depth::PagedOut), "nobody comes up for less");
    assert_eq!(yard.local.resume(&id).await, Ok(Depth::PagedOut));
    yard.run(&id, "touch /asked").await;
    while yard.run(&id, "test -s /second").await.code != 0 {}
    assert_eq!(yard.run(&id, "cmp /first /second && echo same").await.out, "same\n");
    // The same when it is asked for by name.
    assert_eq!(yard.local.pause(&awake, Depth::PagedOut).await, Ok(Depth::PagedOut));
    assert_eq!(yard.local.resume(&awake).await, Ok(Depth::PagedOut));
    assert_eq!(yard.run(&awake, "echo fine").await.out, "fine\n");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_claimed_and_never_known_ends_and_what_is_known_stays() {
    let mut yard = Yard::with(DiskChoice::Folder, 2).await;
    let spec = yard.spec().await;
    let (known, unknown, unwanted) = (new_id(), new_id(), new_id());
    assert!(!yard.local.claim(&known, &spec).await, "nothing waits yet");
    // The pool learns from the first, and fills behind it.
    let first = yard.create(&spec).await;
    for id in [&known, &unknown, &unwanted] {
        while yard.local.pool_waiting() < 1 {
            tokio::task::yield_now().await;
        }
        assert!(yard.local.claim(id, &spec).await);
        assert_eq!(yard.run(id, "echo it works").await.out, "it works\n");
        assert_eq!(yard.local.create(id, &spec).await, Ok(()), "it is found made");
    }
    yard.local.confirm(&known).await;
    yard.local.destroy(&unwanted).await.unwrap();
    for id in [&known, &unknown, &first] {
        assert_eq!(yard.local.reap(id).await, Ok(false), "whoever claimed it may be about to write it down");
    }
    // The pool of the one life must not work on into the other.
    yard.local.close().await;
    yard.reopen().await;
    for (id, ends) in [(&known, false), (&first, false), (&unknown, true), (&unwanted, false)] {
        assert_eq!(yard.local.reap(id).await, Ok(ends), "{id}");
    }
    assert_eq!(yard.local.inspect(&unknown).await, Ok(Sighting::Missing));
    assert_eq!(yard.run(&known, "echo it works").await.out, "it works\n");
    yard.close().await;
}
