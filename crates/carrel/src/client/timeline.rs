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

/// How far a timeline was shown.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    upto: i64,
    /// What was still being said there.
    growing: Option<i64>,
}

impl Shown {
    /// Everything up to a place.
    pub(super) fn upto(seq: i64) -> Shown {
        Shown { upto: seq, growing: None }
    }

    /// Whether a moment is to be printed. One that is still being said is printed when it is whole.
    fn takes(&mut self, moment: &Moment) -> bool {
        let is_new = moment.seq > self.upto || self.growing == Some(moment.seq);
        self.upto = self.upto.max(moment.seq);
        if is_new {
            self.growing =
                if moment.unfinished { Some(moment.seq) } else { self.growing.filter(|it| *it != moment.seq) };
        }
        is_new && !moment.unfinished
    }

    /// Prints what is told of a timeline.
    pub(super) fn hear(&mut self, client: &Client, moment: &Moment) {
        if self.takes(moment) || (has_failed(moment) && !client.json()) {
            print(client, moment);
        }
    }

    /// Prints what is new on a timeline, which is read there.
    pub(super) async fn catch_up(&mut self, client: &Client, place: &str) -> Result<(), Failure> {
        let after = self.growing.map_or(self.upto, |seq| seq - 1);
        for moment in moments(client, place, after).await? {
            if self.takes(&moment) {
                print(client, &moment);
            }
        }
        Ok(())
    }
}

async fn moments(client: &Client, place: &str, mut after: i64) -> Result<Vec<Moment>, Failure> {
    let mut all = Vec::new();
    loop {
        let page: Timeline = client.get(&format!("{place}?limit=1000&after={after}")).await?;
        after = page.items.last().map_or(after, |moment| moment.seq);
        all.extend(page.items);
        if page.next.is_none() {
            return Ok(all);
        }
    }
}

/// Prints a timeline as it is now.
pub(super) async fn logs(client: &Client, place: &str) -> Result<(), Failure> {
    moments(client, place, 0).await?.iter().for_each(|moment| print(client, moment));
    Ok(())
}

/// Prints the timeline of a task, and what comes after it, until the task rests. Gives the task as it then is.
pub(crate) async fn follow(client: &Client, id: TaskId, shown: &mut Shown) -> Result<TaskView, Failure> {
    let place = format!("/tasks/{id}/timeline");
    let page: TaskPage = client.get("/tasks?limit=1").await?;
    let mut after = page.as_of.0;
    shown.catch_up(client, &place).await?;
    let mut failures = 0;
    loop {
        let task: TaskView = client.get(&format!("/tasks/{id}")).await?;
        if rests(&task) {
            shown.catch_up(client, &place).await?;
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
                Happening::Moment { moment, .. } => shown.hear(client, &moment),
                Happening::Task { task } if rests(&task) => {
                    shown.catch_up(client, &place).await?;
                    return Ok(*task);
                }
                _ => {}
            }
        }
    }
}

fn rests(task: &TaskView) -> bool {
    use carrel_model::task::TaskWant;
    task.phase.is_over() || (task.phase.rests() && !matches!(task.want, TaskWant::Merged | TaskWant::Closed))
}

/// Whether it is the use of a tool that did not work.
fn has_failed(moment: &Moment) -> bool {
    moment.tool.as_ref().is_some_and(|tool| tool.ok == Some(false))
}

/// One moment, as people read it.
fn print(client: &Client, moment: &Moment) {
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

#[cfg(test)]
mod tests {
    use carrel_model::agent::Voice;

    use super::*;

    fn moment(seq: i64, unfinished: bool) -> Moment {
        let told = serde_json::json!({"seq": seq, "at": "2026-11-18T00:00:00Z", "turn": 1, "kind": MomentKind::Message,
            "role": Voice::Agent, "text": "Half a sentence.", "unfinished": unfinished});
        serde_json::from_value(told).unwrap()
    }

    #[test]
    fn a_message_in_pieces_is_printed_once_when_it_is_whole_whatever_comes_in_between() {
        let mut shown = Shown::default();
        let told =
            [(1, false), (2, true), (2, true), (3, false), (1, false), (2, false), (2, false), (4, true), (4, false)];
        let printed: Vec<i64> =
            told.iter().filter(|(seq, growing)| shown.takes(&moment(*seq, *growing))).map(|(seq, _)| *seq).collect();
        assert_eq!(printed, [1, 3, 2, 4]);
    }
}
