//! Vouchers: a carrier is shown that a message comes from the house that the browser subscribed to. RFC 8292.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD as PLAIN, URL_SAFE_NO_PAD as B64},
};
use jiff::{SignedDuration, Timestamp};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use crate::BellError;

/// How long a voucher is good; carriers take none that is good for more than a day.
const LASTS: SignedDuration = SignedDuration::from_hours(12);

/// The key that the house signs its notices with. Browsers know its public half.
pub struct HouseKey {
    pair: EcdsaKeyPair,
}

impl HouseKey {
    /// Draws a new key, as text for whoever keeps it.
    pub fn draw() -> SecretString {
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())
            .expect("the system has randomness");
        SecretString::from(PLAIN.encode(document.as_ref()))
    }

    /// Reads a key that was drawn before.
    pub fn read(text: &SecretString) -> Result<HouseKey, BellError> {
        let broken = BellError::Malformed("what is kept as the key for notices is none");
        let Ok(document) = PLAIN.decode(text.expose_secret().trim()) else { return Err(broken) };
        let read = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &document, &SystemRandom::new());
        read.map(|pair| HouseKey { pair }).map_err(|_| broken)
    }

    /// The half that browsers are given.
    pub fn public(&self) -> String {
        B64.encode(self.pair.public_key().as_ref())
    }

    /// What is shown to a carrier: the whole value of the `Authorization` header.
    pub(crate) fn vouch(&self, carrier: &str, contact: &str, now: Timestamp) -> Result<String, BellError> {
        let header = B64.encode(json!({"typ": "JWT", "alg": "ES256"}).to_string());
        let claims = json!({"aud": carrier, "exp": (now + LASTS).as_second(), "sub": contact});
        let told = format!("{header}.{}", B64.encode(claims.to_string()));
        let signed = self.pair.sign(&SystemRandom::new(), told.as_bytes());
        let signed = signed.map_err(|_| BellError::Malformed("the key for notices signs nothing"))?;
        Ok(format!("vapid t={told}.{}, k={}", B64.encode(signed.as_ref()), self.public()))
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_voucher_names_its_carrier_ends_within_a_day_and_is_signed_with_the_key_that_browsers_know() {
        let text = HouseKey::draw();
        let key = HouseKey::read(&text).unwrap();
        assert_eq!(HouseKey::read(&text).unwrap().public(), key.public());
        let now = Timestamp::from_second(1_700_000_000).unwrap();
        let voucher = key.vouch("https://push.example.net", "mailto:ada@example.org", now).unwrap();
        let (token, public) = voucher.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
        assert_eq!(public, key.public());
        let (told, signature) = token.rsplit_once('.').unwrap();
        let claims: Value = serde_json::from_slice(&B64.decode(told.split_once('.').unwrap().1).unwrap()).unwrap();
        assert_eq!(claims["aud"], "https://push.example.net");
        assert_eq!(claims["exp"], 1_700_000_000 + 12 * 3600);
        let public = B64.decode(public).unwrap();
        let known = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public);
        known.verify(told.as_bytes(), &B64.decode(signature).unwrap()).unwrap();
        assert!(known.verify(b"something else", &B64.decode(signature).unwrap()).is_err());
    }

    #[test]
    fn what_is_no_key_is_not_read() {
        for text in ["", "nonsense", "AAAA"] {
            assert!(HouseKey::read(&SecretString::from(text)).is_err());
        }
    }
}
