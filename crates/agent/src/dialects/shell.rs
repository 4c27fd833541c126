//! `shell`: any command, with the prompt on its standard input and in `CARREL_PROMPT`.

use super::run;
use crate::{AgentError, AgentSettings, Launch, Turn, launch::fit};

pub(crate) const EXAMPLE: &str = "./my-agent --headless";

/// The command as it is, in `sh`. The rules of the desk stand in `CARREL_RULES`.
pub(crate) fn launch(settings: &AgentSettings, turn: &Turn) -> Result<Launch, AgentError> {
    let command = settings.command().ok_or(AgentError::NoCommand { dialect: "shell", example: EXAMPLE })?;
    let mut launch = run(settings, turn, vec!["sh".into(), "-c".into(), command.into()], &asked(settings, turn));
    launch.stdin = Some(turn.prompt.clone().into_bytes());
    Ok(launch)
}

/// What is asked, as variables.
pub(crate) fn asked(settings: &AgentSettings, turn: &Turn) -> Vec<(&'static str, String)> {
    let mut asked = vec![
        ("CARREL_PROMPT", fit(&turn.prompt, "the whole prompt is on standard input")),
        ("CARREL_RULES", fit(&turn.rules.text(), "the rest is left out")),
    ];
    asked.extend(super::model(settings, turn).map(|model| ("CARREL_MODEL", model.to_owned())));
    asked
}
