//! What providers on this machine have in common. It knows neither of them.

mod aside;
mod greeting;
pub(crate) mod paper;
mod seeds;
mod trust;

pub(crate) use aside::{aside, finish};
pub use greeting::GATEWAY_PORT;
pub(crate) use greeting::{silent, start, surroundings};
pub(crate) use seeds::seeds;
pub(crate) use trust::{trust, trusting};
