//! Carrel: a private desk for every coding agent. One binary: the server and its command line.
#![forbid(unsafe_code)]

mod cli;
mod client;
mod config;
mod data;
mod doctor;
mod e2b;
mod failure;
mod say;
mod serve;
mod tls;
mod values;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    if let Some(scratch) = launcher_scratch() {
        return match carrel_linux::run_launcher(&scratch) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failure::Failure::new(format!("the launcher ended: {error}")).report(),
        };
    }
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

/// The server starts this program once more as its launcher, before anything else is set up in it.
fn launcher_scratch() -> Option<std::path::PathBuf> {
    let mut args = std::env::args_os().skip(1);
    let is_launcher = args.next().is_some_and(|verb| verb == serve::LAUNCHER);
    is_launcher.then(|| args.next().unwrap_or_default().into())
}
