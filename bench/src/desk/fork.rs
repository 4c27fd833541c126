//! `fork`: copies of a sandbox that holds ten thousand files, against `cp -a` of the same tree on the same disk.

use std::{fs, process::Command, time::Instant};

use super::{Desk, Times, is, text, time};
use crate::{
    Outcome,
    report::{self, Measure, Unit},
};

const COPIES: usize = 5;
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
    )
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
