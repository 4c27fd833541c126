//! The agents desk: named ways to run a coding agent. Those that come with the house are always there.

use std::{path::Path, sync::Arc};

use carrel_agent::{AgentSettings, Dialect, Offer, Phrases, Program};
use carrel_model::{
    Action, AgentId, Grant, Subject, Timestamp,
    agent::{Agent, DialectName, check_command},
    audit::{AuditLine, Outcome},
    command::{CommandRules, MOST_PATTERNS},
    public::{AgentChange, AgentView, NewAgent, NewNetwork},
    sandbox::Network,
};

use crate::{Error, house::House};

/// Shows, adds and removes agents.
pub struct AgentsDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

impl AgentsDesk<'_> {
    /// All agents, by name.
    pub async fn list(&self, grant: &Grant) -> Result<Vec<AgentView>, Error> {
        self.house.admit(grant, Action::AgentRead, Subject::House).await?;
        let mut all: std::collections::BTreeMap<AgentId, Agent> =
            built_in().into_iter().map(|agent| (agent.name.clone(), agent)).collect();
        all.extend(self.house.store.agents().list().await?.into_iter().map(|agent| (agent.name.clone(), agent)));
        Ok(all.values().map(shown).collect())
    }

    /// Shows one.
    pub async fn get(&self, grant: &Grant, name: &AgentId) -> Result<AgentView, Error> {
        self.house.admit(grant, Action::AgentRead, Subject::Agent(name)).await?;
        Ok(shown(&find(self.house, name).await?))
    }

    /// Adds an agent, or changes the one of that name. The flag says that it was there.
    pub async fn add(&self, grant: &Grant, new: NewAgent) -> Result<(AgentView, bool), Error> {
        self.house.admit(grant, Action::AgentAdd, Subject::Agent(&new.name)).await?;
        let dialect = dialect_of(&new.dialect)?;
        if new.phrases.is_some() && dialect != Dialect::Custom {
            return Err(Error::field("phrases", "they go with the dialect `custom`"));
        }
        if let Some(Err(error)) = new.phrases.clone().map(serde_json::from_value::<Phrases>) {
            return Err(Error::field("phrases", error.to_string()));
        }
        if let Some(command) = &new.command {
            check_command(command).map_err(|error| Error::field("command", error.to_string()))?;
        }
        let before = self.house.store.agents().find(&new.name).await?;
        let now = self.house.store.now();
        let agent = Agent {
            name: new.name,
            dialect: new.dialect,
            command: new.command,
            env: new.env.unwrap_or_default(),
            model: new.model,
            template: new.template,
            at_once: new.at_once,
            phrases: new.phrases,
            mcp: new.mcp,
            commands: new.commands.unwrap_or_default(),
            network: new.network.map_or_else(|| Ok(Network::default()), rule)?,
            built_in: false,
            created_at: before.as_ref().map_or(now, |before| before.created_at),
            updated_at: now,
            revision: before.as_ref().map_or(1, |before| before.revision + 1),
        };
        let field = if dialect == Dialect::Custom { "phrases" } else { "command" };
        dialect.check(&settings(&agent)).map_err(|error| Error::field(field, error.to_string()))?;
        Ok((self.write(grant, agent).await?, before.is_some()))
    }

    /// Changes a part of an agent. One that came with the house is one of our own from then on.
    pub async fn change(&self, grant: &Grant, name: &AgentId, change: AgentChange) -> Result<AgentView, Error> {
        self.house.admit(grant, Action::AgentAdd, Subject::Agent(name)).await?;
        let before = find(self.house, name).await?;
        let now = self.house.store.now();
        let created_at = if before.built_in { now } else { before.created_at };
        let commands = change.commands.unwrap_or_default().apply(&before.commands);
        let network = change.network.map_or_else(|| Ok(before.network.clone()), rule)?;
        let revision = before.revision + 1;
        let agent = Agent { commands, network, built_in: false, created_at, updated_at: now, revision, ..before };
        self.write(grant, agent).await
    }

    async fn write(&self, grant: &Grant, agent: Agent) -> Result<AgentView, Error> {
        check_rules(&agent.commands)?;
        let (view, by) = (shown(&agent), grant.clone());
        let told = view.clone();
        let written = self.house.store.change(move |tx| {
            Box::pin(async move {
                let subject = Some(agent.name.to_string());
                tx.put_agent(&agent, told).await?;
                tx.audit(&AuditLine::by(&by, Action::AgentAdd.word(), subject, Outcome::Done, tx.now())).await?;
                Ok::<_, Error>(())
            })
        });
        written.await?;
        Ok(view)
    }

    /// Forgets an agent that was added. One that came with the house is then as it came.
    pub async fn remove(&self, grant: &Grant, name: &AgentId) -> Result<(), Error> {
        self.house.admit(grant, Action::AgentRemove, Subject::Agent(name)).await?;
        let agent = find(self.house, name).await?;
        if agent.built_in {
            return Err(Error::Conflict { why: format!("the agent `{name}` came with the house and stays") });
        }
        let (view, by) = (shown(&agent), grant.clone());
        let removed = self.house.store.change(move |tx| {
            Box::pin(async move {
                let subject = Some(view.name.to_string());
                tx.remove_agent(view).await?;
                tx.audit(&AuditLine::by(&by, Action::AgentRemove.word(), subject, Outcome::Done, tx.now())).await?;
                Ok::<_, Error>(())
            })
        });
        removed.await
    }
}

/// What may be run is said in so many words.
pub(crate) fn check_rules(rules: &CommandRules) -> Result<(), Error> {
    if rules.allow.len().max(rules.deny.len()) > MOST_PATTERNS {
        return Err(Error::field("commands", format!("at most {MOST_PATTERNS} patterns in a list")));
    }
    Ok(())
}

/// Whom desks may talk to when nobody says.
fn rule(network: NewNetwork) -> Result<Network, Error> {
    network.rule().map_err(|fields| Error::Invalid { fields })
}

/// The agent of a name: added, or one that came with the house.
pub(crate) async fn find(house: &House, name: &AgentId) -> Result<Agent, Error> {
    if let Some(agent) = house.store.agents().find(name).await? {
        return Ok(agent);
    }
    let known = built_in().into_iter().find(|agent| agent.name == *name);
    known.ok_or_else(|| Error::NotFound { what: format!("agent `{name}`") })
}

/// How an agent's dialect is set up.
pub(crate) fn settings(agent: &Agent) -> AgentSettings {
    AgentSettings {
        command: agent.command.clone(),
        env: agent.env.iter().map(|(name, value)| (name.as_str().to_owned(), value.as_str().to_owned())).collect(),
        model: agent.model.clone(),
        // They were read when they were written.
        phrases: agent.phrases.clone().and_then(|phrases| serde_json::from_value(phrases).ok()),
        mcp: agent.mcp,
    }
}

/// The dialect of a name.
pub(crate) fn dialect_of(name: &DialectName) -> Result<Dialect, Error> {
    name.as_str().parse().map_err(|error: carrel_agent::AgentError| Error::field("dialect", error.to_string()))
}

/// The demo, and every agent that we know how to talk to.
fn built_in() -> Vec<Agent> {
    let plain = |name: &str, dialect: Dialect, command: Option<&str>| {
        Some(Agent {
            name: name.parse().ok()?,
            dialect: dialect.word().parse().ok()?,
            command: command.map(str::to_owned),
            env: Default::default(),
            model: None,
            template: None,
            at_once: None,
            phrases: None,
            mcp: false,
            commands: Default::default(),
            network: Default::default(),
            built_in: true,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            revision: 0,
        })
    };
    let known = Offer::KNOWN.iter().map(|offer| plain(offer.name, offer.dialect, offer.command));
    [plain("demo", Dialect::Demo, None)].into_iter().chain(known).flatten().collect()
}

fn shown(agent: &Agent) -> AgentView {
    let dialect = Dialect::from_word(agent.dialect.as_str());
    let mut about = dialect.map_or_else(String::new, |dialect| dialect.description().to_owned());
    if let Some(needs) = agent.command.as_deref().and_then(Offer::needs) {
        about = format!("{about} {needs}");
    }
    let program = program_of(agent, dialect);
    let found = program.is_none_or(|program| is_found(program.name));
    let hint = program.filter(|_| !found).map(|program| program.install.to_owned());
    let recipe = program.and_then(|program| program.recipe("host"));
    AgentView { recipe, ..AgentView::of(agent, about, found, hint) }
}

fn program_of(agent: &Agent, dialect: Option<Dialect>) -> Option<Program> {
    let first = agent.command.as_deref().and_then(|command| command.split_whitespace().next());
    match first {
        Some(first) => Offer::KNOWN.iter().find(|offer| offer.program.name == first).map(|offer| offer.program),
        None => dialect.and_then(Dialect::program),
    }
}

/// What the template `host` shows of this machine is below `/usr`.
fn is_found(program: &str) -> bool {
    ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|folder| Path::new(folder).join(program).exists())
}
