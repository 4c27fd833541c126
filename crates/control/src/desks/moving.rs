//! A task moves to another provider: what was done goes with it.

use carrel_model::{Action, Grant, ProviderName, TaskId, agent::Voice, public::TaskView, session::MomentKind};

use super::cards::moment;
use crate::{Error, TasksDesk, nodes::leave_desk};

impl TasksDesk<'_> {
    /// Moves a task to another provider. Its desk is saved and ended; the next one is made there from the save, with the same
    /// branch and the same timeline. A turn in flight begins anew.
    pub async fn move_to(&self, grant: &Grant, id: TaskId, provider: ProviderName) -> Result<TaskView, Error> {
        let task = self.look(grant, id, Action::TaskDrive).await?;
        if task.phase.is_over() {
            return Err(Error::Conflict { why: format!("task {id} is {} and stays where it is", task.phase.word()) });
        }
        let post = self.house.post(&provider)?;
        if let Some(fit) = post.fitness().filter(|fit| fit.isolation.is_empty() || fit.templates.is_empty()) {
            let why = fit.missing.join(" ");
            return Err(Error::Conflict {
                why: format!("task {id} stays where it is: `{provider}` cannot be used. {why}"),
            });
        }
        let offers = |level| post.fitness().is_some_and(|fit| fit.isolation.contains(&level));
        if let Some(level) = task.isolation.filter(|level| !offers(*level)) {
            let word = serde_json::to_value(level).unwrap_or_default();
            let why = format!("task {id} wants isolation {word}, which `{provider}` does not offer");
            return Err(Error::Conflict { why });
        }
        let present = match &task.sandbox_id {
            Some(desk) => self.house.store.sandboxes().find(desk).await?.filter(|desk| !desk.phase.is_over()),
            None => None,
        };
        let there = present.as_ref().is_some_and(|desk| desk.spec.provider == provider);
        let wish = provider.clone();
        let view = self.edit(grant, id, Action::TaskDrive, move |tx, task, session| {
            Box::pin(async move {
                if task.provider.as_ref() != Some(&wish) {
                    let text = format!("It moves to the provider `{wish}`; what was done goes with it.");
                    task.provider = Some(wish);
                    tx.say(session, moment(MomentKind::Note, Voice::House, text)).await?;
                }
                Ok(())
            })
        });
        let view = view.await?;
        if let Some(desk) = present.filter(|_| !there) {
            Box::pin(leave_desk(self.house, &desk.id)).await?;
        }
        Ok(view)
    }
}
