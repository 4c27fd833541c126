//! `forecast`: who conflicts with whom after one push, among two hundred live tasks.

use std::time::Instant;

use carrel_git::{
    Git, Mirrors, Upstream,
    merge::{Forecaster, Head},
};

use super::{git, repository};
use crate::{
    Outcome,
    report::{self, Measure, Unit},
};

/// Measures and reports.
pub(crate) async fn measure(quick: bool) -> Outcome<()> {
    let (tasks, files, rounds) = if quick { (20, 200, 1) } else { (200, 5000, 5) };
    let place = tempfile::Builder::new().prefix("carrel-bench-git.").tempdir()?;
    let folder = place.path();
    let work = repository(folder, files, files * 1000)?;
    let base = git(&work, &["rev-parse", "HEAD"])?;
    for task in 1..=tasks {
        git(&work, &["checkout", "-q", "-B", &format!("topic-{task}"), "main"])?;
        // Each changes a file of its own, and every tenth one that others change too.
        let own = work.join(format!("f0/0/{}.txt", task % 50));
        let path = if task % 10 == 0 { own } else { work.join(format!("new-{task}.txt")) };
        std::fs::write(path, format!("by task {task}\n"))?;
        git(&work, &["add", "--all"])?;
        git(&work, &["commit", "-q", "-m", "feat: change"])?;
    }
    git(&work, &["checkout", "-q", "main"])?;
    let program = Git::open(&folder.join("git")).await?;
    let mirror = Mirrors::open(program, &folder.join("mirrors"))?.get(&"bench".parse()?).await?;
    mirror.sync(&Upstream::new(work.to_string_lossy().parse()?, None)).await?;
    let mut heads = Vec::new();
    for task in 1..=tasks {
        let commit = mirror.head_of(&format!("topic-{task}").parse()?).await?;
        heads.push(Head { task: i64::from(task).try_into()?, commit, base: base.parse()? });
    }
    let mut cold = Measure::new("the first time, nothing remembered", Unit::Microseconds);
    let mut warm = Measure::new("after one push", Unit::Microseconds).aim("under 1 s");
    for round in 0..rounds {
        let forecaster = Forecaster::default();
        let one = &heads[(round * 10 + 9) % heads.len()];
        for measure in [&mut cold, &mut warm] {
            let began = Instant::now();
            forecaster.forecast(&mirror, one, &heads).await?;
            measure.note_alone(began.elapsed().as_secs_f64() * 1e6);
        }
    }
    report::table(&format!("forecast: one task among {tasks}"), &[cold, warm])
}
