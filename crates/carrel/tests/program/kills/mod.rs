//! The kill campaign: a real house does real tasks, and in each run something dies at a step of one of them. Afterwards
//! an auditor walks through everything and looks whether it is true.
//!
//! ```sh
//! make kills                     # 200 runs, on SQLite and on PostgreSQL
//! make kills RUNS=20 SEED=7      # the same story again
//! ```
//!
//! What dies, when, and how the task ends is drawn from the seed; how far a program came by then is the machine's affair.

mod audit;
mod world;

use std::{collections::BTreeMap, time::Instant};

use carrel_testkit::{TestDatabase, on_both_databases};
use serde_json::Value;

use world::World;

/// What dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    /// `carrel serve`, by kill -9.
    Server,
    /// Everything that the agent's user runs in its sandbox.
    Agent,
    /// The first process of the sandbox, and with it all others.
    Sandbox,
    /// The connections to the database.
    Database,
    /// Where the repository comes from and is published to.
    Forge,
}

/// When it dies: as soon as the task is seen there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Prepare,
    Work,
    Commit,
    Publish,
    Review,
    Merge,
    Close,
    Tidy,
}

/// How the task is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Merged,
    Closed,
    InReview,
}

const VICTIMS: [Victim; 5] = [Victim::Server, Victim::Agent, Victim::Sandbox, Victim::Database, Victim::Forge];
const STEPS: [Step; 8] =
    [Step::Prepare, Step::Work, Step::Commit, Step::Publish, Step::Review, Step::Merge, Step::Close, Step::Tidy];

/// One run, as the dice have it.
#[derive(Debug, Clone, Copy)]
struct Plan {
    victim: Victim,
    step: Step,
    end: End,
    /// So many milliseconds after the step was seen.
    late_ms: u64,
    /// How long a database or a forge stays away.
    away_ms: u64,
}

/// Numbers that the same seed gives again.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: u64) -> u64 {
        (self.next() >> 11) % most.max(1)
    }
}

impl Plan {
    /// Every victim at every step comes around; the rest is chance.
    fn draw(run: usize, dice: &mut Dice) -> Plan {
        let victim = VICTIMS[run % VICTIMS.len()];
        let step = STEPS[(run / VICTIMS.len() + dice.below(STEPS.len() as u64) as usize) % STEPS.len()];
        let end = match step {
            Step::Merge | Step::Tidy => End::Merged,
            Step::Close => End::Closed,
            _ => [End::Merged, End::Merged, End::Closed, End::InReview][dice.below(4) as usize],
        };
        Plan { victim, step, end, late_ms: dice.below(120), away_ms: 200 + dice.below(1500) }
    }
}

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

on_both_databases! {
    async fn whatever_dies_at_whatever_step_every_card_ends_true_and_no_work_is_lost(database: TestDatabase) {
        let runs = number("CARREL_KILL_RUNS", 5) as usize;
        let seed = number("CARREL_KILL_SEED", jiff::Timestamp::now().as_microsecond() as u64);
        println!("{runs} runs with CARREL_KILL_SEED={seed}");
        campaign(&database, runs, seed).await;
        database.drop().await;
    }
}

async fn campaign(database: &TestDatabase, runs: usize, seed: u64) {
    let mut dice = Dice(seed | 1);
    let mut world = World::open(database).await;
    let mut table: BTreeMap<(Victim, Step), (u32, u32)> = BTreeMap::new();
    let began = Instant::now();
    for run in 0..runs {
        let plan = Plan::draw(run, &mut dice);
        let moment = Instant::now();
        let helped = world.play(plan).await;
        audit::walk(&mut world, 5).await;
        println!("{run:4} {plan:?} helped {helped} times, {} ms", moment.elapsed().as_millis());
        let row = table.entry((plan.victim, plan.step)).or_default();
        (row.0, row.1) = (row.0 + 1, row.1 + helped);
    }
    world.finish().await;
    println!("{runs} runs in {} s, all cards true, no work lost, nothing left over", began.elapsed().as_secs());
    for ((victim, step), (count, helped)) in table {
        println!("{victim:?} at {step:?}: {count} runs, a person helped {helped} times");
    }
}

/// A text in an answer.
fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}
