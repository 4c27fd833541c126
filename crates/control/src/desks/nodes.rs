//! The nodes desk: who is this house, and who leaves it.

use std::sync::Arc;

use carrel_model::{
    Action, Grant, NodeId, Subject,
    audit::{AuditLine, Outcome},
    node::{Node, NodeState},
    public::{NodeView, Page, SandboxView},
    sandbox::{Fact, Step},
};
use serde::{Deserialize, Serialize};

use super::sandboxes::SandboxesDesk;
use crate::{Error, Whereabouts, house::House, inside::follower, nodes::say_end};

/// Shows, drains and removes nodes, and says which one something is on.
pub struct NodesDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

/// What signatures between nodes are for.
const PURPOSE: &str = "between nodes";
/// How old a pass may be, in seconds. Nodes share the clock of their database.
const FRESH_S: i64 = 60;

/// What one node says to another of a request that it passes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodePass {
    /// Who passes it on.
    pub from: NodeId,
    /// For whom alone it is.
    pub to: NodeId,
    /// The method and the path, so that it opens no other door.
    pub what: String,
    /// When, in seconds.
    pub at: i64,
    /// Whose request it is, when that was found out.
    pub grant: Option<Grant>,
    /// Where it came from.
    pub origin: Option<String>,
}

impl NodesDesk<'_> {
    /// All nodes, the oldest first.
    pub async fn list(&self, grant: &Grant) -> Result<Page<NodeView>, Error> {
        self.house.admit(grant, Action::NodeRead, Subject::House).await?;
        let (nodes, counts) = (self.house.store.nodes().list().await?, self.house.store.nodes().counts().await?);
        let nodes: Arc<[Node]> = nodes.into();
        // Who is shown here is also counted on here.
        self.house.nodes.learn(Arc::clone(&nodes));
        let (me, now) = (&self.house.settings.node, self.house.store.now());
        let view = |node: &Node| NodeView::of(node, me, counts.get(&node.id).copied().unwrap_or(0), now);
        Ok(Page { items: nodes.iter().map(view).collect(), next: None })
    }

    /// Shows one.
    pub async fn get(&self, grant: &Grant, id: &NodeId) -> Result<NodeView, Error> {
        let page = self.list(grant).await?;
        page.items.into_iter().find(|node| node.id == *id).ok_or_else(|| no_node(id))
    }

    /// Empties a node: nothing new is put on it, and tasks that are on it go on elsewhere; or takes that back.
    pub async fn drain(&self, grant: &Grant, id: &NodeId, on: bool) -> Result<NodeView, Error> {
        self.house.admit(grant, Action::NodeDrive, Subject::House).await?;
        let (by, owned) = (grant.clone(), id.clone());
        let drained = self.house.store.change(move |tx| {
            Box::pin(async move {
                tx.lock_node(&owned).await?.ok_or_else(|| no_node(&owned))?;
                tx.drain_node(&owned, on).await?;
                let line =
                    AuditLine::by(&by, Action::NodeDrive.word(), Some(owned.to_string()), Outcome::Done, tx.now());
                tx.audit(&line.with_detail(if on { "drain" } else { "no drain" })).await?;
                Ok::<_, Error>(())
            })
        });
        drained.await?;
        self.get(grant, id).await
    }

    /// Forgets a node that does not come back. What lived on it is gone with it.
    pub async fn remove(&self, grant: &Grant, id: &NodeId) -> Result<(), Error> {
        self.house.admit(grant, Action::NodeDrive, Subject::House).await?;
        let (by, id, me) = (grant.clone(), id.clone(), self.house.settings.node.clone());
        let removed = self.house.store.change(move |tx| {
            Box::pin(async move {
                let node = tx.lock_node(&id).await?.ok_or_else(|| no_node(&id))?;
                if node.state_at(tx.now()) != NodeState::Away {
                    let why = format!("the node {id} works; drain it and stop it first");
                    return Err(Error::Conflict { why });
                }
                for sandbox in tx.sandboxes_of_node(&id).await? {
                    let Some((mut sandbox, _)) = tx.lock_sandbox(&sandbox).await? else { continue };
                    say_end(&mut sandbox, &format!("Its node {id} was removed."), tx.now());
                    sandbox.phase =
                        sandbox.phase.after(Fact::Began(Step::Destroy))?.after(Fact::Done(Step::Destroy))?;
                    tx.update_sandbox(&mut sandbox, None).await?;
                }
                let execs = tx.adopt_execs(&id, &me).await?;
                tx.remove_node(&id).await?;
                let line = AuditLine::by(&by, Action::NodeDrive.word(), Some(id.to_string()), Outcome::Done, tx.now());
                tx.audit(&line.with_detail("remove")).await?;
                Ok::<_, Error>(execs)
            })
        });
        follower::take_up(self.house, removed.await?).await
    }

    /// Whether there is anybody else: without, nothing is ever elsewhere.
    pub fn is_alone(&self) -> bool {
        !self.house.nodes.has_fellows()
    }

    /// Returns when a node counts as away: whoever waits for its answer need not wait any longer.
    pub async fn until_away(&self, id: &NodeId) {
        let mut round = tokio::time::interval(self.house.settings.patience.lease / 6);
        loop {
            round.tick().await;
            if matches!(self.house.nodes.find(Some(id), self.house.store.now()), Whereabouts::Away(_)) {
                return;
            }
        }
    }

    /// On which node a sandbox is.
    pub async fn of_sandbox(&self, id: &carrel_model::SandboxId) -> Result<Whereabouts, Error> {
        match (SandboxesDesk { house: self.house }).look(id).await {
            Ok(view) => Ok(self.where_is(&view)),
            Err(Error::NotFound { .. }) => Ok(Whereabouts::Here),
            Err(error) => Err(error),
        }
    }

    /// On which node the desk of a task is.
    pub async fn of_task(&self, id: carrel_model::TaskId) -> Result<Whereabouts, Error> {
        match self.house.store.tasks().find(id).await?.and_then(|task| task.sandbox_id) {
            Some(desk) => self.of_sandbox(&desk).await,
            None => Ok(Whereabouts::Here),
        }
    }

    /// On which node the desk of a session is.
    pub async fn of_session(&self, id: &carrel_model::SessionId) -> Result<Whereabouts, Error> {
        match self.house.store.sessions().find(id).await?.and_then(|session| session.sandbox_id) {
            Some(desk) => self.of_sandbox(&desk).await,
            None => Ok(Whereabouts::Here),
        }
    }

    fn where_is(&self, view: &SandboxView) -> Whereabouts {
        if view.phase.is_over() {
            return Whereabouts::Here;
        }
        self.house.nodes.whereabouts(view, self.house.store.now())
    }

    /// What a request carries that is passed on to another node.
    pub fn write_pass(&self, to: &NodeId, what: String, grant: Option<Grant>, origin: Option<String>) -> String {
        let (from, at) = (self.house.settings.node.clone(), self.house.store.now().as_second());
        let pass = NodePass { from, to: to.clone(), what, at, grant, origin };
        let text = serde_json::to_vec(&pass).unwrap_or_default();
        let tag = self.house.settings.keychain.sign(PURPOSE, &text);
        format!("{}.{}", hex::encode(text), hex::encode(tag))
    }

    /// What another node says of a request, if it is one of ours and speaks of this very request, now and to us.
    pub fn read_pass(&self, shown: &str, what: &str) -> Option<NodePass> {
        let (text, tag) = shown.split_once('.')?;
        let (text, tag) = (hex::decode(text).ok()?, hex::decode(tag).ok()?);
        if !self.house.settings.keychain.is_signed(PURPOSE, &text, &tag) {
            return None;
        }
        let pass: NodePass = serde_json::from_slice(&text).ok()?;
        let age = self.house.store.now().as_second() - pass.at;
        let good = pass.to == self.house.settings.node && pass.what == what && age.abs() <= FRESH_S;
        good.then_some(pass)
    }
}

fn no_node(id: &NodeId) -> Error {
    Error::NotFound { what: format!("node {id}") }
}
