//! The server is killed at every step while its sandboxes run behind a second kernel: what was acknowledged is there,
//! once, and whole, and what was not leaves nothing.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use carrel_envd::{Envd, Event, Start};
use carrel_model::{SandboxId, sandbox::Depth};
use carrel_sandbox::{
    Forking, Pausing, Provider, Sighting,
    contract::usual_spec,
    providers::oci::{Config, Oci},
};
use futures::StreamExt;

use crate::yard::{Leash, assert_nothing_is_left, config, find, new_id};

/// Tells the child where it lives: the folder, the house and the seed.
const CHILD: &str = "CARREL_TEST_KILLED_OCI";

/// Small numbers in an order that a seed decides.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

fn place(folder: &Path, house: &str) -> Config {
    Config { house: house.to_owned(), ..config(&folder.join("yard"), find("runsc")) }
}

async fn run(oci: &Oci, id: &SandboxId, command: &str) -> Result<String, String> {
    let endpoint = oci.endpoint(id).await.map_err(|error| error.to_string())?;
    let start = Start {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), command.into()],
        user: Some("root".into()),
        ..Start::default()
    };
    let mut events = Envd::new(endpoint.dial, endpoint.token).start(&start).await.map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    while let Some(event) = events.next().await {
        if let Event::Stdout(bytes) = event.map_err(|error| error.to_string())? {
            out.extend(bytes);
        }
    }
    Ok(String::from_utf8_lossy(&out).trim().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "this is the child that the other test kills"]
async fn the_child_that_is_killed() {
    let told = std::env::var(CHILD).expect("this is started by the test that kills it");
    let told: Vec<&str> = told.split(' ').collect();
    let (folder, house, mut dice) = (Path::new(told[0]), told[1], Dice(told[2].parse().unwrap()));
    let oci = place(folder, house).build().await.unwrap();
    let spec = usual_spec(&oci).await;
    let mut diary = fs::OpenOptions::new().append(true).create(true).open(folder.join("diary")).unwrap();
    let mut note = move |when: &str, deed: &str, id: &SandboxId, word: &str| {
        writeln!(diary, "{when} {deed} {id} {word}").unwrap();
        diary.sync_data().unwrap();
    };
    let mut living: Vec<(SandboxId, bool)> = Vec::new();
    for round in 0_u32.. {
        let deed = if living.is_empty() { 0 } else { dice.roll(7) };
        let chosen = dice.roll(living.len().max(1) as u64) as usize;
        match deed {
            0 => {
                let id = new_id();
                note("begin", "create", &id, "-");
                oci.create(&id, &spec).await.unwrap();
                note("done", "create", &id, "-");
                living.push((id, true));
            }
            1 | 2 if living[chosen].1 => {
                let id = &living[chosen].0;
                note("begin", "write", id, &round.to_string());
                run(&oci, id, &format!("echo {round} > /new && mv /new /mark")).await.unwrap();
                note("done", "write", id, &round.to_string());
            }
            3 | 4 => {
                let (id, awake) = &mut living[chosen];
                if *awake {
                    let depth = [Depth::Files, Depth::Frozen, Depth::Stored][dice.roll(3) as usize];
                    note("begin", "pause", id, "-");
                    oci.pause(id, depth).await.unwrap();
                    note("done", "pause", id, "-");
                } else {
                    note("begin", "resume", id, "-");
                    oci.resume(id).await.unwrap();
                    note("done", "resume", id, "-");
                }
                *awake = !*awake;
            }
            5 => {
                let id = &living[chosen].0;
                let name = format!("snapshot/n{round}");
                note("begin", "snapshot", id, &name);
                oci.snapshot(id, &name.parse().unwrap(), false).await.unwrap();
                note("done", "snapshot", id, &name);
            }
            6 => {
                let (id, _) = living.swap_remove(chosen);
                note("begin", "destroy", &id, "-");
                oci.destroy(&id).await.unwrap();
                note("done", "destroy", &id, "-");
            }
            _ => {}
        }
    }
}

/// What the diary lets one expect of a sandbox.
#[derive(Debug, Default, Clone)]
struct Expected {
    /// Acknowledged: it is there, and awake or not.
    there: Option<bool>,
    /// What was written last and acknowledged.
    mark: String,
    /// What was begun and not acknowledged.
    begun: Option<(String, String)>,
}

fn read_diary(folder: &Path) -> (BTreeMap<String, Expected>, usize) {
    let text = fs::read_to_string(folder.join("diary")).unwrap_or_default();
    let (mut sandboxes, mut deeds) = (BTreeMap::<String, Expected>::new(), 0);
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        // The last line may be torn.
        let [when, deed, id, word] = words[..] else { continue };
        let sandbox = sandboxes.entry(id.to_owned()).or_default();
        if when == "begin" {
            sandbox.begun = Some((deed.to_owned(), word.to_owned()));
            continue;
        }
        (sandbox.begun, deeds) = (None, deeds + 1);
        match deed {
            "create" | "resume" => sandbox.there = Some(true),
            "pause" => sandbox.there = Some(false),
            "write" => word.clone_into(&mut sandbox.mark),
            "destroy" => sandbox.there = None,
            _ => {}
        }
    }
    (sandboxes, deeds)
}

fn start_child(folder: &Path, house: &str, seed: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::the_child_that_is_killed", "--ignored", "--nocapture"])
        .env(CHILD, format!("{} {house} {seed}", folder.display()))
        .stdin(Stdio::null())
        .stdout(fs::File::create(folder.join("said")).unwrap())
        .stderr(fs::File::create(folder.join("complained")).unwrap())
        .spawn()
        .unwrap()
}

async fn hold_against(oci: &Oci, id: &SandboxId, expected: &Expected) -> Result<(), String> {
    let seen = oci.inspect(id).await.map_err(|error| error.to_string())?;
    let begun = expected.begun.as_ref().map(|(deed, _)| deed.as_str());
    let fits = match (expected.there, begun) {
        (Some(_), Some("destroy")) | (None, Some("create")) => true,
        (Some(_), Some("pause" | "resume")) => seen != Sighting::Missing,
        (Some(awake), _) => seen == if awake { Sighting::Running } else { Sighting::Paused },
        (None, _) => seen == Sighting::Missing,
    };
    if !fits {
        return Err(format!("it is seen {seen:?}"));
    }
    if seen == Sighting::Missing || begun == Some("destroy") || expected.there.is_none() {
        return Ok(());
    }
    if seen == Sighting::Paused {
        oci.resume(id).await.map_err(|error| format!("it does not resume: {error}"))?;
    }
    let mark = run(oci, id, "cat /mark 2>/dev/null").await.map_err(|error| format!("it does not answer: {error}"))?;
    let perhaps = expected.begun.as_ref().filter(|(deed, _)| deed == "write").map(|(_, word)| word);
    if mark == expected.mark || Some(&mark) == perhaps { Ok(()) } else { Err(format!("it says {mark:?}")) }
}

async fn one_death(seed: u64) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let house = format!("test-killed-{seed:x}");
    let _leash = Leash::on(place(folder.path(), &house));
    let mut dice = Dice(seed);
    let mut child = start_child(folder.path(), &house, seed);
    let deeds = dice.roll(8) as usize;
    while read_diary(folder.path()).1 < deeds {
        assert!(
            child.try_wait().unwrap().is_none(),
            "seed {seed}: it ended by itself: {}",
            fs::read_to_string(folder.path().join("complained")).unwrap()
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    // A random moment in the next step.
    std::thread::sleep(Duration::from_micros(dice.roll(400_000)));
    child.kill().unwrap();
    child.wait().unwrap();
    let (told, deeds) = read_diary(folder.path());
    let oci = place(folder.path(), &house).build().await.unwrap();
    let mut wrong = Vec::new();
    for (id, _) in oci.list().await.unwrap() {
        if !told.contains_key(id.as_str()) {
            wrong.push(format!("{id} is nobody's"));
        }
    }
    for (name, expected) in &told {
        if let Err(why) = hold_against(&oci, &name.parse().unwrap(), expected).await {
            wrong.push(format!("{name} ({expected:?}): {why}"));
        }
    }
    for (id, _) in oci.list().await.unwrap() {
        if let Err(error) = oci.destroy(&id).await {
            wrong.push(format!("{id} cannot be destroyed: {error}"));
        }
    }
    oci.close().await;
    drop(oci);
    let diary = fs::read_to_string(folder.path().join("diary")).unwrap_or_default();
    assert!(wrong.is_empty(), "seed {seed}: {}\n{diary}", wrong.join("\n"));
    assert_nothing_is_left(&folder.path().join("yard"), &house);
    deeds
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_at_any_step_keeps_what_it_acknowledged_behind_gvisor() {
    const ROUNDS: u64 = 8;
    let mut random = [0; 8];
    getrandom::fill(&mut random).unwrap();
    let told = std::env::var("CARREL_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let first = told.unwrap_or(u64::from_le_bytes(random) >> 16);
    let mut deeds = 0;
    for round in 0..ROUNDS {
        // A seed that is told is tried alone, again and again.
        deeds += one_death(if told.is_some() { first } else { first + round * 7919 } | 1).await;
    }
    assert!(deeds > 0, "the child did something before it died");
}
