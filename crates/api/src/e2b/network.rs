//! Whom a sandbox may talk to, in E2B's words and in ours.

use std::collections::BTreeMap;

use carrel_model::{
    public::NewNetwork,
    sandbox::{HostRule, Network, NetworkMode, PortAccess},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Refusal;

/// Everything outside.
const EVERYWHERE: [&str; 2] = ["0.0.0.0/0", "::/0"];

/// What is asked about the network.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Asked {
    allow_public_traffic: Option<bool>,
    allow_out: Option<Vec<String>>,
    deny_out: Option<Vec<String>>,
    dns_servers: Option<Vec<String>>,
    egress_proxy: Option<Value>,
    mask_request_host: Option<String>,
    https_ports: Option<Vec<u16>>,
    rules: Option<BTreeMap<String, Value>>,
}

impl Asked {
    /// What it comes to here, together with the older `allow_internet_access`.
    pub(super) fn understood(&self, internet: Option<bool>) -> Result<NewNetwork, Refusal> {
        self.refuse_what_we_lack()?;
        let none = Vec::new();
        let (allow, deny) = (self.allow_out.as_ref().unwrap_or(&none), self.deny_out.as_ref().unwrap_or(&none));
        let denies_all = internet == Some(false) || deny.iter().any(|range| EVERYWHERE.contains(&range.as_str()));
        if let Some(range) = deny.iter().find(|range| !EVERYWHERE.contains(&range.as_str())) {
            return Err(Refusal::malformed(format!(
                "`denyOut` holds `{range}`: this server denies everything (`0.0.0.0/0`) or nothing; name in `allowOut` \
                 what may be reached."
            )));
        }
        let everything = |rule: &String| EVERYWHERE.contains(&rule.as_str()) || rule == "*";
        if !denies_all || allow.iter().any(everything) {
            return Ok(NewNetwork { mode: NetworkMode::Open, allow: Vec::new() });
        }
        if allow.is_empty() {
            return Ok(NewNetwork { mode: NetworkMode::None, allow: Vec::new() });
        }
        let rules: Result<Vec<_>, _> = allow.iter().map(|rule| host_rule(rule)).collect();
        Ok(NewNetwork { mode: NetworkMode::Allow, allow: rules? })
    }

    /// Who may call its ports.
    pub(super) fn ports(&self) -> PortAccess {
        if self.allow_public_traffic == Some(false) { PortAccess::Token } else { PortAccess::Public }
    }

    fn refuse_what_we_lack(&self) -> Result<(), Refusal> {
        let given = [
            ("dnsServers", self.dns_servers.as_ref().is_some_and(|servers| !servers.is_empty())),
            ("egressProxy", self.egress_proxy.as_ref().is_some_and(|proxy| !proxy.is_null())),
            ("maskRequestHost", self.mask_request_host.as_ref().is_some_and(|host| !host.is_empty())),
            ("httpsPorts", self.https_ports.as_ref().is_some_and(|ports| !ports.is_empty())),
            ("rules", self.rules.as_ref().is_some_and(|rules| !rules.is_empty())),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(Refusal::malformed(format!(
                "`network.{name}` is not supported by this server; leave it out. What differs is listed in docs/guides/e2b.md."
            ))),
            None => Ok(()),
        }
    }
}

fn host_rule(rule: &str) -> Result<HostRule, Refusal> {
    let single = rule.strip_suffix("/32").unwrap_or(rule);
    HostRule::try_from(single.to_ascii_lowercase()).map_err(|malformed| {
        Refusal::malformed(format!(
            "`allowOut` holds `{rule}`: {}. Ranges of addresses are not understood.",
            malformed.rule
        ))
    })
}

/// The network of a sandbox as E2B shows it.
pub(super) fn shown(network: &Network, ports: PortAccess) -> Value {
    let allow: Vec<&str> = network.allow.iter().map(|rule| rule.as_str()).collect();
    let deny: &[&str] = if network.mode == NetworkMode::Open { &[] } else { &EVERYWHERE[..1] };
    json!({ "allowPublicTraffic": ports != PortAccess::Token, "allowOut": allow, "denyOut": deny })
}
