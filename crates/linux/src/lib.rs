//! The jail: namespaces, cgroups, mounts, seccomp, overlay. Knows nothing of Carrel.
//!
//! The big server never forks. A small process of its own, the launcher, makes every jail: `launcher` is the handle in
//! the server and the loop in the launcher, `inside` what the new process does before it becomes the guest's first
//! program, `jail` what both are told. Jails are nobody's children: they outlive launcher and server, and are found
//! again by their number and the moment they began (`process`).
//!
//! The only crate with `unsafe`; each block says why it is sound.

pub mod btrfs;
mod cgroup;
mod criu;
pub mod fitness;
mod inside;
mod jail;
mod launcher;
mod plain;
mod process;
mod restore;
mod rootfs;
pub mod seccomp;
mod sys;
pub mod visit;
mod wire;

pub use cgroup::{Bounds, Cgroup, Hierarchies, Met, Reading};
pub use criu::{LOG as CRIU_LOG, Refused, change_users, dump};
pub use jail::{Jail, Launched, Mapping, Mishap};
pub use launcher::{Launcher, run as run_launcher};
pub use process::{Living, page_out};
pub use restore::Memory;
pub use rootfs::{mapped_root, read_only_root};
