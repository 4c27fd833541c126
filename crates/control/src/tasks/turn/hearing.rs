//! What an agent prints in its turn: read from the beginning however often the server dies, and written down once each.

use std::{sync::Arc, time::Duration};

use carrel_agent::{Ending, Failure, Moment as Said};
use carrel_model::{
    CommitId, ExecId, Grant, NodeId, SandboxId, SessionId,
    agent::{Agent, Voice},
    exec::{Exec, ExecStatus},
    public::NewExec,
    session::{MomentKind, Session, ToolUse, Turn},
};
use carrel_store::{StoreError, Stream, Tx};
use futures::{FutureExt, future::BoxFuture};

use super::{At, Went, save};
use crate::{
    Error, ExecsDesk, Running, SandboxesDesk,
    desks::{agents, cards::moment, sessions::no_session},
    house::House,
    inside::activity::{Busy, Doing},
    tasks::{sleep::Sleep, tape::Tape},
};

/// When the work of a turn is saved for the first time.
const FIRST_SAVE: Duration = Duration::from_secs(5);

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
    let mut heard = 0_u32;
    // An agent that waits for its model prints nothing and uses nothing. One with an interface of its own waits for a
    // person, who is there or not.
    let _busy = match (SandboxesDesk { house }).look(at.sandbox).await {
        Ok(view) if !running.exec().terminal => Some(Busy::new(house, &view, Doing::Turn)),
        _ => None,
    };
    let every = house.settings.work.save_every;
    // The first one soon: most of what can be lost is lost in the beginning.
    let mut saves = tokio::time::interval_at(tokio::time::Instant::now() + every.min(FIRST_SAVE), every);
    saves.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut saving: Option<BoxFuture<'_, Result<Option<CommitId>, String>>> = None;
    tokio::pin!(unwanted);
    let mut stopped = false;
    let mut kill_at: Option<tokio::time::Instant> = None;
    let mut sleep = Sleep::watch(house, at);
    let mut tape = Tape::new(house, grant, at.sandbox, &turn.exec);
    loop {
        let killing = async {
            match kill_at {
                Some(then) => tokio::time::sleep_until(then).await,
                None => std::future::pending().await,
            }
        };
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
                    let skip = turn.moments.saturating_sub(heard);
                    heard += moments.len() as u32;
                    write(house, at.session, turn, moments.into_iter().skip(skip as usize).collect(), heard).await?;
                }
            },
            () = &mut unwanted, if !stopped => {
                stopped = true;
                let polite = dialect.polite_stop();
                signal(house, grant, at.sandbox, &turn.exec, polite.signal.word()).await;
                kill_at = Some(tokio::time::Instant::now() + polite.grace);
            }
            () = killing => {
                kill_at = None;
                signal(house, grant, at.sandbox, &turn.exec, "KILL").await;
            }
            told = sleep.turned() => told?,
            more = tape.next() => {
                let moments = reader.stdout(&more);
                let skip = turn.moments.saturating_sub(heard);
                heard += moments.len() as u32;
                write(house, at.session, turn, moments.into_iter().skip(skip as usize).collect(), heard).await?;
            }
            // The agent is heard while its work is saved.
            _ = saves.tick(), if saving.is_none() && at.saves && !stopped && !sleep.asleep => {
                saving = Some(save(house, at.sandbox).boxed());
            }
            saved = done(&mut saving) => {
                saving = None;
                if let Ok(Some(_)) = saved {
                    at.tell_of_save(house);
                }
            }
        }
    }
    // Another is made next, and there is one at a time.
    if let Some(saving) = saving {
        let _ = saving.await;
    }
    let exec = settled(house, &turn.exec).await?;
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
    let skip = turn.moments.saturating_sub(heard);
    heard += moments.len() as u32;
    write(house, at.session, turn, moments.into_iter().skip(skip as usize).collect(), heard).await?;
    if stopped {
        return Ok(Went::Stopped);
    }
    if status == ExecStatus::Lost {
        let why = "the agent was lost with its desk".to_owned();
        return Ok(Went::Ended(Ending::Failed { why, failure: Failure::Transient }));
    }
    Ok(Went::Ended(over.ending))
}

/// Waits for something that may be under way.
async fn done<T>(doing: &mut Option<BoxFuture<'_, T>>) -> T {
    match doing {
        Some(doing) => doing.await,
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

/// Writes moments of a turn down, and how many there are now.
async fn write(house: &Arc<House>, id: &SessionId, turn: &Turn, moments: Vec<Said>, heard: u32) -> Result<(), Error> {
    if moments.is_empty() {
        return Ok(());
    }
    let (id, number, ours) = (id.clone(), turn.number, Ours::new(house, turn));
    let written = house.store.change(move |tx| {
        Box::pin(async move {
            let mut session = tx.lock_session(&id).await?.ok_or_else(|| no_session(&id))?;
            let Some(held) = ours.find(&mut session)? else { return Ok(()) };
            // Somebody else read further in the meantime.
            if held.moments >= heard {
                return Ok(());
            }
            held.moments = heard;
            let mut doing = None;
            for said in moments {
                let now = note(tx, &mut session, number, said).await?;
                doing = now.or(doing);
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

/// Writes one moment down. Says what the agent is doing, in a few words, when that is news.
async fn note(tx: &mut Tx, session: &mut Session, turn: u32, said: Said) -> Result<Option<String>, Error> {
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
    tx.say(session, moment).await?;
    Ok(doing)
}
