//! Templates, as the outside asks for them and sees them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::NewLimits;
use crate::{
    KeyId, ProviderName, TemplateName,
    template::{Template, TemplatePhase},
};

/// Asks for a template.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTemplate {
    /// Its name. One of that name is replaced; sandboxes that live on the old one are not disturbed.
    pub name: TemplateName,
    /// Where it is made; the usual provider when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderName>,
    /// What it is made from.
    pub from: From,
    /// With `debian`: the suite, such as `bookworm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// With `debian`: packages on top of the smallest system.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<String>,
    /// With `image`: which one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// With `image`: who asks, when the registry wants to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// With `image`: and their password. It is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// With `recipe`: its text. A recipe that copies files comes with them, by `PUT …/content`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<String>,
}

/// What a template is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum From {
    /// The host's own programs, read-only.
    Host,
    /// Debian, from its packages.
    Debian,
    /// An image in a registry.
    Image,
    /// A tarball of an image; it comes by `PUT …/content`.
    Archive,
    /// Steps on top of another template.
    Recipe,
}

/// A template.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TemplateView {
    /// Its name.
    pub name: TemplateName,
    /// The provider that has it.
    pub provider: ProviderName,
    /// How far it is.
    pub phase: TemplatePhase,
    /// What it was asked to be made from. Absent for those that the provider brought along.
    pub source: Option<serde_json::Value>,
    /// What it was made from, as a sentence.
    pub origin: Option<String>,
    /// Bytes of all its layers.
    pub bytes: Option<u64>,
    /// How many layers it has.
    pub layers: Option<u32>,
    /// Whether the memory of its processes was kept too (snapshots alone).
    pub memory: bool,
    /// Why it is where it is, when that needs a sentence.
    pub note: Option<String>,
    /// Who asked for it; nobody asked for those that the provider brought along.
    pub created_by: Option<KeyId>,
    /// When it was asked for.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub updated_at: Option<Timestamp>,
    /// When it was ready.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ready_at: Option<Timestamp>,
    /// It was removed: this entry is the last of it.
    #[serde(default, skip_serializing_if = "super::view::is_false")]
    pub removed: bool,
    /// Counts its changes.
    pub revision: i64,
}

impl TemplateView {
    /// Why it could not be made the last time, whether or not an earlier one is still there.
    pub fn failure(&self) -> Option<&str> {
        match self.phase {
            TemplatePhase::Failed => Some(self.note.as_deref().unwrap_or("it could not be made")),
            TemplatePhase::Ready => self.note.as_deref(),
            TemplatePhase::Requested | TemplatePhase::Building => None,
        }
    }

    /// How much a sandbox on it may use, as far as whoever made it said so.
    pub fn limits(&self) -> NewLimits {
        self.source.as_ref().map(limits_in).unwrap_or_default()
    }
}

/// The limits that a template was asked for with; they stand beside what it is made from.
pub fn limits_in(source: &serde_json::Value) -> NewLimits {
    source.get("limits").and_then(|limits| serde_json::from_value(limits.clone()).ok()).unwrap_or_default()
}

impl std::convert::From<&Template> for TemplateView {
    fn from(template: &Template) -> Self {
        TemplateView {
            name: template.name.clone(),
            provider: template.provider.clone(),
            phase: template.phase,
            source: Some(template.source.clone()),
            origin: template.origin.clone(),
            bytes: template.bytes,
            layers: template.layers,
            memory: template.memory,
            note: template.note.clone(),
            created_by: Some(template.created_by.clone()),
            created_at: Some(template.created_at),
            updated_at: Some(template.updated_at),
            ready_at: template.ready_at,
            removed: false,
            revision: template.revision,
        }
    }
}
