//! Two real servers: the sandboxes of the first live at the second, through E2B's API and nothing else.

use std::{path::Path, sync::Mutex, time::Duration};

use carrel_model::SandboxId;
use carrel_sandbox::{
    Provider, ProviderError,
    contract::{broken_promises, usual_spec},
    providers::e2b::{Config, E2b},
};
use carrel_testkit::Server;
use serde_json::Value;

use crate::binary;

/// A server with real sandboxes, which speaks E2B's API.
pub(crate) struct Cluster {
    data: tempfile::TempDir,
    pub server: Server,
}

impl Cluster {
    pub(crate) async fn open() -> Cluster {
        Cluster::with(&[]).await
    }

    async fn with(settings: &[(&str, &str)]) -> Cluster {
        assert!(rustix::process::geteuid().is_root(), "these tests make namespaces and need root");
        let data = tempfile::tempdir().unwrap();
        let mut server = Server::with(binary(), data.path())
            .env("CARREL_LOG_LEVEL", "error")
            .env("CARREL_SANDBOXES_PROVIDER", "local")
            .env("CARREL_LOCAL_DISK", "folder")
            .env("CARREL_LOCAL_POOL", "1");
        for (name, value) in settings {
            server = server.env(name, *value);
        }
        Cluster { data, server: server.start().await }
    }

    /// The key as E2B's clients spell it.
    pub(crate) fn key(&self) -> String {
        self.server.key.replace("crl_", "e2b_")
    }

    fn provider(&self) -> E2b {
        self.provider_with(self.key())
    }

    fn provider_with(&self, key: String) -> E2b {
        let config = Config {
            api_url: Some(self.server.url.clone()),
            sandbox_url: Some(self.server.url.clone()),
            domain: "e2b.app".into(),
            api_key: Some(key.into()),
            house: "tested".into(),
            templates: Default::default(),
            lease: Duration::from_secs(3600),
        };
        config.build().unwrap()
    }

    async fn run(&self, args: &[&str]) -> (i32, String, String) {
        run(&self.server.url, self.data.path(), args).await
    }

    /// The sandboxes that are here.
    pub(crate) async fn ids(&self) -> Vec<String> {
        let (code, ids, err) = self.run(&["sandbox", "ls", "-q"]).await;
        assert_eq!(code, 0, "{err}");
        ids.lines().map(str::to_owned).collect()
    }

    pub(crate) async fn close(self) {
        // What E2B was told to end is gone by its own books at once, and by the cluster's in a moment.
        loop {
            let (code, list, err) = self.run(&["sandbox", "ls", "--json"]).await;
            assert_eq!(code, 0, "{err}");
            let list: Value = serde_json::from_str(&list).unwrap();
            let list = list.as_array().or(list["items"].as_array()).unwrap().clone();
            if list.is_empty() {
                break;
            }
            assert!(list.iter().all(|sandbox| sandbox["want"] == "gone"), "sandboxes are left behind: {list:?}");
        }
        assert!(self.server.terminate().await.success());
        let slots = self.data.path().join("local/slots");
        assert_eq!(std::fs::read_dir(slots).unwrap().count(), 0, "files are left behind");
    }
}

/// A server whose sandboxes live at a cluster.
struct House {
    data: tempfile::TempDir,
    server: Option<Server>,
    cluster: Cluster,
}

impl House {
    async fn open() -> House {
        let mut house = House { data: tempfile::tempdir().unwrap(), server: None, cluster: Cluster::open().await };
        house.start().await;
        house
    }

    async fn start(&mut self) {
        let start = Server::with(binary(), self.data.path())
            .env("CARREL_LOG_LEVEL", "error")
            .env("CARREL_SANDBOXES_PROVIDER", "e2b")
            .env("CARREL_KEEPERS_SWEEP_S", "1")
            .env("E2B_API_URL", &self.cluster.server.url)
            .env("E2B_SANDBOX_URL", &self.cluster.server.url)
            .env("E2B_API_KEY", self.cluster.key());
        self.server = Some(start.start().await);
    }

    fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    async fn run(&self, args: &[&str]) -> (i32, String, String) {
        run(&self.server().url, self.data.path(), args).await
    }

    async fn good(&self, args: &[&str]) -> String {
        let (code, out, err) = self.run(args).await;
        assert_eq!(code, 0, "{args:?}: {out}{err}");
        out.trim().to_owned()
    }

    async fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.good(&[args, &["--json"]].concat()).await).unwrap()
    }

    async fn sh(&self, id: &str, script: &str) -> String {
        self.good(&["sandbox", "exec", id, "--", "sh", "-c", script]).await
    }

    async fn close(mut self) {
        let ids = self.good(&["sandbox", "ls", "-q"]).await;
        let ids: Vec<_> = ids.lines().collect();
        if !ids.is_empty() {
            self.good(&[&["sandbox", "rm", "--wait"], &ids[..]].concat()).await;
        }
        assert!(self.server.take().unwrap().terminate().await.success());
        self.cluster.close().await;
    }
}

async fn run(url: &str, data: &Path, args: &[&str]) -> (i32, String, String) {
    let output = tokio::process::Command::new(binary())
        .args(args)
        .env("CARREL_URL", url)
        .env("CARREL_DATA", data)
        .env_remove("CARREL_KEY")
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_e2b_provider_keeps_every_promise_at_our_own_door() {
    let cluster = Cluster::open().await;
    let broken = broken_promises(&|| Box::new(cluster.provider()) as Box<dyn Provider>).await;
    assert_eq!(broken, Vec::<String>::new());
    cluster.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_at_our_own_door_is_not_taken_for_a_rate() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let cluster = Cluster::with(&[("CARREL_QUOTAS_MEMBER_SANDBOXES", "1")]).await;
    let (code, key, err) = cluster.run(&["key", "create", "member", "--role", "member", "-q"]).await;
    assert_eq!(code, 0, "{err}");
    let provider = cluster.provider_with(key.trim().replace("crl_", "e2b_"));
    let (first, second): (SandboxId, SandboxId) =
        ("i0000000000000000001".parse().unwrap(), "i0000000000000000002".parse().unwrap());
    let spec = usual_spec(&provider).await;
    provider.create(&first, &spec).await.unwrap();
    let refused = provider.create(&second, &spec).await.unwrap_err();
    let ProviderError::Exhausted { why } = &refused else { panic!("{refused:?} is no quota") };
    assert!(why.contains("has 1 sandboxes, and 1 are allowed"), "{why}");
    // Whoever makes room has room, when it is gone.
    provider.destroy(&first).await.unwrap();
    while let Err(refused) = provider.create(&second, &spec).await {
        assert!(matches!(refused, ProviderError::Exhausted { .. }), "{refused:?}");
    }
    provider.destroy(&second).await.unwrap();
    cluster.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_desk_at_e2b_works_like_any_other() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let house = House::open().await;
    let made = house.json(&["sandbox", "create", "--wait", "--env", "WHO=me"]).await;
    assert_eq!((&made["provider"], &made["isolation"]), (&"e2b".into(), &"e2b".into()));
    let id = made["id"].as_str().unwrap();
    assert_ne!(house.cluster.ids().await, [id], "each house has its own name for it");

    assert_eq!(house.sh(id, "echo hi; id -un; echo $WHO $CARREL_SANDBOX_ID").await, format!("hi\nuser\nme {id}"));
    assert_eq!(house.run(&["sandbox", "exec", id, "--", "sh", "-c", "echo oops >&2; exit 7"]).await.0, 7);

    // Folders go and come as archives, though the door at E2B has no such thing.
    let folder = tempfile::tempdir().unwrap();
    let (there, back) = (folder.path().join("there"), folder.path().join("back"));
    std::fs::create_dir_all(there.join("deep")).unwrap();
    std::fs::write(there.join("deep/file with spaces"), vec![7; 300_000]).unwrap();
    let inside = format!("{id}:/home/user/copied");
    house.good(&["sandbox", "cp", there.to_str().unwrap(), &inside]).await;
    house.good(&["sandbox", "cp", &inside, back.to_str().unwrap()]).await;
    assert_eq!(house.sh(id, "cat '/home/user/copied/deep/file with spaces' | wc -c").await, "300000");
    assert_eq!(std::fs::read(back.join("deep/file with spaces")).unwrap(), vec![7; 300_000]);

    house.sh(id, "cd copied && (python3 -m http.server 8000 >/tmp/served 2>&1 &) ; until grep -q :1F40 /proc/net/tcp; do sleep 0.05; done").await;
    let url = format!("{}/api/v1/sandboxes/{id}/ports/8000/deep/", house.server().url);
    let asked = reqwest::Client::new().get(&url).bearer_auth(&house.server().key).send().await.unwrap();
    assert_eq!(asked.status().as_u16(), 200);
    assert!(asked.text().await.unwrap().contains("file with spaces"));
    let nobody = format!("{}/api/v1/sandboxes/{id}/ports/8001/", house.server().url);
    let asked = reqwest::Client::new().get(&nobody).bearer_auth(&house.server().key).send().await.unwrap();
    assert_eq!(asked.status().as_u16(), 502, "nobody listens there");

    house.json(&["sandbox", "stats", id]).await;
    let fork = house.good(&["sandbox", "fork", id, "-q"]).await;
    while house.json(&["sandbox", "show", &fork]).await["phase"] != "ready" {}
    assert_eq!(house.sh(&fork, "cat '/home/user/copied/deep/file with spaces' | wc -c").await, "300000");

    // A recipe is built there, with its files.
    std::fs::write(there.join("Recipefile"), "FROM base\nCOPY deep /opt/deep\nRUN echo built > /home/user/mark\n")
        .unwrap();
    house.good(&["template", "build", "mine", there.to_str().unwrap()]).await;
    let (code, _, told) = house.run(&["template", "log", "mine"]).await;
    assert!(code == 0 && told.contains("RUN echo built"), "how it was made is told again: {told}");
    let built = house.good(&["sandbox", "create", "--template", "mine", "--wait", "-q"]).await;
    assert_eq!(house.sh(&built, "cat /home/user/mark; wc -c < '/opt/deep/file with spaces'").await, "built\n300000");
    house.good(&["sandbox", "rm", "--wait", &built]).await;
    house.good(&["template", "rm", "mine"]).await;
    assert!(!house.cluster.run(&["template", "ls", "-q"]).await.1.contains("mine"));
    // The snapshot behind the fork goes when the fork stands.
    while house.cluster.run(&["template", "ls", "-q"]).await.1.contains("snapshot/") {}
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_desk_at_e2b_sleeps_wakes_and_outlives_its_house() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut house = House::open().await;
    let id = house.good(&["sandbox", "create", "--wait", "-q"]).await;
    let ticks = "(while :; do echo tick >> /tmp/ticks; sleep 0.01; done) >/dev/null 2>&1 &";
    house.sh(&id, ticks).await;
    house.good(&["sandbox", "pause", &id, "--wait"]).await;
    assert_eq!(house.json(&["sandbox", "show", &id]).await["paused"]["depth"], "stored");
    assert_eq!(house.run(&["sandbox", "exec", &id, "--", "true"]).await.0, 4, "what sleeps does nothing");
    house.good(&["sandbox", "resume", &id, "--wait"]).await;

    // Its lease ran out at E2B, or somebody there paused it: it is woken, since people want it.
    let there = house.cluster.ids().await.remove(0);
    let (code, _, err) = house.cluster.run(&["sandbox", "pause", &there, "--wait"]).await;
    assert_eq!(code, 0, "{err}");
    loop {
        let (_, shown, _) = house.cluster.run(&["sandbox", "show", &there, "--json"]).await;
        if serde_json::from_str::<Value>(&shown).unwrap()["phase"] == "ready" {
            break;
        }
    }
    while house.json(&["sandbox", "show", &id]).await["phase"] != "ready" {}

    // Its lease is about to end while people want it: it is prolonged, again and again.
    for _ in 0..2 {
        let url = format!("{}/api/v1/sandboxes/{there}/timeout", house.cluster.server.url);
        let body = serde_json::json!({ "timeout_s": 120 });
        let set = reqwest::Client::new().post(&url).bearer_auth(&house.cluster.server.key).json(&body).send().await;
        assert!(set.unwrap().status().is_success());
        loop {
            let (_, shown, _) = house.cluster.run(&["sandbox", "show", &there, "--json"]).await;
            let shown: Value = serde_json::from_str(&shown).unwrap();
            let end: jiff::Timestamp = shown["expires_at"].as_str().unwrap().parse().unwrap();
            if end > jiff::Timestamp::now() + jiff::SignedDuration::from_mins(10) {
                break;
            }
        }
    }

    house.server.take().unwrap().kill().await;
    house.start().await;
    let before = house.sh(&id, "wc -l < /tmp/ticks").await;
    while house.sh(&id, "wc -l < /tmp/ticks").await == before {}
    house.close().await;
}

#[tokio::test]
async fn a_key_that_is_missing_or_bad_is_a_warning_at_the_start() {
    let (there, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let cluster = Server::with(binary(), there.path()).env("CARREL_LOG_LEVEL", "error").start().await;
    let wrong = format!("e2b_{}", "0".repeat(40));
    for (key, expected) in [("", "has no key: set E2B_API_KEY"), (&wrong, "until E2B_API_KEY is a good one")] {
        let log = here.path().join("log");
        let server = Server::with(binary(), here.path())
            .env("CARREL_LOG_LEVEL", "warn")
            .env("E2B_API_URL", &cluster.url)
            .env("E2B_SANDBOX_URL", &cluster.url)
            .env("E2B_API_KEY", key)
            .log_to(std::fs::File::create(&log).unwrap())
            .start()
            .await;
        // The first sweep asks with the key.
        let said = loop {
            let said = std::fs::read_to_string(&log).unwrap();
            if said.contains(expected) {
                break said;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        assert!(!said.contains(&wrong), "the key is not told: {said}");
        let (_, told, _) = run(&server.url, here.path(), &["sandbox", "create", "--provider", "fake", "--wait"]).await;
        assert!(told.contains("ready"), "everything else works: {told}");
        assert!(server.terminate().await.success());
    }
    assert!(cluster.terminate().await.success());
}

#[tokio::test]
async fn without_a_key_the_start_warns_and_the_use_says_why() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::with(binary(), data.path()).env("CARREL_LOG_LEVEL", "error").start().await;
    let (code, _, err) = run(&server.url, data.path(), &["sandbox", "create", "--provider", "e2b", "--wait"]).await;
    assert!(code != 0 && err.contains("E2B_API_KEY"), "{code}: {err}");
    // Nothing moves to where it could not be: its desk stays.
    for args in [&["repo", "add", "--new", "town"][..], &["task", "new", "Stay", "--repo", "town", "--agent", "demo"]] {
        let (code, _, err) = run(&server.url, data.path(), args).await;
        assert_eq!(code, 0, "{err}");
    }
    let (code, _, err) = run(&server.url, data.path(), &["task", "move", "1", "--to", "e2b"]).await;
    assert!(code != 0 && err.contains("stays where it is") && err.contains("E2B_API_KEY"), "{code}: {err}");
    assert!(server.terminate().await.success());

    let said = Mutex::new(Vec::new());
    for (key, expected) in [("", "set E2B_API_KEY"), ("e2b_wrong", "does not answer")] {
        let output = tokio::process::Command::new(binary())
            .args(["doctor"])
            .env("CARREL_URL", "http://127.0.0.1:9")
            .env("CARREL_DATA", data.path())
            .env("E2B_API_URL", "http://127.0.0.1:9")
            .env("E2B_API_KEY", key)
            .output()
            .await
            .unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = told.lines().find(|line| line.contains("isolation e2b")).unwrap_or_default().to_owned();
        assert!(told.contains(expected), "{told}");
        said.lock().unwrap().push(line);
    }
    let (code, shown, _) = run("http://127.0.0.1:9", data.path(), &["config"]).await;
    assert_eq!(code, 0);
    assert!(shown.contains("e2b.api_key"), "{shown}");
    assert!(!said.lock().unwrap().concat().contains("e2b_wrong"));
}

/// A folder with a repository of a few commits.
fn repository(folder: &Path) {
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.current_dir(folder).args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]).args(args);
        let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    std::fs::create_dir_all(folder).unwrap();
    git(&["init", "-q", "-b", "main"]);
    for number in 0..3 {
        std::fs::write(folder.join("history.txt"), number.to_string()).unwrap();
        git(&["add", "-A"]);
        git(&["commit", "-q", "-m", &format!("feat: {number}")]);
    }
    git(&["checkout", "-q", "--detach"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_at_e2b_has_its_checkout_without_any_way_to_the_house_and_becomes_a_merged_pull() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let house = House::open().await;
    let upstream = house.data.path().join("upstream");
    repository(&upstream);
    let client = reqwest::Client::new();
    let ask = async |path: &str, body: Value| {
        let url = format!("{}/api/v1{path}", house.server().url);
        let answer = client.post(&url).bearer_auth(&house.server().key).json(&body).send().await.unwrap();
        let (status, body) = (answer.status(), answer.text().await.unwrap());
        assert!(status.is_success(), "{path}: {status} {body}");
        serde_json::from_str::<Value>(&body).unwrap()
    };
    ask("/repos", serde_json::json!({"name": "hello", "source": upstream})).await;
    ask("/repos/hello/sync", Value::Null).await;
    // The first turn is refused: it brings a key. The second is told so, and takes it out.
    let key = format!("AKIA{}", "Z7QXM3RTPLK2WV5N");
    let turns = format!(
        "git fetch -q origin && git log --oneline origin/main >seen.txt
         if test -e .git/again; then git reset -q --soft origin/main; echo KEY= >env; else echo KEY={key} >env; fi
         git add -A && git commit -qm 'feat: settings' && git push -q -f origin HEAD:task-1
         touch .git/again; echo later >>later.txt"
    );
    ask("/agents", serde_json::json!({"name": "scribe", "dialect": "shell", "command": turns})).await;
    let wanted = serde_json::json!({"repo": "hello", "agent": "scribe", "title": "Add settings", "start": true});
    let task = ask("/tasks?wait=in_review&timeout=300", wanted).await;
    assert_eq!((&task["phase"], &task["pull"]["phase"]), (&"in_review".into(), &"mergeable".into()), "{task:#}");
    let desk = task["sandbox_id"].as_str().unwrap();
    let told =
        house.sh(desk, "cd /workspace && git status --porcelain && git remote get-url origin && wc -l <seen.txt").await;
    assert_eq!(told, "/workspace.git\n3");
    // No key, no token, no address of the house is anywhere inside.
    let (key, url) = (&house.server().key, &house.server().url);
    let search = format!(
        "grep -rlF -e '{key}' -e '{url}' /workspace /workspace.git /home/user /tmp 2>/dev/null; env | grep -e crl_ -e {url}; true"
    );
    assert_eq!(house.sh(desk, &search).await, "");
    let task = ask("/tasks/1/merge?wait=merged&timeout=300", serde_json::json!({})).await;
    assert_eq!(task["phase"], "merged", "{task:#}");
    let shown = std::process::Command::new("git").current_dir(&upstream).args(["show", "main:env"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&shown.stdout), "KEY=\n");
    while house.json(&["task", "show", "1"]).await["sandbox_id"].is_string() {}
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_moves_from_e2b_to_this_machine_and_back_with_all_that_was_done() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let house = House::open().await;
    let upstream = house.data.path().join("upstream");
    repository(&upstream);
    house.good(&["repo", "add", upstream.to_str().unwrap(), "--name", "hello"]).await;
    // Each turn commits one file, leaves another that nobody commits, and asks.
    let turn = "n=$(ls step.* 2>/dev/null | wc -l); echo $n >step.$n; git add step.$n; git commit -qm \"feat: step $n\"; \
                echo $n >>loose; echo \"QUESTION: done with $n?\"";
    house.good(&["agent", "add", "asks", "--dialect", "shell", "--command", turn]).await;
    house.good(&["task", "new", "Count", "--repo", "hello", "--agent", "asks", "--start"]).await;
    let settled = async |places: usize| {
        loop {
            let task = house.json(&["task", "show", "1"]).await;
            let asked = house.good(&["task", "logs", "1"]).await.contains(&format!("done with {}?", places - 1));
            if task["phase"] == "needs_you" && task["sandbox_id"].is_string() && asked {
                return task["sandbox_id"].as_str().unwrap().to_owned();
            }
            assert_ne!(task["phase"], "failed", "{task:#}");
        }
    };
    let mut desk = settled(1).await;
    for (count, place) in [(2, "local"), (3, "e2b")] {
        house.good(&["task", "move", "1", "--to", place]).await;
        house.good(&["task", "message", "1", "go on"]).await;
        let next = settled(count).await;
        assert_ne!(next, desk, "a new desk");
        desk = next;
        assert_eq!(house.json(&["sandbox", "show", &desk]).await["provider"], place);
        let found =
            house.sh(&desk, "cd /workspace && git log --oneline origin/main..HEAD | wc -l; cat step.* loose").await;
        let numbers: Vec<String> = (0..count).map(|number| number.to_string()).collect();
        assert_eq!(found, format!("{count}\n{0}\n{0}", numbers.join("\n")));
    }
    let (code, _, err) = house.run(&["task", "move", "1", "--to", "nowhere"]).await;
    assert!(code != 0 && err.contains("there is no provider"), "{err}");
    house.good(&["task", "close", "1", "--wait"]).await;
    while house.json(&["task", "show", "1"]).await["sandbox_id"].is_string() {}
    house.close().await;
}
