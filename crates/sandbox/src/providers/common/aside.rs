//! Waiting for what runs beside: threads that may block, and tasks that go on when their caller goes away.

use std::io;

use crate::ProviderError;

/// Runs what blocks on a thread that may.
pub(crate) async fn aside<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(io::Error::other("the server is closing")),
        },
    }
}

/// Waits for a task that goes on when nobody waits for it any more.
pub(crate) async fn finish<T>(task: tokio::task::JoinHandle<Result<T, ProviderError>>) -> Result<T, ProviderError> {
    match task.await {
        Ok(done) => done,
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(ProviderError::Unavailable { why: "the server is closing".into() }),
        },
    }
}
