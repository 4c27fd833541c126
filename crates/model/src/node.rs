//! Nodes: the servers that share a database and are one house.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{NodeId, Timestamp};

/// A server of the house, as it last said of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name, for good.
    pub id: NodeId,
    /// What it says of itself.
    pub card: Card,
    /// False when it was stopped in good order.
    pub is_up: bool,
    /// Whether nothing new is to be put on it.
    pub is_draining: bool,
    /// When this life of it began.
    pub started_at: Timestamp,
    /// When it was last heard of.
    pub seen_at: Timestamp,
    /// Until when it counts as alive without being heard of again.
    pub until: Timestamp,
    /// What was on it was taken up by others.
    pub is_taken_over: bool,
}

/// What a node says of itself with every heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Where other nodes reach it.
    pub address: String,
    /// Which Carrel it runs.
    pub version: String,
    /// The print of the master key that it seals with.
    pub seal: String,
    /// Whether it takes lanes in a Redis.
    #[serde(default)]
    pub redis: bool,
    /// Which library it keeps the repositories in; nothing when it can keep none.
    #[serde(default)]
    pub library: Option<String>,
    /// Its processors.
    pub cpus: u32,
    /// Its memory, in MiB.
    pub memory_mb: u64,
    /// How much of that is free.
    pub free_mb: u64,
}

/// How a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeState {
    /// It works.
    Up,
    /// It works, and nothing new is put on it.
    Draining,
    /// It was not heard of for too long.
    Away,
}

impl NodeState {
    /// The word used in JSON and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            NodeState::Up => "up",
            NodeState::Draining => "draining",
            NodeState::Away => "away",
        }
    }
}

impl Node {
    /// Whether it was not heard of for so long that others take up what was on it.
    pub fn is_silent(&self, now: Timestamp) -> bool {
        self.until <= now
    }

    /// How it is at a moment.
    pub fn state_at(&self, now: Timestamp) -> NodeState {
        match self.is_up && !self.is_silent(now) {
            false => NodeState::Away,
            true if self.is_draining => NodeState::Draining,
            true => NodeState::Up,
        }
    }
}

/// How full a node may be before others come first: so much memory must be free.
const ENOUGH_MB: u64 = 256;

/// Where a new sandbox goes: to the node with the fewest per processor, and to the one that was asked where that makes no
/// difference. Nodes that drain, are away or have no memory left come only where there are no others.
pub fn place<'n>(nodes: &'n [Node], asked: &NodeId, now: Timestamp, live: impl Fn(&NodeId) -> u64) -> Option<&'n Node> {
    nodes.iter().filter(|node| node.state_at(now) != NodeState::Away).min_by_key(|node| {
        let is_full = node.card.free_mb < ENOUGH_MB;
        let load = live(&node.id) * 1000 / u64::from(node.card.cpus.max(1));
        (node.is_draining, is_full, load, node.id != *asked, node.id.clone())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u8, cpus: u32, free_mb: u64) -> Node {
        let card = Card {
            address: "http://a".into(),
            version: "0".into(),
            seal: String::new(),
            redis: false,
            library: None,
            cpus,
            memory_mb: 4096,
            free_mb,
        };
        let at = Timestamp::UNIX_EPOCH;
        let until = Timestamp::from_second(100).unwrap();
        let id = NodeId::from_random([number; 8]);
        Node { id, card, is_up: true, is_draining: false, started_at: at, seen_at: at, until, is_taken_over: false }
    }

    #[test]
    fn a_new_sandbox_goes_where_there_is_room() {
        let now = Timestamp::from_second(50).unwrap();
        let (a, b, c) = (node(1, 2, 4096), node(2, 2, 4096), node(3, 8, 4096));
        let ids = [a.id.clone(), b.id.clone(), c.id.clone()];
        let nodes = [a, b, c];
        let place = |nodes: &[Node], asked: usize, counts: [u64; 3]| {
            let live = |id: &NodeId| ids.iter().position(|known| known == id).map_or(0, |at| counts[at]);
            super::place(nodes, &ids[asked], now, live).map(|node| node.id.clone())
        };
        assert_eq!(place(&nodes, 1, [0, 0, 0]), Some(ids[1].clone()), "all alike: here");
        assert_eq!(place(&nodes, 1, [0, 1, 1]), Some(ids[0].clone()), "the emptiest");
        assert_eq!(place(&nodes, 0, [2, 2, 4]), Some(ids[2].clone()), "the fewest per processor");
        let mut worn = nodes.clone();
        worn[0].is_draining = true;
        worn[1].until = now;
        worn[2].card.free_mb = 10;
        assert_eq!(place(&worn, 0, [0, 0, 9]), Some(ids[2].clone()), "better a full one than one that drains");
        worn[2].until = now;
        assert_eq!(place(&worn, 1, [0, 0, 0]), Some(ids[0].clone()), "better one that drains than none");
        worn[0].until = now;
        assert_eq!(place(&worn, 1, [0, 0, 0]), None);
        assert_eq!(worn[0].state_at(now), NodeState::Away);
    }
}
