//! A sandbox at a moment of the past: the desk of a task or a session as it was saved at a checkpoint, to look around in.

use std::sync::Arc;

use carrel_model::{
    Action, AgentId, Branch, CommitId, Grant, RepoName, SessionId, Subject, TaskId,
    public::{NewSandbox, SandboxView},
    sandbox::{Author, Checkout, Isolation},
};

use crate::{Error, SandboxesDesk, TasksDesk, house::House, secret::new_sandbox_id};

/// Whose past it is.
pub(super) struct Past<'p> {
    pub(super) session: &'p SessionId,
    pub(super) repo: &'p RepoName,
    pub(super) agent: &'p AgentId,
    /// The branch that the work is on.
    pub(super) branch: String,
    pub(super) base: Branch,
}

impl TasksDesk<'_> {
    /// Opens a sandbox with the files of a checkpoint. It is nobody's desk: nothing is saved or pushed from it.
    pub async fn open_at(&self, grant: &Grant, id: TaskId, seq: i64) -> Result<Arc<SandboxView>, Error> {
        let task = self.look(grant, id, Action::TaskRead).await?;
        let past = Past {
            session: &task.session_id,
            repo: &task.repo,
            agent: &task.agent,
            branch: task.branch.to_string(),
            base: task.base.clone(),
        };
        open(self.house, grant, past, seq).await
    }
}

/// The commit of a checkpoint, by its place on the timeline.
pub(super) async fn checkpoint(house: &House, session: &SessionId, seq: i64) -> Result<CommitId, Error> {
    let moment = house.store.sessions().moment(session, seq).await?;
    let commit = moment.and_then(|moment| moment.commit);
    commit.ok_or_else(|| Error::field("from", format!("moment {seq} is not a checkpoint")))
}

/// Opens a sandbox with the files of a checkpoint, for whoever may read the timeline that it is on.
pub(super) async fn open(
    house: &Arc<House>,
    grant: &Grant,
    past: Past<'_>,
    seq: i64,
) -> Result<Arc<SandboxView>, Error> {
    let agent_id = Some(past.agent.clone());
    let subject = Subject::Sandbox { id: None, agent: agent_id.as_ref() };
    house.admit(grant, Action::SandboxCreate, subject).await?;
    let commit = checkpoint(house, past.session, seq).await?;
    let new = NewSandbox { repo: Some(past.repo.clone()), agent_id, ..NewSandbox::default() };
    let post = house.post(&house.settings.defaults.provider)?;
    if post.provider.furnishing().is_none() {
        let why = format!("the provider `{}` cannot lay a checkpoint under a sandbox", post.name);
        return Err(Error::Conflict { why });
    }
    let isolation = post.usual_isolation().unwrap_or(Isolation::None);
    let manners = new.manners();
    let mut spec = new.into_spec(&house.settings.defaults, isolation).map_err(|fields| Error::Invalid { fields })?;
    let branch: Branch = format!("{}-at-{seq}", past.branch)
        .parse()
        .map_err(|_| Error::Conflict { why: "the branch of this work is too long".into() })?;
    let author = Author::new(past.agent.as_str(), &format!("{}@carrel.localhost", past.agent))
        .map_err(|bad| Error::field("agent", bad.rule))?;
    spec.checkout = Some(Checkout { branch, base: past.base, commit, author });
    let desk = SandboxesDesk { house };
    let created = desk.create_as(grant, Action::SandboxCreate, new_sandbox_id(), spec, manners, None).await?;
    Ok(created.sandbox)
}
