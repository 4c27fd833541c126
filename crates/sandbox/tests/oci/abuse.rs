//! Bad luck and bad intent behind another runtime: the host keeps working, the neighbour does not notice, and files outlive
//! what happened. Where gVisor's own kernel is what meets the limit, the whole sandbox ends: it is then found paused, and
//! its files come back.

use std::{fs, path::Path};

use bytes::Bytes;
use carrel_envd::{EnvdError, Event, Start};
use carrel_model::{SandboxId, sandbox::Depth};
use carrel_sandbox::{Pausing, Provider, Sighting};
use futures::{StreamExt, stream};
use serde_json::json;

use crate::yard::{Ran, Yard};

const RUNTIMES: [&str; 2] = ["runsc", "runc"];

/// The memory of this process, in bytes.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

/// Has somebody at work do something bad beside a neighbour. Whatever comes of it, the neighbour goes on, and so does the
/// work, at the latest when the sandbox was resumed.
async fn survives(yard: &Yard, limits: serde_json::Value, bad: &str) -> Result<Ran, EnvdError> {
    let spec = yard.spec_with(limits).await;
    let (id, neighbour) = (yard.create(&spec).await, yard.create(&spec).await);
    yard.run(&id, "echo work > /home/user/work; sync").await;
    let came = yard.try_run(&id, bad).await;
    assert_eq!(yard.run(&neighbour, "echo fine").await.out, "fine\n");
    recover(yard, &id).await;
    assert_eq!(yard.run(&id, "cat /home/user/work").await.out, "work\n");
    came
}

/// Waits until the sandbox can be worked in again: its runtime may have been ended, or may be on its way out.
async fn recover(yard: &Yard, id: &SandboxId) {
    loop {
        if yard.oci.inspect(id).await == Ok(Sighting::Paused) {
            yard.oci.resume(id).await.unwrap();
        }
        match yard.try_run(id, "true").await {
            Ok(ran) if ran.code == 0 => return,
            Ok(_) | Err(EnvdError::Unreachable(_) | EnvdError::Broken(_)) => tokio::task::yield_now().await,
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_ends_at_its_limit_and_the_neighbour_goes_on() {
    // Its children let go of what it prints to, and end when they are many enough for anybody.
    let script = "import os, time
n = 0
try:
  while n < 600:
    if os.fork() == 0:
      os.closerange(0, 8); time.sleep(100000)
    n += 1
except OSError: pass
print(n, flush=True); os.kill(-1, 9)";
    for runtime in RUNTIMES {
        let yard = Yard::with(runtime).await;
        let came = survives(&yard, json!({"pids": 32}), &format!("exec /usr/bin/python3 -c '{script}'")).await;
        match came {
            Ok(ran) => {
                let made = ran.out.trim().parse::<u32>().ok();
                assert!(made.is_none_or(|made| made < 600), "{runtime}: it was never stopped: {ran:?}");
            }
            Err(EnvdError::Unreachable(_)) => assert_eq!(runtime, "runsc", "its second kernel was what met the limit"),
            Err(error) => panic!("{runtime}: {error:?}"),
        }
        yard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_memory_bomb_ends_inside_and_the_neighbour_goes_on() {
    for runtime in RUNTIMES {
        let yard = Yard::with(runtime).await;
        let bomb = "exec /usr/bin/python3 -c 'x = bytearray(b\"x\" * (1 << 30))'";
        match survives(&yard, json!({"memory_mb": 96}), bomb).await {
            Ok(ran) => assert_eq!(ran.code, 128 + 9, "{runtime}: {ran:?}"),
            Err(EnvdError::Unreachable(_)) => {}
            Err(error) => panic!("{runtime}: {error:?}"),
        }
        yard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_file_ends_at_the_disks_limit_and_many_are_ended_by_the_watch() {
    for runtime in RUNTIMES {
        let yard = Yard::with(runtime).await;
        let spec = yard.spec_with(json!({"disk_mb": 64})).await;
        let (full, neighbour) = (yard.create(&spec).await, yard.create(&spec).await);
        let ran = yard.run(&full, "head -c 300000000 /dev/zero > /one; wc -c < /one; rm /one").await;
        assert_eq!(ran.out.trim(), (64 << 20).to_string(), "{runtime}: {ran:?}");
        // At a pace that leaves the host's disk alone until somebody looks.
        let many = "i=0; while :; do head -c 4000000 /dev/zero > /many$i; i=$((i+1)); sleep 0.05; done";
        let ended = yard.run(&full, many).await;
        assert_eq!(ended.code, 128 + 9, "{runtime}: {ended:?}");
        assert_eq!(yard.run(&full, "rm /many*; echo fine").await.out, "fine\n");
        assert_eq!(yard.run(&neighbour, "echo fine").await.out, "fine\n");
        yard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_nobody_reads_costs_the_host_nothing() {
    for runtime in RUNTIMES {
        let yard = Yard::with(runtime).await;
        let (loud, neighbour) = (yard.create(&yard.spec().await).await, yard.create(&yard.spec().await).await);
        let before = resident();
        let start = Start {
            program: "/usr/bin/yes".into(),
            args: vec!["a-line-that-is-repeated-for-ever".into()],
            user: Some("root".into()),
            ..Start::default()
        };
        let mut events = yard.envd(&loud).await.start(&start).await.unwrap();
        let Event::Started { .. } = events.next().await.unwrap().unwrap() else { panic!("it did not start") };
        // Whoever writes to a full pipe does not work: until the sandbox stands still, but for whoever asks.
        let mut last = None;
        loop {
            let cpu = yard.oci.usage(&loud).await.unwrap().cpu_us.unwrap();
            let rested = yard.run(&neighbour, "sleep 0.3; echo fine").await;
            assert_eq!(rested.out, "fine\n");
            let used = yard.oci.usage(&loud).await.unwrap().cpu_us.unwrap() - cpu;
            if used < 100_000 && last.is_some_and(|last| last < 100_000) {
                break;
            }
            last = Some(used);
        }
        assert!(resident() < before + (128 << 20), "{runtime}: {} bytes before, {} after", before, resident());
        drop(events);
        yard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_upload_passes_through_without_filling_memory() {
    const PIECE: usize = 256 * 1024;
    const PIECES: usize = 2048;
    for runtime in RUNTIMES {
        let yard = Yard::with(runtime).await;
        let spec = yard.spec_with(json!({"disk_mb": 4096, "memory_mb": 256})).await;
        let id = yard.create(&spec).await;
        let (before, piece) = (resident(), Bytes::from(vec![0; PIECE]));
        let content = stream::repeat_with(move || Ok(piece.clone())).take(PIECES).boxed();
        yard.envd(&id).await.upload("/large", Some("root"), content).await.unwrap();
        assert!(resident() < before + (128 << 20), "{runtime}: {} bytes before, {} after", before, resident());
        assert_eq!(yard.run(&id, "wc -c < /large").await.out.trim(), (PIECE * PIECES).to_string(), "{runtime}");
        yard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_deletes_its_own_root_can_be_paused_resumed_and_destroyed() {
    for runtime in RUNTIMES {
        let yard = Yard::with(runtime).await;
        let id = yard.create(&yard.spec().await).await;
        yard.run(&id, "rm -rf --no-preserve-root / 2>/dev/null").await;
        assert_eq!(yard.oci.inspect(&id).await, Ok(Sighting::Running), "{runtime}");
        assert_eq!(yard.oci.pause(&id, Depth::Frozen).await, Ok(Depth::Frozen), "{runtime}");
        yard.oci.resume(&id).await.unwrap();
        assert_eq!(yard.oci.pause(&id, Depth::Files).await, Ok(Depth::Files), "{runtime}");
        assert_eq!(yard.oci.resume(&id).await, Ok(Depth::Files), "{runtime}");
        yard.envd(&id).await.health().await.unwrap();
        yard.oci.destroy(&id).await.unwrap();
        assert_eq!(yard.oci.inspect(&id).await, Ok(Sighting::Missing), "{runtime}");
        assert!(Path::new("/usr/bin/env").exists(), "the host keeps its programs");
        yard.close().await;
    }
}
