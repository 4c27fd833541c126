//! How the client keeps and loses its lines.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use carrel_envd::{Dial, Envd, EnvdError, Line};

use crate::guest::{Guest, Socket, gather, shell};

/// Counts how often a line was opened.
struct Counted {
    socket: Arc<Socket>,
    opened: AtomicUsize,
}

#[async_trait]
impl Dial for Counted {
    async fn dial(&self) -> std::io::Result<Box<dyn Line>> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        self.socket.dial().await
    }
}

fn counted(guest: &Guest) -> (Arc<Counted>, Envd) {
    let counted = Arc::new(Counted { socket: guest.socket.clone(), opened: AtomicUsize::new(0) });
    (counted.clone(), Envd::new(counted, None))
}

#[tokio::test]
async fn one_line_serves_one_request_after_the_other() {
    let guest = Guest::new();
    let (counted, envd) = counted(&guest);
    for _ in 0..10 {
        envd.health().await.unwrap();
        gather(envd.start(&shell("echo hi")).await.unwrap()).await;
        envd.list("/", 1, None).await.unwrap();
        envd.stat("/no/such", None).await.unwrap_err();
        envd.connect(&carrel_envd::Selector::Pid(1)).await.map(drop).unwrap_err();
    }
    assert_eq!(counted.opened.load(Ordering::Relaxed), 1);
    envd.hang_up();
    envd.health().await.unwrap();
    assert_eq!(counted.opened.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_line_that_died_while_nobody_looked_is_replaced() {
    let guest = Guest::new();
    let (counted, envd) = counted(&guest);
    envd.health().await.unwrap();
    // Another client sends it to bed, which closes our idle line too.
    guest.envd.hibernate(std::time::Duration::ZERO).await.unwrap();
    while guest.envd.health().await.is_err() {
        tokio::task::yield_now().await;
    }
    envd.health().await.unwrap();
    assert_eq!(counted.opened.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_sandbox_that_is_gone_does_not_answer() {
    let mut guest = Guest::new();
    guest.envd.health().await.unwrap();
    let mut events = guest.envd.start(&shell("echo hi; exec sleep 600")).await.unwrap();
    crate::guest::until(&mut events, "hi").await;
    let left = crate::guest::below(guest.child.id());
    guest.child.kill().unwrap();
    guest.child.wait().unwrap();
    assert!(matches!(futures::StreamExt::next(&mut events).await, Some(Err(EnvdError::Unreachable(_)))));
    assert!(matches!(guest.envd.health().await, Err(EnvdError::Unreachable(_))));
    for pid in left {
        let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
}
