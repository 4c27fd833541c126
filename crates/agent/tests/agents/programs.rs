//! Real agent programs against the understudy: what we start is what they understand, and what they print is what we read.
//!
//! They are run by `tests/agents/run`, which installs the programs.

use std::path::PathBuf;

use carrel_agent::{AgentSettings, Dialect, Ending, Failure, Moment, Turn};
use carrel_understudy::{Act, Script, Tool, Understudy};
use tokio::runtime::Runtime;

use crate::bench::{Desk, Printed, conversation, read, said};

/// A program, and how it is set up here.
struct Player {
    name: &'static str,
    dialect: Dialect,
    settings: AgentSettings,
}

fn player(name: &'static str) -> Player {
    let (dialect, command, model) = match name {
        "claude" => (Dialect::Claude, None, "claude-sonnet-4-5"),
        "codex" => (Dialect::Codex, None, "gpt-5.1-codex"),
        "opencode" => (Dialect::Opencode, None, "anthropic/claude-sonnet-4-5"),
        "opencode-acp" => (Dialect::Acp, Some("opencode acp"), "anthropic/claude-sonnet-4-5"),
        other => panic!("{other} is not known here"),
    };
    let command = command.map(str::to_owned);
    Player {
        name,
        dialect,
        settings: AgentSettings { command, model: Some(model.to_owned()), ..AgentSettings::default() },
    }
}

/// A desk with a program at it and a model behind it.
struct Table {
    desk: Desk,
    player: Player,
    model: Understudy,
    // The model lives in it.
    _runtime: Runtime,
}

impl Table {
    fn set(name: &'static str, script: Script) -> Table {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let mut desk = Desk::new();
        let workspace = desk.workspace();
        let model = runtime.block_on(Understudy::start(script, workspace.to_str().unwrap())).unwrap();
        desk.gateway = model.url();
        Table { desk, player: player(name), model, _runtime: runtime }
    }

    fn turn(&self, story: &str, turn: &Turn) -> (Vec<Moment>, Ending) {
        let Player { name, dialect, settings } = &self.player;
        let printed = self.desk.run(&dialect.launch(settings, turn).unwrap());
        self.keep(&format!("{name}-{story}"), &printed);
        read(*dialect, settings, &printed)
    }

    /// Keeps what was printed, for the transcripts that are read without the programs.
    fn keep(&self, story: &str, printed: &Printed) {
        let Some(folder) = std::env::var_os("CARREL_KEEP_TRANSCRIPTS").map(PathBuf::from) else { return };
        let clean = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            text.replace(self.desk.workspace().to_str().unwrap(), "/workspace")
                .replace(self.desk.home().to_str().unwrap(), "/home/user")
                .replace(&self.model.url(), "http://127.0.0.1:49980")
        };
        let transcript = serde_json::json!({
            "exit": printed.exit,
            "stdout": clean(&printed.stdout).lines().map(without_catalogue).collect::<Vec<_>>(),
            "stderr": clean(&printed.stderr).lines().collect::<Vec<_>>(),
        });
        let text = serde_json::to_string_pretty(&transcript).unwrap() + "\n";
        std::fs::write(folder.join(format!("{story}.json")), text).unwrap();
    }
}

/// A line without the list of all models of the world.
fn without_catalogue(line: &str) -> String {
    fn shorten(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Array(items) if items.iter().any(|item| item.get("value").is_some()) => {
                items.truncate(2)
            }
            serde_json::Value::Array(items) => items.iter_mut().for_each(shorten),
            serde_json::Value::Object(fields) => fields.values_mut().for_each(shorten),
            _ => {}
        }
    }
    match serde_json::from_str::<serde_json::Value>(line) {
        Ok(mut value) if line.contains("configOptions") => {
            shorten(&mut value);
            value.to_string()
        }
        _ => line.to_owned(),
    }
}

/// Runs a test that fails, writes what is missing, runs it again, commits.
fn mending() -> Script {
    Script::new()
        .then(Act {
            say: Some("I will run the check first.".into()),
            tool: Some(Tool::Run("sh check.sh".into())),
            ..Act::default()
        })
        .write("answer.txt", "42\n")
        .run("sh check.sh && git add answer.txt && git commit -q -m 'fix: the answer is known' -m 'Carrel-Task: 42'")
        .say("The check passes now. I added answer.txt.")
}

fn mends(name: &'static str) {
    let table = Table::set(name, mending());
    std::fs::write(table.desk.workspace().join("check.sh"), "grep -q 42 answer.txt || { echo 'no answer'; exit 1; }\n")
        .unwrap();
    table.desk.git(&["add", "."]);
    table.desk.git(&["commit", "-q", "-m", "test: ask for the answer"]);

    let (moments, ending) = table.turn("mends", &table.desk.first("Make check.sh pass"));

    assert_eq!(ending, Ending::Finished, "{moments:#?}");
    assert_eq!(table.desk.read("answer.txt"), "42\n");
    assert_eq!(table.desk.git(&["log", "-1", "--format=%s"]), "fix: the answer is known");
    assert_eq!(table.desk.git(&["status", "--porcelain"]), "", "it leaves nothing of its own in the working tree");
    let told = said(&moments);
    assert!(told.contains("I will run the check first.") && told.contains("I added answer.txt."), "{moments:#?}");
    let tools = moments.iter().filter_map(|moment| match moment {
        Moment::ToolEnded { ok, output, .. } => Some((*ok, output.as_str())),
        _ => None,
    });
    let tools: Vec<_> = tools.collect();
    assert_eq!(tools.len(), 3, "{moments:#?}");
    assert!(!tools[0].0 && tools[0].1.contains("no answer"), "the first check fails: {moments:#?}");
    assert!(tools[1].0 && tools[2].0, "{moments:#?}");
    assert!(conversation(&moments).is_some(), "{moments:#?}");
    assert_rules_were_told(&table);
}

/// Everything went through the gateway with the placeholder, and the model was told the rules.
fn assert_rules_were_told(table: &Table) {
    let seen = table.model.seen();
    assert!(seen.iter().all(|seen| seen.key.as_deref() == Some("carrel")), "{:?}", seen[0].key);
    assert!(seen.iter().all(|seen| seen.path.starts_with("/llm/")));
    assert!(seen.iter().any(|seen| seen.body.to_string().contains("Carrel-Task: 42")), "the rules were not told");
}

fn asks_and_goes_on(name: &'static str) {
    let script = Script::new()
        .say("I looked around.\n\nQUESTION: Tabs or spaces?")
        .write("style.txt", "tabs\n")
        .run("git add style.txt && git commit -q -m 'docs: say how we indent'")
        .say("Tabs it is.");
    let table = Table::set(name, script);
    let (moments, ending) = table.turn("asks", &table.desk.first("Write down how we indent"));
    assert_eq!(ending, Ending::Asked { question: "Tabs or spaces?".into() }, "{moments:#?}");

    let answer = Turn::answer("Tabs or spaces?", "Tabs.");
    let (moments, ending) = table.turn("goes-on", &table.desk.next(&answer, conversation(&moments)));
    assert_eq!(ending, Ending::Finished, "{moments:#?}");
    assert_eq!(table.desk.read("style.txt"), "tabs\n");
    assert!(!said(&moments).contains("QUESTION"), "what was said before is not said again: {moments:#?}");
}

fn comes_through(name: &'static str) {
    // Overloaded twice, then an answer that breaks off once.
    let script = Script::new().say("Working again.").after_trouble(529, 2);
    let table = Table::set(name, script);
    let (moments, ending) = table.turn("overloaded", &table.desk.first("Say something"));
    assert_eq!(ending, Ending::Finished, "{moments:#?}");
    assert_eq!(said(&moments), "Working again.");
}

fn is_refused(name: &'static str) {
    let table = Table::set(name, Script::new().say("Never.").after_trouble(403, usize::MAX));
    let (moments, ending) = table.turn("refused", &table.desk.first("Say something"));
    let Ending::Failed { why, failure } = ending else { panic!("{ending:?} {moments:#?}") };
    assert_eq!(failure, Failure::Authentication, "{why} {moments:#?}");
}

fn dies(name: &'static str) {
    // Whoever runs the shell is the agent.
    let script = Script::new().run("kill -KILL $PPID").say("Still here.");
    let table = Table::set(name, script);
    let (moments, ending) = table.turn("dies", &table.desk.first("Say something"));
    let Ending::Failed { failure, .. } = &ending else { panic!("{ending:?} {moments:#?}") };
    assert_eq!(*failure, Failure::Transient, "{ending:?} {moments:#?}");
}

fn stops(name: &'static str) {
    let table = Table::set(name, Script::new().run("echo round; sleep 0.2").forever());
    let Player { dialect, settings, .. } = &table.player;
    let launch = dialect.launch(settings, &table.desk.first("Go round in circles")).unwrap();
    let signal = dialect.polite_stop().signal.number();
    let printed = table.desk.run_until(
        &launch,
        signal,
        |moments| moments.iter().filter(|moment| matches!(moment, Moment::ToolEnded { .. })).count() >= 2,
        dialect.reader(settings),
    );
    table.keep(&format!("{name}-stops"), &printed);
    let (moments, ending) = read(*dialect, settings, &printed);
    assert!(matches!(ending, Ending::Failed { .. }), "{ending:?} {moments:#?}");
    assert_ne!(printed.exit, Some(137), "it went by itself");
}

macro_rules! stories {
    ($($program:ident: $name:literal),*) => {$(
        mod $program {
            #[test]
            #[ignore = "needs the program: tests/agents/run"]
            fn it_runs_a_test_mends_what_is_broken_and_commits() {
                super::mends($name);
            }

            #[test]
            #[ignore = "needs the program: tests/agents/run"]
            fn it_asks_and_goes_on_with_the_answer() {
                super::asks_and_goes_on($name);
            }

            #[test]
            #[ignore = "needs the program: tests/agents/run"]
            fn it_comes_through_when_the_model_is_overloaded() {
                super::comes_through($name);
            }

            #[test]
            #[ignore = "needs the program: tests/agents/run"]
            fn a_key_that_is_refused_is_told_as_such() {
                super::is_refused($name);
            }

            #[test]
            #[ignore = "needs the program: tests/agents/run"]
            fn when_it_is_killed_another_try_may_help() {
                super::dies($name);
            }

            #[test]
            #[ignore = "needs the program: tests/agents/run"]
            fn it_ends_when_it_is_asked_to() {
                super::stops($name);
            }
        }
    )*};
}

stories!(claude: "claude", codex: "codex", opencode: "opencode", opencode_acp: "opencode-acp");
