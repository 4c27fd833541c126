//! The demo agent, run for real.

use carrel_agent::{AgentSettings, Dialect, Ending, Failure, Moment, Turn};

use crate::bench::{Desk, conversation, said};

fn settings() -> AgentSettings {
    AgentSettings { env: [("CARREL_DEMO_PAUSE".into(), "0".into())].into(), ..AgentSettings::default() }
}

#[test]
fn the_demo_agent_makes_a_small_change_and_commits_it() {
    let desk = Desk::new();
    let turn = desk.first("Explain \"how to\" greet\\people.\n\nTwo lines, with ünïcode & $(date).");
    let (moments, ending) = desk.turn(Dialect::Demo, &settings(), &turn);

    assert_eq!(ending, Ending::Finished, "{moments:#?}");
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    assert_eq!(desk.git(&["log", "-1", "--format=%s"]), "docs: explain \"how to\" greet\\people");
    assert_eq!(desk.git(&["log", "-1", "--format=%(trailers:key=Carrel-Task,valueonly)"]).trim(), "42");
    assert_eq!(desk.git(&["diff", "--name-only", "main"]), "docs/explain-how-to-greet-people.md");
    let text = desk.read("docs/explain-how-to-greet-people.md");
    assert!(text.contains("ünïcode & $(date)") && text.contains("for task 42"), "{text}");
    assert!(said(&moments).contains("\"how to\" greet\\people."), "{moments:#?}");
    let (began, ended): (Vec<_>, Vec<_>) = (
        moments.iter().filter(|moment| matches!(moment, Moment::ToolBegan { .. })).collect(),
        moments.iter().filter(|moment| matches!(moment, Moment::ToolEnded { ok: true, .. })).collect(),
    );
    assert_eq!((began.len(), ended.len()), (4, 4), "{moments:#?}");
}

#[test]
fn the_demo_agent_writes_into_the_file_that_the_prompt_names() {
    let desk = Desk::new();
    let (moments, ending) = desk.turn(Dialect::Demo, &settings(), &desk.first("Say in the README how to run it"));
    assert_eq!(ending, Ending::Finished, "{moments:#?}");
    let text = desk.read("README.md");
    assert!(text.starts_with("# Hello\n\nA program that greets.\n\n## Say in the README how to run it\n"), "{text}");
}

#[test]
fn the_demo_agent_goes_on_where_it_was() {
    let desk = Desk::new();
    let (moments, _) = desk.turn(Dialect::Demo, &settings(), &desk.first("Write a guide"));
    let file = conversation(&moments);
    assert_eq!(file.as_deref(), Some("docs/write-a-guide.md"));
    let (_, ending) = desk.turn(Dialect::Demo, &settings(), &desk.next("Mention the colours too", file));
    assert_eq!(ending, Ending::Finished);
    assert_eq!(desk.git(&["rev-list", "--count", "main.."]), "2");
    assert_eq!(desk.git(&["diff", "--name-only", "main"]), "docs/write-a-guide.md");
}

#[test]
fn the_demo_agent_can_ask_forget_fail_and_do_nothing() {
    let desk = Desk::new();
    let (moments, ending) = desk.turn(Dialect::Demo, &settings(), &desk.first("Choose a colour [ask]"));
    let Ending::Asked { question } = ending else { panic!("{moments:#?}") };
    assert_eq!(moments.last(), Some(&Moment::Asked { question: question.clone() }));

    let answer = desk.next(&Turn::answer(&question, "Blue, and no [ask] again"), conversation(&moments));
    assert_eq!(desk.turn(Dialect::Demo, &settings(), &answer).1, Ending::Finished);

    let (_, ending) = desk.turn(Dialect::Demo, &settings(), &desk.first("A page on birds [forget]"));
    assert_eq!(ending, Ending::Finished);
    assert_ne!(desk.git(&["status", "--porcelain"]), "");
    desk.git(&["clean", "-fdq"]);

    let (_, ending) = desk.turn(Dialect::Demo, &settings(), &desk.first("Please [fail]"));
    let why = "It ended with exit code 1: The prompt asked the demo agent to fail.".to_owned();
    assert_eq!(ending, Ending::Failed { why, failure: Failure::Other });

    let (_, ending) = desk.turn(Dialect::Demo, &settings(), &desk.first("Do [nothing]"));
    assert_eq!((ending, desk.git(&["status", "--porcelain"])), (Ending::Finished, String::new()));
}

#[test]
fn the_demo_agent_runs_the_check_of_the_repository() {
    let desk = Desk::new();
    let mut turn = desk.first("Write a guide");
    turn.rules.check_command = Some("echo 'birds are missing'; exit 3".into());
    let (moments, ending) = desk.turn(Dialect::Demo, &settings(), &turn);
    assert!(matches!(ending, Ending::Failed { .. }), "{moments:#?}");
    let failed = Moment::ToolEnded { id: "4".into(), ok: false, output: "birds are missing".into() };
    assert!(moments.contains(&failed), "{moments:#?}");
}

#[test]
fn the_demo_agent_pushes_where_there_is_somewhere_to_push_to() {
    let desk = Desk::new();
    let remote = tempfile::tempdir().unwrap();
    let path = remote.path().to_str().unwrap();
    desk.git(&["init", "-q", "--bare", path]);
    desk.git(&["remote", "add", "origin", path]);
    let (moments, ending) = desk.turn(Dialect::Demo, &settings(), &desk.first("Write a guide"));
    assert_eq!(ending, Ending::Finished, "{moments:#?}");
    assert_eq!(
        desk.git(&["ls-remote", "origin", "task-42"]).split('\t').next(),
        Some(&*desk.git(&["rev-parse", "HEAD"]))
    );
}
