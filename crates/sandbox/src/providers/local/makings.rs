//! The makings of templates that are under way. Each goes on when nobody waits for it any more; all of them end with the
//! server, and with them what they are made on: a making belongs to nobody who could take it up again.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::slot::KERNEL_PATIENCE;
use crate::template::Progress;

/// How long makings may take to end: each has a bench to end, and what was just made may have to be read once.
const PATIENCE: Duration = KERNEL_PATIENCE.saturating_mul(2);

/// What is being made.
#[derive(Default)]
pub(crate) struct Makings {
    end: CancellationToken,
    tasks: TaskTracker,
}

impl Makings {
    /// Does something that must be done before the server has ended.
    pub(crate) fn spawn<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.tasks.spawn(work)
    }

    /// What goes with a making, so that it ends with the server.
    pub(crate) fn accompany(&self, progress: &Progress) -> Progress {
        progress.clone().until(self.end.clone())
    }

    /// Calls all of them off and waits until nothing of them is left. What takes too long is left to the next start.
    pub(crate) async fn close(&self) {
        self.end.cancel();
        self.tasks.close();
        if tokio::time::timeout(PATIENCE, self.tasks.wait()).await.is_err() {
            tracing::warn!("a template is still being made after {PATIENCE:?}; the next start ends what is left of it");
        }
    }
}
