//! Sleep on disk: files and memory, and copies that begin in the middle of their source's life.

use bytes::Bytes;
use carrel_envd::{Event, Events, Selector, Start};
use carrel_model::{
    SandboxId,
    sandbox::{Depth, Spec},
};
use carrel_sandbox::{Forking, Pausing, Provider, Sighting, Templating, providers::local::DiskChoice};
use futures::StreamExt;

use crate::yard::{Yard, new_id};

/// Counts in its memory alone: each line it is sent adds one, and it says how many there were.
const COUNTER: &str = "i=0; while read line; do i=$((i+1)); echo $i; done";

async fn yard(disk: DiskChoice) -> Yard {
    let yard = Yard::with(disk, 0).await;
    let missing = yard.local.probe().await.unwrap().missing;
    let without = missing.iter().find(|sentence| sentence.contains("CRIU"));
    assert_eq!(without, None, "these tests need CRIU: run scripts/install-criu");
    yard
}

fn with_memory(mut spec: Spec, megabytes: u32) -> Spec {
    let limits = serde_json::json!({"cpus": 2, "memory_mb": megabytes, "disk_mb": 1024, "pids": 64});
    spec.limits = serde_json::from_value(limits).unwrap();
    spec
}

/// Starts something that reads and writes lines, by this name.
async fn begin(yard: &Yard, id: &SandboxId, tag: &str, command: &str) -> Events {
    let start = Start {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), command.into()],
        user: Some("user".into()),
        tag: Some(tag.into()),
        stdin: true,
        ..Start::default()
    };
    let mut events = yard.envd(id).await.start(&start).await.unwrap();
    assert!(matches!(events.next().await, Some(Ok(Event::Started { .. }))));
    events
}

/// Sends a line to what has this name, and gives the line it answers with.
async fn ask(yard: &Yard, id: &SandboxId, tag: &str) -> String {
    let envd = yard.envd(id).await;
    let selector = Selector::Tag(tag.into());
    let mut events = envd.connect(&selector).await.unwrap();
    envd.send_input(&selector, false, Bytes::from_static(b"more\n")).await.unwrap();
    line(&mut events).await
}

async fn line(events: &mut Events) -> String {
    let mut heard = String::new();
    while !heard.ends_with('\n') {
        match events.next().await.unwrap().unwrap() {
            Event::Stdout(bytes) => heard.push_str(&String::from_utf8_lossy(&bytes)),
            Event::Started { .. } => {}
            other => panic!("{other:?} after {heard:?}"),
        }
    }
    heard.trim_end().to_owned()
}

/// What the kernel says of the confinement of a sandbox's first process, without what differs from life to life.
fn confinement(yard: &Yard, id: &SandboxId) -> Vec<String> {
    let pid = yard.record(id)["first"]["pid"].as_i64().unwrap();
    let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
    let told = ["Uid", "Gid", "Groups", "NoNewPrivs", "Seccomp", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"];
    let status = read("status");
    let mut lines: Vec<String> =
        status.lines().filter(|line| told.iter().any(|name| line.starts_with(name))).map(Into::into).collect();
    lines.extend([read("uid_map"), read("gid_map"), read("limits"), read("cgroup")]);
    let mounts = read("mountinfo");
    let mut mounts: Vec<_> = mounts
        .lines()
        .map(|line| {
            let (before, after) = line.split_once(" - ").unwrap();
            let fields: Vec<_> = before.split(' ').skip(3).collect();
            format!("{} {}", fields.join(" "), after.split(' ').next().unwrap())
        })
        .collect();
    // No two are at one place, so that it does not matter which came first.
    mounts.sort();
    lines.extend(mounts);
    lines
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_goes_on_where_it_was_also_after_a_restart_of_the_server() {
    for disk in [DiskChoice::Folder, DiskChoice::Image(Some(1 << 30))] {
        let mut yard = yard(disk).await;
        let id = yard.create(&yard.spec().await).await;
        let mut events = begin(&yard, &id, "counter", COUNTER).await;
        let envd = yard.envd(&id).await;
        envd.send_input(&Selector::Tag("counter".into()), false, Bytes::from_static(b"one\n")).await.unwrap();
        assert_eq!(line(&mut events).await, "1");
        let before =
            yard.run(&id, "cat /proc/1/stat | cut -d' ' -f1; ls /proc | grep '^[0-9]' | sort -n | head -2").await;

        assert_eq!(yard.local.pause(&id, Depth::Stored).await, Ok(Depth::Stored));
        assert_eq!(yard.local.pause(&id, Depth::Frozen).await, Ok(Depth::Stored), "it does not come up for it");
        assert!(events.next().await.is_none_or(|event| event.is_err()), "whoever listened hears that it is gone");
        assert!(yard.record(&id)["first"].is_null(), "nothing of it runs");
        yard.reopen().await;
        assert_eq!(yard.local.inspect(&id).await, Ok(Sighting::Paused));
        assert_eq!(yard.local.resume(&id).await, Ok(Depth::Stored));
        assert_eq!(yard.local.inspect(&id).await, Ok(Sighting::Running));

        assert_eq!(ask(&yard, &id, "counter").await, "2", "it has not forgotten the first");
        let after =
            yard.run(&id, "cat /proc/1/stat | cut -d' ' -f1; ls /proc | grep '^[0-9]' | sort -n | head -2").await;
        assert_eq!(before, after, "it has the numbers it had");
        yard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_back_is_as_confined_as_it_was() {
    let yard = yard(DiskChoice::Folder).await;
    let id = yard.create(&yard.spec().await).await;
    let probe = "unshare -U true 2>/dev/null && echo nested; cat /proc/sys/user/max_user_namespaces; \
                 cat /proc/sys/net/ipv4/ip_unprivileged_port_start; hostname; ulimit -a; cat /proc/self/cgroup; \
                 ls -n /dev/shm /dev /run; ls / ; ls -nd / /usr /tmp; mkdir /proc/x 2>&1; mount -t tmpfs x /mnt 2>&1 | head -1; cat /proc/keys /proc/kallsyms | wc -c; ip -o link 2>/dev/null | wc -l";
    yard.run(&id, "mkdir /run/mount; echo kept > /dev/shm/file").await;
    let (outside, inside) = (confinement(&yard, &id), yard.run(&id, probe).await);
    assert_eq!(yard.local.pause(&id, Depth::Stored).await, Ok(Depth::Stored));
    assert_eq!(yard.local.resume(&id).await, Ok(Depth::Stored));
    assert_eq!(confinement(&yard, &id), outside);
    assert_eq!(yard.run(&id, probe).await, inside);
    assert_eq!(yard.run(&id, "cat /dev/shm/file").await.out, "kept\n");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_megabytes_come_back_as_they_were() {
    let yard = yard(DiskChoice::Folder).await;
    let spec = with_memory(yard.spec().await, 512);
    for megabytes in [10, 100] {
        let id = yard.create(&spec).await;
        let script = format!(
            "exec perl -e '$|=1; srand(7); $m = join \"\", map {{ chr(int rand 256) }} 1..4096; $m x= 256*{megabytes}; \
             substr($m, $_*1048576, 4) = pack(\"N\", $_) for 0..{megabytes}-1; \
             while (<STDIN>) {{ print unpack(\"%32C*\", $m), \"\\n\" }}'"
        );
        let mut events = begin(&yard, &id, "memory", &script).await;
        let envd = yard.envd(&id).await;
        envd.send_input(&Selector::Tag("memory".into()), false, Bytes::from_static(b"sum\n")).await.unwrap();
        let sum = line(&mut events).await;
        assert_eq!(yard.local.pause(&id, Depth::Stored).await, Ok(Depth::Stored));
        assert_eq!(yard.local.resume(&id).await, Ok(Depth::Stored));
        assert_eq!(ask(&yard, &id, "memory").await, sum);
    }
    yard.close().await;
}

/// Each says `ready` once, waits for a line, and says `back`.
const BUSY: [&str; 6] = [
    "echo x > log; tail -f log >/dev/null & echo ready; read line; kill $! && echo back",
    "echo back > log; exec 3<log; rm log; echo ready; read line; cat <&3",
    "script -qc 'sleep 1000' /dev/null >/dev/null & echo ready; read line; kill $! && echo back",
    "sleep 1000 & kill -STOP $!; echo ready; read line; kill -CONT $! && kill $! && echo back",
    "exec python3 -c '
import socket, threading, time
listener = socket.create_server((\"127.0.0.1\", 8000))
one = socket.create_connection((\"127.0.0.1\", 8000)); other, _ = listener.accept()
for _ in range(20): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
print(\"ready\", flush=True); input()
try: assert one.recv(1) == b\"\"
except ConnectionError: pass
socket.create_connection((\"127.0.0.1\", 8000)); listener.accept(); print(\"back\", flush=True)'",
    "exec python3 -c '
import mmap, os, socket
one, other = socket.socketpair(); one.send(b\"ba\")
file = os.open(\"/dev/shm/file\", os.O_RDWR | os.O_CREAT); os.ftruncate(file, 4096)
memory = mmap.mmap(file, 4096); memory[:2] = b\"ck\"
print(\"ready\", flush=True); input(); print((other.recv(2) + memory[:2]).decode(), flush=True)'",
];

#[tokio::test(flavor = "multi_thread")]
async fn what_agents_leave_running_is_stored() {
    let yard = yard(DiskChoice::Folder).await;
    let spec = yard.spec().await;
    for command in BUSY {
        let id = yard.create(&spec).await;
        let mut events = begin(&yard, &id, "busy", command).await;
        assert_eq!(line(&mut events).await, "ready", "{command}");
        let stored = yard.local.pause(&id, Depth::Stored).await;
        assert_eq!(stored, Ok(Depth::Stored), "{command}: {}", yard.record(&id)["unfit"]);
        let back = yard.local.resume(&id).await;
        assert_eq!(back, Ok(Depth::Stored), "{command}: {}", yard.record(&id)["unfit"]);
        assert_eq!(ask(&yard, &id, "busy").await, "back", "{command}");
        yard.local.destroy(&id).await.unwrap();
    }
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_stored_keeps_its_files_and_says_why() {
    let yard = yard(DiskChoice::Folder).await;
    let id = yard.create(&yard.spec().await).await;
    // A file that was renamed away while it was open, and has another name now, is more than CRIU can find again.
    let odd = "echo work > work; exec 3<work; ln work other; rm work; echo ready; read line";
    let mut events = begin(&yard, &id, "odd", odd).await;
    assert_eq!(line(&mut events).await, "ready");
    assert_eq!(yard.local.pause(&id, Depth::Stored).await, Ok(Depth::Files));
    let unfit = yard.record(&id)["unfit"].to_string();
    assert!(
        unfit.contains("its memory could not be stored: CRIU refused: ") && unfit.contains("/home/user/work"),
        "{unfit}"
    );
    assert_eq!(yard.local.resume(&id).await, Ok(Depth::Files));
    assert_eq!(yard.run(&id, "cat /home/user/other").await.out, "work\n");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_memory_that_was_damaged_leaves_the_files() {
    let yard = yard(DiskChoice::Folder).await;
    let id = yard.create(&yard.spec().await).await;
    yard.run(&id, "echo work > /work").await;
    assert_eq!(yard.local.pause(&id, Depth::Stored).await, Ok(Depth::Stored));
    let memory = yard.folder.path().join("memory").join(yard.record(&id)["name"].as_str().unwrap());
    std::fs::write(memory.join("core-1.img"), "nonsense").unwrap();
    assert_eq!(yard.local.resume(&id).await, Ok(Depth::Files));
    let unfit = yard.record(&id)["unfit"].to_string();
    assert!(unfit.contains("its memory did not come back"), "{unfit}");
    assert_eq!(yard.run(&id, "cat /work").await.out, "work\n");
    assert!(!memory.exists(), "it is of no use any more");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ended_while_it_woke_one_finds_it_awake() {
    let mut yard = yard(DiskChoice::Folder).await;
    let id = yard.create(&yard.spec().await).await;
    drop(begin(&yard, &id, "counter", COUNTER).await);
    assert_eq!(ask(&yard, &id, "counter").await, "1");
    assert_eq!(yard.local.pause(&id, Depth::Stored).await, Ok(Depth::Stored));
    let asleep = yard.record(&id);
    assert_eq!(yard.local.resume(&id).await, Ok(Depth::Stored));
    assert_eq!(ask(&yard, &id, "counter").await, "2");
    // As if the record of its waking had not been written, though it was awake.
    let (name, first) = (asleep["name"].as_str().unwrap(), yard.record(&id)["first"].to_string());
    std::fs::write(yard.folder.path().join(format!("slots/{name}.json")), asleep.to_string()).unwrap();
    let memory = yard.folder.path().join("memory").join(name);
    std::fs::create_dir_all(&memory).unwrap();
    std::fs::write(memory.join("restored.json"), first).unwrap();
    yard.reopen().await;
    assert_eq!(yard.local.inspect(&id).await, Ok(Sighting::Running));
    assert_eq!(ask(&yard, &id, "counter").await, "3", "it is the same that ran all the time");
    assert!(!memory.exists());
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_destroyed_in_its_sleep_leaves_nothing() {
    let yard = yard(DiskChoice::Folder).await;
    let id = yard.create(&yard.spec().await).await;
    assert_eq!(yard.local.pause(&id, Depth::Stored).await, Ok(Depth::Stored));
    yard.local.destroy(&id).await.unwrap();
    assert_eq!(yard.local.inspect(&id).await, Ok(Sighting::Missing));
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_naps_of_both_kinds_lose_nothing() {
    let yard = yard(DiskChoice::Folder).await;
    let id = yard.create(&yard.spec().await).await;
    yard.run(&id, "head -c 1000000 /dev/urandom > /data; sha256sum /data > /sum").await;
    drop(begin(&yard, &id, "counter", COUNTER).await);
    for round in 0..50 {
        let depth = if round % 5 == 4 { Depth::Stored } else { Depth::Frozen };
        assert_eq!(yard.local.pause(&id, depth).await, Ok(depth), "round {round}: {}", yard.record(&id)["unfit"]);
        assert_eq!(yard.local.resume(&id).await, Ok(depth), "round {round}");
        assert_eq!(ask(&yard, &id, "counter").await, (round + 1).to_string());
        let ran = yard.run(&id, "sha256sum -c /sum && echo x >> /count").await;
        assert_eq!(ran.code, 0, "round {round}: {ran:?}");
    }
    assert_eq!(yard.run(&id, "wc -l < /count").await.out.trim(), "50");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_with_memory_go_on_each_for_itself() {
    for disk in [DiskChoice::Folder, DiskChoice::Image(Some(1 << 30))] {
        let yard = yard(disk).await;
        let spec = yard.spec().await;
        let source = yard.create(&spec).await;
        drop(begin(&yard, &source, "counter", COUNTER).await);
        assert_eq!(ask(&yard, &source, "counter").await, "1");
        yard.run(&source, "echo one > /state").await;
        let name = "snapshot/living".parse().unwrap();
        let taken = yard.local.snapshot(&source, &name, true).await.unwrap();
        assert!(taken.memory, "{taken:?}");
        assert_eq!(ask(&yard, &source, "counter").await, "2", "the source runs on");
        yard.run(&source, "echo two > /state").await;

        let mut forked = spec.clone();
        forked.template = name.clone();
        let mut bases = vec![yard.record(&source)["base"].clone()];
        for round in 0..3 {
            let id = new_id();
            yard.local.create(&id, &forked).await.unwrap();
            assert_eq!(yard.record(&id)["remembers"], true, "{}", yard.record(&id)["unfit"]);
            assert_eq!(
                yard.run(&id, "cat /state; echo three > /state; echo $CARREL_SANDBOX_ID").await.out,
                format!("one\n{id}\n")
            );
            for count in 2..4 + round {
                assert_eq!(ask(&yard, &id, "counter").await, count.to_string());
            }
            let base = yard.record(&id)["base"].clone();
            assert!(!bases.contains(&base), "its users are its own");
            bases.push(base);
        }
        assert_eq!(ask(&yard, &source, "counter").await, "3", "and notices nothing");
        assert_eq!(yard.run(&source, "cat /state").await.out, "two\n");
        yard.local.forget(&name).await.unwrap();
        yard.close().await;
    }
}
