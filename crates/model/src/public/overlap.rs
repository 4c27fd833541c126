//! Who else is at the same place: what a task will conflict with, and what others have claimed.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::AreaView;
use crate::{AgentId, TaskId};

/// What stands between a task and the others of its repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OverlapView {
    /// With whom it will conflict, as it was foreseen with the last save, push or move of its base.
    pub conflicts: Vec<OverlapWith>,
    /// Who changes the same files, as far as they merge by themselves.
    #[serde(default)]
    pub shares: Vec<OverlapWith>,
    /// What other tasks have claimed in the same repository.
    pub claims: Vec<AreaView>,
}

/// Somebody with whom a task will conflict, or shares files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OverlapWith {
    /// The other task; nothing for the base itself.
    pub task_id: Option<TaskId>,
    /// What the other one is called; the name of the base when it is the base.
    pub title: String,
    /// Who works on the other one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent: Option<AgentId>,
    /// The paths.
    pub paths: Vec<String>,
}
