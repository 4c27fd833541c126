//! One kernel: started, asked, interrupted, ended.

use std::{
    io,
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use jupyter_protocol::{
    ConnectionInfo, ExecuteRequest, ExecutionState, JupyterMessage, JupyterMessageContent, KernelInfoRequest,
    connection_info::Transport,
};
use jupyter_zmq_client::{
    ClientIoPubConnection, ClientShellConnection, DealerSendConnection, RuntimeError, create_client_iopub_connection,
    create_client_shell_connection_with_identity, peer_identity_for_session,
};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use serde_json::Value;
use tokio::{
    process::{Child, Command},
    sync::mpsc,
    time::timeout,
};

use crate::tell;

/// A kernel that does not answer after so long never will.
const STARTS: Duration = Duration::from_secs(60);
/// A first question that is not answered is asked again.
const ASKS_AGAIN: Duration = Duration::from_millis(100);
/// After so much silence a sign of life is sent.
const SILENCE: Duration = Duration::from_secs(5);

/// The name of the file by which a kernel learns where to listen.
const FILE: &str = "connection.json";

/// Why a cell could not be run.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// There is no kernel for that language: install one.
    #[error("there is no kernel for {0}")]
    NoKernel(String),
    /// The kernel did not start: try again, or look at the template.
    #[error("the kernel could not be started: {0}")]
    NotStarted(String),
    /// The kernel ended; its context can be restarted.
    #[error("the kernel ended")]
    Ended,
}

/// Where kernels are described.
#[derive(Debug, Clone)]
pub struct Kernels(pub PathBuf);

/// How a kernel is started, as Jupyter writes it.
#[derive(Debug, Clone, Deserialize)]
struct Described {
    argv: Vec<String>,
    #[serde(default)]
    language: String,
    #[serde(default)]
    env: std::collections::BTreeMap<String, String>,
}

impl Kernels {
    /// The kernel that reads a language.
    fn find(&self, language: &str) -> Option<Described> {
        let folders = std::fs::read_dir(&self.0).ok()?.flatten();
        let mut all: Vec<Described> = folders
            .filter_map(|folder| serde_json::from_slice(&std::fs::read(folder.path().join("kernel.json")).ok()?).ok())
            .collect();
        all.sort_by(|a, b| a.argv.cmp(&b.argv));
        let reads = |kernel: &&Described| kernel.language.eq_ignore_ascii_case(language);
        let fallback =
            |kernel: &&Described| language == "typescript" && kernel.language.eq_ignore_ascii_case("javascript");
        all.iter().find(reads).or_else(|| all.iter().find(fallback)).cloned()
    }
}

/// A kernel that runs.
pub(crate) struct Kernel {
    process: Child,
    shell: DealerSendConnection,
    heard: mpsc::UnboundedReceiver<Heard>,
    /// Its sockets and the file that holds their key: gone with it.
    _folder: tempfile::TempDir,
}

impl Kernel {
    pub(crate) async fn start(kernels: &Kernels, language: &str, cwd: &str) -> Result<Kernel, Trouble> {
        let described = kernels.find(language).ok_or_else(|| Trouble::NoKernel(language.to_owned()))?;
        let failed = |why: &dyn std::fmt::Display| Trouble::NotStarted(why.to_string());
        let (info, folder) = write().map_err(|error| failed(&error))?;
        let file = folder.path().join(FILE);
        let process = command(&described, &file, cwd).spawn().map_err(|error| failed(&error))?;
        let (mut iopub, shell) = match timeout(STARTS, lines(&info)).await {
            Ok(lines) => lines,
            Err(_) => return Err(Trouble::NotStarted(format!("nobody answers for {STARTS:?}"))),
        };
        let (shell, mut replies) = shell.split();
        // One task for each line, so that nothing is lost when a reader is called off.
        let (hear, heard) = mpsc::unbounded_channel();
        let other = hear.clone();
        tokio::spawn(async move {
            while let ControlFlow::Continue(message) = understood(iopub.read().await) {
                if hear.send(Heard::Broadcast(message)).is_err() {
                    return;
                }
            }
        });
        tokio::spawn(async move {
            while let ControlFlow::Continue(message) = understood(replies.read().await) {
                if other.send(Heard::Reply(message)).is_err() {
                    return;
                }
            }
        });
        let mut kernel = Kernel { process, shell, heard, _folder: folder };
        match timeout(STARTS, kernel.until_it_answers()).await {
            Ok(answered) => answered.map(|()| kernel),
            Err(_) => Err(Trouble::NotStarted(format!("it says nothing for {STARTS:?}"))),
        }
    }

    /// Asks who it is until both lines have brought something: before that, what it prints could be missed.
    async fn until_it_answers(&mut self) -> Result<(), Trouble> {
        let (mut replied, mut broadcast) = (false, false);
        while !(replied && broadcast) {
            self.send(KernelInfoRequest {}.into()).await?;
            let end = tokio::time::sleep(ASKS_AGAIN);
            tokio::pin!(end);
            while !(replied && broadcast) {
                tokio::select! {
                    heard = self.heard.recv() => match heard.ok_or(Trouble::Ended)? {
                        Heard::Reply(_) => replied = true,
                        Heard::Broadcast(_) => broadcast = true,
                    },
                    _ = self.process.wait() => return Err(Trouble::Ended),
                    () = &mut end => break,
                }
            }
        }
        while self.heard.try_recv().is_ok() {}
        Ok(())
    }

    /// Runs a cell and tells what it says, until it is done. When nobody listens any more it is interrupted.
    pub(crate) async fn run(&mut self, code: &str, silent: bool, told: &mpsc::Sender<Value>) -> Result<(), Trouble> {
        let request = ExecuteRequest { silent, store_history: !silent, ..ExecuteRequest::new(code.to_owned()) };
        let request: JupyterMessage = request.into();
        let id = request.header.msg_id.clone();
        self.send(request).await?;
        let mut interrupted = false;
        let (mut idle, mut replied) = (false, false);
        while !(idle && replied) {
            let heard = tokio::select! {
                heard = self.heard.recv() => heard.ok_or(Trouble::Ended)?,
                _ = self.process.wait() => return Err(Trouble::Ended),
                () = told.closed(), if !interrupted => {
                    interrupted = true;
                    self.interrupt();
                    continue;
                }
                () = tokio::time::sleep(SILENCE) => {
                    let _ = told.send(serde_json::json!({ "type": "keepalive" })).await;
                    continue;
                }
            };
            let message = match heard {
                // Nobody else asks, so even a reply that is not understood is the one to our question.
                Heard::Reply(None) => {
                    replied = true;
                    continue;
                }
                Heard::Broadcast(None) => continue,
                Heard::Reply(Some(message)) | Heard::Broadcast(Some(message)) => message,
            };
            if message.parent_header.as_ref().is_none_or(|parent| parent.msg_id != id) {
                continue;
            }
            match &message.content {
                JupyterMessageContent::Status(status) => idle |= status.execution_state == ExecutionState::Idle,
                JupyterMessageContent::ExecuteReply(_) => replied = true,
                content => {
                    if let Some(line) = tell::line(content) {
                        let _ = told.send(line).await;
                    }
                }
            }
        }
        Ok(())
    }

    /// Makes it stop what it does.
    fn interrupt(&self) {
        let pid = self.process.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::INT);
        }
    }

    async fn send(&mut self, message: JupyterMessage) -> Result<(), Trouble> {
        self.shell.send(message).await.map_err(|_| Trouble::Ended)
    }

    /// Ends it.
    pub(crate) async fn end(mut self) {
        let _ = self.process.kill().await;
    }
}

/// What came over a line; nothing when it was not understood: kernels differ in what they leave out.
enum Heard {
    Reply(Option<Box<JupyterMessage>>),
    Broadcast(Option<Box<JupyterMessage>>),
}

/// What was read, as far as it is understood; nothing more comes over a line that is broken.
fn understood(read: Result<JupyterMessage, RuntimeError>) -> ControlFlow<(), Option<Box<JupyterMessage>>> {
    match read {
        Ok(message) => ControlFlow::Continue(Some(Box::new(message))),
        Err(RuntimeError::ZmqError(_)) => ControlFlow::Break(()),
        Err(_) => ControlFlow::Continue(None),
    }
}

/// Both lines to a kernel that is about to listen. One that is only half awake hangs up: it is called again.
async fn lines(info: &ConnectionInfo) -> (ClientIoPubConnection, ClientShellConnection) {
    let session = random_name();
    loop {
        let called = async {
            let iopub = create_client_iopub_connection(info, "", &session).await?;
            let identity = peer_identity_for_session(&session)?;
            let shell = create_client_shell_connection_with_identity(info, &session, identity).await?;
            Ok::<_, RuntimeError>((iopub, shell))
        };
        match called.await {
            Ok(lines) => return lines,
            Err(_) => tokio::time::sleep(ASKS_AGAIN).await,
        }
    }
}

/// Where a kernel will listen: sockets in a folder of its own. Ports would be anybody's until it has taken them.
fn connection(folder: &Path) -> ConnectionInfo {
    ConnectionInfo {
        transport: Transport::IPC,
        ip: folder.join("line").display().to_string(),
        stdin_port: 1,
        control_port: 2,
        hb_port: 3,
        shell_port: 4,
        iopub_port: 5,
        signature_scheme: "hmac-sha256".into(),
        key: random_name(),
        kernel_name: None,
    }
}

/// The file by which the kernel learns it, and the folder that holds both.
fn write() -> io::Result<(ConnectionInfo, tempfile::TempDir)> {
    let folder = tempfile::Builder::new().prefix("kernel-").tempdir()?;
    let info = connection(folder.path());
    std::fs::write(folder.path().join(FILE), serde_json::to_vec(&info)?)?;
    Ok((info, folder))
}

fn command(described: &Described, file: &Path, cwd: &str) -> Command {
    let file = file.display().to_string();
    let mut argv = described.argv.iter().map(|word| word.replace("{connection_file}", &file));
    let mut command = Command::new(argv.next().unwrap_or_default());
    command.args(argv).envs(&described.env).current_dir(cwd).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A name that nobody guesses.
pub(crate) fn random_name() -> String {
    let mut bytes = [0; 16];
    // Without randomness nothing in a sandbox works; a name of zeros is then the least trouble.
    let _ = getrandom::fill(&mut bytes);
    hex::encode(bytes)
}
