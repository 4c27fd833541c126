//! What providers on this machine have in common. It knows neither of them.

mod aside;
mod greeting;
pub(crate) mod paper;
mod seeds;

pub(crate) use aside::{aside, finish};
pub(crate) use greeting::{GATEWAY_PORT, silent, start, surroundings};
pub(crate) use seeds::seeds;
