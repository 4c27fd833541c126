//! The fault campaign: rounds of the kill campaign with harder blows, seeded, bounded in time and in count, and resumable.
//!
//! ```sh
//! make soak                            # 20 rounds of 25 tasks with two faults each, or an hour, whichever comes first
//! make soak FAULTS=100 SEED=7          # the same story again
//! ```
//!
//! Each round is a house of its own, on one of the two databases, and is written down when its last audit has passed. A
//! campaign that was interrupted goes on with the round after the last one that is written down.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::{Duration, Instant},
};

use carrel_testkit::TestDatabase;
use serde::{Deserialize, Serialize};

use super::{ALL, Dice, Plan, Victim, audit, number, world::World};

/// So many tasks make a round.
const ROUND: u64 = 25;
/// So many faults strike a task.
const BLOWS: u64 = 2;

/// How far a campaign is, as its file says it.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Diary {
    seed: u64,
    rounds: Vec<Round>,
}

/// A round that ended well.
#[derive(Debug, Serialize, Deserialize)]
struct Round {
    database: String,
    seconds: u64,
    /// By who was struck and when: how often, and how often a person had to help.
    faults: BTreeMap<String, (u32, u32)>,
}

/// Only by `make soak`: it needs an hour, root, and a network of its own.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "make soak"]
async fn hundreds_of_tasks_under_a_thousand_faults_end_true_and_leave_nothing() {
    let seed = number("CARREL_KILL_SEED", 1);
    let rounds = number("CARREL_SOAK_FAULTS", 1000).div_ceil(ROUND * BLOWS);
    let most = Duration::from_secs(number("CARREL_SOAK_SECONDS", 3600));
    let place = PathBuf::from(std::env::var_os("CARREL_SOAK_DIARY").expect("scripts/soak says where the diary is"));
    let mut diary: Diary = match std::fs::read(&place) {
        Ok(bytes) => serde_json::from_slice(&bytes).expect("a diary that another campaign wrote is in the way"),
        Err(_) => Diary { seed, ..Diary::default() },
    };
    assert_eq!(diary.seed, seed, "the diary is of another campaign; remove it, or give its seed");
    let began = Instant::now();
    while (diary.rounds.len() as u64) < rounds && began.elapsed() < most {
        let number = diary.rounds.len() as u64;
        let database = if number.is_multiple_of(2) { TestDatabase::sqlite() } else { TestDatabase::postgres().await };
        let round = play(&database, seed.wrapping_mul(1_000_003).wrapping_add(number), number).await;
        database.drop().await;
        diary.rounds.push(round);
        let draft = place.with_extension("draft");
        std::fs::write(&draft, serde_json::to_vec_pretty(&diary).unwrap()).unwrap();
        std::fs::rename(&draft, &place).unwrap();
    }
    tell(&diary);
}

async fn play(database: &TestDatabase, seed: u64, number: u64) -> Round {
    let mut dice = Dice(seed | 1);
    let began = Instant::now();
    let mut world = World::open_hard(database).await;
    let mut faults: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for run in 0..ROUND {
        // Every round begins with another victim, so that all of them meet all steps.
        let turn = (number * ROUND + run) as usize;
        let plan = Plan::draw(turn, &mut dice, &victims(database), BLOWS as usize);
        let moment = Instant::now();
        let helped = world.play(&plan).await;
        audit::walk(&mut world, 5).await;
        println!("{number:3}.{run:02} {plan:?} helped {helped} times, {} ms", moment.elapsed().as_millis());
        for blow in plan.blows {
            let row = faults.entry(format!("{:?} {:?}", blow.victim, blow.step)).or_default();
            (row.0, row.1) = (row.0 + 1, row.1 + helped);
        }
    }
    world.finish().await;
    let database = if database.is_postgres() { "PostgreSQL" } else { "SQLite" };
    Round { database: database.into(), seconds: began.elapsed().as_secs(), faults }
}

/// What can be struck: a program that is there, a library that moves clocks.
fn victims(database: &TestDatabase) -> Vec<Victim> {
    let can_jump = std::env::var_os("CARREL_SOAK_FAKETIME").is_some();
    let is_there = |victim: &Victim| match victim {
        Victim::Clock => can_jump,
        Victim::Postgres | Victim::Line | Victim::Redis => database.is_postgres(),
        _ => true,
    };
    ALL.into_iter().filter(is_there).collect()
}

fn tell(diary: &Diary) {
    let mut table: BTreeMap<String, (u32, BTreeSet<String>, u32)> = BTreeMap::new();
    for (name, (count, helped)) in diary.rounds.iter().flat_map(|round| &round.faults) {
        let (victim, step) = name.split_once(' ').unwrap_or_default();
        let row = table.entry(victim.to_lowercase()).or_default();
        (row.0, row.2) = (row.0 + count, row.2 + helped);
        row.1.insert(step.to_owned());
    }
    let faults: u32 = table.values().map(|row| row.0).sum();
    let seconds: u64 = diary.rounds.iter().map(|round| round.seconds).sum();
    println!(
        "\n{} rounds, {faults} faults, {seconds} s, seed {}: every card true, no commit lost, nothing left over",
        diary.rounds.len(),
        diary.seed
    );
    println!("\n| struck | faults | steps met | a person said `retry` |\n|---|---|---|---|");
    for (victim, (count, steps, helped)) in table {
        println!("| {victim} | {count} | {} | {helped} |", steps.len());
    }
}
