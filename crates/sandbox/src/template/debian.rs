//! Debian, made from its packages by `mmdebstrap`, or by `debootstrap` where only that is installed.
//!
//! `mmdebstrap` hands over a tar stream, which is unpacked like anybody's: it never touches the shelves itself. As root
//! both work in process and mount namespaces of their own, so calling the work off ends all of it and leaves no mount. They
//! hang on a line to the server and end with it, however it ends.

use std::{
    path::PathBuf,
    process::Stdio,
    sync::{Mutex, PoisonError},
};

use carrel_model::TemplateName;
use jiff::Timestamp;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader},
    process::{Child, Command},
    sync::mpsc,
};
use tokio_util::sync::CancellationToken;

use super::{
    Config, Draft, Limits, Progress, Shelves, Template, TemplateError,
    account::{GROUP_LINE, HOME, HOSTNAME, HOSTS, PASSWD_LINE, PATH, RESOLV_CONF, SHADOW_LINE, USER, USER_ID},
    arriving::Arriving,
    error::{Doing, aside},
    tree::{Meta, Tree},
    unpack,
};

/// What a sandbox wants on top of the smallest system: certificates, git, and the commands that ready checks use.
pub const DEBIAN_PACKAGES: &[&str] = &["ca-certificates", "curl", "git", "iproute2", "less", "procps", "python3"];

/// Makes a template of a release of Debian with these packages on top of the smallest system. Nothing is kept yet: that
/// is [`Shelves::keep`].
pub async fn make_debian(
    shelves: &Shelves,
    name: &TemplateName,
    suite: &str,
    packages: &[String],
    progress: &Progress,
) -> Result<Template, TemplateError> {
    check(suite, packages)?;
    let draft = {
        let shelves = shelves.clone();
        aside(move || shelves.draft().doing(|| "begin a template".to_owned())).await?
    };
    let as_root = rustix::process::geteuid().is_root();
    let draft = if find("mmdebstrap").is_some() {
        mmdebstrap(draft, suite, packages, as_root, progress).await?
    } else if as_root && find("debootstrap").is_some() {
        debootstrap(draft, suite, packages, progress).await?
    } else if as_root {
        return Err(TemplateError::unfit(
            "Debian is made by mmdebstrap, which is not installed here: `apt-get install mmdebstrap`",
        ));
    } else {
        return Err(TemplateError::unfit(
            "Debian is made by mmdebstrap, which is not installed here: `sudo apt-get install mmdebstrap uidmap`",
        ));
    };
    progress.say("tidying up");
    let (shelves, name) = (shelves.clone(), name.clone());
    let origin = format!("Debian {suite} with {} packages on top", packages.len());
    aside(move || {
        tidy(&draft)?;
        let (layer, bytes) = shelves.adopt(draft.folder().to_owned()).doing(|| "shelve Debian".to_owned())?;
        Ok(Template {
            name,
            layers: vec![layer],
            config: Config {
                env: [("LANG", "C.UTF-8"), ("PATH", PATH)]
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .into(),
                user: Some(USER.to_owned()),
                workdir: Some(HOME.to_owned()),
                ..Config::default()
            },
            origin,
            bytes,
            made_at: Timestamp::now(),
            memory: false,
        })
    })
    .await
}

/// Names become arguments of other programs, so they must look like names.
fn check(suite: &str, packages: &[String]) -> Result<(), TemplateError> {
    let is_name = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit())
            && text
                .chars()
                .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "+.-:".contains(letter))
    };
    if !is_name(suite) {
        return Err(TemplateError::invalid(format!("`{suite}` is not the name of a release of Debian")));
    }
    match packages.iter().find(|package| !is_name(package)) {
        Some(package) => Err(TemplateError::invalid(format!("`{package}` is not the name of a package"))),
        None => Ok(()),
    }
}

async fn mmdebstrap(
    draft: Draft,
    suite: &str,
    packages: &[String],
    as_root: bool,
    progress: &Progress,
) -> Result<Draft, TemplateError> {
    let mut command = program("mmdebstrap", as_root);
    command.arg("--variant=minbase");
    command.arg(if as_root { "--mode=root" } else { "--mode=unshare" });
    // A mirror that does not answer at once is asked again.
    command.arg("--aptopt=Acquire::Retries \"5\"");
    // Devices would only be left out again.
    command.arg("--skip=output/dev");
    if !packages.is_empty() {
        command.arg(format!("--include={}", packages.join(",")));
    }
    command.args([suite, "-"]);
    if as_root {
        let workshop = draft.scratch("workshop");
        std::fs::create_dir(&workshop).doing(|| "begin a template".to_owned())?;
        command.env("TMPDIR", workshop);
    }
    progress.say(format!("mmdebstrap: Debian {suite} and {} packages on top", packages.len()));
    let mut child = start(command, Stdio::piped(), "mmdebstrap")?;
    let mut stream = child.stdout.take().expect("its output is a pipe");
    let (pieces, arriving) = mpsc::channel(16);
    let unpacking = {
        let progress = progress.clone();
        aside(move || {
            let unpacked = unpack(Arriving::new(arriving), draft.folder(), &Limits::default(), &progress);
            Ok((draft, unpacked))
        })
    };
    let pump = async move {
        loop {
            let mut piece = Vec::with_capacity(64 * 1024);
            match stream.read_buf(&mut piece).await {
                Ok(0) | Err(_) => break,
                Ok(_) if pieces.send(piece).await.is_err() => break,
                Ok(_) => {}
            }
        }
    };
    let (unpacked, (), ended) = futures::join!(unpacking, pump, attend(&mut child, "mmdebstrap", progress));
    let (draft, unpacked) = unpacked?;
    ended?;
    unpacked?;
    Ok(draft)
}

async fn debootstrap(
    draft: Draft,
    suite: &str,
    packages: &[String],
    progress: &Progress,
) -> Result<Draft, TemplateError> {
    let mut command = program("debootstrap", true);
    command.arg("--variant=minbase");
    if !packages.is_empty() {
        command.arg(format!("--include={}", packages.join(",")));
    }
    command.arg(suite).arg(draft.folder());
    progress.say(format!("debootstrap: Debian {suite} and {} packages on top", packages.len()));
    let mut child = start(command, Stdio::piped(), "debootstrap")?;
    attend(&mut child, "debootstrap", progress).await?;
    Ok(draft)
}

/// Runs a program, and kills it with all that it started when the line that it was given as its input is cut: because the
/// work was called off, or because the server is no more.
const LIFELINE: &str = r#"
    exec 3<&0 </dev/null
    { read -r _ <&3; kill -s KILL -- -$$; } >/dev/null 2>&1 &
    "$@" 3<&-
    code=$?
    kill -s KILL $!
    exit $code"#;

/// A program with an environment that tells it nothing of ours but the way to the network. As root it runs in process
/// and mount namespaces of its own, which end with it.
fn program(name: &str, as_root: bool) -> Command {
    let mut command = Command::new("/bin/sh");
    // A group of its own is what the lifeline ends.
    command.process_group(0).args(["-c", LIFELINE, "sh"]);
    if as_root && find("unshare").is_some() {
        command.args(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]);
    }
    command.arg(name);
    command.env_clear().env("PATH", PATH).env("LC_ALL", "C.UTF-8").env("HOME", "/root");
    for name in ["http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}

fn start(mut command: Command, output: Stdio, name: &str) -> Result<Child, TemplateError> {
    command
        .stdin(Stdio::piped())
        .stdout(output)
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .doing(|| format!("start {name}"))
}

/// Passes on what a program says, and waits for its end.
async fn attend(child: &mut Child, name: &str, progress: &Progress) -> Result<(), TemplateError> {
    let heard = Mutex::new(Heard::default());
    let lifeline = child.stdin.take();
    // One of the tools talks on its output, the other has handed that over for better things.
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let ended = CancellationToken::new();
    let listening = async {
        futures::join!(listen(output, &heard, progress), listen(errors, &heard, progress));
        ended.cancel();
    };
    // When nobody is left who could say anything, all of them have ended.
    let holding = async {
        tokio::select! {
            () = ended.cancelled() => {}
            () = progress.is_called_off() => drop(lifeline),
        }
    };
    futures::join!(listening, holding);
    let status = child.wait().await.doing(|| format!("wait for {name}"))?;
    progress.go_on()?;
    let heard = heard.into_inner().unwrap_or_else(PoisonError::into_inner);
    match (status.success(), heard.unknown) {
        (true, _) => Ok(()),
        (false, Some(line)) => Err(TemplateError::invalid(format!("{name}: {line}"))),
        (false, None) => Err(TemplateError::unavailable(format!("{name} ended with {status}: {}", heard.last))),
    }
}

/// What a program said that explains its end.
#[derive(Default)]
struct Heard {
    /// The last complaint, or else the last line.
    last: String,
    /// That a package is not there.
    unknown: Option<String>,
}

async fn listen(words: Option<impl AsyncRead + Unpin>, heard: &Mutex<Heard>, progress: &Progress) {
    let Some(words) = words else { return };
    let mut lines = BufReader::new(words).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let line = line.trim();
        if line.is_empty() || line.starts_with("W: ") {
            continue;
        }
        progress.say(line);
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        if line.contains("Unable to locate package") || line.contains("Couldn't find these debs") {
            heard.unknown = Some(line.to_owned());
        }
        if line.starts_with("E: ") || !heard.last.starts_with("E: ") {
            line.clone_into(&mut heard.last);
        }
    }
}

/// Makes a fresh system of what the tools left: our account, nothing of this host, nothing that can be fetched again.
fn tidy(draft: &Draft) -> Result<(), TemplateError> {
    let mut tree = Tree::open(draft.folder()).doing(|| "open the template".to_owned())?;
    for folder in ["dev", "run", "tmp", "var/tmp", "var/lib/apt/lists", "var/cache/ldconfig"] {
        tree.empty(folder, false)?;
    }
    for folder in ["var/cache/apt", "var/log"] {
        tree.empty(folder, true)?;
    }
    let places = [("dev", 0o755), ("proc", 0o555), ("sys", 0o555), ("run", 0o755), ("run/lock", 0o1777)];
    for (name, mode) in places.into_iter().chain([("tmp", 0o1777), ("var/tmp", 0o1777)]) {
        tree.folder(name.as_bytes(), &Meta::mode(mode))?;
    }
    // Empty, not missing: a system that starts writes its own.
    tree.write("etc/machine-id", 0o444, b"")?;
    tree.write("etc/hostname", 0o644, HOSTNAME.as_bytes())?;
    tree.write("etc/hosts", 0o644, HOSTS.as_bytes())?;
    tree.write("etc/resolv.conf", 0o644, RESOLV_CONF.as_bytes())?;
    for (name, line, mode) in
        [("passwd", PASSWD_LINE, 0o644), ("group", GROUP_LINE, 0o644), ("shadow", SHADOW_LINE, 0o640)]
    {
        let path = format!("etc/{name}");
        let mut text = tree.read(&path)?.unwrap_or_default();
        let known = text.split(|byte| *byte == b'\n').any(|line| line.starts_with(format!("{USER}:").as_bytes()));
        if !known {
            text.extend_from_slice(line.as_bytes());
            tree.write(&path, mode, &text)?;
        }
    }
    tree.folder(HOME.as_bytes(), &Meta { user: USER_ID, group: USER_ID, mode: 0o755, ..Meta::default() })?;
    for name in [".bashrc", ".profile"] {
        if let Some(text) = tree.read(&format!("etc/skel/{name}"))? {
            let own = Meta { user: USER_ID, group: USER_ID, mode: 0o644, ..Meta::default() };
            tree.file(format!("{HOME}/{name}").as_bytes(), &own, text.len() as u64, &mut text.as_slice())?;
        }
    }
    tree.finish()
}

/// Where a program lies.
fn find(name: &str) -> Option<PathBuf> {
    PATH.split(':').map(|folder| PathBuf::from(folder).join(name)).find(|path| path.is_file())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A program that has children, one of which is hard to catch.
    fn family() -> Child {
        let as_root = rustix::process::geteuid().is_root();
        let mut command = program("sh", as_root);
        command.args(["-c", "sleep 1000 & sh -c 'trap \"\" TERM HUP; echo here; while :; do sleep 1; done' & wait"]);
        start(command, Stdio::piped(), "sh").unwrap()
    }

    #[tokio::test]
    async fn a_tool_ends_with_all_its_children_when_the_line_to_it_is_cut() {
        let mut child = family();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("here"));
        // What the kernel does for a server that is killed.
        drop(child.stdin.take());
        // Nobody is left who holds the other end.
        assert_eq!(lines.next_line().await.unwrap(), None);
        assert!(!child.wait().await.unwrap().success());
    }

    #[tokio::test]
    async fn a_tool_that_is_called_off_is_waited_for() {
        let stop = CancellationToken::new();
        let heard = stop.clone();
        // The first thing that it says is the end of it.
        let progress = Progress::new(move |_| heard.cancel()).until(stop);
        let mut child = family();
        let error = attend(&mut child, "sh", &progress).await.unwrap_err();
        assert!(error.to_string().contains("called off"), "{error}");
        assert!(child.try_wait().unwrap().is_some_and(|status| !status.success()));
    }

    #[tokio::test]
    async fn a_tool_ends_as_it_likes_when_nobody_cuts_in() {
        for code in [0, 7] {
            let mut command = program("sh", rustix::process::geteuid().is_root());
            command.args(["-c", &format!("cat; echo said; exit {code}")]);
            let mut child = start(command, Stdio::piped(), "sh").unwrap();
            let ended = attend(&mut child, "sh", &Progress::silent()).await;
            assert_eq!(ended.is_ok(), code == 0, "{ended:?}");
            assert_eq!(child.wait().await.unwrap().code(), Some(code));
        }
    }

    #[test]
    fn names_cannot_become_options() {
        check("bookworm", &["git".to_owned(), "libstdc++6".to_owned(), "libc6:i386".to_owned()]).unwrap();
        for suite in ["", "--setup-hook=x", "a b", "../x", "Bookworm"] {
            assert!(check(suite, &[]).is_err(), "{suite}");
        }
        assert!(check("bookworm", &["git,--aptopt=x".to_owned()]).is_err());
    }
}
