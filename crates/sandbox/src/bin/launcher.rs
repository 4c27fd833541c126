//! The launcher by itself, for tests. In Carrel it is a verb of the one binary.
#![forbid(unsafe_code)]

fn main() -> std::io::Result<()> {
    let scratch = std::env::args_os().nth(1).unwrap_or_default();
    carrel_linux::run_launcher(scratch.as_ref())
}
