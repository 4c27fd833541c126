//! What can be wrong with how an agent is described.

/// Why a dialect cannot start an agent as it is described; each is for the person who described it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// The word names no dialect.
    #[error("there is no dialect {word:?}; the dialects are {known}")]
    UnknownDialect {
        /// What was asked for.
        word: String,
        /// The words that would do.
        known: String,
    },
    /// This dialect runs whatever it is told to, and was told nothing.
    #[error("an agent of dialect {dialect} needs a command, such as {example:?}")]
    NoCommand {
        /// The dialect's word.
        dialect: &'static str,
        /// A command that would do.
        example: &'static str,
    },
    /// A value cannot be handed to a program.
    #[error("the agent's {field} {rule}")]
    Unusable {
        /// Which field.
        field: &'static str,
        /// What it has to be like.
        rule: &'static str,
    },
    /// The dialect is described as data, and the description is missing or wrong.
    #[error("the agent's phrases cannot be used: {why}")]
    Phrases {
        /// What is wrong with it.
        why: String,
    },
}
