//! Whom a sandbox may talk to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use carrel_model::sandbox::{HostRule, Network, NetworkMode};

/// Addresses of cloud machines that tell secrets to whoever asks, besides the link-local ones.
const METADATA: [IpAddr; 3] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254)),
];

/// Whom one sandbox may talk to.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Whose it is, for the log.
    pub sandbox: String,
    network: Network,
}

/// Why something may not be reached: a sentence for the guest and the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub(crate) String);

impl Policy {
    /// The policy of a sandbox.
    pub fn new(sandbox: String, network: Network) -> Self {
        Policy { sandbox, network }
    }

    /// Whether it has an interface of its own, so that real addresses are of use to it.
    pub fn has_interface(&self) -> bool {
        self.network.interface
    }

    /// The ports on which a name may be called without a proxy; none when it may not be asked for.
    pub fn ports(&self, host: &str) -> Vec<u16> {
        let named = self.network.allow.iter().filter_map(|rule| rule.as_str().rsplit_once(':')?.1.parse().ok());
        let mut ports: Vec<u16> =
            [22, 80, 443].into_iter().chain(named).filter(|port| self.name(host, *port).is_ok()).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    /// Whether a name may be asked for at all, before it is resolved.
    pub fn name(&self, host: &str, port: u16) -> Result<Named, Refused> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let listed = self.network.allow.iter().any(|rule| covers(rule, &host, port));
        match self.network.mode {
            NetworkMode::None => Err(Refused(format!(
                "this sandbox has no network, so {host}:{port} cannot be reached; it was made with network mode `none`"
            ))),
            NetworkMode::Allow if !listed => {
                Err(Refused(format!("{host}:{port} is not on the list of hosts that this sandbox may reach")))
            }
            NetworkMode::Allow | NetworkMode::Open => Ok(Named { host, port, listed }),
        }
    }
}

/// A name that may be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Somebody wrote it on the list, so it may be in a private network.
    listed: bool,
}

impl Named {
    /// Whether the address that the name has may be called. The host itself and what is close to it never may be.
    pub fn address(&self, address: IpAddr, own: &[IpAddr]) -> Result<(), Refused> {
        let address = address.to_canonical();
        let refuse = |why: &str| Err(Refused(format!("{} is {address}, {why}", self.host)));
        if address.is_loopback() || address.is_unspecified() || own.contains(&address) {
            return refuse("which is the host itself");
        }
        if is_link_local(address) || METADATA.contains(&address) || address.is_multicast() {
            return refuse("which is never reached from a sandbox");
        }
        if is_private(address) && !self.listed {
            return refuse("which is in a private network; write it on the list to reach it");
        }
        Ok(())
    }
}

fn covers(rule: &HostRule, host: &str, port: u16) -> bool {
    let rule = rule.as_str().to_ascii_lowercase();
    let (name, ports) = match rule.rsplit_once(':') {
        Some((name, only)) => (name.to_owned(), only.parse().ok()),
        None => (rule, None),
    };
    if ports.is_some_and(|only: u16| only != port) {
        return false;
    }
    match name.strip_prefix("*.") {
        // A star stands for at least one label.
        Some(parent) => host.strip_suffix(parent).is_some_and(|label| label.len() > 1 && label.ends_with('.')),
        None => host == name,
    }
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local() || v4.is_broadcast() || v4.octets()[0] == 0,
        IpAddr::V6(v6) => (v6.segments()[0] & 0xffc0) == 0xfe80,
    }
}

fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_private() || (v4.octets()[0] == 100 && (64..128).contains(&v4.octets()[1])),
        // Addresses that carry a v4 address inside (6to4, NAT64, Teredo) lead wherever that one does.
        IpAddr::V6(v6) => {
            let first = v6.segments()[0];
            (first & 0xfe00) == 0xfc00
                || first == 0x2002
                || (first == 0x0064 && v6.segments()[1] == 0xff9b)
                || (first == 0x2001 && v6.segments()[1] == 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(mode: NetworkMode, allow: &[&str]) -> Policy {
        let allow = allow.iter().map(|rule| (*rule).to_owned().try_into().expect("a good rule")).collect();
        Policy::new("tested".into(), Network { mode, allow, interface: false })
    }

    #[test]
    fn a_list_means_what_it_says() {
        let policy = policy(NetworkMode::Allow, &["example.org", "*.crates.io:443", "10.0.0.5"]);
        for (host, port, reached) in [
            ("example.org", 443, true),
            ("EXAMPLE.org.", 80, true),
            ("evil-example.org", 443, false),
            ("example.org.evil.com", 443, false),
            ("static.crates.io", 443, true),
            ("static.crates.io", 80, false),
            ("crates.io", 443, false),
            ("evilcrates.io", 443, false),
            ("10.0.0.5", 22, true),
        ] {
            assert_eq!(policy.name(host, port).is_ok(), reached, "{host}:{port}");
        }
        assert!(super::Policy::new(policy.sandbox.clone(), Network::default()).name("example.org", 443).is_err());
    }

    #[test]
    fn no_name_leads_to_the_host_or_to_what_tells_secrets() {
        let own = ["192.0.2.7".parse().expect("an address")];
        let open = policy(NetworkMode::Open, &[]).name("sneaky.example", 80).expect("open");
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "::1",
            "::",
            "169.254.169.254",
            "fe80::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "100.100.100.200",
            "fd00:ec2::254",
            "192.0.2.7",
            "224.0.0.1",
            "255.255.255.255",
            "10.1.2.3",
            "192.168.0.1",
            "172.16.0.1",
            "100.64.0.1",
            "fd12::1",
            "2002:7f00:1::",
            "64:ff9b::7f00:1",
        ] {
            assert!(open.address(address.parse().expect("an address"), &own).is_err(), "{address}");
        }
        assert!(open.address("93.184.216.34".parse().expect("an address"), &own).is_ok());
        let listed = policy(NetworkMode::Allow, &["build.lan"]).name("build.lan", 80).expect("listed");
        assert!(listed.address("10.1.2.3".parse().expect("an address"), &own).is_ok());
        assert!(listed.address("127.0.0.1".parse().expect("an address"), &own).is_err());
    }
}
