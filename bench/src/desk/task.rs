//! What the platform costs a task: from a card to an open pull request in the embedded forge, with an agent that takes no
//! time of its own. One after the other, fifty at once, and a hundred against what this machine's processors could do.

use std::{collections::BTreeMap, fs, time::Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{Desk, Times, text};
use crate::{
    Outcome,
    http::Connection,
    report::{self, Measure, Unit},
    server::Server,
};

/// Writes a line, and commits. Whatever else it takes is the platform's.
const AGENT: &str = "echo \"$CARREL_TASK\" >\"note-$CARREL_TASK\"; git add -A; git commit -qm 'docs: a note'";
/// Slots that wait.
const POOL: usize = 4;

/// Measures and reports.
pub(crate) async fn measure(quick: bool) -> Outcome<()> {
    let mut desk = Desk::open(POOL).await?;
    desk.ask("POST", "/repos", Some(r#"{"name":"bench","new":true}"#)).await?;
    let agent = json!({"name": "scribe", "dialect": "shell", "command": AGENT}).to_string();
    desk.ask("POST", "/agents", Some(&agent)).await?;
    for _ in 0..3 {
        let address = desk.server.address;
        once(&desk.server, &mut Connection::open(address).await?).await?;
    }
    let alone = if quick { 5 } else { 40 };
    let before = steps(&mut desk).await?;
    let mut times = Times::new()?;
    let mut line = Connection::open(desk.server.address).await?;
    for _ in 0..alone {
        times.note(once(&desk.server, &mut line).await?)?;
    }
    let after = steps(&mut desk).await?;
    let mut lines = Vec::new();
    let mut say = |name: String, number: f64, aim: &'static str| {
        let mut measure = Measure::new(name, Unit::Microseconds).aim(aim);
        measure.note_alone(number);
        lines.push(measure);
    };
    say("one at a time, p50".into(), times.at(0.5), "under 300 ms");
    say("one at a time, p99".into(), times.at(0.99), "");
    for (step, (sum, count)) in &after {
        let (sum_before, count_before) = before.get(step).copied().unwrap_or_default();
        if *count > count_before {
            // A step that is taken twice for one task counts twice: parts of the whole, not of the step.
            say(format!("  of it: {step}"), (sum - sum_before) / alone as f64 * 1e6, "");
        }
    }
    let at_once = if quick { 8 } else { 50 };
    let times = together(&desk.server, at_once).await?.0;
    say(format!("{at_once} at once, p50"), times.at(0.5), "");
    say(format!("{at_once} at once, p99"), times.at(0.99), "");
    let hundred = if quick { 16 } else { 100 };
    let busy = busy_seconds()?;
    let (_, wall) = together(&desk.server, hundred).await?;
    let cores = std::thread::available_parallelism()?.get() as f64;
    let ideal = (busy_seconds()? - busy) / cores;
    say(format!("{hundred} tasks, all of them"), wall * 1e6, "");
    say(format!("{hundred} tasks, processors' time / cores"), ideal * 1e6, "wall near it");
    report::table("a task, from its card to an open pull request, without the agent's own time", &lines)
}

/// One card, until its pull request is open.
async fn once(server: &Server, line: &mut Connection) -> Outcome<std::time::Duration> {
    let body = json!({"repo": "bench", "agent": "scribe", "title": "Write a note", "start": true}).to_string();
    let request = server.request("POST", "/api/v1/tasks?wait=in_review&timeout=600", Some(&body));
    let began = Instant::now();
    let task: Value = serde_json::from_slice(line.ask(&request).await?)?;
    let took = began.elapsed();
    if text(&task, "phase")? != "in_review" {
        return Err(format!("a task is not in review: {task}").into());
    }
    Ok(took)
}

/// So many at once; how long each took, and all of them together in seconds.
async fn together(server: &Server, count: usize) -> Outcome<(Times, f64)> {
    let mut tasks = JoinSet::new();
    let body = json!({"repo": "bench", "agent": "scribe", "title": "Write a note", "start": true}).to_string();
    let request = server.request("POST", "/api/v1/tasks?wait=in_review&timeout=600", Some(&body));
    let began = Instant::now();
    for _ in 0..count {
        let (request, address) = (request.clone(), server.address);
        tasks.spawn(async move {
            let mut line = Connection::open(address).await?;
            let began = Instant::now();
            let task: Value = serde_json::from_slice(line.ask(&request).await?)?;
            if text(&task, "phase")? != "in_review" {
                return Err(format!("a task is not in review: {task}").into());
            }
            Outcome::Ok(began.elapsed())
        });
    }
    let mut times = Times::new()?;
    while let Some(done) = tasks.join_next().await {
        times.note(done??)?;
    }
    Ok((times, began.elapsed().as_secs_f64()))
}

/// What the steps of tasks took so far, in seconds, and how many there were.
async fn steps(desk: &mut Desk) -> Outcome<BTreeMap<String, (f64, f64)>> {
    let request = desk.server.request("GET", "/metrics", None);
    let told = String::from_utf8(desk.line.ask(&request).await?.to_vec())?;
    let mut steps: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for line in told.lines() {
        let Some(rest) = line.strip_prefix("carrel_task_step_seconds_") else { continue };
        let step = rest.split("step=\"").nth(1).and_then(|rest| rest.split('"').next());
        let number = rest.rsplit(' ').next().and_then(|number| number.parse::<f64>().ok());
        let (Some(step), Some(number)) = (step, number) else { continue };
        let held = steps.entry(step.to_owned()).or_default();
        if rest.starts_with("sum") {
            held.0 = number;
        } else if rest.starts_with("count") {
            held.1 = number;
        }
    }
    Ok(steps)
}

/// How long all processors of this machine were busy since it started, in seconds.
fn busy_seconds() -> Outcome<f64> {
    let told = fs::read_to_string("/proc/stat")?;
    let first = told.lines().next().ok_or("no processors")?;
    let ticks: Vec<f64> = first.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    // Not idle and not waiting for a disk.
    let busy: f64 =
        ticks.iter().take(8).enumerate().filter(|(at, _)| ![3, 4].contains(at)).map(|(_, ticks)| ticks).sum();
    Ok(busy / 100.0)
}
