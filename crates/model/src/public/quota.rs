//! Quotas, as the outside sees them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A quota, and how much of it is used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QuotaView {
    /// What kind of thing it is a quota of.
    pub of: QuotaOf,
    /// Which one: the name of a key or of a repository.
    pub name: String,
    /// What is counted.
    pub what: QuotaWhat,
    /// How much there is.
    pub used: f64,
    /// How much there may be.
    pub most: f64,
}

/// Whose quota it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuotaOf {
    /// Of whoever holds a key.
    Member,
    /// Of a repository.
    Repo,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuotaWhat {
    /// Sandboxes that live, besides the desks of tasks.
    Sandboxes,
    /// Tasks that are not merged or closed.
    Tasks,
    /// Dollars since midnight, in UTC.
    UsdToday,
    /// MiB on the disk of the server.
    DiskMb,
}

impl QuotaOf {
    /// The word used in JSON and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            QuotaOf::Member => "member",
            QuotaOf::Repo => "repo",
        }
    }
}

impl QuotaWhat {
    /// The word used in JSON and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            QuotaWhat::Sandboxes => "sandboxes",
            QuotaWhat::Tasks => "tasks",
            QuotaWhat::UsdToday => "usd_today",
            QuotaWhat::DiskMb => "disk_mb",
        }
    }
}
