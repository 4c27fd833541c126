//! What happens inside a sandbox, as the outside asks for it and sees it: execs, files, stats, logs.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Field, ask::an_object};
use crate::{
    ExecId, KeyId, SandboxId,
    exec::{Exec, ExecStatus},
    number::Whole,
    sandbox::{EnvName, EnvValue, Lifetime, Limits, MOST_ENV, Usage},
};

/// Asks for a command to be run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewExec {
    /// A line for the shell. Either this or `argv`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// A program and its arguments, run as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argv: Option<Vec<String>>,
    /// Where; the usual folder of the user when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Variables on top of the sandbox's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    pub env: Option<BTreeMap<EnvName, EnvValue>>,
    /// As whom; the usual user of the sandbox when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// What it finds on its standard input, which then ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Leave its standard input open for `POST …/input`, until `POST …/close_stdin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_stdin: Option<bool>,
    /// It is ended after so many seconds: 300 when left out; with `background`, never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 2_592_000)]
    pub timeout_s: Option<Lifetime>,
    /// Answer as soon as it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<bool>,
    /// Give it a terminal of this size.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "an_object")]
    pub terminal: Option<ExecSize>,
}

/// What is to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A line for the shell.
    Line(String),
    /// A program and its arguments.
    Argv(Vec<String>),
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecSize {
    /// Columns.
    #[schema(value_type = u64, minimum = 1, maximum = 4096)]
    pub cols: Whole<1, 4096>,
    /// Rows.
    #[schema(value_type = u64, minimum = 1, maximum = 4096)]
    pub rows: Whole<1, 4096>,
}

/// Sends a signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecSignal {
    /// Its number, such as 2 for an interrupt, 15 to ask for the end and 9 to end at once.
    #[schema(value_type = u64, minimum = 1, maximum = 64)]
    pub signal: Whole<1, 64>,
    /// Whether everything that it started gets it too: its whole process group.
    #[serde(default)]
    pub group: bool,
}

/// The most bytes that a text in a request for an exec may have.
const LONGEST: usize = 1024 * 1024;
/// The most arguments.
const MOST_ARGUMENTS: usize = 4096;

impl NewExec {
    /// What is to be run, when the request as a whole makes sense.
    pub fn command(&self) -> Result<Command, Vec<Field>> {
        let mut wrong = Vec::new();
        let mut complain = |field: &str, detail: &str| wrong.push(Field { field: field.into(), detail: detail.into() });
        let whole = |text: &String| !text.contains('\0') && text.len() <= LONGEST;
        let command = match (&self.command, &self.argv) {
            (Some(line), None) if line.trim().is_empty() => {
                complain("command", "expected something to run");
                None
            }
            (Some(line), None) => Some(Command::Line(line.clone())),
            (None, Some(argv)) if argv.first().is_none_or(String::is_empty) || argv.len() > MOST_ARGUMENTS => {
                complain("argv", "expected a program and at most 4096 arguments");
                None
            }
            (None, Some(argv)) => Some(Command::Argv(argv.clone())),
            _ => {
                complain("command", "expected either a `command` or an `argv`");
                None
            }
        };
        if !self.command.iter().chain(self.argv.iter().flatten()).all(whole) {
            complain("command", "expected text without NUL, at most 1 MiB");
        }
        for (field, text) in [("cwd", &self.cwd), ("user", &self.user)] {
            let is_odd = |text: &String| text.is_empty() || text.contains(['\0', '\n']) || text.len() > 4096;
            if text.as_ref().is_some_and(is_odd) {
                complain(field, "expected 1 to 4096 characters without NUL and line ends");
            }
        }
        if self.env.as_ref().is_some_and(|env| env.len() > MOST_ENV) {
            complain("env", "at most 256 variables");
        }
        if self.stdin.is_some() && self.keep_stdin == Some(true) {
            complain("keep_stdin", "either `stdin` or `keep_stdin`: the first ends the standard input");
        }
        match command {
            Some(command) if wrong.is_empty() => Ok(command),
            _ => Err(wrong),
        }
    }

    /// After how many seconds it is ended.
    pub fn timeout(&self) -> Option<u64> {
        let usual = (self.background != Some(true)).then_some(300);
        self.timeout_s.map(Whole::get).or(usual)
    }
}

impl Command {
    /// As a person would type it.
    pub fn shown(&self) -> String {
        let text = match self {
            Command::Line(line) => line.clone(),
            Command::Argv(argv) => argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
        };
        match text.char_indices().nth(1000) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// How a command went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Executed {
    /// Names it, and its transcript.
    pub exec_id: ExecId,
    /// How it ended, as shells count; 124 when its time was up. Absent while it runs.
    pub exit_code: Option<i32>,
    /// What it wrote to its standard output, up to 10 MiB. Bytes that are no UTF-8 are replaced.
    pub stdout: String,
    /// What it wrote to its standard error, up to 10 MiB.
    pub stderr: String,
    /// How long it took, or has taken so far.
    pub duration_ms: u64,
    /// Whether it was ended because its time was up.
    pub timed_out: bool,
    /// Whether there is more output than this; `GET …/output` has it.
    #[serde(default, skip_serializing_if = "super::view::is_false")]
    pub truncated: bool,
    /// How it stands.
    pub status: ExecStatus,
    /// How it ended, in a word or two.
    pub note: Option<String>,
}

/// A command in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExecView {
    /// Its name.
    pub exec_id: ExecId,
    /// Where it runs.
    pub sandbox_id: SandboxId,
    /// What was asked for.
    pub command: String,
    /// As whom, when somebody was named.
    pub user: Option<String>,
    /// Where, when a folder was named.
    pub cwd: Option<String>,
    /// Whether nobody waits for it.
    pub background: bool,
    /// Whether it has a terminal.
    pub terminal: bool,
    /// The number of its process inside.
    pub pid: Option<u32>,
    /// How it stands.
    pub status: ExecStatus,
    /// How it ended, as shells count; 124 when its time was up.
    pub exit_code: Option<i32>,
    /// Whether it was ended because its time was up.
    pub timed_out: bool,
    /// How it ended, in a word or two.
    pub note: Option<String>,
    /// The key that asked for it.
    pub created_by: KeyId,
    /// When it was started.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// When it ended, or was lost.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
}

impl From<&Exec> for ExecView {
    fn from(exec: &Exec) -> Self {
        ExecView {
            exec_id: exec.id.clone(),
            sandbox_id: exec.sandbox.clone(),
            command: exec.command.clone(),
            user: exec.user.clone(),
            cwd: exec.cwd.clone(),
            background: exec.background,
            terminal: exec.terminal,
            pid: exec.pid,
            status: exec.status,
            exit_code: exec.exit_code,
            timed_out: exec.timed_out,
            note: exec.note.clone(),
            created_by: exec.created_by.clone(),
            started_at: exec.started_at,
            ended_at: exec.ended_at,
        }
    }
}

/// A file in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileEntry {
    /// Its name.
    pub name: String,
    /// Its whole path.
    pub path: String,
    /// What it is; of a link, what it leads to.
    pub kind: FileKind,
    /// Bytes.
    pub size: u64,
    /// The permission bits, such as `0644`.
    pub mode: String,
    /// Whose it is.
    pub owner: String,
    /// And which group's.
    pub group: String,
    /// When it last changed.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub modified_at: Option<Timestamp>,
    /// Where it leads, when it is a link.
    pub symlink_target: Option<String>,
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A link that leads nowhere, a device, a socket.
    Other,
}

/// What a sandbox uses, and what goes on in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StatsView {
    /// Which sandbox.
    pub sandbox_id: SandboxId,
    /// When this was measured.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// What it uses.
    pub usage: Usage,
    /// What it may use.
    pub limits: Limits,
    /// What goes on in it, as far as this server's node has part in it.
    pub activity: Activity,
}

/// What goes on in a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Activity {
    /// When something last happened; absent when nothing has since the server started.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_active_at: Option<Timestamp>,
    /// Commands that run.
    pub execs: u32,
    /// Terminals at which somebody sits.
    pub terminals: u32,
    /// Open connections to its ports.
    pub ports: u32,
}

/// One line of what happened to a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogLine {
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// What, as a sentence.
    pub text: String,
    /// The exec it is about, when it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec_id: Option<ExecId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_line_or_a_list_of_words_and_never_both() {
        let read = |json: serde_json::Value| serde_json::from_value::<NewExec>(json).unwrap().command();
        assert_eq!(read(serde_json::json!({"command": "ls -l"})), Ok(Command::Line("ls -l".into())));
        assert!(read(serde_json::json!({"argv": ["ls", "a b"]})).is_ok_and(|command| command.shown() == "ls 'a b'"));
        for bad in [
            serde_json::json!({}),
            serde_json::json!({"command": "ls", "argv": ["ls"]}),
            serde_json::json!({"argv": []}),
            serde_json::json!({"argv": [""]}),
            serde_json::json!({"command": " "}),
            serde_json::json!({"command": "a\u{0}b"}),
            serde_json::json!({"command": "ls", "cwd": ""}),
            serde_json::json!({"command": "ls", "stdin": "x", "keep_stdin": true}),
        ] {
            assert!(read(bad.clone()).is_err(), "{bad}");
        }
    }

    #[test]
    fn who_waits_does_not_wait_for_ever() {
        assert_eq!(NewExec::default().timeout(), Some(300));
        assert_eq!(NewExec { background: Some(true), ..NewExec::default() }.timeout(), None);
    }
}
