//! The unified hierarchy: handed down for real where this kernel has a controller to hand down, and its files on paper for
//! the controllers that it does not have.

use std::process::{Child, Command};

use super::*;

/// A cgroup as files in a folder. What is written is kept, as it was written; nobody acts on it.
struct Paper(tempfile::TempDir);

impl Paper {
    fn with(files: &[(&str, &str)]) -> Paper {
        let paper = Paper(tempfile::tempdir().expect("a folder"));
        files.iter().for_each(|(name, text)| fs::write(paper.path().join(name), text).expect("written"));
        paper
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn says(&self, file: &str) -> String {
        fs::read_to_string(self.path().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    fn cgroup(&self, controllers: &[&str]) -> Cgroup {
        let new = controllers.iter().map(|name| (*name).to_owned()).collect();
        Cgroup { unified: Some(self.path().to_owned()), new, old: BTreeMap::new() }
    }
}

#[test]
fn the_unified_hierarchy_bounds_what_it_has_controllers_for() {
    let bounds = Bounds { cpus: 1.5, memory: 64 << 20, pids: 77 };
    let paper = Paper::with(&[]);
    paper.cgroup(&["cpu", "memory", "pids"]).bound(&bounds).expect("bound");
    let said =
        ["cpu.max", "memory.max", "memory.swap.max", "memory.oom.group", "pids.max"].map(|file| paper.says(file));
    assert_eq!(said, ["150000 100000", "67108864", "0", "0", "77"]);
    let paper = Paper::with(&[]);
    paper.cgroup(&["pids"]).bound(&bounds).expect("bound");
    assert!(!paper.path().join("memory.max").exists() && !paper.path().join("cpu.max").exists());
    assert_eq!(paper.says("pids.max"), "77");
}

#[test]
fn the_unified_hierarchy_tells_what_is_used_and_which_limits_were_met() {
    let paper = Paper::with(&[
        ("cpu.stat", "usage_usec 1234\nuser_usec 1000\n"),
        ("memory.current", "5000\n"),
        ("memory.stat", "anon 1000\nfile_mapped 7\nfile 3000\n"),
        ("memory.events", "low 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 0\n"),
        ("pids.current", "4\n"),
        ("pids.events", "max 6\n"),
    ]);
    let cgroup = paper.cgroup(&["cpu", "memory", "pids"]);
    let reading =
        Reading { cpu_us: Some(1234), memory: Some(5000), cache: Some(3000), pids: Some(4), out_of_memory: Some(2) };
    assert_eq!(cgroup.read(), reading);
    assert_eq!(cgroup.met(), Some(Met { memory: 2, pids: 6 }));
    let alone = paper.cgroup(&["pids"]);
    assert_eq!(alone.met(), Some(Met { memory: 0, pids: 6 }));
    assert_eq!(alone.read(), Reading { memory: None, cache: None, out_of_memory: None, ..reading });
    assert_eq!(paper.cgroup(&[]).met(), None, "nobody counts");
}

#[test]
fn who_runs_again_may_have_no_more_swap() {
    let paper = Paper::with(&[("cgroup.events", "populated 1\nfrozen 0\n"), ("memory.swap.max", "max")]);
    paper.cgroup(&["memory"]).set_frozen(false, Duration::from_secs(600)).expect("it is thawed");
    assert_eq!((paper.says("cgroup.freeze"), paper.says("memory.swap.max")), ("0".into(), "0".into()));
}

#[test]
fn nothing_is_handed_down_while_somebody_stays_who_cannot_be_moved() {
    // Two threaded controllers alone: the kernel would take them, and no process could be born below.
    let files = [("cgroup.type", "domain\n"), ("cgroup.controllers", "cpu pids\n"), ("cgroup.procs", "99999999\n")];
    let paper = Paper::with(&files);
    let folder = paper.path().join("carrel/house");
    fs::create_dir_all(&folder).expect("made");
    assert_eq!(hand_down(paper.path(), &folder, &CONTROLLERS), Vec::<String>::new());
    for level in [paper.path(), &paper.path().join("carrel"), &folder] {
        assert!(!level.join("cgroup.subtree_control").exists(), "{}", level.display());
    }
}

#[test]
fn what_is_offered_is_asked_for_in_one_breath() {
    let files =
        [("cgroup.type", "domain\n"), ("cgroup.controllers", "cpuset cpu io memory pids\n"), ("cgroup.procs", "")];
    let paper = Paper::with(&files);
    let folder = paper.path().join("carrel/house");
    fs::create_dir_all(&folder).expect("made");
    assert_eq!(hand_down(paper.path(), &folder, &CONTROLLERS), ["cpu", "memory", "pids"]);
    for level in ["", "carrel/", "carrel/house/"] {
        assert_eq!(paper.says(&format!("{level}cgroup.subtree_control")), "+cpu +memory +pids");
    }
    assert!(!paper.path().join(SERVERS).exists(), "nobody had to move");
}

#[test]
fn what_an_earlier_life_began_in_another_cgroup_is_found_there() {
    let top = Paper::with(&[]);
    let [before, now] =
        ["app.slice/run-1.scope", "app.slice/run-2.scope"].map(|scope| top.path().join(scope).join("carrel/house"));
    for folder in
        [before.join("old"), now.join("new"), top.path().join("app.slice/run-1.scope/carrel/neighbour/theirs")]
    {
        fs::create_dir_all(folder).expect("made");
    }
    let mut houses = houses_below(top.path(), "house");
    houses.sort();
    assert_eq!(houses, [before.clone(), now.clone()]);
    let found = Hierarchies { unified: Some(now.clone()), earlier: vec![before.clone()], ..Hierarchies::default() };
    assert_eq!(found.names(), ["new", "old"]);
    let place = |name: &str| found.cgroup(name).unified;
    assert_eq!((place("old"), place("new")), (Some(before.join("old")), Some(now.join("new"))));
    assert_eq!(place("next"), Some(now.join("next")), "what is begun is begun here");
}

/// A cgroup of the real kernel, somewhere below its first, which offers one real controller.
struct Real {
    path: PathBuf,
    controller: &'static str,
    /// The kernel's first cgroup did not hand it down before us.
    first: Option<PathBuf>,
    children: Vec<Child>,
    /// One at a time: whoever is done takes back what the first cgroup hands down.
    _turn: File,
}

impl Real {
    fn make(name: &str) -> Real {
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("there is /proc");
        let mount = mounts.lines().filter_map(cgroup_mount).find(|(_, kind, _)| *kind == "cgroup2");
        let (mount, _, _) = mount.expect("this test needs the unified hierarchy");
        assert!(is_top(&mount), "this test needs the kernel's first cgroup, not that of a container");
        let turn = File::open(&mount).expect("it can be looked into");
        rustix::fs::flock(&turn, rustix::fs::FlockOperation::LockExclusive).expect("our turn comes");
        let offered = words(&mount.join("cgroup.controllers"));
        // Controllers whose cgroups the kernel does not let hold processes and hand down.
        let found = ["hugetlb", "memory", "io", "rdma"].into_iter().find(|controller| offered.contains(*controller));
        let controller = found.expect("this test needs one controller in the unified hierarchy");
        let had = words(&mount.join("cgroup.subtree_control")).contains(controller);
        change(&mount, '+', &[controller]).expect("this test needs root");
        let path = mount.join(format!("carrel-test-{name}-{}", std::process::id()));
        fs::create_dir(&path).expect("made");
        Real { path, controller, first: (!had).then_some(mount), children: Vec::new(), _turn: turn }
    }

    fn somebody(&mut self) -> String {
        let child = Command::new("sleep").arg("1000").spawn().expect("there is a sleep");
        let pid = child.id().to_string();
        fs::write(self.path.join("cgroup.procs"), &pid).expect("it moves in");
        self.children.push(child);
        pid
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        for below in ["carrel/house/jail", "carrel/house", "carrel", SERVERS, ""] {
            let _ = fs::remove_dir(self.path.join(below));
        }
        if let Some(first) = &self.first {
            let _ = change(first, '-', &[self.controller]);
        }
        assert!(!self.path.exists() || std::thread::panicking(), "a cgroup is left behind");
    }
}

#[test]
fn a_cgroup_that_holds_processes_hands_down_once_they_moved_below_it() {
    let mut real = Real::make("moves");
    let (one, other) = (real.somebody(), real.somebody());
    let refused = change(&real.path, '+', &[real.controller]);
    assert_eq!(refused.map_err(|error| error.raw_os_error()), Err(Some(libc::EBUSY)), "the kernel holds what we think");
    let folder = real.path.join("carrel/house");
    fs::create_dir_all(&folder).expect("made");
    assert_eq!(hand_down(&real.path, &folder, &[real.controller, "unheard-of"]), [real.controller]);
    assert_eq!(words(&real.path.join("cgroup.procs")), BTreeSet::new());
    let servers = real.path.join(SERVERS);
    assert_eq!(words(&servers.join("cgroup.procs")), BTreeSet::from([one.clone(), other.clone()]));
    // A jail there has the controller and can hold a process.
    let jail = folder.join("jail");
    fs::create_dir(&jail).expect("made");
    assert!(is_home(&jail) && words(&jail.join("cgroup.controllers")).contains(real.controller));
    fs::write(jail.join("cgroup.procs"), &one).expect("a process can live there");
    // Whoever opens it again finds it as it is.
    assert_eq!(hand_down(&real.path, &folder, &[real.controller]), [real.controller]);
    assert_eq!(words(&jail.join("cgroup.procs")), BTreeSet::from([one.clone()]));
    // And when the last house closes, all is as before.
    fs::write(servers.join("cgroup.procs"), &one).expect("it leaves");
    fs::remove_dir(&jail).expect("removed");
    close_unified(&folder, &[real.controller]);
    assert!(!servers.exists() && !real.path.join("carrel").exists());
    assert_eq!(words(&real.path.join("cgroup.procs")), BTreeSet::from([one, other]));
    assert_eq!(words(&real.path.join("cgroup.subtree_control")), BTreeSet::new());
}

#[test]
fn a_house_that_closes_leaves_its_neighbour_in_place() {
    let mut real = Real::make("stays");
    let one = real.somebody();
    let (mine, other) = (real.path.join("carrel/mine"), real.path.join("carrel/house"));
    for folder in [&mine, &other] {
        fs::create_dir_all(folder).expect("made");
        assert_eq!(hand_down(&real.path, folder, &[real.controller]), [real.controller]);
    }
    close_unified(&mine, &[real.controller]);
    assert!(!mine.exists() && other.exists());
    assert_eq!(words(&real.path.join(SERVERS).join("cgroup.procs")), BTreeSet::from([one]));
    assert!(words(&other.join("cgroup.subtree_control")).contains(real.controller));
}

#[test]
fn what_cannot_be_handed_all_the_way_down_is_taken_back_and_what_others_had_stays() {
    let mut real = Real::make("refuses");
    let folder = real.path.join("carrel/house");
    fs::create_dir_all(&folder).expect("made");
    // Somebody lives in the house itself: the kernel lets it hand nothing down.
    let somebody = real.somebody();
    fs::write(folder.join("cgroup.procs"), &somebody).expect("it moves in");
    let given = |level: &Path| words(&level.join("cgroup.subtree_control"));
    assert_eq!(hand_down(&real.path, &folder, &[real.controller]), Vec::<String>::new());
    assert_eq!((given(&real.path), given(&real.path.join("carrel"))), (BTreeSet::new(), BTreeSet::new()));
    change(&real.path, '+', &[real.controller]).expect("it holds nobody");
    assert_eq!(hand_down(&real.path, &folder, &[real.controller]), Vec::<String>::new());
    assert_eq!(given(&real.path), BTreeSet::from([real.controller.to_owned()]), "somebody else wanted it");
    assert_eq!(given(&real.path.join("carrel")), BTreeSet::new());
}
