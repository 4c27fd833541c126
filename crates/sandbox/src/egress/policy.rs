//! Whom a sandbox may talk to.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::{Arc, OnceLock},
};

use carrel_model::sandbox::{AddressRange, ExitProxy, HeaderName, HeaderText, HostRule, Network, NetworkMode};
use tokio::sync::watch;

use super::Authority;

/// Addresses of cloud machines that tell secrets to whoever asks, besides the link-local ones.
const METADATA: [IpAddr; 3] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254)),
];

/// Whom one sandbox may talk to. Clones share it: it can be changed while the sandbox runs.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Whose it is, for the log.
    pub sandbox: String,
    network: Arc<watch::Sender<Arc<Network>>>,
    /// Whom the programs inside believe when they are shown a host that has headers.
    authority: Arc<OnceLock<Authority>>,
}

/// Why something may not be reached: a sentence for the guest and the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub(crate) String);

impl Policy {
    /// The policy of a sandbox.
    pub fn new(sandbox: String, network: Network) -> Self {
        Policy { sandbox, network: Arc::new(watch::Sender::new(Arc::new(network))), authority: Arc::default() }
    }

    /// Gives it an authority. The first one stays.
    pub fn trust(&self, authority: Authority) {
        let _ = self.authority.set(authority);
    }

    pub(super) fn authority(&self) -> Option<&Authority> {
        self.authority.get()
    }

    /// The headers that requests to a host get; nothing for most hosts.
    pub(super) fn headers(&self, host: &str) -> Option<BTreeMap<HeaderName, HeaderText>> {
        let (network, host) = (self.now(), host.trim_end_matches('.').to_ascii_lowercase());
        // The name itself says more than a star.
        let exact = network.headers.iter().find(|(rule, _)| rule.as_str() == host);
        let found = exact.or_else(|| network.headers.iter().find(|(rule, _)| covers(rule, &host, 0)));
        found.map(|(_, headers)| headers.clone())
    }

    /// From now on this holds. Connections that it does not allow are cut.
    pub fn change(&self, network: Network) {
        self.network.send_replace(Arc::new(network));
    }

    fn now(&self) -> Arc<Network> {
        Arc::clone(&self.network.borrow())
    }

    /// Whether it has an interface of its own, so that real addresses are of use to it.
    pub fn has_interface(&self) -> bool {
        self.now().interface
    }

    /// Returns when somebody can be reached at all.
    pub async fn opens(&self) {
        let mut network = self.network.subscribe();
        // We hold the sender ourselves.
        let _ = network.wait_for(|network| network.mode != NetworkMode::None).await;
    }

    /// Returns when a connection that was allowed is not allowed any more.
    pub(super) async fn takes_back(&self, host: &str, port: u16, address: IpAddr) {
        let mut network = self.network.subscribe();
        while network.changed().await.is_ok() {
            if let Err(refused) = self.name(host, port).and_then(|named| named.allows(address)) {
                tracing::info!(sandbox = %self.sandbox, host, port, "a connection was cut: {refused}");
                return;
            }
        }
    }

    /// The ports on which a name may be called without a proxy; none when it may not be asked for.
    pub fn ports(&self, host: &str) -> Vec<u16> {
        let network = self.now();
        let named = network.allow.iter().filter(|rule| rule.range().is_none());
        let named = named.filter_map(|rule| rule.as_str().rsplit_once(':')?.1.parse().ok());
        let mut ports: Vec<u16> =
            [22, 80, 443].into_iter().chain(named).filter(|port| self.name(host, *port).is_ok()).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    /// Whether a name may be asked for at all, before it is resolved. What its address decides comes later.
    pub fn name(&self, host: &str, port: u16) -> Result<Named, Refused> {
        let (network, host) = (self.now(), host.trim_end_matches('.').to_ascii_lowercase());
        let listed = network.allow.iter().any(|rule| covers(rule, &host, port));
        // A name may lie in a range. For single addresses nobody is asked for names: questions tell something, too.
        let ranges = network.allow.iter().any(|rule| rule.as_str().contains('/') && rule.range().is_some());
        match network.mode {
            NetworkMode::None => {
                Err(Refused(format!("this sandbox has no network (mode `none`), so {host}:{port} cannot be reached")))
            }
            NetworkMode::Allow if !listed && !ranges => Err(not_listed(&host, port)),
            NetworkMode::Allow | NetworkMode::Open => Ok(Named { host, port, listed, network }),
        }
    }
}

fn not_listed(host: &str, port: u16) -> Refused {
    Refused(format!("{host}:{port} is not on the list of hosts that this sandbox may reach"))
}

/// A name that may be asked for.
#[derive(Debug, Clone)]
pub struct Named {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Somebody wrote it on the list, so it may be in a private network.
    listed: bool,
    network: Arc<Network>,
}

impl Named {
    /// Whether the address that the name has may be called. The host itself and what is close to it never may be.
    pub fn address(&self, address: IpAddr, own: &[IpAddr]) -> Result<(), Refused> {
        self.place(address, own)?;
        self.allows(address.to_canonical())
    }

    /// The proxy through which it is called, with the name that leads to it.
    pub(super) fn proxy(&self) -> Option<(&ExitProxy, Named)> {
        let proxy = self.network.proxy.as_ref()?;
        let (host, port) = (proxy.address.host().to_ascii_lowercase(), proxy.address.port());
        let listed = self.network.allow.iter().any(|rule| covers(rule, &host, port));
        Some((proxy, Named { host, port, listed, network: Arc::clone(&self.network) }))
    }

    /// Whether an address is somewhere that may be called at all, whatever the lists say.
    pub(super) fn place(&self, address: IpAddr, own: &[IpAddr]) -> Result<(), Refused> {
        let address = address.to_canonical();
        let refuse = |why: &str| Err(Refused(format!("{} is {address}, {why}", self.host)));
        if address.is_loopback() || address.is_unspecified() || own.contains(&address) {
            return refuse("which is the host itself");
        }
        if is_link_local(address) || METADATA.contains(&address) || address.is_multicast() {
            return refuse("which is never reached from a sandbox");
        }
        // Whoever allows everything means the world, not the neighbours.
        let named = |range: &AddressRange| range.holds(address) && !range.is_everything();
        let meant = self.listed || self.network.allow.iter().filter_map(HostRule::range).any(|range| named(&range));
        if is_private(address) && !meant {
            return refuse("which is in a private network; write it on the list to reach it");
        }
        Ok(())
    }

    /// Whether the lists allow an address.
    fn allows(&self, address: IpAddr) -> Result<(), Refused> {
        let network = &self.network;
        let covered = self.listed || network.allow.iter().filter_map(HostRule::range).any(|range| range.holds(address));
        match network.mode {
            NetworkMode::Open if covered || !network.deny.iter().any(|range| range.holds(address)) => Ok(()),
            NetworkMode::Open => Err(Refused(format!("{} is {address}, which this sandbox may not reach", self.host))),
            NetworkMode::Allow if covered => Ok(()),
            NetworkMode::Allow | NetworkMode::None => Err(not_listed(&self.host, self.port)),
        }
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
        Policy::new("tested".into(), Network { mode, allow, ..Network::default() })
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

    #[test]
    fn ranges_allow_and_deny_by_address() {
        let address = |text: &str| text.parse().expect("an address");
        let allows = |policy: &Policy, host: &str, at: &str| {
            policy.name(host, 443).and_then(|named| named.address(address(at), &[])).is_ok()
        };
        let listed = policy(NetworkMode::Allow, &["93.184.0.0/16", "10.0.0.0/8", "example.org"]);
        assert!(allows(&listed, "any.example", "93.184.216.34"), "its address is on the list");
        assert!(allows(&listed, "build.lan", "10.1.2.3"), "a private range that somebody wrote down");
        assert!(allows(&listed, "example.org", "1.2.3.4"));
        assert!(!allows(&listed, "any.example", "1.2.3.4"));
        assert!(!allows(&listed, "any.example", "192.168.0.1"));
        let everything = policy(NetworkMode::Allow, &["0.0.0.0/0"]);
        assert!(allows(&everything, "any.example", "1.2.3.4"));
        assert!(!allows(&everything, "build.lan", "10.1.2.3"), "the world is not the neighbours");

        let deny = vec!["93.184.0.0/16".parse().expect("a range"), "8.8.8.8".parse().expect("a range")];
        let open = policy(NetworkMode::Open, &[]);
        assert!(allows(&open, "any.example", "93.184.216.34"));
        let allow = vec!["good.example".to_owned().try_into().expect("a rule")];
        open.change(Network { mode: NetworkMode::Open, allow, deny, ..Network::default() });
        assert!(!allows(&open, "any.example", "93.184.216.34"), "a change counts at once");
        assert!(allows(&open, "good.example", "93.184.216.34"), "allow beats deny");
        assert!(!allows(&open, "8.8.8.8", "8.8.8.8"));
        assert!(allows(&open, "any.example", "1.2.3.4"));
    }

    #[tokio::test]
    async fn a_connection_that_is_not_allowed_any_more_is_noticed() {
        let policy = policy(NetworkMode::Open, &[]);
        let other = policy.clone();
        let noticed = tokio::spawn(async move {
            other.takes_back("any.example", 443, "93.184.216.34".parse().expect("an address")).await;
        });
        tokio::task::yield_now().await;
        policy.change(Network { mode: NetworkMode::Open, ..Network::default() });
        tokio::task::yield_now().await;
        assert!(!noticed.is_finished(), "what is still allowed goes on");
        policy.change(Network::default());
        noticed.await.expect("noticed");
    }
}
