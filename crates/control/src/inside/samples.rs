//! What sandboxes used, over time.
//!
//! A sandbox that somebody works in is measured every few seconds; one whose processors rest is measured ever more seldom,
//! and one that nobody ever entered not at all: a thousand that idle cost nothing. Processor time is kept as a sum since
//! the sandbox began, so that what is left out between two samples is still in their difference.
//!
//! Kept in memory, on the node that measures; a restart begins anew. Absent on purpose: sandboxes that are measured
//! elsewhere (`Reach::Anywhere`), where every measurement would be a question to somebody else's cluster.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

use carrel_model::{
    Action, Grant, SandboxId, Subject, Timestamp,
    sandbox::{Phase, Usage},
};
use carrel_sandbox::Reach;
use jiff::SignedDuration;

use crate::{Error, SandboxesDesk, house::House};

/// How often one that works is measured, and one that rests at the least.
const EVERY: SignedDuration = SignedDuration::from_secs(5);
const SELDOM: SignedDuration = SignedDuration::from_secs(320);
/// So many samples are kept of one sandbox; older ones are thinned out.
const MOST: usize = 360;
/// What of a round may be spent on measuring. Whoever is left is first in the next one.
const BUDGET: Duration = Duration::from_millis(100);
/// A sample that is younger answers whoever asks again.
const HOLDS: SignedDuration = SignedDuration::from_secs(1);
/// One that used less of a processor than this rests.
const RESTS_BELOW: f64 = 0.01;

/// One that used less of a processor than this is idle: less than any job, and more than a shell that waits.
const IDLES_BELOW: f64 = 0.005;

/// What a sandbox used at a moment. What its host cannot measure is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// When.
    pub at: Timestamp,
    /// Processor time since it was made, in microseconds.
    pub cpu_us: Option<u64>,
    /// Bytes of memory, caches included.
    pub memory_bytes: Option<u64>,
    /// Bytes of caches in that memory.
    pub cache_bytes: Option<u64>,
    /// Bytes it has written to its own layer.
    pub disk_bytes: Option<u64>,
}

impl Sample {
    pub(super) fn new(at: Timestamp, usage: &Usage) -> Sample {
        let Usage { cpu_us, memory_bytes, cache_bytes, disk_bytes, .. } = *usage;
        Sample { at, cpu_us, memory_bytes, cache_bytes, disk_bytes }
    }

    /// How much of one processor was used since an earlier moment; with several processors it may be more than 1.
    pub fn load_since(&self, at: Timestamp, cpu_us: u64) -> f64 {
        let now = self.cpu_us.unwrap_or(0);
        // One that came back from disk counts from zero again.
        let used = if now >= cpu_us { now - cpu_us } else { now };
        used as f64 / self.at.duration_since(at).as_micros().max(1) as f64
    }
}

/// The samples of this node.
#[derive(Default)]
pub(crate) struct Samples(Mutex<HashMap<SandboxId, Watched>>);

struct Watched {
    kept: VecDeque<Sample>,
    /// When it is measured next, and how long it was put off for.
    due: Timestamp,
    rest: SignedDuration,
}

impl Watched {
    fn keep(&mut self, sample: Sample) {
        self.kept.push_back(sample);
        if self.kept.len() > MOST {
            let (half, mut place) = (MOST / 2, 0);
            self.kept.retain(|_| {
                place += 1;
                place > half || place % 2 == 1
            });
        }
    }
}

impl Samples {
    /// Somebody does something in a sandbox: it is measured soon.
    pub(crate) fn stir(&self, id: &SandboxId, now: Timestamp) {
        let mut all = self.held();
        match all.get_mut(id) {
            Some(watched) if watched.rest == EVERY => {}
            Some(watched) => (watched.rest, watched.due) = (EVERY, watched.due.min(now + EVERY)),
            None => drop(all.insert(id.clone(), Watched { kept: VecDeque::new(), due: now + EVERY, rest: EVERY })),
        }
    }

    /// Forgets a sandbox that ended.
    pub(crate) fn forget(&self, id: &SandboxId) {
        self.held().remove(id);
    }

    /// Those that are to be measured now, whoever waited longest first.
    fn due(&self, now: Timestamp) -> Vec<SandboxId> {
        let all = self.held();
        let mut due: Vec<_> = all.iter().filter(|(_, watched)| watched.due <= now).collect();
        due.sort_by_key(|(_, watched)| watched.due);
        due.into_iter().map(|(id, _)| id.clone()).collect()
    }

    /// Keeps what was measured when it was due.
    fn keep_due(&self, id: &SandboxId, sample: Sample) {
        let mut all = self.held();
        // Forgotten meanwhile.
        let Some(watched) = all.get_mut(id) else { return };
        let load = watched.kept.back().map(|last| sample.load_since(last.at, last.cpu_us.unwrap_or(0)));
        watched.rest = match load {
            Some(load) if load < RESTS_BELOW => (watched.rest * 4).min(SELDOM),
            _ => EVERY,
        };
        watched.due = sample.at + watched.rest;
        watched.keep(sample);
    }

    /// There is nothing to measure for now.
    fn put_off(&self, id: &SandboxId, now: Timestamp) {
        if let Some(watched) = self.held().get_mut(id) {
            (watched.rest, watched.due) = (SELDOM, now + SELDOM);
        }
    }

    /// Keeps what was measured because somebody asked. Who asks, watches: the next one is measured soon.
    fn keep_asked(&self, id: &SandboxId, sample: Sample) {
        self.stir(id, sample.at);
        if let Some(watched) = self.held().get_mut(id) {
            watched.keep(sample);
        }
    }

    /// When a sandbox was last seen at work, now that it was measured once more: the end of the last stretch between two
    /// samples in which it used its processors. What was never measured before counts from its beginning, as if all that
    /// it ever used had been used in the time given.
    pub(super) fn worked_until(&self, id: &SandboxId, now: Sample, within: SignedDuration) -> Option<Timestamp> {
        let mut all = self.held();
        let watched = all.entry(id.clone()).or_insert_with(|| Watched {
            kept: VecDeque::new(),
            due: now.at + EVERY,
            rest: EVERY,
        });
        watched.keep(now);
        if watched.kept.len() == 1 {
            return (now.load_since(now.at - within, 0) >= IDLES_BELOW).then_some(now.at);
        }
        let newest_first = watched.kept.iter().rev();
        let mut stretches = newest_first.clone().zip(newest_first.skip(1));
        let worked = |(new, old): &(&Sample, &Sample)| new.load_since(old.at, old.cpu_us.unwrap_or(0)) >= IDLES_BELOW;
        stretches.find(worked).map(|(new, _)| new.at)
    }

    /// All that is kept of a sandbox, the oldest first.
    fn of(&self, id: &SandboxId) -> Vec<Sample> {
        self.held().get(id).map(|watched| watched.kept.iter().copied().collect()).unwrap_or_default()
    }

    fn held(&self) -> MutexGuard<'_, HashMap<SandboxId, Watched>> {
        self.0.lock().expect("nobody panics while holding the samples")
    }
}

/// Measures, round after round.
pub(crate) async fn walk(house: Arc<House>) {
    let mut round = tokio::time::interval(EVERY.unsigned_abs());
    round.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        round.tick().await;
        let began = Instant::now();
        for id in house.samples.due(house.store.now()) {
            measure(&house, &id).await;
            if began.elapsed() > BUDGET {
                break;
            }
        }
    }
}

async fn measure(house: &Arc<House>, id: &SandboxId) {
    let now = house.store.now();
    let view = match (SandboxesDesk { house }).look(id).await {
        Ok(view) if view.phase.is_over() => return house.samples.forget(id),
        Ok(view) => view,
        Err(Error::NotFound { .. }) => return house.samples.forget(id),
        Err(_) => return house.samples.put_off(id, now),
    };
    let near = house.post(&view.provider).ok().filter(|post| post.provider.reach() == Reach::Node);
    let Some(post) = near.filter(|_| view.phase == Phase::Ready) else { return house.samples.put_off(id, now) };
    match post.provider.usage(id).await {
        Ok(usage) => house.samples.keep_due(id, Sample::new(house.store.now(), &usage)),
        Err(_) => house.samples.put_off(id, now),
    }
}

impl SandboxesDesk<'_> {
    /// What a sandbox used so far, the newest last. One that works is measured for the answer.
    pub async fn samples(&self, grant: &Grant, id: &SandboxId) -> Result<Vec<Sample>, Error> {
        let (view, kept) = (self.look(id).await?, self.house.samples.of(id));
        let now = self.house.store.now();
        let is_old = kept.last().is_none_or(|last| now.duration_since(last.at) >= HOLDS);
        if kept.is_empty() || (is_old && view.phase == Phase::Ready) {
            let stats = self.stats(grant, id).await?;
            let sample = Sample::new(stats.at, &stats.usage);
            self.house.samples.keep_asked(id, sample);
            return Ok(kept.into_iter().chain([sample]).collect());
        }
        let subject = Subject::Sandbox { id: Some(id), agent: view.agent_id.as_ref() };
        self.house.admit(grant, Action::SandboxStats, subject).await?;
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> SandboxId {
        SandboxId::from_random([7; 16])
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
    }

    fn sample(seconds: i64, cpu_us: u64) -> Sample {
        Sample {
            at: at(seconds),
            cpu_us: Some(cpu_us),
            memory_bytes: Some(1),
            cache_bytes: Some(0),
            disk_bytes: Some(0),
        }
    }

    /// The moments at which it is measured within a time, when it has used so much processor time by then.
    fn measured(samples: &Samples, until: i64, cpu_us: impl Fn(i64) -> u64) -> Vec<i64> {
        let mut moments = Vec::new();
        for second in (0..=until).step_by(5) {
            for id in samples.due(at(second)) {
                samples.keep_due(&id, sample(second, cpu_us(second)));
                moments.push(second);
            }
        }
        moments
    }

    #[test]
    fn one_that_nobody_entered_is_never_measured() {
        assert!(measured(&Samples::default(), 1000, |_| 0).is_empty());
    }

    #[test]
    fn one_that_works_is_measured_every_five_seconds() {
        let samples = Samples::default();
        samples.stir(&id(), at(0));
        assert_eq!(measured(&samples, 30, |second| second as u64 * 500_000), [5, 10, 15, 20, 25, 30]);
    }

    #[test]
    fn one_that_rests_is_measured_ever_more_seldom_until_somebody_comes_back() {
        let samples = Samples::default();
        samples.stir(&id(), at(0));
        assert_eq!(measured(&samples, 1000, |_| 1000), [5, 10, 30, 110, 430, 750]);
        samples.stir(&id(), at(1001));
        assert_eq!(samples.due(at(1006)), [id()]);
        samples.forget(&id());
        assert!(samples.due(at(5000)).is_empty() && samples.of(&id()).is_empty());
    }

    #[test]
    fn one_was_at_work_until_its_processors_rested() {
        let (samples, within) = (Samples::default(), SignedDuration::from_secs(300));
        let busy = |second, cpu_us| samples.worked_until(&id(), sample(second, cpu_us), within);
        assert_eq!(busy(0, 60_000_000), Some(at(0)), "what it did before is not known: it may still do it");
        assert_eq!(busy(300, 60_000_000), None, "nothing since");
        assert_eq!(busy(600, 60_500_000), None, "a shell that waits");
        assert_eq!(busy(900, 75_000_000), Some(at(900)), "a job");
        assert_eq!(busy(1200, 75_000_000), Some(at(900)), "which is over");
        // One that came back from disk counts from zero again.
        assert_eq!(busy(1500, 9_000_000), Some(at(1500)));
        samples.forget(&id());
        assert_eq!(busy(1800, 20_000), None, "one that is new and did nothing but begin");
    }

    #[test]
    fn the_past_is_thinned_out_and_never_cut_off() {
        let samples = Samples::default();
        for second in 0..10_000 {
            samples.keep_asked(&id(), sample(second, second as u64));
        }
        let kept = samples.of(&id());
        assert!(kept.len() <= MOST && kept.len() >= MOST / 2, "{}", kept.len());
        assert_eq!((kept[0].at, kept[kept.len() - 1].at), (at(0), at(9999)));
        assert!(kept.windows(2).all(|pair| pair[0].at < pair[1].at));
        let recent = kept.iter().filter(|sample| sample.at > at(9900)).count();
        assert!(recent > 90, "the newest are all there: {recent}");
    }

    #[test]
    fn a_sandbox_that_came_back_from_disk_counts_anew() {
        assert_eq!(sample(10, 5_000_000).load_since(at(0), 0), 0.5);
        assert_eq!(sample(10, 1_000_000).load_since(at(0), 90_000_000), 0.1);
    }
}
