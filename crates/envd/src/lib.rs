//! The guest: the protocol both sides share, the client the host uses, and (feature `daemon`) the daemon inside.
//!
//! It speaks E2B's envd protocol, so the official SDKs work against it, and this client works against E2B's own envd.
#![forbid(unsafe_code)]

pub mod client;
#[cfg(feature = "daemon")]
pub mod daemon;
pub mod wire;

pub use client::{
    Content, Dial, Download, Ended, Entry, EntryKind, Envd, EnvdError, Event, Events, Init, Line, Metrics, Process,
    Selector, Size, Start, WatchEvent, WatchEvents, WatchKind,
};
