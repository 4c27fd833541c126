//! The start command, tried once before the template is kept: one that never gets ready would fail every sandbox.

use super::{
    Instruction, Recipe,
    build::{Bench, Errand, quoted},
};
use crate::template::{Config, Progress, TemplateError};

/// A start command that is not ready after so long never will be. Sandboxes wait no longer either.
const PATIENCE_S: u32 = 120;
/// The exit codes of the script below. No command of a template is taken for them: theirs are never passed on.
const NEVER_READY: i32 = 3;
const ENDED: i32 = 4;

/// What is to be tried, when a recipe says how a template starts and how one sees that it did.
pub(super) struct Trial<'a> {
    start: Option<&'a str>,
    ready: &'a str,
}

impl<'a> Trial<'a> {
    /// What a recipe has for trying. What it only takes over was tried where it was written.
    pub(super) fn of(recipe: &Recipe, config: &'a Config) -> Option<Trial<'a>> {
        let is_about = |step: &Instruction| matches!(step, Instruction::Start(_) | Instruction::Ready(_));
        let is_new = recipe.steps.iter().any(|step| is_about(&step.instruction));
        let ready = config.ready_command.as_deref().filter(|_| is_new)?;
        Some(Trial { start: config.start_command.as_deref(), ready })
    }

    /// What its outcome depends on.
    pub(super) fn input(&self) -> [&str; 3] {
        ["trial", self.start.unwrap_or_default(), self.ready]
    }

    /// Starts it on a bench that is thrown away afterwards, and asks until it is ready.
    pub(super) async fn run(
        &self,
        mut bench: Box<dyn Bench>,
        config: &Config,
        progress: &Progress,
    ) -> Result<(), TemplateError> {
        progress.say(format!("READY {}", self.ready));
        let script = self.script();
        let errand = Errand {
            command: &script,
            user: Some(config.user.as_deref().unwrap_or("user")),
            env: &config.env,
            workdir: config.workdir.as_deref(),
        };
        match bench.run(&errand, progress).await? {
            0 => Ok(()),
            ENDED => Err(TemplateError::invalid(format!(
                "the start command ended before it was ready; it was asked with `{}`",
                self.ready
            ))),
            _ => Err(TemplateError::invalid(format!(
                "the start command was not ready after {PATIENCE_S} seconds; it was asked with `{}`",
                self.ready
            ))),
        }
    }

    /// What the commands print goes to files: a pipe that one holds open would keep us waiting for its end.
    fn script(&self) -> String {
        let begin = match self.start {
            Some(start) => format!("/bin/sh -c {} >\"$said\" 2>&1 & started=$!", quoted(start)),
            None => "started=".to_owned(),
        };
        format!(
            "said=/tmp/.carrel-start; {begin}
             tell() {{ [ ! -f \"$said\" ] || tail -n 20 \"$said\"; exit $1; }}
             end=$(($(date +%s) + {PATIENCE_S}))
             until /bin/sh -c {ready} >\"$said.ready\" 2>&1; do
                 [ $(date +%s) -lt $end ] || tell {NEVER_READY}
                 if [ -n \"$started\" ] && ! kill -0 $started 2>\"$said.ready\"; then
                     # One that goes on by itself in the background has ended well.
                     wait $started && started= || tell {ENDED}
                 fi
                 sleep 0.2 2>\"$said.ready\" || sleep 1
             done",
            ready = quoted(self.ready),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// How the script ends where a start command and a check are these.
    fn ends(start: Option<&str>, ready: &str) -> Option<i32> {
        let script = Trial { start, ready }.script();
        let folder = tempfile::tempdir().unwrap();
        let script = script.replace("/tmp/.carrel-start", folder.path().join("said").to_str().unwrap());
        Command::new("/bin/sh").args(["-c", &script]).output().unwrap().status.code()
    }

    #[test]
    fn one_that_is_ready_is_believed_and_one_that_ended_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("it's here");
        let touch = format!("touch {}", quoted(mark.to_str().unwrap()));
        let seen = format!("test -e {}", quoted(mark.to_str().unwrap()));
        assert_eq!(ends(Some(&touch), &seen), Some(0), "it may end well before");
        assert_eq!(ends(None, &seen), Some(0));
        assert_eq!(ends(Some("echo no room >&2; exit 7"), "false"), Some(ENDED));
        assert_eq!(ends(Some("exit 0"), "true"), Some(0));
    }
}
