//! Real agent programs inside real sandboxes, with the understudy as the model behind `/llm`: from a card to a merged
//! pull request, and what happens when they fail, ask, forget, loop or die.
//!
//! They are run by `tests/agents/run`, which installs the programs.

use carrel_control::{ModelProvider, Models};
use carrel_testkit::TestDatabase;
use carrel_understudy::{Act, Script, Scripts, Tool, Understudy};
use reqwest::Method;
use serde_json::{Value, json};

use super::PATIENCE;
use crate::yard::Yard;

/// A house in which programs can be asked for, and the model that they ask.
struct Stage {
    yard: Yard,
    model: Understudy,
    database: TestDatabase,
    name: &'static str,
}

const COMMIT: &str = "git add -A && git commit -q -m 'fix: the answer is known'";

fn scripts() -> Scripts {
    let mends = Script::new()
        .then(Act {
            say: Some("I will run the check first.".into()),
            tool: Some(Tool::Run("sh check.sh".into())),
            ..Act::default()
        })
        .write("answer.txt", "42\n")
        .run(&format!("sh check.sh && {COMMIT}"))
        .say("The check passes now.");
    let asks =
        Script::new().say("QUESTION: Which colour?").write("colour.txt", "blue\n").run(COMMIT).say("It is blue now.");
    let forgets = Script::new().write("answer.txt", "42\n").say("I am done.");
    let idles = Script::new().say("I am done.").write("answer.txt", "42\n").run(COMMIT).say("Now I am done.");
    let loops = Script::new().run("true").forever();
    // It takes everything with it that runs here, once.
    let dies = Script::new()
        .write("answer.txt", "42\n")
        .run("test -e /tmp/once || { touch /tmp/once; kill -9 -1; }")
        .run(COMMIT)
        .say("I am done.");
    let all =
        [("mends", mends), ("asks", asks), ("forgets", forgets), ("idles", idles), ("loops", loops), ("dies", dies)];
    Scripts(all.map(|(name, script)| (name.to_owned(), script)).into())
}

impl Stage {
    /// Opens a house with a template that has the program in it.
    async fn set(name: &'static str) -> Stage {
        let programs = std::env::var("CARREL_AGENT_PROGRAMS").expect("tests/agents/run says where the programs are");
        let model = Understudy::start(scripts(), "/workspace").await.unwrap();
        let mut models = Models::default();
        for name in ["anthropic", "openai"] {
            let provider = ModelProvider::new(name.parse().unwrap(), None, &model.url()).unwrap();
            models.providers.insert(provider.name.clone(), provider);
        }
        let database = TestDatabase::sqlite();
        let yard = Yard::asking(&database, models).await;
        for secret in ["anthropic-api-key", "openai-api-key"] {
            yard.post("/api/v1/secrets", json!({"name": secret, "value": KEY})).await;
        }
        let shop = yard.sandbox(json!({})).await;
        let program = std::fs::canonicalize(std::path::Path::new(&programs).join(name)).unwrap();
        let file = reqwest::Body::from(tokio::fs::read(program).await.unwrap());
        let path = format!("/api/v1/sandboxes/{}/files?path=/home/user/bin/{name}", shop.id);
        let (status, answer) = yard.house.ask(yard.house.request(Method::PUT, &path).body(file)).await;
        assert!(status.is_success(), "{answer}");
        yard.sh(&shop, &format!("chmod 755 /home/user/bin/{name} && /home/user/bin/{name} --version")).await;
        let mut made = yard.post(&format!("/api/v1/sandboxes/{}/snapshot", shop.id), json!({"name": "programs"})).await;
        let template = made["name"].as_str().unwrap().to_owned();
        while made["phase"] != "ready" {
            assert_ne!(made["phase"], "failed", "{made}");
            made = yard.look(&format!("/api/v1/templates/{}", template.replace('/', "%2F"))).await;
        }
        yard.remove(&shop).await;
        let model_name = if name == "opencode" { "anthropic/claude-sonnet-4-5" } else { "claude-sonnet-4-5" };
        let path = "/home/user/bin:/usr/local/bin:/usr/bin:/bin";
        let agent =
            json!({"name": name, "dialect": name, "model": model_name, "template": template, "env": {"PATH": path}});
        yard.post("/api/v1/agents", agent).await;
        let upstream = yard.repo("hello").await;
        std::fs::write(upstream.join("check.sh"), "grep -q 42 answer.txt || { echo 'no answer'; exit 1; }\n").unwrap();
        crate::yard::commit(&upstream, "test: ask for the answer").await;
        yard.sync("hello").await;
        Stage { yard, model, database, name }
    }

    async fn card(&self, script: &str, phase: &str) -> Value {
        let body = json!({"repo": "hello", "agent": self.name, "title": format!("Do what is asked ({script})"),
            "prompt": format!("Make check.sh pass. [script {script}]"), "start": true});
        let task = self.yard.post(&format!("/api/v1/tasks?wait={phase}&timeout={PATIENCE}"), body).await;
        self.yard.expect(&task, phase).await;
        task
    }

    /// Nobody inside was ever shown the key, and the model was never asked without it.
    async fn close(self) {
        let seen = self.model.seen();
        assert!(!seen.is_empty() && seen.iter().all(|seen| seen.key.as_deref() == Some(KEY)), "{:?}", seen[0].key);
        assert!(seen.iter().any(|seen| seen.body.to_string().contains("Carrel-Task")), "the rules were not told");
        self.search();
        self.yard.close().await;
        self.database.drop().await;
    }
}

const KEY: &str = "sk-do-not-show-this";

impl Stage {
    /// Looks for the key where it must not be: in the files of all sandboxes and of the house, in the database (timeline,
    /// transcripts, journal), in every git object, and in the environment and the command line of every process.
    fn search(&self) {
        let mut looked = 0;
        let mut folders = vec![self.yard.house.folder().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                    Ok(kind) if kind.is_file() => {
                        looked += 1;
                        let held = std::fs::read(entry.path()).unwrap_or_default();
                        assert!(!has_key(&held), "the key is in {}", entry.path().display());
                    }
                    _ => {}
                }
            }
        }
        assert!(looked > 100, "only {looked} files were looked at");
        let url = self.database.url();
        let file = url.trim_start_matches("sqlite:").trim_start_matches("//").split('?').next().unwrap();
        for end in ["", "-wal"] {
            let held = std::fs::read(format!("{file}{end}")).unwrap_or_default();
            assert!(end == "-wal" || !held.is_empty(), "there is no database at {file}");
            assert!(!has_key(&held), "the key is in the database");
        }
        let objects = std::process::Command::new("git")
            .args(["-c", "safe.directory=*", "cat-file", "--batch-all-objects", "--batch"])
            .current_dir(self.yard.mirror("hello"))
            .output()
            .unwrap();
        assert!(objects.status.success() && !objects.stdout.is_empty());
        assert!(!has_key(&objects.stdout), "the key is in a git object");
        for process in std::fs::read_dir("/proc").unwrap().flatten() {
            let Ok(pid) = process.file_name().to_string_lossy().parse::<u32>() else { continue };
            for file in ["cmdline", "environ"] {
                let shown = std::fs::read(process.path().join(file)).unwrap_or_default();
                assert!(!has_key(&shown), "the key is in {file} of {pid}");
            }
        }
    }
}

fn has_key(bytes: &[u8]) -> bool {
    bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes())
}

/// A test that fails, a file, the same test again, a commit: a merged pull, and its cost as the gateway counted it.
async fn mends(name: &'static str) {
    let stage = Stage::set(name).await;
    let yard = &stage.yard;
    let task = stage.card("mends", "in_review").await;
    let tools = yard.timeline(&task).await;
    let ended = |ok: bool| tools.as_array().unwrap().iter().filter(|item| item["tool"]["ok"] == ok).count();
    assert_eq!((ended(false), ended(true)), (1, 2), "{tools:#}");
    assert!(task["cost_usd"].as_f64().unwrap() > 0.0, "{task}");
    let used = yard.look(&format!("/api/v1/usage?task_id={}", task["id"])).await;
    assert_eq!(used["total"]["cost_usd"], task["cost_usd"], "{used}");
    yard.act(&task, "merge", "merged").await;
    assert_eq!(yard.show("hello", "main:answer.txt").await, "42");
    let log = crate::yard::git(Some(&yard.mirror("hello")), &["log", "--format=%an", "main"]).await;
    assert!(log.lines().any(|author| author == name), "{log}");
    stage.close().await;
}

/// A question waits for a person; who forgets to commit has it done; who did nothing is told and works on.
async fn asks_forgets_and_idles(name: &'static str) {
    let stage = Stage::set(name).await;
    let yard = &stage.yard;
    let task = stage.card("asks", "needs_you").await;
    assert_eq!(task["needs"], json!({"reason": "question", "detail": "Which colour?"}), "{task}");
    let task = yard.tell(&task, "Blue.", "in_review").await;
    assert_eq!(yard.show("hello", &format!("{}:colour.txt", task["branch"].as_str().unwrap())).await, "blue");

    let task = stage.card("forgets", "in_review").await;
    assert_eq!(yard.show("hello", &format!("{}:answer.txt", task["branch"].as_str().unwrap())).await, "42");

    let task = stage.card("idles", "in_review").await;
    let told = yard.said(&task, "message", "house").await;
    assert!(told.len() == 1 && told[0].contains("there is no commit"), "{told:?}");
    stage.close().await;
}

/// Who loops is stopped with everything that it runs; who dies in the middle goes on.
async fn loops_and_dies(name: &'static str) {
    let stage = Stage::set(name).await;
    let yard = &stage.yard;
    let task = stage.card("loops", "working").await;
    let turns = async || {
        yard.timeline(&task).await.as_array().unwrap().iter().filter(|item| item["tool"]["ok"] == true).count()
    };
    while turns().await < 3 {}
    let task = yard.act(&task, "stop", "backlog").await;
    let desk = task["sandbox_id"].as_str().unwrap();
    let body = json!({"command": format!("pgrep -fc '/bin/{name}' || true")});
    let left = yard.post(&format!("/api/v1/sandboxes/{desk}/execute"), body).await;
    // The shell that looks has the name in its own line.
    assert!(left["stdout"].as_str().unwrap().trim().parse::<u32>().unwrap() <= 1, "{left}");

    let task = stage.card("dies", "in_review").await;
    let told = yard.said(&task, "message", "house").await;
    assert!(told.iter().any(|told| told.contains("Your last turn broke off")), "{told:?}");
    assert_eq!(yard.show("hello", &format!("{}:answer.txt", task["branch"].as_str().unwrap())).await, "42");
    stage.close().await;
}

macro_rules! played_by {
    ($($name:ident: $program:literal, $story:ident);+ $(;)?) => {$(
        #[tokio::test(flavor = "multi_thread")]
        #[ignore = "needs agent programs: tests/agents/run"]
        async fn $name() {
            $story($program).await;
        }
    )+};
}

played_by!(
    opencode_mends_in_a_sandbox: "opencode", mends;
    claude_mends_in_a_sandbox: "claude", mends;
    opencode_asks_forgets_and_idles_in_a_sandbox: "opencode", asks_forgets_and_idles;
    claude_asks_forgets_and_idles_in_a_sandbox: "claude", asks_forgets_and_idles;
    opencode_loops_and_dies_in_a_sandbox: "opencode", loops_and_dies;
    claude_loops_and_dies_in_a_sandbox: "claude", loops_and_dies;
);
