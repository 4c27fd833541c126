//! The OCI provider, for real: gVisor's `runsc`, and `runc`, as the host has them.
#![allow(unreachable_pub, clippy::unwrap_used, missing_docs)]

mod abuse;
mod bench;
mod contract;
mod desk;
mod intruder;
mod kills;
mod lives;
mod yard;
