//! Commands as agents, and dialects as data.

use carrel_agent::{AgentError, AgentSettings, Dialect, Ending, Failure, Moment, Phrases, Spending};

use crate::bench::{Desk, conversation, said};

fn shell(command: &str) -> AgentSettings {
    AgentSettings { command: Some(command.to_owned()), ..AgentSettings::default() }
}

#[test]
fn a_command_gets_the_prompt_on_its_standard_input_and_in_the_environment() {
    let desk = Desk::new();
    let settings = shell(r#"cat > in; printf %s "$CARREL_PROMPT" > env; pwd; echo "$CARREL_BRANCH""#);
    let prompt = "Line one\nLine two 'with' \"quotes\" $HOME";
    let (moments, ending) = desk.turn(Dialect::Shell, &settings, &desk.first(prompt));
    assert_eq!(ending, Ending::Finished);
    assert_eq!((desk.read("in").as_str(), desk.read("env").as_str()), (prompt, prompt));
    assert_eq!(said(&moments), format!("{}\ntask-42", desk.workspace().display()));
}

#[test]
fn a_prompt_of_any_length_can_be_asked() {
    let desk = Desk::new();
    let prompt = "é".repeat(1_000_000);
    let settings = shell(r#"wc -c; printf %s "$CARREL_PROMPT" | tail -c 60"#);
    let (moments, ending) = desk.turn(Dialect::Shell, &settings, &desk.first(&prompt));
    assert_eq!(ending, Ending::Finished);
    let said = said(&moments);
    assert!(said.starts_with("2000000") && said.ends_with("the whole prompt is on standard input]"), "{said}");
}

#[test]
fn a_command_asks_by_its_last_words() {
    let desk = Desk::new();
    let (moments, ending) = desk.turn(
        Dialect::Shell,
        &shell("echo working; echo; echo 'QUESTION: Which way?'; echo 'Left or right.'"),
        &desk.first("go"),
    );
    let question = "Which way?\nLeft or right.".to_owned();
    assert_eq!(moments.last(), Some(&Moment::Asked { question: question.clone() }));
    assert_eq!(ending, Ending::Asked { question });
}

#[test]
fn a_command_that_fails_says_why_with_its_last_word_on_standard_error() {
    let desk = Desk::new();
    let end = |command: &str| desk.turn(Dialect::Shell, &shell(command), &desk.first("go")).1;
    let failed = |why: &str, failure| Ending::Failed { why: why.into(), failure };
    assert_eq!(end("echo no >&2; exit 3"), failed("It ended with exit code 3: no", Failure::Other));
    assert_eq!(end("echo 'HTTP 503' >&2; exit 1"), failed("It ended with exit code 1: HTTP 503", Failure::Transient));
    let Ending::Failed { failure, why } = end("no-such-program-anywhere") else { panic!() };
    assert!(failure == Failure::Missing && why.contains("template"), "{why}");
    let Ending::Failed { failure, why } = end("claude-agent-acp") else { panic!() };
    assert!(failure == Failure::Missing && why.contains("npm install"), "{why}");
}

#[test]
fn a_command_may_write_moments_itself() {
    let desk = Desk::new();
    let settings = shell(
        r#"echo '{"moment":"tool_began","id":"1","name":"look"}'
           echo '{"moment":"spent","input_tokens":7,"cost_usd":0.5}'
           echo '{"other":"json"}'; printf 'no end of line'"#,
    );
    let (moments, _) = desk.turn(Dialect::Shell, &settings, &desk.first("go"));
    let spent = Spending { input_tokens: 7, cost_usd: Some(0.5), ..Spending::default() };
    assert_eq!(moments[1], Moment::Spent(spent));
    assert_eq!(said(&moments), "{\"other\":\"json\"}\nno end of line");
    assert_eq!(moments.len(), 4, "{moments:#?}");
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let no_command = Dialect::Shell.check(&AgentSettings::default());
    assert!(matches!(no_command, Err(AgentError::NoCommand { dialect: "shell", .. })));
    let wrong = |settings: AgentSettings| Dialect::Shell.check(&settings).is_err();
    assert!(wrong(AgentSettings { model: Some("--yolo".into()), ..shell("true") }));
    assert!(wrong(AgentSettings { model: Some("a b".into()), ..shell("true") }));
    assert!(wrong(AgentSettings { env: [("A=B".into(), "c".into())].into(), ..shell("true") }));
    assert!(wrong(AgentSettings { command: Some(" ".into()), ..AgentSettings::default() }));
    assert!(!wrong(AgentSettings { model: Some("openai/gpt-5.1:high".into()), ..shell("true") }));
    assert_eq!("acp".parse::<Dialect>(), Ok(Dialect::Acp));
    let unknown = "klingon".parse::<Dialect>().unwrap_err().to_string();
    assert!(unknown.contains("klingon") && unknown.contains("opencode"), "{unknown}");
}

#[test]
fn a_language_can_be_described_as_data() {
    let desk = Desk::new();
    // An agent of somebody else's, in a few lines of shell.
    std::fs::write(
        desk.workspace().join("their-agent"),
        r#"echo '{"type":"hello","session":"s-9"}'
           echo "{\"type\":\"text\",\"part\":{\"text\":\"got $#: $*\"}}"
           echo '{"type":"call","call":{"id":4,"tool":"edit","in":{"path":"a"}}}'
           echo '{"type":"back","call":4,"error":"no such file"}'
           echo 'noise'
           echo '{"type":"bye","usage":{"in":10,"out":3},"usd":0.25}'"#,
    )
    .unwrap();
    let phrases = Phrases::from_toml(
        r#"
        arguments = ["sh", "their-agent", ["--model", "{model}"], ["--resume", "{conversation}"], "{asked}"]
        [[lines]]
        when = { "/type" = "hello" }
        conversation = "/session"
        [[lines]]
        when = { "/part/text" = "*" }
        said = "/part/text"
        [[lines]]
        when = { "/type" = "call" }
        tool_began = { id = "/call/id", name = "/call/tool", title = "/call/in/path", input = "/call/in" }
        [[lines]]
        when = { "/type" = "back" }
        tool_ended = { id = "/call", output = "/error", failed = "/error" }
        [[lines]]
        when = { "/type" = "bye" }
        spent = { input_tokens = "/usage/in", output_tokens = "/usage/out", cost_usd = "/usd" }
        done = true
        "#,
    )
    .unwrap();
    let settings = AgentSettings { phrases: Some(phrases), ..AgentSettings::default() };
    let (moments, ending) = desk.turn(Dialect::Custom, &settings, &desk.first("{model} please"));
    assert_eq!(ending, Ending::Finished);
    insta::assert_json_snapshot!(moments);

    let mut again = desk.next("more", conversation(&moments));
    again.model = Some("big".into());
    let (moments, _) = desk.turn(Dialect::Custom, &settings, &again);
    assert_eq!(said(&moments), "got 5: --model big --resume s-9 more");

    std::fs::write(desk.workspace().join("their-agent"), "echo '{\"type\":\"hello\"}'").unwrap();
    let (_, ending) = desk.turn(Dialect::Custom, &settings, &desk.first("x"));
    assert!(matches!(ending, Ending::Failed { failure: Failure::Transient, .. }), "it never said goodbye");
}

#[test]
fn a_terminal_is_for_a_person() {
    let desk = Desk::new();
    let launch = Dialect::Terminal.launch(&shell("claude"), &desk.first("Look at this")).unwrap();
    assert!(launch.terminal && launch.stdin.is_none());
    assert!(launch.files.iter().any(|file| file.path.ends_with("/prompt.md") && &*file.bytes == b"Look at this"));
}
