//! `fork`: copies of a sandbox that holds ten thousand files, against `cp -a` of the same tree on the same disk; and copies
//! with their processes.

use std::{fs, process::Command, time::Instant};

use super::{Desk, Times, is, text, time};
use crate::{
    Outcome,
    report::{self, Measure, Unit},
};

const COPIES: usize = 5;
/// How long somebody sleeps who is known by that.
const AT_WORK: u32 = 987_654;
/// A hundred folders with a hundred files each.
const FILES: u64 = 10_000;

/// Measures and reports.
pub(crate) async fn measure(quick: bool) -> Outcome<()> {
    let (rounds, each) = if quick { (1, 3) } else { (5, 8) };
    let mut desk = Desk::open(0).await?;
    let id = desk.create("{}").await?;
    desk.run(&id, &plant("tree")).await?;
    let peer = desk.disk().join("bench-tree");
    super::finish(Command::new("sh").arg("-c").arg(plant(peer.to_str().ok_or("an odd folder")?)))?;

    let mut all = [
        Measure::new("one copy until ready, p50", Unit::Microseconds).aim("under 10 ms"),
        Measure::new("one copy until ready, p99", Unit::Microseconds),
        Measure::new(format!("{COPIES} copies until ready, each, p50"), Unit::Microseconds).aim("under 10 ms"),
        Measure::new("snapshot taken, p50", Unit::Microseconds),
    ];
    for _ in 0..rounds {
        let (mut one, mut five, mut snapshot, mut cp) = (Times::new()?, Times::new()?, Times::new()?, Times::new()?);
        for turn in 0..each {
            one.note(fork(&mut desk, &id, 1, turn == 0).await?)?;
            five.note(fork(&mut desk, &id, COPIES, false).await? / COPIES as u32)?;
            let began = Instant::now();
            let template = desk.ask("POST", &format!("/sandboxes/{id}/snapshot"), None).await?;
            snapshot.note(began.elapsed())?;
            let name = text(&template, "name")?.replace('/', "%2F");
            desk.ask("DELETE", &format!("/templates/{name}"), None).await?;
            if turn < 3 {
                let copy = desk.disk().join("bench-tree-copy");
                cp.note(time(Command::new("cp").args(["-a", "--"]).arg(&peer).arg(&copy))?)?;
                fs::remove_dir_all(&copy)?;
            }
        }
        all[0].note(one.at(0.5), cp.at(0.5));
        all[1].note(one.at(0.99), cp.at(0.99));
        all[2].note(five.at(0.5), cp.at(0.5));
        all[3].note_alone(snapshot.at(0.5));
    }
    fs::remove_dir_all(&peer)?;
    desk.destroy(&id).await?;
    report::table(
        &format!("fork: POST …/fork?wait=ready of a sandbox with {FILES} files, against cp -a of the same tree"),
        &all,
    )?;
    with_memory(&mut desk, rounds, each).await
}

/// Copies that go on in the middle of what their source does.
async fn with_memory(desk: &mut Desk, rounds: usize, each: usize) -> Outcome<()> {
    let id = desk.create("{}").await?;
    desk.run(&id, &format!("nohup sleep {AT_WORK} >/dev/null 2>&1 &")).await?;
    let mut all = [
        Measure::new("one copy with memory until ready, p50", Unit::Microseconds),
        Measure::new("one copy with memory, the longest", Unit::Microseconds),
    ];
    let mut alive = 0;
    for _ in 0..rounds {
        let mut times = Times::new()?;
        for _ in 0..each {
            let began = Instant::now();
            let path = format!("/sandboxes/{id}/fork?wait=ready");
            let copies = desk.ask("POST", &path, Some(r#"{"count":1,"memory":true}"#)).await?;
            let took = began.elapsed();
            is(&copies["items"][0], "ready")?;
            let copy = text(&copies["items"][0], "id")?;
            // What has its files alone is another thing, and is not timed.
            if desk.run(copy, &format!("pgrep -fc '[s]leep {AT_WORK}' || true")).await?.trim() == "1" {
                times.note(took)?;
                alive += 1;
            }
            desk.destroy(copy).await?;
        }
        if !times.0.is_empty() {
            all[0].note_alone(times.at(0.5));
            all[1].note_alone(times.at(1.0));
        }
    }
    desk.destroy(&id).await?;
    report::table("fork: the same of a small sandbox with a process at work, with its memory", &all)?;
    Ok(report::line(format_args!("  of {} asked for, {alive} had the process in them", rounds * each))?)
}

/// Time until all copies are ready. They are ended again; the first may be looked into.
async fn fork(desk: &mut Desk, id: &str, count: usize, look: bool) -> Outcome<std::time::Duration> {
    let body = format!(r#"{{"count":{count}}}"#);
    let began = Instant::now();
    let copies = desk.ask("POST", &format!("/sandboxes/{id}/fork?wait=ready"), Some(&body)).await?;
    let took = began.elapsed();
    let copies = copies["items"].as_array().ok_or("no copies")?;
    for copy in copies {
        is(copy, "ready")?;
        let copy = text(copy, "id")?;
        if look {
            let files = desk.run(copy, "find tree -type f | wc -l").await?;
            if files.trim().parse() != Ok(FILES) {
                return Err(format!("a copy has {files} files").into());
            }
        }
        desk.destroy(copy).await?;
    }
    Ok(took)
}

/// A line of shell that makes the tree.
fn plant(place: &str) -> String {
    format!(
        "set -e; for d in $(seq 100); do mkdir -p '{place}'/$d; \
         for f in $(seq 100); do echo \"file $f of folder $d\" > '{place}'/$d/$f; done; done"
    )
}
