//! What a change comes to, file by file.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A file of a diff, without its lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiffFileView {
    /// Where it is, or was when it is removed.
    pub path: String,
    /// Where it was, when it was moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// What became of it.
    pub status: FileStatus,
    /// How many lines came.
    pub additions: u64,
    /// How many lines went.
    pub deletions: u64,
    /// Whether it is no text: then nobody counts its lines.
    pub binary: bool,
    /// What it was, as git names it; nothing when it is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_id: Option<String>,
    /// What it is, as git names it; nothing when it is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_id: Option<String>,
    /// What kind of file it was, such as `100644`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_mode: Option<String>,
    /// What kind of file it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_mode: Option<String>,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    /// It was not there before.
    Added,
    /// It is another one.
    Modified,
    /// It is not there any more.
    Removed,
    /// It was moved, and may be another one too.
    Renamed,
}
