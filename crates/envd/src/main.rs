//! `envd`: the daemon in every sandbox. See `carrel_envd::daemon`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use carrel_envd::daemon;

fn main() -> ExitCode {
    daemon::main(std::env::args_os().skip(1).collect())
}
