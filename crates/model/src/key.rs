//! Keys: the secret a bearer shows. The house remembers only a hash of it.

use std::fmt;

use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};

use crate::{Authority, KeyId, Malformed};

/// The secret of a key: 40 hexadecimal digits, spelled `crl_…`, or `e2b_…` at the E2B door.
///
/// It does not print itself and leaves nothing in memory when it goes; `reveal` is called only where a person asked to
/// see it, or where it is sent.
#[derive(Clone)]
pub struct KeySecret(SecretString);

impl KeySecret {
    /// A new secret from random bytes.
    pub fn from_random(bytes: [u8; 20]) -> Self {
        Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into())
    }

    /// Understands either spelling.
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let digits = text.strip_prefix("crl_").or_else(|| text.strip_prefix("e2b_"));
        match digits {
            Some(digits)
                if digits.len() == 40 && digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) =>
            {
                Ok(Self(digits.into()))
            }
            _ => Err(Malformed { rule: "a key reads `crl_` and 40 hexadecimal digits" }),
        }
    }

    /// The digits alone: what is hashed, so that both spellings are one secret.
    pub fn digits(&self) -> &str {
        self.0.expose_secret()
    }

    /// The secret, spelled for its owner.
    pub fn reveal(&self) -> String {
        format!("crl_{}", self.digits())
    }

    /// Enough of it to recognise, too little to use.
    pub fn prefix(&self) -> String {
        format!("crl_{}", &self.digits()[..6])
    }
}

impl PartialEq for KeySecret {
    fn eq(&self, other: &Self) -> bool {
        self.digits() == other.digits()
    }
}

impl fmt::Debug for KeySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeySecret(…)")
    }
}

/// A key, as its row remembers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Its name, for good.
    pub id: KeyId,
    /// What people call it.
    pub name: String,
    /// What it may do.
    pub authority: Authority,
    /// The beginning of its secret.
    pub prefix: String,
    /// When it was minted.
    pub created_at: Timestamp,
    /// Who minted it; nobody minted the first.
    pub created_by: Option<KeyId>,
    /// When it was last shown, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// From when on it is void.
    pub expires_at: Option<Timestamp>,
    /// When it was ended.
    pub revoked_at: Option<Timestamp>,
    /// Counts the changes of the row.
    pub revision: i64,
}

impl Key {
    /// Whether it may be believed at this moment.
    pub fn is_good_at(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_the_same_secret_and_neither_prints_itself() {
        let secret = KeySecret::from_random([0xab; 20]);
        let again = KeySecret::parse(&secret.reveal().replace("crl_", "e2b_")).unwrap();
        assert_eq!(secret, again);
        assert!(!format!("{secret:?}").contains("abab"));
        for bad in ["", "crl_", "crl_xyz", "abc", &"crl_AB".repeat(9)] {
            assert!(KeySecret::parse(bad).is_err());
        }
    }
}
