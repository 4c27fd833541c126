//! `carrel session …`

use carrel_model::{
    AgentId, RepoName, SessionId,
    public::{
        Entry, Happening, NewInterruption, NewMessage, NewSession, NewSessionFork, NewSessionTask, Page, SandboxView,
        SessionView, TaskPage,
    },
    sandbox::Lifetime,
    session::Moment,
};
use clap::Subcommand;
use eventsource_stream::Eventsource;
use futures::StreamExt;
use reqwest::Method;

use super::{
    Client, ago, judge, only_match,
    sandbox::Wait,
    task,
    timeline::{Shown, logs},
};
use crate::{failure::Failure, say};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Begin a conversation at a desk of its own
    New {
        /// Who answers
        #[arg(long)]
        agent: Option<AgentId>,
        /// The repository on the desk
        #[arg(long)]
        repo: Option<RepoName>,
        /// What to call it
        #[arg(long)]
        title: Option<String>,
        /// How many seconds nothing may happen before its desk is paused
        #[arg(long, value_name = "SECONDS")]
        idle: Option<Lifetime>,
    },
    /// List sessions, newest first
    Ls {
        /// Only those in which something holds this text
        #[arg(long)]
        text: Option<String>,
    },
    /// Show a session and what was said in it
    Show {
        /// Its id, or the beginning of it
        id: String,
    },
    /// Say something, and print the answer
    Say {
        /// Its id, or the beginning of it
        id: String,
        /// What to say; `-` reads standard input
        text: String,
        /// Do not wait for the answer
        #[arg(long)]
        no_wait: bool,
    },
    /// Break off the answer in flight; what was done so far stays
    Interrupt {
        /// Its id, or the beginning of it
        id: String,
        /// What to say instead, with the answer printed; `-` reads standard input
        text: Option<String>,
        /// Do not wait for the answer
        #[arg(long)]
        no_wait: bool,
    },
    /// Print what a session changed, as a patch
    Diff {
        /// Its id, or the beginning of it
        id: String,
        /// From this checkpoint on
        #[arg(long, value_name = "SEQ")]
        from: Option<i64>,
        /// Up to this checkpoint
        #[arg(long, value_name = "SEQ")]
        to: Option<i64>,
    },
    /// Open a sandbox with the files of a checkpoint, to look around in
    Open {
        /// Its id, or the beginning of it
        id: String,
        /// The place of the checkpoint on the timeline
        #[arg(long, value_name = "SEQ")]
        from: i64,
        #[command(flatten)]
        wait: Wait,
    },
    /// Begin another session that goes on from a checkpoint, with its files and what was said until then
    Fork {
        /// Its id, or the beginning of it
        id: String,
        /// The place of the checkpoint on the timeline; the newest one when left out
        #[arg(long, value_name = "SEQ")]
        from: Option<i64>,
        /// Another agent
        #[arg(long)]
        agent: Option<AgentId>,
        /// What to call it; the same when left out
        #[arg(long)]
        title: Option<String>,
    },
    /// Write a task that goes on from a checkpoint, with its files and what was said until then
    Task {
        /// Its id, or the beginning of it
        id: String,
        /// In a few words; what the session is called when left out
        title: Option<String>,
        /// What is left to do; `-` reads standard input
        #[arg(long)]
        prompt: Option<String>,
        /// The place of the checkpoint on the timeline; the newest one when left out
        #[arg(long, value_name = "SEQ")]
        from: Option<i64>,
        /// Another agent
        #[arg(long)]
        agent: Option<AgentId>,
        /// Begin at once
        #[arg(long)]
        start: bool,
        #[command(flatten)]
        wait: task::Wait,
    },
    /// Let the desk of a session sleep
    Pause {
        /// Its id, or the beginning of it
        id: String,
    },
    /// Wake the desk of a session
    Resume {
        /// Its id, or the beginning of it
        id: String,
    },
    /// End a session, and its desk with it
    Close {
        /// Its id, or the beginning of it
        id: String,
    },
}

impl Verb {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        match self {
            Verb::New { agent, repo, title, idle } => {
                let new = NewSession { agent, repo, title, idle_s: idle, ..NewSession::default() };
                let session = client.fetch(client.request(Method::POST, "/sessions")?.json(&new)).await?;
                show(client, &[session], false)
            }
            Verb::Ls { text } => {
                let query: Vec<_> = text.into_iter().map(|text| ("q", text)).collect();
                let request = client.request(Method::GET, "/sessions")?.query(&query);
                let page: Page<SessionView> = client.fetch(request).await?;
                show(client, &page.items, true)
            }
            Verb::Show { id } => {
                let id = resolve(client, &id).await?;
                let session: SessionView = client.get(&format!("/sessions/{id}")).await?;
                show(client, &[session], false)?;
                if !client.json() && !client.quiet() {
                    logs(client, &format!("/sessions/{id}/messages")).await?;
                }
                Ok(())
            }
            Verb::Say { id, text, no_wait } => {
                let id = resolve(client, &id).await?;
                let message = NewMessage { role: None, text: task::said(text)? };
                let now = now(client).await?;
                let request = client.request(Method::POST, &format!("/sessions/{id}/messages"))?;
                let said: Moment = client.fetch(request.json(&message)).await?;
                if no_wait { Ok(()) } else { follow(client, &id, now, said.seq).await }
            }
            Verb::Interrupt { id, text, no_wait } => {
                let id = resolve(client, &id).await?;
                let text = text.map(task::said).transpose()?;
                let now = now(client).await?;
                let before: SessionView = client.get(&format!("/sessions/{id}")).await?;
                let (is_over, asked) = (text.is_none() || no_wait, NewInterruption { text });
                let request = client.request(Method::POST, &format!("/sessions/{id}/interrupt"))?;
                let session: SessionView = client.fetch(request.json(&asked)).await?;
                if is_over {
                    return show(client, &[session], false);
                }
                follow(client, &id, now, before.last_seq).await
            }
            Verb::Diff { id, from, to } => {
                let id = resolve(client, &id).await?;
                task::print_diff(client, &format!("/sessions/{id}/diff"), from, to).await
            }
            Verb::Open { id, from, wait } => {
                let id = resolve(client, &id).await?;
                judge::open(client, &format!("/sessions/{id}/open"), from, &wait).await
            }
            Verb::Fork { id, from, agent, title } => {
                let id = resolve(client, &id).await?;
                let request = client.request(Method::POST, &format!("/sessions/{id}/fork"))?;
                let session = client.fetch(request.json(&NewSessionFork { from, agent, title })).await?;
                show(client, &[session], false)
            }
            Verb::Task { id, title, prompt, from, agent, start, wait } => {
                let id = resolve(client, &id).await?;
                let prompt = prompt.map(task::said).transpose()?;
                let new = NewSessionTask { from, title, prompt, agent, start: start || wait.is_asked() };
                wait.write(client, &format!("/sessions/{id}/task"), None, &new).await
            }
            Verb::Pause { id } => act(client, &id, "pause").await,
            Verb::Resume { id } => act(client, &id, "resume").await,
            Verb::Close { id } => {
                let id = resolve(client, &id).await?;
                let session = client.fetch(client.request(Method::DELETE, &format!("/sessions/{id}"))?).await?;
                show(client, &[session], false)
            }
        }
    }
}

async fn act(client: &Client, typed: &str, verb: &str) -> Result<(), Failure> {
    let id = resolve(client, typed).await?;
    let request = client.request(Method::POST, &format!("/sessions/{id}/sandbox/{verb}"))?;
    let _: SandboxView = client.fetch(request).await?;
    let session: SessionView = client.get(&format!("/sessions/{id}")).await?;
    show(client, &[session], false)
}

/// Where the journal is.
async fn now(client: &Client) -> Result<i64, Failure> {
    let page: TaskPage = client.get("/tasks?limit=1").await?;
    Ok(page.as_of.0)
}

/// Prints what is said after a place until the answer is over.
async fn follow(client: &Client, id: &SessionId, mut after: i64, seen: i64) -> Result<(), Failure> {
    let (place, mut shown) = (format!("/sessions/{id}/messages"), Shown::upto(seen));
    loop {
        shown.catch_up(client, &place).await?;
        let session: SessionView = client.get(&format!("/sessions/{id}")).await?;
        if !session.busy {
            return shown.catch_up(client, &place).await;
        }
        let request = client.request(Method::GET, "/events")?.query(&[("after", after)]);
        let mut events = client.send(request).await?.bytes_stream().eventsource();
        while let Some(Ok(event)) = events.next().await {
            after = event.id.parse().unwrap_or(after);
            let Ok(entry) = serde_json::from_str::<Entry>(&event.data) else { continue };
            match entry.happening {
                Happening::Moment { session_id, moment, .. } if session_id == *id => shown.hear(client, &moment),
                Happening::Session { session } if session.id == *id && !session.busy => {
                    return shown.catch_up(client, &place).await;
                }
                _ => {}
            }
        }
    }
}

async fn resolve(client: &Client, typed: &str) -> Result<SessionId, Failure> {
    if let Ok(id) = typed.parse() {
        return Ok(id);
    }
    let page: Page<SessionView> = client.get("/sessions?limit=1000").await?;
    let found = only_match("session", typed, page.items.into_iter().map(|session| session.id.to_string()))?;
    found.parse().map_err(|error: carrel_model::Malformed| Failure::new(error.to_string()))
}

fn show(client: &Client, sessions: &[SessionView], as_list: bool) -> Result<(), Failure> {
    if client.json() {
        return match sessions {
            [one] if !as_list => say::json(one),
            all => say::json(&all),
        };
    }
    if client.quiet() {
        sessions.iter().for_each(|session| say::line(&session.id));
        return Ok(());
    }
    let row = |session: &SessionView| {
        vec![
            session.id.to_string(),
            session.phase.word().to_owned(),
            session.agent.to_string(),
            session.repo.as_ref().map(ToString::to_string).unwrap_or_default(),
            session.sandbox_id.as_ref().map(ToString::to_string).unwrap_or_default(),
            ago(session.updated_at),
            session.title.clone(),
        ]
    };
    say::table(&["ID", "PHASE", "AGENT", "REPO", "SANDBOX", "AGE", "TITLE"], sessions.iter().map(row));
    Ok(())
}
