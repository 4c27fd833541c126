//! `many`: fifty sandboxes asked for at once, and what a thousand that idle cost: the next create, memory, processor time.

use std::{
    fs,
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

use super::{Desk, Times, is, runtimes::Runtimes, text};
use crate::{
    Outcome,
    http::{Connection, Request},
    report::{self, Measure, Unit},
    server::{Server, ticks},
};

const SMALL: &str =
    r#"{"template":"host","timeout_s":7200,"limits":{"cpus":0.5,"memory_mb":64,"disk_mb":64,"pids":32}}"#;
const AT_ONCE: usize = 50;
/// Connections that fill the house.
const WORKERS: usize = 8;
/// How long nothing is done, to see what nothing costs.
const IDLE: Duration = Duration::from_secs(10);

/// Measures and reports.
pub(crate) async fn measure(quick: bool, live: usize) -> Outcome<()> {
    let (rounds, each) = if quick { (1, 10) } else { (5, 40) };
    let runtimes = Runtimes::find()?;
    // No pool: what it holds would be measured instead of what is made.
    let mut desk = Desk::open(0).await?;
    desk.create(SMALL).await?;
    together(&mut desk, &runtimes, if quick { 1 } else { 5 }).await?;

    let mut creates = [
        Measure::new(format!("create at {live}, p50, against create at 1"), Unit::Microseconds).aim("at most 1.5×"),
        Measure::new(format!("create at {live}, p99, against create at 1"), Unit::Microseconds),
    ];
    let few = alone(&mut desk, rounds, each).await?;
    let (memory_before, began) = (available()?, Instant::now());
    let made = fill(&desk.server, live.saturating_sub(1), WORKERS, None).await?;
    let filling = began.elapsed();
    let memory = (memory_before - available()?) / made.len().max(1) as f64;
    let many = alone(&mut desk, rounds, each).await?;
    for (few, many) in few.iter().zip(&many) {
        for (measure, quantile) in creates.iter_mut().zip([0.5, 0.99]) {
            measure.note(many.at(quantile), few.at(quantile));
        }
    }
    let guests = guests(&desk.server)?;
    let mut private = Measure::new("private memory per idle sandbox", Unit::Bytes).aim("at most 2 MB");
    private.note_alone(mean(guests.iter().filter_map(|pid| private_bytes(*pid))));
    let mut whole = Measure::new("memory of the machine per sandbox", Unit::Bytes);
    whole.note_alone(memory);
    let mut filled = Measure::new(format!("each of {}, {WORKERS} at a time", made.len()), Unit::Microseconds);
    filled.note_alone(filling.as_micros() as f64 / made.len().max(1) as f64);

    let servers = family(desk.server.pid);
    let used = |pids: &[u32]| pids.iter().filter_map(|pid| ticks(*pid).ok()).sum::<u64>() as f64;
    let before = (used(&guests), used(&servers));
    tokio::time::sleep(IDLE).await;
    let after = (used(&guests), used(&servers));
    let mut idle = [
        Measure::new(format!("all {} sandboxes idle for {IDLE:?}", guests.len()), Unit::Ticks).aim("0"),
        Measure::new(format!("the server idle for {IDLE:?}"), Unit::Ticks).aim("0"),
    ];
    idle[0].note_alone(after.0 - before.0);
    idle[1].note_alone(after.1 - before.1);

    let began = Instant::now();
    let count = made.len();
    empty(&desk.server, made, WORKERS).await?;
    let mut ended = Measure::new(format!("each of {count} destroyed, {WORKERS} at a time"), Unit::Microseconds);
    ended.note_alone(began.elapsed().as_micros() as f64 / count.max(1) as f64);
    let title = format!("many: {live} live sandboxes that idle");
    report::table(&title, &[creates.as_slice(), &[filled, private, whole], &idle, &[ended]].concat())
}

/// Fifty at once, against fifty of bwrap.
async fn together(desk: &mut Desk, runtimes: &Runtimes, rounds: usize) -> Outcome<()> {
    let mut total = Measure::new(format!("{AT_ONCE} at once, all of them"), Unit::Microseconds);
    let mut each = Measure::new(format!("{AT_ONCE} at once, per create"), Unit::Microseconds);
    let mut waits = [(0.5, "p50"), (0.99, "p99"), (1.0, "the longest")].map(|(quantile, name)| {
        (quantile, Measure::new(format!("{AT_ONCE} at once, until one is ready, {name}"), Unit::Microseconds))
    });
    for _ in 0..rounds {
        let (began, mut times) = (Instant::now(), Times::new()?);
        let made = fill(&desk.server, AT_ONCE, AT_ONCE, Some(&mut times)).await?;
        let ours = began.elapsed().as_micros() as f64;
        empty(&desk.server, made, WORKERS).await?;
        let theirs = match runtimes.has("bwrap") {
            false => f64::NAN,
            true => std::thread::scope(|scope| {
                let began = Instant::now();
                let all: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(|| runtimes.hi("bwrap").is_ok())).collect();
                let fine = all.into_iter().all(|one| one.join().unwrap_or(false));
                if fine { began.elapsed().as_micros() as f64 } else { f64::NAN }
            }),
        };
        total.note(ours, theirs);
        each.note(ours / AT_ONCE as f64, theirs / AT_ONCE as f64);
        waits.iter_mut().for_each(|(quantile, measure)| measure.note_alone(times.at(*quantile)));
    }
    let waits = waits.map(|(_, measure)| measure);
    let all = [[total, each].as_slice(), &waits].concat();
    report::table("many: POST …/sandboxes?wait=ready, many at once, against as many bwrap", &all)
}

/// Creates one after the other; each is destroyed before the next.
async fn alone(desk: &mut Desk, rounds: usize, each: usize) -> Outcome<Vec<Times>> {
    let mut all = Vec::new();
    for _ in 0..rounds {
        let mut times = Times::new()?;
        for _ in 0..each {
            let began = Instant::now();
            let id = desk.create(SMALL).await?;
            times.note(began.elapsed())?;
            desk.destroy(&id).await?;
        }
        all.push(times);
    }
    Ok(all)
}

/// So many sandboxes, asked for by so many connections. How long each took is noted when somebody wants to know.
async fn fill(server: &Server, count: usize, workers: usize, mut times: Option<&mut Times>) -> Outcome<Vec<String>> {
    let request = server.request("POST", "/api/v1/sandboxes?wait=ready", Some(SMALL));
    let mut tasks = JoinSet::new();
    for worker in 0..workers {
        let (request, address) = (request.clone(), server.address);
        let share = count / workers + usize::from(worker < count % workers);
        tasks.spawn(async move {
            let mut line = Connection::open(address).await?;
            let mut made = Vec::new();
            for _ in 0..share {
                let began = Instant::now();
                let sandbox = serde_json::from_slice(line.ask(&request).await?)?;
                let took = began.elapsed();
                is(&sandbox, "ready")?;
                made.push((text(&sandbox, "id")?.to_owned(), took));
            }
            Outcome::Ok(made)
        });
    }
    let mut made = Vec::new();
    while let Some(done) = tasks.join_next().await {
        for (id, took) in done?? {
            times.as_mut().map_or(Ok(()), |times| times.note(took))?;
            made.push(id);
        }
    }
    Ok(made)
}

/// Ends all of these.
async fn empty(server: &Server, ids: Vec<String>, workers: usize) -> Outcome<()> {
    let mut tasks = JoinSet::new();
    for part in ids.chunks(ids.len().div_ceil(workers).max(1)) {
        let path = |id: &String| format!("/api/v1/sandboxes/{id}?wait=gone");
        let requests: Vec<Request> = part.iter().map(|id| server.request("DELETE", &path(id), None)).collect();
        let address = server.address;
        tasks.spawn(async move {
            let mut line = Connection::open(address).await?;
            for request in &requests {
                line.ask(request).await?;
            }
            Outcome::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

/// The first processes of all sandboxes of this server: those named `envd` in its cgroups.
fn guests(server: &Server) -> Outcome<Vec<u32>> {
    let node = fs::read_to_string(server.folder.join("node"))?;
    let house = format!("/carrel/{}/", node.trim());
    let pids = fs::read_dir("/proc")?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_guest = |pid: &u32| {
        let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
        read("comm").trim() == "envd" && read("cgroup").contains(&house)
    };
    Ok(pids.filter(is_guest).collect())
}

/// A process and its children.
fn family(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        all.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
    }
    all
}

/// What a process has in memory that no other has.
fn private_bytes(pid: u32) -> Option<f64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let private =
        rollup.lines().filter(|line| line.starts_with("Private_Clean:") || line.starts_with("Private_Dirty:"));
    Some(private.filter_map(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).sum::<f64>() * 1024.0)
}

/// What the machine says is free to be used, in bytes.
fn available() -> Outcome<f64> {
    let all = fs::read_to_string("/proc/meminfo")?;
    let line = all.lines().find_map(|line| line.strip_prefix("MemAvailable:")).ok_or("no MemAvailable")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? * 1024.0)
}

fn mean(numbers: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = numbers.fold((0.0, 0.0), |(sum, count), number| (sum + number, count + 1.0));
    sum / count
}
