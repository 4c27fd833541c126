//! Posting: a sealed message goes to the carrier of a browser, once. Whether it is tried again is the caller's affair.

use std::{net::IpAddr, sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as B64};
use http::{StatusCode, header};
use jiff::Timestamp;
use reqwest::Url;

use crate::{
    BellError, HouseKey, Reach,
    reach::PublicNames,
    seal::{AUTH, PUBLIC, seal},
};

/// How long a carrier may take to answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long a carrier keeps a message for a browser that is asleep: tomorrow the question is on the board anyhow.
const KEPT_S: u32 = 24 * 3600;
/// The longest address that is taken.
const LONGEST: usize = 2048;

/// The bell of one browser: where it hangs, and what its messages are sealed with.
#[derive(Clone, PartialEq, Eq)]
pub struct Doorbell {
    endpoint: Url,
    browser: [u8; PUBLIC],
    auth: [u8; AUTH],
}

impl std::fmt::Debug for Doorbell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Doorbell at {}", self.service())
    }
}

impl Doorbell {
    /// Understands what a browser gave its page.
    pub fn parse(endpoint: &str, p256dh: &str, auth: &str, reach: Reach) -> Result<Doorbell, BellError> {
        let wrong = BellError::Malformed;
        if endpoint.len() > LONGEST {
            return Err(wrong("the address is too long"));
        }
        let endpoint: Url = endpoint.parse().map_err(|_| wrong("the address is none"))?;
        if !endpoint.username().is_empty() || endpoint.password().is_some() {
            return Err(wrong("the address carries credentials"));
        }
        let host = endpoint.host_str().ok_or(wrong("the address names no host"))?;
        if reach == Reach::Public {
            if endpoint.scheme() != "https" {
                return Err(wrong("notices are carried by https alone"));
            }
            if host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok() || !host.contains('.') {
                return Err(wrong("the address names no public host"));
            }
        }
        let key = |text: &str| B64.decode(text.trim_end_matches('=')).ok();
        let browser = key(p256dh).and_then(|bytes| bytes.try_into().ok()).filter(|key: &[u8; PUBLIC]| key[0] == 4);
        let browser = browser.ok_or(wrong("`p256dh` is no public key of 65 bytes"))?;
        let auth = key(auth).and_then(|bytes| bytes.try_into().ok()).ok_or(wrong("`auth` is not 16 bytes"))?;
        Ok(Doorbell { endpoint, browser, auth })
    }

    /// Who carries for this browser.
    pub fn service(&self) -> String {
        self.endpoint.host_str().unwrap_or_default().to_owned()
    }
}

/// Rings at browsers.
#[derive(Clone)]
pub struct Bell {
    http: reqwest::Client,
    reach: Reach,
    /// How a carrier finds whoever runs this house.
    contact: Arc<str>,
}

impl Bell {
    /// A bell that reaches so far. The contact is an address by `https:` or `mailto:`.
    pub fn new(reach: Reach, contact: &str) -> Result<Bell, BellError> {
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let mut http = reqwest::Client::builder()
            .user_agent(concat!("carrel/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(PATIENCE)
            .timeout(PATIENCE)
            .redirect(reqwest::redirect::Policy::none());
        if reach == Reach::Public {
            http = http.dns_resolver(Arc::new(PublicNames));
        } else {
            http = http.no_proxy();
        }
        let http = http.build().map_err(|error| BellError::Unavailable(error.to_string()))?;
        Ok(Bell { http, reach, contact: contact.into() })
    }

    /// How far it reaches.
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// Rings once. A later message with the same topic takes the place of one that was not delivered yet.
    pub async fn ring(&self, key: &HouseKey, at: &Doorbell, topic: &str, message: &[u8]) -> Result<(), BellError> {
        let sealed = seal(&at.browser, &at.auth, message)?;
        let carrier = at.endpoint.origin().ascii_serialization();
        let voucher = key.vouch(&carrier, &self.contact, Timestamp::now())?;
        let request = self
            .http
            .post(at.endpoint.clone())
            .header(header::AUTHORIZATION, voucher)
            .header(header::CONTENT_TYPE, "application/octet-stream")
            .header(header::CONTENT_ENCODING, "aes128gcm")
            .header("ttl", KEPT_S)
            .header("urgency", "high")
            .header("topic", topic)
            .body(sealed);
        // An error of the client would name the whole address, and that is a secret of the browser's.
        let answer = request.send().await.map_err(|error| BellError::Unavailable(error.without_url().to_string()))?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            StatusCode::NOT_FOUND | StatusCode::GONE => Err(BellError::Gone),
            status @ (StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT) => {
                Err(BellError::Unavailable(format!("it asks for patience with {status}")))
            }
            status if status.is_server_error() => Err(BellError::Unavailable(format!("it answers {status}"))),
            status => Err(BellError::Refused(status.as_u16())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
    const AUTH: &str = "BTBZMqHH6r4Tts7J_aSIgg";

    #[test]
    fn what_leads_into_our_own_network_is_no_doorbell() {
        let good = "https://push.example.net/send/abc";
        assert_eq!(Doorbell::parse(good, KEY, AUTH, Reach::Public).unwrap().service(), "push.example.net");
        for endpoint in [
            "http://push.example.net/x",
            "https://127.0.0.1/x",
            "https://[::1]/x",
            "https://localhost/x",
            "ftp://a.b/x",
            "https://user:secret@push.example.net/x",
            "nonsense",
            "",
            "https://intranet/x",
        ] {
            assert!(Doorbell::parse(endpoint, KEY, AUTH, Reach::Public).is_err(), "{endpoint}");
        }
        for (key, auth) in [("", AUTH), (KEY, ""), ("AAAA", AUTH), (KEY, "AAAA"), (AUTH, KEY)] {
            assert!(Doorbell::parse(good, key, auth, Reach::Public).is_err());
        }
        let shown = format!("{:?}", Doorbell::parse(good, KEY, AUTH, Reach::Public).unwrap());
        assert!(!shown.contains("abc"), "the address of a browser is its secret: {shown}");
    }
}
