//! The real daemon as a real process, asked by our client and by plain HTTP.
#![allow(clippy::unwrap_used, clippy::print_stderr, missing_docs, unreachable_pub)]

mod access;
mod files;
mod filesystem;
mod guest;
mod host;
mod lines;
mod measure;
mod output;
mod processes;
mod stranger;
mod tar;
mod watching;
mod wire;
