//! The command line: what can be typed.

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::{
    backup::{self, BackupArgs, RestoreArgs},
    client::{self, Client},
    config,
    data::DataDir,
    df::{self, DfArgs},
    doctor,
    failure::Failure,
    run, say, serve,
    support::{self, SupportArgs},
    tls,
};

/// A private desk for every coding agent.
#[derive(Debug, Parser)]
#[command(name = "carrel", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    verb: Verb,
}

/// What every verb understands.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// The data directory [default: ~/.local/share/carrel]
    #[arg(long, global = true, env = "CARREL_DATA", value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// The server to talk to
    #[arg(long, global = true, env = "CARREL_URL", value_name = "URL", default_value = "http://127.0.0.1:7070")]
    pub(crate) url: String,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print ids alone
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Start the server
    Serve(ServeArgs),
    /// The whole journey in one command: sandbox, branch, agent, commits, pull request; no server needed
    Run(Box<run::RunArgs>),
    /// Say what this host offers, what is missing and how to get it
    Doctor(FileArgs),
    /// Print the configuration as it was understood, and where each value came from
    Config(FileArgs),
    /// Sandboxes
    #[command(subcommand)]
    Sandbox(client::sandbox::Verb),
    /// What sandboxes start from
    #[command(subcommand)]
    Template(client::template::Verb),
    /// Repositories to work on
    #[command(subcommand)]
    Repo(client::repo::Verb),
    /// Tasks: cards that an agent carries to a merged pull request
    #[command(subcommand)]
    Task(client::task::Verb),
    /// Sessions: conversations with an agent at its own desk
    #[command(subcommand)]
    Session(client::session::Verb),
    /// Agents: named ways to run a coding agent
    #[command(subcommand)]
    Agent(client::agent::Verb),
    /// Pull requests
    #[command(subcommand)]
    Pull(client::pull::Verb),
    /// Nodes: the servers that are this house
    #[command(subcommand)]
    Node(client::node::Verb),
    /// Keys
    #[command(subcommand)]
    Key(client::key::Verb),
    /// Certificates for trying things out
    #[command(subcommand)]
    Tls(tls::Verb),
    /// Secrets: credentials that the house keeps sealed and never shows to a sandbox
    #[command(subcommand)]
    Secret(client::secret::Verb),
    /// Webhooks out: addresses that hear what happens
    #[command(subcommand)]
    Hook(client::hook::Verb),
    /// Speak the Model Context Protocol on standard input and output
    Mcp(client::mcp::Args),
    /// Follow what happens, one line each, until interrupted
    Events(client::events::Args),
    /// See what every agent does and what its desk uses, live, until `q`
    Top(client::top::Args),
    /// Read the audit, newest first
    Audit(client::audit::Args),
    /// Say what members and repositories may have, and how much of it is used
    Quotas,
    /// Print a link that signs a browser in, once
    SignIn {
        /// Open it in a browser
        #[arg(long)]
        open: bool,
    },
    /// Print a block for ~/.ssh/config: every desk as a host, such as carrel-task-42
    SshConfig(client::ssh::ConfigArgs),
    /// Write the whole house into one file, also while it is served: database, repositories, saved work
    Backup(BackupArgs),
    /// Make a house from such a file, in an empty data directory
    Restore(RestoreArgs),
    /// Say what this house takes on disk, and what makes it smaller
    Df(DfArgs),
    /// Carry out what nobody needs any more: records of sandboxes that are gone, checkouts nobody stands on
    Prune(client::prune::Args),
    /// Write a file for whoever helps: findings and numbers, no secret and nobody's work
    Support(SupportArgs),
    /// Measure this host, with the peers found on it in the same run
    Bench(carrel_bench::Args),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages into a folder
    Man {
        /// The folder, such as ~/.local/share/man/man1
        folder: PathBuf,
    },
    /// Print the description of the API
    Openapi,
}

#[derive(Debug, Default, Args)]
pub(crate) struct ServeArgs {
    /// The address to listen on [default: 127.0.0.1:7070]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// The database: sqlite:PATH or postgres://… [default: SQLite in the data directory]
    #[arg(long, value_name = "URL", hide_env_values = true)]
    pub(crate) database: Option<String>,
    /// The configuration file [default: carrel.toml in the data directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// A Redis that all nodes share, for lanes, rates and what was looked at [default: the database does it all]
    #[arg(long, value_name = "URL", hide_env_values = true)]
    pub(crate) redis: Option<String>,
    /// The folder that all nodes share, for the repositories [default: in the data directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) library: Option<String>,
    /// Where other nodes reach this one [default: the address that browsers see]
    #[arg(long, value_name = "URL")]
    pub(crate) node_url: Option<String>,
    /// A certificate (PEM): then the server is called by https alone; `carrel tls init` makes one
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<String>,
    /// The certificate's key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<String>,
    /// Open the board in a browser
    #[arg(long)]
    pub(crate) open: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FileArgs {
    /// The configuration file [default: carrel.toml in the data directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// The phases that can be waited for.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum PhaseArg {
    Requested,
    Preparing,
    Ready,
    Paused,
    Closing,
    Gone,
    Failed,
}

impl PhaseArg {
    pub(crate) fn word(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

impl Cli {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let common = self.common;
        let data = || DataDir::find(common.data.clone());
        let client = || Client::new(&common);
        match self.verb {
            Verb::Serve(args) => Box::pin(serve::serve(data()?, args, None)).await,
            Verb::Run(args) => Box::pin(run::run(data()?, common.clone(), *args)).await,
            Verb::Doctor(args) => doctor::doctor(&data()?, &args, &common).await,
            Verb::Config(args) => show_config(&data()?, &args, common.json),
            Verb::Sandbox(verb) => verb.run(&client()?).await,
            Verb::Template(verb) => verb.run(&client()?).await,
            Verb::Repo(verb) => verb.run(&client()?).await,
            Verb::Task(verb) => verb.run(&client()?).await,
            Verb::Session(verb) => verb.run(&client()?).await,
            Verb::Agent(verb) => verb.run(&client()?).await,
            Verb::Pull(verb) => verb.run(&client()?).await,
            Verb::Node(verb) => verb.run(&client()?).await,
            Verb::Key(verb) => verb.run(&client()?, &data()?).await,
            Verb::Tls(verb) => verb.run(&data()?, common.json),
            Verb::Secret(verb) => verb.run(&client()?).await,
            Verb::Hook(verb) => verb.run(&client()?).await,
            Verb::Mcp(args) => args.run(&client()?).await,
            Verb::Events(args) => args.run(&client()?).await,
            Verb::Top(args) => args.run(&client()?).await,
            Verb::Audit(args) => args.run(&client()?).await,
            Verb::Prune(args) => args.run(&client()?).await,
            Verb::Quotas => client::quotas::run(&client()?).await,
            Verb::Backup(args) => backup::backup(&data()?, args, common.json).await,
            Verb::Restore(args) => backup::restore(&data()?, args, common.json).await,
            Verb::Df(args) => df::df(&data()?, args, common.json),
            Verb::Support(args) => support::support(&data()?, args, &common).await,
            Verb::SshConfig(args) => args.run(&common).await,
            Verb::SignIn { open } => client::sign_in(&client()?, open).await,
            Verb::Completions { shell } => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut Cli::command(), "carrel", &mut script);
                say::line(String::from_utf8_lossy(&script).trim_end());
                Ok(())
            }
            Verb::Man { folder } => {
                let written = std::fs::create_dir_all(&folder)
                    .and_then(|()| clap_mangen::generate_to(Cli::command().disable_help_subcommand(true), &folder));
                written.map_err(|error| {
                    Failure::new(format!("the manual cannot be written to {}: {error}", folder.display()))
                })
            }
            Verb::Bench(args) => {
                Box::pin(carrel_bench::run(args)).await.map_err(|error| Failure::new(error.to_string()))
            }
            Verb::Openapi => say::json(&carrel_api::openapi()),
        }
    }
}

fn show_config(data: &DataDir, args: &FileArgs, json: bool) -> Result<(), Failure> {
    let understood = config::understand(data, args.config.as_deref(), &[])?;
    for warning in &understood.warnings {
        say::aside(format_args!("carrel: {warning}"));
    }
    if json {
        let items: Vec<_> = understood
            .origins
            .iter()
            .map(|(key, (value, origin))| serde_json::json!({"key": key, "value": value, "origin": origin}))
            .collect();
        return say::json(&items);
    }
    let rows = understood.origins.into_iter().map(|(key, (value, origin))| vec![key, value, origin]);
    say::table(&["KEY", "VALUE", "FROM"], rows);
    Ok(())
}
