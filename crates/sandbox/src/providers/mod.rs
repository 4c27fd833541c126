//! The providers, each in its own folder with the same names inside.

pub mod fake;
pub mod local;
pub mod oci;
