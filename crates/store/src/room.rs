//! The room where changes are made.
//!
//! A change to SQLite is several short trips to the database's thread. Were they made among the house's other tasks, each
//! would queue behind every reader that the last entry woke. So they have a thread of their own; there is one writer
//! anyway. PostgreSQL answers over a socket that belongs to the house's runtime, so its changes stay there.

use std::future::Future;

use tokio::{
    runtime::{Builder, Handle, Runtime},
    sync::watch,
    task::JoinHandle,
};

pub(crate) struct Room {
    handle: Handle,
    own: Option<Runtime>,
    under_way: watch::Sender<usize>,
}

/// One change, from its beginning to its end.
struct Underway(watch::Sender<usize>);

impl Room {
    /// A thread of its own.
    pub(crate) fn apart() -> std::io::Result<Self> {
        let own = Builder::new_multi_thread().worker_threads(1).thread_name("carrel-writer").enable_all().build()?;
        Ok(Self { handle: own.handle().clone(), own: Some(own), under_way: watch::Sender::new(0) })
    }

    /// Among the others.
    pub(crate) fn shared() -> Self {
        Self { handle: Handle::current(), own: None, under_way: watch::Sender::new(0) }
    }

    /// Does the work to its end, whether or not anybody waits for it.
    pub(crate) fn spawn<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        let underway = Underway::new(&self.under_way);
        self.handle.spawn(async move {
            let done = work.await;
            drop(underway);
            done
        })
    }

    /// Waits until no change is under way.
    pub(crate) async fn rest(&self) {
        // We hold the sender: it cannot fail.
        let _ = self.under_way.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Underway {
    fn new(count: &watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count.clone())
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Some(own) = self.own.take() {
            // The last owner may be a task of the very thread that ends.
            own.shutdown_background();
        }
    }
}
