//! The dialects by name.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    AgentError, AgentSettings, Launch, Offer, Program, Reader, Signal, Stop, Turn,
    dialects::{Grammar, acp, aider, claude, codex, custom, demo, opencode, plain::Plain, shell, terminal},
};

/// How a kind of agent is started and understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// Any command: the prompt on standard input and in `CARREL_PROMPT`.
    Shell,
    /// A script of our own that makes a small change, for the first five minutes.
    Demo,
    /// The Agent Client Protocol: one language of many agents.
    Acp,
    /// `opencode run`.
    Opencode,
    /// Claude Code without its interface.
    Claude,
    /// `codex exec`.
    Codex,
    /// Aider with one message.
    Aider,
    /// Any agent's own interface in a terminal.
    Terminal,
    /// A language described as data, in [`AgentSettings::phrases`].
    Custom,
}

impl Dialect {
    /// All of them, the simplest first.
    pub const ALL: [Dialect; 9] = [
        Dialect::Shell,
        Dialect::Demo,
        Dialect::Acp,
        Dialect::Opencode,
        Dialect::Claude,
        Dialect::Codex,
        Dialect::Aider,
        Dialect::Terminal,
        Dialect::Custom,
    ];

    /// The word for it, everywhere.
    pub fn word(self) -> &'static str {
        match self {
            Dialect::Shell => "shell",
            Dialect::Demo => "demo",
            Dialect::Acp => "acp",
            Dialect::Opencode => "opencode",
            Dialect::Claude => "claude",
            Dialect::Codex => "codex",
            Dialect::Aider => "aider",
            Dialect::Terminal => "terminal",
            Dialect::Custom => "custom",
        }
    }

    /// The dialect of a word.
    pub fn from_word(word: &str) -> Option<Dialect> {
        Dialect::ALL.into_iter().find(|dialect| dialect.word() == word)
    }

    /// One sentence for people who choose.
    pub fn description(self) -> &'static str {
        match self {
            Dialect::Shell => "Runs a command with the prompt on its standard input and in CARREL_PROMPT.",
            Dialect::Demo => "A script that makes a small real change; needs no model and no key.",
            Dialect::Acp => "Any agent that speaks the Agent Client Protocol, such as `opencode acp`.",
            Dialect::Opencode => "opencode, without its interface.",
            Dialect::Claude => "Claude Code, without its interface.",
            Dialect::Codex => "OpenAI's Codex, without its interface.",
            Dialect::Aider => "Aider, with one message at a time.",
            Dialect::Terminal => "Any agent's own interface, in a terminal that a person sits down at.",
            Dialect::Custom => "A program whose arguments and lines are described as data.",
        }
    }

    /// The program that it runs unless a command is given.
    pub fn program(self) -> Option<Program> {
        Program::of(self)
    }

    /// Whether an earlier conversation can be continued, instead of being told again.
    pub fn remembers(self) -> bool {
        match self {
            Dialect::Demo | Dialect::Acp | Dialect::Opencode | Dialect::Claude | Dialect::Codex => true,
            Dialect::Custom => true,
            Dialect::Shell | Dialect::Aider | Dialect::Terminal => false,
        }
    }

    /// Looks at settings before anybody relies on them.
    pub fn check(self, settings: &AgentSettings) -> Result<(), AgentError> {
        self.launch(settings, &Turn::first("A small change", Default::default())).map(|_| ())
    }

    /// What to run for a turn.
    pub fn launch(self, settings: &AgentSettings, turn: &Turn) -> Result<Launch, AgentError> {
        settings.check()?;
        match self {
            Dialect::Shell => shell::launch(settings, turn),
            Dialect::Demo => Ok(demo::launch(settings, turn)),
            Dialect::Terminal => terminal::launch(settings, turn),
            Dialect::Custom => custom::launch(settings, turn),
            Dialect::Opencode => Ok(opencode::launch(settings, turn)),
            Dialect::Claude => Ok(claude::launch(settings, turn)),
            Dialect::Codex => Ok(codex::launch(settings, turn)),
            Dialect::Aider => Ok(aider::launch(settings, turn)),
            Dialect::Acp => acp::launch(settings, turn),
        }
    }

    /// Reads a turn of such an agent.
    pub fn reader(self, settings: &AgentSettings) -> Reader {
        let grammar: Box<dyn Grammar> = match self {
            Dialect::Shell | Dialect::Demo => Box::new(Plain),
            Dialect::Terminal => Box::new(terminal::Screen),
            Dialect::Custom => custom::grammar(settings),
            Dialect::Opencode => Box::new(opencode::Parts),
            Dialect::Claude => Box::new(claude::Stream),
            Dialect::Codex => Box::new(codex::Items::default()),
            Dialect::Aider => Box::new(aider::Talk),
            Dialect::Acp => Box::new(acp::Updates::default()),
        };
        let hint = match (settings.command(), self.program()) {
            (None, Some(program)) => program.hint(),
            _ => Offer::hint(settings),
        };
        Reader::new(grammar, hint)
    }

    /// How to end such an agent without breaking what it holds.
    pub fn polite_stop(self) -> Stop {
        let signal = match self {
            Dialect::Terminal => Signal::HangUp,
            Dialect::Opencode | Dialect::Claude | Dialect::Codex | Dialect::Aider => Signal::Interrupt,
            Dialect::Shell | Dialect::Demo | Dialect::Acp | Dialect::Custom => Signal::Terminate,
        };
        Stop { signal, grace: Duration::from_secs(5) }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Dialect {
    type Err = AgentError;
    fn from_str(word: &str) -> Result<Dialect, AgentError> {
        Dialect::from_word(word).ok_or_else(|| AgentError::UnknownDialect {
            word: word.to_owned(),
            known: Dialect::ALL.map(Dialect::word).join(", "),
        })
    }
}
