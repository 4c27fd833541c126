//! Recipes: steps on top of another template, one after the other, each a layer that is made once.
//!
//! ```text
//! FROM debian
//! RUN apt-get update && \
//!     apt-get install -y ripgrep
//! ENV EDITOR=vim PATH=/opt/tools:$PATH
//! USER user
//! WORKDIR /home/user/app
//! COPY --chmod=755 tools/ /opt/tools/
//! START ./serve
//! READY curl -sf localhost:8000
//! ```
//!
//! Absent on purpose: stages, build arguments, and everything that says how a finished image is published.

mod build;
mod context;
mod glob;
mod parse;
mod trial;
mod word;

use std::path::PathBuf;

pub use build::{Bench, Caching, Errand, Order, Shell, Workbench, build};
pub use parse::parse;
pub use word::Word;

/// A recipe, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// The template or the image that it begins with.
    pub from: String,
    /// What is done, in order.
    pub steps: Vec<Step>,
}

/// One thing that a recipe does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The line of the recipe where it begins, counted from 1.
    pub line: usize,
    /// What is done.
    pub instruction: Instruction,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Instruction {
    /// Runs a command in a shell.
    Run {
        /// The command.
        command: String,
        /// Who runs it, when not the user of the steps before.
        user: Option<String>,
    },
    /// Copies files from the context.
    Copy {
        /// Paths in the context; `*`, `?` and `[…]` stand for names.
        sources: Vec<Word>,
        /// Where they go: a folder if it ends in `/`, has several sources, or the source is a folder.
        destination: Word,
        /// Who owns them, when not the user of the steps before.
        owner: Option<Word>,
        /// Their permissions, when not those that they have.
        mode: Option<u32>,
        /// The folder that they come from, when not that of the recipe.
        context: Option<PathBuf>,
    },
    /// Sets variables of the environment.
    Env(Vec<(String, Word)>),
    /// Who does what follows, and whatever runs later.
    User(Word),
    /// Where what follows is done, and whatever runs later. The folder is made where it is missing.
    Workdir(Word),
    /// What runs in the background from the start.
    Start(String),
    /// What says by exit code 0 that the start command is ready.
    Ready(String),
}

impl Instruction {
    /// The instruction as one line of a recipe.
    fn title(&self) -> String {
        let list = |words: &[Word]| words.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        match self {
            Instruction::Run { command, .. } => format!("RUN {command}"),
            Instruction::Copy { sources, destination, .. } => format!("COPY {} {destination}", list(sources)),
            Instruction::Env(pairs) => {
                let names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
                format!("ENV {}", names.join(" "))
            }
            Instruction::User(user) => format!("USER {user}"),
            Instruction::Workdir(folder) => format!("WORKDIR {folder}"),
            Instruction::Start(command) => format!("START {command}"),
            Instruction::Ready(command) => format!("READY {command}"),
        }
    }
}
