//! The git command line, hardened: its own environment, its own configuration, no prompts, no hooks, few transports,
//! arguments of checked types only, and an end for everything that hangs.

use std::{
    collections::HashSet,
    ffi::{OsStr, OsString},
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use carrel_model::{Branch, CommitId, RefName, RepoSource};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use crate::{GitError, Progress, progress::Lines};

/// How long a local command may take when nobody says otherwise.
const PATIENCE: Duration = Duration::from_secs(120);
/// How much a command may print when its whole answer is wanted.
const MOST_OUTPUT: usize = 256 << 20;
/// The oldest git that has everything we ask of it (`merge-tree --write-tree --merge-base`).
const OLDEST: (u32, u32) = (2, 40);

/// What every git process of ours is told, in a file of our own that stands in for the user's.
///
/// `safe.directory` is everywhere because sources may belong to others; nothing of theirs is run: hooks, filters,
/// file system monitors and lazy fetching are off. What is larger than any file that pushes may usually bring is passed on
/// in pieces and never held whole.
const CONFIG: &str = "\
[safe]\n\tdirectory = *\n\
[core]\n\thooksPath = /dev/null\n\tfsmonitor = false\n\tprotectHFS = true\n\tprotectNTFS = true\n\tlogAllRefUpdates = false\n\
\tbigFileThreshold = 64m\n\
[protocol]\n\tallow = never\n\
[protocol \"https\"]\n\tallow = always\n[protocol \"ssh\"]\n\tallow = always\n[protocol \"file\"]\n\tallow = always\n\
[credential]\n\thelper =\n\
[gc]\n\tauto = 0\n\
[maintenance]\n\tauto = false\n\
[fetch]\n\tfsckObjects = false\n\twriteCommitGraph = false\n\
[submodule]\n\trecurse = false\n\
[advice]\n\tdetachedHead = false\n\
[init]\n\tdefaultBranch = main\n\
[http]\n\tlowSpeedLimit = 1000\n\tlowSpeedTime = 60\n\tfollowRedirects = initial\n\
[user]\n\tname = Carrel\n\temail = carrel@localhost\n\
[merge]\n\trenames = true\n\
[diff]\n\trenames = true\n\
[pack]\n\tthreads = 0\n";

/// The git program, ready to be called. Cloning it is cheap.
#[derive(Debug, Clone)]
pub struct Git(Arc<Inside>);

#[derive(Debug)]
struct Inside {
    program: PathBuf,
    folder: PathBuf,
    env: Vec<(OsString, OsString)>,
    /// Repositories of which a git of ours said that something in them is damaged.
    suspects: Mutex<HashSet<PathBuf>>,
}

/// Why a version of git, such as `2.39.5`, is not enough. Nothing when it is.
pub fn too_old(version: &str) -> Option<String> {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    let found = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    let why = || format!("git {version} is too old; install git {}.{} or newer", OLDEST.0, OLDEST.1);
    (found < OLDEST).then(why)
}

/// Where a program is, in the folders of `PATH`.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|place| place.is_file())
}

impl Git {
    /// Finds git, and lays its configuration down in a folder of ours.
    pub async fn open(folder: &Path) -> Result<Git, GitError> {
        let prepare = GitError::io("prepare the folder of git");
        fs::create_dir_all(folder).map_err(prepare)?;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
            .map_err(GitError::io("close the folder of git"))?;
        let folder = folder.canonicalize().map_err(GitError::io("find the folder of git"))?;
        let config = folder.join("config");
        if fs::read_to_string(&config).ok().as_deref() != Some(CONFIG) {
            let draft = folder.join("config.new");
            fs::write(&draft, CONFIG).map_err(GitError::io("write git's configuration"))?;
            fs::rename(&draft, &config).map_err(GitError::io("write git's configuration"))?;
        }
        let home = folder.join("home");
        fs::create_dir_all(&home).map_err(GitError::io("make git's home"))?;
        let mut env: Vec<(OsString, OsString)> = Vec::new();
        let mut set = |name: &str, value: &OsStr| env.push((name.into(), value.into()));
        // The way out, and whom to believe, are the machine's; everything else of our environment is not git's concern.
        for name in PASSED_ON {
            if let Some(value) = std::env::var_os(name) {
                set(name, &value);
            }
        }
        set("HOME", home.as_os_str());
        set("GIT_CONFIG_NOSYSTEM", OsStr::new("1"));
        set("GIT_CONFIG_SYSTEM", OsStr::new("/dev/null"));
        set("GIT_CONFIG_GLOBAL", config.as_os_str());
        set("GIT_ATTR_NOSYSTEM", OsStr::new("1"));
        set("GIT_TERMINAL_PROMPT", OsStr::new("0"));
        set("GIT_ASKPASS", OsStr::new("/bin/false"));
        set("SSH_ASKPASS", OsStr::new("/bin/false"));
        set("SSH_ASKPASS_REQUIRE", OsStr::new("never"));
        set("GIT_NO_LAZY_FETCH", OsStr::new("1"));
        set("GIT_NO_REPLACE_OBJECTS", OsStr::new("1"));
        set("GIT_OPTIONAL_LOCKS", OsStr::new("0"));
        set("GIT_PAGER", OsStr::new("cat"));
        set("GIT_EDITOR", OsStr::new("/bin/false"));
        set("LC_ALL", OsStr::new("C.UTF-8"));
        set("TZ", OsStr::new("UTC"));
        // By its whole path: a program that is looked for in an environment of its own is started by a copy of this process,
        // which costs the more the larger this has grown.
        let program = find("git").unwrap_or_else(|| "git".into());
        let git = Git(Arc::new(Inside { program, folder, env, suspects: Mutex::default() }));
        git.check_version().await?;
        Ok(git)
    }

    /// The version of git, such as `2.47.3`.
    pub async fn version(&self) -> Result<String, GitError> {
        let said = self.call("version").text().await?;
        Ok(said.split_whitespace().nth(2).unwrap_or_default().to_owned())
    }

    async fn check_version(&self) -> Result<(), GitError> {
        too_old(&self.version().await?).map_or(Ok(()), |why| Err(GitError::unfit(why)))
    }

    /// Whether something was found damaged in a repository since this was last asked.
    pub(crate) fn take_suspicion(&self, repository: &Path) -> bool {
        self.0.suspects.lock().unwrap_or_else(PoisonError::into_inner).remove(repository)
    }

    /// Something in a repository seems damaged: whoever cares for it reads it through.
    pub(crate) fn suspect(&self, repository: &Path) {
        self.0.suspects.lock().unwrap_or_else(PoisonError::into_inner).insert(repository.to_owned());
    }

    /// A call of one git command, without a repository.
    pub(crate) fn call(&self, command: &'static str) -> Call {
        Call {
            git: self.clone(),
            command,
            config: Vec::new(),
            args: Vec::new(),
            env: Vec::new(),
            folder: None,
            input: Vec::new(),
            patience: PATIENCE,
            progress: None,
        }
    }

    /// A call of one git command in a repository.
    pub(crate) fn at(&self, repository: &Path, command: &'static str) -> Call {
        self.call(command).env("GIT_DIR", repository)
    }
}

const PASSED_ON: [&str; 11] = [
    "PATH",
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "GIT_SSL_CAINFO",
];

/// What may stand on git's command line: our own words, and names that were checked.
pub(crate) trait Argument {
    fn text(&self) -> OsString;
}

impl Argument for &'static str {
    fn text(&self) -> OsString {
        self.into()
    }
}
macro_rules! checked {
    ($($name:ty),+) => {$(
        impl Argument for &$name {
            fn text(&self) -> OsString {
                self.as_str().into()
            }
        }
    )+};
}
checked!(Branch, CommitId, RefName);
impl Argument for &RepoSource {
    fn text(&self) -> OsString {
        self.url().into()
    }
}
impl Argument for &Path {
    /// Absolute, so that it begins with a slash and never with a dash.
    fn text(&self) -> OsString {
        assert!(self.is_absolute(), "a path for git is absolute");
        self.as_os_str().into()
    }
}
/// A part of what a commit names, such as its tree: `…^{tree}`.
impl Argument for (&CommitId, &'static str) {
    fn text(&self) -> OsString {
        format!("{}{}", self.0, self.1).into()
    }
}
/// A range of commits: those of the second that the first does not have.
impl Argument for (&CommitId, &CommitId) {
    fn text(&self) -> OsString {
        format!("{}..{}", self.0, self.1).into()
    }
}
/// What two commits do not have in common: `…...…`.
impl Argument for (&CommitId, &'static str, &CommitId) {
    fn text(&self) -> OsString {
        format!("{}{}{}", self.0, self.1, self.2).into()
    }
}
/// An option with a checked value: `--merge-base=…`.
impl Argument for (&'static str, &CommitId) {
    fn text(&self) -> OsString {
        format!("{}{}", self.0, self.1).into()
    }
}
/// An option with a checked value in the middle.
impl Argument for (&'static str, &CommitId, &'static str) {
    fn text(&self) -> OsString {
        format!("{}{}{}", self.0, self.1, self.2).into()
    }
}
/// An option with a number.
impl Argument for (&'static str, u64) {
    fn text(&self) -> OsString {
        format!("{}{}", self.0, self.1).into()
    }
}

type Watcher = Box<dyn FnMut(Progress) + Send>;

/// One call of git, being put together.
pub(crate) struct Call {
    git: Git,
    command: &'static str,
    config: Vec<(String, String)>,
    args: Vec<OsString>,
    env: Vec<(&'static str, OsString)>,
    folder: Option<PathBuf>,
    input: Vec<u8>,
    patience: Duration,
    progress: Option<Watcher>,
}

/// What a call came to.
pub(crate) struct Answer {
    pub(crate) status: ExitStatus,
    pub(crate) output: Vec<u8>,
    pub(crate) said: String,
}

impl Call {
    pub(crate) fn arg(mut self, argument: impl Argument) -> Call {
        self.args.push(argument.text());
        self
    }

    /// The same for a call that is not in our hands.
    pub(crate) fn set_arg(&mut self, argument: impl Argument) {
        self.args.push(argument.text());
    }

    /// Whether it sends instead of fetching.
    pub(crate) fn is_push(&self) -> bool {
        self.command == "push"
    }

    pub(crate) fn args<A: Argument>(mut self, arguments: impl IntoIterator<Item = A>) -> Call {
        self.args.extend(arguments.into_iter().map(|argument| argument.text()));
        self
    }

    /// A path in a tree, after `--`.
    pub(crate) fn path_in_tree(mut self, path: &str) -> Call {
        debug_assert!(self.args.iter().any(|arg| arg == "--"), "a path in a tree stands after `--`");
        self.args.push(format!(":(literal){path}").into());
        self
    }

    /// A file of a tree, as `TREE:path`; it begins with an object's name.
    pub(crate) fn blob_at(mut self, tree: &CommitId, path: &str) -> Call {
        self.args.push(format!("{tree}:{path}").into());
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Call {
        self.env.push((name, value.into()));
        self
    }

    pub(crate) fn set_env(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.env.push((name, value.into()));
    }

    /// A setting for this call. It is seen in the process list: nothing secret.
    pub(crate) fn config(mut self, key: &'static str, value: impl Into<String>) -> Call {
        self.config.push((key.to_owned(), value.into()));
        self
    }

    pub(crate) fn set_config(&mut self, key: String, value: String) {
        self.config.push((key, value));
    }

    pub(crate) fn folder(mut self, folder: &Path) -> Call {
        self.folder = Some(folder.to_owned());
        self
    }

    pub(crate) fn input(mut self, input: impl Into<Vec<u8>>) -> Call {
        self.input = input.into();
        self
    }

    pub(crate) fn patience(mut self, patience: Duration) -> Call {
        self.patience = patience;
        self
    }

    pub(crate) fn watched(mut self, watcher: impl FnMut(Progress) + Send + 'static) -> Call {
        self.progress = Some(Box::new(watcher));
        self
    }

    /// Where hosts that were met by ssh are remembered.
    pub(crate) fn known_hosts(&self) -> String {
        self.git.0.folder.join("known_hosts").to_string_lossy().into_owned()
    }

    /// Runs it to its end, whatever the end is. One that lost its packs, because they were put together under its hands,
    /// is asked once more: it finds the new ones.
    pub(crate) async fn answer(self) -> Result<Answer, GitError> {
        let again = self.again();
        let answer = self.answer_once().await?;
        let lost = ["index unavailable", "could not load pack", "cannot be accessed"];
        if !answer.status.success() && lost.iter().any(|words| answer.said.contains(words)) {
            return again.answer_once().await;
        }
        Ok(answer)
    }

    /// The same call; nobody watches it.
    fn again(&self) -> Call {
        Call {
            git: self.git.clone(),
            command: self.command,
            config: self.config.clone(),
            args: self.args.clone(),
            env: self.env.clone(),
            folder: self.folder.clone(),
            input: self.input.clone(),
            patience: self.patience,
            progress: None,
        }
    }

    async fn answer_once(mut self) -> Result<Answer, GitError> {
        let (command, patience) = (self.command, self.patience);
        let input = std::mem::take(&mut self.input);
        let watcher = self.progress.take();
        let (git, repository) = (self.git.clone(), self.own_repository());
        let mut running = self.start(if input.is_empty() { Stdio::null() } else { Stdio::piped() })?;
        match tokio::time::timeout(patience, running.converse(input, watcher)).await {
            Ok(Ok(answer)) => {
                let damaged = !answer.status.success() && GitError::speaks_of_damage(&answer.said);
                if let Some(repository) = repository.filter(|_| damaged) {
                    git.suspect(&repository);
                }
                Ok(answer)
            }
            Ok(Err(error)) => Err(error),
            // Dropping it ends the whole group.
            Err(_) => Err(GitError::TimedOut { what: command, after: patience }),
        }
    }

    /// The repository that it reads, unless objects of somebody else are looked at beside it.
    fn own_repository(&self) -> Option<PathBuf> {
        let value = |wanted: &str| self.env.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value);
        match value("GIT_OBJECT_DIRECTORY") {
            Some(_) => None,
            None => value("GIT_DIR").map(PathBuf::from),
        }
    }

    /// Runs it and wants success.
    pub(crate) async fn run(self) -> Result<Vec<u8>, GitError> {
        let command = self.command;
        let answer = self.answer().await?;
        if answer.status.success() { Ok(answer.output) } else { Err(GitError::understand(command, &answer.said)) }
    }

    /// Runs it and wants success and text, without the line's end.
    pub(crate) async fn text(self) -> Result<String, GitError> {
        let command = self.command;
        let output = self.run().await?;
        let text = String::from_utf8(output).map_err(|_| GitError::Failed { what: command, why: "not text".into() })?;
        Ok(text.trim_end_matches('\n').to_owned())
    }

    /// Runs it and wants success and an object's name.
    pub(crate) async fn id(self) -> Result<CommitId, GitError> {
        let command = self.command;
        let text = self.text().await?;
        text.parse().map_err(|_| GitError::Failed { what: command, why: format!("`{text}` is no object's name") })
    }

    /// Starts it, for whoever talks with it.
    pub(crate) fn start(self, input: Stdio) -> Result<Running, GitError> {
        let mut command = Command::new(&self.git.0.program);
        command.env_clear().envs(self.git.0.env.iter().map(|(name, value)| (name, value)));
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.folder.as_deref().unwrap_or(&self.git.0.folder));
        for (key, value) in &self.config {
            command.arg("-c").arg(format!("{key}={value}"));
        }
        command.arg(self.command).args(&self.args);
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own, so that ssh, helpers and everything else it starts end with it.
        command.process_group(0);
        let child = command.spawn().map_err(GitError::io("start git"))?;
        Ok(Running { child, command: self.command })
    }
}

/// A git process. Dropping it ends it and everything that it started.
pub(crate) struct Running {
    pub(crate) child: Child,
    command: &'static str,
}

impl Running {
    pub(crate) fn stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    pub(crate) fn stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// Says the input, hears everything, and waits for the end.
    pub(crate) async fn converse(&mut self, input: Vec<u8>, watcher: Option<Watcher>) -> Result<Answer, GitError> {
        let hear = GitError::io("talk with git");
        let (stdin, stdout) = (self.stdin(), self.stdout());
        let speak = async move {
            if let Some(mut stdin) = stdin {
                // A program that has heard enough hangs up; its status tells whether that was right.
                let _ = stdin.write_all(&input).await;
                let _ = stdin.shutdown().await;
            }
        };
        let listen = async move {
            let mut output = Vec::new();
            if let Some(stdout) = stdout {
                stdout.take(MOST_OUTPUT as u64 + 1).read_to_end(&mut output).await?;
            }
            std::io::Result::Ok(output)
        };
        let stderr = self.child.stderr.take();
        let ((), output, said) = tokio::join!(speak, listen, hear_out(stderr, watcher));
        let output = output.map_err(hear)?;
        if output.len() > MOST_OUTPUT {
            return Err(GitError::Failed { what: self.command, why: "it printed too much".into() });
        }
        let status = self.child.wait().await.map_err(GitError::io("wait for git"))?;
        Ok(Answer { status, output, said })
    }
}

/// Hears what a program says on its second voice, to the end.
pub(crate) async fn hear_out(stderr: Option<tokio::process::ChildStderr>, mut watcher: Option<Watcher>) -> String {
    let mut lines = Lines::default();
    let Some(mut stderr) = stderr else { return String::new() };
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = stderr.read(&mut buffer).await {
        lines.feed(&buffer[..length], |line| {
            if let (Some(watcher), Some(progress)) = (&mut watcher, Progress::read(line)) {
                watcher(progress);
            }
        });
    }
    lines.end()
}

impl Drop for Running {
    fn drop(&mut self) {
        // Only while it was not waited for is the number surely its own.
        let pid = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(pid) = pid {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn git_is_started_without_a_copy_of_this_process() {
        let folder = tempfile::tempdir().unwrap();
        let git = Git::open(folder.path()).await.unwrap();
        let mut ours = vec![1_u8; 256 << 20];
        let before = faults();
        for _ in 0..3 {
            git.version().await.unwrap();
            // Whoever was copied owns nothing alone any more: each page is asked for again when it is next written to.
            ours.iter_mut().step_by(4096).for_each(|byte| *byte = byte.wrapping_add(1));
        }
        std::hint::black_box(&ours);
        let met = faults() - before;
        assert!(met < 300, "{met} pages had to be asked for again: git was started by fork");
    }

    /// How often this thread had to ask for a page so far.
    fn faults() -> u64 {
        let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, after_name) = stat.rsplit_once(')').unwrap();
        after_name.split_whitespace().nth(7).unwrap().parse().unwrap()
    }
}
