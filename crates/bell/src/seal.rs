//! Sealing: only the browser that subscribed can open a message. RFC 8291 over RFC 8188, one record.

use ring::{
    aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey},
    agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral},
    hkdf::{HKDF_SHA256, KeyType, Prk, Salt},
    rand::{SecureRandom, SystemRandom},
};

use crate::BellError;

/// The length of a public key, uncompressed.
pub(crate) const PUBLIC: usize = 65;
/// The length of the secret that browser and house share.
pub(crate) const AUTH: usize = 16;
const SALT: usize = 16;
/// How long one record may be; carriers take no more than this.
const RECORD: u32 = 4096;
/// What fits into it beside the header, the tag and the mark of its end.
pub(crate) const MOST: usize = RECORD as usize - (SALT + 4 + 1 + PUBLIC) - 16 - 1;

/// Seals a message for one browser, with keys that nobody uses twice.
pub(crate) fn seal(browser: &[u8; PUBLIC], auth: &[u8; AUTH], message: &[u8]) -> Result<Vec<u8>, BellError> {
    let random = SystemRandom::new();
    let broken = |_| BellError::Malformed("the keys of the browser are not keys");
    let own = EphemeralPrivateKey::generate(&ECDH_P256, &random).map_err(broken)?;
    let mut public = [0; PUBLIC];
    public.copy_from_slice(own.compute_public_key().map_err(broken)?.as_ref());
    let mut salt = [0; SALT];
    random.fill(&mut salt).map_err(broken)?;
    let peer = UnparsedPublicKey::new(&ECDH_P256, browser);
    agree_ephemeral(own, &peer, |shared| seal_with(shared, &public, &salt, browser, auth, message)).map_err(broken)?
}

/// The same with everything that is drawn by lot given, so that it can be compared with what others make of it.
fn seal_with(
    shared: &[u8],
    public: &[u8; PUBLIC],
    salt: &[u8; SALT],
    browser: &[u8; PUBLIC],
    auth: &[u8; AUTH],
    message: &[u8],
) -> Result<Vec<u8>, BellError> {
    if message.len() > MOST {
        return Err(BellError::Malformed("the message is too long for a notice"));
    }
    let mut key = [0; 32];
    let first = Salt::new(HKDF_SHA256, auth).extract(shared);
    expand(&first, &[b"WebPush: info\0", browser, public], &mut key);
    let second = Salt::new(HKDF_SHA256, salt).extract(&key);
    let (mut content, mut nonce) = ([0; 16], [0; 12]);
    expand(&second, &[b"Content-Encoding: aes128gcm\0"], &mut content);
    expand(&second, &[b"Content-Encoding: nonce\0"], &mut nonce);
    let cipher = UnboundKey::new(&AES_128_GCM, &content).map_err(|_| BellError::Malformed("no key came of it"))?;
    // The last record, and the only one, ends with a two.
    let mut record = [message, &[2]].concat();
    LessSafeKey::new(cipher)
        .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut record)
        .map_err(|_| BellError::Malformed("the message cannot be sealed"))?;
    let header = [salt.as_slice(), &RECORD.to_be_bytes(), &[PUBLIC as u8], public].concat();
    Ok([header, record].concat())
}

fn expand(from: &Prk, info: &[&[u8]], into: &mut [u8]) {
    struct Length(usize);
    impl KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }
    // Both can only fail for more than 255 blocks.
    let okm = from.expand(info, Length(into.len())).expect("a short key");
    okm.fill(into).expect("as long as was asked for");
}

#[cfg(test)]
mod tests {
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as B64};

    use super::*;

    fn bytes<const N: usize>(text: &str) -> [u8; N] {
        B64.decode(text).unwrap().try_into().unwrap()
    }

    /// The example of RFC 8291, appendix A.
    #[test]
    fn seals_as_the_standard_does() {
        let shared: [u8; 32] = bytes("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs");
        let public = bytes("BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8");
        let browser = bytes("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4");
        let (auth, salt) = (bytes("BTBZMqHH6r4Tts7J_aSIgg"), bytes("DGv6ra1nlYgDCS1FRnbzlw"));
        let message = b"When I grow up, I want to be a watermelon";
        let sealed = seal_with(&shared, &public, &salt, &browser, &auth, message).unwrap();
        assert_eq!(
            B64.encode(sealed),
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6P\
             Bru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        );
    }

    #[test]
    fn no_two_seals_are_alike_and_bad_keys_are_refused() {
        let own = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
        let mut browser = [0; PUBLIC];
        browser.copy_from_slice(own.compute_public_key().unwrap().as_ref());
        let (one, two) = (seal(&browser, &[7; AUTH], b"hello").unwrap(), seal(&browser, &[7; AUTH], b"hello").unwrap());
        assert_ne!(one, two);
        assert_eq!(one.len(), SALT + 4 + 1 + PUBLIC + 5 + 1 + 16);
        assert!(matches!(seal(&[4; PUBLIC], &[7; AUTH], b"hello"), Err(BellError::Malformed(_))));
        assert!(matches!(seal(&browser, &[7; AUTH], &[0; MOST + 1]), Err(BellError::Malformed(_))));
        assert_eq!(seal(&browser, &[7; AUTH], &[0; MOST]).unwrap().len(), RECORD as usize);
    }
}
