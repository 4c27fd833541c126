//! `terminal`: any agent's own interface, in a terminal of the sandbox. A person sits down at it.

use serde_json::Value;

use super::{Grammar, run, shell::asked};
use crate::{AgentError, AgentSettings, File, Launch, Turn, heard::Heard};

pub(crate) const EXAMPLE: &str = "claude";

/// The command in a terminal. The rules and the prompt lie in files, and in the variables of `shell`.
pub(crate) fn launch(settings: &AgentSettings, turn: &Turn) -> Result<Launch, AgentError> {
    let command = settings.command().ok_or(AgentError::NoCommand { dialect: "terminal", example: EXAMPLE })?;
    let mut launch = run(settings, turn, vec!["sh".into(), "-c".into(), command.into()], &asked(settings, turn));
    launch.terminal = true;
    launch.env.remove("CI");
    launch.env.entry("TERM".to_owned()).or_insert_with(|| "xterm-256color".to_owned());
    launch.files = vec![
        File::text(turn.place.own("prompt.md"), turn.prompt.clone()),
        File::text(turn.place.own("rules.md"), turn.rules.text()),
    ];
    Ok(launch)
}

/// A screen is for eyes: nothing of it becomes a moment.
pub(crate) struct Screen;

impl Grammar for Screen {
    fn object(&mut self, _value: &Value, _line: &str, _heard: &mut Heard) {}

    fn text(&mut self, _line: &str, _heard: &mut Heard) {}

    fn says_when_it_is_done(&self) -> bool {
        false
    }
}
