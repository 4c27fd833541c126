//! Credentials for a forge. They come from outside each time they are needed, so that a new one counts at once.

use async_trait::async_trait;
use secrecy::SecretString;

use crate::ForgeError;

/// What is shown to a forge. It does not print itself.
#[derive(Debug, Clone)]
pub enum Key {
    /// A personal access token, of whatever grain.
    Token(SecretString),
    /// A GitHub App, which gets tokens for its installations.
    App(AppKey),
}

/// The identity of a GitHub App.
#[derive(Debug, Clone)]
pub struct AppKey {
    /// The app's id or client id.
    pub id: String,
    /// Its private key, PEM.
    pub pem: SecretString,
}

/// Where the key of a forge is kept. It is asked before each request; a new key counts without a restart.
#[async_trait]
pub trait Keyring: Send + Sync {
    /// The key to show now.
    async fn key(&self) -> Result<Key, ForgeError>;
}

#[async_trait]
impl Keyring for Key {
    async fn key(&self) -> Result<Key, ForgeError> {
        Ok(self.clone())
    }
}
