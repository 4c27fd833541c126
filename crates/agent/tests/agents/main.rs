//! Dialects as the house uses them: launches that are run for real, and transcripts that are read back.
#![allow(clippy::unwrap_used, reason = "a panic is the verdict of a test")]

mod bench;
mod demo;
mod programs;
mod shell;
mod transcripts;
