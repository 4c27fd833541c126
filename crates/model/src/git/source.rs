//! Where a repository comes from. What git would run a program for, and what carries a secret, is no source.

use std::net::IpAddr;

use super::*;

/// Where a repository comes from: a path, an address, or `github:owner/name`. It holds no credential.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String)]
pub struct RepoSource(String);

/// A source, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Locator {
    /// A folder of this machine, by its absolute path.
    Path(String),
    /// `https://…`; plain `http://…` only for this machine itself.
    Http {
        /// The whole address, without user or password.
        url: String,
        /// Its host, with the port if it has one.
        host: String,
    },
    /// `ssh://[user@]host[:port]/path` or `[user@]host:path`.
    Ssh {
        /// As git takes it.
        url: String,
        /// Its host, with the port if it has one.
        host: String,
    },
    /// A repository at github.com.
    GitHub {
        /// Whose it is.
        owner: String,
        /// Its name there.
        name: String,
    },
}

const RULE: &str = "a source is an absolute path, `https://host/path`, `ssh://user@host/path`, `user@host:path`, \
                    `file:///path` or `github:owner/name`, without a password in it, of at most 1024 characters";
const PLAIN_HTTP: &str = "plain http is only for this machine (localhost); use https";
const SECRET: &str = "an address with a user or password in it is not taken, because it would end up in logs; give the \
                      credential by itself with `carrel secret set`";
const TRANSPORT: &str = "this transport is not allowed; use https, ssh or a path";

impl RepoSource {
    /// The source taken apart.
    pub fn locator(&self) -> Locator {
        read(&self.0).expect("it was read when it was made")
    }

    /// What git is told to fetch from.
    pub fn url(&self) -> String {
        match self.locator() {
            Locator::Path(path) => path,
            Locator::Http { url, .. } | Locator::Ssh { url, .. } => url,
            Locator::GitHub { owner, name } => format!("https://github.com/{owner}/{name}.git"),
        }
    }

    /// As it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it leads to this machine or the link that it is on, by a path or by an address. A name that somebody else
    /// lets point here is not seen by its spelling.
    pub fn is_near(&self) -> bool {
        match self.locator() {
            Locator::Path(_) => true,
            Locator::Http { host, .. } | Locator::Ssh { host, .. } => is_near(&host),
            Locator::GitHub { .. } => false,
        }
    }

    /// A name for it in this house, from its last part.
    pub fn suggested_name(&self) -> Option<RepoName> {
        let url = self.url();
        let last = url.trim_end_matches('/').rsplit(['/', ':']).next()?;
        let last = last.strip_suffix(".git").unwrap_or(last).to_lowercase();
        let slug: String =
            last.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' }).collect();
        slug.trim_start_matches(['.', '-', '_']).parse().ok()
    }
}

impl TryFrom<String> for RepoSource {
    type Error = Malformed;
    fn try_from(text: String) -> Result<Self, Malformed> {
        read(&text).map(|_| RepoSource(text))
    }
}

impl std::str::FromStr for RepoSource {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        text.to_owned().try_into()
    }
}

impl From<RepoSource> for String {
    fn from(source: RepoSource) -> String {
        source.0
    }
}

impl fmt::Display for RepoSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for RepoSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RepoSource({})", self.0)
    }
}

fn read(text: &str) -> Result<Locator, Malformed> {
    let malformed = |rule| Err(Malformed { rule });
    if text.is_empty() || text.len() > 1024 || text.starts_with('-') || text.chars().any(char::is_control) {
        return malformed(RULE);
    }
    // `ext::command`, and every other remote helper.
    if text.contains("::") && !text.starts_with('/') && !text.contains("://[") {
        return malformed(TRANSPORT);
    }
    if text.starts_with('/') {
        return path(text);
    }
    if let Some(rest) = text.strip_prefix("github:") {
        let Some((owner, name)) = rest.split_once('/') else { return malformed(RULE) };
        let name = name.strip_suffix(".git").unwrap_or(name);
        let plain = |part: &str| {
            (1..=100).contains(&part.len())
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
                && !part.starts_with(['-', '.'])
        };
        if !plain(owner) || !plain(name) {
            return malformed(RULE);
        }
        return Ok(Locator::GitHub { owner: owner.to_owned(), name: name.to_owned() });
    }
    match text.split_once("://") {
        Some(("file", rest)) if rest.starts_with('/') => path(rest),
        Some((scheme @ ("http" | "https"), rest)) => http(text, scheme, rest),
        Some(("ssh", rest)) => ssh(text, rest),
        Some(_) => malformed(TRANSPORT),
        None => scp_like(text),
    }
}

fn path(text: &str) -> Result<Locator, Malformed> {
    let plain = text.len() > 1 && !text.split('/').any(|part| part == "..");
    if plain { Ok(Locator::Path(text.to_owned())) } else { Err(Malformed { rule: RULE }) }
}

fn http(text: &str, scheme: &str, rest: &str) -> Result<Locator, Malformed> {
    let (host, place) = rest.split_once('/').ok_or(Malformed { rule: RULE })?;
    if host.contains('@') {
        return Err(Malformed { rule: SECRET });
    }
    let odd = place.is_empty() || place.contains(['?', '#', ' ', '\\', '"', '\'']);
    if !is_host(host) || odd {
        return Err(Malformed { rule: RULE });
    }
    if scheme == "http" && !is_this_machine(host) {
        return Err(Malformed { rule: PLAIN_HTTP });
    }
    Ok(Locator::Http { url: text.to_owned(), host: host.to_owned() })
}

fn ssh(text: &str, rest: &str) -> Result<Locator, Malformed> {
    let (authority, place) = rest.split_once('/').ok_or(Malformed { rule: RULE })?;
    let host = ssh_host(authority)?;
    if place.is_empty() || place.contains(' ') {
        return Err(Malformed { rule: RULE });
    }
    Ok(Locator::Ssh { url: text.to_owned(), host: host.to_owned() })
}

fn scp_like(text: &str) -> Result<Locator, Malformed> {
    let (authority, place) = text.split_once(':').ok_or(Malformed { rule: RULE })?;
    let host = ssh_host(authority)?;
    // `user:password@host:path` would be taken for a path on a host called `user`.
    if place.split('/').next().is_some_and(|first| first.contains('@')) {
        return Err(Malformed { rule: SECRET });
    }
    if place.is_empty() || place.starts_with('-') || place.contains(' ') || host.contains('[') {
        return Err(Malformed { rule: RULE });
    }
    Ok(Locator::Ssh { url: text.to_owned(), host: host.to_owned() })
}

/// The host of `user@host`; a password is refused, and so is whatever ssh would take for an option.
fn ssh_host(authority: &str) -> Result<&str, Malformed> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let named = |user: &str| {
        !user.is_empty()
            && !user.starts_with('-')
            && user.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    };
    match user {
        Some(user) if user.contains(':') => Err(Malformed { rule: SECRET }),
        Some(user) if !named(user) => Err(Malformed { rule: RULE }),
        _ if !is_host(host) => Err(Malformed { rule: RULE }),
        _ => Ok(host),
    }
}

fn is_host(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => {
            let address: Result<std::net::Ipv6Addr, _> = address.parse();
            return address.is_ok()
                && (rest.is_empty() || rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok()));
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    (1..=253).contains(&host.len())
        && !host.starts_with(['-', '.'])
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_".contains(&b))
        && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|p| p > 0) && !port.starts_with('+'))
}

fn is_this_machine(host: &str) -> bool {
    let name = host.strip_prefix("[::1]").map_or_else(|| host.split(':').next().unwrap_or(""), |_| "localhost");
    let address: Option<std::net::Ipv4Addr> = name.parse().ok();
    name == "localhost" || address.is_some_and(|address| address.is_loopback())
}

/// Whether an address is this machine, its link, or one at which clouds tell secrets to whoever asks.
pub fn is_near_address(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let told = [[100, 100, 100, 200], [168, 63, 129, 16]];
            v4.is_loopback() || v4.is_link_local() || v4.octets()[0] == 0 || told.contains(&v4.octets())
        }
        IpAddr::V6(v6) => {
            let told = [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254];
            v6.is_loopback() || v6.is_unicast_link_local() || v6.is_unspecified() || v6.segments() == told
        }
    }
}

/// However it is spelled: what dials also reads `127.1`, `2130706433` and `0x7f000001`, which no public host is called.
fn is_near(host: &str) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.split(':').next().unwrap_or_default(),
    };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    match name.parse::<IpAddr>() {
        Ok(address) => is_near_address(address),
        Err(_) => {
            let last = name.rsplit('.').next().unwrap_or_default();
            let is_number = last.starts_with("0x") || last.bytes().all(|letter| letter.is_ascii_digit());
            is_number || last == "localhost"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_source_is_a_path_an_address_or_a_name_at_github() {
        for (text, url, name) in [
            ("/srv/code/app", "/srv/code/app", "app"),
            ("file:///srv/app.git", "/srv/app.git", "app"),
            ("https://example.org/a/App.git", "https://example.org/a/App.git", "app"),
            ("http://127.0.0.1:3000/a/b", "http://127.0.0.1:3000/a/b", "b"),
            ("http://[::1]:3000/a/b", "http://[::1]:3000/a/b", "b"),
            ("ssh://git@example.org:2222/a/b.git", "ssh://git@example.org:2222/a/b.git", "b"),
            ("git@example.org:a/b.git", "git@example.org:a/b.git", "b"),
            ("github:octo/hello.world", "https://github.com/octo/hello.world.git", "hello.world"),
        ] {
            let source: RepoSource = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(source.url(), url);
            assert_eq!(source.suggested_name().unwrap().as_str(), name);
        }
    }

    #[test]
    fn this_machine_and_its_link_are_near_however_they_are_spelled() {
        for near in [
            "/srv/app",
            "http://127.0.0.1:3000/a",
            "https://localhost/a",
            "https://Sub.LocalHost./a",
            "https://127.1/a",
            "https://2130706433:1/a",
            "https://0x7f000001/a",
            "https://0.0.0.0/a",
            "https://[::1]:1/a",
            "https://[::ffff:127.0.0.1]/a",
            "https://[fe80::1]/a",
            "https://169.254.1.2/a",
            "ssh://git@127.0.0.1:22/a",
            "git@localhost:a",
        ] {
            assert!(near.parse::<RepoSource>().unwrap().is_near(), "{near}");
        }
        for far in ["https://example.org/a", "git@10.0.0.1:a", "https://[fd00::1]/a", "github:a/b", "https://a1.b2c/d"]
        {
            assert!(!far.parse::<RepoSource>().unwrap().is_near(), "{far}");
        }
    }

    #[test]
    fn what_runs_a_program_or_carries_a_secret_is_no_source() {
        for bad in [
            "",
            "/",
            "-oProxyCommand=x",
            "--upload-pack=x",
            "ext::sh -c x",
            "fd::17",
            "https::ext::x",
            "git://example.org/x",
            "http://example.org/x",
            "http://localhost.example.org/x",
            "https://user:pass@example.org/x",
            "https://token@example.org/x",
            "https://example.org",
            "https://example.org/x?token=1",
            "ssh://git:pw@example.org/x",
            "git:pw@example.org:x",
            "ssh://-oProxyCommand=x/x",
            "ssh://git@-oProxyCommand=x/x",
            "-oProxyCommand=x:y",
            "git@-x:y",
            "host:-y",
            "/a/../../etc",
            "relative/path",
            "../up",
            "github:a",
            "github:a/../b",
            "github:-a/b",
            "https://example.org/x\nhttps://evil/y",
            "https://example.org/x\0",
        ] {
            assert!(bad.parse::<RepoSource>().is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_a_source_with_an_option_or_a_helper_in_it(text in "[-a-z@:/.\\[\\]0-9 \n]{0,40}") {
            if let Ok(source) = text.parse::<RepoSource>() {
                let url = source.url();
                prop_assert!(!url.starts_with('-') && !url.contains('\n'));
                if let Locator::Ssh { host, .. } | Locator::Http { host, .. } = source.locator() {
                    prop_assert!(!host.starts_with('-') && !url.contains("://-"));
                }
                prop_assert!(url.starts_with('/') || !url.contains("::") || url.contains('['));
            }
        }
    }
}
