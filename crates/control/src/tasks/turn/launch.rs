//! How an agent is started for a turn: its files, its environment, what runs it, and what it is told.

use std::{collections::BTreeMap, sync::Arc};

use carrel_agent::{Exchange, Turn as Asked, Voice as Speaker};
use carrel_model::{
    ExecId, Grant,
    agent::{Agent, Voice},
    number::Whole,
    public::{ExecSize, NewExec},
    session::{Moment, MomentKind, Session, Turn},
};
use futures::StreamExt;

use super::{At, edit};
use crate::{
    Error, ExecsDesk, FilesDesk, Running,
    desks::{agents, cards::moment, sessions::no_session},
    house::House,
    tasks::{radar, tape},
};

/// How much of the past is read for an agent that forgot it.
const PAST: u32 = 200;

pub(super) async fn start(
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
