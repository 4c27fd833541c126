//! Notices to browsers that nobody looks at: a card needs somebody. By web push, which the browser's own maker carries.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Asks that a browser be told when a card needs somebody. What the browser gave the page, word for word.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSubscription {
    /// Where notices for this browser are posted: an address of its maker, by https.
    #[schema(max_length = 2048)]
    pub endpoint: String,
    /// What they are sealed with, so that nobody on the way reads them.
    pub keys: SubscriptionKeys,
}

/// The keys of one browser's subscription, in URL-safe Base64.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscriptionKeys {
    /// Its public key: 65 bytes.
    pub p256dh: String,
    /// A secret that it shares with us alone: 16 bytes.
    pub auth: String,
}

// Whoever holds these can write to somebody's screen: they are not for logs.
impl std::fmt::Debug for NewSubscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewSubscription").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for SubscriptionKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SubscriptionKeys").finish_non_exhaustive()
    }
}

/// A browser that is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SubscriptionView {
    /// Names it here.
    pub id: String,
    /// Who carries its notices.
    pub service: String,
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

/// How a browser subscribes, and which ones of the asker's did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NoticesView {
    /// The house's public key, in URL-safe Base64: what a browser calls `applicationServerKey`.
    pub public_key: String,
    /// The asker's browsers.
    pub items: Vec<SubscriptionView>,
}
