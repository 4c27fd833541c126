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
pub(super) const AGENT: &str =
    "echo \"$CARREL_TASK\" >\"note-$CARREL_TASK\"; git add -A; git commit -qm 'docs: a note'";
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
    for (step, took) in parts(&before, &after, alone) {
        say(format!("  of it: {step}"), took, "");
    }
    let at_once = if quick { 8 } else { 50 };
    let before = steps(&mut desk).await?;
    let times = together(&desk.server, at_once).await?.0;
    let after = steps(&mut desk).await?;
    say(format!("{at_once} at once, p50"), times.at(0.5), "");
    say(format!("{at_once} at once, p99"), times.at(0.99), "");
    // What is left to the whole is the time that it waited for room.
    for (step, took) in parts(&before, &after, at_once) {
        say(format!("  of it, on average: {step}"), took, "");
    }
    let hundred = if quick { 16 } else { 100 };
    let busy = busy_seconds()?;
    let (_, wall) = together(&desk.server, hundred).await?;
    let cores = std::thread::available_parallelism()?.get() as f64;
    let ideal = (busy_seconds()? - busy) / cores;
    say(format!("{hundred} tasks, all of them"), wall * 1e6, "");
    say(format!("{hundred} tasks, processors' time / cores"), ideal * 1e6, "wall near it");
    report::table("a task, from its card to an open pull request, without the agent's own time", &lines)
}

/// What the steps of tasks took in all, in seconds, and how many there were.
pub(super) type Steps = BTreeMap<String, Taken>;

/// What each step took of one task on average, between two readings, in microseconds. A step that is taken twice for one
/// task counts twice: parts of the whole, not of the step.
fn parts(before: &Steps, after: &Steps, tasks: usize) -> Vec<(String, f64)> {
    let part = |(step, taken): (&String, &Taken)| {
        let taken = taken.clone().since(before.get(step));
        (taken.count > 0.0).then(|| (step.clone(), taken.sum / tasks as f64 * 1e6))
    };
    after.iter().filter_map(part).collect()
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

/// What a step took so far, in seconds, as the server counts it.
#[derive(Debug, Clone, Default)]
pub(super) struct Taken {
    /// All of it.
    pub(super) sum: f64,
    /// How often.
    pub(super) count: f64,
    /// How often it took no longer than so many seconds; the shortest first.
    buckets: Vec<(f64, f64)>,
}

impl Taken {
    /// What it took since an earlier look.
    pub(super) fn since(mut self, earlier: Option<&Taken>) -> Taken {
        let Some(earlier) = earlier else { return self };
        (self.sum, self.count) = (self.sum - earlier.sum, self.count - earlier.count);
        for (limit, count) in &mut self.buckets {
            let known = earlier.buckets.iter().find(|(other, _)| other == limit);
            *count -= known.map_or(0.0, |(_, count)| *count);
        }
        self
    }

    /// How long it took at most in this part of all cases: evenly spread within a bucket, as Prometheus has it.
    pub(super) fn at(&self, quantile: f64) -> f64 {
        let wanted = self.count * quantile;
        let (mut from, mut below) = (0.0, 0.0);
        for (limit, count) in &self.buckets {
            if *count >= wanted && *count > below {
                // Beyond the last limit nothing is known but that it was longer.
                return if limit.is_finite() {
                    from + (limit - from) * (wanted - below) / (count - below)
                } else {
                    from
                };
            }
            (from, below) = (*limit, *count);
        }
        from
    }
}

/// What the steps of tasks took so far.
pub(super) async fn steps(desk: &mut Desk) -> Outcome<Steps> {
    let request = desk.server.request("GET", "/metrics", None);
    let told = String::from_utf8(desk.line.ask(&request).await?.to_vec())?;
    let mut steps = Steps::new();
    for line in told.lines() {
        let Some(rest) = line.strip_prefix("carrel_task_step_seconds_") else { continue };
        let step = rest.split("step=\"").nth(1).and_then(|rest| rest.split('"').next());
        let number = rest.rsplit(' ').next().and_then(|number| number.parse::<f64>().ok());
        let (Some(step), Some(number)) = (step, number) else { continue };
        let held = steps.entry(step.to_owned()).or_default();
        if rest.starts_with("sum") {
            held.sum = number;
        } else if rest.starts_with("count") {
            held.count = number;
        } else if let Some(limit) = rest.split("le=\"").nth(1).and_then(|rest| rest.split('"').next()) {
            held.buckets.push((limit.parse().unwrap_or(f64::INFINITY), number));
        }
    }
    for taken in steps.values_mut() {
        taken.buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
    }
    Ok(steps)
}

/// How long all processors of this machine were busy since it started, in seconds.
pub(super) fn busy_seconds() -> Outcome<f64> {
    let told = fs::read_to_string("/proc/stat")?;
    let first = told.lines().next().ok_or("no processors")?;
    let ticks: Vec<f64> = first.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    // Not idle and not waiting for a disk.
    let busy: f64 =
        ticks.iter().take(8).enumerate().filter(|(at, _)| ![3, 4].contains(at)).map(|(_, ticks)| ticks).sum();
    Ok(busy / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_lies_in_the_bucket_that_holds_it() {
        let earlier = Taken { sum: 1.0, count: 2.0, buckets: vec![(0.1, 2.0), (0.5, 2.0), (f64::INFINITY, 2.0)] };
        let now = Taken { sum: 9.0, count: 12.0, buckets: vec![(0.1, 7.0), (0.5, 11.0), (f64::INFINITY, 12.0)] };
        let taken = now.since(Some(&earlier));
        assert_eq!((taken.sum, taken.count), (8.0, 10.0));
        assert!((taken.at(0.5) - 0.1).abs() < 1e-9, "{}", taken.at(0.5));
        assert!((taken.at(0.7) - 0.3).abs() < 1e-9, "{}", taken.at(0.7));
        assert_eq!(taken.at(0.99), 0.5, "longer than the last limit is all that is known");
        assert_eq!(Taken::default().at(0.5), 0.0);
    }
}
