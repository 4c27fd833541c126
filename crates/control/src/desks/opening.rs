//! A sandbox at a moment of the past: the desk of a task as it was saved at a checkpoint, to look around in.

use std::sync::Arc;

use carrel_model::{
    Action, Branch, Grant, Subject, TaskId,
    public::{NewSandbox, SandboxView},
    sandbox::{Author, Checkout, Isolation},
};

use crate::{Error, SandboxesDesk, TasksDesk, secret::new_sandbox_id};

impl TasksDesk<'_> {
    /// Opens a sandbox with the files of a checkpoint. It is nobody's desk: nothing is saved or pushed from it.
    pub async fn open_at(&self, grant: &Grant, id: TaskId, seq: i64) -> Result<Arc<SandboxView>, Error> {
        let task = self.look(grant, id, Action::TaskRead).await?;
        let agent_id = Some(task.agent.clone());
        let subject = Subject::Sandbox { id: None, agent: agent_id.as_ref() };
        self.house.admit(grant, Action::SandboxCreate, subject).await?;
        let moment = self.house.store.sessions().moment(&task.session_id, seq).await?;
        let commit = moment.and_then(|moment| moment.commit);
        let commit = commit.ok_or_else(|| Error::field("from", format!("moment {seq} is not a checkpoint")))?;
        let new = NewSandbox { repo: Some(task.repo.clone()), agent_id, ..NewSandbox::default() };
        let post = self.house.post(&self.house.settings.defaults.provider)?;
        if post.provider.furnishing().is_none() {
            let why = format!("the provider `{}` cannot lay a checkpoint under a sandbox", post.name);
            return Err(Error::Conflict { why });
        }
        let isolation = post.usual_isolation().unwrap_or(Isolation::None);
        let manners = new.manners();
        let mut spec =
            new.into_spec(&self.house.settings.defaults, isolation).map_err(|fields| Error::Invalid { fields })?;
        let branch: Branch = format!("{}-at-{seq}", task.branch)
            .parse()
            .map_err(|_| Error::Conflict { why: "the branch of this task is too long".into() })?;
        let author = Author::new(task.agent.as_str(), &format!("{}@carrel.localhost", task.agent))
            .map_err(|bad| Error::field("agent", bad.rule))?;
        spec.checkout = Some(Checkout { branch, base: task.base.clone(), commit, author });
        let desk = SandboxesDesk { house: self.house };
        let created = desk.create_as(grant, Action::SandboxCreate, new_sandbox_id(), spec, manners, None).await?;
        Ok(created.sandbox)
    }
}
