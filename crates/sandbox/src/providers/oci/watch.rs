//! Keeps sandboxes within their disk where the filesystem does not: looks at those that work, and has their envd end
//! what it started when they are full.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use carrel_envd::Selector;
use carrel_model::SandboxId;

use super::{Inner, aside, desk::Place};
use crate::providers::local::disk::occupied;

/// How often it looks. No bell rings when a filesystem fills.
const ROUND: Duration = Duration::from_secs(5);

/// Watches for as long as the provider is there, unless the filesystem does it.
pub(crate) fn start(inner: &Arc<Inner>) {
    if !inner.yard.disk().enforces() {
        tokio::spawn(watch(Arc::downgrade(inner)));
    }
}

async fn watch(inner: Weak<Inner>) {
    // Processor time at the last look: what has not worked since has written nothing.
    let mut worked: HashMap<SandboxId, u64> = HashMap::new();
    let mut round = tokio::time::interval(ROUND);
    loop {
        round.tick().await;
        let Some(inner) = inner.upgrade() else { return };
        let places: Vec<_> = inner.places().iter().map(|(id, place)| (id.clone(), Arc::clone(place))).collect();
        worked.retain(|id, _| places.iter().any(|(other, _)| other == id));
        for (id, place) in places {
            look(&inner, id, &place, &mut worked).await;
        }
    }
}

async fn look(inner: &Arc<Inner>, id: SandboxId, place: &Place, worked: &mut HashMap<SandboxId, u64>) {
    let Some(record) = place.desk().await.as_ref().map(|desk| desk.record.clone()) else { return };
    if record.asleep.is_some() || !record.is_alive() {
        return;
    }
    let used = inner.yard.cgroup(&record).read().cpu_us.unwrap_or_default();
    if worked.insert(id, used) == Some(used) {
        return;
    }
    let (upper, most) = (inner.yard.upper(&record), record.limits.disk_mb.get() << 20);
    let Ok(used) = aside(move || Ok(occupied(&upper))).await else { return };
    if used <= most {
        return;
    }
    tracing::warn!(sandbox = ?record.id, used, most, "its disk is full; what runs in it is ended");
    let Some(envd) = place.desk().await.as_ref().map(|desk| desk.envd(inner)) else { return };
    for process in envd.processes().await.unwrap_or_default() {
        const KILL: u32 = 9;
        let _ = envd.signal(&Selector::Pid(process.pid), KILL).await;
    }
}
