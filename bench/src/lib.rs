//! Measures Carrel. Every number stands beside its peer from the same run; nothing here passes or fails by a clock.
//!
//! A peer is the least program that keeps a comparable promise: axum with a bare handler for what the control plane does,
//! bwrap, runc, `cp` and a plain spawn for what sandboxes do. House, desk and peer are processes of their own, measured by
//! turns: house, peer, house, peer. Shown are medians over these rounds, so that a noisy moment of the machine spoils a
//! round and not the answer. Where something has no peer (a pause), its aim is a time, and the number stands alone.
#![forbid(unsafe_code)]

mod control;
mod desk;
mod events;
mod get;
mod git;
mod house;
mod http;
mod peer;
mod plot;
mod report;
mod server;

use clap::ValueEnum;
use tokio::signal::unix::{SignalKind, signal};

/// Whatever went wrong ends the run.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// What to measure, and how thoroughly.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do; every bench when left out.
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// Fewer and shorter rounds: shows that everything works, not how fast.
    #[arg(long)]
    quick: bool,
    /// How large the file of `files` is, in MB.
    #[arg(long)]
    file_mb: Option<u64>,
    /// How many sandboxes live at once in `many`.
    #[arg(long)]
    live: Option<usize>,
    /// How many tasks at once in `fleet`, one size after the other [default: 1,100,300,1000]
    #[arg(long, value_delimiter = ',', value_name = "N")]
    tasks: Vec<usize>,
    /// Where `fleet` draws how cost grows, as an SVG.
    #[arg(long)]
    plot: Option<std::path::PathBuf>,
    /// Where `fleet` keeps its rows: postgres://…, in a schema of its own that is left behind [default: SQLite]
    #[arg(long, value_name = "URL", env = "CARREL_BENCH_DATABASE", hide_env_values = true)]
    database: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// A sandbox, from nothing and from the pool, to the first byte of `echo hi`, against bwrap and others.
    Create,
    /// `/bin/true` in a sandbox against a plain spawn.
    Exec,
    /// Fifty sandboxes at once; a thousand that idle.
    Many,
    /// A large file in and out against `cp`.
    Files,
    /// Sandboxes put to sleep and woken.
    Pause,
    /// A task from its card to an open pull request.
    Task,
    /// Hundreds of tasks over twenty repositories: throughput, fairness, and how cost grows. Only when it is named.
    Fleet,
    /// Copies of a sandbox with ten thousand files against `cp -a`.
    Fork,
    /// The loop of E2B's Python SDK against podman.
    Sdk,
    /// A ready working tree of a large repository against `git clone` and `git worktree add`.
    Clone,
    /// A push through the gateway against `git http-backend`.
    Push,
    /// Who conflicts with whom, among two hundred tasks.
    Forecast,
    /// `POST /api/v1/sandboxes?wait=ready` at the fake provider against one durable insert.
    Control,
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
    /// Keeps a `carrel serve`, for the benches.
    #[value(hide = true)]
    Desk,
}

const ALL: &[Part] = &[
    Part::Create,
    Part::Exec,
    Part::Many,
    Part::Files,
    Part::Pause,
    Part::Fork,
    Part::Task,
    Part::Sdk,
    Part::Clone,
    Part::Push,
    Part::Forecast,
    Part::Control,
    Part::Events,
    Part::Get,
];

/// Measures. The program that calls this must call it again when it is started with `bench` and the same arguments: the
/// servers under measure are processes of their own.
pub async fn run(args: Args) -> Outcome<()> {
    raise_file_limit()?;
    match args.parts.as_slice() {
        [Part::House] => Box::pin(house::serve()).await,
        [Part::Peer] => Box::pin(peer::serve()).await,
        [Part::Desk] => Box::pin(desk::serve()).await,
        chosen => {
            // Whoever is told to end lets go of everything first: servers, containers, folders.
            let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
            tokio::select! {
                measured = Box::pin(measure(if chosen.is_empty() { ALL } else { chosen }, &args)) => measured,
                _ = interrupt.recv() => Err("interrupted".into()),
                _ = terminate.recv() => Err("told to end".into()),
            }
        }
    }
}

async fn measure(parts: &[Part], args: &Args) -> Outcome<()> {
    let quick = args.quick;
    report::introduce(quick)?;
    for part in parts {
        match part {
            Part::Create => desk::create::measure(quick).await?,
            Part::Exec => desk::exec::measure(quick).await?,
            Part::Many => desk::many::measure(quick, args.live.unwrap_or(if quick { 40 } else { 1000 })).await?,
            Part::Files => desk::files::measure(quick, args.file_mb.unwrap_or(if quick { 64 } else { 1000 })).await?,
            Part::Pause => desk::pause::measure(quick).await?,
            Part::Fork => desk::fork::measure(quick).await?,
            Part::Task => desk::task::measure(quick).await?,
            Part::Fleet => {
                let (plot, database) = (args.plot.as_deref(), args.database.as_deref());
                desk::fleet::measure(quick, &args.tasks, plot, database).await?;
            }
            Part::Sdk => desk::sdk::measure(quick).await?,
            Part::Clone => git::clone::measure(quick).await?,
            Part::Push => git::push::measure(quick).await?,
            Part::Forecast => git::forecast::measure(quick).await?,
            Part::Control => control::measure(quick).await?,
            Part::Events => events::measure(quick).await?,
            Part::Get => get::measure(quick).await?,
            Part::House | Part::Peer | Part::Desk => return Err("a server is not a bench".into()),
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
