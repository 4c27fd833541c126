//! Volumes: folders that outlive sandboxes, and that many sandboxes may have at once.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::{KeyId, NodeId, ProviderName, VolumeId, VolumeName};

/// A volume, as its row remembers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// Its name, for good.
    pub id: VolumeId,
    /// What people call it: one of a kind.
    pub name: VolumeName,
    /// Whose sandboxes it can be mounted in.
    pub provider: ProviderName,
    /// The node it lies on.
    pub home: NodeId,
    /// It is on its way out.
    pub removed: bool,
    /// Who made it.
    pub created_by: KeyId,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A secret that is put into headers of requests on their way out. Its value lies sealed beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboundSecret {
    /// Its id.
    pub id: String,
    /// What people call it: one of a kind.
    pub name: String,
    /// What its owner wrote on it.
    pub metadata: BTreeMap<String, String>,
    /// Counts its values.
    pub version: i64,
    /// When it was first set.
    pub created_at: Timestamp,
    /// When its value was last set.
    pub updated_at: Timestamp,
}
