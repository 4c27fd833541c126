//! Carrying out what nobody needs, as the outside asks for it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::number::Whole;

/// Asks to carry out what nobody needs any more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewPrune {
    /// Records of sandboxes that are gone for at least so many days: 1 to 36500, 30 when left out.
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 36_500)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_than_days: Option<Whole<1, 36_500>>,
    /// Only say what would go.
    #[serde(skip_serializing_if = "super::view::is_false")]
    pub dry_run: bool,
}

/// What was carried out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PrunedView {
    /// Records of sandboxes that were gone.
    pub sandboxes: u64,
    /// Checkouts and old mirrors that nobody stood on; nothing when it was not looked, or somebody was about to.
    pub checkouts: Option<u64>,
    /// It was only looked.
    pub dry_run: bool,
}
