//! Sealing and opening.
//!
//! Each sealing draws a salt and derives a key of its own from the master key (HKDF-SHA256), so that no key is ever used
//! twice and the nonce need not be drawn: AES-256-GCM with a key for one message. The name is associated data.

use std::fmt;

use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hkdf, hmac,
    rand::{SecureRandom, SystemRandom},
};
use secrecy::{ExposeSecret, SecretString};
use zeroize::Zeroizing;

use crate::{KeyPrint, MasterKey, VaultError};

/// The way of sealing, as the first byte says it: another way may follow.
const VERSION: u8 = 1;
const SALT: usize = 32;
const TAG: usize = 16;

/// The master keys: the first seals, all of them open.
#[derive(Clone)]
pub struct Keychain {
    keys: Vec<MasterKey>,
}

/// A secret that was sealed. The bytes may be shown to anybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// The key it was sealed with.
    pub print: KeyPrint,
    /// The version, the salt, and the secret with its tag.
    pub bytes: Vec<u8>,
}

impl Keychain {
    /// The first of the keys seals; the others only open what was sealed before.
    pub fn new(keys: Vec<MasterKey>) -> Result<Keychain, VaultError> {
        if keys.is_empty() { Err(VaultError::Empty) } else { Ok(Keychain { keys }) }
    }

    /// Understands keys in lines, or with commas between them. The current one is first.
    pub fn parse(text: &str) -> Result<Keychain, VaultError> {
        let words = text.split(['\n', ',']).map(str::trim).filter(|word| !word.is_empty() && !word.starts_with('#'));
        Keychain::new(words.map(MasterKey::parse).collect::<Result<_, _>>()?)
    }

    /// Seals a secret under a name.
    pub fn seal(&self, name: &str, secret: &SecretString) -> Sealed {
        let key = &self.keys[0];
        let mut salt = [0; SALT];
        SystemRandom::new().fill(&mut salt).expect("the kernel gives random bytes");
        let mut bytes = Vec::with_capacity(1 + SALT + secret.expose_secret().len() + TAG);
        bytes.push(VERSION);
        bytes.extend_from_slice(&salt);
        // In place, in one piece of memory: nothing of the plain text is left beside it.
        bytes.extend_from_slice(secret.expose_secret().as_bytes());
        let tag = cipher(key, &salt)
            .seal_in_place_separate_tag(nonce(), about(name), &mut bytes[1 + SALT..])
            .expect("secrets are far smaller than the cipher's limit");
        bytes.extend_from_slice(tag.as_ref());
        Sealed { print: key.print(), bytes }
    }

    /// Opens what was sealed under this name.
    pub fn open(&self, name: &str, sealed: &Sealed) -> Result<SecretString, VaultError> {
        let stranger = || VaultError::Stranger { print: sealed.print.clone() };
        let key = self.keys.iter().find(|key| key.print() == sealed.print).ok_or_else(stranger)?;
        let (Some((&VERSION, rest)), true) = (sealed.bytes.split_first(), sealed.bytes.len() > SALT + TAG) else {
            return Err(VaultError::Broken);
        };
        let (salt, text) = rest.split_at(SALT);
        let mut text = Zeroizing::new(text.to_vec());
        let plain = cipher(key, salt).open_in_place(nonce(), about(name), &mut text).map_err(|_| VaultError::Broken)?;
        std::str::from_utf8(plain).map(SecretString::from).map_err(|_| VaultError::Broken)
    }

    /// Signs a message for a purpose, for others who hold the same key.
    pub fn sign(&self, purpose: &str, message: &[u8]) -> Vec<u8> {
        hmac::sign(&signer(&self.keys[0], purpose), message).as_ref().to_vec()
    }

    /// Whether somebody who holds one of these keys signed a message for this purpose.
    pub fn is_signed(&self, purpose: &str, message: &[u8], tag: &[u8]) -> bool {
        self.keys.iter().any(|key| hmac::verify(&signer(key, purpose), message, tag).is_ok())
    }

    /// The prints of all keys, the one that seals first.
    pub fn prints(&self) -> Vec<KeyPrint> {
        self.keys.iter().map(MasterKey::print).collect()
    }

    /// The print of the key that seals.
    pub fn current(&self) -> KeyPrint {
        self.keys[0].print()
    }

    /// Whether something was sealed with the key that seals now; what was not is to be sealed anew.
    pub fn is_current(&self, sealed: &Sealed) -> bool {
        self.current() == sealed.print
    }
}

impl fmt::Debug for Keychain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Keychain").field(&self.keys).finish()
    }
}

/// A key for one message.
fn cipher(master: &MasterKey, salt: &[u8]) -> LessSafeKey {
    let mut bytes = Zeroizing::new([0; 32]);
    hkdf::Salt::new(hkdf::HKDF_SHA256, salt)
        .extract(master.bytes())
        .expand(&[b"carrel secret"], hkdf::HKDF_SHA256)
        .and_then(|key| key.fill(bytes.as_mut()))
        .expect("32 bytes can be derived");
    LessSafeKey::new(UnboundKey::new(&AES_256_GCM, bytes.as_ref()).expect("the key has 32 bytes"))
}

/// A key for signatures of one purpose.
fn signer(master: &MasterKey, purpose: &str) -> hmac::Key {
    let mut bytes = Zeroizing::new([0; 32]);
    hkdf::Salt::new(hkdf::HKDF_SHA256, b"carrel signature")
        .extract(master.bytes())
        .expand(&[purpose.as_bytes()], hkdf::HKDF_SHA256)
        .and_then(|key| key.fill(bytes.as_mut()))
        .expect("32 bytes can be derived");
    hmac::Key::new(hmac::HMAC_SHA256, bytes.as_ref())
}

/// Always the same: each key is used for one message.
fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

fn about(name: &str) -> Aad<String> {
    Aad::from(format!("carrel secret\0{name}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chain(keys: &[&MasterKey]) -> Keychain {
        Keychain::new(keys.iter().map(|key| (*key).clone()).collect()).unwrap()
    }

    #[test]
    fn what_is_sealed_opens_under_its_name_with_its_key_and_not_otherwise() {
        let (key, other) = (MasterKey::draw(), MasterKey::draw());
        let sealed = chain(&[&key]).seal("github-token", &"ghp_secret".into());
        assert_eq!(chain(&[&key]).open("github-token", &sealed).unwrap().expose_secret(), "ghp_secret");
        assert_eq!(chain(&[&key]).open("gitea-token", &sealed).unwrap_err(), VaultError::Broken);
        let print = key.print();
        assert_eq!(chain(&[&other]).open("github-token", &sealed).unwrap_err(), VaultError::Stranger { print });
        let forged = Sealed { print: other.print(), ..sealed.clone() };
        assert_eq!(chain(&[&other]).open("github-token", &forged).unwrap_err(), VaultError::Broken);
    }

    #[test]
    fn the_same_secret_is_never_sealed_the_same_way_and_never_shows() {
        let chain = chain(&[&MasterKey::draw()]);
        let (one, two) = (chain.seal("a", &"hunter2hunter2".into()), chain.seal("a", &"hunter2hunter2".into()));
        assert_ne!(one.bytes, two.bytes);
        assert!(!one.bytes.windows(7).any(|window| window == b"hunter2"));
    }

    #[test]
    fn a_new_key_in_front_seals_and_the_old_one_still_opens() {
        let (old, new) = (MasterKey::draw(), MasterKey::draw());
        let before = chain(&[&old]).seal("a", &"x".into());
        let rotated = chain(&[&new, &old]);
        assert!(!rotated.is_current(&before));
        let after = rotated.seal("a", &rotated.open("a", &before).unwrap());
        assert!(rotated.is_current(&after));
        assert_eq!(chain(&[&new]).open("a", &after).unwrap().expose_secret(), "x");
    }

    #[test]
    fn who_holds_a_key_of_the_chain_signs_for_one_purpose() {
        let (old, new) = (MasterKey::draw(), MasterKey::draw());
        let tag = chain(&[&old]).sign("a", b"text");
        assert!(chain(&[&old]).is_signed("a", b"text", &tag));
        assert!(chain(&[&new, &old]).is_signed("a", b"text", &tag), "a key that was put away still speaks for us");
        assert!(!chain(&[&new]).is_signed("a", b"text", &tag));
        assert!(!chain(&[&old]).is_signed("b", b"text", &tag));
        assert!(!chain(&[&old]).is_signed("a", b"texts", &tag));
    }

    #[test]
    fn keys_are_read_from_lines_and_print_only_their_prints() {
        let (one, two) = (MasterKey::draw(), MasterKey::draw());
        let text = |key: &MasterKey| key.reveal().expose_secret().to_owned();
        let chain = Keychain::parse(&format!("# current\n{}\n\n{}\n", text(&one), text(&two))).unwrap();
        assert_eq!(chain.keys.len(), 2);
        assert!(!format!("{chain:?}").contains(&text(&one)));
        assert_eq!(Keychain::parse("").unwrap_err(), VaultError::Empty);
        assert_eq!(Keychain::parse("abc").unwrap_err(), VaultError::NotAKey);
        assert_eq!(Keychain::parse(&"0".repeat(66)).unwrap_err(), VaultError::NotAKey);
    }

    proptest! {
        #[test]
        fn any_text_comes_back_and_any_changed_byte_is_noticed(name in ".*", secret in ".*", at: prop::sample::Index, flip in 1_u8..) {
            let chain = chain(&[&MasterKey::draw()]);
            let mut sealed = chain.seal(&name, &secret.clone().into());
            let opened = chain.open(&name, &sealed).unwrap();
            prop_assert_eq!(opened.expose_secret(), secret);
            let at = at.index(sealed.bytes.len());
            sealed.bytes[at] ^= flip;
            prop_assert_eq!(chain.open(&name, &sealed).unwrap_err(), VaultError::Broken);
            sealed.bytes.truncate(at);
            prop_assert_eq!(chain.open(&name, &sealed).unwrap_err(), VaultError::Broken);
        }
    }
}
