//! Whom a sandbox may talk to, in E2B's words and in ours.

use std::collections::BTreeMap;

use carrel_model::{
    public::{NewNetwork, SandboxView, an_object},
    sandbox::{
        AddressRange, Authorities, ExitProxy, ExitTls, HeaderName, HeaderText, Headers, HostRule, NetworkMode,
        PortAccess, PortHost, ProxyAddress, ProxyWord, ServerName,
    },
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
    #[serde(deserialize_with = "an_object")]
    egress_proxy: Option<AskedProxy>,
    mask_request_host: Option<String>,
    https_ports: Option<Vec<u16>>,
    rules: Option<BTreeMap<String, Vec<Rule>>>,
}

/// A SOCKS5 proxy through which everything leaves.
#[derive(Debug, Deserialize)]
struct AskedProxy {
    address: ProxyAddress,
    username: Option<ProxyWord>,
    password: Option<ProxyWord>,
    #[serde(default, deserialize_with = "an_object")]
    tls: Option<AskedTls>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AskedTls {
    #[serde(default)]
    enabled: bool,
    server_name: Option<ServerName>,
    ca_cert: Option<Authorities>,
}

#[derive(Debug, Deserialize)]
struct Rule {
    #[serde(default, deserialize_with = "an_object")]
    transform: Option<Transform>,
}

#[derive(Debug, Deserialize)]
struct Transform {
    headers: Option<BTreeMap<String, HeaderText>>,
}

impl Asked {
    /// What it comes to here, together with the older `allow_internet_access`.
    pub(super) fn understood(&self, internet: Option<bool>) -> Result<NewNetwork, Refusal> {
        self.refuse_what_we_lack()?;
        let none = Vec::new();
        let (allow, deny) = (self.allow_out.as_ref().unwrap_or(&none), self.deny_out.as_ref().unwrap_or(&none));
        let everywhere = |rule: &String| EVERYWHERE.contains(&rule.as_str());
        let denies_all = internet == Some(false) || deny.iter().any(everywhere);
        let ranges: Result<Vec<_>, _> = deny.iter().filter(|rule| !everywhere(rule)).map(|rule| range(rule)).collect();
        let ranges = ranges?;
        let open = NewNetwork {
            mode: NetworkMode::Open,
            headers: self.headers()?,
            proxy: self.proxy(),
            ..NewNetwork::default()
        };
        if allow.iter().any(|rule| everywhere(rule) || rule == "*") {
            return Ok(open);
        }
        let rules: Result<Vec<_>, _> = allow.iter().map(|rule| host_rule(rule)).collect();
        let rules = rules?;
        if let Some(name) = rules.iter().find(|rule| rule.range().is_none()).filter(|_| !denies_all) {
            return Err(Refusal::malformed(format!(
                "`allowOut` holds the name `{}`, and `denyOut` does not hold `{}`: everything else would stay open. \
                 Add it to `denyOut`.",
                name.as_str(),
                EVERYWHERE[0]
            )));
        }
        Ok(match (denies_all, rules.is_empty()) {
            (true, true) => NewNetwork { mode: NetworkMode::None, ..open },
            (true, false) => NewNetwork { mode: NetworkMode::Allow, allow: rules, ..open },
            // Without anything denied, what is allowed says nothing.
            (false, _) if ranges.is_empty() => open,
            (false, _) => NewNetwork { allow: rules, deny: ranges, ..open },
        })
    }

    /// Who may call its ports.
    pub(super) fn ports(&self) -> PortAccess {
        if self.allow_public_traffic == Some(false) { PortAccess::Token } else { PortAccess::Public }
    }

    /// The host that requests to its ports name inside.
    pub(super) fn port_host(&self) -> Result<Option<PortHost>, Refusal> {
        let given = self.mask_request_host.clone().filter(|host| !host.is_empty());
        let host = given.map(PortHost::try_from).transpose();
        host.map_err(|malformed| Refusal::malformed(format!("`network.maskRequestHost`: {}.", malformed.rule)))
    }

    /// The ports on which what listens inside speaks TLS itself.
    pub(super) fn tls_ports(&self) -> Vec<u16> {
        self.https_ports.clone().unwrap_or_default()
    }

    /// Refuses what is chosen once, when a sandbox is made. To say again who may call it and by which name changes nothing.
    pub(super) fn refuse_in_a_change(&self, view: &SandboxView) -> Result<(), Refusal> {
        if !self.tls_ports().is_empty() {
            return Err(Refusal::malformed("`httpsPorts` are chosen when a sandbox is made."));
        }
        if self.allow_public_traffic.is_some_and(|public| public != (view.ports != PortAccess::Token)) {
            return Err(Refusal::malformed("`allowPublicTraffic` is chosen when a sandbox is made."));
        }
        if self.port_host()?.is_some_and(|host| view.port_host.as_ref() != Some(&host)) {
            return Err(Refusal::malformed("`maskRequestHost` is chosen when a sandbox is made."));
        }
        Ok(())
    }

    fn proxy(&self) -> Option<ExitProxy> {
        let AskedProxy { address, username, password, tls } = self.egress_proxy.as_ref()?;
        let tls = tls.as_ref().filter(|tls| tls.enabled);
        let tls = tls.map(|tls| ExitTls { server_name: tls.server_name.clone(), authorities: tls.ca_cert.clone() });
        Some(ExitProxy { address: address.clone(), username: username.clone(), password: password.clone(), tls })
    }

    /// The headers that are put into requests on their way out.
    fn headers(&self) -> Result<Headers, Refusal> {
        let mut headers = Headers::new();
        for (host, rules) in self.rules.iter().flatten() {
            let odd = |why: &str| Refusal::malformed(format!("`network.rules` for `{host}`: {why}."));
            let key = HostRule::try_from(host.to_ascii_lowercase()).map_err(|malformed| odd(malformed.rule))?;
            if rules.iter().filter(|rule| rule.transform.is_some()).count() > 1 {
                return Err(odd("one transform is all that a host has; put its headers into it"));
            }
            for rule in rules {
                let given = rule.transform.as_ref().and_then(|transform| transform.headers.clone());
                for (name, text) in given.unwrap_or_default() {
                    if text.as_str().contains("${e2b.identity.") {
                        return Err(odd("tokens of identity are not issued by this server"));
                    }
                    let name = HeaderName::try_from(name.to_ascii_lowercase());
                    let name = name.map_err(|malformed| odd(malformed.rule))?;
                    headers.entry(key.clone()).or_default().insert(name, text);
                }
            }
        }
        Ok(headers)
    }

    fn refuse_what_we_lack(&self) -> Result<(), Refusal> {
        match self.dns_servers.as_ref().is_some_and(|servers| !servers.is_empty()) {
            true => Err(Refusal::malformed(
                "`network.dnsServers` is not supported by this server: the host resolves the names of its sandboxes. \
                 Leave it out; what differs is listed in docs/guides/e2b.md.",
            )),
            false => Ok(()),
        }
    }
}

fn host_rule(rule: &str) -> Result<HostRule, Refusal> {
    HostRule::try_from(rule.to_ascii_lowercase())
        .map_err(|malformed| Refusal::malformed(format!("`allowOut` holds `{rule}`: {}.", malformed.rule)))
}

fn range(rule: &str) -> Result<AddressRange, Refusal> {
    rule.parse().map_err(|malformed: carrel_model::Malformed| {
        Refusal::malformed(format!("`denyOut` holds `{rule}`: {}. Names are not denied.", malformed.rule))
    })
}

/// The network of a sandbox as E2B shows it.
pub(super) fn shown(view: &SandboxView) -> Value {
    let network = &view.network;
    let allow: Vec<&str> = network.allow.iter().map(HostRule::as_str).collect();
    let deny: Vec<String> = match network.mode {
        NetworkMode::Open => network.deny.iter().map(ToString::to_string).collect(),
        NetworkMode::Allow | NetworkMode::None => vec![EVERYWHERE[0].to_owned()],
    };
    let mut shown = json!({
        "allowPublicTraffic": view.ports != PortAccess::Token,
        "allowOut": allow,
        "denyOut": deny,
    });
    if let Some(host) = &view.port_host {
        shown["maskRequestHost"] = host.as_str().into();
    }
    if !view.tls_ports.is_empty() {
        shown["httpsPorts"] = json!(view.tls_ports);
    }
    if let Some(proxy) = &network.proxy {
        let mut told = json!({ "address": proxy.address });
        if let Some(username) = &proxy.username {
            told["username"] = username.as_str().into();
        }
        if let Some(tls) = &proxy.tls {
            told["tls"] = json!({ "enabled": true });
            if let Some(name) = &tls.server_name {
                told["tls"]["serverName"] = name.as_str().into();
            }
        }
        shown["egressProxy"] = told;
    }
    if !network.headers.is_empty() {
        let rules = network
            .headers
            .iter()
            .map(|(host, headers)| (host.as_str().to_owned(), json!([{ "transform": { "headers": headers } }])));
        shown["rules"] = Value::Object(rules.collect());
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(body: Value, internet: Option<bool>) -> Result<NewNetwork, Refusal> {
        serde_json::from_value::<Asked>(body).expect("a question").understood(internet)
    }

    #[test]
    fn what_is_allowed_and_denied_comes_to_a_mode() {
        for (body, internet, mode, allow, deny) in [
            (json!({}), None, NetworkMode::Open, 0, 0),
            (json!({}), Some(false), NetworkMode::None, 0, 0),
            (json!({"denyOut": ["0.0.0.0/0"]}), None, NetworkMode::None, 0, 0),
            (json!({"denyOut": ["10.0.0.0/8", "8.8.8.8"]}), None, NetworkMode::Open, 0, 2),
            (json!({"denyOut": ["8.8.0.0/16"], "allowOut": ["8.8.8.8"]}), None, NetworkMode::Open, 1, 1),
            (json!({"allowOut": ["8.8.8.8"]}), None, NetworkMode::Open, 0, 0),
            (json!({"allowOut": ["1.2.3.0/24", "*.example.org"]}), Some(false), NetworkMode::Allow, 2, 0),
            (json!({"allowOut": ["*"], "denyOut": ["0.0.0.0/0"]}), None, NetworkMode::Open, 0, 0),
        ] {
            let network = asked(body.clone(), internet).expect("understood");
            assert_eq!((network.mode, network.allow.len(), network.deny.len()), (mode, allow, deny), "{body}");
        }
        for bad in [
            json!({"denyOut": ["example.org"]}),
            json!({"denyOut": ["10.0.0.0/40"]}),
            json!({"allowOut": ["example.org"]}),
            json!({"allowOut": ["*.example.org", "1.2.3.4"], "denyOut": ["10.0.0.0/8"]}),
            json!({"rules": {"x.org": [{"transform": {"headers": {"a": "1"}}}, {"transform": {"headers": {"b": "2"}}}]}}),
            json!({"allowOut": ["http://x"], "denyOut": ["0.0.0.0/0"]}),
            json!({"rules": {"x.org": [{"transform": {"headers": {"Host": "y"}}}]}}),
            json!({"rules": {"x.org": [{"transform": {"headers": {"a": "${e2b.identity.tokens.aws}"}}}]}}),
        ] {
            assert!(asked(bad.clone(), None).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_proxy_is_taken_as_it_is_and_told_without_its_password() {
        let body = json!({"denyOut": ["0.0.0.0/0"], "allowOut": ["example.org"], "egressProxy": {
            "address": "proxy.example.org:1080", "username": "me", "password": "word", "tls": {"enabled": true, "serverName": "p"},
        }});
        let network = asked(body, None).expect("understood");
        let proxy = network.proxy.expect("a proxy");
        assert_eq!((proxy.address.port(), proxy.password.is_some(), proxy.tls.is_some()), (1080, true, true));
        for bad in ["proxy", "socks5://proxy:1080", "proxy:0"] {
            let body = json!({ "egressProxy": { "address": bad } });
            assert!(serde_json::from_value::<Asked>(body).is_err(), "{bad}");
        }
        assert!(asked(json!({"dnsServers": ["1.1.1.1"]}), None).is_err());
        assert!(asked(json!({"dnsServers": []}), None).is_ok(), "none at all is what there is");
    }

    #[test]
    fn rules_come_to_headers() {
        let rules = json!({"rules": {"Api.Example.org": [{"transform": {"headers": {"Authorization": "Bearer x"}}}]}});
        let network = asked(rules, None).expect("understood");
        let headers = serde_json::to_value(&network.headers).expect("written");
        assert_eq!(headers, json!({"api.example.org": {"authorization": "Bearer x"}}));
    }
}
