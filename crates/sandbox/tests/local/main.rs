//! The local provider, for real: namespaces, cgroups, overlays, envd.
#![allow(unreachable_pub, clippy::unwrap_used, missing_docs)]

mod abuse;
mod contract;
mod desk;
mod intruder;
mod kills;
mod lives;
mod network;
mod stored;
mod yard;
