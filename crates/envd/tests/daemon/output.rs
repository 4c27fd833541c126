use std::time::Duration;

use carrel_envd::{Event, Selector, Start};
use futures::StreamExt;

use crate::guest::{Guest, gather, pid, shell, until};

const MUCH: usize = 64 << 20;

#[tokio::test]
async fn much_output_arrives_whole() {
    let guest = Guest::new();
    let mut events = guest.envd.start(&shell(&format!("head -c {MUCH} /dev/zero; echo end >&2"))).await.unwrap();
    let (mut bytes, mut ended) = (0, None);
    while let Some(event) = events.next().await {
        match event.unwrap() {
            Event::Stdout(some) => {
                assert!(some.len() <= 32 << 10);
                bytes += some.len();
            }
            Event::Ended(end) => ended = Some(end.exit_code),
            _ => {}
        }
    }
    assert_eq!((bytes, ended), (MUCH, Some(0)));
}

#[tokio::test]
async fn a_slow_reader_slows_the_command_and_envd_still_answers() {
    let guest = Guest::new();
    let mut events = guest.envd.start(&shell(&format!("head -c {MUCH} /dev/zero"))).await.unwrap();
    let process = pid(&mut events).await;
    // Nobody reads. The command fills what there is and then waits in its write.
    while !is_waiting(process) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    for _ in 0..20 {
        guest.envd.health().await.unwrap();
    }
    let memory = crate::measure::private_kib(guest.child.id());
    assert!(memory < 8 << 10, "envd holds {memory} KiB of what nobody reads");
    let mut bytes = 0;
    while let Some(event) = events.next().await {
        if let Event::Stdout(some) = event.unwrap() {
            bytes += some.len();
        }
    }
    assert_eq!(bytes, MUCH);
}

#[tokio::test]
async fn a_command_without_a_reader_runs_on() {
    let guest = Guest::new();
    let done = guest.path("done");
    let start =
        Start { tag: Some("loud".into()), ..shell(&format!("head -c {MUCH} /dev/zero; touch {done}; exec sleep 600")) };
    drop(guest.envd.start(&start).await.unwrap());
    while !std::path::Path::new(&done).exists() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_reader_that_hangs_up_lets_the_others_go_on() {
    let guest = Guest::new();
    let start = Start {
        stdin: true,
        tag: Some("two".into()),
        ..shell(&format!("read line; head -c {MUCH} /dev/zero; echo end >&2"))
    };
    let mut first = guest.envd.start(&start).await.unwrap();
    let process = Selector::Pid(pid(&mut first).await);
    let second = guest.envd.connect(&process).await.unwrap();
    guest.envd.send_input(&process, false, "go\n".into()).await.unwrap();
    // The second reads nothing until it hangs up: the first can only finish once it did.
    let first = tokio::spawn(gather(first));
    while !is_waiting(match process {
        Selector::Pid(pid) => pid,
        Selector::Tag(_) => unreachable!(),
    }) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    drop(second);
    let ran = first.await.unwrap();
    assert_eq!((ran.stdout.len(), ran.stderr.as_str(), ran.code()), (MUCH, "end\n", 0));
}

#[tokio::test]
async fn what_a_command_says_is_heard_at_once() {
    let guest = Guest::new();
    let mut events =
        guest.envd.start(&Start { stdin: true, ..shell("echo now; read line; echo then; read line") }).await.unwrap();
    let process = Selector::Pid(pid(&mut events).await);
    until(&mut events, "now").await;
    guest.envd.send_input(&process, false, "\n".into()).await.unwrap();
    until(&mut events, "then").await;
}

/// Whether a process, or the one it waits for, sleeps in the kernel because a pipe is full.
fn is_waiting(pid: u32) -> bool {
    let mut everybody = crate::guest::below(pid);
    everybody.push(pid);
    everybody.into_iter().any(|pid| {
        let stack = std::fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
        stack.contains("pipe_write") || stack.contains("anon_pipe_write")
    })
}
