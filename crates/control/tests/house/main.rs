//! How the keepers behave: retries, breakers, sweeps, lifetimes, and several nodes on one database.

mod lives;
mod mishaps;
mod nodes;
