//! `carrel agent …`

use std::collections::BTreeMap;

use carrel_model::{
    AgentId, TemplateName,
    agent::DialectName,
    command::CommandRules,
    public::{AgentChange, AgentView, NewAgent, NewRepo, NewTask, Page, RepoView, TaskView},
    sandbox::{EnvName, EnvValue},
};
use clap::{Args, Subcommand};
use reqwest::Method;

use super::{Client, sandbox::pairs, task, timeline};
use crate::{
    failure::{Exit, Failure},
    say,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// List the agents: those that came with the house, and those that were added
    Ls,
    /// Add an agent, or change the one of that name
    Add(Add),
    /// Change what may be run at the desks of an agent, and whom they may talk to
    Set {
        /// Its name
        name: AgentId,
        #[command(flatten)]
        commands: super::commands::Commands,
        #[command(flatten)]
        hosts: super::hosts::Hosts,
    },
    /// Forget an agent that was added
    Rm {
        /// Its name
        name: AgentId,
    },
    /// Print a recipe for a template with an agent's program in it: save it as `Recipefile` for `carrel template build`
    Recipe {
        /// Its name
        name: AgentId,
        /// What the template is built on
        #[arg(long, default_value = "host", value_name = "TEMPLATE")]
        from: String,
    },
    /// Prove an agent end to end: a repository of its own, a task, a pull request
    Test {
        /// Its name
        name: AgentId,
        /// What it is asked
        #[arg(default_value = "Write a file HELLO.md that says hello, and commit it.")]
        prompt: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// Its name
    name: AgentId,
    /// How it is started and read: shell, acp, claude, codex, opencode, …
    #[arg(long)]
    dialect: DialectName,
    /// What is run; with the dialect shell, a line for sh -c in the working tree
    #[arg(long)]
    command: Option<String>,
    /// A variable of its environment
    #[arg(long = "env", value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// The model that it asks for
    #[arg(long)]
    model: Option<String>,
    /// What its sandboxes start from
    #[arg(long)]
    template: Option<TemplateName>,
    /// How many of its tasks may work at the same time
    #[arg(long)]
    at_once: Option<carrel_model::number::Whole<1, 10_000>>,
    /// With the dialect custom: a file of JSON that says how it is run and what its lines mean
    #[arg(long, value_name = "FILE")]
    phrases: Option<std::path::PathBuf>,
    /// Offer it the tools of its desk, by MCP
    #[arg(long)]
    mcp: bool,
    #[command(flatten)]
    commands: super::commands::Commands,
    #[command(flatten)]
    hosts: super::hosts::Hosts,
}

impl Verb {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        match self {
            Verb::Ls => {
                let page: Page<AgentView> = client.get("/agents").await?;
                show(client, &page.items, true)
            }
            Verb::Add(add) => {
                let usage = |error: carrel_model::Malformed| Failure::new(error.to_string()).exit(Exit::Usage);
                let mut env = BTreeMap::new();
                for (name, value) in pairs("--env", &add.env)? {
                    env.insert(EnvName::try_from(name).map_err(usage)?, EnvValue::try_from(value).map_err(usage)?);
                }
                let phrases = add.phrases.as_deref().map(read_phrases).transpose()?;
                let commands = add.commands.change()?.apply(&CommandRules::default());
                let new = NewAgent {
                    name: add.name,
                    dialect: add.dialect,
                    command: add.command,
                    env: Some(env).filter(|env| !env.is_empty()),
                    model: add.model,
                    template: add.template,
                    at_once: add.at_once,
                    phrases,
                    mcp: add.mcp,
                    commands: Some(commands).filter(|commands| !commands.is_open()),
                    network: add.hosts.change()?,
                };
                let agent = client.fetch(client.request(Method::POST, "/agents")?.json(&new)).await?;
                show(client, &[agent], false)
            }
            Verb::Set { name, commands, hosts } => {
                let change = AgentChange { commands: Some(commands.change()?), network: hosts.change()? };
                let request = client.request(Method::PATCH, &format!("/agents/{name}"))?.json(&change);
                show(client, &[client.fetch(request).await?], false)
            }
            Verb::Rm { name } => {
                client.send(client.request(Method::DELETE, &format!("/agents/{name}"))?).await?;
                say::line(&name);
                Ok(())
            }
            Verb::Recipe { name, from } => {
                let agent: AgentView = client.get(&format!("/agents/{name}")).await?;
                let Some(recipe) = agent.recipe else {
                    return Err(Failure::new(format!("nobody here knows how to install the program of `{name}`"))
                        .hint("write a recipe of your own: docs/guides/templates.md")
                        .exit(Exit::NotFound));
                };
                let steps = recipe.strip_prefix("FROM host\n").unwrap_or(&recipe);
                say::line(format_args!("FROM {from}\n{}", steps.trim_end()));
                Ok(())
            }
            Verb::Test { name, prompt } => test(client, name, prompt).await,
        }
    }
}

fn read_phrases(path: &std::path::Path) -> Result<serde_json::Value, Failure> {
    let odd = |why: String| Failure::new(format!("{}: {why}", path.display())).exit(Exit::Usage);
    let text = std::fs::read_to_string(path).map_err(|error| odd(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| odd(error.to_string()))
}

/// A whole journey with one agent, in a repository that is removed again.
async fn test(client: &Client, name: AgentId, prompt: String) -> Result<(), Failure> {
    let repo = format!("agent-test-{name}").parse().map_err(|error: carrel_model::Malformed| {
        Failure::new(format!("`{name}` makes no name for a repository: {error}")).exit(Exit::Usage)
    })?;
    let new = NewRepo { name: Some(repo), new: true, ..NewRepo::default() };
    let repo: RepoView = client.fetch(client.request(Method::POST, "/repos")?.json(&new)).await?;
    let wish = NewTask {
        repo: repo.name.clone(),
        title: format!("Test of the agent {name}"),
        prompt: Some(prompt),
        agent: Some(name),
        base: None,
        start: true,
        priority: None,
        due: None,
        labels: Vec::new(),
        depends_on: Vec::new(),
        isolation: None,
        network: None,
        budget_usd: None,
    };
    let written: TaskView = client.fetch(client.request(Method::POST, "/tasks")?.json(&wish)).await?;
    let ended = timeline::follow(client, written.id, &mut timeline::Shown::default()).await?;
    let reached = ended.phase == carrel_model::task::TaskPhase::InReview;
    let close = client.request(Method::POST, &format!("/tasks/{}/close?wait=closed", ended.id))?;
    client.send(close).await?;
    if let Some(desk) = &ended.sandbox_id {
        // The card is closed before its desk is gone, and a repository stays while a desk reads from it. One that is gone
        // already is not found, which is as good.
        let _ = client.send(client.request(Method::DELETE, &format!("/sandboxes/{desk}?wait=gone"))?).await;
    }
    client.send(client.request(Method::DELETE, &format!("/repos/{}", repo.name))?).await?;
    if reached {
        say::aside(format_args!("carrel: the agent {} works: task {} reached a pull request", ended.agent, ended.id));
        return Ok(());
    }
    Err(task::unfinished(&ended, "in_review"))
}

fn show(client: &Client, agents: &[AgentView], as_list: bool) -> Result<(), Failure> {
    if client.json() {
        return match agents {
            [one] if !as_list => say::json(one),
            all => say::json(&all),
        };
    }
    if client.quiet() {
        agents.iter().for_each(|agent| say::line(&agent.name));
        return Ok(());
    }
    let row = |agent: &AgentView| {
        vec![
            agent.name.to_string(),
            agent.dialect.to_string(),
            if agent.found { "yes" } else { "no" }.to_owned(),
            agent.model.clone().unwrap_or_default(),
            shorter(agent.command.as_deref().unwrap_or_default()),
            agent.hint.clone().unwrap_or_else(|| agent.about.clone()),
        ]
    };
    say::table(&["NAME", "DIALECT", "HERE", "MODEL", "COMMAND", "ABOUT"], agents.iter().map(row));
    Ok(())
}

/// A command as it fits into a table; `--json` has it whole.
fn shorter(command: &str) -> String {
    let line = command.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    match line.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
