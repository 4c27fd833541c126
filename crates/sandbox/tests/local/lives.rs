//! Pausing, waking, snapshots, restarts.

use carrel_envd::Start;
use carrel_model::sandbox::{Depth, Spec};
use carrel_sandbox::{Forking, Naming, Pausing, Provider, ProviderError, Sighting, providers::local::DiskChoice};

use crate::yard::{Yard, cgroups, new_id, to_its_end};

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
async fn a_snapshot_made_anew_takes_the_place_of_the_one_before_it() {
    for disk in [DiskChoice::Folder, DiskChoice::Image(Some(1 << 30))] {
        let yard = Yard::with(disk, 1).await;
        let spec = yard.spec().await;
        let source = yard.create(&spec).await;
        let name: carrel_model::TemplateName = "snapshot/kept".parse().unwrap();
        let forked = Spec { template: name.clone(), ..spec.clone() };
        yard.run(&source, "echo one > /state").await;
        let first = yard.local.renew(&source, &name, false).await.unwrap();
        // Beside the sandboxes, wherever those are.
        let places = ["templates/layers", "disk/templates/layers"].map(|place| yard.folder.path().join(place));
        let layer = places.map(|place| place.join(first.layers.last().unwrap().as_str()));
        let layer = layer.into_iter().find(|layer| layer.exists()).expect("the layer is there");
        let old = yard.create(&forked).await;
        assert_eq!(yard.run(&old, "cat /state").await.out, "one\n");

        yard.run(&source, "echo two > /state").await;
        assert_eq!(yard.local.snapshot(&source, &name, false).await.unwrap().layers, first.layers, "it is there");
        let second = yard.local.renew(&source, &name, false).await.unwrap();
        assert_ne!(second.layers, first.layers);
        // Also what waited for the next who asks stands on the new one.
        for _ in 0..3 {
            let id = yard.create(&forked).await;
            assert_eq!(yard.run(&id, "cat /state").await.out, "two\n");
        }
        assert_eq!(yard.run(&old, "cat /state").await.out, "one\n", "who lives on the old one is not disturbed");

        // One of nobody's sandbox fails, and changes nothing.
        assert_eq!(yard.local.renew(&new_id(), &name, false).await, Err(ProviderError::Lost));
        let kept = yard.local.templating().unwrap().templates().await.unwrap();
        assert_eq!(kept.iter().find(|kept| kept.name == name).unwrap().layers, second.layers);
        assert!(layer.exists(), "somebody stands on it");
        yard.local.destroy(&old).await.unwrap();
        assert!(!layer.exists(), "nobody needs it");
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

/// A process of the host whose memory the kernel may not move.
struct Locked(std::process::Child);

impl Locked {
    fn start() -> Locked {
        use std::io::BufRead;
        let script = "import ctypes, time; assert ctypes.CDLL(None).mlockall(3) == 0; print('locked', flush=True); time.sleep(1000)";
        let mut command = std::process::Command::new("/usr/bin/python3");
        let mut child = command.args(["-c", script]).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "locked\n");
        Locked(child)
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
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
    let locked = Locked::start();
    assert_eq!(
        carrel_linux::page_out(locked.0.id() as i32).unwrap(),
        0,
        "what stays in memory is not said to be in swap"
    );
    drop(locked);
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
    // The pool learns from the first, and fills behind it.
    let first = yard.create(&spec).await;
    for id in [&known, &unknown, &unwanted] {
        while yard.local.pool_waiting() < 1 {
            tokio::task::yield_now().await;
        }
        assert!(yard.local.claim(id, &spec, Naming::Fixed).await.is_some_and(|claimed| claimed.id == *id));
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

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_knows_its_name_and_keeps_it_when_nobody_has_another_for_it() {
    let yard = Yard::with(DiskChoice::Folder, 2).await;
    let spec = yard.spec().await;
    yard.create(&spec).await;
    let waits = async || {
        while yard.local.pool_waiting() < 1 {
            tokio::task::yield_now().await;
        }
    };
    let who = "printf '%s %s %s' \"$CARREL_SANDBOX_ID\" \"$(cat /run/e2b/.E2B_SANDBOX_ID)\" \"$LUGGAGE\"";
    let asks = Start { program: "/bin/sh".into(), args: vec!["-c".into(), who.into()], ..Start::default() };

    waits().await;
    let drawn = new_id();
    let claimed = yard.local.claim(&drawn, &spec, Naming::Free).await.unwrap();
    let id = claimed.id;
    assert_ne!(id, drawn, "it keeps the name that it waited by");
    let said = to_its_end(&claimed.open.expect("a command may begin at once"), &asks).await.unwrap();
    assert_eq!(said.out, format!("{id} {id} "));
    assert_eq!(yard.start(&id, &asks).await.unwrap().out, said.out, "whoever comes later sees the same");
    assert_eq!(yard.local.inspect(&drawn).await, Ok(Sighting::Missing));

    // What is brought along has to be told first.
    waits().await;
    let mut laden = spec.clone();
    laden.env = serde_json::from_value(serde_json::json!({ "LUGGAGE": "a trunk" })).unwrap();
    let claimed = yard.local.claim(&new_id(), &laden, Naming::Free).await.unwrap();
    assert!(claimed.open.is_none());
    let (id, said) = (&claimed.id, yard.start(&claimed.id, &asks).await.unwrap());
    assert_eq!(said.out, format!("{id} {id} a trunk"));

    // A name that somebody knows already is the one that it gets.
    waits().await;
    let given = new_id();
    let claimed = yard.local.claim(&given, &spec, Naming::Fixed).await.unwrap();
    assert!(claimed.id == given && claimed.open.is_none());
    assert_eq!(yard.start(&given, &asks).await.unwrap().out, format!("{given} {given} "));
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_moves_into_a_shell_that_waits() {
    let yard = Yard::with_shells(DiskChoice::Folder, 1).await;
    let spec = yard.spec().await;
    let small = yard.spec_with(serde_json::json!({"memory_mb": 77, "pids": 33})).await;
    let mut lives = vec![yard.create(&spec).await];
    // One that fits, and one that has to be made to fit.
    for spec in [&spec, &small] {
        let shell = yard.shell().await;
        let id = yard.create(spec).await;
        assert_eq!(yard.record(&id)["name"], *shell, "it moved in");
        lives.push(id);
    }
    for id in &lives {
        let look = "test -c /proc/keys && test -c /dev/null && ls /dev/shm /dev/pts /usr/bin/env >/dev/null; echo $?";
        assert_eq!(yard.run(id, look).await.out, "0\n");
    }
    let limit = |file: &str| {
        let name = yard.record(&lives[2])["name"].as_str().unwrap().to_owned();
        let files = cgroups(&yard.house()).into_iter().map(|house| house.join(&name).join(file));
        files.into_iter().find_map(|file| std::fs::read_to_string(file).ok()?.trim().parse::<u64>().ok())
    };
    assert_eq!(limit("memory.limit_in_bytes").or(limit("memory.max")), Some(77 << 20));
    assert_eq!(limit("pids.max"), Some(33));
    yard.close().await;
}
