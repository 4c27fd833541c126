//! `exec`: the round trip of `/bin/true` through the API, in one sandbox, against a plain spawn of it on the host.

use std::{
    process::{Command, Stdio},
    time::Instant,
};

use super::{Desk, Times, runtimes::Runtimes, time};
use crate::{
    Outcome,
    report::{self, Measure, Unit},
};

/// Measures and reports.
pub(crate) async fn measure(quick: bool) -> Outcome<()> {
    let (rounds, each) = if quick { (1, 50) } else { (7, 300_u32) };
    let runtimes = Runtimes::find()?;
    let mut containers = Vec::new();
    for name in runtimes.others() {
        match runtimes.container(name) {
            Ok(container) => {
                containers.push((container, Measure::new(format!("p50 against {name} exec"), Unit::Microseconds)))
            }
            Err(error) => report::line(error)?,
        }
    }
    let mut desk = Desk::open(0).await?;
    let id = desk.create("{}").await?;
    let execute =
        desk.server.request("POST", &format!("/api/v1/sandboxes/{id}/execute"), Some(r#"{"argv":["/bin/true"]}"#));
    let mut main = [
        Measure::new("/bin/true, p50", Unit::Microseconds).aim("at most 2×"),
        Measure::new("/bin/true, p99", Unit::Microseconds),
    ];
    let mut cpu = Measure::new("server's processor time per exec", Unit::Microseconds);
    for _ in 0..rounds {
        let (mut ours, mut spawned) = (Times::new()?, Times::new()?);
        let before = desk.server.cpu()?;
        for turn in 0..each {
            let began = Instant::now();
            desk.line.ask(&execute).await?;
            // The first few are for the caches.
            if turn >= 5 {
                ours.note(began.elapsed())?;
                spawned.note(spawn()?)?;
            }
        }
        cpu.note_alone((desk.server.cpu()? - before).as_micros() as f64 / f64::from(each));
        for (measure, quantile) in main.iter_mut().zip([0.5, 0.99]) {
            measure.note(ours.at(quantile), spawned.at(quantile));
        }
        for (container, measure) in &mut containers {
            let mut times = Times::new()?;
            for _ in 0..each.div_ceil(20) {
                times.note(time(&mut container.verb("exec", &["/bin/true"]))?)?;
            }
            measure.note(ours.at(0.5), times.at(0.5));
        }
    }
    desk.destroy(&id).await?;
    let context: Vec<_> = containers.iter().map(|(_, measure)| measure.clone()).collect();
    let title = "exec: POST …/execute of /bin/true, against posix_spawn and wait on the host";
    report::table(title, &[main.as_slice(), &[cpu], &context].concat())
}

/// What the standard library makes of this is posix_spawn and a wait.
fn spawn() -> Outcome<std::time::Duration> {
    let mut command = Command::new("/bin/true");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let status = command.status()?;
    let took = began.elapsed();
    if status.success() { Ok(took) } else { Err("/bin/true is not true".into()) }
}
