//! The way out of a sandbox: a proxy on the host, behind a listener inside. It asks the policy, not the guest.
//!
//! Programs that know no proxy ask for names, which are answered here too (`names`).
//! HTTP proxies speak `CONNECT host:port` or a request with a whole address; both are understood. Names are resolved
//! here, and the address that was checked is the one that is called. What is refused is told to the guest in a sentence
//! and to the log.
//!
//! Requests to a host for which the sandbox has headers are opened and passed on one by one (`rewrite`), also when they
//! come by TLS: for these hosts alone, with an authority that is this sandbox's own (`authority`).
//!
//! Where a sandbox has a proxy of its own, everybody is called through it (`socks`).
//!
//! A request that is meant for the gateway itself, and not for somebody outside, is one for the house (`hatch`).

mod authority;
mod hatch;
mod names;
mod policy;
mod proxy;
mod rewrite;
mod socks;

pub use authority::Authority;
pub use hatch::{Behind, Hatch, Passed, Through};
pub use names::{Ear, answer as answer_names};
pub use policy::{Policy, Refused};
pub use proxy::{Listens, Traffic, serve};

/// Where a sandbox finds its gateway.
pub const GATEWAY: &str = "http://127.0.0.1:49980";
