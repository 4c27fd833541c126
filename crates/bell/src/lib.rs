//! The bell: rings at a browser that nobody looks at. Web push, as RFC 8030, 8188, 8291 and 8292 have it.
//!
//! A message is sealed for one browser (`seal`), signed as ours (`voucher`) and handed to whoever carries for that browser
//! (`post`). Written here and not taken from a crate: those there are want OpenSSL or a second set of ciphers beside `ring`; see
//! `docs/decisions/0086-web-push-by-ring.md`.
//!
//! Absent on purpose: who is told of what, and where subscriptions are kept.
#![forbid(unsafe_code)]

mod post;
mod reach;
mod seal;
mod voucher;

pub use post::{Bell, Doorbell};
pub use reach::Reach;
pub use voucher::HouseKey;

/// Why a bell did not ring, by what the caller can do.
#[derive(Debug, thiserror::Error)]
pub enum BellError {
    /// What the browser gave us cannot be used: refuse it.
    #[error("{0}")]
    Malformed(&'static str),
    /// The subscription has ended: forget it.
    #[error("the browser does not want to be told any more")]
    Gone,
    /// The carrier refuses: whoever runs the house has to look.
    #[error("the carrier refuses with {0}")]
    Refused(u16),
    /// The carrier does not answer, or asks for patience: try again later.
    #[error("the carrier does not answer: {0}")]
    Unavailable(String),
}
