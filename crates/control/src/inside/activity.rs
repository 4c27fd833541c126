//! What goes on in each sandbox, as far as this node has part in it, and how that keeps it from counting as idle.
//!
//! A row says when its sandbox is idle. Whatever happens inside moves that moment on, at most twice in the time that the
//! sandbox is given; somebody who is there keeps moving it until they leave: a turn of an agent, who waits for a command,
//! who sits at a terminal, a visitor of a port. A command by itself does not: it counts by what it prints and by the
//! processors that it uses, and both are looked at when the moment comes. So a job that nobody waits for is not put to
//! sleep, and a shell that somebody forgot keeps no desk.
//!
//! Where processor time is not measured, a command that runs is all there is to go by, and keeps its sandbox awake.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use carrel_model::{
    SandboxId, Timestamp,
    public::{Activity, SandboxView},
    sandbox::{Phase, Sandbox},
};
use carrel_sandbox::Reach;
use jiff::SignedDuration;
use tokio::task::AbortHandle;

use super::samples::Sample;
use crate::{Error, house::House};

/// What somebody does in a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    /// A command runs.
    Exec,
    /// Somebody waits for a command.
    Waiting,
    /// An agent takes its turn.
    Turn,
    /// Somebody sits at a terminal.
    Terminal,
    /// Somebody visits a port.
    Port,
}

#[derive(Default)]
pub(crate) struct Activities {
    held: Mutex<HashMap<SandboxId, Held>>,
}

#[derive(Default, Clone, Copy)]
struct Held {
    shown: Activity,
    /// When the row was last moved on.
    stirred_at: Option<Timestamp>,
    /// How many are there and have not left.
    present: u32,
}

/// Something that goes on; it ends when this is dropped.
pub(crate) struct Busy {
    house: Arc<House>,
    view: Arc<SandboxView>,
    doing: Doing,
    /// It keeps its sandbox awake by itself, not by what comes of it.
    stays: bool,
    stirring: Option<AbortHandle>,
}

impl Activities {
    /// How things stand in a sandbox.
    pub(crate) fn of(&self, id: &SandboxId) -> Activity {
        self.held().get(id).map(|held| held.shown).unwrap_or_default()
    }

    /// Something happened in a sandbox.
    pub(crate) fn touch(&self, house: &Arc<House>, view: &SandboxView) {
        let now = house.store.now();
        house.samples.stir(&view.id, now);
        let mut all = self.held();
        let held = all.entry(view.id.clone()).or_default();
        held.shown.last_active_at = Some(now);
        let Some(idle_s) = view.idle_s else { return };
        // Often enough that it cannot run out, and no more.
        let rest = SignedDuration::from_millis(i64::try_from(idle_s * 500).unwrap_or(i64::MAX));
        // A clock that went back knows nothing of when that was.
        if held.stirred_at.is_some_and(|at| at <= now && now.duration_since(at) < rest) {
            return;
        }
        held.stirred_at = Some(now);
        drop(all);
        let (house, id) = (Arc::clone(house), view.id.clone());
        tokio::spawn(async move {
            if let Err(error) = stir(&house, &id).await {
                tracing::warn!(sandbox = %id, error = &error as &dyn std::error::Error, "activity was not noted");
            }
        });
    }

    /// Whether somebody is in a sandbox who keeps it awake, however long that takes and whatever the clock says.
    fn is_anybody_in(&self, id: &SandboxId) -> bool {
        self.held().get(id).is_some_and(|held| held.present > 0)
    }

    /// Forgets a sandbox that ended.
    pub(crate) fn forget(&self, id: &SandboxId) {
        self.held().remove(id);
    }

    fn held(&self) -> std::sync::MutexGuard<'_, HashMap<SandboxId, Held>> {
        self.held.lock().expect("nobody panics while holding the list")
    }
}

impl Busy {
    /// Begins something.
    pub(crate) fn new(house: &Arc<House>, view: &Arc<SandboxView>, doing: Doing) -> Busy {
        let stays = doing != Doing::Exec || !is_measured(house, view);
        let mut busy = Busy { house: Arc::clone(house), view: Arc::clone(view), doing, stays, stirring: None };
        busy.count(1);
        house.activities.touch(house, view);
        if let Some(idle_s) = view.idle_s.filter(|_| stays) {
            let (house, view) = (Arc::clone(house), Arc::clone(view));
            let again = Duration::from_millis(idle_s * 500);
            let stirring = tokio::spawn(async move {
                loop {
                    tokio::time::sleep(again).await;
                    house.activities.touch(&house, &view);
                }
            });
            busy.stirring = Some(stirring.abort_handle());
        }
        busy
    }

    fn count(&self, by: i32) {
        let mut all = self.house.activities.held();
        let held = all.entry(self.view.id.clone()).or_default();
        if self.stays {
            held.present = held.present.saturating_add_signed(by);
        }
        let count = match self.doing {
            Doing::Exec => &mut held.shown.execs,
            Doing::Terminal => &mut held.shown.terminals,
            Doing::Port => &mut held.shown.ports,
            Doing::Waiting | Doing::Turn => return,
        };
        *count = count.saturating_add_signed(by);
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(stirring) = &self.stirring {
            stirring.abort();
        }
        self.count(-1);
        self.house.activities.touch(&self.house, &self.view);
    }
}

/// Whether what a sandbox uses is measured when its moment comes. Elsewhere every measurement would be a question to
/// somebody else's cluster.
fn is_measured(house: &House, view: &SandboxView) -> bool {
    house.post(&view.provider).is_ok_and(|post| post.provider.reach() == Reach::Node)
}

/// When something was last seen to happen in a sandbox that is about to be put to sleep for silence; nothing when that is
/// long enough ago.
pub(crate) async fn last_seen(house: &House, sandbox: &Sandbox) -> Option<Timestamp> {
    let (id, now) = (&sandbox.id, house.store.now());
    let given = SignedDuration::from_secs(i64::try_from(sandbox.manners.idle?.get()).unwrap_or(i64::MAX));
    // A machine that slept for hours wakes up with everybody still there: it is the clock that moved, and not they who left.
    if house.activities.is_anybody_in(id) {
        return Some(now);
    }
    let activity = house.activities.of(id);
    let measured = match house.post(&sandbox.spec.provider) {
        Ok(post) if post.provider.reach() == Reach::Node => post.provider.usage(id).await.ok(),
        _ => None,
    };
    let worked = match measured.filter(|usage| usage.cpu_us.is_some()) {
        Some(usage) => house.samples.worked_until(id, Sample::new(now, &usage), given),
        None => (activity.execs > 0).then_some(now),
    };
    worked.into_iter().chain(activity.last_active_at).max().filter(|seen| now.duration_since(*seen) < given)
}

async fn stir(house: &House, id: &SandboxId) -> Result<(), Error> {
    let id = id.clone();
    let stirred = house.store.change(move |tx| {
        Box::pin(async move {
            // One that sleeps is not woken by the last word of what stands still in it.
            if let Some((mut sandbox, _)) = tx.lock_sandbox(&id).await?
                && !sandbox.phase.is_over()
                && sandbox.phase != Phase::Paused
            {
                tx.stir_sandbox(&mut sandbox).await?;
            }
            Ok::<_, Error>(())
        })
    });
    stirred.await
}
