//! `fleet`: hundreds of tasks over twenty repositories, from their cards to open pull requests, with real sandboxes and real
//! git, and an agent that takes no time of its own. How much, how evenly, how late it is told, and what it costs.
//!
//! The peer of a size is what the processors of this machine need for the work that was done: with every core busy all the
//! time, it would take so long.

mod rows;
mod trees;

use std::{
    fs,
    ops::Range,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::rows::{Rows, Written, room};
use super::{
    Desk, Times,
    task::{AGENT, busy_seconds, steps},
    text,
};
use crate::{
    Outcome,
    events::moment,
    http::{Connection, Request, take_line},
    plot::{self, Picture},
    report::{self, Measure, Unit},
    server::Server,
};

/// Repositories.
const REPOS: usize = 20;
/// Slots that wait.
const POOL: usize = 4;
/// Counts the sandboxes that were made.
const MADE: &str = "carrel_sandbox_steps_total{step=\"create\",outcome=\"done\"}";

/// So often one task alone is measured: the processor's clock ticks a hundred times a second, and a task is a few of them.
const ALONE: usize = 20;

/// What was seen of one size.
struct Seen {
    /// How many tasks there were.
    tasks: f64,
    /// From a card to its pull.
    times: Times,
    /// From the first card to the last pull, in seconds.
    wall: f64,
    /// What all processors did meanwhile, in seconds.
    busy: f64,
    /// What the server itself did of that.
    server: f64,
    /// What the server has in memory then.
    memory: f64,
    /// What the database took in.
    written: Written,
    /// How much more room the repositories take.
    objects: f64,
    /// When the last task of each repository was done, in seconds.
    ends: Vec<f64>,
    /// How late an entry of the journal was heard.
    delays: Times,
    /// Entries that were heard.
    entries: u64,
    /// Each step, in microseconds.
    parts: Vec<(String, Part)>,
    /// Sandboxes that were made.
    sandboxes: f64,
}

/// What a step took.
struct Part {
    /// Of one task, all times it was taken together.
    of_task: f64,
    p50: f64,
    p99: f64,
}

/// Measures and reports: one table for each size, one of how cost grows with them, and one of how it grows with a repository.
///
/// With an address the server keeps its rows in that PostgreSQL: in a schema of its own, which is left behind.
pub(crate) async fn measure(
    quick: bool,
    sizes: &[usize],
    plot: Option<&std::path::Path>,
    database: Option<&str>,
) -> Outcome<()> {
    let usual: &[usize] = if quick { &[1, 20] } else { &[1, 100, 300, 1000] };
    let sizes = if sizes.is_empty() { usual } else { sizes };
    let mut growth = Vec::new();
    for &count in sizes {
        let seen = Box::pin(run(count, if count == 1 { ALONE } else { 1 }, database)).await?;
        let alone = growth.first().filter(|(count, _)| *count == 1).map(|(_, seen)| seen);
        report::table(&format!("{count} tasks over {} repositories", REPOS.min(count)), &lines(count, &seen, alone)?)?;
        growth.push((count, seen));
    }
    report::line("\nhow cost grows with the number of tasks")?;
    report::line(format_args!("  {:>6}{:>16}{:>16}{:>14}", "tasks", "processor each", "wall each", "server"))?;
    let mut pictures = [
        "processor time of a task, ms",
        "wall time of a task, ms",
        "memory of the server, MB",
        "an entry is heard after, p50, ms",
    ]
    .map(|title| Picture { title, over: "tasks", points: Vec::new() })
    .to_vec();
    for (count, seen) in growth {
        let (busy, wall, memory) = (seen.busy / seen.tasks * 1e3, seen.wall / seen.tasks * 1e3, seen.memory / 1e6);
        report::line(format_args!("  {count:>6}{busy:>13.0} ms{wall:>13.0} ms{memory:>11.0} MB"))?;
        for (picture, value) in pictures.iter_mut().zip([busy, wall, memory, seen.delays.at(0.5) / 1e3]) {
            picture.points.push((count as f64, value));
        }
    }
    let (files, tasks): (&[usize], _) = if quick { (&[10, 100], 2) } else { (&[10, 1000, 10_000], ALONE) };
    report::line("\nhow cost grows with the repository, one task at a time")?;
    report::line(format_args!("  {:>6}{:>16}{:>16}{:>14}", "files", "processor each", "wall, p50", "repository"))?;
    let mut picture = Picture { title: "processor time of a task, ms", over: "files", points: Vec::new() };
    for cost in Box::pin(trees::measure(files, tasks)).await? {
        let (busy, wall, objects) = (cost.busy * 1e3, cost.p50 / 1e3, cost.objects / 1e3);
        report::line(format_args!("  {:>6}{busy:>13.0} ms{wall:>13.0} ms{objects:>11.0} kB", cost.files))?;
        picture.points.push((cost.files as f64, busy));
    }
    pictures.push(picture);
    if let Some(place) = plot {
        fs::write(place, plot::draw(&pictures))?;
    }
    Ok(())
}

/// What is said of one size, beside one task alone where that was measured.
fn lines(count: usize, seen: &Seen, alone: Option<&Seen>) -> Outcome<Vec<Measure>> {
    let cores = std::thread::available_parallelism()?.get() as f64;
    let mut lines = Vec::new();
    if count > 1 {
        let mut whole = Measure::new("all of them, against busy cores", Unit::Microseconds).aim("near 1×");
        whole.note(seen.wall * 1e6, seen.busy / cores * 1e6);
        lines.push(whole);
    }
    let mut say = |name: String, unit: Unit, number: f64| {
        let mut measure = Measure::new(name, unit);
        measure.note_alone(number);
        lines.push(measure);
    };
    let (tasks, entries) = (seen.tasks, (seen.entries as f64).max(1.0));
    say("tasks".into(), Unit::PerSecond, tasks / seen.wall);
    say("one, p50".into(), Unit::Microseconds, seen.times.at(0.5));
    say("one, p99".into(), Unit::Microseconds, seen.times.at(0.99));
    for (step, part) in &seen.parts {
        say(format!("  of it: {step}"), Unit::Microseconds, part.of_task);
        say(format!("    {step} once, p50"), Unit::Microseconds, part.p50);
        say(format!("    {step} once, p99"), Unit::Microseconds, part.p99);
    }
    say("processors' time for one".into(), Unit::Microseconds, seen.busy / tasks * 1e6);
    say("  of it the server's own".into(), Unit::Microseconds, seen.server / tasks * 1e6);
    say("memory of the server".into(), Unit::Bytes, seen.memory);
    say("database, for one task".into(), Unit::Bytes, seen.written.bytes / tasks);
    say("database, for one entry".into(), Unit::Bytes, seen.written.bytes / entries);
    if let Some((ahead, commits)) = seen.written.ahead {
        say("written ahead, for one task".into(), Unit::Bytes, ahead / tasks);
        say("commits, for one task".into(), Unit::Count, commits / tasks);
        say("commits".into(), Unit::PerSecond, commits / seen.wall);
    }
    say("repositories, for one task".into(), Unit::Bytes, seen.objects / tasks);
    say("entries told, for one task".into(), Unit::Count, seen.entries as f64 / tasks);
    say("entries told".into(), Unit::PerSecond, seen.entries as f64 / seen.wall);
    say("sandboxes made, for one task".into(), Unit::Count, seen.sandboxes / tasks);
    say("server's time, for one sandbox".into(), Unit::Microseconds, seen.server / seen.sandboxes.max(1.0) * 1e6);
    say("server's time, for one entry".into(), Unit::Microseconds, seen.server / entries * 1e6);
    say("heard after, p50".into(), Unit::Microseconds, seen.delays.at(0.5));
    say("heard after, p99".into(), Unit::Microseconds, seen.delays.at(0.99));
    if count >= REPOS {
        let (first, last) = seen.ends.iter().fold((f64::MAX, 0.0_f64), |(a, b), end| (a.min(*end), b.max(*end)));
        let mut fair = Measure::new("last repo done, against the first", Unit::Microseconds).aim("near 1×");
        fair.note(last * 1e6, first * 1e6);
        lines.push(fair);
    }
    // The promise: what the house costs a task does not grow with the crowd.
    if let Some(alone) = alone {
        let each = |whole: f64, seen: &Seen| whole / seen.tasks * 1e6;
        let costs = [
            ("processors' time, against one alone", seen.busy, alone.busy),
            ("server's time, against one alone", seen.server, alone.server),
        ];
        for (name, here, there) in costs {
            let mut grown = Measure::new(name, Unit::Microseconds).aim("≤ 2×");
            grown.note(each(here, seen), each(there, alone));
            lines.push(grown);
        }
    }
    Ok(lines)
}

async fn run(count: usize, rounds: usize, database: Option<&str>) -> Outcome<Seen> {
    let mut desk = Desk::open_on(POOL, database).await?;
    let repos = REPOS.min(count);
    for repo in 0..repos {
        desk.ask("POST", "/repos", Some(&json!({"name": format!("r{repo}"), "new": true}).to_string())).await?;
    }
    let agent = json!({"name": "scribe", "dialect": "shell", "command": AGENT}).to_string();
    desk.ask("POST", "/agents", Some(&agent)).await?;
    // The first task of a repository gives it its first commit and its first layer.
    together(&desk.server, repos, 0..repos).await?;
    let mut rows = Rows::open(database).await?;
    let before = steps(&mut desk).await?;
    let stop = CancellationToken::new();
    let heard =
        tokio::spawn(listen(desk.server.address, desk.server.request("GET", "/api/v1/events", None), stop.clone()));
    let (written, objects) = (rows.look(&desk).await?, room(&desk.server.folder, "library"));
    let made = desk.metric(MADE).await?;
    let (busy, server) = (busy_seconds()?, desk.server.cpu()?);
    let (mut times, mut ends, mut wall) = (Times::new()?, Vec::new(), 0.0);
    for _ in 0..rounds {
        let round = together(&desk.server, count, 0..repos).await?;
        times.add(&round.0)?;
        (ends, wall) = (round.1, wall + round.2);
    }
    let (busy, server) = (busy_seconds()? - busy, (desk.server.cpu()? - server).as_secs_f64());
    stop.cancel();
    let (delays, entries) = heard.await??;
    let tasks = (count * rounds) as f64;
    let mut parts = Vec::new();
    for (step, now) in steps(&mut desk).await? {
        let taken = now.since(before.get(&step));
        if taken.sum > 0.0 {
            let (p50, p99) = (taken.at(0.5) * 1e6, taken.at(0.99) * 1e6);
            parts.push((step, Part { of_task: taken.sum / tasks * 1e6, p50, p99 }));
        }
    }
    let sandboxes = desk.metric(MADE).await? - made;
    let memory = resident(desk.server.pid)?;
    let (written, objects) = (rows.look(&desk).await?.since(written), room(&desk.server.folder, "library") - objects);
    Ok(Seen { tasks, times, wall, busy, server, memory, written, objects, ends, delays, entries, parts, sandboxes })
}

/// So many at once; how long each took, when the last of each repository was done, and all of them together.
async fn together(server: &Server, count: usize, repos: Range<usize>) -> Outcome<(Times, Vec<f64>, f64)> {
    let mut tasks = JoinSet::new();
    let began = Instant::now();
    for number in 0..count {
        let repo = repos.start + number % repos.len();
        let card = json!({"repo": format!("r{repo}"), "agent": "scribe", "title": "Write a note", "start": true});
        let request = server.request("POST", "/api/v1/tasks?wait=in_review&timeout=600", Some(&card.to_string()));
        let (address, key) = (server.address, server.key().to_owned());
        tasks.spawn(async move {
            let mut line = Connection::open(address).await?;
            let asked = Instant::now();
            let mut task: Value = serde_json::from_slice(line.ask(&request).await?)?;
            while text(&task, "phase")? != "in_review" {
                if ["needs_you", "failed", "closed"].contains(&text(&task, "phase")?) {
                    return Err(format!("a task is not in review: {task}").into());
                }
                // One that waits for room for longer than one question lasts.
                let path = format!("/api/v1/tasks/{}?wait=in_review&timeout=600", task["id"]);
                task = serde_json::from_slice(line.ask(&Request::new("GET", &path, &key, None)).await?)?;
            }
            Outcome::Ok((repo, asked.elapsed()))
        });
    }
    let (mut times, mut ends) = (Times::new()?, vec![0.0_f64; repos.len()]);
    while let Some(done) = tasks.join_next().await {
        let (repo, took): (usize, Duration) = done??;
        times.note(took)?;
        let end = &mut ends[repo - repos.start];
        *end = end.max(began.elapsed().as_secs_f64());
    }
    Ok((times, ends, began.elapsed().as_secs_f64()))
}

/// Follows the journal like a page that is open: how late each entry is, and how many there are.
async fn listen(address: std::net::SocketAddr, follow: Request, stop: CancellationToken) -> Outcome<(Times, u64)> {
    let mut stream = Connection::open(address).await?.follow(&follow).await?;
    let (mut delays, mut entries) = (Times::new()?, 0);
    loop {
        tokio::select! {
            biased;
            more = stream.more() => more?,
            () = stop.cancelled() => return Ok((delays, entries)),
        }
        let now = Timestamp::now();
        let mut late = Vec::new();
        stream.take_chunks(|mut lines| {
            while !lines.is_empty() {
                if let Some(data) = Some(take_line(&mut lines)).filter(|line| line.starts_with(b"data: "))
                    && let Ok(at) = moment(data)
                {
                    late.push(Duration::try_from(now.duration_since(at)).unwrap_or_default());
                }
            }
            Ok(())
        })?;
        entries += late.len() as u64;
        late.into_iter().try_for_each(|delay| delays.note(delay))?;
    }
}

/// What a process has in memory.
fn resident(pid: u32) -> Outcome<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? * 1024.0)
}
