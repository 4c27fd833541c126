//! The models desk: who may ask a model, which key opens it, and what it cost.

use std::sync::Arc;

use carrel_model::{
    Action, AgentId, Authority, Grant, KeyId, ProviderName, RepoName, SandboxId, Subject, TaskId, Timestamp,
    public::{UsageBy, UsageView},
    usage::{Tokens, Usage},
};
use carrel_store::{Tx, UsageFilter};
use secrecy::SecretString;
use tokio::task::JoinHandle;

use super::{
    budgets::{self, Payer, Purse},
    till::Place,
};
use crate::{Error, ModelProvider, house::House};

/// Lets models be asked, and adds up what it cost.
pub struct ModelsDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

/// Somebody who may ask one provider of models, with the key that opens it.
pub struct ModelVisit {
    house: Arc<House>,
    provider: ModelProvider,
    key: Option<SecretString>,
    customer: Customer,
    /// Among those who ask at the same time.
    place: Place,
}

/// On whose behalf a model is asked.
#[derive(Debug, Clone, Default)]
struct Customer {
    task: Option<TaskId>,
    session: Option<String>,
    sandbox: Option<SandboxId>,
    agent: Option<AgentId>,
    repo: Option<RepoName>,
    /// Whose work it is.
    member: Option<KeyId>,
}

impl Customer {
    fn payer(&self) -> Payer {
        Payer { task: self.task, member: self.member.clone(), repo: self.repo.clone() }
    }
}

/// One request, as it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The model, as the answer or else the question names it.
    pub model: String,
    /// What it took.
    pub tokens: Tokens,
    /// Whether that was guessed.
    pub is_estimated: bool,
    /// The status of the answer.
    pub status: u16,
    /// How long it took.
    pub took_ms: u64,
    /// When it was asked.
    pub at: Timestamp,
}

/// How many sums are shown at most.
const MOST_SUMS: u32 = 1000;
/// How much of a model's name is kept.
const LONGEST_NAME: usize = 200;

impl ModelsDesk<'_> {
    /// The provider of this name, as it is configured. Takes no grant: it tells nothing but where models are.
    pub fn provider(&self, name: &str) -> Option<&ModelProvider> {
        self.house.settings.models.providers.get(&name.parse::<ProviderName>().ok()?)
    }

    /// The names of all providers.
    pub fn names(&self) -> impl Iterator<Item = &ProviderName> {
        self.house.settings.models.providers.keys()
    }

    /// Lets somebody in to ask a provider of models, unless what may be spent is spent.
    pub async fn enter(&self, grant: &Grant, provider: &ModelProvider) -> Result<ModelVisit, Error> {
        self.house.admit(grant, Action::ModelUse, Subject::House).await?;
        let customer = self.customer(grant).await?;
        let key = self.house.reveal(customer.repo.as_ref(), &provider.secret).await?;
        if key.is_none() && provider.needs_key {
            let or = provider
                .variable()
                .map(|name| format!("set {name} where `carrel serve` runs, or "))
                .unwrap_or_default();
            let why = format!(
                "the house has no key for the models of {}: {or}`carrel secret set {}`",
                provider.name, provider.secret
            );
            return Err(Error::Conflict { why });
        }
        let purses = self.purses(&customer).await?;
        let place = loop {
            let mut paid = std::pin::pin!(self.house.till.paid());
            paid.as_mut().enable();
            let line = self.house.till.line().await;
            let outstanding = self.house.till.outstanding(&purses.iter().map(Purse::name).collect::<Vec<_>>());
            let left = budgets::admit(self.house, &purses).await?;
            if let Some(place) = self.house.till.enter(left, &outstanding) {
                break place;
            }
            drop(line);
            paid.await;
        };
        Ok(ModelVisit { house: Arc::clone(self.house), provider: provider.clone(), key, customer, place })
    }

    /// On whose behalf a grant asks. A sandbox asks for its task, as long as it lives.
    async fn customer(&self, grant: &Grant) -> Result<Customer, Error> {
        Ok(match &grant.authority {
            Authority::Admin | Authority::Member => Customer::default(),
            Authority::Agent(agent) => Customer { agent: Some(agent.clone()), ..Customer::default() },
            Authority::Sandbox(id) => {
                let sandbox = self.house.store.sandboxes().find(id).await?;
                let sandbox = sandbox.filter(|sandbox| !sandbox.phase.is_over());
                let spec = sandbox.ok_or_else(|| Error::no_sandbox(id))?.spec;
                let session = self.house.store.sessions().of_sandbox(id).await?;
                let member = session.as_ref().map(|session| session.created_by.clone());
                let session = session.map(|session| session.id.to_string());
                let (task, agent, repo) = (spec.task_id, spec.agent_id, spec.repo);
                Customer { task, session, sandbox: Some(id.clone()), agent, repo, member }
            }
        })
    }

    async fn purses(&self, customer: &Customer) -> Result<Vec<Purse>, Error> {
        budgets::purses(self.house, customer.payer()).await
    }

    /// Adds up what was used. An agent sees its own, and so does a sandbox.
    pub async fn usage(&self, grant: &Grant, mut filter: UsageFilter, by: UsageBy) -> Result<UsageView, Error> {
        self.house.admit(grant, Action::UsageRead, Subject::House).await?;
        match &grant.authority {
            Authority::Admin | Authority::Member => {}
            Authority::Agent(me) => filter.agent = Some(me.clone()),
            Authority::Sandbox(me) => filter.sandbox = Some(me.clone()),
        }
        let usage = self.house.store.usage();
        Ok(UsageView { by, items: usage.sums(&filter, by, MOST_SUMS).await?, total: usage.total(&filter).await? })
    }
}

impl ModelVisit {
    /// Who is asked.
    pub fn provider(&self) -> &ModelProvider {
        &self.provider
    }

    /// The key to show, when there is one. It is for the provider alone.
    pub fn key(&self) -> Option<&SecretString> {
        self.key.as_ref()
    }

    /// The time, as the house has it.
    pub fn now(&self) -> Timestamp {
        self.house.store.now()
    }

    /// Writes down what was asked and what it cost, and tells of budgets that run out by it.
    pub async fn record(&self, asked: Asked) -> Result<(), Error> {
        let cost = self.house.settings.models.prices.of(&asked.model).map(|price| price.of(&asked.tokens));
        let Customer { task, session, sandbox, agent, .. } = self.customer.clone();
        let usage = Usage {
            at: asked.at,
            task_id: task,
            session_id: session,
            sandbox_id: sandbox,
            agent,
            provider: self.provider.name.clone(),
            model: asked.model.chars().take(LONGEST_NAME).collect(),
            tokens: asked.tokens,
            // What took nothing costs nothing, whatever the price.
            cost: if asked.tokens.is_empty() { Some(carrel_model::usage::Dollars::ZERO) } else { cost },
            is_estimated: asked.is_estimated,
            status: asked.status,
            took_ms: asked.took_ms,
        };
        self.place.learn(usage.cost.unwrap_or(carrel_model::usage::Dollars::ZERO));
        count(&usage, self.house.settings.models.prices.of(&asked.model).is_some());
        let purses = budgets::purses(&self.house, self.customer.payer()).await?;
        let change = self.house.store.change(move |tx| {
            Box::pin(async move {
                tx.insert_usage(&usage).await?;
                show(tx, &usage).await?;
                if usage.cost.is_none() && !purses.is_empty() {
                    budgets::tell_unpriced(tx, &usage).await?;
                }
                for purse in &purses {
                    budgets::tell(tx, purse).await?;
                }
                Ok::<_, Error>(())
            })
        });
        change.await
    }

    /// The same, in a task of its own: the house does not close before it is written.
    pub fn record_later(self: Arc<Self>, asked: Asked) -> JoinHandle<()> {
        let tasks = self.house.tasks().clone();
        tasks.spawn(async move {
            if let Err(error) = self.record(asked).await {
                tracing::error!(error = &error as &dyn std::error::Error, "what a model cost was not written down");
            }
        })
    }
}

/// What was counted here stands on the card and in the session, in place of what the agent says of itself. A model
/// without a price leaves that as it is.
async fn show(tx: &mut Tx, usage: &Usage) -> Result<(), Error> {
    if usage.cost.is_none_or(|cost| cost.micros() == 0) {
        return Ok(());
    }
    // The task first, as everybody locks them.
    if let Some(id) = usage.task_id
        && let Some((mut task, _)) = tx.lock_task(id).await?
    {
        (task.spent_micros, task.counted) = (tx.cost_of_task(id).await?.micros(), true);
        tx.put_task(&mut task).await?;
    }
    if let Some(id) = &usage.session_id
        && let Ok(id) = id.parse()
        && let Some(mut session) = tx.lock_session(&id).await?
    {
        (session.spent_micros, session.counted) = (tx.cost_of_session(id.as_str()).await?.micros(), true);
        tx.put_session(&mut session).await?;
    }
    Ok(())
}

/// Numbers for whoever watches. A model that nobody knows has no number of its own: names come from outside.
fn count(usage: &Usage, is_known: bool) {
    let provider = usage.provider.to_string();
    let model = if is_known { usage.model.clone() } else { "other".to_owned() };
    let status = usage.status.to_string();
    metrics::counter!("carrel_model_requests_total", "provider" => provider.clone(), "model" => model.clone(), "status" => status)
        .increment(1);
    let Tokens { input, output, cache_read, cache_write, .. } = usage.tokens;
    for (kind, tokens) in
        [("input", input), ("output", output), ("cache_read", cache_read), ("cache_write", cache_write)]
    {
        metrics::counter!("carrel_model_tokens_total", "provider" => provider.clone(), "model" => model.clone(), "kind" => kind)
            .increment(tokens);
    }
    let micros = usage.cost.map_or(0, |cost| cost.micros().unsigned_abs());
    metrics::counter!("carrel_model_cost_microdollars_total", "provider" => provider, "model" => model)
        .increment(micros);
}
