//! Master keys.

use std::fmt;

use ring::{
    digest,
    rand::{SecureRandom, SystemRandom},
};
use secrecy::SecretString;
use zeroize::Zeroizing;

use crate::VaultError;

/// A key that opens the vault: 32 bytes. It does not print itself and is wiped when it goes.
#[derive(Clone)]
pub struct MasterKey(Zeroizing<[u8; 32]>);

/// Tells keys apart without telling anything of them.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct KeyPrint(String);

impl MasterKey {
    /// A new one, from the kernel's randomness.
    pub fn draw() -> MasterKey {
        let mut bytes = Zeroizing::new([0; 32]);
        SystemRandom::new().fill(bytes.as_mut()).expect("the kernel gives random bytes");
        MasterKey(bytes)
    }

    /// Understands 64 hexadecimal digits.
    pub fn parse(text: &str) -> Result<MasterKey, VaultError> {
        let mut bytes = Zeroizing::new([0; 32]);
        hex::decode_to_slice(text.trim(), bytes.as_mut()).map_err(|_| VaultError::NotAKey)?;
        Ok(MasterKey(bytes))
    }

    /// The key, spelled for the file it is kept in.
    pub fn reveal(&self) -> SecretString {
        hex::encode(self.bytes()).into()
    }

    /// What it is called in rows.
    pub fn print(&self) -> KeyPrint {
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(b"carrel master key\0");
        context.update(self.bytes());
        KeyPrint(hex::encode(&context.finish().as_ref()[..8]))
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MasterKey({})", self.print())
    }
}

impl KeyPrint {
    /// The print as a row has it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for KeyPrint {
    fn from(text: String) -> KeyPrint {
        KeyPrint(text)
    }
}

impl fmt::Display for KeyPrint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for KeyPrint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
