//! An upstream behind a real ssh server, opened by a deploy key that only the call itself can read.
//!
//! The server is dropbear. Each caller gets one of its own, so that no port has to be guessed; the user's home and shell
//! come from a list of users that only this server sees: whatever the shell of a person reads first is not waited for.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
};

use carrel_git::{Credential, GitError, Upstream};

use crate::{
    bench::{Room, Work, below},
    credentials::seen_in_processes,
};

struct Server {
    port: u16,
    serving: tokio::task::JoinHandle<()>,
    /// Where a text was seen while somebody called.
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Lets in whoever has the private part of this key, and shows itself by a host key that is made for it.
    async fn open(room: &Room, name: &str, public: &str, watched: String) -> Server {
        assert!(rustix::process::geteuid().is_root(), "this test runs an ssh server and needs root");
        let folder = room.path(name);
        let keys = folder.join("home/.ssh");
        fs::create_dir_all(&keys).unwrap();
        for private in [&folder, &folder.join("home"), &keys] {
            fs::set_permissions(private, fs::Permissions::from_mode(0o700)).unwrap();
        }
        fs::write(keys.join("authorized_keys"), public).unwrap();
        let users = format!("root:x:0:0::{}:/bin/sh\n", folder.join("home").display());
        fs::write(folder.join("passwd"), users).unwrap();
        let made = Command::new("dropbearkey").args(["-t", "ed25519", "-f"]).arg(folder.join("host")).output();
        let made = made.expect("dropbear is needed for this test: scripts/setup test");
        assert!(made.status.success(), "{made:?}");

        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let witness = Arc::clone(&seen);
        let serving = tokio::spawn(async move {
            while let Ok((line, _)) = listener.accept().await {
                let line = line.into_std().unwrap();
                line.set_nonblocking(false).unwrap();
                let line: std::os::fd::OwnedFd = line.into();
                let mut server = Command::new("unshare");
                // No passwords, no tunnels.
                let script = "mount --bind passwd /etc/passwd && exec dropbear -i -s -j -k -r host";
                server.args(["--mount", "sh", "-c", script]).current_dir(&folder).stderr(Stdio::null());
                let mut child = server.stdin(line.try_clone().unwrap()).stdout(line).spawn().unwrap();
                // Our ends of the line go, so that the caller hears when the server hangs up.
                drop(server);
                let (witness, watched) = (Arc::clone(&witness), watched.clone());
                // It ends with its caller, who is looked at meanwhile.
                tokio::task::spawn_blocking(move || {
                    while child.try_wait().unwrap().is_none() {
                        witness.lock().unwrap().extend(seen_in_processes(&watched));
                    }
                });
            }
        });
        Server { port, serving, seen }
    }

    fn upstream(&self, room: &Room, folder: &Path, key: Option<&str>) -> Upstream {
        let source = format!("ssh://root@127.0.0.1:{}{}", self.port, folder.display());
        let credential = key.map(|key| Credential::DeployKey(key.to_owned().into()));
        Upstream { credential, ..room.upstream(&source) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Makes a key; the private part and the public one. Afterwards it is in no file.
fn new_key(work: &Work, place: PathBuf) -> (String, String) {
    let made = work.command("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&place).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let public = place.with_extension("pub");
    let both = (fs::read_to_string(&place).unwrap(), fs::read_to_string(&public).unwrap());
    fs::remove_file(place).unwrap();
    fs::remove_file(public).unwrap();
    both
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deploy_key_fetches_and_pushes_over_ssh_and_is_seen_nowhere() {
    let room = Room::open().await;
    let work = room.work("work");
    let bare = room.path("upstream.git");
    work.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let (private, public) = new_key(&work, room.path("key"));
    let (stranger, _) = new_key(&work, room.path("other"));
    let telling = private.lines().nth(2).unwrap().to_owned();
    let server = Server::open(&room, "first", &public, telling.clone()).await;

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
    let impostor = Server::open(&room, "second", &public, telling).await;
    fs::write(&known, remembered.replace(&format!("]:{}", server.port), &format!("]:{}", impostor.port))).unwrap();
    let error = mirror.sync(&impostor.upstream(&room, &bare, Some(&private))).await.unwrap_err();
    assert!(error.to_string().contains("shows another key"), "{error:?}");
}
