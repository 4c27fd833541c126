//! The data directory: what this user's Carrel keeps on disk, and the lock that makes it one server's.

use std::{
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Write},
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::{DirBuilderExt, OpenOptionsExt},
            net::{SocketAddr, UnixListener},
        },
    },
    path::{Path, PathBuf},
};

use carrel_model::{NodeId, key::KeySecret};
use carrel_vault::{Keychain, MasterKey};
use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
    process::{Pid, test_kill_process},
};
use secrecy::ExposeSecret;

use crate::failure::{Exit, Failure};

/// The data directory.
#[derive(Debug, Clone)]
pub(crate) struct DataDir(PathBuf);

/// Held while a server serves from a data directory.
pub(crate) struct Lock {
    _file: File,
}

impl DataDir {
    /// `--data`, else `CARREL_DATA` (clap knows both), else the usual place.
    pub(crate) fn find(given: Option<PathBuf>) -> Result<Self, Failure> {
        if let Some(path) = given {
            // Launchers and runtimes work in folders of their own, where a relative path leads elsewhere.
            let whole = std::path::absolute(&path);
            return whole.map(DataDir).map_err(|error| DataDir(path).trouble("cannot be found", &error));
        }
        match std::env::var_os("HOME").filter(|home| !home.is_empty()) {
            Some(home) => Ok(DataDir(PathBuf::from(home).join(".local/share/carrel"))),
            None => {
                Err(Failure::new("HOME is not set, so there is no usual data directory").hint("give one with --data"))
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn at(path: PathBuf) -> Self {
        DataDir(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Makes it, for this user alone.
    pub(crate) fn make(&self) -> Result<(), Failure> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0);
        made.map_err(|error| self.trouble("cannot be made", &error))
    }

    /// The files inside are for this user alone; a directory that was there before may still let others look.
    pub(crate) fn warn_if_open_to_others(&self) {
        use std::os::unix::fs::PermissionsExt;
        if fs::metadata(&self.0).is_ok_and(|about| about.permissions().mode() & 0o077 != 0) {
            tracing::warn!("others may look into the data directory; `chmod 700` keeps them out");
        }
    }

    /// Takes the lock, or says who has it.
    pub(crate) fn lock(&self) -> Result<Lock, Failure> {
        let path = self.0.join("carrel.lock");
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
        let mut file = open.map_err(|error| self.trouble("cannot be written", &error))?;
        let is_taken = || flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        if !is_taken() {
            let pid = fs::read_to_string(&path).unwrap_or_default();
            if !(is_dead(&pid) && comes_true(is_taken)) {
                let who = if pid.trim().is_empty() { String::new() } else { format!(" (process {})", pid.trim()) };
                let sentence = format!("another Carrel{who} serves from {}", self.0.display());
                return Err(Failure::new(sentence)
                    .hint("stop it, or give another directory with --data")
                    .exit(Exit::Conflict));
            }
        }
        let noted = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
        noted.map_err(|error| self.trouble("cannot be written", &error))?;
        Ok(Lock { _file: file })
    }

    /// The name of this node, drawn at its first start.
    pub(crate) fn node(&self) -> Result<NodeId, Failure> {
        let path = self.0.join("node");
        match fs::read_to_string(&path) {
            Ok(text) => text.trim().parse().map_err(|_| {
                Failure::new(format!("{} does not hold a node id", path.display())).hint("remove it to draw a new one")
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let node = carrel_control::new_node_id();
                self.write_private("node", node.as_str())?;
                Ok(node)
            }
            Err(error) => Err(self.trouble("cannot be read", &error)),
        }
    }

    /// Makes sure that no other server on this machine is the same node: a copy of this directory would take the
    /// sandboxes of the original for leftovers of its own.
    pub(crate) fn alone(&self, node: &NodeId) -> Result<UnixListener, Failure> {
        let bound =
            SocketAddr::from_abstract_name(format!("carrel-{node}")).and_then(|name| UnixListener::bind_addr(&name));
        bound.map_err(|error| match error.kind() {
            ErrorKind::AddrInUse => Failure::new(format!("another server on this machine is {node} already"))
                .hint("a copy of a data directory is the same node; remove the file `node` from the copy, or use `carrel restore`")
                .exit(Exit::Conflict),
            _ => self.trouble("cannot be claimed", &error),
        })
    }

    /// The key that the server left here for its user.
    pub(crate) fn admin_key(&self) -> Result<Option<KeySecret>, Failure> {
        let path = self.0.join("admin.key");
        match fs::read_to_string(&path) {
            Ok(text) => KeySecret::parse(text.trim()).map(Some).map_err(|malformed| {
                Failure::new(format!("{} does not hold a key: {malformed}", path.display()))
                    .hint("remove it and restart the server: it makes a new one")
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => {
                Err(Failure::new(format!("{} cannot be read: {error}", path.display())).exit(Exit::NotAllowed))
            }
        }
    }

    /// The master keys that seal the secrets of the house: `CARREL_MASTER_KEY`, else `master.key`, which is drawn at the
    /// first start. The first of them seals; others, further down, open what was sealed before.
    pub(crate) fn keychain(&self) -> Result<Keychain, Failure> {
        let path = self.0.join("master.key");
        let understood = |text: &str, place: &str| {
            Keychain::parse(text).map_err(|error| {
                Failure::new(format!("{place} does not hold a master key: {error}"))
                    .hint("draw one with `openssl rand -hex 32`, and keep it: without it no secret opens")
            })
        };
        if let Some(text) = std::env::var_os("CARREL_MASTER_KEY") {
            return understood(&text.to_string_lossy(), "CARREL_MASTER_KEY");
        }
        match fs::read_to_string(&path) {
            Ok(text) => {
                self.refuse_if_others_read(&path)?;
                understood(&text, &path.display().to_string())
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let key = MasterKey::draw();
                self.write_private("master.key", key.reveal().expose_secret())?;
                Keychain::new(vec![key]).map_err(|error| Failure::new(error.to_string()))
            }
            Err(error) => Err(self.trouble("cannot be read", &error)),
        }
    }

    fn refuse_if_others_read(&self, path: &Path) -> Result<(), Failure> {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(path).map_err(|error| self.trouble("cannot be read", &error))?.permissions().mode();
        if mode & 0o077 == 0 {
            return Ok(());
        }
        Err(Failure::new(format!("others may read {}", path.display()))
            .hint(format!("`chmod 600 {}`, and set the secrets anew if somebody may have", path.display()))
            .exit(Exit::NotAllowed))
    }

    pub(crate) fn write_admin_key(&self, secret: &KeySecret) -> Result<(), Failure> {
        self.write_private("admin.key", &secret.reveal())
    }

    /// Writes beside, then renames: whole or not at all, readable for this user alone from its first moment.
    fn write_private(&self, name: &str, text: &str) -> Result<(), Failure> {
        let draft = self.0.join(format!(".{name}.{}", std::process::id()));
        let write = || -> std::io::Result<()> {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
            writeln!(file, "{text}")?;
            file.sync_all()?;
            fs::rename(&draft, self.0.join(name))
        };
        write().map_err(|error| self.trouble("cannot be written", &error))
    }

    fn trouble(&self, what: &str, error: &std::io::Error) -> Failure {
        Failure::new(format!("the data directory {} {what}: {error}", self.0.display()))
            .hint("give another one with --data")
    }
}

/// Whether nobody has that number any more.
fn is_dead(pid: &str) -> bool {
    let pid = pid.trim().parse().ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH))
}

/// Asks for a moment. A program that a killed server was about to start has what was its until it runs, which is soon;
/// nobody tells when.
fn comes_true(is_so: impl Fn() -> bool) -> bool {
    (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        is_so()
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_data_directory_is_the_same_place_wherever_somebody_works() {
        let found = DataDir::find(Some("here".into())).unwrap();
        assert_eq!(found.path(), std::env::current_dir().unwrap().join("here"));
        assert_eq!(DataDir::find(Some("/there".into())).unwrap().path(), Path::new("/there"));
        assert!(DataDir::find(Some(PathBuf::new())).is_err());
    }

    #[test]
    fn what_a_killed_server_was_about_to_start_is_waited_for_and_a_living_one_is_not() {
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        assert!(is_dead(&format!("{}\n", gone.id())));
        assert!(!is_dead(&std::process::id().to_string()) && !is_dead(""));
        let asked = std::cell::Cell::new(0);
        assert!(comes_true(|| asked.replace(asked.get() + 1) == 2));

        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::at(folder.path().to_owned());
        let held = data.lock().unwrap();
        fs::write(folder.path().join("carrel.lock"), gone.id().to_string()).unwrap();
        std::thread::scope(|scope| {
            let next = scope.spawn(|| data.lock().map(drop));
            drop(held);
            assert!(next.join().unwrap().is_ok());
        });
    }

    #[test]
    fn a_data_directory_belongs_to_one_server_and_its_key_to_one_user() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::at(folder.path().join("deep/data"));
        data.make().unwrap();
        let held = data.lock().unwrap();
        assert!(data.lock().is_err(), "two servers share a directory");
        drop(held);
        data.lock().unwrap();

        let secret = KeySecret::from_random([7; 20]);
        data.write_admin_key(&secret).unwrap();
        assert_eq!(data.admin_key().unwrap(), Some(secret));
        let mode = fs::metadata(data.path().join("admin.key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(data.node().unwrap(), data.node().unwrap());

        let sealed = data.keychain().unwrap().seal("a", &"b".into());
        assert_eq!(data.keychain().unwrap().open("a", &sealed).unwrap().expose_secret(), "b");
        let master = data.path().join("master.key");
        assert_eq!(fs::metadata(&master).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&master, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(data.keychain().is_err(), "a master key that others read was taken");
    }
}
