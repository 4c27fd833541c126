//! How a process is born: as its user, in its folder, in a group of its own.
//!
//! The thread itself becomes the user and enters the folder for the moment of the spawn, so that the C library can use
//! its fast path (no copy of page tables) and no helper program runs in between. Only a process with a terminal needs a
//! helper, since someone has to open the session: envd itself, executed again.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{ffi::OsStrExt, fs::PermissionsExt, process::CommandExt},
    },
    path::{Path, PathBuf},
    process::{ChildStderr, ChildStdin, ChildStdout, Command, Stdio},
};

use rustix::{
    fs::{Mode, OFlags},
    process::Gid,
    pty::OpenptFlags,
    termios::Winsize,
};

use super::super::{
    args::EXEC_WITH_TERMINAL,
    guest::Settings,
    paths,
    users::{User, as_user},
};
use crate::wire::{
    Code, Fault,
    process::{ProcessConfig, PtySize, StartRequest},
};

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A process that was just born, and the ends of its pipes.
pub(super) struct Spawned {
    pub(super) pid: u32,
    pub(super) ends: Ends,
}

/// Our ends of what connects us.
pub(super) enum Ends {
    Pipes { stdin: Option<ChildStdin>, stdout: ChildStdout, stderr: ChildStderr },
    Terminal(OwnedFd),
}

/// Starts the process.
pub(super) fn spawn(user: &User, settings: &Settings, request: &StartRequest) -> Result<Spawned, Fault> {
    let config = request.process.as_ref().filter(|process| !process.cmd.is_empty());
    let config = config.ok_or_else(|| Fault::new(Code::InvalidArgument, "no command was named"))?;
    let environment = environment(user, settings, config)?;
    let folder = folder(user, settings, config)?;
    let path = environment.iter().rev().find(|(name, _)| name == "PATH").map_or(PATH, |(_, path)| path.as_str());
    let program = find(&config.cmd, path, &folder)?;

    let mut command;
    let mut terminal = None;
    if let Some(pty) = request.pty {
        let (ours, theirs) = open_terminal(user, pty.size.unwrap_or_default())
            .map_err(|error| Fault::new(Code::Internal, format!("no terminal can be had: {error}")))?;
        command = Command::new("/proc/self/exe");
        command.arg0("envd").arg(EXEC_WITH_TERMINAL).arg(&program).args(&config.args);
        for place in [Command::stdin::<Stdio>, Command::stdout::<Stdio>, Command::stderr::<Stdio>] {
            let theirs = theirs.try_clone().map_err(|error| cannot_start(&config.cmd, &error))?;
            place(&mut command, theirs.into());
        }
        terminal = Some(ours);
    } else {
        command = Command::new(&program);
        command.args(&config.args).process_group(0);
        let stdin = if request.stdin.unwrap_or(true) { Stdio::piped() } else { nothing() };
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    }
    command.env_clear().envs(environment.iter().map(|(name, value)| (name, value)));

    let spawned = born_as(user, &folder, &mut command);
    let spawned = match spawned {
        // A script without a first line that names its interpreter belongs to the shell.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) && terminal.is_none() => {
            let mut shell = Command::new("/bin/sh");
            shell.arg(&program).args(&config.args).process_group(0).env_clear();
            shell.envs(environment.iter().map(|(name, value)| (name, value)));
            let stdin = if request.stdin.unwrap_or(true) { Stdio::piped() } else { nothing() };
            shell.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
            born_as(user, &folder, &mut shell)
        }
        other => other,
    };
    let mut child = spawned.map_err(|error| cannot_start(&config.cmd, &error))?;
    let pid = child.id();
    // When memory is short, commands go before envd, which has 500 in a jail. Not every sandbox may say so.
    let _ = fs::write(format!("/proc/{pid}/oom_score_adj"), "600");
    let ends = match (terminal, child.stdout.take(), child.stderr.take()) {
        (Some(terminal), ..) => Ends::Terminal(terminal),
        (None, Some(stdout), Some(stderr)) => Ends::Pipes { stdin: child.stdin.take(), stdout, stderr },
        _ => return Err(Fault::new(Code::Internal, "the process has no pipes")),
    };
    Ok(Spawned { pid, ends })
}

fn born_as(user: &User, folder: &Path, command: &mut Command) -> io::Result<std::process::Child> {
    let spawned = as_user(user, || {
        std::env::set_current_dir(folder)?;
        command.spawn()
    });
    // Nobody else may find this thread in a folder that goes away.
    let _ = std::env::set_current_dir("/");
    spawned?
}

fn cannot_start(program: &str, error: &io::Error) -> Fault {
    let code = match error.kind() {
        io::ErrorKind::NotFound => Code::NotFound,
        io::ErrorKind::PermissionDenied => Code::PermissionDenied,
        io::ErrorKind::ArgumentListTooLong | io::ErrorKind::InvalidInput => Code::InvalidArgument,
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => Code::ResourceExhausted,
        _ => Code::Internal,
    };
    Fault::new(code, format!("'{program}' cannot be started: {error}"))
}

/// The environment, later entries first to be heard.
fn environment(user: &User, settings: &Settings, config: &ProcessConfig) -> Result<Vec<(String, String)>, Fault> {
    let path = std::env::var("PATH").ok().filter(|path| !path.is_empty()).unwrap_or_else(|| PATH.to_owned());
    let mut environment = vec![
        ("PATH".to_owned(), path),
        ("HOME".to_owned(), user.home.clone()),
        ("USER".to_owned(), user.name.clone()),
        ("LOGNAME".to_owned(), user.name.clone()),
    ];
    for (name, value) in settings.env.iter().chain(&config.envs) {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(Fault::new(Code::InvalidArgument, format!("'{name}' cannot be a variable")));
        }
        environment.push((name.clone(), value.clone()));
    }
    Ok(environment)
}

fn folder(user: &User, settings: &Settings, config: &ProcessConfig) -> Result<PathBuf, Fault> {
    let asked = config.cwd.as_deref().filter(|cwd| !cwd.is_empty());
    let folder = paths::resolve(asked.unwrap_or(""), user, settings.default_workdir.as_deref())?;
    match fs::metadata(&folder) {
        Ok(found) if found.is_dir() => Ok(folder),
        Ok(_) => Err(Fault::new(Code::InvalidArgument, format!("cwd '{}' is not a directory", folder.display()))),
        // A user without a home is at the root.
        Err(_) if asked.is_none() && settings.default_workdir.is_none() => Ok(PathBuf::from("/")),
        Err(_) => Err(Fault::new(Code::InvalidArgument, format!("cwd '{}' does not exist", folder.display()))),
    }
}

/// The program as a path: names are looked for in the process's own `PATH`.
fn find(program: &str, path: &str, folder: &Path) -> Result<PathBuf, Fault> {
    if program.contains('\0') {
        return Err(Fault::new(Code::InvalidArgument, "a program cannot contain NUL"));
    }
    if program.contains('/') {
        return Ok(PathBuf::from(program));
    }
    let places = path.split(':').map(|place| folder.join(place).join(program));
    let is_program = |place: &PathBuf| {
        fs::metadata(place).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    places.into_iter().find(is_program).ok_or_else(|| Fault::new(Code::NotFound, format!("'{program}' is not in PATH")))
}

/// An input that is at its end; without `/dev/null` a closed pipe serves as well.
fn nothing() -> Stdio {
    match fs::File::open("/dev/null") {
        Ok(null) => null.into(),
        Err(_) => std::io::pipe().map_or_else(|_| Stdio::null(), |(reader, _)| reader.into()),
    }
}

fn open_terminal(user: &User, size: PtySize) -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    rustix::pty::grantpt(&ours)?;
    rustix::pty::unlockpt(&ours)?;
    let name = rustix::pty::ptsname(&ours, Vec::new())?;
    let theirs = rustix::fs::open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    let uid = rustix::process::Uid::from_raw(user.uid);
    // Where it cannot be given away it stays ours, and still works.
    let _ = rustix::fs::fchown(&theirs, Some(uid), None::<Gid>);
    set_size(&ours, size)?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    Ok((ours, theirs))
}

pub(super) fn set_size(terminal: impl AsFd, size: PtySize) -> io::Result<()> {
    let clamp = |cells: u32, usual: u16| match cells {
        0 => usual,
        cells => cells.min(u32::from(u16::MAX)) as u16,
    };
    let size = Winsize { ws_row: clamp(size.rows, 24), ws_col: clamp(size.cols, 80), ws_xpixel: 0, ws_ypixel: 0 };
    Ok(rustix::termios::tcsetwinsize(terminal, size)?)
}

/// The helper of processes with a terminal: opens a session, takes the terminal on standard input, becomes the command.
/// Returns only to say why it could not.
pub(in crate::daemon) fn exec_with_terminal(command: Vec<OsString>) -> String {
    let Some((program, args)) = command.split_first() else { return "no command was named".to_owned() };
    let session = rustix::process::setsid().and_then(|_| rustix::process::ioctl_tiocsctty(std::io::stdin()));
    if let Err(error) = session {
        return format!("the terminal cannot be taken: {error}");
    }
    let program: &OsStr = program;
    let error = Command::new(program).args(args).exec();
    format!("'{}' cannot be started: {error}", String::from_utf8_lossy(program.as_bytes()))
}
