//! Nodes, as people see them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    NodeId, Timestamp,
    node::{Node, NodeState},
};

/// A server of the house.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NodeView {
    /// Its name, for good.
    pub id: NodeId,
    /// How it is.
    pub state: NodeState,
    /// Whether it is the one that gives this answer.
    pub answers: bool,
    /// Where other nodes reach it.
    pub address: String,
    /// Which Carrel it runs.
    pub version: String,
    /// Its processors.
    pub cpus: u32,
    /// Its memory, in MiB.
    pub memory_mb: u64,
    /// How much of that was free when it was last heard of.
    pub free_mb: u64,
    /// How many sandboxes live on it, paused ones too.
    pub sandboxes: u64,
    /// When this life of it began.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// When it was last heard of.
    #[schema(value_type = String, format = DateTime)]
    pub seen_at: Timestamp,
}

impl NodeView {
    /// A node as the one of this name sees it.
    pub fn of(node: &Node, me: &NodeId, sandboxes: u64, now: Timestamp) -> NodeView {
        NodeView {
            id: node.id.clone(),
            state: node.state_at(now),
            answers: node.id == *me,
            address: node.card.address.clone(),
            version: node.card.version.clone(),
            cpus: node.card.cpus,
            memory_mb: node.card.memory_mb,
            free_mb: node.card.free_mb,
            sandboxes,
            started_at: node.started_at,
            seen_at: node.seen_at,
        }
    }
}

/// Whether a node is to be emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDrain {
    /// False takes it back.
    #[serde(default = "yes")]
    pub on: bool,
}

fn yes() -> bool {
    true
}
