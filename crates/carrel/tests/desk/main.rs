//! A house with real sandboxes and real git inside them.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a panic is the verdict of a test")]

mod checkout;
mod github;
mod hatch;
mod ladder;
mod limits;
mod mcp;
mod models;
mod pulls;
mod server;
mod sleep;
mod tasks;
mod trouble;
mod uploads;
mod work;
mod yard;
