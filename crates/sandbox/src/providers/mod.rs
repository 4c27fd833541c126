//! The providers, each in its own folder with the same names inside.

mod common;

pub use common::GATEWAY_PORT;
pub mod e2b;
pub mod fake;
pub mod local;
pub mod oci;
