//! Visits: whoever comes to a sandbox by its own name, without a grant of the house.
//!
//! envd asks its visitors for its own token; the ports are open to whom the sandbox was made for. What the house decides
//! here is whether there is anybody to visit, and whether a sleeping one is woken for it.

use std::sync::Arc;

use carrel_envd::{
    EnvdError,
    wire::{Codec, Deframer, Envelope, Operation, process::StartRequest, sign},
};
use carrel_model::{
    Action, Authority, Grant, SandboxId, Subject, Timestamp,
    public::{Command, SandboxView},
    sandbox::{Phase, PortAccess, Want},
};
use carrel_store::Filter;
use secrecy::ExposeSecret;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::{
    ports::{PortLine, PortsDesk},
    wrapping,
};
use crate::{
    Error, SandboxesDesk,
    inside::activity::{Busy, Doing},
};

/// So many sandboxes are asked whether a token is theirs.
const MOST_ASKED: u32 = 5000;

/// Where the code interpreter answers.
const INTERPRETER: u16 = 49_999;

/// Somebody at a sandbox's own door.
#[derive(Debug, Clone, Copy)]
pub struct Visit<'a> {
    /// What they want to reach.
    pub to: Destination,
    /// The grant of the key that they showed, when they showed one.
    pub grant: Option<&'a Grant>,
    /// The token for its ports, when they showed one.
    pub token: Option<&'a str>,
    /// Where they come from.
    pub origin: Option<&'a str>,
}

/// What a visitor wants to reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// Its envd, which asks for a token of its own.
    Envd,
    /// A port that something inside listens on.
    Port(u16),
}

impl Destination {
    /// Whether whoever waits for an answer from there is told when the sandbox is put to sleep: what runs commands and cells.
    /// Pages and their sockets stand still with it, and go on.
    pub fn is_told(self) -> bool {
        matches!(self, Destination::Envd | Destination::Port(INTERPRETER))
    }
}

/// Why a visitor did not get in.
#[derive(Debug)]
pub enum TurnedAway {
    /// There never was such a sandbox, as far as anybody remembers.
    Unknown,
    /// It has ended: this is what is left to say of it.
    Ended(Arc<SandboxView>),
    /// It sleeps and was not made to wake for visitors.
    Asleep(Arc<SandboxView>),
    /// It is not ready yet.
    NotReady(Arc<SandboxView>),
    /// It works, but nothing listens there.
    Closed,
    /// Its ports are for those who show a key.
    KeyWanted,
    /// The token for its ports is missing or wrong, and no key was shown.
    TokenWanted,
    /// Something else went wrong.
    Failed(Error),
}

impl From<Error> for TurnedAway {
    fn from(error: Error) -> Self {
        TurnedAway::Failed(error)
    }
}

impl PortsDesk<'_> {
    /// Lets a visitor in. Its sandbox counts as active while the line is open.
    pub async fn visit(&self, id: &SandboxId, visit: Visit<'_>) -> Result<PortLine, TurnedAway> {
        let desk = SandboxesDesk { house: self.house };
        let mut view = match desk.look(id).await {
            Ok(view) => view,
            Err(Error::NotFound { .. }) => return Err(TurnedAway::Unknown),
            Err(error) => return Err(error.into()),
        };
        match standing(&view, self.house.store.now()) {
            Standing::Works => {}
            Standing::Ended => return Err(TurnedAway::Ended(view)),
            Standing::NotReady => return Err(TurnedAway::NotReady(view)),
            Standing::Asleep if view.auto_resume => {}
            Standing::Asleep => return Err(TurnedAway::Asleep(view)),
        }
        if let Destination::Port(_) = visit.to {
            self.admit_visitor(&view, &visit).await?;
        }
        let mut asleep = self.house.lines.next_sleep(id);
        // Looked at again: what fell asleep before we listened for it does not ring any more.
        view = desk.look(id).await?;
        if standing(&view, self.house.store.now()) == Standing::Asleep {
            (view, asleep) = self.wake(view, visit.origin).await?;
        }
        let (envd, _) = self.house.line(&view).await?;
        let line = match visit.to {
            Destination::Envd => envd.line().await,
            Destination::Port(port) => super::ports::listened(&envd, port).await,
        };
        match line {
            Ok(line) => {
                let line = match visit.to {
                    Destination::Envd => line,
                    Destination::Port(port) => wrapping::dress(&view, port, line).await?,
                };
                if !visit.to.is_told() {
                    asleep = CancellationToken::new();
                }
                let busy = Busy::new(self.house, &view, Doing::Port);
                Ok(PortLine { line, host: view.port_host.clone(), asleep, _busy: busy })
            }
            Err(EnvdError::NotFound(_)) => Err(TurnedAway::Closed),
            Err(error) => Err(self.house.understand(id, "port", error).into()),
        }
    }

    /// Wakes a sandbox that was put to sleep while a visitor waited for its answer, if it was made to wake for visitors.
    /// Says what rings when it is put to sleep again.
    pub async fn wake_again(&self, id: &SandboxId, origin: Option<&str>) -> Result<CancellationToken, TurnedAway> {
        let view = SandboxesDesk { house: self.house }.look(id).await?;
        match standing(&view, self.house.store.now()) {
            Standing::Ended => Err(TurnedAway::Ended(view)),
            _ => Ok(self.wake(view, origin).await?.1),
        }
    }

    async fn wake(
        &self,
        view: Arc<SandboxView>,
        origin: Option<&str>,
    ) -> Result<(Arc<SandboxView>, CancellationToken), TurnedAway> {
        if !view.auto_resume {
            return Err(TurnedAway::Asleep(view));
        }
        let woken = self.house.wake(&visitor(&view, origin), &view.id).await?;
        Ok((woken, self.house.lines.next_sleep(&view.id)))
    }

    async fn admit_visitor(&self, view: &SandboxView, visit: &Visit<'_>) -> Result<(), TurnedAway> {
        let subject = Subject::Sandbox { id: Some(&view.id), agent: view.agent_id.as_ref() };
        match (view.ports, visit.grant, visit.token) {
            (PortAccess::Public, ..) => Ok(()),
            (_, Some(grant), _) => Ok(self.house.admit(grant, Action::SandboxPort, subject).await?),
            (PortAccess::Token, None, Some(shown)) => {
                let token = self.traffic_token(view).await?;
                let same = token.is_some_and(|token| Sha256::digest(token) == Sha256::digest(shown));
                if same { Ok(()) } else { Err(TurnedAway::TokenWanted) }
            }
            (PortAccess::Token, None, None) => Err(TurnedAway::TokenWanted),
            (PortAccess::Keys, None, _) => Err(TurnedAway::KeyWanted),
        }
    }

    /// Lets a command by that a visitor asks envd for, as its desk's rules want it.
    pub async fn permit_start(&self, id: &SandboxId, codec: Option<Codec>, asked: &[u8]) -> Result<(), Error> {
        let view = SandboxesDesk { house: self.house }.look(id).await?;
        if view.repo.is_none() && view.agent_id.is_none() {
            return Ok(());
        }
        let mut deframer = Deframer::default();
        deframer.push(asked);
        let message = loop {
            match (codec, deframer.next_envelope()) {
                (Some(codec), Ok(Some(Envelope::Message(message)))) => {
                    break codec.decode::<StartRequest>(&message).ok();
                }
                // Passed over there, and so here.
                (Some(_), Ok(Some(Envelope::End(_)))) => {}
                _ => break None,
            }
        };
        // What we do not understand envd does not understand either, and says so.
        let Some(process) = message.and_then(|start| start.process) else { return Ok(()) };
        let variables: Vec<&str> = process.envs.keys().map(|name| name.as_str()).collect();
        let argv = std::iter::once(process.cmd).chain(process.args).collect();
        self.house.permit(&visitor(&view, None), &view, Action::SandboxExec, &Command::Argv(argv), &variables).await
    }

    /// The sandbox that asks for this token, among those that work here.
    pub async fn whose_token(&self, shown: &str) -> Result<Option<SandboxId>, Error> {
        let shown = Sha256::digest(shown);
        self.whose(|token| Sha256::digest(token) == shown).await
    }

    /// The sandbox whose token made this signature, among those that work here.
    pub async fn whose_signature(
        &self,
        path: &str,
        operation: Operation,
        user: &str,
        until: Option<i64>,
        signature: &str,
    ) -> Result<Option<SandboxId>, Error> {
        let shown = Sha256::digest(signature);
        self.whose(|token| Sha256::digest(sign(path, operation, user, token, until)) == shown).await
    }

    async fn whose(&self, fits: impl Fn(&str) -> bool) -> Result<Option<SandboxId>, Error> {
        let filter = Filter { phase: Some(Phase::Ready), ..Filter::default() };
        let (ready, _) = self.house.store.sandboxes().list(&filter, MOST_ASKED).await?;
        for sandbox in ready {
            let Some(post) = self.house.providers.get(&sandbox.spec.provider) else { continue };
            let endpoint = post.provider.endpoint(&sandbox.id).await;
            let token = endpoint.ok().and_then(|endpoint| endpoint.token);
            if token.is_some_and(|token| fits(token.expose_secret())) {
                return Ok(Some(sandbox.id));
            }
        }
        Ok(None)
    }

    /// What visitors of its ports show, when it was made to ask for that. It follows from envd's own token, which it
    /// does not tell, so that nothing has to be kept.
    pub async fn traffic_token(&self, view: &SandboxView) -> Result<Option<String>, Error> {
        if view.ports != PortAccess::Token {
            return Ok(None);
        }
        let post = self.house.post(&view.provider)?;
        let endpoint = post.provider.endpoint(&view.id).await;
        let token = endpoint.ok().and_then(|endpoint| endpoint.token);
        Ok(token.map(|token| {
            let text = format!("the ports of {}: {}", view.id, token.expose_secret());
            Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
        }))
    }
}

/// How a sandbox stands towards visitors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Works,
    Asleep,
    NotReady,
    Ended,
}

fn standing(view: &SandboxView, now: Timestamp) -> Standing {
    let passed = view.expires_at.is_some_and(|end| end <= now);
    match (view.phase, view.want) {
        (Phase::Closing | Phase::Gone | Phase::Failed, _) | (_, Want::Gone) => Standing::Ended,
        _ if passed && !view.auto_pause => Standing::Ended,
        (Phase::Requested | Phase::Preparing, _) => Standing::NotReady,
        (Phase::Ready, Want::Ready) if passed => Standing::Asleep,
        (Phase::Ready, Want::Ready) => Standing::Works,
        (Phase::Ready, Want::Paused) | (Phase::Paused, _) => Standing::Asleep,
    }
}

/// A grant for somebody who only wakes what they visit, in the name of the key that made it.
fn visitor(view: &SandboxView, origin: Option<&str>) -> Grant {
    Grant {
        key: view.created_by.clone(),
        name: "a visitor".into(),
        authority: Authority::Sandbox(view.id.clone()),
        origin: origin.map(str::to_owned),
    }
}
