//! The real binary with real sandboxes: used, killed, used again, and nothing left behind.

use std::{
    os::unix::fs::chown,
    path::{Path, PathBuf},
    process::Stdio,
};

use carrel_testkit::Server;
use tokio::io::AsyncWriteExt;

use crate::binary;

/// A server that makes real sandboxes, and the command line in front of it.
pub(crate) struct Desk {
    program: PathBuf,
    pub(crate) data: tempfile::TempDir,
    pub(crate) server: Option<Server>,
    user: Option<u32>,
}

impl Desk {
    pub(crate) async fn open() -> Desk {
        assert!(rustix::process::geteuid().is_root(), "these tests make namespaces and need root");
        let mut desk =
            Desk { program: binary().to_owned(), data: tempfile::tempdir().unwrap(), server: None, user: None };
        desk.start().await;
        desk
    }

    /// With a server that is nobody special.
    async fn open_as(user: u32) -> Desk {
        let data = tempfile::tempdir().unwrap();
        chown(data.path(), Some(user), Some(user)).unwrap();
        // Where the binary was built may be closed to others.
        let program = data.path().join("carrel");
        std::fs::copy(binary(), &program).unwrap();
        let mut desk = Desk { program, data, server: None, user: Some(user) };
        desk.start().await;
        desk
    }

    async fn start(&mut self) {
        let mut start = Server::with(&self.program, self.data.path())
            .env("CARREL_LOG_LEVEL", "error")
            .env("CARREL_SANDBOXES_PROVIDER", "local")
            .env("CARREL_LOCAL_DISK", "folder")
            .env("CARREL_LOCAL_POOL", "1");
        if let Some(user) = self.user {
            start = start.as_user(user);
        }
        self.server = Some(start.start().await);
    }

    async fn run(&self, args: &[&str]) -> (i32, String, String) {
        self.run_with(args, b"").await
    }

    async fn run_with(&self, args: &[&str], input: &[u8]) -> (i32, String, String) {
        let url = &self.server.as_ref().unwrap().url;
        let mut child = tokio::process::Command::new(binary())
            .args(args)
            .env("CARREL_URL", url)
            .env("CARREL_DATA", self.data.path())
            .env_remove("CARREL_KEY")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A program that reads nothing hangs up, and that is its right.
        let _ = stdin.write_all(input).await;
        drop(stdin);
        let output = child.wait_with_output().await.unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }

    pub(crate) async fn create(&self) -> String {
        let (code, out, err) = self.run(&["sandbox", "create", "--wait", "-q"]).await;
        assert_eq!(code, 0, "{err}");
        out.trim().to_owned()
    }

    /// Runs a script in a sandbox that must succeed.
    async fn sh(&self, id: &str, script: &str) -> String {
        let (code, out, err) = self.run(&["sandbox", "exec", id, "--", "sh", "-c", script]).await;
        assert_eq!(code, 0, "{script}: {out}{err}");
        out
    }

    /// Ends all sandboxes and the server, and looks for what they left.
    pub(crate) async fn close(mut self) {
        let (_, ids, _) = self.run(&["sandbox", "ls", "-q"]).await;
        let ids: Vec<_> = ids.lines().collect();
        if !ids.is_empty() {
            let (code, _, err) = self.run(&[&["sandbox", "rm", "--wait"], &ids[..]].concat()).await;
            assert_eq!(code, 0, "{err}");
        }
        assert!(self.server.take().unwrap().terminate().await.success());
        let node = std::fs::read_to_string(self.data.path().join("node")).unwrap();
        assert_eq!(cgroups(node.trim()), Vec::<PathBuf>::new(), "cgroups are left behind");
        let local = self.data.path().join("local");
        for name in ["slots", "trash", "drafts"] {
            let left: Vec<_> =
                std::fs::read_dir(local.join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
            assert_eq!(left, Vec::<PathBuf>::new(), "files are left behind");
        }
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(self.data.path().to_str().unwrap()), "mounts are left behind");
    }
}

pub(crate) fn cgroups(name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_str() == Some(name) {
                found.push(entry.path());
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
    found
}

#[tokio::test]
async fn a_desk_works_from_the_command_line() {
    let desk = Desk::open().await;
    let id = desk.create().await;
    assert_eq!(desk.sh(&id, "echo hi; id -un").await, "hi\nuser\n");
    assert_eq!(desk.run(&["sandbox", "exec", &id, "--", "sh", "-c", "echo oops >&2; exit 7"]).await.0, 7);
    let (code, out, err) = desk.run_with(&["sandbox", "exec", "-i", &id, "--", "tr", "a-z", "A-Z"], b"shout\n").await;
    assert_eq!((code, out.as_str()), (0, "SHOUT\n"), "{err}");
    let (code, out, _) =
        desk.run(&["sandbox", "exec", "--json", &id, "--", "sh", "-c", "echo hi; echo no >&2; exit 3"]).await;
    let told: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &told["stdout"], &told["stderr"]), (3, &"hi\n".into(), &"no\n".into()), "{told}");
    assert!(told["exit_code"] == 3 && told["timed_out"] == false && told["duration_ms"].is_u64(), "{told}");
    let (code, _, err) = desk.run(&["sandbox", "exec", &id, "--", "nosuchprogram"]).await;
    assert!(code == 127 && err.contains("nosuchprogram"), "{code} {err}");
    let (code, _, err) = desk.run(&["sandbox", "cp", &format!("{id}:/nowhere/to.txt"), "-"]).await;
    assert!(code == 3 && err.contains("/nowhere/to.txt"), "{code} {err}");
    let (code, out, err) = desk.run(&["top"]).await;
    assert!(code == 0 && out.contains(&id), "{code} {out} {err}");

    let folder = tempfile::tempdir().unwrap();
    let (there, back) = (folder.path().join("there"), folder.path().join("back"));
    std::fs::create_dir_all(there.join("deep")).unwrap();
    std::fs::write(there.join("deep/file with spaces"), vec![7; 300_000]).unwrap();
    let inside = format!("{id}:/home/user/copied");
    for (from, to) in [(path(&there), inside.as_str()), (&inside, path(&back))] {
        let (code, _, err) = desk.run(&["sandbox", "cp", from, to]).await;
        assert_eq!(code, 0, "{err}");
    }
    let copied: Vec<_> = walk(&back).into_iter().filter(|path| path.is_file()).collect();
    assert_eq!(std::fs::read(&copied[0]).unwrap(), vec![7; 300_000], "{copied:?}");

    let (code, _, err) = desk.run(&["sandbox", "pause", &id, "--wait"]).await;
    assert_eq!(code, 0, "{err}");
    assert_eq!(desk.run(&["sandbox", "exec", &id, "--", "true"]).await.0, 4, "what sleeps does nothing");
    assert_eq!(desk.run(&["sandbox", "resume", &id, "--wait"]).await.0, 0);
    let (code, forks, err) = desk.run(&["sandbox", "fork", &id, "-n", "2", "-q"]).await;
    assert_eq!((code, forks.lines().count()), (0, 2), "{err}");
    for fork in forks.lines() {
        // The exec waits for nobody: the fork is asked for, and ready in a moment.
        while !desk.run(&["sandbox", "show", fork]).await.1.contains("phase      ready") {}
        assert_eq!(desk.sh(fork, "cat '/home/user/copied/deep/file with spaces' | wc -c").await.trim(), "300000");
    }
    desk.close().await;
}

#[tokio::test]
async fn ssh_comes_to_a_desk_as_to_any_host() {
    let desk = Desk::open().await;
    let id = desk.create().await;
    desk.sh(&id, "PATH=$PATH:/usr/sbin; command -v sshd || command -v dropbear # apt-get install dropbear-bin").await;
    let (code, config, err) = desk.run(&["ssh-config"]).await;
    assert_eq!(code, 0, "{err}");
    let file = desk.data.path().join("ssh_config");
    std::fs::write(&file, &config).unwrap();
    let ssh = async |words: &[&str], input: &[u8]| {
        let mut child = tokio::process::Command::new("ssh")
            .args(["-F", path(&file), "-o", "BatchMode=yes", &format!("carrel-{id}")])
            .args(words)
            .env_remove("CARREL_KEY")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let (_, output) = tokio::join!(
            async move {
                let _ = stdin.write_all(input).await;
            },
            child.wait_with_output()
        );
        output.unwrap()
    };
    let seen = ssh(&["id -un; echo here > ~/came; exit 7"], b"").await;
    let err = String::from_utf8_lossy(&seen.stderr).into_owned();
    assert_eq!((seen.status.code(), &*seen.stdout), (Some(7), &b"user\n"[..]), "{config}\n{err}");
    assert_eq!(desk.sh(&id, "cat ~/came").await, "here\n", "it is this very desk");
    // More than one side holds at once, both ways, by the server that runs already.
    let much: Vec<u8> = (0..3_000_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let back = ssh(&["cat"], &much).await;
    assert!(back.status.success() && back.stdout == much, "{}", String::from_utf8_lossy(&back.stderr));
    // A desk that sleeps is woken by whoever comes.
    assert_eq!(desk.run(&["sandbox", "pause", &id, "--wait"]).await.0, 0);
    assert_eq!(ssh(&["cat came"], b"").await.stdout, b"here\n");
    desk.close().await;
}

#[tokio::test]
async fn sandboxes_work_on_when_the_server_dies() {
    let mut desk = Desk::open().await;
    let id = desk.create().await;
    desk.sh(&id, "(while :; do echo tick >> /tmp/ticks; sleep 0.01; done) >/dev/null 2>&1 & echo started").await;
    for _ in 0..3 {
        let before = desk.sh(&id, "wc -l < /tmp/ticks").await;
        desk.server.take().unwrap().kill().await;
        desk.start().await;
        while desk.sh(&id, "wc -l < /tmp/ticks").await == before {}
        assert_eq!(desk.run(&["sandbox", "exec", &id, "--", "test", "-s", "/tmp/ticks"]).await.0, 0);
    }
    desk.close().await;
}

#[tokio::test]
async fn a_plain_user_gets_a_desk_too_and_hears_what_it_lacks() {
    const NOBODY_SPECIAL: u32 = 64_321;
    let desk = Desk::open_as(NOBODY_SPECIAL).await;
    let id = desk.create().await;
    assert_eq!(desk.sh(&id, "id -u; echo work > /root/work; cat /root/work").await, "0\nwork\n");
    let (_, shown, _) = desk.run(&["sandbox", "show", &id, "--json"]).await;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert!(shown["fitness"].as_array().is_some_and(|lacks| !lacks.is_empty()), "{shown}");
    assert_eq!(desk.run(&["sandbox", "pause", &id, "--wait"]).await.0, 0);
    assert_eq!(desk.run(&["sandbox", "resume", &id, "--wait"]).await.0, 0);
    assert_eq!(desk.sh(&id, "cat /root/work").await, "work\n");
    desk.close().await;
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(walk(&path));
        }
        found.push(path);
    }
    found
}
