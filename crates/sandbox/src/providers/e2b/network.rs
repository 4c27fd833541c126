//! Whom a sandbox at E2B may talk to, in E2B's words.

use carrel_model::{
    SandboxId,
    sandbox::{ExitProxy, ExitTls, Network, NetworkMode},
};
use http::Method;

use super::{
    Inner,
    desk::Turn,
    wire::{NewNetwork, NewProxy, NewProxyTls},
};
use crate::ProviderError;

/// Everything outside.
const EVERYWHERE: &str = "0.0.0.0/0";

impl NewNetwork {
    /// The same in E2B's words. Ports have none.
    pub(super) fn of(network: &Network) -> Result<NewNetwork, ProviderError> {
        if !network.headers.is_empty() {
            let why = "headers with secrets of this house are not sent to E2B: make the sandbox elsewhere";
            return Err(ProviderError::Unfit { why: why.into() });
        }
        let mut theirs = NewNetwork { allow_public_traffic: Some(false), ..NewNetwork::default() };
        for rule in &network.allow {
            if rule.range().is_none() && rule.as_str().contains(':') {
                let host = rule.as_str().split(':').next().unwrap_or_default();
                let why = format!("E2B allows hosts and not ports: write `{host}` instead of `{}`", rule.as_str());
                return Err(ProviderError::Unfit { why });
            }
            theirs.allow_out.push(rule.as_str().to_owned());
        }
        theirs.deny_out = match network.mode {
            NetworkMode::Open => network.deny.iter().map(ToString::to_string).collect(),
            NetworkMode::None | NetworkMode::Allow => vec![EVERYWHERE.to_owned()],
        };
        theirs.egress_proxy = network.proxy.clone().map(NewProxy::from);
        Ok(theirs)
    }
}

impl From<ExitProxy> for NewProxy {
    fn from(ExitProxy { address, username, password, tls }: ExitProxy) -> Self {
        let tls = tls.map(|ExitTls { server_name, authorities }| NewProxyTls {
            enabled: true,
            server_name,
            ca_cert: authorities,
        });
        NewProxy { address, username, password, tls }
    }
}

impl Inner {
    pub(super) async fn set_network(
        &self,
        id: &SandboxId,
        network: &Network,
        _turn: Turn,
    ) -> Result<(), ProviderError> {
        let seen = self.look(id).await?.ok_or(ProviderError::Lost)?;
        // Who may call its ports is not asked again.
        let theirs = NewNetwork { allow_public_traffic: None, ..NewNetwork::of(network)? };
        let path = format!("/sandboxes/{}/network", seen.id);
        let asked = self.api.ask(Method::PUT, &path, Some(&theirs)).await;
        asked.map(drop).map_err(|trouble| self.explain(trouble))
    }
}
