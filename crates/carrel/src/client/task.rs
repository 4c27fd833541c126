//! `carrel task …`

use carrel_model::{
    AgentId, Branch, ProviderName, RepoName, TaskId, Timestamp,
    area::AreaPath,
    public::{
        BudgetState, BulkAnswer, BulkVerb, MOST_AT_ONCE, NewAttempts, NewBulk, NewMessage, NewMove, NewNetwork,
        NewTask, Page, TaskChange, TaskPage, TaskView,
    },
    sandbox::{HostRule, Isolation, NetworkMode},
    task::{Dependency, TaskPhase, Until},
};
use clap::{Args, Subcommand};
use futures::StreamExt;
use reqwest::{Method, Response};

use super::{
    Client, ago,
    sandbox::word,
    timeline::{Shown, follow, logs},
};
use crate::{
    failure::{Exit, Failure},
    say,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Write a card
    New(Box<New>),
    /// List tasks, newest first
    Ls(List),
    /// Show a task and what was said and done for it
    Show {
        /// Its number
        #[arg(value_parser = task_id)]
        id: TaskId,
    },
    /// Let somebody work on a task
    Start(Act),
    /// Stop whoever works on a task; what was done stays
    Stop(Act),
    /// Print what is said and done for a task
    Logs {
        /// Its number
        #[arg(value_parser = task_id)]
        id: TaskId,
        /// Go on with what happens, until it rests
        #[arg(long, short)]
        follow: bool,
    },
    /// Print what a task changes against its base
    Diff {
        /// Its number
        #[arg(value_parser = task_id)]
        id: TaskId,
        /// From this checkpoint on
        #[arg(long, value_name = "SEQ")]
        from: Option<i64>,
        /// Up to this checkpoint
        #[arg(long, value_name = "SEQ")]
        to: Option<i64>,
    },
    /// Say something to the agent of a task
    Message {
        /// Its number
        #[arg(value_parser = task_id)]
        id: TaskId,
        /// What to say; `-` reads standard input
        text: String,
        #[command(flatten)]
        wait: Wait,
    },
    /// Try again what did not work
    Retry(Act),
    /// Put the branch of a task onto its newest base
    Rebase(Act),
    /// Put a task into its base
    Merge(Act),
    /// End a task without merging it; what was done is kept for a while
    Close(Act),
    /// Change what is written on a card
    Set(Set),
    /// Ask for other attempts at a task
    Fork {
        /// Its number
        #[arg(value_parser = task_id)]
        id: TaskId,
        /// How many
        #[arg(short = 'n', long, default_value = "1")]
        count: carrel_model::task::Attempts,
        /// Begin at this checkpoint of its timeline; at the base when left out
        #[arg(long, value_name = "SEQ")]
        from: Option<i64>,
        /// Another agent
        #[arg(long)]
        agent: Option<AgentId>,
    },
    /// Let a task go on at another provider, with all that was done
    Move {
        /// Its number
        #[arg(value_parser = task_id)]
        id: TaskId,
        /// The provider: local, oci, e2b
        #[arg(long, value_name = "PROVIDER")]
        to: ProviderName,
    },
    /// Let a command score the attempts at a task
    Judge(super::judge::Judge),
    /// Choose one of several attempts: the others are closed, and kept
    Promote(super::judge::Promote),
    /// Open a sandbox at a checkpoint of a task
    Open(super::judge::Open),
    /// Write a task into a file, with its timeline and all its work
    Export(super::parcel::Export),
    /// Bring a task here from such a file; it rests until somebody starts it
    Import(super::parcel::Import),
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// What is wanted, in a few words
    title: String,
    /// Where; the only repository when left out
    #[arg(long)]
    repo: Option<RepoName>,
    /// In as many words as it takes; `-` reads standard input
    #[arg(long)]
    prompt: Option<String>,
    /// Who does it
    #[arg(long)]
    agent: Option<AgentId>,
    /// The branch that it begins at
    #[arg(long)]
    base: Option<Branch>,
    /// Begin at once
    #[arg(long)]
    start: bool,
    /// The higher, the sooner
    #[arg(long, allow_negative_numbers = true)]
    priority: Option<i32>,
    /// When it is to be done, as 2026-11-20 or 2026-11-20T12:00:00Z: of those that are equally urgent, who is due sooner
    /// begins first
    #[arg(long, value_name = "WHEN", value_parser = due)]
    due: Option<Timestamp>,
    /// Something to stick on it
    #[arg(long = "label")]
    labels: Vec<String>,
    /// A task that comes first, as ID or ID:started, ID:in_review, ID:merged
    #[arg(long = "depends-on", value_name = "ID[:UNTIL]", value_parser = dependency)]
    depends_on: Vec<Dependency>,
    /// How strongly its desk is kept apart
    #[arg(long, value_parser = word::<Isolation>)]
    isolation: Option<Isolation>,
    /// How open its network is: none, allow or open
    #[arg(long, value_parser = word::<NetworkMode>)]
    network: Option<NetworkMode>,
    /// A host that may be reached, with --network allow
    #[arg(long, value_name = "HOST")]
    allow: Vec<String>,
    /// How much may be spent, in dollars
    #[arg(long, value_name = "USD")]
    budget: Option<f64>,
    /// Repeating the command with the same key writes one card
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    wait: Wait,
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    /// Its number
    #[arg(value_parser = task_id)]
    id: TaskId,
    /// In a few words
    #[arg(long)]
    title: Option<String>,
    /// In as many words as it takes
    #[arg(long)]
    prompt: Option<String>,
    /// Who does it
    #[arg(long)]
    agent: Option<AgentId>,
    /// The higher, the sooner
    #[arg(long, allow_negative_numbers = true)]
    priority: Option<i32>,
    /// When it is to be done; '' for no such time
    #[arg(long, value_name = "WHEN", value_parser = maybe_due)]
    due: Option<Due>,
    /// Everything to stick on it
    #[arg(long = "label")]
    labels: Option<Vec<String>>,
    /// Everything that comes first; '' for nothing
    #[arg(long = "depends-on", value_name = "ID[:UNTIL]", value_parser = maybe_dependency)]
    depends_on: Option<Vec<Option<Dependency>>>,
    /// The branch that it is merged into
    #[arg(long)]
    base: Option<Branch>,
    /// How much may be spent, in dollars
    #[arg(long, value_name = "USD")]
    budget: Option<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only those in these phases, with commas between them
    #[arg(long)]
    phase: Option<String>,
    /// Only those in this repository
    #[arg(long)]
    repo: Option<RepoName>,
    /// Only those of this agent
    #[arg(long)]
    agent: Option<AgentId>,
    /// Only those with this label
    #[arg(long)]
    label: Option<String>,
    /// Only those with these words in their title or prompt
    #[arg(long)]
    text: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Act {
    /// Their numbers
    #[arg(required = true, value_parser = task_id)]
    ids: Vec<TaskId>,
    #[command(flatten)]
    wait: Wait,
}

#[derive(Debug, Args)]
pub(crate) struct Wait {
    /// Wait until it is in this phase: in_review, merged, closed, …
    #[arg(long, value_name = "PHASE", num_args = 0..=1, require_equals = true, value_parser = phase)]
    wait: Option<Option<TaskPhase>>,
    /// How many seconds to wait at most
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=600))]
    wait_timeout: u64,
}

/// A number, or a branch that is named after one.
pub(crate) fn task_id(text: &str) -> Result<TaskId, String> {
    TaskId::try_from(text.to_owned()).map_err(|error| error.to_string())
}

fn phase(text: &str) -> Result<TaskPhase, String> {
    let known = TaskPhase::ALL.map(TaskPhase::word).join(", ");
    TaskPhase::from_word(text).ok_or_else(|| format!("one of: {known}"))
}

fn dependency(text: &str) -> Result<Dependency, String> {
    let (id, until) = text.split_once(':').unwrap_or((text, "merged"));
    Ok(Dependency { task_id: task_id(id)?, until: word::<Until>(until)? })
}

/// Nothing at all is said by an empty text.
fn maybe_dependency(text: &str) -> Result<Option<Dependency>, String> {
    if text.is_empty() { Ok(None) } else { dependency(text).map(Some) }
}

impl Verb {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        match self {
            Verb::New(new) => new.run(client).await,
            Verb::Ls(list) => list.run(client).await,
            Verb::Show { id } => show_one(client, id).await,
            Verb::Start(act) => act.run(client, BulkVerb::Start, TaskPhase::InReview).await,
            Verb::Stop(act) => act.run(client, BulkVerb::Stop, TaskPhase::Backlog).await,
            Verb::Retry(act) => act.run(client, BulkVerb::Retry, TaskPhase::InReview).await,
            Verb::Rebase(act) => act.run(client, BulkVerb::Rebase, TaskPhase::InReview).await,
            Verb::Merge(act) => act.run(client, BulkVerb::Merge, TaskPhase::Merged).await,
            Verb::Close(act) => act.run(client, BulkVerb::Close, TaskPhase::Closed).await,
            Verb::Logs { id, follow: false } => logs(client, &format!("/tasks/{id}/timeline")).await,
            Verb::Logs { id, follow: true } => follow(client, id, &mut Shown::default()).await.map(drop),
            Verb::Diff { id, from, to } => print_diff(client, &format!("/tasks/{id}/diff"), from, to).await,
            Verb::Message { id, text, wait } => {
                let text = said(text)?;
                let request = client.request(Method::POST, &format!("/tasks/{id}/message"))?;
                let request = request.query(&wait.query(TaskPhase::InReview)).json(&NewMessage { role: None, text });
                let waiting = wait.progress(&format!("waiting for task {id}"));
                let answer = client.send(request).await?;
                waiting.finish_and_clear();
                wait.finish(client, answer, TaskPhase::InReview).await
            }
            Verb::Set(set) => set.run(client).await,
            Verb::Fork { id, count, from, agent } => {
                let body = NewAttempts { count: Some(count), from, agent };
                let request = client.request(Method::POST, &format!("/tasks/{id}/fork"))?.json(&body);
                let page: Page<TaskView> = client.fetch(request).await?;
                show(client, &page.items, true)
            }
            Verb::Export(export) => export.run(client).await,
            Verb::Import(import) => import.run(client).await,
            Verb::Move { id, to } => {
                let request = client.request(Method::POST, &format!("/tasks/{id}/move"))?;
                let view: TaskView = client.fetch(request.json(&NewMove { provider: to })).await?;
                show(client, &[view], false)
            }
            Verb::Judge(judge) => judge.run(client).await,
            Verb::Promote(promote) => promote.run(client).await,
            Verb::Open(open) => open.run(client).await,
        }
    }
}

/// Prints what changed, from one checkpoint or the base to another or the newest work.
pub(super) async fn print_diff(
    client: &Client,
    place: &str,
    from: Option<i64>,
    to: Option<i64>,
) -> Result<(), Failure> {
    let query: Vec<_> = [("from", from), ("to", to)].into_iter().filter(|(_, seq)| seq.is_some()).collect();
    let mut pieces = client.send(client.request(Method::GET, place)?.query(&query)).await?.bytes_stream();
    while let Some(Ok(piece)) = pieces.next().await {
        if !say::bytes(&piece) {
            break;
        }
    }
    Ok(())
}

/// What was typed, or what stands on standard input.
pub(crate) fn said(text: String) -> Result<String, Failure> {
    if text != "-" {
        return Ok(text);
    }
    std::io::read_to_string(std::io::stdin())
        .map_err(|error| Failure::new(format!("standard input cannot be read: {error}")))
}

impl New {
    async fn run(self, client: &Client) -> Result<(), Failure> {
        let usage = |error: String| Failure::new(error).exit(Exit::Usage);
        let repo = match self.repo {
            Some(repo) => repo,
            None => only_repo(client).await?,
        };
        let allow: Result<Vec<HostRule>, _> = self.allow.iter().cloned().map(HostRule::try_from).collect();
        let allow = allow.map_err(|error| usage(error.to_string()))?;
        let mode = self.network.or((!allow.is_empty()).then_some(NetworkMode::Allow));
        let priority = self.priority.map(TryInto::try_into).transpose().map_err(|error: &str| usage(error.into()))?;
        let new = NewTask {
            repo,
            title: self.title,
            prompt: self.prompt.map(said).transpose()?,
            agent: self.agent,
            base: self.base,
            start: self.start || self.wait.is_asked(),
            priority,
            due: self.due,
            labels: self.labels,
            depends_on: self.depends_on,
            isolation: self.isolation,
            network: mode.map(|mode| NewNetwork { mode, allow, ..NewNetwork::default() }),
            budget_usd: self.budget,
        };
        self.wait.write(client, "/tasks", self.idempotency_key.as_deref(), &new).await
    }
}

/// A time that may be taken away.
#[derive(Debug, Clone, Copy)]
struct Due(Option<Timestamp>);

fn maybe_due(text: &str) -> Result<Due, String> {
    if text.is_empty() { Ok(Due(None)) } else { due(text).map(|due| Due(Some(due))) }
}

/// A moment, or a day: then its end.
fn due(text: &str) -> Result<Timestamp, String> {
    if let Ok(moment) = text.parse() {
        return Ok(moment);
    }
    let day = text.parse::<jiff::civil::Date>().map_err(|_| "a day, or a moment with its zone".to_owned())?;
    let end = day.at(23, 59, 59, 0).to_zoned(jiff::tz::TimeZone::UTC).map_err(|error| error.to_string())?;
    Ok(end.timestamp())
}

/// The one repository that there is.
pub(crate) async fn only_repo(client: &Client) -> Result<RepoName, Failure> {
    let page: Page<carrel_model::public::RepoView> = client.get("/repos").await?;
    match page.items.as_slice() {
        [one] => Ok(one.name.clone()),
        [] => {
            Err(Failure::new("there is no repository yet").hint("add one with `carrel repo add`").exit(Exit::NotFound))
        }
        many => {
            let names: Vec<_> = many.iter().map(|repo| repo.name.to_string()).collect();
            Err(Failure::new(format!("say which repository with --repo: {}", names.join(", "))).exit(Exit::Usage))
        }
    }
}

impl Set {
    async fn run(self, client: &Client) -> Result<(), Failure> {
        let usage = |error: &str| Failure::new(error).exit(Exit::Usage);
        let change = TaskChange {
            title: self.title,
            prompt: self.prompt,
            agent: self.agent,
            priority: self.priority.map(TryInto::try_into).transpose().map_err(usage)?,
            due: self.due.map(|due| due.0),
            labels: self.labels,
            depends_on: self.depends_on.map(|all| all.into_iter().flatten().collect()),
            base: self.base,
            budget_usd: self.budget,
        };
        let request = client.request(Method::PATCH, &format!("/tasks/{}", self.id))?.json(&change);
        show(client, &[client.fetch(request).await?], false)
    }
}

impl Act {
    async fn run(self, client: &Client, verb: BulkVerb, usual: TaskPhase) -> Result<(), Failure> {
        let mut failures = Vec::new();
        let mut done = Vec::new();
        // All are asked before any is waited for.
        for ids in self.ids.chunks(MOST_AT_ONCE) {
            let asked = NewBulk { verb, ids: ids.to_vec(), text: None, change: None };
            let request = client.request(Method::POST, "/tasks/bulk")?.json(&asked);
            let answers: Page<BulkAnswer> = client.fetch(request).await?;
            for answer in answers.items {
                // One that cannot be moved does not keep the others.
                failures.extend(answer.problem.map(Failure::from));
                done.extend(answer.task.map(|task| *task));
            }
        }
        match self.wait.wait {
            None if client.json() => {
                done.iter().try_for_each(|task| show(client, std::slice::from_ref(task), false))?
            }
            None if !done.is_empty() => show(client, &done, false)?,
            None => {}
            Some(_) => {
                for task in &done {
                    let path = format!("/tasks/{}", task.id);
                    let request = client.request(Method::GET, &path)?.query(&self.wait.query(usual));
                    let waiting = self.wait.progress(&format!("waiting for task {}", task.id));
                    let answer = client.send(request).await;
                    waiting.finish_and_clear();
                    failures.extend(match answer {
                        Ok(answer) => self.wait.finish(client, answer, usual).await.err(),
                        Err(error) => Some(error),
                    });
                }
            }
        }
        // Every refusal is told; the last one says how it ended.
        let last = failures.pop();
        for failure in failures {
            let _ = failure.report();
        }
        last.map_or(Ok(()), Err)
    }
}

impl Wait {
    pub(super) fn is_asked(&self) -> bool {
        self.wait.is_some()
    }

    /// Writes a card, and waits until its pull request is open when that is asked for.
    pub(super) async fn write(
        &self,
        client: &Client,
        place: &str,
        key: Option<&str>,
        card: &impl serde::Serialize,
    ) -> Result<(), Failure> {
        let mut request = client.request(Method::POST, place)?.query(&self.query(TaskPhase::InReview));
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        let waiting = self.progress("working");
        let answer = client.send(request.json(card)).await?;
        waiting.finish_and_clear();
        self.finish(client, answer, TaskPhase::InReview).await
    }

    fn query(&self, usual: TaskPhase) -> Vec<(&'static str, String)> {
        let Some(phase) = self.wait else { return Vec::new() };
        vec![("wait", phase.unwrap_or(usual).word().to_owned()), ("timeout", self.wait_timeout.to_string())]
    }

    fn progress(&self, message: &str) -> indicatif::ProgressBar {
        if self.wait.is_some() { say::progress(message) } else { indicatif::ProgressBar::hidden() }
    }

    /// Shows what came back, then says if the wait did not end well.
    async fn finish(&self, client: &Client, answer: Response, usual: TaskPhase) -> Result<(), Failure> {
        let waited = answer.headers().get("carrel-waited").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let view: TaskView =
            answer.json().await.map_err(|error| Failure::new(format!("the answer cannot be understood: {error}")))?;
        show(client, std::slice::from_ref(&view), false)?;
        let wanted = self.wait.flatten().unwrap_or(usual).word();
        match waited.as_deref() {
            Some("not-yet") => {
                let sentence =
                    format!("task {} is {} after {} s, not {wanted}", view.id, view.phase.word(), self.wait_timeout);
                Err(Failure::new(sentence).exit(Exit::TimedOut))
            }
            Some("never") => Err(unfinished(&view, wanted)),
            _ => Ok(()),
        }
    }
}

/// Why a task is not where it was waited for.
pub(crate) fn unfinished(view: &TaskView, wanted: &str) -> Failure {
    let why = view.needs.as_ref().map_or_else(
        || format!("task {} is {}, not {wanted}", view.id, view.phase.word()),
        |needs| format!("task {} needs you: {}", view.id, say::printable(&needs.detail)),
    );
    Failure::new(why).hint(format!("`carrel task show {}` tells the whole story", view.id)).exit(Exit::Failed)
}

impl List {
    async fn run(self, client: &Client) -> Result<(), Failure> {
        let mut query = Vec::new();
        query.extend(self.phase.map(|phase| ("phase", phase)));
        query.extend(self.repo.map(|repo| ("repo", repo.to_string())));
        query.extend(self.agent.map(|agent| ("agent", agent.to_string())));
        query.extend(self.label.map(|label| ("label", label)));
        query.extend(self.text.map(|text| ("text", text)));
        let mut items: Vec<TaskView> = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let mut request = client.request(Method::GET, "/tasks")?.query(&query).query(&[("limit", "1000")]);
            if let Some(cursor) = &cursor {
                request = request.query(&[("cursor", cursor)]);
            }
            let page: TaskPage = client.fetch(request).await?;
            items.extend(page.items);
            match page.next {
                Some(next) => cursor = Some(next),
                None => return show(client, &items, true),
            }
        }
    }
}

async fn show_one(client: &Client, id: TaskId) -> Result<(), Failure> {
    let task: TaskView = client.get(&format!("/tasks/{id}")).await?;
    if client.json() {
        return say::json(&task);
    }
    if client.quiet() {
        say::line(task.id);
        return Ok(());
    }
    let field = |name: &str, value: String| {
        if !value.is_empty() {
            say::line(format_args!("{name:<10} {}", say::printable(&value)));
        }
    };
    field("task", format!("{}  {}", task.id, task.title));
    field("phase", task.phase.word().to_owned());
    if let Some(needs) = &task.needs {
        field("needs you", needs.detail.clone());
    }
    field("repo", format!("{} › {} → {}", task.repo, task.branch, task.base));
    field("agent", task.agent.to_string());
    field("due", task.due.map(|due| due.strftime("%Y-%m-%d %H:%M:%SZ").to_string()).unwrap_or_default());
    field("desk", task.sandbox_id.as_ref().map(ToString::to_string).unwrap_or_default());
    let commits = format!("{} ahead, {} behind", task.ahead, task.behind);
    field("head", task.head.as_ref().map(|head| format!("{}  {commits}", head.short())).unwrap_or_default());
    field(
        "pull",
        task.pull
            .as_ref()
            .map(|pull| format!("{} {} {}", pull.number, pull.phase.word(), client.place(&pull.url)))
            .unwrap_or_default(),
    );
    for conflict in &task.conflicts {
        let with = conflict.task_id.map_or_else(|| task.base.to_string(), |other| format!("task {other}"));
        field("conflict", format!("with {with} in {}", conflict.paths.join(", ")));
    }
    for share in &task.shares {
        let with = share.task_id.map_or_else(|| task.base.to_string(), |other| format!("task {other}"));
        field("beside", format!("{with} in {}", share.paths.join(", ")));
    }
    for claim in task.claims.iter().filter(|claim| claim.holds(jiff::Timestamp::now())) {
        let paths: Vec<&str> = claim.paths.iter().map(AreaPath::as_str).collect();
        field("area", format!("{} until {}", paths.join(", "), claim.until.strftime("%Y-%m-%d %H:%M:%SZ")));
    }
    field("cost", cost(&task));
    say::line("");
    logs(client, &format!("/tasks/{id}/timeline")).await
}

/// What it cost, of how much, and whether that is nearly or wholly spent.
fn cost(task: &TaskView) -> String {
    let of = task.budget_usd.map(|budget| format!(" of ${budget:.2}")).unwrap_or_default();
    match (task.budget_state, task.cost_usd) {
        (Some(BudgetState::Spent), cost) => format!("${cost:.4}{of}: the budget is spent"),
        (Some(BudgetState::Warning), cost) => format!("${cost:.4}{of}: the budget is nearly spent"),
        (None, cost) if cost > 0.0 => format!("${cost:.4}{of}"),
        (None, _) => String::new(),
    }
}

/// Shows tasks; one by itself is an object and not a list, where JSON is wanted.
pub(crate) fn show(client: &Client, tasks: &[TaskView], as_list: bool) -> Result<(), Failure> {
    if client.json() {
        return match tasks {
            [one] if !as_list => say::json(one),
            all => say::json(&all),
        };
    }
    if client.quiet() {
        tasks.iter().for_each(|task| say::line(task.id));
        return Ok(());
    }
    let row = |task: &TaskView| {
        let pull = task.pull.as_ref().map(|pull| format!("#{} {}", pull.number, pull.phase.word())).unwrap_or_default();
        let needs = task.needs.as_ref().map(|needs| needs.detail.lines().next().unwrap_or_default().to_owned());
        vec![
            task.id.to_string(),
            task.phase.word().to_owned(),
            task.repo.to_string(),
            task.agent.to_string(),
            pull,
            ago(task.updated_at),
            task.title.clone(),
            needs.or_else(|| task.doing.clone()).unwrap_or_default(),
        ]
    };
    say::table(&["ID", "PHASE", "REPO", "AGENT", "PULL", "AGE", "TITLE", "NOW"], tasks.iter().map(row));
    Ok(())
}
