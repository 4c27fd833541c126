//! The server is killed at every step, and whoever opens its folder next finds what was acknowledged, once, and whole.
//!
//! A child of this program lives with a provider: it creates, pauses (to memory, to disk, to files alone), resumes,
//! snapshots, forks and destroys, and writes down what it is about to do and what was acknowledged. It is killed at a random moment. What it wrote is then held against
//! what a new provider in the same folder sees.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use carrel_envd::{Envd, Event, Start};
use carrel_model::{
    SandboxId, TemplateName,
    sandbox::{Depth, Network, NetworkMode, Spec},
};
use carrel_sandbox::{
    Forking, Pausing, Provider, Sighting, Templating,
    contract::usual_spec,
    providers::local::{Config, DiskChoice, Local, PoolSize},
};
use futures::StreamExt;

use crate::yard::{Broom, cgroups, config, new_id, records};

/// Tells the child where it lives and by which numbers: the folder, the house, the seed, and which disk it has.
const CHILD: &str = "CARREL_TEST_KILLED";

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

/// What is written down: `begin` before, `done` after, each with a deed, a sandbox and a word about it.
struct Diary(fs::File);

impl Diary {
    fn note(&mut self, when: &str, deed: &str, id: &SandboxId, word: &str) {
        writeln!(self.0, "{when} {deed} {id} {word}").unwrap();
        self.0.sync_data().unwrap();
    }
}

async fn run(local: &Local, id: &SandboxId, command: &str) -> Result<String, String> {
    let endpoint = local.endpoint(id).await.map_err(|error| error.to_string())?;
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
#[ignore = "this is the child that the other tests kill"]
async fn the_child_that_is_killed() {
    let told = std::env::var(CHILD).expect("this is started by the tests that kill it");
    let told: Vec<&str> = told.split(' ').collect();
    let (folder, house, seed, disk) = (Path::new(told[0]), told[1], told[2].parse().unwrap(), told[3]);
    let local = place(folder, house, disk).build().await.unwrap();
    let spec = usual_spec(&local).await;
    let diary = fs::OpenOptions::new().append(true).create(true).open(folder.join("diary")).unwrap();
    let (mut diary, mut dice) = (Diary(diary), Dice(seed));
    let missing = local.probe().await.unwrap().missing;
    let depths: &[Depth] = match missing.iter().any(|sentence| sentence.contains("CRIU")) {
        true => &[Depth::Files, Depth::Frozen],
        false => &[Depth::Files, Depth::Frozen, Depth::Stored],
    };
    let mut living: Vec<Lives> = Vec::new();
    for round in 0_u32.. {
        let deed = if living.is_empty() { 0 } else { dice.roll(9) };
        let chosen = dice.roll(living.len().max(1) as u64) as usize;
        match deed {
            0 | 1 => {
                let id = new_id();
                diary.note("begin", "create", &id, "-");
                local.create(&id, &spec).await.unwrap();
                diary.note("done", "create", &id, "-");
                living.push(Lives { id, awake: true, mark: "-".into() });
            }
            2 | 3 if living[chosen].awake => {
                let Lives { id, mark, .. } = &mut living[chosen];
                *mark = round.to_string();
                diary.note("begin", "write", id, mark);
                run(&local, id, &format!("echo {mark} > /mark")).await.unwrap();
                diary.note("done", "write", id, mark);
            }
            4 | 5 => {
                let Lives { id, awake, .. } = &mut living[chosen];
                if *awake {
                    let depth = depths[dice.roll(depths.len() as u64) as usize];
                    diary.note("begin", "pause", id, depth.word());
                    assert_eq!(local.pause(id, depth).await, Ok(depth));
                    diary.note("done", "pause", id, depth.word());
                } else {
                    diary.note("begin", "resume", id, "-");
                    local.resume(id).await.unwrap();
                    diary.note("done", "resume", id, "-");
                }
                *awake = !*awake;
            }
            6 => {
                let id = &living[chosen].id;
                let name = format!("snapshot/n{round}");
                diary.note("begin", "snapshot", id, &name);
                local.snapshot(id, &name.parse().unwrap(), false).await.unwrap();
                diary.note("done", "snapshot", id, &name);
            }
            7 => {
                let Lives { id, .. } = living.swap_remove(chosen);
                diary.note("begin", "destroy", &id, "-");
                local.destroy(&id).await.unwrap();
                diary.note("done", "destroy", &id, "-");
            }
            8 => {
                let Lives { id, mark, .. } = &living[chosen];
                let (name, mark) = (format!("snapshot/f{round}").parse::<TemplateName>().unwrap(), mark.clone());
                diary.note("begin", "base", id, "-");
                local.base(id, &name, dice.roll(2) == 0).await.unwrap();
                diary.note("done", "base", id, "-");
                let copied = Spec { template: name.clone(), ..spec.clone() };
                for _ in 0..2 {
                    let id = new_id();
                    diary.note("begin", "copy", &id, &mark);
                    local.create(&id, &copied).await.unwrap();
                    diary.note("done", "copy", &id, &mark);
                    living.push(Lives { id, awake: true, mark: mark.clone() });
                }
                local.forget(&name).await.unwrap();
            }
            _ => {}
        }
    }
}

/// A sandbox of the child.
struct Lives {
    id: SandboxId,
    awake: bool,
    /// What was written into it last, or `-`.
    mark: String,
}

fn place(folder: &Path, house: &str, disk: &str) -> Config {
    let disk = if disk == "image" { DiskChoice::Image(Some(1 << 30)) } else { DiskChoice::Folder };
    let usual = config(&folder.join("yard"), disk, 1);
    Config { house: house.to_owned(), pool: PoolSize { shells: 1, ..usual.pool }, ..usual }
}

/// Starts the child; whatever it says about its own death is not of interest.
fn start_child(test: &str, folder: &Path, house: &str, seed: u64, disk: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env(CHILD, format!("{} {house} {seed} {disk}", folder.display()))
        .stdin(Stdio::null())
        .stdout(fs::File::create(folder.join("said")).unwrap())
        .stderr(fs::File::create(folder.join("complained")).unwrap())
        .spawn()
        .unwrap()
}

/// What the diary lets one expect of a sandbox.
#[derive(Debug, Default, Clone)]
struct Expected {
    /// Acknowledged: it is there, and awake or not. Nothing while it was never acknowledged, or not any more.
    there: Option<bool>,
    /// How deep it was acknowledged to sleep.
    asleep: Option<String>,
    /// What was written last and acknowledged.
    mark: Option<String>,
    /// What was begun and not acknowledged.
    begun: Option<(String, String)>,
}

struct Told {
    sandboxes: BTreeMap<String, Expected>,
    templates: BTreeMap<String, Option<String>>,
    deeds: usize,
}

fn read_diary(folder: &Path) -> Told {
    let text = fs::read_to_string(folder.join("diary")).unwrap_or_default();
    let mut told = Told { sandboxes: BTreeMap::new(), templates: BTreeMap::new(), deeds: 0 };
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        // The last line may be torn.
        let [when, deed, id, word] = words[..] else { continue };
        let sandbox = told.sandboxes.entry(id.to_owned()).or_default();
        if when == "begin" {
            sandbox.begun = Some((deed.to_owned(), word.to_owned()));
            continue;
        }
        sandbox.begun = None;
        told.deeds += 1;
        match deed {
            "create" | "resume" => (sandbox.there, sandbox.asleep) = (Some(true), None),
            "pause" => (sandbox.there, sandbox.asleep) = (Some(false), Some(word.to_owned())),
            "copy" => (sandbox.there, sandbox.mark) = (Some(true), Some(word.to_owned()).filter(|word| word != "-")),
            "base" => {}
            "write" => sandbox.mark = Some(word.to_owned()),
            "destroy" => sandbox.there = None,
            "snapshot" => drop(told.templates.insert(word.to_owned(), sandbox.mark.clone())),
            other => panic!("{other} is not a deed"),
        }
    }
    told
}

/// Waits until the launcher of a server that died has noticed and is gone.
fn await_launcher(folder: &Path) {
    let scratch = folder.join("yard/scratch");
    let lives = || {
        let pids = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("cmdline"));
        let lines = pids.filter_map(|path| fs::read(path).ok());
        lines
            .map(|line| String::from_utf8_lossy(&line).into_owned())
            .any(|line| line.contains(scratch.to_str().unwrap()) && line.contains("launcher"))
    };
    while lives() {
        std::thread::yield_now();
    }
}

async fn one_death(seed: u64, disk: &str) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let house = format!("test-killed-{seed:x}");
    let _broom = Broom { folder: folder.path().join("yard"), house: house.clone() };
    let mut dice = Dice(seed);
    let mut child = start_child("kills::the_child_that_is_killed", folder.path(), &house, seed, disk);
    // A random step, and a random moment in it.
    let deeds = dice.roll(12) as usize;
    while read_diary(folder.path()).deeds < deeds {
        assert!(
            child.try_wait().unwrap().is_none(),
            "seed {seed}: it ended by itself: {}",
            fs::read_to_string(folder.path().join("complained")).unwrap()
        );
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_micros(dice.roll(20_000)));
    child.kill().unwrap();
    child.wait().unwrap();
    await_launcher(folder.path());
    let told = read_diary(folder.path());
    let broken = look(folder.path(), &house, disk, &told).await;
    assert!(
        broken.is_empty(),
        "seed {seed} on {disk}: {}\n{}",
        broken.join("\n"),
        fs::read_to_string(folder.path().join("diary")).unwrap()
    );
    told.deeds
}

/// Opens the provider where the other one died, holds everything against the diary, ends it all, and lists what is wrong.
async fn look(folder: &Path, house: &str, disk: &str, told: &Told) -> Vec<String> {
    let mut wrong = Vec::new();
    let local = place(folder, house, disk).build().await.unwrap();
    let listed = local.list().await.unwrap();
    let ids: HashSet<String> = listed.iter().map(|(id, _)| id.to_string()).collect();
    if ids.len() != listed.len() {
        wrong.push(format!("some are there twice: {listed:?}"));
    }
    let remembered: Vec<_> =
        records(&folder.join("yard")).iter().filter_map(|r| r["id"].as_str().map(str::to_owned)).collect();
    if remembered.len() != ids.len() {
        wrong.push(format!("{} are listed and {} remembered", ids.len(), remembered.len()));
    }
    for id in &ids {
        if !told.sandboxes.contains_key(id) {
            wrong.push(format!("{id} is nobody's"));
        }
    }
    for (name, expected) in &told.sandboxes {
        let id: SandboxId = name.parse().unwrap();
        if let Err(why) = hold_against(&local, &id, expected).await {
            wrong.push(format!("{name} ({expected:?}): {why}"));
        }
    }
    let spec = usual_spec(&local).await;
    for (name, mark) in &told.templates {
        if let Err(why) = fork(&local, &spec, name, mark.as_deref()).await {
            wrong.push(format!("{name}: {why}"));
        }
    }
    for (id, _) in local.list().await.unwrap() {
        if let Err(error) = local.destroy(&id).await {
            wrong.push(format!("{id} cannot be destroyed: {error}"));
        }
    }
    for template in local.templates().await.unwrap() {
        if template.name.as_str().starts_with("snapshot/") {
            local.forget(&template.name).await.unwrap();
        }
    }
    // Whoever forgets next carries out the layers that a dead server had not given a name yet.
    local.forget(&"nobody".parse().unwrap()).await.unwrap();
    local.close().await;
    drop(local);
    wrong.extend(left_behind(folder, house));
    wrong
}

async fn hold_against(local: &Local, id: &SandboxId, expected: &Expected) -> Result<(), String> {
    let seen = local.inspect(id).await.map_err(|error| error.to_string())?;
    let begun = expected.begun.as_ref().map(|(deed, _)| deed.as_str());
    let fits = match (expected.there, begun) {
        (Some(_), Some("destroy")) => true,
        (Some(_), Some("pause" | "resume")) => seen != Sighting::Missing,
        (Some(awake), _) => seen == if awake { Sighting::Running } else { Sighting::Paused },
        (None, Some("create" | "copy")) => true,
        (None, _) => seen == Sighting::Missing,
    };
    if !fits {
        return Err(format!("it is seen {seen:?}"));
    }
    if seen == Sighting::Missing || begun == Some("destroy") {
        return Ok(());
    }
    if seen == Sighting::Paused {
        let from = local.resume(id).await.map_err(|error| format!("it does not resume: {error}"))?;
        // What was acknowledged to be kept is there: memory that stands still, or that lies on disk.
        if let Some(depth) = expected.asleep.as_deref().filter(|depth| begun.is_none() && *depth != from.word()) {
            return Err(format!("it slept {depth}, and comes back from {from:?}"));
        }
    }
    let mark = run(local, id, "cat /mark 2>/dev/null").await.map_err(|error| format!("it does not answer: {error}"))?;
    let written = [expected.mark.clone().unwrap_or_default()];
    let perhaps = expected.begun.iter().filter(|(deed, _)| deed == "write").map(|(_, word)| word.clone());
    // What was being written may have come so far that the file is empty.
    let half = expected.begun.iter().filter(|(deed, _)| deed == "write").map(|_| String::new());
    // A copy that nobody was told of is a copy nevertheless.
    let copied = expected.begun.iter().filter(|(deed, _)| deed == "copy").map(|(_, word)| word.replace('-', ""));
    if written.into_iter().chain(perhaps).chain(half).chain(copied).all(|possible| possible != mark) {
        return Err(format!("it has lost what was written: it says {mark:?}"));
    }
    Ok(())
}

async fn fork(local: &Local, spec: &Spec, name: &str, mark: Option<&str>) -> Result<(), String> {
    let name: TemplateName = name.parse().unwrap();
    let id = new_id();
    let spec = Spec { template: name, ..spec.clone() };
    local.create(&id, &spec).await.map_err(|error| error.to_string())?;
    let found = run(local, &id, "cat /mark 2>/dev/null").await?;
    if found == mark.unwrap_or_default() { Ok(()) } else { Err(format!("it says {found:?}, not {mark:?}")) }
}

fn left_behind(folder: &Path, house: &str) -> Vec<String> {
    let mut left: Vec<String> =
        cgroups(house).iter().map(|path| format!("a cgroup is left: {}", path.display())).collect();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    if mounts.contains(folder.to_str().unwrap()) {
        left.push("a mount is left".into());
    }
    let entries = |path: PathBuf| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    for name in ["slots", "trash", "drafts", "memory", "templates/drafts"] {
        left.extend(entries(folder.join("yard").join(name)).map(|path| format!("{} is left", path.display())));
    }
    let snapshots = entries(folder.join("yard/templates/layers"));
    let snapshots = snapshots.filter(|path| !path.file_name().unwrap().to_str().unwrap().starts_with("sha256"));
    left.extend(snapshots.map(|path| format!("{} is left", path.display())));
    left
}

async fn deaths(disk: &str, rounds: u64) {
    let mut random = [0; 8];
    getrandom::fill(&mut random).unwrap();
    let told = std::env::var("CARREL_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let first = told.unwrap_or(u64::from_le_bytes(random) >> 16);
    let mut deeds = 0;
    for round in 0..rounds {
        // A seed that is told is tried alone, again and again.
        let seed = if told.is_some() { first } else { first + round * 7919 } | 1;
        deeds += one_death(seed, disk).await;
    }
    assert!(deeds > rounds as usize, "the child did something before it died");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_at_any_step_keeps_what_it_acknowledged() {
    deaths("folder", 30).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_does_one_whose_sandboxes_are_subvolumes() {
    deaths("image", 15).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "this is the child that another test kills"]
async fn the_child_with_a_gateway() {
    let told = std::env::var(CHILD).expect("this is started by the test that kills it");
    let told: Vec<&str> = told.split(' ').collect();
    let folder = Path::new(told[0]);
    let local = place(folder, told[1], told[3]).build().await.unwrap();
    let id = new_id();
    let spec = Spec { network: Network { mode: NetworkMode::Open, ..Network::default() }, ..usual_spec(&local).await };
    local.create(&id, &spec).await.unwrap();
    let diary = fs::OpenOptions::new().append(true).create(true).open(folder.join("diary")).unwrap();
    Diary(diary).note("done", "create", &id, "-");
    std::future::pending::<()>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_is_served_again_by_the_next_server() {
    let folder = tempfile::tempdir().unwrap();
    let house = format!("test-gateway-{}", std::process::id());
    let _broom = Broom { folder: folder.path().join("yard"), house: house.clone() };
    let mut child = start_child("kills::the_child_with_a_gateway", folder.path(), &house, 1, "folder");
    while read_diary(folder.path()).deeds == 0 {
        assert!(
            child.try_wait().unwrap().is_none(),
            "{}",
            fs::read_to_string(folder.path().join("complained")).unwrap()
        );
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    await_launcher(folder.path());
    let local = place(folder.path(), &house, "folder").build().await.unwrap();
    let (id, _) = local.list().await.unwrap().remove(0);
    let asked = "import socket; s = socket.create_connection((\"127.0.0.1\", 49980)); s.sendall(b\"CONNECT 127.0.0.1:1 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n\"); print(s.recv(64).split()[1].decode())";
    assert_eq!(run(&local, &id, &format!("/usr/bin/python3 -c '{asked}'")).await.unwrap(), "403");
    local.destroy(&id).await.unwrap();
    local.close().await;
    drop(local);
    assert_eq!(left_behind(folder.path(), &house), Vec::<String>::new());
}
