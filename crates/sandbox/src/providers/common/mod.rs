//! What providers on this machine have in common. It knows neither of them.

mod aside;
mod greeting;
pub(crate) mod paper;
mod seeds;
mod trust;

pub(crate) use aside::{aside, finish};
pub(crate) use greeting::{GATEWAY_PORT, silent, start, surroundings};
pub(crate) use seeds::seeds;
pub(crate) use trust::{trust, trusting};
