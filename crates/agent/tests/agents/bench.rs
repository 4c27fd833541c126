//! A desk on this machine: a repository, a home, and a way to run a launch in them as the house would.

use std::{
    fs,
    io::{Read as _, Write as _},
    os::unix::{fs::PermissionsExt as _, process::ExitStatusExt as _},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
};

use carrel_agent::{AgentSettings, DeskRules, Dialect, Ending, Launch, Moment, Place, Reader, Turn};
use tempfile::TempDir;

/// A desk in a temporary directory.
pub(crate) struct Desk {
    folder: TempDir,
    /// Where the model answers.
    pub(crate) gateway: String,
}

/// What a turn printed.
pub(crate) struct Printed {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) exit: Option<i32>,
}

impl Desk {
    /// A repository with a few files, on the branch of a task.
    pub(crate) fn new() -> Desk {
        let desk = Desk { folder: tempfile::tempdir().unwrap(), gateway: Place::default().gateway };
        fs::create_dir(desk.home()).unwrap();
        fs::create_dir(desk.workspace()).unwrap();
        fs::write(desk.workspace().join("README.md"), "# Hello\n\nA program that greets.").unwrap();
        fs::write(desk.workspace().join("greet.sh"), "echo hello\n").unwrap();
        for arguments in [
            &["init", "-q", "-b", "main"][..],
            &["config", "user.name", "Tester"],
            &["config", "user.email", "tester@example.invalid"],
            &["add", "."],
            &["commit", "-q", "-m", "feat: a greeting"],
            &["checkout", "-q", "-b", "task-42"],
        ] {
            desk.git(arguments);
        }
        desk
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn rules(&self) -> DeskRules {
        DeskRules {
            task: Some(42.try_into().unwrap()),
            repo: Some("hello".parse().unwrap()),
            branch: Some("task-42".parse().unwrap()),
            base: Some("main".parse().unwrap()),
            ..DeskRules::default()
        }
    }

    pub(crate) fn first(&self, prompt: &str) -> Turn {
        Turn { place: self.place(), ..Turn::first(prompt, self.rules()) }
    }

    pub(crate) fn next(&self, prompt: &str, conversation: Option<String>) -> Turn {
        Turn { place: self.place(), ..Turn::next(prompt, self.rules(), conversation) }
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git").current_dir(self.workspace()).args(arguments).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.workspace().join(path)).unwrap()
    }

    /// Runs a launch to its end, as the house does: files first, then the process with its input, which is closed.
    pub(crate) fn run(&self, launch: &Launch) -> Printed {
        let child = self.start(launch);
        let output = child.wait_with_output().unwrap();
        Printed { stdout: output.stdout, stderr: output.stderr, exit: code(output.status) }
    }

    /// Runs a launch until enough was heard, sends a signal, and waits for its end.
    pub(crate) fn run_until(
        &self,
        launch: &Launch,
        signal: i32,
        enough: impl Fn(&[Moment]) -> bool,
        mut reader: Reader,
    ) -> Printed {
        let mut child = self.start(launch);
        let mut out = child.stdout.take().unwrap();
        let mut err = child.stderr.take().unwrap();
        let stderr = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            err.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let (mut stdout, mut moments, mut sent) = (Vec::new(), Vec::new(), false);
        let mut buffer = [0; 4096];
        loop {
            let size = out.read(&mut buffer).unwrap();
            if size == 0 {
                break;
            }
            stdout.extend_from_slice(&buffer[..size]);
            moments.extend(reader.stdout(&buffer[..size]));
            if !sent && enough(&moments) {
                sent = true;
                let sending = Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status();
                assert!(sending.unwrap().success());
            }
        }
        assert!(sent, "it ended before it was asked to: {moments:#?}");
        Printed { stdout, stderr: stderr.join().unwrap(), exit: code(child.wait().unwrap()) }
    }

    fn start(&self, launch: &Launch) -> Child {
        for file in &launch.files {
            fs::create_dir_all(PathBuf::from(&file.path).parent().unwrap()).unwrap();
            fs::write(&file.path, &file.bytes).unwrap();
            fs::set_permissions(&file.path, fs::Permissions::from_mode(file.mode)).unwrap();
        }
        let mut child = Command::new(&launch.argv[0])
            .args(&launch.argv[1..])
            .current_dir(self.workspace())
            .env_clear()
            .env("PATH", path())
            .env("HOME", self.home())
            .envs(&launch.env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = launch.stdin.clone().unwrap_or_default();
        let mut stdin = child.stdin.take().unwrap();
        // A program may end without reading what it was given.
        std::thread::spawn(move || stdin.write_all(&input).ok());
        child
    }

    /// A whole turn: launch, run, read.
    pub(crate) fn turn(&self, dialect: Dialect, settings: &AgentSettings, turn: &Turn) -> (Vec<Moment>, Ending) {
        let printed = self.run(&dialect.launch(settings, turn).unwrap());
        read(dialect, settings, &printed)
    }

    fn place(&self) -> Place {
        Place {
            workspace: self.workspace().to_str().unwrap().to_owned(),
            home: self.home().to_str().unwrap().to_owned(),
            gateway: self.gateway.clone(),
        }
    }
}

/// The exit code as a shell has it.
fn code(status: ExitStatus) -> Option<i32> {
    status.code().or(status.signal().map(|signal| 128 + signal))
}

/// Programs of agents first, where the runner has put them; then what everybody has.
fn path() -> String {
    let usual = std::env::var("PATH").unwrap();
    std::env::var("CARREL_AGENT_PROGRAMS").map(|programs| format!("{programs}:{usual}")).unwrap_or(usual)
}

/// Reads a turn, and holds the reader to its word: however the bytes are cut, the moments are the same.
pub(crate) fn read(dialect: Dialect, settings: &AgentSettings, printed: &Printed) -> (Vec<Moment>, Ending) {
    let read_in = |size: usize| {
        let mut reader = dialect.reader(settings);
        let mut moments = Vec::new();
        for piece in printed.stdout.chunks(size) {
            moments.extend(reader.stdout(piece));
        }
        for piece in printed.stderr.chunks(size) {
            moments.extend(reader.stderr(piece));
        }
        let end = reader.end(printed.exit);
        moments.extend(end.moments);
        (moments, end.ending)
    };
    let whole = read_in(usize::MAX);
    for size in [1, 7, 4096] {
        assert_eq!(read_in(size), whole, "in pieces of {size} bytes");
    }
    whole
}

/// What was said in a turn.
pub(crate) fn said(moments: &[Moment]) -> String {
    let said = moments.iter().filter_map(|moment| match moment {
        Moment::Said { text } => Some(text.as_str()),
        _ => None,
    });
    said.collect::<Vec<_>>().join("\n")
}

/// What continues the conversation of a turn.
pub(crate) fn conversation(moments: &[Moment]) -> Option<String> {
    moments.iter().rev().find_map(|moment| match moment {
        Moment::Conversation { id } => Some(id.clone()),
        _ => None,
    })
}
