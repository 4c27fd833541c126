//! Bad luck and bad intent where there are no cgroups, or only one that was given to this user: the host keeps working, and
//! the neighbour does not notice.

use bytes::Bytes;
use carrel_envd::EnvdError;
use carrel_model::sandbox::{Depth, NetworkMode};
use carrel_sandbox::{Pausing, Provider, ProviderError, Sighting};
use futures::{StreamExt, stream};
use serde_json::json;

use crate::yard::{as_plain_user, new_id};

#[test]
fn a_fork_bomb_ends_at_its_limit_without_cgroups() {
    as_plain_user("abuse::a_fork_bomb_ends_at_its_limit_without_cgroups", async |yard| {
        let spec = yard.spec_with(json!({"pids": 32})).await;
        let (bomb, neighbour) = (yard.create(&spec).await, yard.create(&spec).await);
        // Its children let go of what it prints to, and stay.
        let script = "import os, time
n = 0
try:
  while True:
    if os.fork() == 0:
      os.closerange(0, 8); time.sleep(100000)
    n += 1
except OSError: print(n, flush=True)";
        let ran = yard.run(&bomb, &format!("exec /usr/bin/python3 -c '{script}'")).await;
        let made: u32 = ran.out.trim().parse().unwrap_or_else(|_| panic!("it was never stopped: {ran:?}"));
        assert!((8..32).contains(&made), "{made} processes were made");
        // The table is full now; whoever wants one more is told so, and the neighbour has a table of its own.
        match yard.start(&bomb, "/bin/true & /bin/true & wait; echo fine").await {
            Err(error) => assert!(error.to_string().contains("Resource temporarily unavailable"), "{error}"),
            Ok(ran) => assert!(ran.err.contains("fork") || ran.out == "fine\n", "{ran:?}"),
        }
        assert_eq!(yard.run(&neighbour, "echo fine").await.out, "fine\n");
        yard.local.destroy(&bomb).await.unwrap();
        assert_eq!(yard.local.inspect(&bomb).await, Ok(Sighting::Missing));
        assert_eq!(yard.run(&neighbour, "echo fine").await.out, "fine\n");
    });
}

#[test]
fn whoever_takes_the_hosts_memory_is_the_first_to_be_ended() {
    as_plain_user("abuse::whoever_takes_the_hosts_memory_is_the_first_to_be_ended", async |yard| {
        let id = yard.create(&yard.spec().await).await;
        let own: i32 = std::fs::read_to_string("/proc/self/oom_score_adj").unwrap().trim().parse().unwrap();
        let theirs = yard.run(&id, "cat /proc/self/oom_score_adj").await;
        assert!(theirs.out.trim().parse::<i32>().unwrap() > own, "{theirs:?}");
        // What cannot be limited is said; where a cgroup was given to this user, it is limited.
        let lacks = yard.local.lacks(&id).await.unwrap();
        if !lacks.iter().any(|sentence| sentence.contains("memory is not limited")) {
            let bomb = "import sys\nkept = [bytearray(b'x' * 1000000) for _ in range(4000)]\nprint(len(kept))";
            let ran = yard.run(&id, &format!("/usr/bin/python3 -c \"{bomb}\"; echo $?")).await;
            assert_eq!(ran.out, "137\n", "{ran:?}");
        }
        assert!(!lacks.iter().any(|sentence| sentence.contains("processes are not limited")), "{lacks:?}");
    });
}

#[test]
fn a_plain_users_disk_is_watched() {
    as_plain_user("abuse::a_plain_users_disk_is_watched", async |yard| {
        let spec = yard.spec_with(json!({"disk_mb": 64})).await;
        let (full, neighbour) = (yard.create(&spec).await, yard.create(&spec).await);
        let ran = yard.run(&full, "head -c 300000000 /dev/zero > /one; stat -c %s /one; rm /one").await;
        assert_eq!(ran.out, format!("{}\n", 64 << 20), "{ran:?}");
        // Ten gigabytes are refused when they are too many, and nothing of them stays.
        let zeros = stream::repeat_with(|| Ok(Bytes::from_static(&[0; 1 << 16]))).take(163_840).boxed();
        let refused = yard.envd(&full).await.upload("/upload", Some("root"), zeros).await.unwrap_err();
        assert!(matches!(refused, EnvdError::DiskFull(_)), "{refused:?}");
        assert_eq!(yard.run(&full, "ls -A / | grep -c -e upload").await.out, "0\n");
        let many = "i=0; while :; do head -c 4000000 /dev/zero > /many$i; i=$((i+1)); sleep 0.05; done";
        let ended = yard.run(&full, many).await;
        assert_eq!(ended.code, 128 + 9, "{ended:?}");
        assert_eq!(yard.run(&full, "rm /many*; echo fine").await.out, "fine\n");
        assert_eq!(yard.run(&neighbour, "echo fine").await.out, "fine\n");
    });
}

#[test]
fn fifty_naps_of_a_plain_users_sandbox_lose_nothing() {
    as_plain_user("abuse::fifty_naps_of_a_plain_users_sandbox_lose_nothing", async |yard| {
        let id = yard.create(&yard.spec().await).await;
        yard.run(&id, "head -c 1000000 /dev/urandom > /data; sha256sum /data > /sum").await;
        // Where no cgroup was given to this user nothing can be frozen: what it comes to is said.
        let lacks = yard.local.lacks(&id).await.unwrap();
        let cannot = lacks.iter().any(|sentence| sentence.contains("cannot be frozen"));
        let depth = if cannot { Depth::Files } else { Depth::Frozen };
        for round in 0..50 {
            assert_eq!(yard.local.pause(&id, Depth::Frozen).await, Ok(depth));
            assert_eq!(yard.local.inspect(&id).await, Ok(Sighting::Paused));
            assert_eq!(yard.local.resume(&id).await, Ok(depth));
            let ran = yard.run(&id, "sha256sum -c /sum >/dev/null && echo x >> /count && wc -l < /count").await;
            assert_eq!(ran.out.trim(), (round + 1).to_string(), "{ran:?}");
        }
    });
}

#[test]
fn a_guest_that_deletes_its_root_or_ignores_signals_is_ended_all_the_same() {
    as_plain_user("abuse::a_guest_that_deletes_its_root_or_ignores_signals_is_ended_all_the_same", async |yard| {
        let id = yard.create(&yard.spec().await).await;
        yard.run(&id, "(trap '' TERM HUP INT; while :; do sleep 1000; done) >/dev/null 2>&1 & rm -rf --no-preserve-root / 2>/dev/null").await;
        assert_eq!(yard.local.inspect(&id).await, Ok(Sighting::Running));
        yard.envd(&id).await.health().await.unwrap();
        yard.local.destroy(&id).await.unwrap();
        assert_eq!(yard.local.inspect(&id).await, Ok(Sighting::Missing));
        assert!(std::path::Path::new("/usr/bin/env").exists(), "the host keeps its programs");
    });
}

#[test]
fn a_plain_user_who_wants_an_interface_is_told_why_there_is_none() {
    as_plain_user("abuse::a_plain_user_who_wants_an_interface_is_told_why_there_is_none", async |yard| {
        let mut spec = yard.spec().await;
        (spec.network.mode, spec.network.interface) = (NetworkMode::Open, true);
        let id = new_id();
        match yard.local.create(&id, &spec).await {
            Err(ProviderError::Unfit { why }) => assert!(why.contains("root"), "{why}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(yard.local.inspect(&id).await, Ok(Sighting::Missing));
        assert!(yard.local.lacks_interfaces().is_some());
    });
}

#[test]
fn a_server_that_dies_before_it_wrote_down_what_it_started_is_cleaned_up_after() {
    as_plain_user("abuse::a_server_that_dies_before_it_wrote_down_what_it_started_is_cleaned_up_after", async |yard| {
        let id = yard.create(&yard.spec().await).await;
        yard.run(&id, "echo work > /work").await;
        let mut record = yard.record(&id);
        let first: carrel_linux::Living = serde_json::from_value(record["first"].clone()).unwrap();
        assert!(first.is_alive());
        // As if the server had been killed in between. No cgroup remembers the process either.
        (record["first"], record["ready"]) = (serde_json::Value::Null, false.into());
        let name = format!("{}.json", record["name"].as_str().unwrap());
        std::fs::write(yard.folder.join("slots").join(name), record.to_string()).unwrap();
        let next = yard.config().build().await.unwrap();
        next.create(&id, &yard.spec().await).await.unwrap();
        assert!(!first.is_alive(), "what nobody knows is ended before the next one stands on its files");
        assert_eq!(next.inspect(&id).await, Ok(Sighting::Running));
        next.destroy(&id).await.unwrap();
        next.close().await;
    });
}
