//! An upstream behind a real ssh server, opened by a deploy key that only the call itself can read.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
};

use carrel_git::{Credential, GitError, Upstream};

use crate::{
    bench::{Room, Work, below},
    credentials::seen_in_processes,
};

/// Where Debian's server wants to lock itself up; it is not there where nobody started one.
const CELL: &str = "/run/sshd";

/// A server of ssh that lets one key in. Each caller gets a process of its own, so no port has to be guessed.
struct Server {
    port: u16,
    serving: tokio::task::JoinHandle<()>,
    made_cell: bool,
    /// Where a text was seen while somebody called.
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Lets in whoever has the key in `KEY.pub`, and shows itself by a host key that is made for it.
    async fn open(room: &Room, work: &Work, name: &str, key: &Path, watched: String) -> Server {
        let program = ["/usr/sbin/sshd", "/usr/local/sbin/sshd"].into_iter().map(Path::new).find(|path| path.exists());
        let program =
            program.expect("sshd is needed for this test: scripts/setup test, or apt-get install openssh-server");
        let host_key = new_key(work, &room.path(&format!("host-{name}")));
        let config = room.path(&format!("sshd-{name}"));
        let text = format!(
            "HostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n\
             KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nPidFile none\nLogLevel QUIET\n",
            host_key.display(),
            key.with_extension("pub").display()
        );
        fs::write(&config, text).unwrap();
        let made_cell = rustix::process::geteuid().is_root() && fs::create_dir(CELL).is_ok();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let witness = Arc::clone(&seen);
        let serving = tokio::spawn(async move {
            while let Ok((line, _)) = listener.accept().await {
                witness.lock().unwrap().extend(seen_in_processes(&watched));
                let line = line.into_std().unwrap();
                line.set_nonblocking(false).unwrap();
                let line: std::os::fd::OwnedFd = line.into();
                let mut sshd = Command::new(program);
                sshd.args(["-i", "-e", "-f"]).arg(&config).stderr(Stdio::null());
                let mut child = sshd.stdin(line.try_clone().unwrap()).stdout(line).spawn().unwrap();
                drop(sshd);
                // It ends with its caller.
                tokio::task::spawn_blocking(move || child.wait());
            }
        });
        Server { port, serving, made_cell, seen }
    }

    fn upstream(&self, room: &Room, folder: &Path, key: Option<&str>) -> Upstream {
        let user = Command::new("id").arg("-un").output().unwrap();
        let user = String::from_utf8(user.stdout).unwrap();
        let source = format!("ssh://{}@127.0.0.1:{}{}", user.trim(), self.port, folder.display());
        let credential = key.map(|key| Credential::DeployKey(key.to_owned().into()));
        Upstream { credential, ..room.upstream(&source) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
        if self.made_cell {
            let _ = fs::remove_dir(CELL);
        }
    }
}

fn new_key(work: &Work, place: &Path) -> PathBuf {
    let made = work.command("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(place).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    place.to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deploy_key_fetches_and_pushes_over_ssh_and_is_seen_nowhere() {
    let room = Room::open().await;
    let work = room.work("work");
    let bare = room.path("upstream.git");
    work.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let (key, other) = (new_key(&work, &room.path("key")), new_key(&work, &room.path("other")));
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let (private, stranger) = (read(&key), read(&other));
    // From here on the key is in no file.
    fs::remove_file(&key).unwrap();
    let telling = private.lines().nth(2).unwrap().to_owned();
    let server = Server::open(&room, &work, "first", &key, telling.clone()).await;

    let mirror = room.mirror("app").await;
    for wrong in [None, Some(stranger.as_str())] {
        let error = mirror.sync(&server.upstream(&room, &bare, wrong)).await.unwrap_err();
        assert!(matches!(error, GitError::Denied { .. }), "{error:?}");
    }
    let upstream = server.upstream(&room, &bare, Some(&private));
    mirror.sync(&upstream).await.unwrap();
    assert_eq!(mirror.head_of(&"main".parse().unwrap()).await.unwrap(), work.head());
    // What is done here goes back the same way.
    work.write("more", "x");
    let more = work.commit("feat: more");
    work.git(&["push", "-q", mirror.path().to_str().unwrap(), "HEAD:refs/heads/task-7"]);
    mirror.publish(&upstream, &"task-7".parse().unwrap(), &more).await.unwrap();
    assert_eq!(work.git(&["ls-remote", bare.to_str().unwrap(), "task-7"]).split('\t').next(), Some(more.as_str()));

    assert_eq!(*server.seen.lock().unwrap(), [] as [String; 0], "in a process list or an environment");
    for path in below(room.folder.path()) {
        let content = fs::read(&path).unwrap_or_default();
        assert!(!content.windows(telling.len()).any(|part| part == telling.as_bytes()), "{}", path.display());
    }
    // Another machine that answers at the address of the first is not believed.
    let known = room.path("git/known_hosts");
    let remembered = fs::read_to_string(&known).unwrap();
    let impostor = Server::open(&room, &work, "second", &key, telling).await;
    fs::write(&known, remembered.replace(&format!("]:{}", server.port), &format!("]:{}", impostor.port))).unwrap();
    let error = mirror.sync(&impostor.upstream(&room, &bare, Some(&private))).await.unwrap_err();
    assert!(error.to_string().contains("Host key verification failed"), "{error:?}");
}
