//! Randomness and hashes: the only place where secrets are made.

use carrel_model::{ExecId, HookId, KeyId, NodeId, SandboxId, SessionId, VolumeId, key::KeySecret};
use sha2::{Digest, Sha256};

pub(crate) fn new_sandbox_id() -> SandboxId {
    SandboxId::from_random(random())
}

pub(crate) fn new_exec_id() -> ExecId {
    ExecId::from_random(random())
}

pub(crate) fn new_session_id() -> SessionId {
    SessionId::from_random(random())
}

pub(crate) fn new_volume_id() -> VolumeId {
    VolumeId::from_random(random())
}

pub(crate) fn new_hook_id() -> HookId {
    HookId::from_random(random())
}

pub(crate) fn new_key_id() -> KeyId {
    KeyId::from_random(random())
}

pub(crate) fn new_key_secret() -> KeySecret {
    KeySecret::from_random(random())
}

/// A name for a node that starts for the first time.
pub fn new_node_id() -> NodeId {
    NodeId::from_random(random())
}

/// A secret for a link or a cookie: 32 random bytes in hexadecimal.
pub(crate) fn new_ticket() -> String {
    hex::encode(random::<32>())
}

/// A random name in the form of a UUID, for those who expect one.
pub fn new_uuid() -> String {
    uuid(random())
}

/// The same name for the same text, in the form of a UUID.
pub fn uuid_of(text: &str) -> String {
    let sum = Sha256::digest(text);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&sum[..16]);
    uuid(bytes)
}

fn uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let digits = hex::encode(bytes);
    format!("{}-{}-{}-{}-{}", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..])
}

/// Sets one life of a process apart from another.
pub(crate) fn new_life() -> String {
    hex::encode(random::<6>())
}

/// What is remembered of a key's secret. Its 160 random bits need no slow hash.
pub(crate) fn hash_key(secret: &KeySecret) -> String {
    hash(secret.digits())
}

/// What is remembered of any other secret, and how requests are told apart.
pub(crate) fn hash(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the kernel gives random bytes");
    bytes
}
