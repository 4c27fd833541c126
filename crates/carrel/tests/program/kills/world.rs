//! The world of the campaign: an upstream, a house in front of it, an agent, and hands that kill.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use carrel_testkit::{Mood, Redis, Server, TestDatabase, Upstream};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};

use super::{
    Blow, End, Plan, Step, Victim,
    hard::{self, Hard},
    text,
};
use crate::binary;

/// How many commits an agent makes.
pub(super) const COMMITS: usize = 3;

/// Makes each commit once, however often it is begun anew, and says what the house has taken.
const AGENT: &str = r#"for step in 1 2 3; do
    file="$CARREL_BRANCH.$step"
    if ! [ -s "$file" ]; then
        echo "$CARREL_BRANCH $step" >.git/written && mv .git/written "$file" || exit 1
        [ "$step" = 3 ] && [ "$((${CARREL_TASK} % 3))" = 0 ] && { echo "left $file"; continue; }
        git add -A && git commit -qm "feat: step $step of $CARREL_BRANCH" || exit 1
    fi
    git push -q origin HEAD 2>/dev/null && echo "pushed $(git rev-parse HEAD)"
    sleep 0.15
done"#;

pub(super) struct World<'d> {
    database: &'d TestDatabase,
    server: Option<Server>,
    hard: Option<Hard>,
    /// The upstream's door on the web, when it can be struck harder.
    door: Option<Upstream>,
    redis: Option<Redis>,
    http: Client,
    /// Where the base was when it was last looked at.
    pub(super) base: String,
    /// The tasks so far, and how each was to end.
    pub(super) tasks: Vec<(i64, End)>,
    /// The last to go: the server ends and the disk is taken away before it.
    pub(super) folder: tempfile::TempDir,
}

/// Runs git outside.
pub(super) fn git(repository: &Path, args: &[&str]) -> String {
    let output = std::process::Command::new("git")
        .arg("--git-dir")
        .arg(repository)
        .args(["-c", "safe.directory=*", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
        .args(args)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

impl<'d> World<'d> {
    pub(super) async fn open(database: &'d TestDatabase) -> World<'d> {
        World::build(database, false).await
    }

    /// One that can be struck harder.
    pub(super) async fn open_hard(database: &'d TestDatabase) -> World<'d> {
        World::build(database, true).await
    }

    async fn build(database: &'d TestDatabase, is_hard: bool) -> World<'d> {
        assert!(rustix::process::geteuid().is_root(), "this test makes namespaces and needs root");
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        let upstream = folder.path().join("up.git");
        std::fs::create_dir(&upstream).unwrap();
        git(&upstream, &["init", "-q", "--bare", "-b", "main"]);
        let tree = git(&upstream, &["hash-object", "-t", "tree", "-w", "/dev/null"]);
        let first = git(&upstream, &["commit-tree", "-m", "chore: begin", &tree]);
        git(&upstream, &["update-ref", "refs/heads/main", &first]);
        let http = Client::builder().no_proxy().timeout(Duration::from_secs(400)).build().unwrap();
        let hard = is_hard.then(|| Hard::open(&folder.path().join("data")));
        let door = if is_hard { Some(Upstream::open(folder.path()).await) } else { None };
        let redis = if is_hard && database.is_postgres() { Some(Redis::start().await) } else { None };
        let mut world =
            World { database, server: None, hard, door, redis, http, base: first, tasks: Vec::new(), folder };
        world.serve().await;
        let path = world.upstream().display().to_string();
        let source = world.door.as_ref().map_or(path, |door| door.url("up.git"));
        world.post("/repos", json!({"source": source, "name": "town"})).await;
        world.post("/repos/town/sync", json!({})).await;
        world.post("/agents", json!({"name": "steady", "dialect": "shell", "command": AGENT})).await;
        world
    }

    pub(super) fn upstream(&self) -> PathBuf {
        self.folder.path().join("up.git")
    }

    pub(super) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The newest generation of the mirror.
    pub(super) fn mirror(&self) -> PathBuf {
        let folder = self.data().join("library/mirrors/town");
        let number = |path: &PathBuf| path.file_stem().and_then(|name| name.to_str()?.parse::<u64>().ok());
        let generations = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
        generations.filter(|path| number(path).is_some()).max_by_key(number).unwrap()
    }

    async fn serve(&mut self) {
        let mut server = Server::with(binary(), &self.data())
            .args(["--database", &self.database.url()])
            .env("CARREL_DATABASE_SCHEMA", self.database.options().schema.clone())
            .env("CARREL_LOG_LEVEL", "error")
            .env("CARREL_SANDBOXES_PROVIDER", "local")
            .env("CARREL_LOCAL_DISK", "folder")
            .env("CARREL_LOCAL_POOL", "1")
            .env("CARREL_KEEPERS_SWEEP_S", "1")
            .env("CARREL_LIMITS_REQUESTS_PER_SECOND", "0");
        if let Some(redis) = &self.redis {
            server = server.args(["--redis", &redis.url()]);
        }
        for (name, value) in self.hard.iter().flat_map(Hard::environment) {
            server = server.env(name, value);
        }
        self.server = Some(server.start().await);
    }

    /// Asks until somebody answers: what is killed meanwhile comes back.
    pub(super) async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> (StatusCode, Value) {
        let server = self.server.as_ref().unwrap();
        loop {
            let request = self.http.request(method.clone(), format!("{}/api/v1{path}", server.url));
            let request = request.bearer_auth(&server.key);
            let request = if let Some(body) = body { request.json(body) } else { request };
            match request.send().await {
                Ok(response) if response.status() == StatusCode::SERVICE_UNAVAILABLE => {}
                Ok(response) => return (response.status(), response.json().await.unwrap_or(Value::Null)),
                Err(error) => panic!("{method} {path}: {error:?}"),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(super) async fn look(&self, path: &str) -> Value {
        let (status, answer) = self.ask(Method::GET, path, None).await;
        assert_eq!(status, StatusCode::OK, "{path}: {answer}");
        answer
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self.ask(Method::POST, path, Some(&body)).await;
        assert!(status.is_success(), "{path}: {status} {answer}");
        answer
    }

    pub(super) async fn task(&self, id: i64) -> Value {
        self.look(&format!("/tasks/{id}")).await
    }

    /// Plays one run to its end, and says how often a person had to say `retry`.
    pub(super) async fn play(&mut self, plan: &Plan) -> u32 {
        let card = json!({"repo": "town", "agent": "steady", "title": "Do the steps", "start": true});
        let id = self.post("/tasks", card).await["id"].as_i64().unwrap();
        self.tasks.push((id, plan.end));
        for blow in plan.blows.iter().filter(|blow| blow.step < Step::Review) {
            self.until_at(id, blow.step).await;
            self.strike(id, *blow).await;
        }
        let mut helped = self.until_phase(id, "in_review", "retry").await;
        self.strike_at(id, plan, &[Step::Review]).await;
        let (verb, phase) = match plan.end {
            End::InReview => return helped + self.until_phase(id, "in_review", "retry").await,
            End::Merged => ("merge", "merged"),
            End::Closed => ("close", "closed"),
        };
        self.post(&format!("/tasks/{id}/{verb}"), json!({})).await;
        self.strike_at(id, plan, &[Step::Merge, Step::Close]).await;
        helped += self.until_phase(id, phase, verb).await;
        self.strike_at(id, plan, &[Step::Tidy]).await;
        helped
    }

    async fn strike_at(&mut self, id: i64, plan: &Plan, steps: &[Step]) {
        for blow in plan.blows.iter().filter(|blow| steps.contains(&blow.step)) {
            self.strike(id, *blow).await;
        }
    }

    /// Waits until a task is seen at a step, or beyond it.
    async fn until_at(&self, id: i64, step: Step) {
        let before: &[&str] = match step {
            Step::Prepare => &["queued"],
            Step::Work => &["queued", "preparing"],
            Step::Commit => &["queued", "preparing"],
            _ => &["queued", "preparing", "working"],
        };
        while before.contains(&text(&self.task(id).await, "phase")) {}
        if step == Step::Commit {
            let is_working = async || text(&self.task(id).await, "phase") == "working";
            while self.pushed(id).await.is_empty() && is_working().await {}
        }
    }

    /// Waits until a task is where it should be. One that needs somebody gets one word, which is counted; one that went
    /// back to work is asked again.
    async fn until_phase(&self, id: i64, phase: &str, verb: &str) -> u32 {
        let mut helped = 0;
        loop {
            let path = format!("/tasks/{id}?wait={phase}&timeout=120");
            let task = self.look(&path).await;
            match text(&task, "phase") {
                now if now == phase => return helped,
                "needs_you" => {
                    helped += 1;
                    let why = &task["needs"];
                    assert!(
                        helped <= 3,
                        "task {id} needs somebody again and again: {why}\n{:#}",
                        self.timeline(id).await
                    );
                    assert_ne!(text(why, "detail"), "", "it does not say why");
                    self.post(&format!("/tasks/{id}/retry"), json!({})).await;
                }
                // Its agent was asked to settle something; the wish is said again when it is back.
                "in_review" if task["want"] == "review" => {
                    drop(self.post(&format!("/tasks/{id}/{verb}"), json!({})).await)
                }
                _ => {}
            }
        }
    }

    pub(super) async fn timeline(&self, id: i64) -> Value {
        self.look(&format!("/tasks/{id}/timeline?limit=1000")).await["items"].take()
    }

    /// The commits that the agent of a task saw taken in.
    pub(super) async fn pushed(&self, id: i64) -> Vec<String> {
        let items = self.timeline(id).await;
        let lines = items.as_array().unwrap().iter().filter(|item| item["role"] == "agent");
        let lines = lines.flat_map(|item| text(item, "text").lines().map(str::to_owned).collect::<Vec<_>>());
        lines.filter_map(|line| line.strip_prefix("pushed ").map(str::to_owned)).collect()
    }

    async fn strike(&mut self, id: i64, blow: Blow) {
        // The random point: a real delay, not a wait for something.
        tokio::time::sleep(Duration::from_millis(blow.late_ms)).await;
        let away = Duration::from_millis(blow.away_ms);
        let desk = self.task(id).await["sandbox_id"].as_str().map(str::to_owned);
        match blow.victim {
            Victim::Server => {
                self.server.take().unwrap().kill().await;
                self.serve().await;
            }
            Victim::Agent => {
                if let Some(desk) = desk {
                    let body = json!({"command": "kill -9 -1"});
                    self.ask(Method::POST, &format!("/sandboxes/{desk}/execute"), Some(&body)).await;
                }
            }
            Victim::Sandbox => {
                if let Some(first) = desk.and_then(|desk| self.first_process(&desk)) {
                    let _ = rustix::process::kill_process(first, rustix::process::Signal::KILL);
                }
            }
            Victim::Database => self.database.cut(away).await,
            Victim::Forge => {
                let (here, gone) = (self.upstream(), self.folder.path().join("away.git"));
                std::fs::rename(&here, &gone).unwrap();
                tokio::time::sleep(away).await;
                std::fs::rename(&gone, &here).unwrap();
            }
            Victim::Launcher => {
                for launcher in self.launchers() {
                    let _ = rustix::process::kill_process(launcher, rustix::process::Signal::KILL);
                }
            }
            Victim::Disk => self.hard.as_ref().unwrap().fill(away).await,
            // Five hours at most, to either side: away from where it was before.
            Victim::Clock => self.hard.as_ref().unwrap().jump((blow.away_ms as i64 - 950) * 24),
            Victim::Postgres => self.database.crash().await,
            Victim::Line => hard::disturb_the_line(5 + blow.late_ms / 4, away).await,
            Victim::Redis => self.redis.as_mut().unwrap().restart(away).await,
            Victim::Upstream => {
                let moods = [Mood::Broken, Mood::Page, Mood::Hasty, Mood::Silent];
                let door = self.door.as_ref().unwrap();
                door.is(moods[blow.late_ms as usize % moods.len()]);
                tokio::time::sleep(away).await;
                door.is(Mood::Well);
            }
        }
    }

    /// What somebody holds, where leases and lanes are kept.
    pub(super) async fn held(&self) -> Vec<String> {
        let mut held = self.database.held(self.redis.is_none()).await;
        if let Some(redis) = &self.redis {
            let socket = redis.url().replace("redis+unix://", "");
            let told = std::process::Command::new("redis-cli")
                .args(["-s", &socket, "--raw", "KEYS", "carrel:*:lane:*"])
                .output()
                .expect("`scripts/setup test` installs it with redis-server");
            assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
            let lanes = String::from_utf8_lossy(&told.stdout).into_owned();
            held.extend(lanes.lines().filter(|line| !line.is_empty()).map(str::to_owned));
        }
        held
    }

    pub(super) fn server_pid(&self) -> Option<u32> {
        self.server.as_ref().map(Server::pid)
    }

    /// The first process of a sandbox, as the provider has written it down.
    fn first_process(&self, desk: &str) -> Option<rustix::process::Pid> {
        let records = std::fs::read_dir(self.data().join("local/slots")).ok()?.flatten();
        let records = records.filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
        let mut records = records.filter_map(|text| serde_json::from_str::<Value>(&text).ok());
        let record = records.find(|record| record["id"] == desk)?;
        rustix::process::Pid::from_raw(record["first"]["pid"].as_i64()? as i32)
    }

    /// Closes what is left, and sees the house empty.
    pub(super) async fn finish(&mut self) {
        for (id, end) in self.tasks.clone() {
            if end == End::InReview {
                self.post(&format!("/tasks/{id}/close"), json!({})).await;
                self.until_phase(id, "closed", "close").await;
            }
        }
        let all = std::mem::take(&mut self.tasks).into_iter().map(|(id, end)| match end {
            End::InReview => (id, End::Closed),
            end => (id, end),
        });
        self.tasks = all.collect();
        super::audit::walk(self, usize::MAX).await;
        let nodes = self.look("/nodes").await;
        let node =
            nodes["items"].as_array().unwrap().iter().find(|node| node["answers"] == true).map(|node| text(node, "id"));
        let node = node.expect("a house is a node").to_owned();
        assert!(self.server.take().unwrap().terminate().await.success());
        super::audit::upstream(self);
        super::audit::free(self).await;
        super::audit::empty(self.folder.path(), &node);
        drop(self.hard.take());
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(self.folder.path().to_str().unwrap()), "mounts are left behind");
    }
}
