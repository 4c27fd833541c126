//! `carrel task judge`, `promote` and `open`: choosing between attempts, and looks at the past.

use carrel_model::{
    TaskId,
    public::{NewJudgement, Page, ScoreView},
};
use clap::Args;
use reqwest::Method;

use super::{Client, sandbox::Wait, task::task_id};
use crate::{failure::Failure, say};

/// Lets a command choose.
#[derive(Debug, Args)]
pub(crate) struct Judge {
    /// The number of the task, or of one of its forks
    #[arg(value_parser = task_id)]
    id: TaskId,
    /// A line of shell, run on the head of each attempt; the last number that it prints is the score
    #[arg(long)]
    command: String,
    /// Keep the best one, and close the others
    #[arg(long)]
    promote: bool,
}

/// A number of a task.
#[derive(Debug, Args)]
pub(crate) struct Promote {
    /// The number of the attempt
    #[arg(value_parser = task_id)]
    id: TaskId,
}

/// A place on a timeline.
#[derive(Debug, Args)]
pub(crate) struct Open {
    /// The number of the task
    #[arg(value_parser = task_id)]
    id: TaskId,
    /// The place of a checkpoint on its timeline
    #[arg(long, value_name = "SEQ")]
    from: i64,
    #[command(flatten)]
    wait: Wait,
}

impl Judge {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        let new = NewJudgement { command: self.command, promote: self.promote };
        let waiting = say::progress("judging");
        let request = client.request(Method::POST, &format!("/tasks/{}/judge", self.id))?.json(&new);
        let judged: Result<Page<ScoreView>, Failure> = client.fetch(request).await;
        waiting.finish_and_clear();
        let page = judged?;
        if client.json() {
            return say::json(&page.items);
        }
        let row = |view: &ScoreView| {
            let last = view.log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let score = view.score.map(|score| score.to_string()).unwrap_or_default();
            let head = view.head.as_ref().map(|head| head.short().to_owned()).unwrap_or_default();
            let chosen = if view.promoted { "chosen" } else { "" };
            vec![view.task_id.to_string(), score, head, chosen.to_owned(), last.to_owned()]
        };
        say::table(&["ID", "SCORE", "HEAD", "", "LAST LINE"], page.items.iter().map(row));
        Ok(())
    }
}

impl Promote {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        let request = client.request(Method::POST, &format!("/tasks/{}/promote", self.id))?;
        let archived: Page<TaskId> = client.fetch(request).await?;
        if client.json() {
            return say::json(&archived.items);
        }
        archived.items.iter().for_each(|id| say::line(format!("{id} archived")));
        Ok(())
    }
}

impl Open {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        open(client, &format!("/tasks/{}/open", self.id), self.from, &self.wait).await
    }
}

/// Opens a sandbox at a checkpoint of the timeline that a place belongs to.
pub(super) async fn open(client: &Client, place: &str, from: i64, wait: &Wait) -> Result<(), Failure> {
    let request = client.request(Method::POST, place)?.query(&[("from", from)]).query(&wait.query("ready"));
    let waiting = wait.progress("opening a sandbox");
    let answer = client.send(request).await;
    waiting.finish_and_clear();
    wait.finish(answer?, |sandbox| {
        match client.json() {
            true => say::json(sandbox)?,
            false => say::line(&sandbox.id),
        }
        Ok(())
    })
    .await
}
