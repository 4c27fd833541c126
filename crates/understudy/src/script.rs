//! Scripts: what the model does, act by act.
//!
//! ```toml
//! [[fix-the-test]]
//! say = "I will look first."
//! run = "sh test.sh"
//!
//! [[fix-the-test]]
//! write = { path = "answer.txt", content = "42\n" }
//!
//! [[fix-the-test]]
//! trouble = { status = 529, times = 2 }
//! say = "Done."
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;

/// Scripts by name. A prompt that holds `[script NAME]` chooses; else it is the one named `default`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct Scripts(pub BTreeMap<String, Script>);

/// What a model does in one conversation.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct Script(pub Vec<Act>);

/// One answer of the model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Act {
    /// What it says.
    pub say: Option<String>,
    /// The tool it uses. Without one, its turn is over.
    #[serde(flatten)]
    pub tool: Option<Tool>,
    /// What goes wrong before it answers.
    pub trouble: Option<Trouble>,
    /// Whether it does this again and again.
    pub forever: bool,
}

/// A tool, as the script has it; each agent's own tool is found among those that it offers.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// Runs a line in the agent's shell.
    Run(String),
    /// Reads a file.
    Read(String),
    /// Writes a file.
    Write {
        /// Where, from the working tree.
        path: String,
        /// What.
        content: String,
    },
    /// Replaces a text in a file.
    Edit {
        /// Where, from the working tree.
        path: String,
        /// What stands there.
        old: String,
        /// What is to stand there.
        new: String,
    },
}

/// What goes wrong, and how often, before a question is answered.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Trouble {
    /// The status of the refusal. Zero: the answer breaks off in the middle.
    #[serde(default)]
    pub status: u16,
    /// How often.
    #[serde(default = "always")]
    pub times: usize,
    /// The header `retry-after`.
    #[serde(default)]
    pub retry_after_s: Option<u64>,
}

fn always() -> usize {
    usize::MAX
}

impl Scripts {
    /// Reads them as TOML.
    pub fn from_toml(text: &str) -> Result<Scripts, String> {
        toml::from_str(text).map_err(|wrong| wrong.to_string())
    }

    /// The script for a conversation with these words in it.
    pub(crate) fn choose(&self, words: &str) -> Script {
        // The last one counts: a later message may change the play.
        let named = words.rsplit("[script ").find_map(|rest| self.0.get(rest.split(']').next()?.trim()));
        named.or_else(|| self.0.get("default")).cloned().unwrap_or_default()
    }
}

impl From<Script> for Scripts {
    fn from(script: Script) -> Scripts {
        Scripts([("default".to_owned(), script)].into())
    }
}

impl Script {
    /// An empty script: the model says that there is nothing to do.
    pub fn new() -> Script {
        Script::default()
    }

    /// It says something, and its turn is over.
    pub fn say(self, text: &str) -> Script {
        self.then(Act { say: Some(text.to_owned()), ..Act::default() })
    }

    /// It uses a tool.
    pub fn tool(self, tool: Tool) -> Script {
        self.then(Act { tool: Some(tool), ..Act::default() })
    }

    /// It runs a line in the shell.
    pub fn run(self, line: &str) -> Script {
        self.tool(Tool::Run(line.to_owned()))
    }

    /// It writes a file.
    pub fn write(self, path: &str, content: &str) -> Script {
        self.tool(Tool::Write { path: path.to_owned(), content: content.to_owned() })
    }

    /// Something goes wrong before the act that was written last.
    pub fn after_trouble(mut self, status: u16, times: usize) -> Script {
        if let Some(act) = self.0.last_mut() {
            act.trouble = Some(Trouble { status, times, retry_after_s: None });
        }
        self
    }

    /// The act that was written last is done again and again.
    pub fn forever(mut self) -> Script {
        if let Some(act) = self.0.last_mut() {
            act.forever = true;
        }
        self
    }

    /// Any other act.
    pub fn then(mut self, act: Act) -> Script {
        self.0.push(act);
        self
    }

    /// The act that follows so many answers.
    pub(crate) fn act(&self, answers: usize) -> Act {
        let endless = self.0.last().filter(|last| last.forever);
        let nothing = || Act { say: Some("There is nothing more to do.".to_owned()), ..Act::default() };
        self.0.get(answers).or(endless).cloned().unwrap_or_else(nothing)
    }
}
