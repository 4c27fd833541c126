//! Secrets that the house keeps: credentials it shows to others on somebody's behalf, never to a sandbox.

use jiff::Timestamp;

use crate::{KeyId, RepoName, SecretName};

/// A secret as its row remembers it. Its value is not here: it lies sealed beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// What it is called.
    pub name: SecretName,
    /// The repository it is for; the whole house when there is none.
    pub repo: Option<RepoName>,
    /// When it was first set.
    pub created_at: Timestamp,
    /// When its value was last set.
    pub updated_at: Timestamp,
    /// Who set it.
    pub updated_by: KeyId,
    /// Counts the values it had.
    pub revision: i64,
}

/// Secrets that the house looks for by name, and the variables in which their like is kept elsewhere.
pub const KNOWN: [(&str, Option<&str>); 11] = [
    ("github-token", Some("GITHUB_TOKEN")),
    ("github-app-id", Some("GITHUB_APP_ID")),
    ("github-app-key", Some("GITHUB_APP_PRIVATE_KEY")),
    ("github-host", Some("GH_HOST")),
    ("gitea-token", Some("GITEA_TOKEN")),
    ("gitea-host", None),
    ("git-token", None),
    ("deploy-key", None),
    ("webhook-secret", None),
    ("anthropic-api-key", Some("ANTHROPIC_API_KEY")),
    ("openai-api-key", Some("OPENAI_API_KEY")),
];

impl Secret {
    /// What its value is sealed under: moved to another row, it does not open.
    pub fn seal_name(repo: Option<&RepoName>, name: &SecretName) -> String {
        format!("{}/{name}", repo.map(RepoName::as_str).unwrap_or_default())
    }
}
