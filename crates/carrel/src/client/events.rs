//! `carrel events`: follows the journal, comes back by itself when the connection breaks.

use std::time::Duration;

use carrel_model::public::{Entry, Happening, SandboxPage};
use eventsource_stream::Eventsource;
use futures::StreamExt;
use reqwest::Method;

use super::Client;
use crate::{failure::Failure, say};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Begin after this cursor; with the next entry when left out
    #[arg(long)]
    after: Option<i64>,
    /// Only about this sandbox
    #[arg(long, value_name = "ID")]
    sandbox: Option<String>,
    /// Only of these kinds, separated by commas
    #[arg(long)]
    kind: Option<String>,
}

impl Args {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        let mut query = Vec::new();
        query.extend(self.sandbox.map(|id| ("sandbox_id", id)));
        query.extend(self.kind.map(|kind| ("kind", kind)));
        follow(client, self.after, &query, |entry| {
            if client.json() {
                print_json(entry);
            } else if client.quiet() {
                say::line(entry.cursor.0);
            } else {
                print(entry);
            }
        })
        .await
    }
}

/// Follows until interrupted, or until the server says no.
pub(crate) async fn follow(
    client: &Client,
    mut after: Option<i64>,
    query: &[(&str, String)],
    mut tell: impl FnMut(&Entry),
) -> Result<(), Failure> {
    let mut was_there = false;
    if after.is_none() {
        // Known from the start: a connection that breaks before the first entry must not lose one.
        let page: SandboxPage = client.get("/sandboxes?limit=1").await?;
        after = Some(page.as_of.0);
    }
    loop {
        let mut request = client.request(Method::GET, "/events")?.query(query);
        request = match after {
            Some(cursor) => request.query(&[("after", cursor)]),
            None => request,
        };
        match client.send(request).await {
            Ok(response) => {
                was_there = true;
                let mut events = response.bytes_stream().eventsource();
                while let Some(Ok(event)) = events.next().await {
                    if event.event == "reset" {
                        say::aside("carrel: some entries are no longer kept; going on with the newest");
                    } else if let Ok(entry) = serde_json::from_str::<Entry>(&event.data) {
                        tell(&entry);
                    }
                    after = event.id.parse().ok().or(after);
                }
            }
            Err(failure) if !was_there || failure.is_refusal() => return Err(failure),
            Err(_) => {}
        }
        // The stream ended or broke: a real delay before coming back.
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

fn print_json(entry: &Entry) {
    say::line(serde_json::to_string(entry).unwrap_or_default());
}

fn print(entry: &Entry) {
    let (kind, what) = match &entry.happening {
        Happening::Sandbox { sandbox } => {
            let note = sandbox.note.as_deref().map(|note| format!("  {note}")).unwrap_or_default();
            let going = match sandbox.phase.step_towards(sandbox.want) {
                Some(_) if !sandbox.phase.is_over() => format!(" → {}", sandbox.want.word()),
                _ => String::new(),
            };
            ("sandbox", format!("{}  {}{going}{note}", sandbox.id, sandbox.phase.word()))
        }
        Happening::Key { key } => {
            let state = if key.revoked_at.is_some() { "revoked" } else { "good" };
            ("key", format!("{}  {}  {state}", key.id, key.name))
        }
        Happening::Provider { provider } => {
            ("provider", format!("{}  breaker {:?}", provider.name, provider.breaker.state))
        }
        Happening::Template { template } => {
            let state = if template.removed { "removed" } else { template.phase.word() };
            let note = template.note.as_deref().map(|note| format!("  {note}")).unwrap_or_default();
            ("template", format!("{}  {state}{note}", template.name))
        }
        Happening::Repo { repo } => {
            let state = if repo.removed { "removed" } else { repo.phase.word() };
            let note = repo.note.as_deref().map(|note| format!("  {note}")).unwrap_or_default();
            let head = repo.head.as_ref().map(|head| format!("  {}", head.short())).unwrap_or_default();
            ("repo", format!("{}  {state}{head}{note}", repo.name))
        }
        Happening::Push { push } => {
            let verdict =
                push.refusal.as_deref().map_or_else(|| "accepted".to_owned(), |why| format!("refused: {why}"));
            let refs: Vec<_> = push.refs.iter().map(|pushed| pushed.name.as_str()).collect();
            ("push", format!("{}  {}  {verdict}", push.repo, refs.join(" ")))
        }
        Happening::Task { task } => {
            let needs = task.needs.as_ref().map(|needs| format!("  {}", needs.detail)).unwrap_or_default();
            ("task", format!("{}  {}  {}{needs}", task.id, task.phase.word(), task.title))
        }
        Happening::Session { session } => {
            ("session", format!("{}  {}  {}", session.id, session.phase.word(), session.title))
        }
        Happening::Moment { session_id, task_id, moment, .. } => {
            let desk = task_id.map_or_else(|| session_id.to_string(), |task| format!("task {task}"));
            ("moment", format!("{desk}  {}  {}", moment.seq, moment.text.lines().next().unwrap_or_default()))
        }
        Happening::Agent { agent } => {
            let state = if agent.removed { "removed" } else { agent.dialect.as_str() };
            ("agent", format!("{}  {state}", agent.name))
        }
        Happening::Pull { pull, news } => {
            let heard = if news.is_empty() { String::new() } else { format!("  {} new", news.len()) };
            ("pull", format!("{}#{}  {}  {}{heard}", pull.repo, pull.number, pull.phase.word(), pull.title))
        }
        Happening::Base { base } => {
            let place = base.commit.as_ref().map_or("gone", |commit| commit.short());
            ("base", format!("{}  {}  {place}", base.repo, base.branch))
        }
        Happening::Budget { budget } => ("budget", budget.note.clone()),
    };
    say::line(format_args!("{}  {}  {kind:<8}  {}", entry.cursor.0, entry.at, say::printable(&what)));
}
