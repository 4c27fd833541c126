//! Who we are at GitHub: the bearer of a token, or an app that gets tokens for its installations.
//!
//! An app signs a short statement with its private key and gets, for an installation, a token that is good for an hour.
//! Tokens are kept in memory only and replaced some minutes before they end.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use carrel_model::Timestamp;
use http::Method;
use jiff::SignedDuration;
use ring::{
    rand::SystemRandom,
    signature::{RSA_PKCS1_SHA256, RsaKeyPair},
};
use rustls::pki_types::{PrivateKeyDer, pem::PemObject};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;

use super::{JSON, wire};
use crate::{AppKey, ForgeError, Key, Keyring, Slug, rest::Rest};

/// A token is replaced when it has less than this to live.
const BEFORE_THE_END: SignedDuration = SignedDuration::from_mins(5);

/// Shows who we are.
pub(super) struct Access {
    keyring: Arc<dyn Keyring>,
    /// Tokens of installations, by owner. The lock is held while one is fetched: a hundred requests fetch one.
    lent: Mutex<HashMap<String, Lent>>,
}

struct Lent {
    /// The whole header.
    header: SecretString,
    ends: Timestamp,
    /// Which key it was got with: a new key gets a new token.
    key: [u8; 32],
    permissions: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct TokenWire {
    #[serde(deserialize_with = "secret")]
    token: SecretString,
    expires_at: Timestamp,
    #[serde(default)]
    permissions: BTreeMap<String, String>,
}

/// Which kind of bearer we are.
pub(super) enum Bearer {
    /// A person, or a program that acts as one.
    Person,
    /// An app, and what its installation may do.
    App(BTreeMap<String, String>),
}

impl Access {
    pub(super) fn new(keyring: Arc<dyn Keyring>) -> Access {
        Access { keyring, lent: Mutex::default() }
    }

    /// What goes into the header, for a repository.
    pub(super) async fn authorization(&self, rest: &Rest, slug: &Slug) -> Result<SecretString, ForgeError> {
        match self.keyring.key().await? {
            Key::Token(token) => Ok(bearer(token.expose_secret())),
            Key::App(app) => {
                let mut lent = self.lent.lock().await;
                let owner = slug.owner().to_lowercase();
                let key = print_of(&app);
                let soon = Timestamp::now() + BEFORE_THE_END;
                if let Some(known) = lent.get(&owner)
                    && known.key == key
                    && known.ends > soon
                {
                    return Ok(known.header.clone());
                }
                let fresh = fetch(rest, &app, slug).await?;
                let header = fresh.header.clone();
                lent.insert(owner, fresh);
                Ok(header)
            }
        }
    }

    /// Does not believe in a token of an installation any more; says whether it was one.
    pub(super) async fn forget(&self, header: &SecretString) -> bool {
        let mut lent = self.lent.lock().await;
        let before = lent.len();
        lent.retain(|_, lent| lent.header.expose_secret() != header.expose_secret());
        lent.len() < before
    }

    /// What kind of bearer we are for a repository.
    pub(super) async fn bearer(&self, rest: &Rest, slug: &Slug) -> Result<Bearer, ForgeError> {
        self.authorization(rest, slug).await?;
        let permissions = self.lent.lock().await.get(&slug.owner().to_lowercase()).map(|lent| lent.permissions.clone());
        Ok(permissions.map_or(Bearer::Person, Bearer::App))
    }

    /// Our name.
    pub(super) async fn login(&self, rest: &Rest) -> Result<String, ForgeError> {
        match self.keyring.key().await? {
            Key::Token(token) => {
                let ask = rest.ask(Method::GET, ["user"]).accept(JSON);
                Ok(rest.send(ask, &bearer(token.expose_secret())).await?.json::<wire::UserWire>()?.login)
            }
            Key::App(app) => {
                let ask = rest.ask(Method::GET, ["app"]).accept(JSON);
                let app: wire::AppWire = rest.send(ask, &statement(&app, Timestamp::now())?).await?.json()?;
                Ok(format!("{}[bot]", app.slug.unwrap_or(app.name)))
            }
        }
    }
}

async fn fetch(rest: &Rest, app: &AppKey, slug: &Slug) -> Result<Lent, ForgeError> {
    let shown = statement(app, Timestamp::now())?;
    let ask = rest.ask(Method::GET, ["repos", slug.owner(), slug.name(), "installation"]).accept(JSON);
    let installation: wire::InstallationWire = match rest.send(ask, &shown).await {
        Err(ForgeError::NotFound { .. }) => {
            let why =
                format!("the app is not installed on {slug}; install it there, or give it access to the repository");
            return Err(ForgeError::Denied { why, missing: vec![] });
        }
        answer => answer?.json()?,
    };
    let id = installation.id.to_string();
    let ask = rest.ask(Method::POST, ["app", "installations", &id, "access_tokens"]).accept(JSON);
    let token: TokenWire = rest.send(ask, &shown).await?.json()?;
    Ok(Lent {
        header: bearer(token.token.expose_secret()),
        ends: token.expires_at,
        key: print_of(app),
        permissions: token.permissions,
    })
}

/// What an app says of itself, signed: good for nine minutes, and from a minute ago because clocks differ.
fn statement(app: &AppKey, now: Timestamp) -> Result<SecretString, ForgeError> {
    let wrong =
        |why: &str| ForgeError::Denied { why: format!("the app's private key cannot be used: {why}"), missing: vec![] };
    let key = PrivateKeyDer::from_pem_slice(app.pem.expose_secret().as_bytes()).map_err(|_| wrong("it is no PEM"))?;
    let pair = match &key {
        PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
        PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()),
        _ => return Err(wrong("it is no RSA key")),
    }
    .map_err(|_| wrong("it is no RSA key of 2048 bits or more"))?;
    let claims = serde_json::json!({
        "iat": now.as_second() - 60,
        "exp": now.as_second() + 9 * 60,
        "iss": app.id,
    });
    let header = URL_SAFE_NO_PAD.encode(br#"{"alg":"RS256","typ":"JWT"}"#);
    let signed = format!("{header}.{}", URL_SAFE_NO_PAD.encode(claims.to_string()));
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)
        .map_err(|_| wrong("it does not sign"))?;
    Ok(bearer(&format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))))
}

fn secret<'de, D: serde::Deserializer<'de>>(from: D) -> Result<SecretString, D::Error> {
    String::deserialize(from).map(SecretString::from)
}

fn bearer(token: &str) -> SecretString {
    format!("Bearer {token}").into()
}

fn print_of(app: &AppKey) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(app.id.as_bytes());
    hash.update([0]);
    hash.update(app.pem.expose_secret().as_bytes());
    hash.finalize().into()
}
