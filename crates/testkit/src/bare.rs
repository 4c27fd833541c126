//! A provider that keeps nothing apart: envd as a plain process in a folder, reached over a unix socket.
//!
//! It needs no rights and no engine, so that everything above a sandbox's inside can be tested end to end. Everything that
//! it started is gone when it is dropped.

use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use carrel_envd::{Dial, Envd, Init, Line};
use carrel_model::{
    SandboxId, TemplateName,
    sandbox::{Depth, Isolation, Spec, Usage},
};
use carrel_sandbox::{
    Claimed, Endpoint, Fitness, Forking, Naming, Pausing, Provider, ProviderError, Reach, Sighting, Templating,
    template::{Progress, Source, Template},
};
use rustix::process::{Pid, Signal, kill_process};

/// Sandboxes that are folders with an envd in each.
pub struct Bare {
    folder: tempfile::TempDir,
    program: PathBuf,
    state: Mutex<State>,
    claims: AtomicBool,
}

#[derive(Default)]
struct State {
    desks: HashMap<SandboxId, Desk>,
    templates: BTreeMap<TemplateName, Template>,
}

struct Desk {
    /// Nothing runs when it sleeps as files.
    envd: Option<Child>,
    sleep: Option<Depth>,
    spec: Spec,
}

struct Socket(PathBuf);

#[async_trait]
impl Dial for Socket {
    async fn dial(&self) -> io::Result<Box<dyn Line>> {
        Ok(Box::new(tokio::net::UnixStream::connect(&self.0).await?))
    }
}

impl Bare {
    /// One with a folder of its own.
    pub fn new() -> Arc<Bare> {
        let folder = tempfile::Builder::new().prefix("bare-").tempdir().unwrap();
        Arc::new(Bare { folder, program: find_envd(), state: Mutex::default(), claims: AtomicBool::new(false) })
    }

    /// From now on its sandboxes are made before their rows are written.
    pub fn claim_from_now_on(&self) {
        self.claims.store(true, Ordering::SeqCst);
    }

    /// How many sandboxes are there.
    pub fn count(&self) -> usize {
        self.state.lock().unwrap().desks.len()
    }

    /// Where the files of a sandbox are.
    pub fn files(&self, id: &SandboxId) -> PathBuf {
        self.folder.path().join(id.as_str()).join("files")
    }

    /// The processes that run in a sandbox, its envd left out.
    pub fn processes(&self, id: &SandboxId) -> Vec<u32> {
        let state = self.state.lock().unwrap();
        let envd = state.desks.get(id).and_then(|desk| desk.envd.as_ref()).map(Child::id);
        envd.map(descendants).unwrap_or_default()
    }

    fn socket(&self, id: &SandboxId) -> PathBuf {
        self.folder.path().join(id.as_str()).join("envd.sock")
    }

    fn template(&self, name: &TemplateName) -> PathBuf {
        self.folder.path().join("templates").join(name.as_str().replace('/', "%"))
    }

    async fn wake(&self, id: &SandboxId, spec: &Spec) -> Result<(), ProviderError> {
        let socket = self.socket(id);
        let _ = fs::remove_file(&socket);
        let child = Command::new(&self.program)
            .arg("--listen")
            .arg(format!("unix:{}", socket.display()))
            .arg("--subreaper")
            .current_dir(self.files(id))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(unavailable)?;
        let desk = Desk { envd: Some(child), sleep: None, spec: spec.clone() };
        self.state.lock().unwrap().desks.insert(id.clone(), desk);
        while tokio::net::UnixStream::connect(&socket).await.is_err() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let init = Init {
            env: spec.env.iter().map(|(name, value)| (name.as_str().into(), value.as_str().into())).collect(),
            default_user: Some(me()),
            default_workdir: Some(self.files(id).display().to_string()),
            ..Init::default()
        };
        let ready = Envd::new(Arc::new(Socket(socket)), None).init(&init).await;
        ready.map_err(|error| ProviderError::Unavailable { why: error.to_string() })
    }

    fn end(&self, id: &SandboxId) {
        let desk = self.state.lock().unwrap().desks.remove(id);
        if let Some(mut envd) = desk.and_then(|desk| desk.envd) {
            end(&mut envd);
        }
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        for desk in self.state.lock().unwrap().desks.values_mut() {
            if let Some(envd) = &mut desk.envd {
                end(envd);
            }
        }
    }
}

#[async_trait]
impl Provider for Bare {
    async fn probe(&self) -> Result<Fitness, ProviderError> {
        let mut templates = vec!["host".parse().unwrap()];
        templates.extend(self.state.lock().unwrap().templates.keys().cloned());
        Ok(Fitness { isolation: vec![Isolation::None], templates, missing: vec!["Nothing is kept apart.".into()] })
    }

    async fn claim(&self, id: &SandboxId, spec: &Spec, _: Naming) -> Option<Claimed> {
        let made = self.claims.load(Ordering::SeqCst) && self.create(id, spec).await.is_ok();
        made.then(|| Claimed { id: id.clone(), open: None })
    }

    async fn create(&self, id: &SandboxId, spec: &Spec) -> Result<(), ProviderError> {
        if self.state.lock().unwrap().desks.contains_key(id) {
            return Ok(());
        }
        let files = self.files(id);
        fs::create_dir_all(&files).map_err(unavailable)?;
        if spec.template.as_str() != "host" {
            if !self.state.lock().unwrap().templates.contains_key(&spec.template) {
                return Err(ProviderError::Unfit { why: format!("there is no template `{}`", spec.template) });
            }
            copy(&self.template(&spec.template), &files).map_err(unavailable)?;
        }
        self.wake(id, spec).await
    }

    async fn inspect(&self, id: &SandboxId) -> Result<Sighting, ProviderError> {
        let mut state = self.state.lock().unwrap();
        let Some(desk) = state.desks.get_mut(id) else { return Ok(Sighting::Missing) };
        let lives = desk.envd.as_mut().is_some_and(|envd| matches!(envd.try_wait(), Ok(None)));
        Ok(match (lives, desk.sleep) {
            (_, Some(_)) => Sighting::Paused,
            (true, None) => Sighting::Running,
            (false, None) => Sighting::Missing,
        })
    }

    async fn list(&self) -> Result<Vec<(SandboxId, Sighting)>, ProviderError> {
        let ids: Vec<_> = self.state.lock().unwrap().desks.keys().cloned().collect();
        let mut seen = Vec::new();
        for id in ids {
            let sighting = self.inspect(&id).await?;
            seen.push((id, sighting));
        }
        Ok(seen)
    }

    async fn destroy(&self, id: &SandboxId) -> Result<(), ProviderError> {
        self.end(id);
        match fs::remove_dir_all(self.folder.path().join(id.as_str())) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unavailable(error)),
            _ => Ok(()),
        }
    }

    async fn endpoint(&self, id: &SandboxId) -> Result<Endpoint, ProviderError> {
        let state = self.state.lock().unwrap();
        match state.desks.get(id) {
            Some(desk) if desk.sleep != Some(Depth::Files) => {
                Ok(Endpoint::new(Arc::new(Socket(self.socket(id))), None))
            }
            _ => Err(ProviderError::Lost),
        }
    }

    async fn usage(&self, id: &SandboxId) -> Result<Usage, ProviderError> {
        match self.inspect(id).await? {
            Sighting::Missing => Err(ProviderError::Lost),
            _ => Ok(Usage { pids: Some(self.processes(id).len() as u64 + 1), ..Usage::default() }),
        }
    }

    fn reach(&self) -> Reach {
        Reach::Node
    }
    fn pausing(&self) -> Option<&dyn Pausing> {
        Some(self)
    }
    fn forking(&self) -> Option<&dyn Forking> {
        Some(self)
    }
    fn templating(&self) -> Option<&dyn Templating> {
        Some(self)
    }
}

impl Bare {
    fn lull(&self, id: &SandboxId, depth: Depth) -> Result<Depth, ProviderError> {
        let mut state = self.state.lock().unwrap();
        let desk = state.desks.get_mut(id).ok_or(ProviderError::Lost)?;
        let reached = if depth == Depth::Files { Depth::Files } else { desk.sleep.unwrap_or(Depth::Frozen) };
        if let Some(envd) = &mut desk.envd {
            match reached {
                Depth::Files => end(envd),
                _ => signal_all(envd.id(), Signal::STOP),
            }
        }
        if reached == Depth::Files {
            desk.envd = None;
        }
        desk.sleep = Some(reached);
        Ok(reached)
    }
}

#[async_trait]
impl Pausing for Bare {
    /// Stops its processes, or keeps its files alone. It knows nothing in between. One with a file `HOLD` sleeps at once,
    /// and its pause is over when somebody took the file away; one with a file `WAIT` lays a file `WAITS` beside it, and
    /// falls asleep when somebody took the first away.
    async fn pause(&self, id: &SandboxId, depth: Depth) -> Result<Depth, ProviderError> {
        let wait = self.files(id).join("WAIT");
        if wait.exists() {
            fs::write(self.files(id).join("WAITS"), "").map_err(unavailable)?;
        }
        while wait.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let reached = self.lull(id, depth)?;
        let hold = self.files(id).join("HOLD");
        while hold.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(reached)
    }

    async fn resume(&self, id: &SandboxId) -> Result<Depth, ProviderError> {
        let (slept, spec) = {
            let mut state = self.state.lock().unwrap();
            let desk = state.desks.get_mut(id).ok_or(ProviderError::Lost)?;
            let slept = desk.sleep.take().unwrap_or(Depth::Frozen);
            if let Some(envd) = &desk.envd {
                signal_all(envd.id(), Signal::CONT);
            }
            (slept, desk.spec.clone())
        };
        if slept == Depth::Files {
            self.wake(id, &spec).await?;
        }
        Ok(slept)
    }
}

#[async_trait]
impl Forking for Bare {
    /// One of a sandbox with a file `FAIL` fails.
    async fn snapshot(&self, id: &SandboxId, name: &TemplateName, _: bool) -> Result<Template, ProviderError> {
        if self.inspect(id).await? == Sighting::Missing {
            return Err(ProviderError::Lost);
        }
        if self.files(id).join("FAIL").exists() {
            return Err(ProviderError::Unavailable { why: "it was asked to fail".into() });
        }
        copy(&self.files(id), &self.template(name)).map_err(unavailable)?;
        Ok(self.keep(name, format!("sandbox {id}")))
    }

    async fn renew(&self, id: &SandboxId, name: &TemplateName, memory: bool) -> Result<Template, ProviderError> {
        let draft: TemplateName = format!("{name}-draft").parse().expect("a name with a few letters more");
        self.snapshot(id, &draft, memory).await?;
        self.state.lock().unwrap().templates.remove(&draft);
        let _ = std::fs::remove_dir_all(self.template(name));
        std::fs::rename(self.template(&draft), self.template(name)).map_err(unavailable)?;
        Ok(self.keep(name, format!("sandbox {id}")))
    }
}

impl Bare {
    fn keep(&self, name: &TemplateName, origin: String) -> Template {
        let template = Template {
            name: name.clone(),
            layers: Vec::new(),
            config: Default::default(),
            origin,
            bytes: 0,
            made_at: jiff::Timestamp::now(),
            memory: false,
        };
        self.state.lock().unwrap().templates.insert(name.clone(), template.clone());
        template
    }
}

#[async_trait]
impl Templating for Bare {
    async fn templates(&self) -> Result<Vec<Template>, ProviderError> {
        Ok(self.state.lock().unwrap().templates.values().cloned().collect())
    }

    /// A recipe's files are the template; one that has a line `FAIL` fails.
    async fn make(&self, name: &TemplateName, source: &Source, progress: &Progress) -> Result<Template, ProviderError> {
        progress.say(format!("making {name}"));
        let place = self.template(name);
        fs::create_dir_all(&place).map_err(unavailable)?;
        let origin = match source {
            Source::Recipe { text, context } => {
                for line in text.lines() {
                    progress.say(format!("step {line}"));
                    if line == "FAIL" {
                        return Err(ProviderError::Unfit { why: "the recipe says so".into() });
                    }
                }
                if let Some(context) = context {
                    copy(context, &place).map_err(unavailable)?;
                }
                "a recipe".to_owned()
            }
            Source::Steps { recipe, .. } => format!("{} steps on {}", recipe.steps.len(), recipe.from),
            Source::Host => "the host".to_owned(),
            other => return Err(ProviderError::Unfit { why: format!("{other:?} is not for here") }),
        };
        progress.say("done");
        Ok(self.keep(name, origin))
    }

    async fn forget(&self, name: &TemplateName) -> Result<(), ProviderError> {
        if name.as_str() == "host" {
            return Err(ProviderError::Unfit { why: "the template `host` is always there".into() });
        }
        self.state.lock().unwrap().templates.remove(name);
        let _ = fs::remove_dir_all(self.template(name));
        Ok(())
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let copied = Command::new("cp").args(["-a", "--"]).arg(from.join(".")).arg(to).status()?;
    if copied.success() { Ok(()) } else { Err(io::Error::other("cp failed")) }
}

/// Ends an envd and everything that it started.
fn end(envd: &mut Child) {
    signal_all(envd.id(), Signal::CONT);
    loop {
        let left = descendants(envd.id());
        if left.is_empty() {
            break;
        }
        left.into_iter().for_each(|pid| send(pid, Signal::KILL));
        // What was killed is reaped by its envd.
        std::thread::sleep(Duration::from_millis(1));
        if !matches!(envd.try_wait(), Ok(None)) {
            break;
        }
    }
    let _ = envd.kill();
    let _ = envd.wait();
}

fn signal_all(envd: u32, signal: Signal) {
    send(envd, signal);
    descendants(envd).into_iter().for_each(|pid| send(pid, signal));
}

fn send(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

fn descendants(of: u32) -> Vec<u32> {
    let mut parents: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        // The name may hold anything; what follows the last bracket does not. A zombie is nobody.
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let (state, parent) = (fields.next(), fields.next().and_then(|parent| parent.parse().ok()));
        if let (Some(parent), true) = (parent, state != Some("Z")) {
            parents.entry(parent).or_default().push(pid);
        }
    }
    let (mut all, mut next) = (Vec::new(), vec![of]);
    while let Some(pid) = next.pop() {
        let children = parents.remove(&pid).unwrap_or_default();
        all.extend(&children);
        next.extend(children);
    }
    all
}

/// The daemon that the build of `carrel-sandbox` left beside everything else that was built.
fn find_envd() -> PathBuf {
    let given = ["CARREL_TEST_ENVD", "CARREL_ENVD"].into_iter().find_map(std::env::var_os).map(PathBuf::from);
    let built = || {
        let test = std::env::current_exe().unwrap();
        let arch = std::env::consts::ARCH;
        let places = test.ancestors().map(|folder| folder.join(format!("guest/{arch}-unknown-linux-gnu/guest/envd")));
        places.into_iter().find(|place| place.exists())
    };
    given
        .or_else(built)
        .expect("this test needs envd: `cargo build -p carrel-sandbox` builds it, or set CARREL_TEST_ENVD")
}

fn me() -> String {
    let uid = rustix::process::getuid().as_raw().to_string();
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mine = passwd.lines().find(|line| line.split(':').nth(2) == Some(&uid));
    mine.and_then(|line| line.split(':').next()).map_or(uid.clone(), str::to_owned)
}

fn unavailable(error: io::Error) -> ProviderError {
    ProviderError::Unavailable { why: error.to_string() }
}
