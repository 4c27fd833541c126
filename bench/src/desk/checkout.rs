//! A sandbox with a checkout: from asking for it to a working tree that is ready inside, at any size of the repository.

use std::{path::Path, time::Instant};

use super::{Desk, Times};
use crate::{
    Outcome,
    report::{self, Measure, Unit},
};

/// What every sandbox here is asked for, with a checkout and without.
const WITH: &str = r#"{"template":"host","repo":"bench","task_id":1,"checkout":{}}"#;
const WITHOUT: &str = r#"{"template":"host"}"#;
/// How many slots wait in the pool.
const POOL: usize = 4;
/// How many looks at a working tree come after the first.
const LOOKS: usize = 5;

/// Measures and reports, beside a sandbox without a checkout and what git took for the same working tree.
pub(crate) async fn measure(source: &Path, each: usize, cloned: f64, added: f64) -> Outcome<()> {
    let (mut cold, mut pooled) = (Desk::open(0).await?, Desk::open(POOL).await?);
    let began = Instant::now();
    for desk in [&mut cold, &mut pooled] {
        let body = serde_json::json!({"name": "bench", "source": source}).to_string();
        desk.ask("POST", "/repos", Some(&body)).await?;
        desk.ask("POST", "/repos/bench/sync", None).await?;
        // The layer is made for the first one.
        for _ in 0..3 {
            once(desk, WITH).await?;
        }
        // The pool keeps what was asked for before.
        once(desk, WITHOUT).await?;
    }
    report::line(format!("  mirrors and layers were made in {:.1} s", began.elapsed().as_secs_f64()))?;
    let mut times = [Times::new()?, Times::new()?, Times::new()?, Times::new()?];
    for _ in 0..each {
        times[0].note(once(&mut cold, WITHOUT).await?)?;
        times[1].note(once(&mut cold, WITH).await?)?;
        until_warm(&mut pooled).await?;
        times[2].note(once(&mut pooled, WITHOUT).await?)?;
        until_warm(&mut pooled).await?;
        times[3].note(once(&mut pooled, WITH).await?)?;
    }
    let mut lines = Vec::new();
    for (name, peer, ours) in [
        ("cold: a sandbox with its checkout, against git clone", cloned, &times[1]),
        ("cold: against git worktree add", added, &times[1]),
        ("cold: against a sandbox without", times[0].at(0.5), &times[1]),
        ("from the pool: against git clone", cloned, &times[3]),
        ("from the pool: against a sandbox without", times[2].at(0.5), &times[3]),
    ] {
        let mut line = Measure::new(name, Unit::Microseconds).aim("under 20 ms");
        line.note(ours.at(0.5), peer);
        lines.push(line);
    }
    lines.extend(looks(&mut cold).await?);
    report::table("a sandbox with a checkout, until it is ready, p50", &lines)
}

/// `git status` in a checkout, against an ordinary clone in the same sandbox. What is timed is a command's way through the API,
/// which is the same for both.
async fn looks(desk: &mut Desk) -> Outcome<[Measure; 2]> {
    const STATUS: &str = "git status --porcelain";
    const ROOMY: &str =
        r#"{"template":"host","repo":"bench","task_id":1,"checkout":{},"limits":{"memory_mb":4096,"disk_mb":8192}}"#;
    let id = desk.create(ROOMY).await?;
    let ours = looked(desk, &id, STATUS).await?;
    desk.run(&id, "git clone -q \"$(git remote get-url origin)\" /tmp/clone").await?;
    let theirs = looked(desk, &id, &format!("cd /tmp/clone && {STATUS}")).await?;
    desk.destroy(&id).await?;
    let line = |name: &'static str, which: usize| {
        let mut line = Measure::new(name, Unit::Microseconds).aim("1×");
        line.note(ours[which], theirs[which]);
        line
    };
    Ok([
        line("inside: first git status, against a clone's there", 0),
        line("inside: later ones, against a clone's there", 1),
    ])
}

/// How long the first look takes, and the middle one of those after it, in microseconds.
async fn looked(desk: &mut Desk, id: &str, status: &str) -> Outcome<[f64; 2]> {
    let mut times = Vec::new();
    for _ in 0..=LOOKS {
        let began = Instant::now();
        let changed = desk.run(id, status).await?;
        times.push(began.elapsed().as_secs_f64() * 1e6);
        if !changed.is_empty() {
            return Err(format!("git sees changes where none are: {changed:.200}").into());
        }
    }
    let later = &mut times[1..];
    later.sort_by(f64::total_cmp);
    let middle = later[LOOKS / 2];
    Ok([times[0], middle])
}

async fn once(desk: &mut Desk, body: &str) -> Outcome<std::time::Duration> {
    let began = Instant::now();
    let id = desk.create(body).await?;
    let took = began.elapsed();
    desk.destroy(&id).await?;
    Ok(took)
}

/// Waits until slots of both kinds wait.
async fn until_warm(desk: &mut Desk) -> Outcome<()> {
    while desk.metric("carrel_pool_waiting").await? < (2 * POOL) as f64 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    Ok(())
}
