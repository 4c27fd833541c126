//! What the tests work with: a house's git room, plain working trees, and a door that speaks HTTP.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::Engine;
use carrel_git::{
    Git, Layers, Mirror, Mirrors, Upstream,
    gateway::{ContentRules, Service, Version, View},
};
use carrel_model::{
    Branch, CommitId, RepoSource, TaskId,
    push::{PushLimits, Pusher},
};
use http_body_util::BodyExt;

pub(crate) struct Room {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) git: Git,
    pub(crate) mirrors: Mirrors,
}

impl Room {
    pub(crate) async fn open() -> Room {
        let folder = tempfile::tempdir().unwrap();
        let git = Git::open(&folder.path().join("git")).await.unwrap();
        let mirrors = Mirrors::open(git.clone(), &folder.path().join("mirrors")).unwrap();
        Room { folder, git, mirrors }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) async fn mirror(&self, name: &str) -> Mirror {
        self.mirrors.get(&name.parse().unwrap()).await.unwrap()
    }

    pub(crate) fn layers(&self) -> Layers {
        Layers::open(self.git.clone(), &self.path("layers"), None).unwrap()
    }

    /// A working tree of a person, with one commit.
    pub(crate) fn work(&self, name: &str) -> Work {
        let work = Work { folder: self.path(name), home: self.path("home") };
        std::fs::create_dir_all(&work.folder).unwrap();
        std::fs::create_dir_all(&work.home).unwrap();
        work.git(&["init", "-q", "-b", "main"]);
        work.write("README.md", "hello\n");
        work.commit("feat: begin");
        work
    }

    /// A clone of an address.
    pub(crate) fn clone(&self, url: &str, name: &str, options: &[&str]) -> Work {
        let work = Work { folder: self.path(name), home: self.path("home") };
        std::fs::create_dir_all(&work.home).unwrap();
        let above = Work { folder: self.folder.path().to_owned(), home: work.home.clone() };
        above.git(&[&["clone", "-q"], options, &[url, name]].concat());
        work
    }

    /// An upstream that is followed with little patience.
    pub(crate) fn upstream(&self, source: &str) -> Upstream {
        let source: RepoSource = source.parse().unwrap();
        Upstream { retries: 3, pause: Duration::from_millis(5), ..Upstream::new(source, None) }
    }

    /// A mirror of a working tree, brought up to date.
    pub(crate) async fn mirror_of(&self, work: &Work) -> Mirror {
        let mirror = self.mirror("app").await;
        mirror.sync(&self.upstream(work.folder.to_str().unwrap())).await.unwrap();
        mirror
    }
}

/// A person's working tree.
#[derive(Clone)]
pub(crate) struct Work {
    pub(crate) folder: PathBuf,
    pub(crate) home: PathBuf,
}

impl Work {
    pub(crate) fn try_git(&self, args: &[&str]) -> Output {
        self.command("git").args(args).output().unwrap()
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.folder).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        for (name, value) in [
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_AUTHOR_NAME", "Ada"),
            ("GIT_AUTHOR_EMAIL", "ada@example.org"),
            ("GIT_COMMITTER_NAME", "Ada"),
            ("GIT_COMMITTER_EMAIL", "ada@example.org"),
            ("LC_ALL", "C.UTF-8"),
        ] {
            command.env(name, value);
        }
        command.env("HOME", &self.home);
        command
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = self.try_git(args);
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// What git says on its second voice when it is refused.
    pub(crate) fn refused(&self, args: &[&str]) -> String {
        let output = self.try_git(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "git {args:?} was not refused: {said}");
        said
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let place = self.folder.join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, content).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.folder.join(path)).unwrap()
    }

    pub(crate) fn commit(&self, message: &str) -> CommitId {
        self.git(&["add", "--all"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.head()
    }

    pub(crate) fn head(&self) -> CommitId {
        self.git(&["rev-parse", "HEAD"]).parse().unwrap()
    }
}

/// A door that serves one mirror over HTTP. The path begins with who comes: `/task-42/app.git` or `/person/app.git`.
pub(crate) struct Door {
    pub(crate) address: String,
    pub(crate) asked: Arc<AtomicUsize>,
    serving: tokio::task::JoinHandle<()>,
}

type Witness = Box<dyn Fn() + Send + Sync>;

#[derive(Clone)]
struct Behind {
    mirror: Mirror,
    rules: ContentRules,
    limits: PushLimits,
    password: Option<String>,
    asked: Arc<AtomicUsize>,
    stumbles: Arc<AtomicUsize>,
    stumble: Stumble,
    witness: Arc<Option<Witness>>,
    said: Arc<Mutex<Vec<String>>>,
}

pub(crate) struct DoorPlan {
    pub(crate) rules: ContentRules,
    pub(crate) limits: PushLimits,
    /// Who comes must show it.
    pub(crate) password: Option<String>,
    /// So many questions are not answered well at first.
    pub(crate) stumbles: usize,
    /// How they are answered instead.
    pub(crate) stumble: Stumble,
    /// Looks around whenever somebody asks.
    pub(crate) witness: Option<Witness>,
}

/// What a door does instead of answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stumble {
    /// Whose questions are meant: their addresses hold this.
    pub(crate) at: &'static str,
    pub(crate) by: By,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// It says that something is wrong.
    Status(u16),
    /// It does what it is asked, and says that something is wrong.
    Forgetting,
    /// Somebody else answers, with a page for people.
    Page,
    /// It hangs up in the middle of its answer.
    HangingUp,
}

impl Default for DoorPlan {
    fn default() -> Self {
        let (rules, limits) = (ContentRules::usual(), PushLimits::default());
        let stumble = Stumble { at: "", by: By::Status(503) };
        DoorPlan { rules, limits, password: None, stumbles: 0, stumble, witness: None }
    }
}

impl Door {
    pub(crate) async fn open(mirror: &Mirror) -> Door {
        Door::with(mirror, DoorPlan::default()).await
    }

    pub(crate) async fn with(mirror: &Mirror, plan: DoorPlan) -> Door {
        let asked = Arc::new(AtomicUsize::new(0));
        let behind = Behind {
            mirror: mirror.clone(),
            rules: plan.rules,
            limits: plan.limits,
            password: plan.password,
            asked: Arc::clone(&asked),
            stumbles: Arc::new(AtomicUsize::new(plan.stumbles)),
            stumble: plan.stumble,
            witness: Arc::new(plan.witness),
            said: Arc::default(),
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(behind);
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Door { address, asked, serving }
    }

    pub(crate) fn url(&self, who: &str) -> String {
        format!("{}/{who}/app.git", self.address)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(State(behind): State<Behind>, request: Request) -> Response {
    behind.asked.fetch_add(1, Ordering::SeqCst);
    if let Some(witness) = &*behind.witness {
        witness();
    }
    let is_meant = request.uri().to_string().contains(behind.stumble.at);
    let stumble = |left: usize| left.checked_sub(1);
    if is_meant && behind.stumbles.fetch_update(Ordering::SeqCst, Ordering::SeqCst, stumble).is_ok() {
        return match behind.stumble.by {
            By::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
            By::Page => axum::response::Html("<h1>We are back soon</h1>").into_response(),
            By::Forgetting => {
                serve(&behind, request).await.unwrap();
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
            By::HangingUp => {
                let (head, body) = serve(&behind, request).await.unwrap().into_parts();
                let whole = body.collect().await.unwrap().to_bytes();
                let pieces = [Ok(whole.slice(..whole.len() / 2)), Err(std::io::Error::other("it hangs up"))];
                Response::from_parts(head, Body::from_stream(futures::stream::iter(pieces)))
            }
        };
    }
    if let Some(password) = &behind.password {
        let expected = base64::prelude::BASE64_STANDARD.encode(format!("x-access-token:{password}"));
        let shown = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        if shown != Some(&format!("Basic {expected}")) {
            let realm = [(header::WWW_AUTHENTICATE, "Basic realm=\"test\"")];
            return (StatusCode::UNAUTHORIZED, realm).into_response();
        }
    }
    match serve(&behind, request).await {
        Ok(response) => response,
        Err(error) => {
            behind.said.lock().unwrap().push(format!("{error:?}"));
            (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response()
        }
    }
}

async fn serve(behind: &Behind, request: Request) -> Result<Response, carrel_git::GitError> {
    let path = request.uri().path().to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let who = path.split('/').nth(1).unwrap_or_default().to_owned();
    let task: Option<TaskId> = who.parse::<Branch>().ok().and_then(|branch| branch.task());
    let headers = request.headers().clone();
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let version = Version::from_header(&header("git-protocol").unwrap_or_default());
    let zipped = header("content-encoding").as_deref() == Some("gzip");
    let (mirror, view) = (&behind.mirror, View { holder: task.map(carrel_model::Holder::Task) });
    let typed = |kind: String, body: Body| ([(header::CONTENT_TYPE, kind)], body).into_response();
    if path.ends_with("/info/refs") {
        let name = query.strip_prefix("service=").unwrap_or_default();
        let Some(service) = Service::from_name(name) else { return Ok(StatusCode::FORBIDDEN.into_response()) };
        let shown = mirror.advertise(service, version, view).await?;
        return Ok(typed(format!("application/x-{name}-advertisement"), shown.into()));
    }
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let body = if zipped { unzip(&body) } else { body };
    if path.ends_with("/git-upload-pack") {
        let mut upload = mirror.upload(version, view, std::io::Cursor::new(body))?;
        let mut whole = Vec::new();
        loop {
            let piece = upload.next().await?;
            if piece.is_empty() {
                break;
            }
            whole.extend(piece);
        }
        return Ok(typed("application/x-git-upload-pack-result".into(), whole.into()));
    }
    let pusher = match task {
        Some(task) => Pusher::Task { task, branch: Branch::of_task(task) },
        None => {
            Pusher::Person { hosted: true, default_branch: mirror.default_branch().await?, format: Default::default() }
        }
    };
    let received = mirror.receive(&mut &body[..], &pusher, &behind.limits, &behind.rules).await?;
    Ok(typed("application/x-git-receive-pack-result".into(), received.answer.into()))
}

fn unzip(body: &Bytes) -> Bytes {
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&body[..]), &mut plain).unwrap();
    plain.into()
}

/// Everything below a folder, for looking at what was left behind.
pub(crate) fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        found.push(entry.path());
        if entry.file_type().unwrap().is_dir() {
            found.extend(below(&entry.path()));
        }
    }
    found
}
