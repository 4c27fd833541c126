//! Whom desks may talk to when nobody says, as it is said on the command line.

use carrel_model::{
    public::NewNetwork,
    sandbox::{HostRule, NetworkMode},
};
use clap::Args;

use super::sandbox::word;
use crate::failure::{Exit, Failure};

#[derive(Debug, Args)]
pub(crate) struct Hosts {
    /// How open the network of its desks is when a card does not say: none, allow or open
    #[arg(long, value_parser = word::<NetworkMode>)]
    network: Option<NetworkMode>,
    /// A host that its desks may reach when a card does not say; the whole list, '' for none
    #[arg(long, value_name = "HOST")]
    allow: Option<Vec<String>>,
}

impl Hosts {
    /// What was asked for; nothing when nothing was said.
    pub(crate) fn change(self) -> Result<Option<NewNetwork>, Failure> {
        let Hosts { network, allow } = self;
        if network.is_none() && allow.is_none() {
            return Ok(None);
        }
        let read = |text: String| {
            let usage = |error: carrel_model::Malformed| Failure::new(error.to_string()).exit(Exit::Usage);
            HostRule::try_from(text).map_err(usage)
        };
        let said = allow.unwrap_or_default().into_iter().filter(|text| !text.trim().is_empty());
        let allow = said.map(read).collect::<Result<Vec<_>, _>>()?;
        let usual = if allow.is_empty() { NetworkMode::None } else { NetworkMode::Allow };
        Ok(Some(NewNetwork { mode: network.unwrap_or(usual), allow, ..NewNetwork::default() }))
    }
}
