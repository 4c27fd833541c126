//! An app at the stand-in: its key, and that the stand-in knows it.

use base64::{Engine, engine::general_purpose::STANDARD};
use carrel_forge::AppKey;

use super::standin::StandIn;

pub(crate) fn app_key() -> AppKey {
    // Without its first and last line, so that nobody takes it for a secret. It opens nothing.
    let body = include_str!("../../github/app-key.txt");
    AppKey {
        id: "12345".into(),
        pem: format!("-----BEGIN {0}-----\n{body}-----END {0}-----\n", "RSA PRIVATE KEY").into(),
    }
}

pub(crate) fn trust_app(standin: &StandIn) {
    let body: String = include_str!("../../github/app-key.txt").split_whitespace().collect();
    let pair = ring::signature::RsaKeyPair::from_der(&STANDARD.decode(body).unwrap()).unwrap();
    standin.house.memory().app_key = Some(ring::signature::KeyPair::public_key(&pair).as_ref().to_vec());
}
