//! What may be run at a desk, as it is said on the command line.

use carrel_model::{command::CommandPattern, public::CommandRulesChange};
use clap::Args;

use crate::failure::{Exit, Failure};

#[derive(Debug, Args)]
pub(crate) struct Commands {
    /// Only such commands may be run from outside, for example 'git **'; the whole list, '' for everything
    #[arg(long = "allow-command", value_name = "PATTERN")]
    allow_commands: Option<Vec<String>>,
    /// Such commands may not be run from outside, for example 'git push **'; the whole list, '' for none
    #[arg(long = "deny-command", value_name = "PATTERN")]
    deny_commands: Option<Vec<String>>,
}

impl Commands {
    /// What was asked for.
    pub(crate) fn change(self) -> Result<CommandRulesChange, Failure> {
        let read = |texts: Option<Vec<String>>| {
            let read = |text: &String| {
                let usage =
                    |error: carrel_model::Malformed| Failure::new(format!("`{text}`: {error}")).exit(Exit::Usage);
                text.parse::<CommandPattern>().map_err(usage)
            };
            texts
                .map(|texts| {
                    texts.iter().filter(|text| !text.trim().is_empty()).map(read).collect::<Result<Vec<_>, _>>()
                })
                .transpose()
        };
        Ok(CommandRulesChange { allow: read(self.allow_commands)?, deny: read(self.deny_commands)? })
    }
}
