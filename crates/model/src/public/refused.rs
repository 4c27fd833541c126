//! Whom a sandbox was not let through to.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A host that a sandbox asked for and was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RefusedHost {
    /// Its name or address, as it was asked for.
    pub host: String,
    /// The port; null when only the name was asked for.
    pub port: Option<u16>,
    /// Why, in a sentence.
    pub why: String,
    /// How often, since the server began or since it was forgotten.
    pub times: u64,
    /// When it was asked for last.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}
