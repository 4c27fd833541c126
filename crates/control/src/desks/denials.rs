//! What was refused at a desk: written into the audit, and told on the timeline of whoever works there, with what would
//! allow it. The same refusal is told once.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use carrel_model::{
    Action, Grant, SandboxId,
    agent::Voice,
    audit::{AuditLine, Outcome},
    command::{CommandPattern, CommandRules, Refused},
    public::{Command, SandboxView},
    sandbox::NetworkMode,
    session::MomentKind,
};

use crate::{
    Error, GatewayDesk, SandboxesDesk,
    desks::{agents, cards::moment, refusals::shown, repos, sessions::no_session},
    house::House,
};

/// So many refusals are remembered as told.
const MOST_TOLD: usize = 4096;

/// What was told already, as far as it is remembered.
#[derive(Default)]
pub(crate) struct Denials(Mutex<HashSet<(SandboxId, String)>>);

impl Denials {
    /// Whether this is the first time.
    fn is_new(&self, sandbox: &SandboxId, text: &str) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= MOST_TOLD {
            told.clear();
        }
        told.insert((sandbox.clone(), text.to_owned()))
    }
}

impl House {
    /// Lets a command by, or refuses it as the repository or the agent of the sandbox wants it.
    pub(crate) async fn permit(
        self: &Arc<Self>,
        grant: &Grant,
        view: &SandboxView,
        action: Action,
        command: &Command,
        variables: &[&str],
    ) -> Result<(), Error> {
        let Some((refused, whose, rules)) = self.judge(view, command, variables).await? else { return Ok(()) };
        let hint = way_out(&refused, &whose, &rules);
        let line = AuditLine::by(grant, action.word(), Some(view.id.to_string()), Outcome::Denied, self.store.now());
        let why = format!("{refused} (rules of {whose})");
        self.store.write_audit(&line.with_detail(why.clone())).await?;
        self.tell_refusal(&view.id, format!("Refused: {why}. {hint}")).await?;
        Err(Error::Refused { why, hint })
    }

    async fn judge(
        self: &Arc<Self>,
        view: &SandboxView,
        command: &Command,
        variables: &[&str],
    ) -> Result<Option<(Refused, Whose, CommandRules)>, Error> {
        let judged =
            |rules: &CommandRules| rules.judge(command).and_then(|()| rules.judge_variables(variables.iter().copied()));
        if let Some(name) = &view.repo {
            let rules = repos::find(self, name).await?.rules.commands;
            if let Err(refused) = judged(&rules) {
                return Ok(Some((refused, Whose::Repo(name.to_string()), rules)));
            }
        }
        if let Some(name) = &view.agent_id {
            let rules = match agents::find(self, name).await {
                Ok(agent) => agent.commands,
                // Sandboxes may be made in the name of an agent that only its key knows.
                Err(Error::NotFound { .. }) => CommandRules::default(),
                Err(error) => return Err(error),
            };
            if let Err(refused) = judged(&rules) {
                return Ok(Some((refused, Whose::Agent(name.to_string()), rules)));
            }
        }
        Ok(None)
    }

    /// Tells of a host that a sandbox may not reach: once for each host, whatever ports are tried.
    pub(crate) async fn tell_unreached(
        self: &Arc<Self>,
        id: &SandboxId,
        host: &str,
        port: Option<u16>,
        why: &str,
    ) -> Result<(), Error> {
        let (host, now) = (shown(host), self.store.now());
        self.refusals.remember(id, &host, port, why, now);
        if !self.denials.is_new(id, &format!("host {host}")) {
            return Ok(());
        }
        let view = self.look_or_wait(id).await?;
        let hint = match view.network.mode {
            NetworkMode::None | NetworkMode::Allow => {
                format!("`carrel sandbox network {id} --allow {host}` would allow it.")
            }
            NetworkMode::Open => {
                "Its network is open: this address is closed to every sandbox, or by `deny`.".to_owned()
            }
        };
        let text = format!("Refused: {why}. {hint}");
        // The command that would allow it is the same whatever port was asked for.
        let mark = if view.network.mode == NetworkMode::Open { text.clone() } else { hint };
        if let Some(grant) = (GatewayDesk { house: self }).grant_of(id).await? {
            let action = Action::SandboxNetwork.word();
            let line = AuditLine::by(&grant, action, Some(id.to_string()), Outcome::Denied, now);
            self.store.write_audit(&line.with_detail(why.to_owned())).await?;
        }
        self.tell_marked(id, mark, text).await
    }

    /// A sandbox, also one whose row is only being written: its first command may be quicker.
    async fn look_or_wait(self: &Arc<Self>, id: &SandboxId) -> Result<Arc<SandboxView>, Error> {
        /// A row that is not there after so long was refused.
        const PATIENCE: Duration = Duration::from_secs(5);
        let began = tokio::time::Instant::now();
        loop {
            match (SandboxesDesk { house: self }).look(id).await {
                Err(Error::NotFound { .. }) if began.elapsed() < PATIENCE => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                looked => return looked,
            }
        }
    }

    /// Tells of a refusal on the timeline of whoever works at a desk, once.
    pub(crate) async fn tell_refusal(self: &Arc<Self>, sandbox: &SandboxId, text: String) -> Result<(), Error> {
        if !self.denials.is_new(sandbox, &text) {
            return Ok(());
        }
        self.tell_marked(sandbox, text.clone(), text).await
    }

    /// Tells it unless something with this mark stands there.
    async fn tell_marked(self: &Arc<Self>, sandbox: &SandboxId, mark: String, text: String) -> Result<(), Error> {
        let Some(session) = self.store.sessions().of_sandbox(sandbox).await? else { return Ok(()) };
        // An earlier life of the house may have told it.
        if !self.store.sessions().search(&session.id, &mark, 1).await?.is_empty() {
            return Ok(());
        }
        let id = session.id;
        let told = self.store.change(move |tx| {
            Box::pin(async move {
                let mut session = tx.lock_session(&id).await?.ok_or_else(|| no_session(&id))?;
                let mut note = moment(MomentKind::Note, Voice::House, text);
                note.turn = session.turns;
                tx.say(&mut session, note).await?;
                tx.put_session(&mut session).await?;
                Ok::<_, Error>(())
            })
        });
        told.await
    }
}

/// Whose rules refused.
enum Whose {
    Repo(String),
    Agent(String),
}

impl std::fmt::Display for Whose {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Whose::Repo(name) => write!(f, "the repo `{name}`"),
            Whose::Agent(name) => write!(f, "the agent `{name}`"),
        }
    }
}

/// The command that would allow what was refused.
fn way_out(refused: &Refused, whose: &Whose, rules: &CommandRules) -> String {
    let set = match whose {
        Whose::Repo(name) => format!("carrel repo set {name}"),
        Whose::Agent(name) => format!("carrel agent set {name}"),
    };
    let list = |flag: &str, patterns: &[CommandPattern]| {
        let quoted = patterns.iter().map(|pattern| format!(" {flag} '{}'", pattern.as_str().replace('\'', r"'\''")));
        let all: String = quoted.collect();
        if all.is_empty() { format!(" {flag} ''") } else { all }
    };
    match refused {
        Refused::Forbidden { by, .. } => {
            let others: Vec<_> = rules.deny.iter().filter(|pattern| *pattern != by).cloned().collect();
            format!("`{set}{}` would lift that.", list("--deny-command", &others))
        }
        Refused::NotListed { runs } => {
            let mut all = rules.allow.clone();
            let program = runs.split(' ').next().unwrap_or_default();
            all.extend(CommandRules::pattern_for(runs).or_else(|| CommandRules::pattern_for(program)));
            format!("`{set}{}` would allow it.", list("--allow-command", &all))
        }
        Refused::Unreadable { .. } => "Ask with `argv`: a program and its arguments are read as they are.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Vec<CommandPattern> {
        texts.iter().map(|text| text.parse().expect("a pattern")).collect()
    }

    #[test]
    fn the_way_out_keeps_what_is_there() {
        let rules = CommandRules { allow: patterns(&["git", "make test"]), deny: Vec::new() };
        let refused = Refused::NotListed { runs: "cargo build".into() };
        assert_eq!(
            way_out(&refused, &Whose::Repo("own".into()), &rules),
            "`carrel repo set own --allow-command 'git' --allow-command 'make test' --allow-command 'cargo build'` would \
             allow it."
        );
        let rules = CommandRules { allow: Vec::new(), deny: patterns(&["git push **"]) };
        let refused = Refused::Forbidden { runs: "git push x".into(), by: rules.deny[0].clone() };
        let told = way_out(&refused, &Whose::Agent("claude".into()), &rules);
        assert_eq!(told, "`carrel agent set claude --deny-command ''` would lift that.");
    }
}
