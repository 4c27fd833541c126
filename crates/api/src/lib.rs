//! The doors on HTTP. A handler takes the grant, understands the body, asks `control`, shows the result.
//!
//! Absent on purpose: decisions. What may be done, and what follows, is known one floor below.
#![forbid(unsafe_code)]

mod attend;
mod board;
mod door;
mod e2b;
mod entrance;
mod fellows;
mod git;
mod hatch;
mod health;
mod hooks;
mod house;
mod llm;
mod mcp;
mod passes;
mod v1;

pub use attend::attend;
pub use e2b::interpreter::{Interpreter, prepare_ahead};
pub use entrance::{Entrance, Peer, Wire};
pub use hatch::hatch;
pub use house::{Options, openapi, router};
