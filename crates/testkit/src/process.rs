//! A real server in its own process, to be killed at will.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

/// A `carrel serve` in its own process. It is killed when it is dropped.
pub struct Server {
    child: Child,
    /// Where it answers.
    pub url: String,
    /// Its sign-in link.
    pub link: Option<String>,
    /// The secret of its admin key.
    pub key: String,
}

/// How to start one.
pub struct Start<'a> {
    binary: &'a Path,
    data: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    user: Option<u32>,
    log: Option<std::fs::File>,
}

impl Server {
    /// Prepares to start the binary on a data directory and a free port.
    pub fn with<'a>(binary: &'a Path, data: &Path) -> Start<'a> {
        let args = ["serve", "--listen", "127.0.0.1:0", "--data"].map(str::to_owned).to_vec();
        Start {
            binary,
            data: data.to_owned(),
            args,
            env: vec![
                ("CARREL_SANDBOXES_PROVIDER".into(), "fake".into()),
                ("CARREL_OCI_RUNTIME".into(), "none".into()),
            ],
            user: None,
            log: None,
        }
    }

    /// Kills it, as power cuts do.
    pub async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// Asks it to end, and says how it ended.
    pub async fn terminate(mut self) -> std::process::ExitStatus {
        self.ask_to_end().await;
        self.child.wait().await.unwrap()
    }

    /// Sends SIGTERM.
    pub async fn ask_to_end(&self) {
        let pid = self.child.id().expect("it still runs").to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status().await.unwrap();
        assert!(sent.success());
    }

    /// Waits for its end.
    pub async fn wait(mut self) -> std::process::ExitStatus {
        self.child.wait().await.unwrap()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id().expect("it still runs")
    }
}

impl Start<'_> {
    /// Adds arguments.
    pub fn args<Word: AsRef<str>>(mut self, args: impl IntoIterator<Item = Word>) -> Self {
        self.args.extend(args.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// Adds a variable.
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    /// Runs it as this user and group.
    pub fn as_user(mut self, user: u32) -> Self {
        self.user = Some(user);
        self
    }

    /// Writes what it logs into a file.
    pub fn log_to(mut self, file: std::fs::File) -> Self {
        self.log = Some(file);
        self
    }

    /// Starts it and waits until it says that it is ready.
    pub async fn start(self) -> Server {
        let mut args = self.args;
        let data = args.iter().position(|arg| arg == "--data").expect("it was put there") + 1;
        args.insert(data, self.data.display().to_string());
        let mut command = Command::new(self.binary);
        if let Some(user) = self.user {
            command.uid(user).gid(user).current_dir("/");
        }
        // What the developer's shell says about E2B is not meant for tests.
        for name in ["E2B_API_KEY", "E2B_DOMAIN", "E2B_API_URL", "E2B_SANDBOX_URL", "REDIS_URL"] {
            command.env_remove(name);
        }
        if let Some(log) = self.log {
            command.stderr(log);
        }
        let mut child = command
            .args(&args)
            .envs(self.env)
            .env_remove("DATABASE_URL")
            .stdout(Stdio::piped())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (mut url, mut link) = (None, None);
        // The last line of its greeting names the API's description.
        while let Some(line) = lines.next_line().await.unwrap() {
            if let Some(rest) = line.strip_prefix("Carrel is ready at ") {
                url = Some(rest.to_owned());
            }
            if let Some(place) = line.find("http").filter(|_| line.contains("/app/sign-in#code=")) {
                link = Some(line[place..].to_owned());
            }
            if line.trim_start().starts_with("API") {
                break;
            }
        }
        let url = url.expect("the server did not say where it is");
        let key = std::fs::read_to_string(self.data.join("admin.key")).unwrap().trim().to_owned();
        // Nobody reads on; the rest goes where it may.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Server { child, url, link, key }
    }
}
