//! Carrel: a private desk for every coding agent. One binary: the server and its command line.
#![forbid(unsafe_code)]

mod backup;
mod cli;
mod client;
mod config;
mod data;
mod df;
mod doctor;
mod e2b;
mod failure;
mod models;
mod run;
mod say;
mod serve;
mod spans;
mod support;
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
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.expect("the kernel gives threads to a program that starts");
    if let Some(kernels) = kernels_to_serve() {
        let address = std::net::SocketAddr::from(([0, 0, 0, 0], carrel_interpreter::PORT));
        return match runtime.block_on(carrel_interpreter::serve(address, kernels)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failure::Failure::new(format!("the interpreter ended: {error}")).report(),
        };
    }
    let cli = cli::Cli::parse();
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

/// A template of the house starts this program inside a sandbox as its code interpreter.
fn kernels_to_serve() -> Option<carrel_interpreter::Kernels> {
    let mut args = std::env::args_os().skip(1);
    let is_interpreter = args.next().is_some_and(|verb| verb == serve::INTERPRETER);
    is_interpreter.then(|| carrel_interpreter::Kernels(args.next().unwrap_or_default().into()))
}
