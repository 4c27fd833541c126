//! The forges. Each keeps the contract in `contract.rs`.

pub mod embedded;
pub mod fake;
pub mod gitea;
pub mod github;
