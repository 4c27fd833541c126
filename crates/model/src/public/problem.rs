//! How a refusal reads: RFC 9457, with a hint.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Why a request was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// A stable name of this kind of problem, such as `/problems/not-found`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What kind of problem it is, in a few words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened this time, as a sentence.
    pub detail: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hint: Option<String>,
    /// The fields that were not accepted.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub errors: Vec<FieldProblem>,
    /// Finds this request in the log.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub request_id: Option<String>,
}

/// Why a field was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldProblem {
    /// The field, with dots for depth: `limits.cpus`.
    pub field: String,
    /// What is wrong and what is allowed, as a sentence.
    pub detail: String,
}
