//! The `host` template: the host's own programs, read-only, on a skeleton of our own.
//!
//! The skeleton has a small `/etc` that we write, and of the host's `/etc` only what is on the lists below: things that
//! programs in `/usr` need and that every user of the host may read. Nothing comes from anybody's home. What looks like a
//! private key stays out wherever it lies, and links are taken only if they lead into `/usr` or to their neighbours.

use std::{
    fs::{self, File},
    io::Read,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

use carrel_model::TemplateName;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::{
    Config, Progress, Shelves, Template, TemplateError,
    account::{GROUP_LINE, HOME, HOSTNAME, HOSTS, PASSWD_LINE, PATH, RESOLV_CONF, USER, USER_ID},
    error::{Doing, aside},
    tree::{Meta, Tree},
};

/// Files and folders of the host's `/etc` that are taken, where they are. A `*` at the end of a name stands for any end.
const TAKEN: &[&str] = &[
    "alpine-release",
    "arch-release",
    "crypto-policies/back-ends",
    "debian_version",
    "ethertypes",
    "fedora-release",
    "fonts",
    "gai.conf",
    "inputrc",
    "java-*",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "magic",
    "magic.mime",
    "maven/m2.conf",
    "mime.types",
    "os-release",
    "perl",
    "pki/ca-trust/extracted",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "protocols",
    "python3*",
    "redhat-release",
    "rpc",
    "services",
    "shells",
    "ssl/cert.pem",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
    "xattr.conf",
];
/// Of these folders only some entries.
const CERTIFICATES: &str = "ssl/certs";
const ALTERNATIVES: &str = "alternatives";
/// No public file that programs need is bigger.
const BIGGEST: u64 = 16 << 20;

/// Folders of the skeleton.
const FOLDERS: &[(&str, u32)] = &[
    ("dev", 0o755),
    ("etc", 0o755),
    ("home", 0o755),
    ("media", 0o755),
    ("mnt", 0o755),
    ("opt", 0o755),
    ("proc", 0o555),
    ("root", 0o700),
    ("run", 0o755),
    ("run/lock", 0o1777),
    ("srv", 0o755),
    ("sys", 0o555),
    ("tmp", 0o1777),
    ("usr", 0o755),
    ("var", 0o755),
    ("var/cache", 0o755),
    ("var/lib", 0o755),
    ("var/log", 0o755),
    ("var/tmp", 0o1777),
];

/// Where programs lie on hosts that have not merged them into `/usr`.
const OUTSIDE_USR: &[&str] = &["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
const GROUP: &str = "root:x:0:\ntty:x:5:\nusers:x:100:\nnogroup:x:65534:\n";
const NSSWITCH: &str = "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n\
    protocols: files\nservices: files\nethers: files\nrpc: files\n";
const PROFILE: &str = "# Read by login shells.\n\
    [ -n \"$PATH\" ] || PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n\
    export PATH\n\
    umask 022\n\
    if [ -n \"$BASH_VERSION\" ] && [ -n \"$PS1\" ]; then . /etc/bash.bashrc; fi\n";
const BASHRC: &str = "# Read by interactive shells.\n\
    [ -n \"$PS1\" ] || return\n\
    PS1='\\u:\\w\\$ '\n\
    shopt -s checkwinsize\n";
const HOME_BASHRC: &str = "[ -r /etc/bash.bashrc ] && . /etc/bash.bashrc\n";
const HOME_PROFILE: &str = "[ -n \"$BASH_VERSION\" ] && [ -r ~/.bashrc ] && . ~/.bashrc\n";

/// Makes the `host` template, or finds that the host has not changed since it was made. Nothing is kept yet: that is
/// [`Shelves::keep`].
pub async fn make_host(shelves: &Shelves, progress: &Progress) -> Result<Template, TemplateError> {
    let (shelves, progress) = (shelves.clone(), progress.clone());
    aside(move || make(&shelves, Path::new("/"), &progress)).await
}

fn make(shelves: &Shelves, host: &Path, progress: &Progress) -> Result<Template, TemplateError> {
    let mut skeleton = Skeleton { host, things: Vec::new(), taken: 0 };
    skeleton.folders();
    let host_folders = skeleton.programs();
    skeleton.written();
    skeleton.chosen();
    let note = skeleton.note();
    let (layer, bytes) = match shelves.recall(&note) {
        Some(known) => {
            progress.say("the host has not changed");
            known
        }
        None => {
            progress.say(format!("taking {} public files of the host", skeleton.taken));
            let draft = shelves.draft().doing(|| "begin a template".to_owned())?;
            skeleton.write(draft.folder())?;
            let made = shelves.adopt(draft.folder().to_owned()).doing(|| "shelve the skeleton".to_owned())?;
            shelves.note(&note, &made.0, made.1).doing(|| "note down the skeleton".to_owned())?;
            made
        }
    };
    let template = Template {
        name: name(),
        layers: vec![layer],
        config: Config {
            env: [("LANG", "C.UTF-8"), ("PATH", PATH)].map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            user: Some(USER.to_owned()),
            workdir: Some(HOME.to_owned()),
            host_folders,
            ..Config::default()
        },
        origin: "the programs of the host".to_owned(),
        bytes,
        made_at: Timestamp::now(),
        memory: false,
    };
    let known = shelves.find(&template.name).doing(|| "look for the template".to_owned())?;
    let same = |known: &Template| known.layers == template.layers && known.config == template.config;
    Ok(known.filter(same).unwrap_or(template))
}

fn name() -> TemplateName {
    "host".parse().expect("`host` is a template name")
}

/// What the skeleton will have; nothing is written until it is known to be new.
struct Skeleton<'a> {
    host: &'a Path,
    things: Vec<(String, Thing)>,
    taken: usize,
}

enum Thing {
    Folder { mode: u32, owner: u32 },
    File { mode: u32, owner: u32, text: Vec<u8> },
    Link { target: Vec<u8> },
}

impl Skeleton<'_> {
    fn folders(&mut self) {
        for (name, mode) in FOLDERS {
            self.folder(name, *mode, 0);
        }
        self.folder(HOME, 0o755, USER_ID);
        for (name, text) in [(".bashrc", HOME_BASHRC), (".profile", HOME_PROFILE)] {
            self.file(&format!("{HOME}/{name}"), 0o644, USER_ID, text.into());
        }
    }

    /// What is shown of the host as it is, and the links that lead there.
    fn programs(&mut self) -> Vec<PathBuf> {
        let mut shown = vec![PathBuf::from("/usr")];
        for name in OUTSIDE_USR {
            let path = self.host.join(name);
            if let Ok(target) = fs::read_link(&path) {
                if leads_into_usr(Path::new("/"), &target) {
                    self.link(name, target.as_os_str().as_bytes());
                }
            } else if path.is_dir() {
                self.folder(name, 0o755, 0);
                shown.push(Path::new("/").join(name));
            }
        }
        // Some systems keep every program elsewhere, for everybody to read.
        if self.host.join("nix/store").is_dir() {
            self.folder("nix/store", 0o755, 0);
            shown.push(PathBuf::from("/nix/store"));
        }
        shown
    }

    /// What we write ourselves.
    fn written(&mut self) {
        let files = [
            ("passwd", format!("{PASSWD}{PASSWD_LINE}")),
            ("group", format!("{GROUP}{GROUP_LINE}")),
            ("hostname", HOSTNAME.to_owned()),
            ("hosts", HOSTS.to_owned()),
            ("resolv.conf", RESOLV_CONF.to_owned()),
            ("nsswitch.conf", NSSWITCH.to_owned()),
            ("profile", PROFILE.to_owned()),
            ("bash.bashrc", BASHRC.to_owned()),
            ("host.conf", "multi on\n".to_owned()),
        ];
        for (name, text) in files {
            self.file(&format!("etc/{name}"), 0o644, 0, text.into());
        }
        self.link("etc/mtab", b"../proc/self/mounts");
        self.link("var/run", b"/run");
        self.link("var/lock", b"/run/lock");
    }

    /// What is taken of the host's `/etc`.
    fn chosen(&mut self) {
        for wanted in TAKEN {
            match wanted.strip_suffix('*') {
                Some(start) => {
                    for name in names(&self.host.join("etc")) {
                        if name.starts_with(start) {
                            self.take(&name, 0);
                        }
                    }
                }
                None => self.take(wanted, 0),
            }
        }
        for name in names(&self.host.join("etc").join(ALTERNATIVES)) {
            let path = format!("{ALTERNATIVES}/{name}");
            let is_link = fs::symlink_metadata(self.host.join("etc").join(&path)).is_ok_and(|meta| meta.is_symlink());
            // Half of them are pages of manuals.
            if is_link && !name.ends_with(".gz") {
                self.take(&path, 0);
            }
        }
        self.certificates();
    }

    /// Public certificates, and the links by which they are found.
    fn certificates(&mut self) {
        for name in names(&self.host.join("etc").join(CERTIFICATES)) {
            let public = name.ends_with(".pem") || name.ends_with(".crt");
            let by_hash = name.len() == 10
                && name.as_bytes()[8] == b'.'
                && name.bytes().take(8).all(|byte| byte.is_ascii_hexdigit());
            if public || by_hash {
                self.take(&format!("{CERTIFICATES}/{name}"), 0);
            }
        }
        self.take(&format!("{CERTIFICATES}/java/cacerts"), 0);
    }

    /// Takes one thing, if it is there and public.
    fn take(&mut self, name: &str, depth: usize) {
        let path = self.host.join("etc").join(name);
        let Ok(meta) = fs::symlink_metadata(&path) else { return };
        let inside = format!("etc/{name}");
        if meta.is_symlink() {
            let Ok(target) = fs::read_link(&path) else { return };
            let folder = Path::new("/").join(&inside);
            let folder = folder.parent().unwrap_or(Path::new("/"));
            if leads_into_usr(folder, &target) || is_neighbour(&target) {
                self.taken += 1;
                self.link(&inside, target.as_os_str().as_bytes());
            }
        } else if meta.is_dir() && meta.mode() & 0o005 == 0o005 && depth < 8 {
            self.folder(&inside, 0o755, 0);
            for entry in names(&path) {
                self.take(&format!("{name}/{entry}"), depth + 1);
            }
        } else if meta.is_file() && meta.mode() & 0o004 != 0 && meta.len() <= BIGGEST {
            let mut text = Vec::new();
            // Between the look and the reading it may be gone or closed; then it is not public any more.
            let read = File::open(&path).and_then(|file| file.take(BIGGEST).read_to_end(&mut text)).is_ok();
            if read && !is_private(&text) {
                self.taken += 1;
                self.file(&inside, 0o644 | (meta.mode() & 0o111), 0, text);
            }
        }
    }

    fn folder(&mut self, name: &str, mode: u32, owner: u32) {
        self.things.push((name.to_owned(), Thing::Folder { mode, owner }));
    }

    fn file(&mut self, name: &str, mode: u32, owner: u32, text: Vec<u8>) {
        self.things.push((name.to_owned(), Thing::File { mode, owner, text }));
    }

    fn link(&mut self, name: &str, target: &[u8]) {
        self.things.push((name.to_owned(), Thing::Link { target: target.to_owned() }));
    }

    /// What the layer that comes of this is noted under.
    fn note(&self) -> String {
        let mut sum = Sha256::new();
        for (name, thing) in &self.things {
            let (letter, mode, owner, text) = match thing {
                Thing::Folder { mode, owner } => (b'd', *mode, *owner, [].as_slice()),
                Thing::File { mode, owner, text } => (b'f', *mode, *owner, text.as_slice()),
                Thing::Link { target } => (b'l', 0, 0, target.as_slice()),
            };
            for piece in [name.as_bytes(), text] {
                sum.update((piece.len() as u64).to_le_bytes());
                sum.update(piece);
            }
            sum.update([letter]);
            sum.update(mode.to_le_bytes());
            sum.update(owner.to_le_bytes());
        }
        format!("host-1-{}", hex::encode(sum.finalize()))
    }

    fn write(self, folder: &Path) -> Result<(), TemplateError> {
        let mut tree = Tree::open(folder).doing(|| "begin a template".to_owned())?;
        for (name, thing) in self.things {
            let name = name.as_bytes();
            match thing {
                Thing::Folder { mode, owner } => {
                    tree.folder(name, &Meta { user: owner, group: owner, mode, ..Meta::default() })?;
                }
                Thing::File { mode, owner, text } => {
                    let meta = Meta { user: owner, group: owner, mode, ..Meta::default() };
                    tree.file(name, &meta, text.len() as u64, &mut text.as_slice())?;
                }
                Thing::Link { target } => tree.symlink(name, &target, &Meta::mode(0o777))?,
            }
        }
        tree.finish()
    }
}

/// The names in a folder that can be read as text, sorted; none when there is no such folder.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// Whether a link in this folder leads into `/usr`, going by its text.
fn leads_into_usr(folder: &Path, target: &Path) -> bool {
    let mut place = PathBuf::from("/");
    for part in folder.join(target).components() {
        match part {
            std::path::Component::ParentDir => {
                place.pop();
            }
            part => place.push(part),
        }
    }
    place.starts_with("/usr") && place != Path::new("/usr")
        || place.starts_with("/etc/alternatives")
        || place.starts_with("/nix/store")
}

fn is_neighbour(target: &Path) -> bool {
    target.components().count() == 1 && !target.has_root() && target != Path::new("..")
}

fn is_private(text: &[u8]) -> bool {
    let mark = b"PRIVATE KEY-----";
    text.windows(mark.len()).any(|window| window == mark)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_host_keeps_its_secrets_wherever_they_lie() {
        let house = tempfile::tempdir().unwrap();
        let host = house.path().join("host");
        let etc = host.join("etc");
        for folder in ["usr/bin", "etc/ssl/certs", "etc/ssl/private", "etc/alternatives", "etc/python3.99", "etc/ssh"] {
            fs::create_dir_all(host.join(folder)).unwrap();
        }
        symlink("usr/bin", host.join("bin")).unwrap();
        symlink("/mnt/elsewhere", host.join("lib64")).unwrap();
        fs::create_dir(host.join("lib")).unwrap();
        let secret = "SECRET";
        for name in
            ["shadow", "gitconfig", "npmrc", "environment", "ssh/ssh_host_key", "ssl/private/key.pem", "machine-id"]
        {
            fs::write(etc.join(name), secret).unwrap();
        }
        fs::write(etc.join("services"), "http 80/tcp\n").unwrap();
        fs::write(etc.join("mime.types"), secret).unwrap();
        fs::set_permissions(etc.join("mime.types"), fs::Permissions::from_mode(0o640)).unwrap();
        let key = format!("-----BEGIN {} KEY-----\n{secret}\n", "PRIVATE");
        fs::write(etc.join("ssl/certs/server.pem"), key).unwrap();
        fs::write(etc.join("ssl/certs/Good.pem"), "-----BEGIN CERTIFICATE-----\n").unwrap();
        symlink("Good.pem", etc.join("ssl/certs/0123abcd.0")).unwrap();
        fs::write(etc.join("ssl/certs/notes.txt"), secret).unwrap();
        symlink("/etc/shadow", etc.join("ssl/certs/sly.pem")).unwrap();
        symlink("/etc/shadow", etc.join("localtime")).unwrap();
        symlink("../usr/../etc/shadow", etc.join("timezone")).unwrap();
        symlink("/usr/bin/vim", etc.join("alternatives/editor")).unwrap();
        fs::write(etc.join("alternatives/README"), secret).unwrap();
        symlink("/root/.profile", etc.join("python3.99/sitecustomize.py")).unwrap();

        let shelves = Shelves::open(house.path().join("shelves")).unwrap();
        let template = make(&shelves, &host, &Progress::silent()).unwrap();
        let layer = shelves.layer(&template.layers[0]);
        let has = |name: &str| fs::symlink_metadata(layer.join(name)).is_ok();

        assert_eq!(template.config.host_folders, [Path::new("/usr"), Path::new("/lib")]);
        assert_eq!(fs::read_link(layer.join("bin")).unwrap(), Path::new("usr/bin"));
        assert!(has("lib") && !has("lib64"));
        for name in ["services", "ssl/certs/Good.pem", "ssl/certs/0123abcd.0", "alternatives/editor", "passwd"] {
            assert!(has(&format!("etc/{name}")), "{name} is missing");
        }
        for name in [
            "shadow",
            "gitconfig",
            "npmrc",
            "environment",
            "machine-id",
            "ssh",
            "mime.types",
            "ssl/private",
            "ssl/certs/server.pem",
            "ssl/certs/notes.txt",
            "ssl/certs/sly.pem",
            "localtime",
            "timezone",
            "alternatives/README",
            "python3.99/sitecustomize.py",
        ] {
            assert!(!has(&format!("etc/{name}")), "{name} was taken");
        }
    }
}
