//! The way in: from a grant and a sandbox's name to the envd that runs inside, and what goes on there meanwhile.

pub(crate) mod activity;
pub(crate) mod follower;
pub(crate) mod lines;
pub(crate) mod live;
pub(crate) mod met;
pub(crate) mod samples;
pub(crate) mod scribe;

use std::{sync::Arc, time::Duration};

use carrel_envd::{Envd, EnvdError};
use carrel_model::{
    Action, Grant, SandboxId, Subject,
    audit::{AuditLine, Outcome},
    public::{Happening, SandboxView},
    sandbox::{Phase, Want},
};
use carrel_sandbox::ProviderError;
use carrel_store::News;
use tokio_util::sync::CancellationToken;

use crate::{Error, SandboxesDesk, desks::sandboxes::Waited, house::House};

/// How long whoever wants something of a paused sandbox waits for it to come back.
const WAKES_WITHIN: Duration = Duration::from_secs(60);

/// A sandbox that somebody has entered.
pub(crate) struct Inside {
    pub(crate) view: Arc<SandboxView>,
    pub(crate) envd: Envd,
    /// Ends when its lines are cut: it is put to a deep sleep, or ends.
    pub(crate) cut: CancellationToken,
}

impl House {
    /// Lets a grant into a sandbox that works. One that is paused comes back for it, when it was made to.
    pub(crate) async fn enter(
        self: &Arc<Self>,
        grant: &Grant,
        id: &SandboxId,
        action: Action,
    ) -> Result<Inside, Error> {
        let desk = SandboxesDesk { house: self };
        let mut view = desk.look(id).await?;
        let subject = Subject::Sandbox { id: Some(id), agent: view.agent_id.as_ref() };
        self.admit(grant, action, subject).await?;
        // Whoever comes while it falls asleep would stand still with it, and nobody would wake them.
        let falls_asleep = view.phase == Phase::Ready && view.want == Want::Paused;
        match view.phase {
            Phase::Ready if !falls_asleep => {}
            Phase::Ready | Phase::Paused if view.auto_resume => view = self.wake(grant, id).await?,
            Phase::Ready | Phase::Paused => {
                let why = format!("sandbox {id} is paused; resume it first, or make it with `auto_resume`");
                return Err(Error::Conflict { why });
            }
            Phase::Requested | Phase::Preparing => {
                return Err(Error::Conflict {
                    why: format!("sandbox {id} is not ready yet; wait for it with `wait=ready`"),
                });
            }
            Phase::Closing | Phase::Gone | Phase::Failed => {
                return Err(Error::Conflict {
                    why: format!("sandbox {id} is {}: nothing runs in it", view.phase.word()),
                });
            }
        }
        let (envd, cut) = self.line(&view).await?;
        self.activities.touch(self, &view);
        Ok(Inside { view, envd, cut })
    }

    pub(crate) async fn wake(self: &Arc<Self>, grant: &Grant, id: &SandboxId) -> Result<Arc<SandboxView>, Error> {
        let desk = SandboxesDesk { house: self };
        desk.wake(grant, id).await?;
        desk.until_let_go(grant, id, WAKES_WITHIN).await?;
        match desk.wait(grant, id, Phase::Ready, WAKES_WITHIN).await? {
            Waited::Reached(view) => Ok(view),
            Waited::Never(view) | Waited::NotYet(view) => {
                let note = view.note.as_deref().unwrap_or("it takes longer than usual");
                Err(Error::Unavailable {
                    why: format!("sandbox {id} does not come back from its pause: {note}"),
                    source: None,
                })
            }
        }
    }

    /// The line to a sandbox's envd.
    pub(crate) async fn line(&self, view: &SandboxView) -> Result<(Envd, CancellationToken), Error> {
        if let Some(line) = self.lines.find(&view.id) {
            return Ok(line);
        }
        let post = self.providers.get(&view.provider).ok_or_else(|| Error::Unavailable {
            why: format!("this server has no provider `{}`", view.provider),
            source: None,
        })?;
        match post.provider.endpoint(&view.id).await {
            Ok(endpoint) => Ok(self.lines.keep(&view.id, endpoint.envd())),
            Err(ProviderError::Unfit { why }) => Err(Error::Conflict { why }),
            Err(error) => Err(self.away(view, error).await),
        }
    }

    /// Why a sandbox that is ready cannot be reached from here.
    async fn away(&self, view: &SandboxView, error: ProviderError) -> Error {
        let id = &view.id;
        let now = self.store.sandboxes().find(id).await.ok().flatten();
        if let Some(now) = now.as_ref().filter(|now| now.want != Want::Ready) {
            // It goes to sleep, or away, and its row does not say yet that it has.
            let word = if now.want == Want::Paused { "paused" } else { "ended" };
            return Error::Conflict { why: format!("sandbox {id} is being {word}") };
        }
        let why = match now.and_then(|now| now.home) {
            Some(home) if home != self.settings.node => {
                format!("sandbox {id} lives on the node {home}, which does not answer")
            }
            _ => format!("sandbox {id} cannot be reached: {error}"),
        };
        Error::Unavailable { why, source: None }
    }

    /// Turns what an envd says into what a desk says.
    pub(crate) fn understand(&self, id: &SandboxId, what: &str, error: EnvdError) -> Error {
        match error {
            EnvdError::Unreachable(_) => {
                self.lines.forget(id);
                Error::Unavailable { why: format!("sandbox {id}: {error}"), source: None }
            }
            EnvdError::NotFound(why) => {
                let why: String = why.chars().take(300).collect();
                Error::NotFound { what: format!("{what} in sandbox {id} ({why})") }
            }
            EnvdError::AlreadyThere(why) | EnvdError::DiskFull(why) | EnvdError::TimedOut(why) => {
                Error::Conflict { why }
            }
            EnvdError::Invalid(why) => Error::field(what, why),
            // A place that may not be written is no matter of who asks.
            EnvdError::Refused(why) if what == "path" && !why.contains("user") => Error::field("path", why),
            EnvdError::Refused(why) => Error::field("user", why),
            EnvdError::Broken(why) => {
                let full = why.contains("(os error 11)");
                let hint = if full { "; it has as many processes as it may have" } else { "" };
                Error::Inside { why: format!("inside sandbox {id}: {why}{hint}") }
            }
        }
    }

    /// Waits until a sandbox works; false when it never will again.
    pub(crate) async fn until_ready(self: &Arc<Self>, id: &SandboxId) -> Result<bool, Error> {
        let journal = self.store.journal();
        let mut follower = journal.follow(journal.head());
        let mut phase = SandboxesDesk { house: self }.look(id).await?.phase;
        loop {
            match phase {
                Phase::Ready => return Ok(true),
                // A provider that shows a failed one again shows it without the processes it had.
                Phase::Closing | Phase::Gone | Phase::Failed => return Ok(false),
                Phase::Requested | Phase::Preparing | Phase::Paused => {}
            }
            match follower.next().await? {
                News::Reset(_) => phase = SandboxesDesk { house: self }.look(id).await?.phase,
                News::Entries(entries) => {
                    for written in entries {
                        if let Happening::Sandbox { sandbox } = &written.entry().happening
                            && sandbox.id == *id
                        {
                            phase = sandbox.phase;
                        }
                    }
                }
            }
        }
    }

    /// A line of the audit about what was done inside.
    pub(crate) fn audited(&self, grant: &Grant, action: Action, id: &SandboxId, detail: Option<String>) -> AuditLine {
        let line = AuditLine::by(grant, action.word(), Some(id.to_string()), Outcome::Done, self.store.now());
        match detail {
            Some(detail) => line.with_detail(detail),
            None => line,
        }
    }
}
