//! Timelines of tasks and sessions, as a terminal shows them: what was said and done, and what comes after it.

use carrel_model::{
    TaskId,
    public::{Happening, TaskPage, TaskView, Timeline},
    session::{Moment, MomentKind},
};
use eventsource_stream::Eventsource;
use futures::StreamExt;
use reqwest::Method;

use super::Client;
use crate::{failure::Failure, say};

/// Prints the timeline, and what comes after it, until the task rests. Gives the task as it then is.
pub(crate) async fn follow(client: &Client, id: TaskId, seen: &mut i64) -> Result<TaskView, Failure> {
    let page: TaskPage = client.get("/tasks?limit=1").await?;
    let mut after = page.as_of.0;
    logs_after(client, id, seen).await?;
    let mut failures = 0;
    loop {
        let task: TaskView = client.get(&format!("/tasks/{id}")).await?;
        if rests(&task) {
            logs_after(client, id, seen).await?;
            return Ok(task);
        }
        let query = [("task_id", id.to_string()), ("after", after.to_string())];
        let request = client.request(Method::GET, "/events")?.query(&query);
        let answer = match client.send(request).await {
            Ok(answer) => answer,
            Err(failure) if failure.is_refusal() || failures > 20 => return Err(failure),
            Err(_) => {
                failures += 1;
                tokio::time::sleep(std::time::Duration::from_millis(500)).await;
                continue;
            }
        };
        failures = 0;
        let mut events = answer.bytes_stream().eventsource();
        while let Some(Ok(event)) = events.next().await {
            after = event.id.parse().unwrap_or(after);
            let Ok(entry) = serde_json::from_str::<carrel_model::public::Entry>(&event.data) else { continue };
            match entry.happening {
                Happening::Moment { moment, .. } if moment.seq > *seen => {
                    *seen = moment.seq;
                    print(client, &moment);
                }
                Happening::Moment { moment, .. } if has_failed(&moment) && !client.json() => print(client, &moment),
                Happening::Task { task } if rests(&task) => {
                    logs_after(client, id, seen).await?;
                    return Ok(*task);
                }
                _ => {}
            }
        }
    }
}

/// Prints the timeline so far, and says where it ends.
pub(super) async fn logs(client: &Client, id: TaskId) -> Result<i64, Failure> {
    let mut last = 0;
    logs_after(client, id, &mut last).await?;
    Ok(last)
}

async fn logs_after(client: &Client, id: TaskId, seen: &mut i64) -> Result<(), Failure> {
    loop {
        let page: Timeline = client.get(&format!("/tasks/{id}/timeline?limit=1000&after={seen}")).await?;
        for moment in &page.items {
            *seen = moment.seq;
            print(client, moment);
        }
        if page.next.is_none() {
            return Ok(());
        }
    }
}

fn rests(task: &TaskView) -> bool {
    use carrel_model::task::TaskWant;
    task.phase.is_over() || (task.phase.rests() && !matches!(task.want, TaskWant::Merged | TaskWant::Closed))
}

/// Whether it is the use of a tool that did not work.
pub(crate) fn has_failed(moment: &Moment) -> bool {
    moment.tool.as_ref().is_some_and(|tool| tool.ok == Some(false))
}

/// One moment, as people read it.
pub(crate) fn print(client: &Client, moment: &Moment) {
    if client.json() {
        say::line(serde_json::to_string(moment).unwrap_or_default());
        return;
    }
    let who = match (moment.kind, moment.role) {
        (MomentKind::Tool, _) => "tool",
        (MomentKind::Checkpoint, _) => "save",
        (MomentKind::Note, _) => "note",
        (MomentKind::Thought, _) => "thinks",
        (MomentKind::Question, _) => "asks",
        (MomentKind::Message, carrel_model::agent::Voice::User) => "you",
        (MomentKind::Message, carrel_model::agent::Voice::Agent) => "agent",
        (MomentKind::Message, carrel_model::agent::Voice::House) => "carrel",
    };
    // A tool that failed must not look like one that worked.
    let (who, output) = match moment.tool.as_ref().filter(|_| has_failed(moment)) {
        Some(tool) => ("tool \u{2717}", tool.output.as_deref().unwrap_or_default()),
        None => (who, ""),
    };
    let first = output.lines().find(|line| !line.trim().is_empty()).map(str::trim);
    let mut lines = moment.text.lines().chain(first);
    say::line(format_args!("{who:>7}  {}", say::printable(lines.next().unwrap_or_default())));
    for line in lines {
        say::line(format_args!("{:>7}  {}", "", say::printable(line)));
    }
    if let (Some(commit), Some(desk)) = (&moment.commit, &moment.desk) {
        let cost = moment.cost_usd.filter(|cost| *cost > 0.0).map(|cost| format!(", ${cost:.4} so far"));
        let cost = cost.unwrap_or_default();
        let line =
            format!("{} at {} ({}, {}){cost}", commit.short(), desk.sandbox_id, desk.phase.word(), desk.template);
        say::line(format_args!("{:>7}  {}", "", say::printable(&line)));
    }
}
