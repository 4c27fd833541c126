//! Carries letters out of the house: signed as Standard Webhooks has it, and never to where only the house may go.
//!
//! Whoever names an address decides whom this machine calls. So names are resolved here and every address is looked at
//! before a connection is made; redirects are not followed, and proxies are not asked.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect::Policy,
};
use ring::hmac;
use secrecy::{ExposeSecret, SecretString};

use crate::nats;

/// How long somebody may take to take a letter.
const PATIENCE: Duration = Duration::from_secs(20);
/// What every secret begins with.
const PREFIX: &str = "whsec_";

/// A letter, ready to be carried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The same for each try, so that whoever takes it twice can tell.
    pub id: String,
    /// Now, in seconds: old letters are not believed.
    pub at: i64,
    /// JSON.
    pub body: String,
}

/// How somebody answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// How long to wait before another letter, if they said so.
    pub retry_after: Option<Duration>,
}

impl Answer {
    /// Whether the letter was taken.
    pub fn is_taken(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Why a letter was not carried, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotCarried(pub String);

/// Carries letters.
#[derive(Clone)]
pub struct Courier {
    http: reqwest::Client,
    /// Whether addresses of private networks and of this host may be called.
    private: bool,
}

impl Courier {
    /// A courier. With `private` it also goes to private networks and to this host.
    pub fn new(private: bool) -> Result<Courier, NotCarried> {
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let http = reqwest::Client::builder()
            .user_agent(concat!("carrel/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(10))
            .timeout(PATIENCE)
            .redirect(Policy::none())
            .no_proxy()
            .dns_resolver(Arc::new(Guarded { private }))
            .build()
            .map_err(|error| NotCarried(format!("no client can be made: {error}")))?;
        Ok(Courier { http, private })
    }

    /// Whether an address may be called, as far as that can be seen before its name is resolved.
    pub fn look_at(&self, url: &str) -> Result<(), NotCarried> {
        let url: Url = url.parse().map_err(|_| NotCarried("that is no address".into()))?;
        let literal = url.host_str().and_then(|host| host.trim_matches(['[', ']']).parse::<IpAddr>().ok());
        match literal {
            Some(address) if !self.private && !is_public(address) => Err(refusal(address)),
            _ if url.scheme() == "nats" => nats::subject(&url).map(drop),
            _ if !matches!(url.scheme(), "http" | "https") => Err(NotCarried("that is no address of the web".into())),
            _ => Ok(()),
        }
    }

    /// Carries a letter to an address, once.
    pub async fn carry(&self, url: &str, letter: &Outgoing, secret: &SecretString) -> Result<Answer, NotCarried> {
        self.look_at(url)?;
        if let Some(url) = url.parse::<Url>().ok().filter(|url| url.scheme() == "nats") {
            return self.carry_to_nats(&url, letter, secret).await;
        }
        let signature = sign(secret, letter)?;
        let request = self
            .http
            .post(url)
            .header("content-type", "application/json")
            .header("webhook-id", &letter.id)
            .header("webhook-timestamp", letter.at.to_string())
            .header("webhook-signature", signature)
            .body(letter.body.clone());
        let answer = request.send().await.map_err(|error| NotCarried(why(&error.without_url())))?;
        let status = answer.status().as_u16();
        let header = answer.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
        Ok(Answer { status, retry_after: header.map(Duration::from_secs) })
    }

    async fn carry_to_nats(&self, url: &Url, letter: &Outgoing, secret: &SecretString) -> Result<Answer, NotCarried> {
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let found = tokio::net::lookup_host((host, url.port().unwrap_or(nats::PORT))).await;
        let found: Vec<SocketAddr> = found.map_err(|error| NotCarried(format!("{host}: {error}")))?.collect();
        let addresses = permitted(&found, self.private)?;
        // Its secret may be the token of that server instead of one that signs.
        let handing = nats::hand_over(url, &addresses, letter, sign(secret, letter).ok(), secret);
        let late = |_| NotCarried(format!("the NATS server took longer than {} s", PATIENCE.as_secs()));
        tokio::time::timeout(PATIENCE, handing).await.map_err(late)?
    }
}

/// The whole chain: what the client says itself is only that it failed.
fn why(error: &dyn std::error::Error) -> String {
    let mut told = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        told = format!("{told}: {error}");
        source = error.source();
    }
    told.chars().take(500).collect()
}

/// A new secret, from random bytes.
pub fn new_secret() -> String {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).expect("the kernel gives random bytes");
    format!("{PREFIX}{}", BASE64_STANDARD.encode(bytes))
}

/// What stands in the header `webhook-signature`.
pub fn sign(secret: &SecretString, letter: &Outgoing) -> Result<String, NotCarried> {
    let secret = secret.expose_secret().trim();
    let digits = secret.strip_prefix(PREFIX).unwrap_or(secret);
    let bad = || NotCarried("the secret of this hook is not `whsec_` and base64; set it again".into());
    let key = BASE64_STANDARD.decode(digits).map_err(|_| bad())?;
    if key.len() < 16 {
        return Err(bad());
    }
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    let signed = hmac::sign(&key, format!("{}.{}.{}", letter.id, letter.at, letter.body).as_bytes());
    Ok(format!("v1,{}", BASE64_STANDARD.encode(signed)))
}

/// Resolves names, and forgets addresses that may not be called.
struct Guarded {
    private: bool,
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let private = self.private;
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(permitted(&found, private)?.into_iter()) as Addrs)
        })
    }
}

/// Those addresses that may be called.
fn permitted(found: &[SocketAddr], private: bool) -> Result<Vec<SocketAddr>, NotCarried> {
    let good: Vec<_> = found.iter().copied().filter(|address| private || is_public(address.ip())).collect();
    match (good.is_empty(), found.first()) {
        (true, Some(first)) => Err(refusal(first.ip())),
        _ => Ok(good),
    }
}

fn refusal(address: IpAddr) -> NotCarried {
    NotCarried(format!(
        "{address} is in a private network or this host itself; `hooks.private = true` in carrel.toml lets hooks go there"
    ))
}

/// Whether an address is anybody's, rather than this host's or its neighbours'.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let [first, second, third, _] = v4.octets();
            !(v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || v4.is_broadcast()
                || v4.is_multicast()
                || v4.is_documentation()
                || first == 0
                || first >= 240
                || (first == 100 && (64..128).contains(&second))
                || (first == 192 && second == 0 && third == 0)
                || (first == 198 && (18..20).contains(&second))
                || (first == 168 && second == 63))
        }
        IpAddr::V6(v6) => {
            let first = v6.segments()[0];
            // Global unicast alone, without the ranges that carry a v4 address inside or lead nowhere.
            (first & 0xe000) == 0x2000 && first != 0x2002 && !(first == 0x2001 && v6.segments()[1] < 0x200)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_is_signed_as_the_standard_has_it() {
        // The secret, the letter and the signature that the standard's own libraries are tested with.
        let secret = SecretString::from("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let letter = Outgoing {
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek".into(),
            at: 1_614_265_330,
            body: r#"{"test": 2432232314}"#.into(),
        };
        assert_eq!(sign(&secret, &letter).unwrap(), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert!(sign(&SecretString::from("whsec_!!"), &letter).is_err());
        assert!(sign(&SecretString::from("whsec_YQ=="), &letter).is_err(), "a key of one byte signs nothing");
        assert_ne!(new_secret(), new_secret());
    }

    #[test]
    fn no_address_leads_to_this_host_or_its_neighbours() {
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "::1",
            "::",
            "169.254.169.254",
            "fe80::1",
            "::ffff:127.0.0.1",
            "10.1.2.3",
            "192.168.0.1",
            "172.16.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "fd12::1",
            "fd00:ec2::254",
            "2002:7f00:1::",
            "64:ff9b::7f00:1",
            "224.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "2001::1",
            "198.18.0.1",
            "240.0.0.1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in ["93.184.216.34", "1.1.1.1", "2606:4700::1111"] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        let courier = Courier::new(false).unwrap();
        for url in [
            "http://127.0.0.1:7070/x",
            "http://[::1]/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://169.254.169.254/latest",
        ] {
            assert!(courier.look_at(url).is_err(), "{url}");
        }
        assert!(courier.look_at("https://chat.example/x").is_ok());
        assert!(Courier::new(true).unwrap().look_at("http://127.0.0.1:7070/x").is_ok());
    }

    #[tokio::test]
    async fn a_name_that_means_this_host_is_refused_when_it_is_resolved() {
        let letter = Outgoing { id: "msg_1".into(), at: 1, body: "{}".into() };
        let courier = Courier::new(false).unwrap();
        let refused = courier.carry("http://localhost:9/", &letter, &SecretString::from(new_secret())).await;
        assert!(refused.unwrap_err().0.contains("this host itself"));
    }
}
