use std::{collections::BTreeMap, time::Duration};

use carrel_envd::{EnvdError, Event, Init, Selector, Size, Start};
use futures::StreamExt;

use crate::guest::{Guest, gather, is_root, pid, shell, until};

#[tokio::test]
async fn a_command_is_heard_to_its_end() {
    let guest = Guest::new();
    let ran = guest.run("echo out; echo err >&2; exit 3").await;
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.code()), ("out\n", "err\n", 3));
    assert_eq!(ran.ended.unwrap().status, "exit status 3");
}

#[tokio::test]
async fn a_command_that_a_signal_ends_counts_as_shells_do() {
    let guest = Guest::new();
    for (signal, code, status) in
        [(9, 137, "signal: killed"), (2, 130, "signal: interrupt"), (10, 138, "signal: user defined signal 1")]
    {
        let mut events = guest.envd.start(&shell("exec sleep 600")).await.unwrap();
        let pid = pid(&mut events).await;
        guest.envd.signal(&Selector::Pid(pid), signal).await.unwrap();
        let ended = gather(events).await.ended.unwrap();
        assert_eq!((ended.exit_code, ended.exited, ended.status.as_str()), (code, false, status));
    }
}

#[tokio::test]
async fn a_signal_for_a_group_reaches_what_a_command_started() {
    let guest = Guest::new();
    for signal in [9, 40] {
        let mut events = guest.envd.start(&shell("sleep 600 & echo $!; wait")).await.unwrap();
        let number = pid(&mut events).await;
        let child = loop {
            if let Some(Event::Stdout(bytes)) = events.next().await.transpose().unwrap() {
                break String::from_utf8(bytes.to_vec()).unwrap().trim().to_owned();
            }
        };
        guest.envd.signal_group(&Selector::Pid(number), signal).await.unwrap();
        assert_eq!(gather(events).await.code(), 128 + signal as i32);
        let state = || std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_else(|_| ") Z".into());
        while !state().contains(") Z") {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_real_time_signal_arrives_too() {
    let guest = Guest::new();
    let mut events = guest.envd.start(&shell("exec sleep 600")).await.unwrap();
    let pid = pid(&mut events).await;
    guest.envd.signal(&Selector::Pid(pid), 40).await.unwrap();
    assert_eq!(gather(events).await.code(), 168);
}

#[tokio::test]
async fn signals_that_do_not_exist_and_processes_that_do_not_are_refused() {
    let guest = Guest::new();
    let mut events = guest.envd.start(&shell("exec sleep 600")).await.unwrap();
    let pid = pid(&mut events).await;
    for signal in [0, 65, 1000] {
        let refused = guest.envd.signal(&Selector::Pid(pid), signal).await;
        assert!(matches!(refused, Err(EnvdError::Invalid(_))), "{refused:?}");
    }
    let nobody = guest.envd.signal(&Selector::Pid(4_000_000), 9).await;
    assert!(matches!(nobody, Err(EnvdError::NotFound(message)) if message == "process with pid 4000000 not found"));
    let nobody = guest.envd.connect(&Selector::Tag("nobody".into())).await.map(drop);
    assert!(matches!(nobody, Err(EnvdError::NotFound(message)) if message == "process with tag nobody not found"));
}

#[tokio::test]
async fn what_runs_is_listed_until_it_ends() {
    let guest = Guest::new();
    let start = Start { tag: Some("nap".into()), ..shell("exec sleep 600") };
    let mut events = guest.envd.start(&start).await.unwrap();
    let number = pid(&mut events).await;
    let listed = guest.envd.processes().await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].pid, listed[0].tag.as_deref(), listed[0].program.as_str()), (number, Some("nap"), "/bin/sh"));
    guest.envd.signal(&Selector::Tag("nap".into()), 15).await.unwrap();
    gather(events).await;
    assert_eq!(guest.envd.processes().await.unwrap(), []);
}

#[tokio::test]
async fn input_reaches_a_command_and_its_end_too() {
    let guest = Guest::new();
    let mut events = guest.envd.start(&Start { stdin: true, ..shell("cat; echo done") }).await.unwrap();
    let process = Selector::Pid(pid(&mut events).await);
    guest.envd.send_input(&process, false, "one ".into()).await.unwrap();
    guest.envd.send_input(&process, false, "two\n".into()).await.unwrap();
    guest.envd.close_stdin(&process).await.unwrap();
    assert_eq!(gather(events).await.stdout, "one two\ndone\n");
}

#[tokio::test]
async fn a_command_without_input_finds_none_and_takes_none() {
    let guest = Guest::new();
    let mut events =
        guest.envd.start(&shell("cat; echo empty; read -r line < /dev/zero & wait $!; exec sleep 600")).await.unwrap();
    let process = Selector::Pid(pid(&mut events).await);
    until(&mut events, "empty").await;
    let refused = guest.envd.send_input(&process, false, "x".into()).await;
    assert!(matches!(refused, Err(EnvdError::Invalid(message)) if message == "stdin not enabled or closed"));
    let refused = guest.envd.send_input(&process, true, "x".into()).await;
    assert!(matches!(refused, Err(EnvdError::Invalid(_))));
}

#[tokio::test]
async fn input_that_nobody_reads_does_not_keep_its_end_from_being_said() {
    let guest = Guest::new();
    let mut events = guest.envd.start(&Start { stdin: true, ..shell("exec sleep 600") }).await.unwrap();
    let process = Selector::Pid(pid(&mut events).await);
    let stuck = {
        let (envd, process) = (guest.envd.clone(), process.clone());
        tokio::spawn(async move { envd.send_input(&process, false, vec![b'x'; 1 << 20].into()).await })
    };
    // Somebody else has a turn meanwhile; then the pipe is closed over the head of the one who waits.
    guest.envd.health().await.unwrap();
    while guest.envd.close_stdin(&process).await.is_err() {}
    assert!(matches!(stuck.await.unwrap(), Err(EnvdError::Invalid(_))));
}

#[tokio::test]
async fn a_command_runs_where_and_with_what_it_was_told() {
    let guest = Guest::new();
    let init = Init {
        env: BTreeMap::from([("EVERY".into(), "one".into()), ("BOTH".into(), "sandbox".into())]),
        default_workdir: Some(guest.path("")),
        ..Default::default()
    };
    guest.envd.init(&init).await.unwrap();
    let mut start = shell("echo $EVERY $BOTH $OWN; pwd; echo $HOME");
    start.env = BTreeMap::from([("OWN".into(), "two".into()), ("BOTH".into(), "command".into())]);
    let ran = gather(guest.envd.start(&start).await.unwrap()).await;
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[0], "one command two");
    assert_eq!(format!("{}/", lines[1]), guest.path(""));
    assert!(!lines[2].is_empty());
    start.cwd = Some("/".into());
    let ran = gather(guest.envd.start(&start).await.unwrap()).await;
    assert_eq!(ran.stdout.lines().nth(1), Some("/"));
    start.cwd = Some("/no/such/folder".into());
    let refused = guest.envd.start(&start).await.map(drop);
    assert!(matches!(refused, Err(EnvdError::Invalid(message)) if message == "cwd '/no/such/folder' does not exist"));
}

#[tokio::test]
async fn a_program_is_found_in_the_path_of_the_command() {
    let guest = Guest::new();
    let mut start = Start { program: "echo".into(), args: vec!["hi".into()], ..Default::default() };
    assert_eq!(gather(guest.envd.start(&start).await.unwrap()).await.stdout, "hi\n");
    start.env = BTreeMap::from([("PATH".into(), "/nowhere".into())]);
    assert!(matches!(guest.envd.start(&start).await.map(drop), Err(EnvdError::NotFound(_))));
    start.program = "/etc/passwd".into();
    assert!(matches!(guest.envd.start(&start).await.map(drop), Err(EnvdError::Refused(_))));
    start.program = String::new();
    assert!(matches!(guest.envd.start(&start).await.map(drop), Err(EnvdError::Invalid(_))));
}

#[tokio::test]
async fn a_script_that_names_no_interpreter_belongs_to_the_shell() {
    let guest = Guest::new();
    let script = guest.path("script");
    std::fs::write(&script, "echo from $0 with $1\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let start = Start { program: script.clone(), args: vec!["x".into()], ..Default::default() };
    let ran = gather(guest.envd.start(&start).await.unwrap()).await;
    assert_eq!(ran.stdout, format!("from {script} with x\n"));
}

#[tokio::test]
async fn a_command_runs_as_its_user_with_all_groups_and_no_way_back() {
    assert!(is_root(), "this test needs root: only root can become somebody else");
    let guest = Guest::new();
    let start = Start {
        user: Some("nobody".into()),
        ..shell("id -u; id -G; echo $USER $LOGNAME; grep -E '^(Uid|Gid|CapEff|CapPrm)' /proc/self/status")
    };
    let ran = gather(guest.envd.start(&start).await.unwrap()).await;
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(&lines[..3], ["65534", "65534", "nobody nobody"], "{}", ran.stderr);
    assert!(ran.stdout.contains("Uid:\t65534\t65534\t65534\t65534"), "{}", ran.stdout);
    assert!(ran.stdout.contains("Gid:\t65534\t65534\t65534\t65534"), "{}", ran.stdout);
    assert!(ran.stdout.contains("CapPrm:\t0000000000000000\nCapEff:\t0000000000000000"), "{}", ran.stdout);
    // And envd is itself again.
    let ran = guest.run("id -u").await;
    assert_eq!(ran.stdout, "0\n");
    let nobody = guest.envd.start(&Start { user: Some("nosuch".into()), ..shell("true") }).await.map(drop);
    assert!(matches!(nobody, Err(EnvdError::Refused(message)) if message == "invalid username: 'nosuch'"));
}

#[tokio::test]
async fn a_command_is_killed_when_its_time_is_over_and_its_children_too() {
    let guest = Guest::new();
    let start = Start { timeout: Some(Duration::from_millis(200)), ..shell("echo $$; sleep 600; echo never") };
    let mut events = guest.envd.start(&start).await.unwrap();
    let mut last = None;
    while let Some(event) = events.next().await {
        last = Some(event);
    }
    assert!(matches!(last, Some(Err(EnvdError::TimedOut(_)))), "{last:?}");
    // Both the shell and its sleep are reaped.
    while !crate::guest::below(guest.child.id()).is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(guest.envd.processes().await.unwrap(), []);
}

#[tokio::test]
async fn whoever_comes_late_hears_what_comes_then_and_the_end_for_a_while() {
    let guest = Guest::new();
    let start =
        Start { stdin: true, tag: Some("talker".into()), ..shell("echo early; read line; echo late $line; exit 4") };
    let mut first = guest.envd.start(&start).await.unwrap();
    until(&mut first, "early").await;
    let talker = Selector::Tag("talker".into());
    let second = guest.envd.connect(&talker).await.unwrap();
    guest.envd.send_input(&talker, false, "x\n".into()).await.unwrap();
    let (first, second) = (gather(first).await, gather(second).await);
    assert_eq!((first.stdout.as_str(), first.code()), ("late x\n", 4));
    assert_eq!((second.stdout.as_str(), second.code()), ("late x\n", 4));
    let third = gather(guest.envd.connect(&talker).await.unwrap()).await;
    assert_eq!((third.stdout.as_str(), third.code()), ("", 4));
    let signal = guest.envd.signal(&talker, 9).await;
    assert!(matches!(signal, Err(EnvdError::NotFound(_))));
}

/// Waits until a command inside has made a file.
async fn made(path: &std::path::Path) {
    while !path.exists() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn whoever_comes_back_hears_what_was_said_meanwhile() {
    let (guest, folder) = (Guest::new(), tempfile::tempdir().unwrap());
    let (go, done) = (folder.path().join("go"), folder.path().join("done"));
    let script = format!(
        "echo early; until [ -e {go} ]; do sleep 0.01; done; echo meanwhile; echo aside >&2; touch {done}; read line; \
         echo late; exit 4",
        go = go.display(),
        done = done.display()
    );
    let start = Start { stdin: true, tag: Some("talker".into()), ..shell(&script) };
    let mut first = guest.envd.start(&start).await.unwrap();
    assert_eq!(until(&mut first, "early\n").await, "early\n");
    drop(first);
    std::fs::write(&go, "").unwrap();
    made(&done).await;

    let talker = Selector::Tag("talker".into());
    // Half a word was heard of the first line.
    let mut back = guest.envd.reconnect(&talker, 3).await.unwrap();
    assert!(matches!(back.next().await, Some(Ok(Event::Started { from: Some(3), .. }))));
    guest.envd.send_input(&talker, false, "x\n".into()).await.unwrap();
    let heard = gather(back).await;
    assert_eq!((heard.stdout.as_str(), heard.stderr.as_str()), ("ly\nmeanwhile\nlate\n", "aside\n"));
    assert_eq!(heard.code(), 4);
    // It ended, and what it said last is still told to one who missed it.
    let all = "early\nmeanwhile\naside\n".len() as u64;
    let late = gather(guest.envd.reconnect(&talker, all).await.unwrap()).await;
    assert_eq!((late.stdout.as_str(), late.code()), ("late\n", 4));
}

#[tokio::test]
async fn whoever_was_away_for_too_long_learns_how_much_is_missing() {
    const SAID: usize = 3_000_000;
    let (guest, folder) = (Guest::new(), tempfile::tempdir().unwrap());
    let done = folder.path().join("done");
    let script = format!("head -c {SAID} /dev/zero; touch {}; read line", done.display());
    let start = Start { stdin: true, tag: Some("loud".into()), ..shell(&script) };
    drop(guest.envd.start(&start).await.unwrap());
    made(&done).await;
    let loud = Selector::Tag("loud".into());
    let mut back = guest.envd.reconnect(&loud, 0).await.unwrap();
    let Some(Ok(Event::Started { from: Some(from), .. })) = back.next().await else { panic!("it says where") };
    guest.envd.send_input(&loud, false, "\n".into()).await.unwrap();
    let rest = gather(back).await.stdout.len();
    assert_eq!(usize::try_from(from).unwrap() + rest, SAID);
    assert!((32 << 10..1 << 20).contains(&rest), "{rest}");
}

#[tokio::test]
async fn a_command_outlives_whoever_started_it() {
    let guest = Guest::new();
    let start = Start { stdin: true, tag: Some("lonely".into()), ..shell("read line; echo still here; read line") };
    let events = guest.envd.start(&start).await.unwrap();
    drop(events);
    let lonely = Selector::Tag("lonely".into());
    let mut events = guest.envd.connect(&lonely).await.unwrap();
    guest.envd.send_input(&lonely, false, "\n".into()).await.unwrap();
    until(&mut events, "still here").await;
}

#[tokio::test]
async fn the_end_waits_for_grandchildren_that_hold_the_pipe_unless_it_was_a_kill() {
    let guest = Guest::new();
    let ran = guest.run("(sleep 0.2; echo grandchild) & echo child").await;
    assert_eq!(ran.stdout, "child\ngrandchild\n");
    let mut events = guest.envd.start(&shell("sleep 600 & echo $!; exec sleep 600")).await.unwrap();
    let process = Selector::Pid(pid(&mut events).await);
    let grandchild: i32 = until(&mut events, "\n").await.trim().parse().unwrap();
    guest.envd.signal(&process, 9).await.unwrap();
    assert_eq!(gather(events).await.code(), 137);
    let grandchild = rustix::process::Pid::from_raw(grandchild).unwrap();
    rustix::process::kill_process(grandchild, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_terminal_is_one() {
    let guest = Guest::new();
    let start = Start {
        terminal: Some(Size { cols: 101, rows: 33 }),
        ..shell("test -t 0 -a -t 1 -a -t 2 && stty size && read line && echo got $line && stty size && tty")
    };
    let mut events = guest.envd.start(&start).await.unwrap();
    let process = Selector::Pid(pid(&mut events).await);
    until(&mut events, "33 101").await;
    guest.envd.resize(&process, Size { cols: 80, rows: 24 }).await.unwrap();
    guest.envd.send_input(&process, true, "hello\n".into()).await.unwrap();
    let ran = gather(events).await;
    assert!(ran.terminal.contains("got hello\r\n24 80\r\n/dev/pts/"), "{}", ran.terminal);
    assert_eq!(ran.code(), 0);
    let refused = guest.envd.close_stdin(&process).await;
    assert!(refused.is_err());
}

#[tokio::test]
async fn ctrl_c_in_a_terminal_interrupts_the_command_in_front() {
    let guest = Guest::new();
    let script = "trap 'echo interrupted; exit 5' INT; echo ready; sleep 600 & wait $!";
    let start = Start { terminal: Some(Size { cols: 80, rows: 24 }), ..shell(script) };
    let mut events = guest.envd.start(&start).await.unwrap();
    let process = Selector::Pid(pid(&mut events).await);
    until(&mut events, "ready").await;
    guest.envd.send_input(&process, true, "\x03".into()).await.unwrap();
    let ran = gather(events).await;
    assert!(ran.terminal.contains("interrupted"), "{}", ran.terminal);
    assert_eq!(ran.code(), 5);
}

#[tokio::test]
async fn a_hundred_commands_at_once_are_told_apart() {
    let guest = Guest::new();
    let commands = (0..100).map(|number| {
        let envd = guest.envd.clone();
        tokio::spawn(async move {
            gather(envd.start(&shell(&format!("echo {number}; exit {number}"))).await.unwrap()).await
        })
    });
    for (number, ran) in commands.collect::<Vec<_>>().into_iter().enumerate() {
        let ran = ran.await.unwrap();
        assert_eq!((ran.stdout.trim().parse(), ran.code()), (Ok(number), number as i32));
    }
}

#[tokio::test]
async fn what_a_child_inherits_is_its_pipes_and_nothing_of_envd() {
    let guest = Guest::new();
    let ran = guest.run("exec ls -l /proc/self/fd").await;
    assert!(ran.stdout.contains("pipe:"), "{}", ran.stdout);
    // Whoever runs the tests may have left files and pipes open; sockets, clocks and the like would be envd's.
    assert!(!ran.stdout.contains("socket:") && !ran.stdout.contains("anon_inode:"), "{}", ran.stdout);
    let mut events = guest.envd.start(&shell("exec sleep 600")).await.unwrap();
    assert!(matches!(events.next().await, Some(Ok(Event::Started { .. }))));
}
