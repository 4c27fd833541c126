//! Follows a process from its start to its end: envd's stream becomes a transcript.
//!
//! ```text
//! Following ─► Ended
//!     │ ▲
//!     ▼ │  (the line broke, the sandbox was stored, the server restarted)
//!   Rejoining ─► Lost
//! ```
//!
//! The first moments are not written down before they are over: a short exec is one transaction. What runs longer is
//! written when a moment has passed or enough has come. When too much waits to be written, envd is not read, and so the
//! process is held up; nothing is dropped but what comes after the transcript's own limit.

use std::{sync::Arc, time::Duration};

use carrel_envd::{EnvdError, Event, Events, Selector};
use carrel_model::{
    exec::{Exec, ExecStatus},
    public::SandboxView,
};
use carrel_sandbox::MetLimits;
use carrel_store::Stream;
use futures::StreamExt;
use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    activity::{Busy, Doing},
    live::{Live, TAIL},
    met,
    scribe::{Kept, Note},
};
use crate::{Error, SandboxesDesk, house::House};

/// What was printed waits no longer than this to be written down.
const A_MOMENT: Duration = Duration::from_millis(20);
/// No more than this waits to be written down.
const MOST_WAITING: i64 = 1024 * 1024;
/// What is printed is noted as something that happens this often.
const STIRS_EVERY: Duration = Duration::from_secs(1);
/// How often a line that breaks is opened again before the exec is given up.
const TRIES: u32 = 8;

pub(crate) struct Follower {
    pub(crate) house: Arc<House>,
    pub(crate) live: Arc<Live>,
    /// Where it runs, as far as that is known.
    pub(crate) view: Option<Arc<SandboxView>>,
    /// A line of the audit that is written with the first note.
    pub(crate) audit: Option<carrel_model::audit::AuditLine>,
    /// Counts it among what runs there.
    pub(crate) busy: Option<Busy>,
    /// A note on its way, and up to where the transcript is kept when it has arrived.
    pub(crate) writing: Option<(oneshot::Receiver<Kept>, i64)>,
    /// Somebody who wants to know that it is written down, and soon.
    pub(crate) witness: Option<oneshot::Sender<()>>,
    /// How often its sandbox had met its limits when it began. Not counted for what is over in a moment.
    pub(crate) met: Option<MetLimits>,
    /// The line was down: how much was heard by then.
    pub(crate) heard_before: Option<u64>,
}

enum Left {
    /// It ended, or was lost: the row says so.
    Over,
    /// The line is gone; the process may still be there.
    Broken,
    /// The house closes, and the next start takes it up; or another node took it up already.
    Stopped,
}

impl Follower {
    /// Follows a process that was just started.
    pub(crate) fn begin(self, events: Events, cut: CancellationToken) {
        let tasks = self.house.tasks().clone();
        tasks.spawn(self.run(Some((events, cut))));
    }

    /// Looks for a process that was followed before.
    pub(crate) fn take_up(self) {
        let tasks = self.house.tasks().clone();
        tasks.spawn(self.run(None));
    }

    async fn run(mut self, mut line: Option<(Events, CancellationToken)>) {
        loop {
            let left = match line.take() {
                Some((events, cut)) => self.follow(events, cut).await,
                None => match self.rejoin().await {
                    Ok(Some(found)) => {
                        line = Some(found);
                        continue;
                    }
                    Ok(None) => Left::Stopped,
                    Err(why) => {
                        let now = self.house.store.now();
                        self.live.end(|exec| exec.lose(why, now));
                        Left::Over
                    }
                },
            };
            match left {
                Left::Broken => {}
                Left::Over | Left::Stopped => break,
            }
        }
        self.busy = None;
        self.write().await;
        self.written().await;
        let exec = self.live.exec();
        self.house.lives.remove(&exec.id);
        let _ = self.house.exec_news.send(Arc::new(exec));
    }

    async fn follow(&mut self, mut events: Events, cut: CancellationToken) -> Left {
        let (house, live) = (Arc::clone(&self.house), Arc::clone(&self.live));
        let stop = house.stop().clone();
        let patience = if self.witness.is_some() { Duration::ZERO } else { A_MOMENT };
        let mut write_at = Some(Instant::now() + patience);
        let mut waiting = 0;
        // Its beginning was noted.
        let mut stirred = Instant::now();
        loop {
            if waiting >= TAIL && self.writing.is_none() {
                self.write().await;
                (waiting, write_at) = (0, None);
            }
            tokio::select! {
                biased;
                () = cut.cancelled() => return Left::Broken,
                () = stop.cancelled() => return Left::Stopped,
                event = events.next(), if waiting < MOST_WAITING => {
                    let now = house.store.now();
                    let printed = matches!(&event, Some(Ok(Event::Stdout(_) | Event::Stderr(_) | Event::Terminal(_))));
                    match event {
                        Some(Ok(Event::Started { pid, from })) => {
                            live.edit(|exec| exec.pid = Some(pid));
                            if let Some(heard) = self.heard_before.take() {
                                self.tell_of_gap(heard, from);
                            }
                        }
                        Some(Ok(Event::Stdout(bytes) | Event::Terminal(bytes))) => {
                            waiting = live.push(Stream::Stdout, bytes);
                        }
                        Some(Ok(Event::Stderr(bytes))) => waiting = live.push(Stream::Stderr, bytes),
                        Some(Ok(Event::Ended(ended))) => {
                            let met = if ended.exit_code == 0 { None } else { self.met_since().await };
                            let note = met.map_or(ended.status.clone(), |met| format!("{}: {met}", ended.status));
                            live.end(|exec| exec.end(ended.exit_code, note, now));
                            return Left::Over;
                        }
                        Some(Err(EnvdError::TimedOut(_))) => {
                            live.end(|exec| exec.time_out(now));
                            return Left::Over;
                        }
                        Some(Err(EnvdError::Unreachable(_))) | None => return Left::Broken,
                        Some(Err(error)) => {
                            live.end(|exec| exec.lose(error.to_string(), now));
                            return Left::Over;
                        }
                    }
                    if let Some(view) = self.view.as_ref().filter(|_| printed && stirred.elapsed() >= STIRS_EVERY) {
                        stirred = Instant::now();
                        house.activities.touch(&house, view);
                    }
                    if waiting > 0 && write_at.is_none() {
                        write_at = Some(Instant::now() + A_MOMENT);
                    }
                }
                (kept, length) = arrived(&mut self.writing) => {
                    self.writing = None;
                    self.kept(kept, length);
                    if kept == Kept::ByAnother {
                        return Left::Stopped;
                    }
                }
                () = until(write_at), if write_at.is_some() && self.writing.is_none() => {
                    if self.met.is_none() {
                        self.met = self.count_met().await.map(|(_, met)| met);
                    }
                    self.write().await;
                    (waiting, write_at) = (0, None);
                }
            }
        }
    }

    /// How often its sandbox met its limits so far.
    async fn count_met(&self) -> Option<(Arc<SandboxView>, MetLimits)> {
        let view = SandboxesDesk { house: &self.house }.look(&self.live.exec().sandbox).await.ok()?;
        let met = met::count(&self.house, &view).await?;
        Some((view, met))
    }

    /// The limits that were met while it ran.
    async fn met_since(&self) -> Option<String> {
        let before = self.met?;
        let (view, now) = self.count_met().await?;
        met::told(before, now, &view.limits)
    }

    /// Gives the scribe what there is. The one before has arrived by then.
    async fn write(&mut self) {
        self.written().await;
        let growth = self.live.give();
        let length = growth.extent.length;
        let note = Note { exec: Some(growth), audit: self.audit.take() };
        self.writing = Some((self.house.scribe.note(note).await, length));
    }

    async fn written(&mut self) {
        if let Some((kept, length)) = self.writing.take() {
            self.kept(kept.await.unwrap_or(Kept::Here), length);
        }
    }

    /// The transcript is kept up to here. Only now may memory let go of it: whoever reads finds it in one of the two.
    fn kept(&mut self, kept: Kept, length: i64) {
        match kept {
            Kept::Here => self.live.keep(length),
            Kept::ByAnother => {
                tracing::info!(exec = %self.live.exec().id, "another node follows this exec by now");
                self.live.hand_over();
            }
        }
        if let Some(witness) = self.witness.take() {
            let _ = witness.send(());
        }
    }

    /// Finds the process again, by its tag. Says why it is lost when it is; nothing when the house closes.
    async fn rejoin(&mut self) -> Result<Option<(Events, CancellationToken)>, String> {
        let stop = self.house.stop().clone();
        match stop.run_until_cancelled(self.look_for()).await {
            None => Ok(None),
            Some(found) => {
                let (events, cut, view) = found?;
                self.view = Some(Arc::clone(&view));
                self.heard_before = Some(self.live.heard());
                if self.busy.is_none() && !self.live.exec().terminal {
                    self.busy = Some(Busy::new(&self.house, &view, Doing::Exec));
                }
                Ok(Some((events, cut)))
            }
        }
    }

    /// Says in the transcript what was printed while the line was down and is not known, if anything.
    fn tell_of_gap(&self, heard: u64, from: Option<u64>) {
        let missed = match from {
            Some(from) if from <= heard => return,
            Some(from) => format!("{} bytes that were printed meanwhile are not here", from - heard),
            None => "what was printed meanwhile is not here".to_owned(),
        };
        self.live.push(Stream::Carrel, format!("\n[carrel: the line to the sandbox was down; {missed}]\n").into());
        self.live.skip_to(from.unwrap_or(heard));
    }

    async fn look_for(&self) -> Result<(Events, CancellationToken, Arc<SandboxView>), String> {
        let Exec { id, sandbox, .. } = self.live.exec();
        let mut trouble = String::new();
        for attempt in 0..TRIES {
            if attempt > 0 {
                tokio::time::sleep(Duration::from_millis(50 << attempt.min(6))).await;
            }
            match self.house.until_ready(&sandbox).await {
                Ok(true) => {}
                Ok(false) => return Err("its sandbox ended".into()),
                Err(Error::NotFound { .. }) => return Err("its sandbox is not known any more".into()),
                Err(error) => {
                    trouble = error.to_string();
                    continue;
                }
            }
            let line = async {
                let view = SandboxesDesk { house: &self.house }.look(&sandbox).await?;
                let (envd, cut) = self.house.line(&view).await?;
                Ok::<_, Error>((envd, cut, view))
            };
            match line.await {
                Err(error) => trouble = error.to_string(),
                Ok((envd, cut, view)) => {
                    match envd.reconnect(&Selector::Tag(id.to_string()), self.live.heard()).await {
                        Ok(events) => return Ok((events, cut, view)),
                        Err(EnvdError::NotFound(_)) => return Err("it ended while nobody followed it".into()),
                        Err(error) => {
                            self.house.lines.forget(&sandbox);
                            trouble = error.to_string();
                        }
                    }
                }
            }
        }
        Err(format!("its sandbox does not answer: {trouble}"))
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

async fn arrived(writing: &mut Option<(oneshot::Receiver<Kept>, i64)>) -> (Kept, i64) {
    match writing {
        Some((kept, length)) => (kept.await.unwrap_or(Kept::Here), *length),
        None => std::future::pending().await,
    }
}

/// Takes up what an earlier life of this node followed.
pub(crate) async fn take_up_former_lives(house: &Arc<House>) -> Result<(), Error> {
    let former = house.store.execs().running(&house.settings.node).await?;
    take_up(house, former).await
}

/// Goes on following execs that are ours by their rows: from an earlier life, or from a node that fell silent.
pub(crate) async fn take_up(house: &Arc<House>, execs: Vec<Exec>) -> Result<(), Error> {
    for exec in execs {
        let extent = house.store.transcripts().extent(&exec.id).await?;
        let extent = extent.unwrap_or_else(|| carrel_store::Extent::new(house.settings.transcript_cap));
        let live = Arc::new(Live::new(exec, extent));
        house.lives.put(&live);
        let house = Arc::clone(house);
        Follower {
            house,
            live,
            view: None,
            audit: None,
            busy: None,
            writing: None,
            witness: None,
            met: None,
            heard_before: None,
        }
        .take_up();
    }
    Ok(())
}

/// Closes what is said to run in sandboxes that are no more.
pub(crate) async fn close_stranded(house: &House) -> Result<(), Error> {
    for mut exec in house.store.execs().stranded().await? {
        if house.lives.find(&exec.id).is_some() || exec.status != ExecStatus::Running {
            continue;
        }
        let extent = house.store.transcripts().extent(&exec.id).await?;
        let extent = extent.unwrap_or_else(|| carrel_store::Extent::new(house.settings.transcript_cap));
        exec.lose("its sandbox ended".into(), house.store.now());
        let growth = super::scribe::Growth { exec, chunks: Vec::new(), extent, closed: true };
        let _ = house.scribe.note(Note { exec: Some(growth), audit: None }).await.await;
    }
    Ok(())
}
