//! Measures Carrel. Every number stands beside its peer from the same run; nothing here passes or fails by a clock.
//!
//! A peer is the least program that keeps a comparable promise: axum with a bare handler. House and peer are processes
//! of their own (this binary, started again in another role), measured by turns: house, peer, house, peer. Shown are
//! medians over these rounds, so that a noisy moment of the machine spoils a round and not the answer.
//!
//! Absent on purpose: absolute aims. A shared machine cannot keep them.
#![forbid(unsafe_code)]

mod create;
mod events;
mod get;
mod house;
mod http;
mod peer;
mod report;
mod server;

use clap::{Parser, ValueEnum};

/// Whatever went wrong ends the run.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Measures Carrel; every number stands beside its peer.
#[derive(Parser)]
struct Args {
    /// What to do; every bench when left out.
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// Fewer and shorter rounds: shows that everything works, not how fast.
    #[arg(long)]
    quick: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// `POST /api/v1/sandboxes?wait=ready` against one durable insert.
    Create,
    /// A thousand readers of the events against a bare broadcast.
    Events,
    /// `GET /api/v1/sandboxes/{id}` against a bare handler.
    Get,
    /// Serves a house, for the benches.
    #[value(hide = true)]
    House,
    /// Serves the peers, for the benches.
    #[value(hide = true)]
    Peer,
}

fn main() -> Outcome<()> {
    let Args { parts, quick } = Args::parse();
    raise_file_limit()?;
    let runtime = tokio::runtime::Runtime::new()?;
    match parts.as_slice() {
        [Part::House] => runtime.block_on(house::serve()),
        [Part::Peer] => runtime.block_on(peer::serve()),
        chosen => {
            let chosen = if chosen.is_empty() { &[Part::Create, Part::Events, Part::Get] } else { chosen };
            runtime.block_on(measure(chosen, quick))
        }
    }
}

async fn measure(parts: &[Part], quick: bool) -> Outcome<()> {
    report::introduce(quick)?;
    for part in parts {
        match part {
            Part::Create => create::measure(quick).await?,
            Part::Events => events::measure(quick).await?,
            Part::Get => get::measure(quick).await?,
            Part::House | Part::Peer => return Err("a server is not a bench".into()),
        }
    }
    Ok(())
}

/// A thousand readers need a thousand files at each end.
fn raise_file_limit() -> Outcome<()> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    Ok(setrlimit(Resource::Nofile, limit)?)
}
