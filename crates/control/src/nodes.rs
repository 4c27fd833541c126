//! The nodes of a house: each says again and again that it is there, and takes up what was on one that fell silent.
//!
//! There is no head among them. Who is there, and until when, stands in the database; whoever finds a node silent for longer
//! than its lease ends the desks of tasks that were on it, and their tasks go on elsewhere from the last save. Sandboxes that
//! are on no node stay as they are: what runs in them is listened to by whoever took the silent node over. Should it only have
//! slept, it finds its desks ended when it wakes, and its hands empty: what it held is held by others, under newer
//! tokens.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use carrel_model::{
    NodeId, SandboxId, Timestamp,
    node::{Card, Node, NodeState},
    public::SandboxView,
    sandbox::{Ended, Sandbox, Want},
};
use carrel_store::Claimed;
use tokio::time::Instant;

use crate::{Error, Settings, house::House, inside::follower};

/// Who ended what was on a node that fell silent.
pub(crate) const NODE: &str = "node";
/// So many desks are ended in one go.
const MANY: u32 = 500;

/// The nodes as this one knows them.
pub(crate) struct Nodes {
    me: NodeId,
    started_at: Timestamp,
    known: RwLock<Arc<[Node]>>,
    /// When others last heard of us.
    heard: RwLock<Instant>,
    /// Since when others hear of us without a pause that would be too long.
    steady: RwLock<Timestamp>,
    lease: Duration,
}

/// Where something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whereabouts {
    /// On this node, or on none in particular.
    Here,
    /// On another node that works.
    There(Box<Node>),
    /// On a node that was not heard of for too long.
    Away(NodeId),
}

impl Nodes {
    pub(crate) fn new(settings: &Settings, started_at: Timestamp) -> Nodes {
        Nodes {
            me: settings.node.clone(),
            started_at,
            known: RwLock::new(Arc::new([])),
            heard: RwLock::new(Instant::now()),
            steady: RwLock::new(started_at),
            lease: settings.patience.lease,
        }
    }

    pub(crate) fn known(&self) -> Arc<[Node]> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes note of what the database says of the nodes.
    pub(crate) fn learn(&self, known: Arc<[Node]>) {
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
    }

    /// Whether there is anybody else, or was until a moment ago.
    pub(crate) fn has_fellows(&self) -> bool {
        self.known().iter().any(|node| node.id != self.me && !node.is_taken_over)
    }

    /// Whether this node is to be emptied.
    pub(crate) fn is_draining(&self) -> bool {
        self.known().iter().any(|node| node.id == self.me && node.is_draining)
    }

    /// Whether another node takes what this one lets go of.
    pub(crate) fn has_room_elsewhere(&self) -> bool {
        // Whether it still is there shows when it is asked: this is as of the last look.
        self.known().iter().any(|node| node.id != self.me && !node.is_draining && !node.is_taken_over)
    }

    /// Which tasks this node takes up: one that is to be emptied leaves those that stand nowhere to the others.
    pub(crate) fn claims(&self) -> Claimed {
        match self.is_draining() && self.has_room_elsewhere() {
            true => Claimed::Here,
            false => Claimed::HereOrAnywhere,
        }
    }

    /// Refuses to act for a house whose other nodes count us for dead: what we hold may be in their hands.
    pub(crate) fn still_here(&self) -> Result<(), Error> {
        let silent = self.heard.read().unwrap_or_else(PoisonError::into_inner).elapsed();
        if silent < self.lease || !self.has_fellows() {
            return Ok(());
        }
        let why = format!("this node was not heard of for {} s and its work may be in other hands", silent.as_secs());
        Err(Error::Unavailable { why, source: None })
    }

    /// Where a sandbox is.
    pub(crate) fn whereabouts(&self, sandbox: &SandboxView, now: Timestamp) -> Whereabouts {
        self.find(sandbox.node.as_ref(), now)
    }

    pub(crate) fn find(&self, home: Option<&NodeId>, now: Timestamp) -> Whereabouts {
        let Some(home) = home.filter(|home| **home != self.me) else { return Whereabouts::Here };
        match self.known().iter().find(|node| node.id == *home) {
            Some(node) if node.state_at(now) != NodeState::Away => Whereabouts::There(Box::new(node.clone())),
            _ => Whereabouts::Away(home.clone()),
        }
    }
}

impl House {
    /// Where a new sandbox is to live. Where there is one node alone, nobody is asked.
    pub(crate) async fn place(&self) -> Result<NodeId, Error> {
        let me = &self.settings.node;
        if !self.nodes.has_fellows() {
            return Ok(me.clone());
        }
        let live = self.store.nodes().working().await?;
        let known = self.nodes.known();
        let placed = carrel_model::node::place(&known, me, self.store.now(), |id| live.get(id).copied().unwrap_or(0));
        Ok(placed.map_or_else(|| me.clone(), |node| node.id.clone()))
    }
}

/// Says that we are here, for the first time in this life. Whoever cannot open the secrets of the others, or has other
/// repositories than they have, is refused.
pub(crate) async fn join(house: &Arc<House>) -> Result<(), Error> {
    let (now, ours) = (house.store.now(), house.settings.keychain.prints());
    for node in house.store.nodes().list().await? {
        let is_fellow = node.id != house.settings.node && node.state_at(now) != NodeState::Away;
        if is_fellow && !ours.iter().any(|print| print.as_str() == node.card.seal) {
            let why = format!(
                "the node {} at {} has another master key; give this one the same (`master.key`, or CARREL_MASTER_KEY)",
                node.id, node.card.address
            );
            return Err(Error::Conflict { why });
        }
        if is_fellow && node.card.redis != house.store.redis().is_some() {
            let theirs = if node.card.redis { "takes its lanes in a Redis" } else { "has no Redis" };
            let why =
                format!("the node {} at {} {theirs}; give all nodes the same --redis", node.id, node.card.address);
            return Err(Error::Conflict { why });
        }
        let (theirs, ours) = (node.card.library.as_deref(), house.library.id());
        if is_fellow && theirs.is_some() && ours.is_some() && theirs != ours {
            let why = format!(
                "the node {} at {} keeps the repositories in another library; give all nodes the same --library, and look \
                 whether it is mounted here",
                node.id, node.card.address
            );
            return Err(Error::Conflict { why });
        }
        if node.id == house.settings.node && theirs.is_some() && ours.is_some() && theirs != ours {
            tracing::warn!("the library is another one than this node had before it was last stopped");
        }
    }
    beat(house).await
}

/// Says that nothing is to be asked of us any more.
pub(crate) async fn leave(house: &House) {
    if let Err(error) = house.store.nodes().leave(&house.settings.node).await {
        tracing::debug!(error = &error as &dyn std::error::Error, "the others find out by themselves that we left");
    }
}

/// Beats until the house closes, and looks after the others.
pub(crate) async fn walk(house: Arc<House>) {
    let mut round = tokio::time::interval(house.settings.patience.lease / 3);
    round.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut moving_out = false;
    loop {
        round.tick().await;
        // No longer than the next one is away: whoever waits for a database that was away is late when it is back.
        match tokio::time::timeout(house.settings.patience.lease / 3, beat(&house)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the heartbeat of this node failed; trying again"
                );
                continue;
            }
            Err(_) => {
                tracing::warn!("the heartbeat of this node took too long; trying again");
                continue;
            }
        }
        if let Err(error) = take_over(&house).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "a node fell silent and was not taken over yet");
        }
        let drains = house.nodes.is_draining();
        if drains && !moving_out {
            tracing::info!("this node drains: what is on it moves to the others");
        }
        moving_out = drains;
        if drains && let Err(error) = Box::pin(move_out(&house)).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "not everything has moved out yet");
        }
    }
}

async fn beat(house: &Arc<House>) -> Result<(), Error> {
    let nodes = &house.nodes;
    let began = Instant::now();
    let until = house.keeper.lease_end(house.store.now());
    house.store.nodes().beat(&nodes.me, &card(house), nodes.started_at, until).await?;
    let known: Arc<[Node]> = house.store.nodes().list().await?.into();
    let now = house.store.now();
    // From when we asked: the answer may have taken its time.
    let before = std::mem::replace(&mut *nodes.heard.write().unwrap_or_else(PoisonError::into_inner), began);
    if began.duration_since(before) >= nodes.lease {
        // The others get twice as long as anybody may be silent: who waits for a database asks it ever more rarely.
        *nodes.steady.write().unwrap_or_else(PoisonError::into_inner) = until;
    }
    for state in [NodeState::Up, NodeState::Draining, NodeState::Away] {
        let count = known.iter().filter(|node| node.state_at(now) == state).count();
        metrics::gauge!("carrel_nodes", "state" => state.word()).set(count as f64);
    }
    nodes.learn(known);
    Ok(())
}

/// What this node says of itself.
fn card(house: &House) -> Card {
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let mb = |name: &str| {
        let line = memory.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
    };
    Card {
        address: house.settings.address.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        seal: house.settings.keychain.current().as_str().to_owned(),
        redis: house.store.redis().is_some(),
        library: house.library.id().map(str::to_owned),
        cpus: std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
        memory_mb: mb("MemTotal"),
        free_mb: mb("MemAvailable"),
    }
}

/// Takes up what was on nodes that fell silent. One of all nodes does, once for each silence.
///
/// Not at once after our own start, nor after a silence of our own: when a whole house comes back, or the database does,
/// its nodes are not heard of in the same moment.
async fn take_over(house: &Arc<House>) -> Result<(), Error> {
    let now = house.store.now();
    let steady = *house.nodes.steady.read().unwrap_or_else(PoisonError::into_inner);
    if now < house.keeper.lease_end(steady) {
        return Ok(());
    }
    let silent = |node: &&Node| node.id != house.settings.node && node.is_silent(now);
    for node in house.nodes.known().iter().filter(silent).filter(|node| !node.is_taken_over) {
        let desks = house.store.nodes().desks(&node.id, MANY).await?;
        let (id, all) = (node.id.clone(), desks.len() < MANY as usize);
        let me = house.settings.node.clone();
        let taken = house.store.change(move |tx| {
            Box::pin(async move {
                // It may be back, or somebody else was quicker.
                let Some(node) = tx.lock_node(&id).await? else { return Ok(None) };
                if node.is_taken_over || !node.is_silent(tx.now()) {
                    return Ok(None);
                }
                let mut ended = 0;
                for (desk, _) in desks {
                    let why = format!("Its node {} was not heard of since {}.", node.id, node.seen_at);
                    ended += usize::from(end(tx, &desk, &why).await?);
                }
                if all {
                    tx.take_node_over(&id).await?;
                }
                // What runs where no node is needed goes on, and somebody must listen.
                Ok::<_, Error>(Some((ended, tx.adopt_execs(&id, &me).await?)))
            })
        });
        let Some((desks, execs)) = taken.await? else { continue };
        tracing::warn!(
            node = %node.id, since = %node.seen_at, desks, execs = execs.len(),
            "a node fell silent; its tasks go on elsewhere"
        );
        follower::take_up(house, execs).await?;
        metrics::counter!("carrel_nodes_taken_over_total").increment(1);
    }
    Ok(())
}

/// Ends a sandbox whose node does not answer. That node carries it out when it is back.
async fn end(tx: &mut carrel_store::Tx, id: &SandboxId, why: &str) -> Result<bool, Error> {
    let Some((mut sandbox, _)) = tx.lock_sandbox(id).await? else { return Ok(false) };
    if sandbox.want == Want::Gone || sandbox.phase.is_over() {
        return Ok(false);
    }
    say_end(&mut sandbox, why, tx.now());
    // Without a lease: whoever held it holds nothing any more.
    tx.update_sandbox(&mut sandbox, None).await?;
    Ok(true)
}

pub(crate) fn say_end(sandbox: &mut Sandbox, why: &str, now: Timestamp) {
    sandbox.want = Want::Gone;
    sandbox.ended = Some(Ended { by: NODE.into(), why: why.into(), at: now });
}

/// Lets the desks of tasks that nobody works at go elsewhere: they are saved and ended here, and made anew where there is
/// room when somebody needs them. Those that are worked at follow when their turn is over.
async fn move_out(house: &Arc<House>) -> Result<(), Error> {
    if !house.nodes.has_room_elsewhere() {
        return Ok(());
    }
    for (id, phase) in house.store.nodes().desks(&house.settings.node, MANY).await? {
        if !phase.is_busy() {
            Box::pin(leave_desk(house, &id)).await?;
        }
    }
    Ok(())
}

/// Saves what is at a desk and ends it, so that it is made anew elsewhere.
pub(crate) async fn leave_desk(house: &Arc<House>, id: &SandboxId) -> Result<(), Error> {
    let sandbox = house.store.sandboxes().find(id).await?.ok_or_else(|| Error::no_sandbox(id))?;
    let grant = crate::tasks::desk::grant_of(&sandbox.created_by);
    tracing::info!(sandbox = %id, "a desk moves to another node");
    match Box::pin((crate::SandboxesDesk { house }).remove(&grant, id)).await {
        Ok(_) | Err(Error::NotFound { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
