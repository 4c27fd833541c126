//! One turn of an agent: started under a name that is written down first, read from its beginning however often the
//! server dies, and its moments written down once each.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use carrel_agent::{DeskRules, Ending, Exchange, Failure, Moment as Said, Turn as Asked, Voice as Speaker};
use carrel_model::{
    CommitId, ExecId, Grant, NodeId, SandboxId, SessionId, Timestamp,
    agent::{Agent, Voice},
    exec::{Exec, ExecStatus},
    number::Whole,
    public::{ExecSize, NewExec},
    session::{DeskState, Moment, MomentKind, Session, ToolUse, Turn},
};
use carrel_store::{StoreError, Stream, Tx};
use futures::{FutureExt, StreamExt, future::BoxFuture};

use super::{
    radar, review,
    tape::{self, Tape},
};
use crate::{
    Error, ExecsDesk, FilesDesk, Running, SandboxesDesk,
    desks::{agents, sessions::no_session, tasks::moment},
    house::House,
    inside::activity::{Busy, Doing},
    secret::new_exec_id,
    tasks::sleep::Sleep,
    work,
};

/// When the work of a turn is saved for the first time.
const FIRST_SAVE: Duration = Duration::from_secs(5);
/// How long a save may take.
const SAVES_WITHIN: Duration = Duration::from_secs(120);
/// How much of the past is read for an agent that forgot it.
const PAST: u32 = 200;

/// How a turn went.
pub(crate) enum Went {
    /// It came to an end.
    Ended(Ending),
    /// Nothing was asked.
    Nothing,
    /// Somebody wanted it to stop.
    Stopped,
}

/// Where a turn is taken.
pub(crate) struct At<'a> {
    pub(crate) session: &'a SessionId,
    pub(crate) sandbox: &'a SandboxId,
    pub(crate) rules: DeskRules,
    /// Whether there is a checkout whose work is saved.
    pub(crate) saves: bool,
    /// Whether what got no answer is asked again with the next turn.
    pub(crate) asks_again: bool,
}

impl At<'_> {
    /// Others who work on the same files hear of what was saved.
    fn tell_of_save(&self, house: &Arc<House>) {
        if let (Some(task), Some(repo)) = (self.rules.task, &self.rules.repo) {
            review::saved(house, repo, task);
        }
    }
}

/// Takes the next turn of a session, or goes on with the one in flight, until it ends or `unwanted` comes true.
pub(crate) async fn take<F>(house: &Arc<House>, at: &At<'_>, unwanted: F) -> Result<Went, Error>
where
    F: Future<Output = ()> + Send,
{
    let session = house.store.sessions().find(at.session).await?.ok_or_else(|| no_session(at.session))?;
    let agent = agents::find(house, &session.agent).await?;
    let grant = super::desk::grant_of(&session.created_by);
    let before = session.updated_at;
    let Some(session) = plan(house, at.session).await? else { return Ok(Went::Nothing) };
    let Some(turn) = session.turn.clone() else { return Ok(Went::Nothing) };
    let running = match (ExecsDesk { house }).follow(&turn.exec).await? {
        Some(running) => {
            tell_of_gap(house, at.session, before).await?;
            running
        }
        None if turn.begun => {
            // It began, and nothing is known of it: its row was forgotten. It is asked again.
            let why = "nothing is known any more of the turn that was in flight".to_owned();
            end(house, at.session, &turn, Over { delivered: true, ..Over::default() }).await?;
            return Ok(Went::Ended(Ending::Failed { why, failure: Failure::Transient }));
        }
        None => match start(house, &grant, at, &agent, &session, &turn).await {
            Ok(running) => running,
            Err(error) => {
                end(house, at.session, &turn, Over::default()).await?;
                return Err(error);
            }
        },
    };
    let followed = follow(house, &grant, at, &agent, &turn, running, unwanted).await?;
    let answered = match &followed {
        // In a conversation whoever breaks an answer off has had enough of it; a task still wants what was asked.
        Went::Ended(Ending::Failed { .. }) | Went::Stopped => !at.asks_again,
        Went::Ended(_) | Went::Nothing => true,
    };
    let mut over = Over { delivered: answered, ..Over::default() };
    if at.saves {
        match save(house, at.sandbox).await {
            // What was saved during the turn is its checkpoint as well.
            Ok(commit) => {
                if commit.is_some() {
                    at.tell_of_save(house);
                }
                let last = commit.or(last_save(house, at.session, at.sandbox).await?);
                // A turn that left nothing is a checkpoint as well: where the work began.
                over.commit = last.or(beginning(house, &session).await?);
            }
            Err(why) => over.notes.push(format!("The work could not be saved: {why}")),
        }
    }
    if let Went::Ended(Ending::Failed { why, .. }) = &followed {
        over.notes.push(format!("There is no answer: {why}"));
    }
    end(house, at.session, &turn, over).await?;
    Ok(followed)
}

/// A turn that is found in flight was out of sight: its server died, or lost it. What it did meanwhile follows.
async fn tell_of_gap(house: &Arc<House>, id: &SessionId, since: Timestamp) -> Result<(), Error> {
    let id = id.clone();
    let told = house.store.change(move |tx| {
        Box::pin(async move {
            let mut session = tx.lock_session(&id).await?.ok_or_else(|| no_session(&id))?;
            let away = tx.now().duration_since(since).as_secs().max(0);
            let text = format!(
                "The house lost sight of the agent, {away} s after it was last heard of, and takes it up again: what it \
                 did meanwhile follows."
            );
            let mut said = moment(MomentKind::Note, Voice::House, text);
            said.turn = session.turns;
            tx.say(&mut session, said).await?;
            tx.put_session(&mut session).await?;
            Ok::<_, Error>(())
        })
    });
    told.await
}

/// Writes down what the next turn is to be, unless one is in flight or nothing was asked.
async fn plan(house: &Arc<House>, id: &SessionId) -> Result<Option<Session>, Error> {
    let (id, node) = (id.clone(), house.settings.node.clone());
    let planned = house.store.change(move |tx| {
        Box::pin(async move {
            let mut session = tx.lock_session(&id).await?.ok_or_else(|| no_session(&id))?;
            if let Some(turn) = &mut session.turn {
                // Whoever read it until now may only have slept.
                if turn.node.as_ref() != Some(&node) {
                    turn.node = Some(node);
                    tx.put_session(&mut session).await?;
                }
                return Ok(Some(session));
            }
            if !session.is_asked() {
                return Ok(None);
            }
            session.turns += 1;
            session.turn = Some(Turn {
                number: session.turns,
                upto: session.asked,
                exec: new_exec_id(),
                begun: false,
                moments: 0,
                node: Some(node),
                at: tx.now(),
            });
            tx.put_session(&mut session).await?;
            Ok::<_, Error>(Some(session))
        })
    });
    planned.await
}

async fn start(
    house: &Arc<House>,
    grant: &Grant,
    at: &At<'_>,
    agent: &Agent,
    session: &Session,
    turn: &Turn,
) -> Result<Running, Error> {
    let dialect = agents::dialect_of(&agent.dialect)?;
    let said = house.store.sessions().said_to_agent(at.session, session.delivered).await?;
    let prompt: Vec<&str> =
        said.iter().filter(|moment| moment.seq <= turn.upto).map(|moment| moment.text.as_str()).collect();
    let earlier = match session.conversation {
        Some(_) => Vec::new(),
        None => past(house, session).await?,
    };
    let news = match at.rules.task {
        Some(task) => radar::news(house, task).await?,
        None => None,
    };
    let prompt: Vec<&str> = prompt.into_iter().chain(news.as_deref()).collect();
    let asked = Asked {
        prompt: prompt.join("\n\n"),
        rules: at.rules.clone(),
        conversation: session.conversation.clone(),
        earlier,
        model: agent.model.clone(),
        first: session.delivered == 0,
        place: Default::default(),
    };
    let launch = dialect
        .launch(&agents::settings(agent), &asked)
        .map_err(|error| Error::Conflict { why: format!("the agent `{}` cannot be started: {error}", agent.name) })?;
    let files = FilesDesk { house };
    for file in &launch.files {
        let bytes = bytes::Bytes::from(file.bytes.to_vec());
        let content = futures::stream::once(async move { Ok(bytes) }).boxed();
        files.upload(grant, at.sandbox, &file.path, None, content).await?;
    }
    let modes: Vec<&carrel_agent::File> = launch.files.iter().filter(|file| file.mode != 0o644).collect();
    let mut env = BTreeMap::new();
    for (name, value) in launch.env {
        let (Ok(name), Ok(value)) = (name.clone().try_into(), value.try_into()) else {
            return Err(Error::Conflict { why: format!("the variable `{name}` of the agent cannot be set") });
        };
        env.insert(name, value);
    }
    let mut new = NewExec {
        cwd: at.rules.repo.is_some().then(|| carrel_git::WORKSPACE.to_owned()),
        env: Some(env),
        background: Some(true),
        ..NewExec::default()
    };
    if launch.terminal {
        // A screen is drawn for somebody who sits at it: nothing stands between them.
        (new.argv, new.terminal, new.keep_stdin) = (Some(launch.argv), screen(), Some(true));
        invite(house, at, &turn.exec).await?;
    } else {
        new.argv = Some(wrapped(launch.argv, &modes, &turn.exec));
        let stdin = launch.stdin.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        new.stdin = Some(stdin.unwrap_or_default());
    }
    let running = ExecsDesk { house }.start_as(grant, at.sandbox, turn.exec.clone(), new).await?;
    let (id, exec) = (at.session.clone(), turn.exec.clone());
    edit(house, &id, move |session| {
        if let Some(turn) = session.turn.as_mut().filter(|turn| turn.exec == exec) {
            turn.begun = true;
        }
    })
    .await?;
    Ok(running)
}

/// The size of a screen before anybody has sat down at it.
fn screen() -> Option<ExecSize> {
    Some(ExecSize { cols: Whole::new(120)?, rows: Whole::new(32)? })
}

/// Says where an agent with an interface of its own waits for somebody.
async fn invite(house: &Arc<House>, at: &At<'_>, exec: &ExecId) -> Result<(), Error> {
    let (id, number) = (at.session.clone(), exec.clone());
    let text = format!(
        "Its own interface runs in a terminal of the desk: `carrel sandbox shell {} --attach {number}`. The turn is over when \
         it is left.",
        at.sandbox
    );
    let told = house.store.change(move |tx| {
        Box::pin(async move {
            let mut session = tx.lock_session(&id).await?.ok_or_else(|| no_session(&id))?;
            let mut said = moment(MomentKind::Note, Voice::House, text);
            said.turn = session.turns;
            tx.say(&mut session, said).await?;
            tx.put_session(&mut session).await?;
            Ok::<_, Error>(())
        })
    });
    told.await
}

/// What runs the agent: gives files their permissions, which uploads have none of, and ends when the agent does. What it
/// leaves running in the background may hold the output open, but holds up nobody: a moment later it is cut off.
fn wrapped(argv: Vec<String>, files: &[&carrel_agent::File], exec: &ExecId) -> Vec<String> {
    let modes: String = files.iter().map(|file| format!("chmod {:o} '{}'\n", file.mode, file.path)).collect();
    let script = format!("{modes}lines={}\n{WRAPPER}", tape::folder(exec));
    ["/bin/sh".to_owned(), "-c".to_owned(), script, "carrel".to_owned()].into_iter().chain(argv).collect()
}

/// What is printed is also kept at the desk until the next turn, for a house that was away meanwhile.
///
/// A signal goes to all of them. Only the agent heeds it: who listens stays until it is gone, so that its last words are
/// heard, and one that does not go is seen to be there. What a shell merely catches is not ignored by what it starts.
const WRAPPER: &str = r#"trap : HUP INT TERM
rm -rf /tmp/carrel-turn-*
mkdir -m 700 "$lines" && mkfifo "$lines/out" "$lines/err" || exec "$@"
(trap '' HUP INT TERM; exec tee "$lines/stdout" <"$lines/out") & out=$!
(trap '' HUP INT TERM; exec tee "$lines/stderr" <"$lines/err" >&2) & err=$!
"$@" >"$lines/out" 2>"$lines/err"
code=$?
echo "$code" >"$lines/code.new" && mv "$lines/code.new" "$lines/code"
{ sleep 2; kill -9 "$out" "$err"; } >/dev/null 2>&1 &
watch=$!
wait "$out" "$err" 2>/dev/null
kill -9 "$watch" 2>/dev/null
exit "$code"
"#;

/// What was said before, for agents that do not remember.
async fn past(house: &House, session: &Session) -> Result<Vec<Exchange>, Error> {
    let after = (session.delivered - i64::from(PAST)).max(0);
    let moments = house.store.sessions().moments(&session.id, after, PAST).await?;
    let told = moments.into_iter().filter(|moment| moment.seq <= session.delivered || moment.role == Voice::Agent);
    let exchange = |moment: Moment| match (moment.kind, moment.role) {
        (MomentKind::Message | MomentKind::Question, Voice::Agent) => {
            Some(Exchange { who: Speaker::Agent, text: moment.text })
        }
        (MomentKind::Message, _) => Some(Exchange { who: Speaker::Person, text: moment.text }),
        _ => None,
    };
    Ok(told.filter_map(exchange).collect())
}

/// Reads what the agent prints from the beginning, and writes down what is not written down yet.
async fn follow<F>(
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
pub(super) async fn signal(house: &Arc<House>, grant: &Grant, sandbox: &SandboxId, exec: &ExecId, word: &str) {
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

/// Saves the work of a desk. A save that fails is tried again with the next one: nobody stops working for it.
async fn save(house: &Arc<House>, sandbox: &SandboxId) -> Result<Option<CommitId>, String> {
    let saved = match tokio::time::timeout(SAVES_WITHIN, work::save_work(house, sandbox)).await {
        Ok(saved) => saved.map_err(|error| error.to_string()),
        Err(_) => Err(format!("it took longer than {SAVES_WITHIN:?}")),
    };
    if let Err(why) = &saved {
        tracing::warn!(%sandbox, why, "work was not saved");
    }
    saved
}

/// What a desk saved last, if anything was ever saved there.
async fn last_save(house: &Arc<House>, id: &SessionId, sandbox: &SandboxId) -> Result<Option<CommitId>, Error> {
    let session = house.store.sessions().find(id).await?.ok_or_else(|| no_session(id))?;
    let Some(repo) = &session.repo else { return Ok(None) };
    let Some(spec) = house.store.sandboxes().find(sandbox).await?.map(|found| found.spec) else { return Ok(None) };
    match work::holder_of(house, sandbox, &spec).await? {
        Some(holder) => Ok(house.library.mirror(repo).await?.saved(&holder).await?),
        None => Ok(None),
    }
}

/// Where the work of a session began: that of its task, or its own.
async fn beginning(house: &Arc<House>, session: &Session) -> Result<Option<CommitId>, Error> {
    match session.task_id {
        Some(task) => Ok(house.store.tasks().find(task).await?.and_then(|task| task.base_commit)),
        None => Ok(session.base_commit.clone()),
    }
}

/// A turn that this node reads.
struct Ours {
    exec: ExecId,
    node: NodeId,
}

impl Ours {
    fn new(house: &House, turn: &Turn) -> Ours {
        Ours { exec: turn.exec.clone(), node: house.settings.node.clone() }
    }

    /// The turn as its session has it; nothing when it is over. Refuses a node whose turn is in other hands by now.
    fn find<'s>(&self, session: &'s mut Session) -> Result<Option<&'s mut Turn>, StoreError> {
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

/// How a turn is put away.
#[derive(Default)]
struct Over {
    /// What was asked was answered, or will not be.
    delivered: bool,
    commit: Option<CommitId>,
    notes: Vec<String>,
}

/// The turn is over, and the desk was saved.
async fn end(house: &Arc<House>, id: &SessionId, turn: &Turn, over: Over) -> Result<(), Error> {
    let Over { delivered, commit, notes } = over;
    let session = house.store.sessions().find(id).await?.ok_or_else(|| no_session(id))?;
    let files = match (&session.repo, &commit) {
        (Some(repo), Some(commit)) => {
            let mirror = house.library.mirror(repo).await?;
            let began = beginning(house, &session).await?;
            let before = match session.saved.clone().or(began) {
                Some(before) => Some(before),
                None => mirror.parent_of(commit).await?,
            };
            match before {
                Some(before) => mirror.changed_files(&before, commit).await.unwrap_or_default(),
                None => Vec::new(),
            }
        }
        _ => Vec::new(),
    };
    let desk = desk_of(house, &session).await;
    let (id, ours) = (id.clone(), Ours::new(house, turn));
    let ended = house.store.change(move |tx| {
        Box::pin(async move {
            let mut session = tx.lock_session(&id).await?.ok_or_else(|| no_session(&id))?;
            let Some(turn) = ours.find(&mut session)?.cloned() else { return Ok(()) };
            session.turn = None;
            session.unwanted = None;
            // One that never began has delivered nothing, and one that was stopped is asked again.
            if delivered {
                session.delivered = turn.upto;
            }
            for note in notes {
                let mut said = moment(MomentKind::Note, Voice::House, note);
                said.turn = turn.number;
                tx.say(&mut session, said).await?;
            }
            if let Some(commit) = commit {
                session.saved = Some(commit.clone());
                let text = match files.len() {
                    0 => "The work was saved.".to_owned(),
                    1 => format!("The work was saved: {} changed.", files[0]),
                    count => format!("The work was saved: {count} files changed."),
                };
                let mut checkpoint = moment(MomentKind::Checkpoint, Voice::House, text);
                (checkpoint.turn, checkpoint.commit, checkpoint.files) = (turn.number, Some(commit), files);
                (checkpoint.cost_usd, checkpoint.desk) = (Some(session.spent_micros as f64 / 1e6), desk);
                tx.say(&mut session, checkpoint).await?;
            }
            tx.put_session(&mut session).await?;
            Ok::<_, Error>(())
        })
    });
    ended.await
}

/// How the desk of a session stands.
async fn desk_of(house: &Arc<House>, session: &Session) -> Option<DeskState> {
    let view = (SandboxesDesk { house }).look(session.sandbox_id.as_ref()?).await.ok()?;
    Some(DeskState {
        sandbox_id: view.id.clone(),
        phase: view.phase,
        provider: view.provider.clone(),
        template: view.template.clone(),
        isolation: view.isolation,
    })
}

async fn edit(
    house: &Arc<House>,
    id: &SessionId,
    edit: impl FnOnce(&mut Session) + Send + 'static,
) -> Result<Session, Error> {
    let id = id.clone();
    let edited = house.store.change(move |tx| {
        Box::pin(async move {
            let mut session = tx.lock_session(&id).await?.ok_or_else(|| no_session(&id))?;
            edit(&mut session);
            tx.put_session(&mut session).await?;
            Ok::<_, Error>(session)
        })
    });
    edited.await
}
