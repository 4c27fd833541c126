//! `pause`: a sandbox put to sleep and woken through the API: frozen, and stored with 100 MB of memory in it.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use super::{Desk, Times, is, runtimes::Runtimes, text, time};
use crate::{
    Outcome,
    http::Connection,
    report::{self, Measure, Unit},
};

/// Holds memory that is really there, and says so.
const HOLDER: &str = "import time; b = bytearray(b'x' * 100_000_000); print('held', flush=True); time.sleep(1e6)";

/// Measures and reports.
pub(crate) async fn measure(quick: bool) -> Outcome<()> {
    let mut desk = Desk::open(0).await?;
    frozen(&mut desk, if quick { (1, 20) } else { (5, 60) }).await?;
    stored(&mut desk, if quick { (1, 1) } else { (5, 4) }).await
}

async fn frozen(desk: &mut Desk, (rounds, each): (usize, usize)) -> Outcome<()> {
    let runtimes = Runtimes::find()?;
    let container = if runtimes.has("runc") { runtimes.container("runc").ok() } else { None };
    // A runtime that cannot freeze here is no peer.
    let container =
        container.filter(|it| time(&mut it.verb("pause", &[])).is_ok() && time(&mut it.verb("resume", &[])).is_ok());
    let id = desk.create("{}").await?;
    let mut all = [
        Measure::new("pause, p50, against runc pause", Unit::Microseconds).aim("under 5 ms"),
        Measure::new("pause, p99", Unit::Microseconds),
        Measure::new("resume, p50, against runc resume", Unit::Microseconds).aim("under 5 ms"),
        Measure::new("resume, p99", Unit::Microseconds),
    ];
    for _ in 0..rounds {
        let (mut down, mut up, mut their_down, mut their_up) =
            (Times::new()?, Times::new()?, Times::new()?, Times::new()?);
        for turn in 0..each {
            let (paused, _) = pause(desk, &id, "frozen").await?;
            down.note(paused)?;
            up.note(resume(desk, &id).await?)?;
            if let Some(container) = container.as_ref().filter(|_| turn % 5 == 0) {
                their_down.note(time(&mut container.verb("pause", &[]))?)?;
                their_up.note(time(&mut container.verb("resume", &[]))?)?;
            }
        }
        let peer = |times: &Times, quantile| if container.is_some() { times.at(quantile) } else { f64::NAN };
        all[0].note(down.at(0.5), peer(&their_down, 0.5));
        all[1].note_alone(down.at(0.99));
        all[2].note(up.at(0.5), peer(&their_up, 0.5));
        all[3].note_alone(up.at(0.99));
    }
    desk.destroy(&id).await?;
    report::table("pause: POST …/pause?wait=paused and …/resume?wait=ready, frozen", &all)
}

async fn stored(desk: &mut Desk, (rounds, each): (usize, usize)) -> Outcome<()> {
    let id = desk.create(r#"{"limits":{"memory_mb":1024}}"#).await?;
    let mut all = [
        Measure::new("pause, p50", Unit::Microseconds).aim("under 0.5 s"),
        Measure::new("pause, the longest", Unit::Microseconds),
        Measure::new("resume, p50", Unit::Microseconds).aim("under 0.5 s"),
        Measure::new("resume, the longest", Unit::Microseconds),
    ];
    let (mut kept, mut reached) = (0, BTreeMap::<String, usize>::new());
    for _ in 0..rounds {
        let (mut downs, mut ups) = (Times::new()?, Times::new()?);
        for _ in 0..each {
            if holders(desk, &id).await? == 0 {
                hold(desk, &id).await?;
            }
            let (down, depth) = pause(desk, &id, "stored").await?;
            let up = resume(desk, &id).await?;
            // What was not stored is not timed: to keep files alone is another thing.
            if depth == "stored" {
                downs.note(down)?;
                ups.note(up)?;
            }
            kept += usize::from(holders(desk, &id).await? == 1);
            *reached.entry(depth).or_default() += 1;
        }
        if !downs.0.is_empty() {
            let numbers = [&downs, &ups].into_iter().flat_map(|times| [times.at(0.5), times.at(1.0)]);
            all.iter_mut().zip(numbers).for_each(|(measure, number)| measure.note_alone(number));
        }
    }
    desk.destroy(&id).await?;
    report::table("pause: the same, stored, with 100 MB of memory in a process", &all)?;
    let reached: Vec<_> = reached.iter().map(|(depth, times)| format!("{depth} {times} times")).collect();
    let reached = reached.join(", ");
    let asked = rounds * each;
    let line = format!("  of {asked} asked for, reached: {reached}; the process went on where it was {kept} times");
    Ok(report::line(line)?)
}

/// How many processes hold memory.
async fn holders(desk: &mut Desk, id: &str) -> Outcome<usize> {
    Ok(desk.run(id, "pgrep -fc '[b]ytearray' || true").await?.trim().parse()?)
}

/// Starts the process that holds memory, and waits until it does.
async fn hold(desk: &Desk, id: &str) -> Outcome<()> {
    let body = serde_json::json!({ "argv": ["python3", "-c", HOLDER], "timeout_s": 3600 }).to_string();
    let request = desk.server.request("POST", &format!("/api/v1/sandboxes/{id}/execute"), Some(&body)).for_events();
    let mut told = Connection::open(desk.server.address).await?.follow(&request).await?;
    let mut heard = false;
    while !heard {
        told.more().await?;
        told.take_chunks(|chunk| {
            heard |= chunk.windows(4).any(|part| part == b"held");
            Ok(())
        })?;
    }
    Ok(())
}

async fn pause(desk: &mut Desk, id: &str, depth: &str) -> Outcome<(Duration, String)> {
    let body = format!(r#"{{"depth":"{depth}"}}"#);
    let began = Instant::now();
    let sandbox = desk.ask("POST", &format!("/sandboxes/{id}/pause?wait=paused"), Some(&body)).await?;
    let took = began.elapsed();
    is(&sandbox, "paused")?;
    Ok((took, text(&sandbox["paused"], "depth")?.to_owned()))
}

async fn resume(desk: &mut Desk, id: &str) -> Outcome<Duration> {
    let began = Instant::now();
    let sandbox = desk.ask("POST", &format!("/sandboxes/{id}/resume?wait=ready"), None).await?;
    let took = began.elapsed();
    is(&sandbox, "ready").map(|()| took)
}
