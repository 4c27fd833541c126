//! What goes over the wire to the control plane and comes back, in E2B's own words.
//!
//! Only the fields that are used. What comes from outside is checked here, by its type, before anybody builds a path or
//! a host name of it.

use std::{collections::BTreeMap, fmt};

use carrel_model::{
    Timestamp,
    sandbox::{Authorities, ProxyAddress, ProxyWord, ServerName},
};
use secrecy::SecretString;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

/// How E2B calls a sandbox. It goes into paths and host names, so it is a label.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct E2bId(String);

impl E2bId {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for E2bId {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        // With the longest port in front it still is one label of a host name.
        let good = (1..=57).contains(&text.len())
            && text.bytes().all(|b| plain(b) || b == b'-' || b == b'_')
            && text.bytes().next().is_some_and(plain);
        if good { Ok(E2bId(text)) } else { Err("a sandbox id is 1 to 57 lower-case letters, digits, `-` or `_`") }
    }
}

impl fmt::Display for E2bId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for E2bId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "E2bId({})", self.0)
    }
}

/// Asks for a sandbox.
#[derive(Serialize)]
pub(super) struct NewSandbox<'a> {
    #[serde(rename = "templateID")]
    pub(super) template: &'a str,
    pub(super) timeout: u64,
    #[serde(rename = "autoPause")]
    pub(super) auto_pause: bool,
    /// Only the first generation of paths asks; the second one always means it.
    pub(super) secure: bool,
    pub(super) allow_internet_access: bool,
    pub(super) network: NewNetwork,
    pub(super) metadata: BTreeMap<&'a str, &'a str>,
    #[serde(rename = "envVars")]
    pub(super) env: BTreeMap<&'a str, &'a str>,
}

/// Whom it may talk to, and who may talk to it.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewNetwork {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) allow_public_traffic: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) allow_out: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) deny_out: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) egress_proxy: Option<NewProxy>,
}

/// A proxy through which everything leaves.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewProxy {
    pub(super) address: ProxyAddress,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) username: Option<ProxyWord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) password: Option<ProxyWord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tls: Option<NewProxyTls>,
}

/// How that proxy is called by TLS.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewProxyTls {
    pub(super) enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) server_name: Option<ServerName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ca_cert: Option<Authorities>,
}

/// Answers whoever made, woke or joined a sandbox: how to get in.
#[derive(Deserialize)]
pub(super) struct Opened {
    #[serde(rename = "sandboxID")]
    pub(super) id: E2bId,
    #[serde(rename = "envdAccessToken", default, deserialize_with = "secret")]
    pub(super) token: Option<SecretString>,
    #[serde(rename = "trafficAccessToken", default, deserialize_with = "secret")]
    pub(super) traffic: Option<SecretString>,
    #[serde(default, deserialize_with = "domain")]
    pub(super) domain: Option<String>,
}

/// A sandbox that was looked at, alone or in a list.
#[derive(Deserialize)]
pub(super) struct Seen {
    #[serde(rename = "sandboxID")]
    pub(super) id: E2bId,
    pub(super) state: State,
    #[serde(rename = "startedAt")]
    pub(super) started_at: Timestamp,
    #[serde(rename = "endAt")]
    pub(super) end_at: Timestamp,
    #[serde(default)]
    pub(super) metadata: Option<BTreeMap<String, String>>,
    #[serde(rename = "pauseMode", default)]
    pub(super) pause_mode: Option<PauseMode>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Running,
    Paused,
    /// A word that came after us.
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum PauseMode {
    Filesystem,
    #[serde(other)]
    Full,
}

/// What a sandbox used at one moment, in bytes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
pub(super) struct Metric {
    pub(super) mem_used: Option<u64>,
    pub(super) mem_cache: Option<u64>,
    pub(super) disk_used: Option<u64>,
}

/// A template of the team.
#[derive(Deserialize)]
pub(super) struct Offered {
    #[serde(rename = "templateID")]
    pub(super) id: String,
    #[serde(default)]
    pub(super) names: Vec<String>,
    #[serde(default)]
    pub(super) aliases: Vec<String>,
}

/// A snapshot.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Snapshot {
    #[serde(rename = "snapshotID")]
    pub(super) id: String,
    #[serde(default)]
    pub(super) names: Vec<String>,
}

/// A build that was asked for.
#[derive(Deserialize)]
pub(super) struct BuildBegun {
    #[serde(rename = "templateID")]
    pub(super) template: String,
    #[serde(rename = "buildID")]
    pub(super) build: String,
}

/// Where the files of a build go, if they are not there already.
#[derive(Deserialize)]
pub(super) struct FilesLink {
    #[serde(default)]
    pub(super) present: bool,
    #[serde(default)]
    pub(super) url: Option<String>,
    #[serde(default)]
    pub(super) headers: Option<BTreeMap<String, String>>,
}

/// How far a build is.
#[derive(Deserialize)]
pub(super) struct BuildStatus {
    pub(super) status: String,
    #[serde(rename = "logEntries", default)]
    pub(super) entries: Vec<Said>,
    #[serde(default)]
    pub(super) reason: Option<Said>,
}

/// A line of a build.
#[derive(Deserialize)]
pub(super) struct Said {
    #[serde(default)]
    pub(super) message: String,
}

/// Why not.
#[derive(Deserialize)]
pub(super) struct Refusal {
    #[serde(default)]
    pub(super) message: Option<String>,
    #[serde(default)]
    pub(super) error_code: Option<String>,
}

fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SecretString>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    let good = |text: &String| text.len() <= 4096 && text.bytes().all(|b| b.is_ascii_graphic());
    match text.filter(|text| !text.is_empty()) {
        Some(text) if !good(&text) => Err(D::Error::custom("a token is at most 4096 printable characters")),
        text => Ok(text.map(SecretString::from)),
    }
}

fn domain<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    match Option::<String>::deserialize(deserializer)?.filter(|text| !text.is_empty()) {
        Some(text) if !is_domain(&text) => Err(D::Error::custom("a domain is a host name, perhaps with a port")),
        domain => Ok(domain),
    }
}

/// Whether a text can stand at the end of a host name, perhaps with a port behind it.
pub(super) fn is_domain(text: &str) -> bool {
    let (host, port) = text.rsplit_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
    let label = |label: &str| {
        (1..=63).contains(&label.len()) && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    host.len() <= 190 && host.split('.').all(label) && port.is_none_or(|port| port.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    /// What the recorded SDKs were answered, in `error-mapping.txt` and its neighbours.
    #[test]
    fn recorded_answers_are_understood() {
        let opened: Opened = serde_json::from_str(
            r#"{"templateID": "base", "sandboxID": "sbx-rec-1", "clientID": "node-1", "envdVersion": "0.6.7",
                "alias": "base", "envdAccessToken": "tok-envd-123"}"#,
        )
        .unwrap();
        assert_eq!((opened.id.as_str(), opened.domain), ("sbx-rec-1", None));
        assert_eq!(opened.token.unwrap().expose_secret(), "tok-envd-123");
        let seen: Seen = serde_json::from_str(
            r#"{"templateID": "base", "sandboxID": "sbx-rec-1", "clientID": "node-1", "alias": "base",
                "startedAt": "2026-11-15T18:23:40.780583Z", "endAt": "2026-11-15T18:23:40.780583Z", "cpuCount": 2,
                "memoryMB": 512, "diskSizeMB": 10240, "state": "running", "envdVersion": "0.6.7", "metadata": {},
                "lifecycle": {"onTimeout": "kill", "autoResume": false}, "network": {"allowPublicTraffic": true},
                "envdAccessToken": "tok-envd-123"}"#,
        )
        .unwrap();
        assert_eq!((seen.state, seen.pause_mode), (State::Running, None));
    }

    #[test]
    fn what_could_leave_its_place_in_a_path_or_host_is_refused() {
        for bad in ["", "../x", "a/b", "a b", "A", "-a", "a?x", "a\r\nb", &"x".repeat(58)] {
            assert!(E2bId::try_from(bad.to_owned()).is_err(), "{bad:?}");
        }
        for bad in ["a/b", "a b", "x:99999", "x:1:2", "", "a..b", "evil.org/@e2b.app", "user@host"] {
            assert!(!is_domain(bad), "{bad:?}");
        }
        for good in ["e2b.app", "sbx.example.com", "localhost", "localhost:8443", "127.0.0.1:7070"] {
            assert!(is_domain(good), "{good:?}");
        }
        let odd = r#"{"sandboxID": "i1", "envdAccessToken": "a\r\nhost: b"}"#;
        assert!(serde_json::from_str::<Opened>(odd).is_err());
        let odd = r#"{"sandboxID": "i1", "domain": "a/b"}"#;
        assert!(serde_json::from_str::<Opened>(odd).is_err());
    }

    #[test]
    fn a_state_that_nobody_knows_yet_is_not_taken_for_another() {
        assert_eq!(serde_json::from_str::<State>(r#""snapshotting""#).unwrap(), State::Other);
        assert_eq!(serde_json::from_str::<PauseMode>(r#""filesystem""#).unwrap(), PauseMode::Filesystem);
    }
}
