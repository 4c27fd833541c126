//! Carrel: a private desk for every coding agent. One binary: the server and its command line.
#![forbid(unsafe_code)]

mod cli;
mod client;
mod config;
mod data;
mod doctor;
mod failure;
mod say;
mod serve;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    // One crypto provider for the whole binary; a second call would only say that it is already there.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let cli = cli::Cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.expect("the kernel gives threads to a program that starts");
    match runtime.block_on(cli.run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
