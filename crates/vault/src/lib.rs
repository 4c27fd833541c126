//! The vault: seals secrets so that a copy of the database is worth nothing without the master key.
//!
//! A `Keychain` holds the master keys; the first seals, all of them open. What is sealed is bound to a name, so that a
//! row that was moved under another name does not open. See `docs/decisions/0036-sealed-secrets.md`.
//!
//! Absent on purpose: files, rows and decisions. Where the master key is kept is the binary's affair, where sealed bytes
//! are kept is the store's.
#![forbid(unsafe_code)]

mod keychain;
mod master;

pub use keychain::{Keychain, Sealed};
pub use master::{KeyPrint, MasterKey};

/// Why the vault could not do it, by what the caller can do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    /// The text is no master key: correct it.
    #[error("a master key is 64 hexadecimal digits")]
    NotAKey,
    /// There is no key at all.
    #[error("there is no master key")]
    Empty,
    /// It was sealed with a key that we do not have: bring it back.
    #[error("it was sealed with the master key {print}, which is not here")]
    Stranger {
        /// Which key it was.
        print: KeyPrint,
    },
    /// The bytes were changed, cut, or moved from under another name: what they held is lost.
    #[error("the sealed bytes were changed or belong to another name")]
    Broken,
}
