//! `carrel top`: what every agent does now, and what its desk uses, in the terminal until `q`.
//!
//! It is drawn anew when the journal rings, and every two seconds for what only a look at a desk tells.

use std::{
    collections::HashMap,
    io::IsTerminal,
    time::{Duration, Instant},
};

use carrel_model::{
    SandboxId,
    public::{Page, SandboxPage, SandboxView, StatsView, TaskView},
    sandbox::Phase,
    task::TaskPhase,
};
use futures::StreamExt;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};

use super::{
    Client, ago, events,
    exec::{size, stdin},
    shell::Raw,
    span,
    watch::processor,
};
use crate::{failure::Failure, say};

/// How often desks are measured.
const PACE: Duration = Duration::from_secs(2);
/// The journal may ring a thousand times a second; nobody reads as fast.
const FASTEST: Duration = Duration::from_millis(200);
/// So many are asked for, and so many are measured.
const MOST: usize = 200;
const MEASURED: usize = 40;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print it once and end; so it is, too, where standard output is not a terminal
    #[arg(long)]
    once: bool,
}

impl Args {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        let mut seen = Seen::look(client, &HashMap::new()).await?;
        if client.json() {
            return say::json(&serde_json::json!({"tasks": seen.tasks, "sandboxes": seen.sandboxes}));
        }
        if self.once || !std::io::stdout().is_terminal() {
            seen.lines(usize::MAX).iter().for_each(say::line);
            return Ok(());
        }
        let _screen = Screen::enter();
        let mut rings = journal(client.clone());
        let mut typed = stdin();
        let mut resized = signal(SignalKind::window_change()).map_err(|error| Failure::new(error.to_string()))?;
        loop {
            seen.draw();
            let drawn = Instant::now();
            tokio::select! {
                () = tokio::time::sleep(PACE) => {}
                Some(()) = rings.recv() => tokio::time::sleep(FASTEST.saturating_sub(drawn.elapsed())).await,
                _ = resized.recv() => continue,
                bytes = typed.recv() => match bytes {
                    // q, Ctrl-C, Ctrl-D, Escape, or nobody at the keys any more.
                    Some(bytes) if !bytes.iter().any(|key| matches!(key, b'q' | b'Q' | 3 | 4 | 27)) => continue,
                    _ => return Ok(()),
                },
            }
            // A server that is away for a moment comes back; meanwhile the last picture stands.
            match Seen::look(client, &seen.stats).await {
                Ok(new) => seen = new,
                Err(failure) if failure.is_refusal() => return Err(failure),
                Err(failure) => seen.trouble = Some(failure.to_string()),
            }
        }
    }
}

/// Rings when something happened.
fn journal(client: Client) -> mpsc::Receiver<()> {
    let (ring, rings) = mpsc::channel(1);
    tokio::spawn(async move {
        // Nobody reads on, or the server says no: then only the clock rings.
        let tell = |_: &carrel_model::public::Entry| {
            let _ = ring.try_send(());
        };
        let _ = events::follow(&client, None, &[], tell).await;
    });
    rings
}

/// What there is to see.
struct Seen {
    tasks: Vec<TaskView>,
    sandboxes: Vec<SandboxView>,
    stats: HashMap<SandboxId, StatsView>,
    /// What each uses of a processor since the last look.
    busy: HashMap<SandboxId, String>,
    trouble: Option<String>,
}

impl Seen {
    async fn look(client: &Client, before: &HashMap<SandboxId, StatsView>) -> Result<Seen, Failure> {
        let tasks: Page<TaskView> = client.get(&format!("/tasks?limit={MOST}")).await?;
        let sandboxes: SandboxPage = client.get(&format!("/sandboxes?limit={MOST}")).await?;
        let mut tasks = tasks.items;
        tasks.retain(|task| !task.phase.is_over());
        tasks.sort_by_key(|task| (urgency(task.phase), std::cmp::Reverse(task.updated_at)));
        let sandboxes = sandboxes.items;
        let ready = sandboxes.iter().filter(|sandbox| sandbox.phase == Phase::Ready).take(MEASURED);
        let measured = futures::stream::iter(ready.map(|sandbox| sandbox.id.clone()))
            .map(|id| async move {
                let stats = client.get::<StatsView>(&format!("/sandboxes/{id}/stats")).await;
                stats.ok().map(|stats| (id, stats))
            })
            .buffer_unordered(8);
        let stats: HashMap<_, _> = measured.filter_map(std::future::ready).collect().await;
        let busy = stats.iter().map(|(id, stats)| (id.clone(), processor(stats, before.get(id)))).collect();
        Ok(Seen { tasks, sandboxes, stats, busy, trouble: None })
    }

    /// As many lines as there is room for: first who needs somebody, then who works, then the desks.
    fn lines(&self, room: usize) -> Vec<String> {
        let count = |phase: TaskPhase| self.tasks.iter().filter(|task| task.phase == phase).count();
        let here = |phase: Phase| self.sandboxes.iter().filter(|sandbox| sandbox.phase == phase).count();
        let spent: f64 = self.tasks.iter().map(|task| task.cost_usd).sum();
        let busy = self.tasks.iter().filter(|task| task.phase.is_busy()).count();
        let mut lines = vec![
            format!(
                "tasks      {busy} at work   {} need you   {} in review   {} queued   ${spent:.2}",
                count(TaskPhase::NeedsYou),
                count(TaskPhase::InReview),
                count(TaskPhase::Queued),
            ),
            format!(
                "sandboxes  {} ready   {} paused   {} on their way   {} failed",
                here(Phase::Ready),
                here(Phase::Paused),
                here(Phase::Requested) + here(Phase::Preparing) + here(Phase::Closing),
                here(Phase::Failed),
            ),
            String::new(),
        ];
        let left = room.saturating_sub(lines.len() + 4);
        let desks = self.sandboxes.len().min(left / 2);
        let tasks = self.tasks.len().min(left - desks);
        if !self.tasks.is_empty() {
            let head = ["ID", "PHASE", "REPO", "AGENT", "SINCE", "COST", "TITLE", "NOW"];
            lines.extend(say::rows(&head, self.tasks.iter().take(tasks).map(task_row)));
            lines.push(String::new());
        }
        if !self.sandboxes.is_empty() {
            let head = ["SANDBOX", "PHASE", "TASK", "CPU", "MEMORY", "PIDS", "AGE", "LEFT"];
            lines.extend(say::rows(&head, self.sandboxes.iter().take(desks).map(|sandbox| self.desk_row(sandbox))));
        }
        if self.tasks.is_empty() && self.sandboxes.is_empty() {
            lines.push("Nobody is here. `carrel task new \"…\" --start` asks somebody in.".into());
        }
        if let Some(trouble) = &self.trouble {
            lines.insert(0, format!("! {}", say::printable(trouble)));
        }
        lines
    }

    fn desk_row(&self, sandbox: &SandboxView) -> Vec<String> {
        let usage = self.stats.get(&sandbox.id).map(|stats| &stats.usage);
        let memory = usage.and_then(|usage| usage.memory_bytes);
        let left = sandbox.expires_at.map(|end| span(end.duration_since(jiff::Timestamp::now()).as_secs()));
        vec![
            sandbox.id.to_string(),
            sandbox.phase.word().to_owned(),
            sandbox.task_id.map(|id| id.to_string()).unwrap_or_default(),
            self.busy.get(&sandbox.id).cloned().unwrap_or_default(),
            memory.map(|bytes| indicatif::BinaryBytes(bytes).to_string()).unwrap_or_default(),
            usage.and_then(|usage| usage.pids).map(|pids| pids.to_string()).unwrap_or_default(),
            ago(sandbox.created_at),
            left.unwrap_or_default(),
        ]
    }

    fn draw(&self) {
        let (rows, cols) = size().map_or((24, 80), |size| (size.rows.get() as usize, size.cols.get() as usize));
        // Home; each line with what was behind it wiped; then what was below.
        let mut picture = String::from("\x1b[H");
        for line in self.lines(rows).iter().take(rows.saturating_sub(1)) {
            picture.extend(line.chars().take(cols));
            picture.push_str("\x1b[K\r\n");
        }
        picture.push_str("\x1b[J");
        say::bytes(picture.as_bytes());
    }
}

/// Who is looked at first.
fn urgency(phase: TaskPhase) -> u8 {
    match phase {
        TaskPhase::NeedsYou | TaskPhase::Failed => 0,
        TaskPhase::Working => 1,
        TaskPhase::Preparing | TaskPhase::Publishing => 2,
        TaskPhase::InReview => 3,
        TaskPhase::Queued => 4,
        TaskPhase::Backlog | TaskPhase::Merged | TaskPhase::Closed => 5,
    }
}

fn task_row(task: &TaskView) -> Vec<String> {
    let needs = task.needs.as_ref().map(|needs| needs.detail.clone());
    let now = needs.or_else(|| task.doing.clone()).unwrap_or_default();
    let short = |text: &str| text.lines().next().unwrap_or_default().chars().take(60).collect::<String>();
    vec![
        task.id.to_string(),
        task.phase.word().to_owned(),
        task.repo.to_string(),
        task.agent.to_string(),
        ago(task.updated_at),
        if task.cost_usd > 0.0 { format!("${:.2}", task.cost_usd) } else { String::new() },
        short(&task.title),
        short(&now),
    ]
}

/// The terminal's second screen, without a cursor. What was on the first is there again when this is dropped.
struct Screen(#[expect(dead_code, reason = "held until the end")] Raw);

impl Screen {
    fn enter() -> Screen {
        let raw = Raw::enter();
        say::bytes(b"\x1b[?1049h\x1b[?25l\x1b[2J");
        Screen(raw)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        say::bytes(b"\x1b[?25h\x1b[?1049l");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_needs_somebody_comes_before_who_works() {
        let order =
            [TaskPhase::NeedsYou, TaskPhase::Working, TaskPhase::InReview, TaskPhase::Queued, TaskPhase::Backlog];
        assert!(order.is_sorted_by_key(|phase| urgency(*phase)));
    }

    #[test]
    fn an_empty_house_says_how_to_begin() {
        let seen = Seen {
            tasks: Vec::new(),
            sandboxes: Vec::new(),
            stats: HashMap::new(),
            busy: HashMap::new(),
            trouble: Some("it does not answer".into()),
        };
        let lines = seen.lines(24);
        assert_eq!(lines[0], "! it does not answer");
        assert!(lines.last().is_some_and(|line| line.contains("carrel task new")), "{lines:?}");
    }
}
