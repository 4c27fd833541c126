//! The first command of a sandbox, asked for together with it: one question and one answer for both.
//!
//! A command that can reach nobody outside begins while the row of its sandbox is still being written; what it prints is
//! told when the row is there, like everything else. Both are there in the end, or neither is: a sandbox whose command
//! cannot be started goes again.

use std::{sync::Arc, time::Duration};

use carrel_envd::{Envd, EnvdError, Event, Events};
use carrel_model::{
    Action, ExecId, Grant, Subject,
    public::{Command, NewExec, NewSandbox, SandboxView},
    sandbox::{NetworkMode, Phase, Spec},
};
use carrel_sandbox::{Claimed, Provider, ProviderError};
use futures::{StreamExt, stream};
use tokio::sync::oneshot;

use super::{
    execs::{Begun, ExecsDesk, Running, start_of},
    sandboxes::{Created, SandboxesDesk, Waited},
};
use crate::{Error, Idempotency, inside::Inside, secret::new_exec_id};

/// A sandbox that was asked for together with a command.
pub struct Furnished {
    /// As it is now.
    pub sandbox: Arc<SandboxView>,
    /// How the wait for it ended.
    pub waited: Waited,
    /// The request was made before; this is what it made then, and nothing was run again.
    pub repeated: bool,
    /// Its command. Nothing when the sandbox is not ready in time, or was made before.
    pub running: Option<Running>,
}

/// A command for a sandbox that is yet to be made.
#[derive(Debug, Clone)]
pub(crate) struct FirstCommand {
    exec: ExecId,
    command: Command,
    new: NewExec,
}

/// What became of a command that was begun before the row of its sandbox was written.
pub(crate) type Early = Result<(Envd, Begun), Unbegun>;

/// Why a command was not begun.
pub(crate) enum Unbegun {
    Unreached(ProviderError),
    Refused(EnvdError),
}

impl FirstCommand {
    /// Whether it may begin before anybody knows of its sandbox: it reaches nobody, and no rules are to be asked.
    pub(crate) fn may_begin_early(spec: &Spec, idempotency: Option<&Idempotency>) -> bool {
        spec.network.mode == NetworkMode::None
            && spec.repo.is_none()
            && spec.agent_id.is_none()
            && spec.task_id.is_none()
            && idempotency.is_none()
    }

    /// Begins it in a sandbox that was just made. What it did is told when its sandbox can be entered by others, too.
    pub(crate) async fn begin(
        self,
        provider: Arc<dyn Provider>,
        Claimed { id, open }: Claimed,
        started_at: carrel_model::Timestamp,
        written: oneshot::Receiver<()>,
    ) -> Early {
        let FirstCommand { exec, command, new } = self;
        let is_open = open.is_some();
        let envd = match open {
            Some(envd) => envd,
            None => provider.endpoint(&id).await.map_err(Unbegun::Unreached)?.envd(),
        };
        let start = start_of(&exec, &command, &new);
        let events = envd.start(&start).await.map_err(Unbegun::Refused)?;
        let (ahead, events) = hear_until(written, events).await;
        if is_open {
            provider.endpoint(&id).await.map_err(Unbegun::Unreached)?;
        }
        Ok((envd, Begun { exec, command, start, started_at, ahead, events }))
    }
}

/// Hears what a command does until the row is written, so that it is there when it may be told.
async fn hear_until(mut written: oneshot::Receiver<()>, mut events: Events) -> (Vec<Event>, Events) {
    /// What prints more than that in a moment is not waited for.
    const MOST: usize = 64;
    let (mut ahead, mut last) = (Vec::new(), None);
    while ahead.len() < MOST {
        let next = tokio::select! {
            biased;
            _ = &mut written => break,
            next = events.next() => next,
        };
        match next {
            Some(Ok(event)) if !matches!(event, Event::Ended(_)) => ahead.push(event),
            end => {
                last = end;
                break;
            }
        }
    }
    (ahead, Box::pin(stream::iter(last).chain(events)))
}

impl SandboxesDesk<'_> {
    /// Asks for a sandbox and runs a command in it as soon as it is ready, which is waited for.
    pub async fn create_and_run(
        &self,
        grant: &Grant,
        new: NewSandbox,
        exec: NewExec,
        idempotency: Option<Idempotency>,
        most: Duration,
    ) -> Result<Furnished, Error> {
        let command = exec.command().map_err(|mut fields| {
            fields.iter_mut().for_each(|field| field.field.insert_str(0, "exec."));
            Error::Invalid { fields }
        })?;
        let agent = new.agent_id.as_ref().or(grant.authority.agent());
        self.house.admit(grant, Action::SandboxExec, Subject::Sandbox { id: None, agent }).await?;
        let (house, grant) = (Arc::clone(self.house), grant.clone());
        // In a task of its own: a caller that goes away leaves a command that is followed to its end.
        let furnished = self.house.tasks().spawn(async move {
            let desk = SandboxesDesk { house: &house };
            let first = FirstCommand { exec: new_exec_id(), command, new: exec };
            let (Created { sandbox, repeated }, early) =
                desk.bear_new(&grant, new, idempotency, Some(first.clone())).await?;
            let id = sandbox.id.clone();
            if repeated {
                let waited = desk.wait(&grant, &id, Phase::Ready, most).await?;
                let (Waited::Never(sandbox) | Waited::NotYet(sandbox) | Waited::Reached(sandbox)) = waited.clone();
                return Ok(Furnished { sandbox, waited, repeated, running: None });
            }
            let begun = match early {
                Some(early) => desk.attend_first(&grant, &sandbox, &first, early),
                None => match desk.wait(&grant, &id, Phase::Ready, most).await? {
                    Waited::Reached(sandbox) => {
                        let running = ExecsDesk { house: &house }.start(&grant, &id, first.new.clone()).await;
                        running.map(|running| (sandbox, running))
                    }
                    waited => {
                        let (Waited::Never(sandbox) | Waited::NotYet(sandbox) | Waited::Reached(sandbox)) =
                            waited.clone();
                        return Ok(Furnished { sandbox, waited, repeated, running: None });
                    }
                },
            };
            match begun {
                Ok((sandbox, running)) => {
                    let waited = Waited::Reached(Arc::clone(&sandbox));
                    Ok(Furnished { sandbox, waited, repeated, running: Some(running) })
                }
                Err(error) => {
                    // Whoever is told of the trouble is not told the name: nobody could end it.
                    let _ = desk.destroy(&grant, &id).await;
                    Err(error)
                }
            }
        });
        furnished.await.map_err(|ended| Error::Internal(Box::new(ended)))?
    }

    /// Follows a command that was begun before the row was written.
    fn attend_first(
        &self,
        grant: &Grant,
        sandbox: &Arc<SandboxView>,
        first: &FirstCommand,
        early: Early,
    ) -> Result<(Arc<SandboxView>, Running), Error> {
        let (house, id) = (self.house, &sandbox.id);
        let (envd, begun) = early.map_err(|why| match why {
            Unbegun::Refused(error) => house.understand(id, "command", error),
            Unbegun::Unreached(error) => {
                Error::of_provider(&error, format!("the new sandbox cannot be reached: {error}"))
            }
        })?;
        let view = Arc::clone(sandbox);
        let (envd, cut) = house.lines.keep(id, envd);
        house.activities.touch(house, &view);
        let inside = Inside { view: Arc::clone(&view), envd, cut };
        let execs = ExecsDesk { house };
        let live = execs.attend(grant, Action::SandboxExec, &inside, &first.new, begun, None);
        Ok((view, execs.running(&inside, &first.new, live)))
    }
}
