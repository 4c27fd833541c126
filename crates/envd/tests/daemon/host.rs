//! What the host asks, and what pid 1 owes its sandbox.

use std::{collections::HashSet, os::unix::process::ExitStatusExt, sync::Arc, time::Duration};

use carrel_envd::{Dial, Envd, EnvdError, Init, Selector, Start};
use rustix::process::{Pid, Signal};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::guest::{Guest, Socket, gather, pid, shell, until};

/// A guest whose envd is pid 1 of namespaces of its own.
fn first_of_its_namespace(more: &[&str]) -> Guest {
    let mut before = vec!["unshare", "--pid", "--fork", "--mount-proc", "--uts", "--kill-child"];
    if !crate::guest::is_root() {
        before.extend(["--user", "--map-root-user"]);
    }
    before.push("--");
    Guest::behind(&before, more)
}

#[tokio::test]
async fn a_port_inside_is_reached_through_a_raw_line() {
    let guest = Guest::new();
    let inside = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = inside.local_addr().unwrap().port();
    let echo = tokio::spawn(async move {
        let (mut line, _) = inside.accept().await.unwrap();
        line.write_all(b"welcome ").await.unwrap();
        let mut said = Vec::new();
        line.read_to_end(&mut said).await.unwrap();
        line.write_all(&said).await.unwrap();
    });
    let mut line = guest.envd.port(port).await.unwrap();
    line.write_all(b"hello").await.unwrap();
    line.shutdown().await.unwrap();
    let mut heard = String::new();
    line.read_to_string(&mut heard).await.unwrap();
    assert_eq!(heard, "welcome hello");
    echo.await.unwrap();
    let closed = guest.envd.port(port).await.map(drop);
    assert!(matches!(closed, Err(EnvdError::NotFound(_))), "{closed:?}");
}

#[tokio::test]
async fn metrics_show_what_there_is() {
    let guest = Guest::new();
    let metrics = guest.envd.metrics().await.unwrap();
    assert!(metrics.cpu_count > 0 && metrics.mem_total > metrics.mem_used && metrics.disk_total >= metrics.disk_used);
}

#[tokio::test]
async fn the_night_closes_every_line_and_the_morning_opens_new_ones() {
    let guest = Guest::new();
    let mut events = guest
        .envd
        .start(&Start { stdin: true, tag: Some("sleeper".into()), ..shell("read a; echo awake; read b") })
        .await
        .unwrap();
    pid(&mut events).await;
    let mut stray = guest.socket.dial().await.unwrap();
    stray.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    assert!(stray.read(&mut [0; 4096]).await.unwrap() > 0);
    // As long as its address is away it cannot listen there again, and we can take our time to look.
    std::fs::rename(guest.path("line"), guest.path("away")).unwrap();
    let before = sockets(&guest);
    assert!(before.len() >= 5, "{before:?}");
    let away = Arc::new(Socket { path: guest.path("away/envd.sock").into() });
    Envd::new(away, None).hibernate(Duration::from_millis(1)).await.unwrap();
    // Nothing that led outside is open any more; the two that stay are the runtime's own pair, for signals.
    let left = sockets(&guest).intersection(&before).count();
    assert!(left <= 2, "{left} of {before:?}");
    assert_eq!(stray.read(&mut [0; 8]).await.unwrap_or(0), 0);
    assert!(futures::StreamExt::next(&mut events).await.unwrap().is_err());
    // It listens again by itself, and what ran runs on.
    std::fs::rename(guest.path("away"), guest.path("line")).unwrap();
    while guest.envd.health().await.is_err() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let sleeper = Selector::Tag("sleeper".into());
    let mut events = guest.envd.connect(&sleeper).await.unwrap();
    guest.envd.send_input(&sleeper, false, "\n".into()).await.unwrap();
    until(&mut events, "awake").await;
}

fn sockets(guest: &Guest) -> HashSet<std::path::PathBuf> {
    let fds = std::fs::read_dir(format!("/proc/{}/fd", guest.child.id())).unwrap();
    let links = fds.flatten().filter_map(|fd| std::fs::read_link(fd.path()).ok());
    links.filter(|link| link.to_string_lossy().starts_with("socket:")).collect()
}

#[tokio::test]
async fn pid_one_takes_in_orphans_and_buries_them() {
    let guest = first_of_its_namespace(&[]);
    let ran = guest.run("(sleep 0.05 & ) ; exit 0").await;
    assert_eq!(ran.code(), 0);
    loop {
        let ran = guest.run("echo; for status in /proc/[0-9]*/status; do grep -H State $status; done").await;
        if !ran.stdout.contains("zombie") && !ran.stdout.is_empty() {
            break;
        }
    }
}

#[tokio::test]
async fn pid_one_is_told_its_host_name() {
    let guest = first_of_its_namespace(&[]);
    guest.envd.init(&Init { hostname: Some("desk-7".into()), ..Default::default() }).await.unwrap();
    assert_eq!(guest.run("cat /proc/sys/kernel/hostname").await.stdout, "desk-7\n");
}

#[tokio::test]
async fn pid_one_asked_to_end_asks_everybody_and_waits_for_them() {
    let mut guest = first_of_its_namespace(&[]);
    let done = guest.path("done");
    let script = format!("trap 'echo bye > {done}; exit 0' TERM; echo ready; while :; do sleep 0.01; done");
    let mut events = guest.envd.start(&shell(&script)).await.unwrap();
    until(&mut events, "ready").await;
    let envd = crate::guest::below(guest.child.id())[0];
    rustix::process::kill_process(Pid::from_raw(envd as i32).unwrap(), Signal::TERM).unwrap();
    let status = guest.child.wait().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(0), None));
    assert_eq!(std::fs::read_to_string(done).unwrap(), "bye\n");
    drop(events);
}

#[tokio::test]
async fn only_the_host_is_heard_when_that_was_asked() {
    let guest = first_of_its_namespace(&["--host-only"]);
    // We are outside of its pid namespace, so we are the host.
    guest.envd.init(&Init { token: Some("secret".into()), ..Default::default() }).await.unwrap();
    guest.envd.init(&Init { token: Some(String::new().into()), ..Default::default() }).await.unwrap();
    let script = format!(
        "import socket; s = socket.socket(socket.AF_UNIX); s.connect({:?}); s.send(b'GET /health HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n'); print(len(s.recv(100)))",
        guest.socket.path,
    );
    let start = Start { program: "python3".into(), args: vec!["-c".into(), script], ..Default::default() };
    let ran = gather(guest.envd.start(&start).await.unwrap()).await;
    assert!(
        ran.stdout == "0\n" || ran.stderr.contains("ConnectionReset") || ran.stderr.contains("BrokenPipe"),
        "{ran:?}"
    );
}
