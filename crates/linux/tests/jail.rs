//! Jails, made for real: what runs inside reports through a file in its own layer.
#![allow(clippy::unwrap_used, missing_docs)]

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    time::Duration,
};

use carrel_linux::{Bounds, Cgroup, Hierarchies, Jail, Launched, Launcher, Mapping, Mishap};
use rustix::event::{PollFd, PollFlags, poll};

const PATIENCE: Duration = Duration::from_secs(60);

/// A place where jails are made, gone without a trace at the end.
struct Yard {
    folder: tempfile::TempDir,
    house: String,
    hierarchies: Hierarchies,
    launcher: Launcher,
}

impl Yard {
    fn open() -> Yard {
        assert!(rustix::process::geteuid().is_root(), "these tests make namespaces and need root");
        let folder = tempfile::tempdir().unwrap();
        let house = format!("test-{}", folder.path().file_name().unwrap().to_str().unwrap().trim_start_matches('.'));
        for name in ["scratch", "guest", "base"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let base = folder.path().join("base");
        for name in ["proc", "sys", "dev", "tmp", "etc", "usr", "run", "home"] {
            fs::create_dir(base.join(name)).unwrap();
        }
        fs::set_permissions(base.join("tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
        for name in ["bin", "sbin", "lib", "lib64"] {
            symlink(format!("usr/{name}"), base.join(name)).unwrap();
        }
        fs::write(base.join("etc/passwd"), "root:x:0:0::/:/bin/sh\n").unwrap();
        let hierarchies = Hierarchies::open(&house).unwrap();
        let launcher = Launcher::new(env!("CARGO_BIN_EXE_launcher"), vec![], folder.path().join("scratch"));
        Yard { folder, house, hierarchies, launcher }
    }

    fn jail(&self, name: &str, script: &str) -> Jail {
        let place = self.folder.path().join(name);
        fs::create_dir_all(place.join("upper")).unwrap();
        fs::create_dir_all(place.join("work")).unwrap();
        Jail {
            house: self.house.clone(),
            name: name.into(),
            bounds: Bounds { cpus: 1.0, memory: 128 << 20, pids: 64 },
            layers: vec![self.folder.path().join("base")],
            upper: place.join("upper"),
            work: place.join("work"),
            shown: Vec::new(),
            volumes: Vec::new(),
            host_folders: vec!["/usr".into()],
            guest: self.folder.path().join("guest"),
            mapping: Mapping::Range(0x7000_0000),
            hostname: "desk".into(),
            program: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
            env: vec![("PATH".into(), "/usr/bin:/bin:/usr/sbin".into())],
            socket: "guest".into(),
            socket_path: None,
            gateway: None,
            largest_file: None,
        }
    }

    fn cgroup(&self, jail: &Jail) -> Cgroup {
        self.hierarchies.cgroup(&jail.name)
    }

    fn launch(&self, jail: &Jail) -> Result<Launched, Mishap> {
        self.cgroup(jail).make(&jail.bounds).unwrap();
        self.launcher.launch(jail)
    }

    /// Runs a script to its end and gives what it left in `/out`.
    fn run(&self, name: &str, script: &str) -> String {
        let jail = self.jail(name, &format!("exec >/out 2>&1\n{script}"));
        let launched = self.launch(&jail).unwrap();
        wait(&launched);
        let out = fs::read_to_string(jail.upper.join("out")).unwrap();
        self.end(&jail);
        out
    }

    fn end(&self, jail: &Jail) {
        let cgroup = self.cgroup(jail);
        cgroup.kill(PATIENCE).unwrap();
        cgroup.remove(PATIENCE).unwrap();
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        assert_eq!(self.hierarchies.names(), Vec::<String>::new(), "cgroups are left behind");
        self.hierarchies.close();
    }
}

fn wait(launched: &Launched) {
    let mut fds = [PollFd::new(&launched.pidfd, PollFlags::IN)];
    poll(&mut fds, None).unwrap();
}

fn owner(path: &Path) -> (u32, u32) {
    let metadata = fs::symlink_metadata(path).unwrap();
    (metadata.uid(), metadata.gid())
}

#[test]
fn a_jail_is_root_of_its_own_little_world() {
    let yard = Yard::open();
    let out = yard.run("one", "id -u; hostname; echo $$; ls /; cat /proc/sys/user/max_user_namespaces; touch /new && echo wrote; ls /sys | wc -l");
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(&lines[..3], ["0", "desk", "1"], "{out}");
    assert_eq!(&lines[lines.len() - 3..], ["0", "wrote", "0"], "{out}");
    assert!(!out.contains("root\n"), "nothing of the host's root is seen: {out}");
    assert!(yard.folder.path().join("one/upper/new").exists());
}

#[test]
fn what_it_writes_belongs_to_root_on_disk_and_to_nobody_of_the_host_while_it_runs() {
    let yard = Yard::open();
    let jail = yard.jail("one", "mkdir /d; echo x > /d/f; chown 1000:1000 /d/f; touch /ready; exec sleep 1000");
    let launched = yard.launch(&jail).unwrap();
    until(|| jail.upper.join("ready").exists());
    assert_eq!(owner(&jail.upper.join("d")), (0, 0));
    assert_eq!(owner(&jail.upper.join("d/f")), (1000, 1000));
    let status = fs::read_to_string(format!("/proc/{}/status", launched.first.pid)).unwrap();
    let ids = status.lines().find(|line| line.starts_with("Uid:")).unwrap();
    assert_eq!(ids.split_whitespace().nth(1), Some("1879048192"), "root inside is not root outside");
    assert!(status.contains("Seccomp:\t2") && status.contains("NoNewPrivs:\t1"), "{status}");
    yard.end(&jail);
    assert!(!launched.first.is_alive());
}

#[test]
fn a_jail_that_cannot_be_made_says_what_was_being_done() {
    let yard = Yard::open();
    let mut jail = yard.jail("one", "true");
    jail.program = vec!["/no/such/program".into()];
    let mishap = yard.launch(&jail).unwrap_err();
    assert_eq!(mishap.step, "start the first program", "{mishap}");
    jail.layers = vec![PathBuf::from("/no/such/layer")];
    assert_eq!(yard.launch(&jail).unwrap_err().step, "mount the root");
    yard.end(&jail);
}

#[test]
fn a_template_that_lays_links_where_mounts_go_is_refused() {
    let yard = Yard::open();
    let evil = yard.folder.path().join("evil");
    fs::create_dir(&evil).unwrap();
    symlink("/tmp", evil.join("proc")).unwrap();
    let mut jail = yard.jail("one", "true");
    jail.layers.push(evil);
    assert_eq!(yard.launch(&jail).unwrap_err().step, "mount /proc");
    yard.end(&jail);
}

#[test]
fn jails_outlive_their_launcher() {
    let yard = Yard::open();
    let jail = yard.jail("one", "exec sleep 1000");
    let launched = yard.launch(&jail).unwrap();
    let Yard { .. } = &yard;
    let other = Launcher::new(env!("CARGO_BIN_EXE_launcher"), vec![], yard.folder.path().join("scratch"));
    let second = yard.jail("two", "exec sleep 1000");
    yard.cgroup(&second).make(&second.bounds).unwrap();
    let in_other = other.launch(&second).unwrap();
    drop(other);
    assert!(launched.first.is_alive() && in_other.first.is_alive());
    yard.end(&jail);
    yard.end(&second);
    assert!(!launched.first.is_alive() && !in_other.first.is_alive());
}

#[test]
fn freezing_stops_it_and_thawing_lets_it_go_on() {
    let yard = Yard::open();
    let jail = yard.jail("one", "i=0; while :; do i=$((i+1)); echo $i > /count; done");
    let launched = yard.launch(&jail).unwrap();
    let count = || fs::read_to_string(jail.upper.join("count")).unwrap_or_default();
    until(|| !count().is_empty());
    let cgroup = yard.cgroup(&jail);
    cgroup.set_frozen(true, PATIENCE).unwrap();
    assert!(cgroup.is_frozen());
    let (before, used) = (count(), cgroup.read().cpu_us);
    assert_eq!((count(), cgroup.read().cpu_us), (before.clone(), used));
    cgroup.set_frozen(false, PATIENCE).unwrap();
    until(|| count() != before && !count().is_empty());
    cgroup.set_frozen(true, PATIENCE).unwrap();
    yard.end(&jail);
    assert!(!launched.first.is_alive(), "what is frozen ends too");
}

fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        std::thread::yield_now();
    }
}
