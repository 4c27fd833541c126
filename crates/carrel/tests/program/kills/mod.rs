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
mod hard;
mod soak;
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
    /// What makes sandboxes for the server, by kill -9. From here on by `make soak` alone.
    Launcher,
    /// The disk of the house: it is full for a while.
    Disk,
    /// The clock of the server: it jumps by hours, there and back.
    Clock,
    /// PostgreSQL itself: one of its processes by kill -9, and it recovers from that as from a crash.
    Postgres,
    /// The network: much of what is sent is dropped, and the rest is slow.
    Line,
    /// Redis, by kill -9. It comes back and has forgotten everything.
    Redis,
    /// The upstream: it answers that it is broken, or with a web page, hangs up in the middle, or says nothing.
    Upstream,
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
const ALL: [Victim; 12] = [
    Victim::Server,
    Victim::Agent,
    Victim::Sandbox,
    Victim::Database,
    Victim::Forge,
    Victim::Launcher,
    Victim::Disk,
    Victim::Clock,
    Victim::Postgres,
    Victim::Line,
    Victim::Redis,
    Victim::Upstream,
];
const STEPS: [Step; 8] =
    [Step::Prepare, Step::Work, Step::Commit, Step::Publish, Step::Review, Step::Merge, Step::Close, Step::Tidy];

/// One run, as the dice have it.
#[derive(Debug, Clone)]
struct Plan {
    /// In the order of their steps.
    blows: Vec<Blow>,
    end: End,
}

/// Somebody is struck.
#[derive(Debug, Clone, Copy)]
struct Blow {
    victim: Victim,
    step: Step,
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
    fn draw(run: usize, dice: &mut Dice, victims: &[Victim], blows: usize) -> Plan {
        let mut draw = |number: usize| Blow {
            victim: victims[number % victims.len()],
            step: STEPS[(number / victims.len() + dice.below(STEPS.len() as u64) as usize) % STEPS.len()],
            late_ms: dice.below(120),
            away_ms: 200 + dice.below(1500),
        };
        let mut blows: Vec<_> = (run * blows..(run + 1) * blows).map(&mut draw).collect();
        let has = |step| blows.iter().any(|blow| blow.step == step);
        let end = if has(Step::Close) {
            End::Closed
        } else if has(Step::Merge) || has(Step::Tidy) {
            End::Merged
        } else {
            [End::Merged, End::Merged, End::Closed, End::InReview][dice.below(4) as usize]
        };
        for blow in blows.iter_mut().filter(|blow| end == End::Closed && blow.step == Step::Merge) {
            blow.step = Step::Close;
        }
        blows.sort_by_key(|blow| blow.step);
        Plan { blows, end }
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
        let plan = Plan::draw(run, &mut dice, &VICTIMS, 1);
        let moment = Instant::now();
        let helped = world.play(&plan).await;
        audit::walk(&mut world, 5).await;
        println!("{run:4} {plan:?} helped {helped} times, {} ms", moment.elapsed().as_millis());
        for blow in plan.blows {
            let row = table.entry((blow.victim, blow.step)).or_default();
            (row.0, row.1) = (row.0 + 1, row.1 + helped);
        }
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
