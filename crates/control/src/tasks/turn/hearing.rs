//! What an agent prints in its turn: read from the beginning however often the server dies, and written down once each.

use std::{sync::Arc, time::Duration};

use carrel_agent::{Ending, Failure, Moment as Said};
use carrel_model::{
    CommitId, ExecId, Grant, NodeId, SandboxId, SessionId,
    agent::{Agent, Voice},
    exec::{Exec, ExecStatus},
    public::NewExec,
    session::{Growing, MomentKind, Session, ToolUse, Turn},
};
use carrel_store::{StoreError, Stream, Tx};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::{At, Went, save};
use crate::{
    Error, ExecsDesk, Running, SandboxesDesk,
    desks::{agents, cards::moment, sessions::no_session},
    house::House,
    inside::{
        activity::{Busy, Doing},
        met,
    },
    tasks::{sleep::Sleep, tape::Tape},
};

/// When the work of a turn is saved for the first time.
const FIRST_SAVE: Duration = Duration::from_secs(5);
/// So often a message is shown that comes in pieces, while it is short.
const PACE: Duration = Duration::from_millis(200);
/// A longer one is shown less often, for it is told whole each time: so many bytes in the time of one pace.
const SHORT: usize = 2048;

/// Reads what the agent prints from the beginning, and writes down what is not written down yet.
pub(super) async fn follow<F>(
    house: &Arc<House>,
    grant: &Grant,
    at: &At<'_>,
    agent: &Agent,
    turn: &Turn,
    mut running: Running,
    unwanted: F,
) -> Result<Went, Error>
where
    F: Future<Output = ()> + Send,
{
    let dialect = agents::dialect_of(&agent.dialect)?;
    let mut reader = dialect.reader(&agents::settings(agent));
    let mut pen = Pen { house, session: at.session, turn, heard: 0, shown: 0, next: None };
    // An agent that waits for its model prints nothing and uses nothing. One with an interface of its own waits for a
    // person, who is there or not.
    let _busy = match (SandboxesDesk { house }).look(at.sandbox).await {
        Ok(view) if !running.exec().terminal => Some(Busy::new(house, &view, Doing::Turn)),
        _ => None,
    };
    let every = house.settings.work.save_every;
    // The first one soon: most of what can be lost is lost in the beginning.
    let mut saves = tokio::time::interval_at(Instant::now() + every.min(FIRST_SAVE), every);
    saves.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut saving: Option<Saving> = None;
    tokio::pin!(unwanted);
    let mut stopped = false;
    let mut kill_at: Option<Instant> = None;
    let mut sleep = Sleep::watch(house, at);
    let mut tape = Tape::new(house, grant, at.sandbox, &turn.exec);
    loop {
        let show_at = pen.due(reader.grown());
        tokio::select! {
            chunks = running.output.next() => match chunks? {
                None => break,
                Some(chunks) => {
                    let mut moments = Vec::new();
                    for chunk in &chunks {
                        // From the first gap on the tape is read instead: it has none.
                        moments.extend(match chunk.stream {
                            Stream::Carrel => { tape.tear(); Vec::new() }
                            stream if !tape.passes(stream, chunk.bytes.len()) => Vec::new(),
                            Stream::Stderr => reader.stderr(&chunk.bytes),
                            _ => reader.stdout(&chunk.bytes),
                        });
                    }
                    pen.write(moments).await?;
                }
            },
            () = &mut unwanted, if !stopped => {
                stopped = true;
                let polite = dialect.polite_stop();
                signal(house, grant, at.sandbox, &turn.exec, polite.signal.word()).await;
                kill_at = Some(Instant::now() + polite.grace);
            }
            () = until(kill_at) => {
                kill_at = None;
                signal(house, grant, at.sandbox, &turn.exec, "KILL").await;
            }
            asleep = sleep.turned() => sleep.tell(asleep?).await?,
            () = tape.due(), if !sleep.asleep => pen.write(reader.stdout(&tape.more().await)).await?,
            () = until(show_at) => if let Some(said) = reader.growing() {
                pen.show(said, reader.grown()).await?;
            },
            // The agent is heard while its work is saved.
            _ = saves.tick(), if saving.is_none() && at.saves && !stopped && !sleep.asleep => {
                let (house, sandbox) = (Arc::clone(house), at.sandbox.clone());
                let saved = house.tasks().clone().spawn(async move { save(&house, &sandbox).await });
                saving = Some(AbortOnDropHandle::new(saved));
            }
            saved = done(&mut saving) => {
                saving = None;
                if saved.is_some() {
                    at.tell_of_save(house);
                }
            }
        }
    }
    let exec = settled(house, &turn.exec).await?;
    let met = exec.as_ref().and_then(|exec| met::in_note(exec.note.as_deref()?)).map(str::to_owned);
    let (mut code, mut status) = exec.map_or((None, ExecStatus::Lost), |exec| (exec.exit_code, exec.status));
    // It may have come to its end while nobody followed it.
    if status == ExecStatus::Lost
        && let Some(found) = tape.code().await
    {
        tape.tear();
        (code, status) = (Some(found), ExecStatus::Ended);
    }
    let mut moments = Vec::new();
    if let Some((rest, errors)) = tape.rest().await {
        moments.extend(reader.stdout(&rest));
        moments.extend(reader.stderr(&errors));
    }
    let over = reader.end(code);
    moments.extend(over.moments);
    pen.write(moments).await?;
    // Another is made next, and there is one at a time.
    if saving.is_some() && done(&mut saving).await.is_some() {
        at.tell_of_save(house);
    }
    if stopped {
        return Ok(Went::Stopped);
    }
    if status == ExecStatus::Lost {
        let why = "the agent was lost with its desk".to_owned();
        return Ok(Went::Ended(Ending::Failed { why, failure: Failure::Transient }));
    }
    Ok(Went::Ended(match (over.ending, met) {
        // An agent that the kernel ended cannot say why.
        (Ending::Failed { why, failure }, Some(met)) => {
            Ending::Failed { why: format!("{}; {met}", why.trim_end_matches('.')), failure }
        }
        (ending, _) => ending,
    }))
}

/// A save that is under way beside the reading: it waits for nothing that is written down meanwhile, and goes with the turn.
type Saving = AbortOnDropHandle<Result<Option<CommitId>, String>>;

/// Waits for a save that may be under way, and says what was new in it.
async fn done(saving: &mut Option<Saving>) -> Option<CommitId> {
    match saving {
        Some(saving) => saving.await.ok()?.ok()?,
        None => std::future::pending().await,
    }
}

/// Waits for a moment that may come.
async fn until(then: Option<Instant>) {
    match then {
        Some(then) => tokio::time::sleep_until(then).await,
        None => std::future::pending().await,
    }
}

/// Sends a signal to everything that an agent runs: to its whole process group, which is named by the wrapper's number.
pub(in crate::tasks) async fn signal(
    house: &Arc<House>,
    grant: &Grant,
    sandbox: &SandboxId,
    exec: &ExecId,
    word: &str,
) {
    let Ok(Some(Exec { pid: Some(pid), .. })) = settled(house, exec).await else { return };
    let line = format!("kill -s {word} -- -{pid}");
    let kill = NewExec { command: Some(line), cwd: Some("/".into()), ..NewExec::default() };
    match (ExecsDesk { house }).start_own(grant, sandbox, kill).await {
        Ok(mut running) => while let Ok(Some(_)) = running.output.next().await {},
        Err(error) => tracing::warn!(%sandbox, error = &error as &dyn std::error::Error, "an agent was not signalled"),
    }
}

/// The row of an exec, when what it printed has come to its end.
async fn settled(house: &Arc<House>, id: &ExecId) -> Result<Option<Exec>, Error> {
    if let Some(live) = house.lives.find(id) {
        return Ok(Some(live.exec()));
    }
    Ok(house.store.execs().find(id).await?)
}

/// A turn that this node reads.
pub(super) struct Ours {
    exec: ExecId,
    node: NodeId,
}

impl Ours {
    pub(super) fn new(house: &House, turn: &Turn) -> Ours {
        Ours { exec: turn.exec.clone(), node: house.settings.node.clone() }
    }

    /// The turn as its session has it; nothing when it is over. Refuses a node whose turn is in other hands by now.
    pub(super) fn find<'s>(&self, session: &'s mut Session) -> Result<Option<&'s mut Turn>, StoreError> {
        let subject = format!("a turn of session {}", session.id);
        match session.turn.as_mut().filter(|held| held.exec == self.exec) {
            Some(held) if held.node.as_ref().is_some_and(|node| *node != self.node) => {
                Err(StoreError::LeaseLost { subject })
            }
            held => Ok(held),
        }
    }
}

/// Writes down what an agent says in its turn, each moment once.
struct Pen<'a> {
    house: &'a Arc<House>,
    session: &'a SessionId,
    turn: &'a Turn,
    /// How many moments were heard in this life of the house; the first ones may be written down already.
    heard: u32,
    /// How much is shown of a message that comes in pieces, and when it is shown next.
    shown: usize,
    next: Option<Instant>,
}

impl Pen<'_> {
    /// When to show a message of which there are so many bytes by now; never when they are shown, or there are none.
    fn due(&mut self, grown: usize) -> Option<Instant> {
        if grown == 0 {
            (self.shown, self.next) = (0, None);
        }
        if grown == self.shown {
            return None;
        }
        Some(*self.next.get_or_insert_with(|| Instant::now() + PACE))
    }

    /// Shows a message or a thought that is still being said. It stands at its place when it is whole.
    async fn show(&mut self, said: Said, grown: usize) -> Result<(), Error> {
        (self.shown, self.next) = (grown, Some(Instant::now() + pace(grown)));
        let (kind, text) = match said {
            Said::Said { text } => (MomentKind::Message, text),
            Said::Thought { text } => (MomentKind::Thought, text),
            _ => return Ok(()),
        };
        let (id, heard, ours) = (self.session.clone(), self.heard, Ours::new(self.house, self.turn));
        let mut moment = moment(kind, Voice::Agent, text);
        (moment.turn, moment.unfinished) = (self.turn.number, true);
        let shown = self.house.store.change(move |tx| {
            Box::pin(async move {
                let mut session = tx.lock_session(&id).await?.ok_or_else(|| no_session(&id))?;
                // One that was heard before stands there whole.
                let Some(held) = ours.find(&mut session)?.filter(|held| held.moments == heard) else { return Ok(()) };
                if let Some(Growing { seq, at }) = held.growing {
                    (moment.seq, moment.at) = (seq, at);
                    return Ok(tx.complete(&session, moment).await?);
                }
                let growing = Growing { seq: tx.say(&mut session, moment).await?, at: tx.now() };
                if let Some(held) = ours.find(&mut session)? {
                    held.growing = Some(growing);
                }
                tx.put_session(&mut session).await?;
                Ok::<_, Error>(())
            })
        });
        shown.await
    }

    /// Writes down what was not written before, and how much there is now.
    async fn write(&mut self, moments: Vec<Said>) -> Result<(), Error> {
        let skip = self.turn.moments.saturating_sub(self.heard) as usize;
        self.heard += moments.len() as u32;
        if moments.len() <= skip {
            return Ok(());
        }
        (self.shown, self.next) = (0, None);
        let (id, number, heard) = (self.session.clone(), self.turn.number, self.heard);
        let ours = Ours::new(self.house, self.turn);
        let written = self.house.store.change(move |tx| {
            Box::pin(async move {
                let mut session = tx.lock_session(&id).await?.ok_or_else(|| no_session(&id))?;
                let Some(held) = ours.find(&mut session)? else { return Ok(()) };
                // Somebody else read further in the meantime.
                if held.moments >= heard {
                    return Ok(());
                }
                held.moments = heard;
                let mut growing = held.growing.take();
                let mut doing = None;
                for said in moments.into_iter().skip(skip) {
                    let now = note(tx, &mut session, number, said, &mut growing).await?;
                    doing = now.or(doing);
                }
                if let Some(held) = ours.find(&mut session)? {
                    held.growing = growing;
                }
                tx.put_session(&mut session).await?;
                if let (Some(task), Some(doing)) = (session.task_id, doing)
                    && let Some((mut task, _)) = tx.lock_task(task).await?
                {
                    task.doing = Some(doing);
                    if !task.counted {
                        task.spent_micros = task.spent_micros.max(session.spent_micros);
                    }
                    tx.put_task(&mut task).await?;
                }
                Ok::<_, Error>(())
            })
        });
        written.await
    }
}

/// How long a message rests on the timeline before more of it is shown, when so much is there.
fn pace(bytes: usize) -> Duration {
    PACE.mul_f64((bytes as f64 / SHORT as f64).max(1.0))
}

/// Writes one moment down, in the place that it has when it was shown before it was whole. Says what the agent is doing, in a
/// few words, when that is news.
async fn note(
    tx: &mut Tx,
    session: &mut Session,
    turn: u32,
    said: Said,
    growing: &mut Option<Growing>,
) -> Result<Option<String>, Error> {
    let line = |text: &str| {
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
        Some(first.chars().take(160).collect::<String>()).filter(|line| !line.is_empty())
    };
    let mut moment = moment(MomentKind::Message, Voice::Agent, "");
    moment.turn = turn;
    let doing = match said {
        Said::Said { text } => {
            moment.text = text;
            line(&moment.text)
        }
        Said::Thought { text } => {
            (moment.kind, moment.text) = (MomentKind::Thought, text);
            None
        }
        Said::Asked { question } => {
            (moment.kind, moment.text) = (MomentKind::Question, question);
            line(&moment.text)
        }
        Said::Noted { text } => {
            (moment.kind, moment.text) = (MomentKind::Note, text);
            None
        }
        Said::ToolBegan { id, name, title, input } => {
            let shown = if title.is_empty() { name.clone() } else { title.clone() };
            (moment.kind, moment.text) = (MomentKind::Tool, shown);
            moment.tool = Some(ToolUse { id, name, title, input, output: None, ok: None });
            line(&moment.text)
        }
        Said::ToolEnded { id, ok, output } => {
            if let Some(mut began) = tx.find_tool(session, &id).await? {
                if let Some(tool) = &mut began.tool {
                    (tool.output, tool.ok) = (Some(output), Some(ok));
                }
                tx.complete(session, began).await?;
            }
            return Ok(None);
        }
        Said::Spent(spending) => {
            // What the house counted itself is not counted twice.
            let said = spending.cost_usd.filter(|_| !session.counted);
            let cost = said.and_then(carrel_model::public::micros).unwrap_or(0);
            session.spent_micros = session.spent_micros.saturating_add(cost);
            return Ok(None);
        }
        Said::Conversation { id } => {
            session.conversation = Some(id);
            return Ok(None);
        }
    };
    match growing.take_if(|_| matches!(moment.kind, MomentKind::Message | MomentKind::Thought)) {
        Some(Growing { seq, at }) => {
            (moment.seq, moment.at) = (seq, at);
            tx.complete(session, moment).await?;
        }
        None => drop(tx.say(session, moment).await?),
    }
    Ok(doing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_grows_costs_the_journal_so_much_in_a_second_and_no_more() {
        for bytes in [1, 100, SHORT, 10_000, 32 * 1024] {
            let in_a_second = bytes as f64 / pace(bytes).as_secs_f64();
            assert!(in_a_second <= 10.0 * SHORT as f64 + 1.0, "{bytes} bytes: {in_a_second}");
            assert!((PACE..=PACE * 16).contains(&pace(bytes)), "{bytes} bytes: {:?}", pace(bytes));
        }
    }
}
