//! Programs that we know: how they are called, how to get them, and what to offer when they are found.

use crate::{AgentSettings, Dialect};

/// A program of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program {
    /// How it is called. It counts as found on the host when it lies below `/usr`: that is what the template `host` shows.
    pub name: &'static str,
    /// What prints its version.
    pub version: &'static [&'static str],
    /// The command that installs it.
    pub install: &'static str,
    /// Where its makers describe it.
    pub home: &'static str,
}

/// An agent that can be added as it stands once its program is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// A name for the agent.
    pub name: &'static str,
    /// Its dialect.
    pub dialect: Dialect,
    /// Its command, when the dialect does not know it.
    pub command: Option<&'static str>,
    /// Its program.
    pub program: Program,
}

/// What stands where no command installs a program.
const BY_HAND: &str = "see its home page";

const fn npm(
    name: &'static str,
    install: &'static str,
    home: &'static str,
    version: &'static [&'static str],
) -> Program {
    Program { name, version, install, home }
}

const OPENCODE: Program = npm(
    "opencode",
    "npm install -g --allow-scripts=opencode-ai opencode-ai",
    "https://opencode.ai",
    &["opencode", "--version"],
);
const CLAUDE: Program = npm(
    "claude",
    "npm install -g --allow-scripts=@anthropic-ai/claude-code @anthropic-ai/claude-code",
    "https://claude.com/claude-code",
    &["claude", "--version"],
);
const CODEX: Program =
    npm("codex", "npm install -g @openai/codex", "https://developers.openai.com/codex", &["codex", "--version"]);
const AIDER: Program = Program {
    name: "aider",
    version: &["aider", "--version"],
    install: "python3 -m venv /opt/aider && /opt/aider/bin/pip install aider-chat && ln -s /opt/aider/bin/aider /usr/local/bin/",
    home: "https://aider.chat",
};
const GEMINI: Program =
    npm("gemini", "npm install -g @google/gemini-cli", "https://geminicli.com", &["gemini", "--version"]);
const COPILOT: Program = npm(
    "copilot",
    "npm install -g @github/copilot",
    "https://github.com/github/copilot-cli",
    &["copilot", "--version"],
);
const QWEN: Program =
    npm("qwen", "npm install -g @qwen-code/qwen-code", "https://github.com/QwenLM/qwen-code", &["qwen", "--version"]);
const CLAUDE_ACP: Program = npm(
    "claude-agent-acp",
    "npm install -g @agentclientprotocol/claude-agent-acp",
    "https://github.com/agentclientprotocol/claude-agent-acp",
    &["claude-agent-acp", "--version"],
);
const CODEX_ACP: Program = npm(
    "codex-acp",
    "npm install -g @zed-industries/codex-acp",
    "https://github.com/zed-industries/codex-acp",
    &["codex-acp", "--version"],
);
const GOOSE: Program = Program {
    name: "goose",
    version: &["goose", "--version"],
    install: BY_HAND,
    home: "https://block.github.io/goose",
};

impl Offer {
    /// All that we know of. Look for each program on the host; offer those that are there, require none.
    pub const KNOWN: [Offer; 11] = [
        Offer { name: "opencode", dialect: Dialect::Opencode, command: None, program: OPENCODE },
        Offer { name: "claude", dialect: Dialect::Claude, command: None, program: CLAUDE },
        Offer { name: "codex", dialect: Dialect::Codex, command: None, program: CODEX },
        Offer { name: "aider", dialect: Dialect::Aider, command: None, program: AIDER },
        Offer { name: "gemini", dialect: Dialect::Acp, command: Some("gemini --acp"), program: GEMINI },
        Offer { name: "copilot", dialect: Dialect::Acp, command: Some("copilot --acp"), program: COPILOT },
        Offer { name: "qwen", dialect: Dialect::Acp, command: Some("qwen --acp"), program: QWEN },
        Offer { name: "goose", dialect: Dialect::Acp, command: Some("goose acp"), program: GOOSE },
        Offer { name: "claude-acp", dialect: Dialect::Acp, command: Some("claude-agent-acp"), program: CLAUDE_ACP },
        Offer { name: "codex-acp", dialect: Dialect::Acp, command: Some("codex-acp"), program: CODEX_ACP },
        Offer { name: "opencode-acp", dialect: Dialect::Acp, command: Some("opencode acp"), program: OPENCODE },
    ];

    /// What an agent needs of its own before it can work, when models do not come to it through the house.
    pub fn needs(command: &str) -> Option<&'static str> {
        match command.split_whitespace().next()? {
            "gemini" => Some(
                "It asks no model through the house: it needs the host generativelanguage.googleapis.com and a key, \
                 put in at the gateway as the header x-goog-api-key.",
            ),
            "copilot" => Some(
                "It asks no model through the house: it needs the hosts api.github.com and *.githubcopilot.com and a \
                 token of GitHub's, which it sees.",
            ),
            _ => None,
        }
    }

    /// What to say when the program of these settings is not in the sandbox.
    pub(crate) fn hint(settings: &AgentSettings) -> String {
        let first = settings.command().and_then(|command| command.split_whitespace().next()).unwrap_or_default();
        match Offer::KNOWN.iter().find(|offer| offer.program.name == first) {
            Some(offer) => offer.program.hint(),
            None => "It has to be in the sandbox's template.".to_owned(),
        }
    }
}

impl Program {
    /// The program of a dialect that knows one.
    pub fn of(dialect: Dialect) -> Option<Program> {
        match dialect {
            Dialect::Opencode => Some(OPENCODE),
            Dialect::Claude => Some(CLAUDE),
            Dialect::Codex => Some(CODEX),
            Dialect::Aider => Some(AIDER),
            Dialect::Shell | Dialect::Demo | Dialect::Acp | Dialect::Terminal | Dialect::Custom => None,
        }
    }

    /// A `Recipefile` for a template with this program in it, on top of another template. Nothing for one that is not
    /// installed by a command.
    pub fn recipe(&self, from: &str) -> Option<String> {
        if self.install == BY_HAND {
            return None;
        }
        Some(format!("FROM {from}\nUSER root\nRUN {}\nUSER user\nRUN {}\n", self.install, self.version.join(" ")))
    }

    /// What to say when it is not in the sandbox.
    pub(crate) fn hint(&self) -> String {
        format!("Install {} on this host or in a template: {}", self.name, self.install)
    }
}
