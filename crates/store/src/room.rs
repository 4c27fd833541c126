//! The room where changes are made.
//!
//! A change to SQLite is a dozen short trips to the database's thread. Were they made among the house's other tasks, each
//! would queue behind every reader that the last entry woke. So they have a thread of their own; there is one writer
//! anyway. PostgreSQL answers over a socket that belongs to the house's runtime, so its changes stay there.

use std::future::Future;

use tokio::{
    runtime::{Builder, Handle, Runtime},
    task::JoinHandle,
};

pub(crate) struct Room {
    handle: Handle,
    own: Option<Runtime>,
}

impl Room {
    /// A thread of its own.
    pub(crate) fn apart() -> std::io::Result<Self> {
        let own = Builder::new_multi_thread().worker_threads(1).thread_name("carrel-writer").enable_all().build()?;
        Ok(Self { handle: own.handle().clone(), own: Some(own) })
    }

    /// Among the others.
    pub(crate) fn shared() -> Self {
        Self { handle: Handle::current(), own: None }
    }

    pub(crate) fn spawn<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.handle.spawn(work)
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
