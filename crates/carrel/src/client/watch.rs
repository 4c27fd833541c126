//! `carrel sandbox logs|stats|fork|snapshot`

use std::time::Duration;

use carrel_model::{
    TemplateName,
    number::Whole,
    public::{LogLine, NewFork, NewSnapshot, Page, SandboxView, StatsView, TemplateView},
};
use eventsource_stream::Eventsource;
use futures::StreamExt;
use reqwest::Method;

use super::{
    Client,
    sandbox::{Wait, resolve, row},
};
use crate::{failure::Failure, say};

#[derive(Debug, clap::Args)]
pub(crate) struct Logs {
    /// The sandbox: its id, or the beginning of it
    id: String,
    /// Go on with what happens, until it is gone
    #[arg(long, short)]
    follow: bool,
}

impl Logs {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        let id = resolve(client, &self.id).await?;
        let path = format!("/sandboxes/{id}/logs");
        if !self.follow {
            let page: Page<LogLine> = client.get(&path).await?;
            if client.json() {
                return say::json(&page.items);
            }
            page.items.iter().for_each(print);
            return Ok(());
        }
        let answer = client.send(client.request(Method::GET, &format!("{path}?follow=true"))?).await?;
        let mut events = answer.bytes_stream().eventsource();
        while let Some(Ok(event)) = events.next().await {
            match serde_json::from_str::<LogLine>(&event.data) {
                Ok(_) if client.json() => say::line(&event.data),
                Ok(line) => print(&line),
                Err(_) => {}
            }
        }
        Ok(())
    }
}

fn print(line: &LogLine) {
    say::line(format_args!("{}  {}", line.at, say::printable(&line.text)));
}

#[derive(Debug, clap::Args)]
pub(crate) struct Stats {
    /// The sandbox: its id, or the beginning of it
    id: String,
    /// Measure every second, until interrupted
    #[arg(long, short)]
    follow: bool,
}

impl Stats {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        let id = resolve(client, &self.id).await?;
        let mut before: Option<StatsView> = None;
        loop {
            let stats: StatsView = client.get(&format!("/sandboxes/{id}/stats")).await?;
            match (client.json(), self.follow) {
                (true, false) => return say::json(&stats),
                (true, true) => say::line(serde_json::to_string(&stats).unwrap_or_default()),
                (false, false) => {
                    say::table(&HEAD, [cells(&stats, None)]);
                    return Ok(());
                }
                (false, true) => {
                    if before.is_none() {
                        say::line(HEAD.join("  "));
                    }
                    say::line(cells(&stats, before.as_ref()).join("  "));
                }
            }
            before = Some(stats);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

const HEAD: [&str; 8] = ["CPU", "MEMORY", "DISK", "PIDS", "RECEIVED", "SENT", "EXECS", "TERMINALS"];

fn cells(stats: &StatsView, before: Option<&StatsView>) -> Vec<String> {
    let usage = &stats.usage;
    let size = |bytes: Option<u64>| bytes.map_or("-".into(), |bytes| indicatif::BinaryBytes(bytes).to_string());
    let memory = format!("{} / {} MiB", size(usage.memory_bytes), stats.limits.memory_mb);
    vec![
        processor(stats, before),
        memory,
        size(usage.disk_bytes),
        usage.pids.map_or("-".into(), |pids| pids.to_string()),
        size(usage.received_bytes),
        size(usage.sent_bytes),
        stats.activity.execs.to_string(),
        stats.activity.terminals.to_string(),
    ]
}

/// What it uses of a processor since an earlier look, or what it has used so far.
pub(super) fn processor(stats: &StatsView, before: Option<&StatsView>) -> String {
    match (stats.usage.cpu_us, before.and_then(|before| Some((before.usage.cpu_us?, before.at)))) {
        (Some(now), Some((then, at))) => {
            let passed = stats.at.duration_since(at).as_micros().max(1) as f64;
            format!("{:.0} %", now.saturating_sub(then) as f64 * 100.0 / passed)
        }
        (Some(now), None) => format!("{:.2} s", now as f64 / 1e6),
        (None, _) => "-".into(),
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Fork {
    /// The sandbox: its id, or the beginning of it
    id: String,
    /// How many copies
    #[arg(long, short = 'n', default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100))]
    count: u64,
    /// Copy the memory of its processes too, where that can be
    #[arg(long)]
    memory: bool,
    #[command(flatten)]
    wait: Wait,
}

impl Fork {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        let id = resolve(client, &self.id).await?;
        let new = NewFork { count: Whole::new(self.count), memory: self.memory.then_some(true) };
        let request = client.request(Method::POST, &format!("/sandboxes/{id}/fork"))?.query(&self.wait.query("ready"));
        let waiting = self.wait.progress("making copies");
        let answer = client.send(request.json(&new)).await?;
        waiting.finish_and_clear();
        let late = self.wait.check(&answer, &id);
        let page: Page<SandboxView> =
            answer.json().await.map_err(|error| Failure::new(format!("the answer cannot be understood: {error}")))?;
        if client.json() {
            say::json(&page.items)?;
        } else if client.quiet() {
            page.items.iter().for_each(|fork| say::line(&fork.id));
        } else {
            let head = ["ID", "PHASE", "TEMPLATE", "PROVIDER", "AGENT", "AGE", "LEFT", "NOTE"];
            say::table(&head, page.items.iter().map(row));
        }
        late
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Snapshot {
    /// The sandbox: its id, or the beginning of it
    id: String,
    /// What to call it
    #[arg(long)]
    name: Option<TemplateName>,
    /// Keep the memory of its processes too, where that can be
    #[arg(long)]
    memory: bool,
}

impl Snapshot {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        let id = resolve(client, &self.id).await?;
        let new = NewSnapshot { name: self.name, memory: self.memory.then_some(true) };
        let request = client.request(Method::POST, &format!("/sandboxes/{id}/snapshot"))?.json(&new);
        let waiting = say::progress("keeping a snapshot");
        let template: TemplateView = client.fetch(request).await?;
        waiting.finish_and_clear();
        super::template::show(client, &template)
    }
}
