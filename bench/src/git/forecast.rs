//! `forecast`: who conflicts with whom after one push, among two hundred live tasks.

use std::{path::Path, time::Instant};

use carrel_git::{
    Git, Mirror, Mirrors, Upstream,
    merge::{Forecaster, Head},
};

use super::{git, repository};
use crate::{
    Outcome,
    report::{self, Measure, Unit},
};

/// What the tasks of a bench change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Crowd {
    /// Each a file of its own, and every tenth one that a few others change too.
    Apart,
    /// All of them the same file: everybody has to be tried against everybody.
    Together,
}

/// Measures and reports.
pub(crate) async fn measure(quick: bool) -> Outcome<()> {
    let (tasks, files, rounds) = if quick { (20, 200, 1) } else { (200, 5000, 5) };
    one_crowd(tasks, files, rounds, Crowd::Apart).await?;
    one_crowd(tasks, files, rounds, Crowd::Together).await
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
    let mut warm = Measure::new("after one push", Unit::Microseconds).aim("under 1 s");
    for round in 0..rounds {
        let forecaster = Forecaster::default();
        let task = round * 10 % tasks + 10;
        cold.note_alone(timed(&forecaster, &mirror, &heads, task).await?);
        // The task pushes another commit; what the others changed is remembered, and how they fit this one is not.
        git(&work, &["checkout", "-q", &format!("topic-{task}")])?;
        change(&work, task, crowd, &format!("again {round}"))?;
        mirror.sync(&upstream).await?;
        heads[task - 1] = head_of(&mirror, task, &base).await?;
        warm.note_alone(timed(&forecaster, &mirror, &heads, task).await?);
    }
    let what = match crowd {
        Crowd::Apart => "most change files of their own",
        Crowd::Together => "all change the same file",
    };
    report::table(&format!("forecast: one task among {tasks}, {what}"), &[cold, warm])
}

/// A task commits something.
fn change(work: &Path, task: usize, crowd: Crowd, word: &str) -> Outcome<()> {
    let path = match crowd {
        Crowd::Together => "f0/0/0.txt".to_owned(),
        Crowd::Apart if task.is_multiple_of(10) => format!("f0/0/{}.txt", task % 50),
        Crowd::Apart => format!("new-{task}.txt"),
    };
    std::fs::write(work.join(path), format!("by task {task}, {word}\n"))?;
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
