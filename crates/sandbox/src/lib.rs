//! Where code runs: the `Provider` trait, its implementations, and the contract that all of them keep.
//!
//! Absent on purpose: rows, retries and decisions. A provider is asked, does one thing, and returns; it never calls up.
#![forbid(unsafe_code)]

pub mod contract;
pub mod egress;
mod provider;
pub mod providers;
pub mod template;
pub mod volume;

pub use provider::{
    Claimed, Endpoint, Fitness, Forking, Furnishing, Furniture, Laid, MetLimits, Naming, Pausing, Provider,
    ProviderError, Reach, Sighting, Stowing, Templating,
};
pub use providers::GATEWAY_PORT;
