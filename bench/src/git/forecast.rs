//! `forecast`: who conflicts with whom after one push, among two hundred live tasks: of a real push through the gateway,
//! until the cards say so; and of the prediction alone.

use std::{
    io,
    path::Path,
    time::{Duration, Instant},
};

use carrel_git::{
    Git, Mirror, Mirrors, Upstream,
    merge::{Forecaster, Head},
};

use super::{git, repository};
use crate::{
    Outcome,
    http::{Connection, Stream, take_line},
    report::{self, Measure, Unit},
    server::Server,
};

/// How long a forecast may take before it counts as lost.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the tasks of a bench change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Crowd {
    /// Each a file of its own, and every tenth one that a few others change too.
    Apart,
    /// All of them the same file: everybody has to be tried against everybody.
    Together,
}

impl Crowd {
    fn words(self) -> &'static str {
        match self {
            Crowd::Apart => "most change files of their own",
            Crowd::Together => "all change the same file",
        }
    }
}

/// Measures and reports.
pub(crate) async fn measure(quick: bool) -> Outcome<()> {
    let (tasks, files, rounds) = if quick { (20, 200, 1) } else { (200, 5000, 5) };
    for crowd in [Crowd::Apart, Crowd::Together] {
        after_a_push(tasks, files, rounds, crowd).await?;
        one_crowd(tasks, files, rounds, crowd).await?;
    }
    Ok(())
}

/// A house with so many cards under way, each with a branch of its own, and somebody who pushes to one of them.
async fn after_a_push(tasks: usize, files: usize, rounds: usize, crowd: Crowd) -> Outcome<()> {
    let place = tempfile::Builder::new().prefix("carrel-bench-git.").tempdir()?;
    let work = repository(place.path(), files, files * 1000)?;
    let house = Server::house()?;
    let mut line = Connection::open(house.address).await?;
    let mut ask = async |method: &str, path: &str, body: Option<&str>| -> Outcome<serde_json::Value> {
        let answer = line.ask(&house.request(method, path, body)).await?;
        Ok(if answer.is_empty() { serde_json::Value::Null } else { serde_json::from_slice(answer)? })
    };
    ask("POST", "/api/v1/repos", Some(r#"{"new": true, "name": "bench"}"#)).await?;
    ask("POST", "/api/v1/agents", Some(r#"{"name": "nobody", "dialect": "shell", "command": "true"}"#)).await?;
    let gateway = format!("http://x:{}@{}/git/bench.git", house.key(), house.address);
    let push = |branch: &str| tokio::task::block_in_place(|| git(&work, &["push", "-q", &gateway, branch]));
    push("main")?;
    for task in 1..=tasks {
        let card = ask("POST", "/api/v1/tasks", Some(r#"{"repo": "bench", "agent": "nobody", "title": "Change it"}"#));
        if card.await?["id"].as_u64() != Some(task as u64) {
            return Err("the cards of a new house count from one".into());
        }
    }
    ask("POST", &format!("/bench/live/{tasks}"), None).await?;
    let mut card = async |task: usize| ask("GET", &format!("/api/v1/tasks/{task}"), None).await;
    for task in 1..=tasks {
        git(&work, &["checkout", "-q", "-B", &own(task), "main"])?;
        change(&work, task, crowd, "first")?;
        pushed(&house, &work, task, &push).await?;
    }
    let mut whole = Measure::new("git push until its card knows, against", Unit::Microseconds).aim("under 1 s");
    let mut rest = Measure::new("  of it after git push had ended", Unit::Microseconds);
    for round in 0..rounds {
        let task = round * 10 % tasks + 10;
        git(&work, &["checkout", "-q", &own(task)])?;
        change(&work, task, crowd, &format!("again {round}"))?;
        let (took, after) = pushed(&house, &work, task, &push).await?;
        whole.note(took, tokio::task::block_in_place(|| try_all(&work, &own, task, tasks))?);
        rest.note_alone(after);
        let known = card(task).await?["conflicts"].as_array().map_or(0, Vec::len);
        let fellows = (1..=tasks).filter(|other| *other != task && path(*other, crowd) == path(task, crowd)).count();
        if known != fellows {
            return Err(format!("task {task} conflicts with {fellows} others, and its card names {known}").into());
        }
    }
    let title =
        format!("forecast: one push among {tasks} live tasks, {}; peer: git merge-tree with everybody", crowd.words());
    report::table(&title, &[whole, rest])
}

/// Pushes the branch of a task. How long it took until its card knew, and how much of that was after git had ended, in
/// microseconds.
async fn pushed(
    house: &Server,
    work: &Path,
    task: usize,
    push: &impl Fn(&str) -> Outcome<String>,
) -> Outcome<(f64, f64)> {
    let commit = git(work, &["rev-parse", "HEAD"])?;
    let head = house.request("GET", "/api/v1/sandboxes?limit=1", None);
    let head: serde_json::Value = serde_json::from_slice(Connection::open(house.address).await?.ask(&head).await?)?;
    let follow = house.request("GET", &format!("/api/v1/events?kind=task&after={}", head["as_of"]), None);
    let stream = Connection::open(house.address).await?.follow(&follow).await?;
    let told = tokio::spawn(tokio::time::timeout(PATIENCE, until_known(stream, task, commit)));
    let began = Instant::now();
    push(&own(task))?;
    let acknowledged = Instant::now();
    let known = told.await?.map_err(|_| format!("no forecast for task {task}"))??;
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    Ok((micros(known.duration_since(began)), micros(known.saturating_duration_since(acknowledged))))
}

/// When the card of a task first told of a commit. That and the conflicts are written in one change.
async fn until_known(mut stream: Stream, task: usize, commit: String) -> io::Result<Instant> {
    loop {
        let mut found = None;
        stream.take_chunks(|mut lines| {
            while !lines.is_empty() {
                let Some(data) = take_line(&mut lines).strip_prefix(b"data: ") else { continue };
                let entry: serde_json::Value = serde_json::from_slice(data).unwrap_or_default();
                let card = &entry["task"];
                if card["id"].as_u64() == Some(task as u64) && card["head"].as_str() == Some(&commit) {
                    found.get_or_insert_with(Instant::now);
                }
            }
            Ok(())
        })?;
        match found {
            Some(when) => return Ok(when),
            None => stream.more().await?,
        }
    }
}

/// The branch of a task, as the house names it.
fn own(task: usize) -> String {
    format!("task-{task}")
}

async fn one_crowd(tasks: usize, files: usize, rounds: usize, crowd: Crowd) -> Outcome<()> {
    let place = tempfile::Builder::new().prefix("carrel-bench-git.").tempdir()?;
    let folder = place.path();
    let work = repository(folder, files, files * 1000)?;
    let base = git(&work, &["rev-parse", "HEAD"])?;
    for task in 1..=tasks {
        git(&work, &["checkout", "-q", "-B", &format!("topic-{task}"), "main"])?;
        change(&work, task, crowd, "first")?;
    }
    git(&work, &["checkout", "-q", "main"])?;
    let program = Git::open(&folder.join("git")).await?;
    let mirror = Mirrors::open(program, &folder.join("mirrors"))?.get(&"bench".parse()?).await?;
    let upstream = Upstream::new(work.to_string_lossy().parse()?, None);
    mirror.sync(&upstream).await?;
    let mut heads = Vec::new();
    for task in 1..=tasks {
        heads.push(head_of(&mirror, task, &base).await?);
    }
    let mut cold = Measure::new("the first time, nothing remembered", Unit::Microseconds);
    let warm = "after one push, against git merge-tree with everybody";
    let mut warm = Measure::new(warm, Unit::Microseconds).aim("under 1 s");
    for round in 0..rounds {
        let forecaster = Forecaster::default();
        let task = round * 10 % tasks + 10;
        cold.note_alone(timed(&forecaster, &mirror, &heads, task).await?);
        // The task pushes another commit; what the others changed is remembered, and how they fit this one is not.
        git(&work, &["checkout", "-q", &format!("topic-{task}")])?;
        change(&work, task, crowd, &format!("again {round}"))?;
        mirror.sync(&upstream).await?;
        heads[task - 1] = head_of(&mirror, task, &base).await?;
        let ours = timed(&forecaster, &mirror, &heads, task).await?;
        warm.note(ours, tokio::task::block_in_place(|| try_all(&work, &|task| format!("topic-{task}"), task, tasks))?);
    }
    report::table(&format!("forecast: the prediction alone, one task among {tasks}, {}", crowd.words()), &[cold, warm])
}

/// What one would do with git alone: tries the merge with the base and with everybody else.
fn try_all(work: &Path, branch: &dyn Fn(usize) -> String, task: usize, tasks: usize) -> Outcome<f64> {
    let own = branch(task);
    let began = Instant::now();
    for other in (1..=tasks).filter(|other| *other != task).map(branch).chain(["main".into()]) {
        let mut command = std::process::Command::new("git");
        command.current_dir(work).args(["merge-tree", "--write-tree", "--name-only", &own, &other]);
        let done = command.env("HOME", "/nonexistent").output()?;
        // 1: they conflict.
        if !matches!(done.status.code(), Some(0 | 1)) {
            return Err(format!("git merge-tree: {}", String::from_utf8_lossy(&done.stderr)).into());
        }
    }
    Ok(began.elapsed().as_secs_f64() * 1e6)
}

/// What a task changes.
fn path(task: usize, crowd: Crowd) -> String {
    match crowd {
        Crowd::Together => "f0/0/0.txt".to_owned(),
        Crowd::Apart if task.is_multiple_of(10) => format!("f0/0/{}.txt", task % 50),
        Crowd::Apart => format!("new-{task}.txt"),
    }
}

/// A task commits something.
fn change(work: &Path, task: usize, crowd: Crowd, word: &str) -> Outcome<()> {
    std::fs::write(work.join(path(task, crowd)), format!("by task {task}, {word}\n"))?;
    git(work, &["add", "--all"])?;
    git(work, &["commit", "-q", "-m", "feat: change"]).map(drop)
}

async fn head_of(mirror: &Mirror, task: usize, base: &str) -> Outcome<Head> {
    let commit = mirror.head_of(&format!("topic-{task}").parse()?).await?;
    Ok(Head { task: i64::try_from(task)?.try_into()?, commit, base: base.parse()? })
}

async fn timed(forecaster: &Forecaster, mirror: &Mirror, heads: &[Head], task: usize) -> Outcome<f64> {
    let began = Instant::now();
    forecaster.forecast(mirror, &heads[task - 1], heads).await?;
    Ok(began.elapsed().as_secs_f64() * 1e6)
}
