//! A proxy through which everything leaves a sandbox.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::spec::checked_text;
use crate::Malformed;

/// A SOCKS5 proxy, called outside of the sandbox, which knows nothing of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExitProxy {
    /// Where it listens.
    pub address: ProxyAddress,
    /// Who we are to it; nobody when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<ProxyWord>,
    /// What shows it. Never told again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<ProxyWord>,
    /// How it is called by TLS; in plain when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<ExitTls>,
}

/// How a proxy is called by TLS.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExitTls {
    /// The name that its certificate must have; that of its address when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_name: Option<ServerName>,
    /// Certificates of the authorities that are believed instead of the host's own, as PEM. Never told again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorities: Option<Authorities>,
}

checked_text!(
    /// Where a proxy listens: a host and a port.
    #[derive(Debug)]
    ProxyAddress,
    "a proxy is a host and a port, such as `proxy.example.org:1080`",
    |text| {
        let Some((host, port)) = text.rsplit_once(':') else { return false };
        let is_six = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let is_host = match is_six {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => is_name(host),
        };
        is_host && port.parse::<u16>().is_ok_and(|port| port > 0)
    }
);
checked_text!(
    /// A name or a password for a proxy. It does not print itself.
    ProxyWord,
    "a name or a password for a proxy is 1 to 255 bytes",
    |text| (1..=255).contains(&text.len())
);
checked_text!(
    /// The name that a certificate must have.
    #[derive(Debug)]
    ServerName,
    "the name of a server is 1 to 253 letters, digits, `.`, `-` or `_`",
    is_name
);
checked_text!(
    /// Certificates of authorities, as PEM.
    #[derive(Debug)]
    Authorities,
    "authorities are certificates as PEM, at most 64 KiB",
    |text| text.len() <= 65_536 && text.contains("-----BEGIN CERTIFICATE-----")
);

fn is_name(text: &str) -> bool {
    (1..=253).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
}

impl std::fmt::Debug for ProxyWord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProxyWord(…)")
    }
}

impl ProxyAddress {
    /// The host, without the brackets of an address.
    pub fn host(&self) -> &str {
        let host = self.as_str().rsplit_once(':').map_or("", |(host, _)| host);
        host.trim_matches(['[', ']'])
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.as_str().rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(0)
    }
}

impl ExitProxy {
    /// The same as it may be shown.
    pub fn shown(&self) -> ExitProxy {
        let tls = self.tls.clone().map(|tls| ExitTls { authorities: None, ..tls });
        ExitProxy { password: None, tls, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_a_host_and_a_port() {
        for (text, host, port) in [
            ("proxy.example.org:1080", "proxy.example.org", 1080),
            ("192.0.2.7:1", "192.0.2.7", 1),
            ("[2001:db8::1]:1080", "2001:db8::1", 1080),
        ] {
            let address = ProxyAddress::try_from(text.to_owned()).expect(text);
            assert_eq!((address.host(), address.port()), (host, port));
        }
        for text in ["", "proxy", "proxy:0", "proxy:65536", ":1080", "socks5://proxy:1080", "[::1:1080", "a b:1"] {
            assert!(ProxyAddress::try_from(text.to_owned()).is_err(), "{text}");
        }
    }

    #[test]
    fn what_only_the_proxy_is_to_know_is_not_shown() {
        let proxy: ExitProxy = serde_json::from_value(serde_json::json!({
            "address": "proxy.example.org:1080", "username": "me", "password": "hunter2",
            "tls": {"server_name": "p", "authorities": "-----BEGIN CERTIFICATE-----\nours"},
        }))
        .expect("a proxy");
        assert!(!format!("{proxy:?}").contains("hunter2"), "{proxy:?}");
        let shown = serde_json::to_string(&proxy.shown()).expect("written");
        assert!(!shown.contains("hunter2") && !shown.contains("ours"), "{shown}");
        assert!(shown.contains("\"me\"") && shown.contains("server_name"), "{shown}");
    }
}
