//! One word for many tasks.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{FieldProblem, Problem, TaskChange, TaskView};
use crate::TaskId;

/// So many tasks are asked something at once.
pub const MOST_AT_ONCE: usize = 200;

/// What is asked of each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BulkVerb {
    /// Let somebody work on it.
    Start,
    /// Stop; what was done stays.
    Stop,
    /// Try again what did not work.
    Retry,
    /// Put its branch onto the newest base.
    Rebase,
    /// Put it into its base.
    Merge,
    /// End it without merging.
    Close,
    /// Say `text` to its agent.
    Message,
    /// Change what is written on it, as `change` says.
    Set,
}

/// Asks the same of several tasks. Each is asked for itself: one that refuses does not keep the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewBulk {
    /// What is asked.
    pub verb: BulkVerb,
    /// Of whom: 1 to 200 tasks. One that is named twice is asked once.
    #[schema(min_items = 1, max_items = 200)]
    pub ids: Vec<TaskId>,
    /// What is said, with `message`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 262_144)]
    pub text: Option<String>,
    /// What is changed, with `set`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<TaskChange>,
}

impl NewBulk {
    /// What is wrong with it as a whole, before anybody is asked.
    pub fn check(&self) -> Result<(), Vec<FieldProblem>> {
        let mut wrong = Vec::new();
        let mut say = |field: &str, detail: String| wrong.push(FieldProblem { field: field.to_owned(), detail });
        if self.ids.is_empty() || self.ids.len() > MOST_AT_ONCE {
            say("ids", format!("1 to {MOST_AT_ONCE} tasks at once, not {}", self.ids.len()));
        }
        match (self.verb, &self.text) {
            (BulkVerb::Message, None) => say("text", "`message` needs something to say".to_owned()),
            (BulkVerb::Message, Some(_)) | (_, None) => {}
            (_, Some(_)) => say("text", "it goes with `message` alone".to_owned()),
        }
        match (self.verb, &self.change) {
            (BulkVerb::Set, None) => say("change", "`set` needs something to change".to_owned()),
            (BulkVerb::Set, Some(_)) | (_, None) => {}
            (_, Some(_)) => say("change", "it goes with `set` alone".to_owned()),
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }
}

/// How it went with one of them: the task as it now is, or why not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BulkAnswer {
    /// Its number.
    pub id: TaskId,
    /// The task, when it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Box<TaskView>>,
    /// Why it was not, when it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Result<(), Vec<String>> {
        let new: NewBulk = serde_json::from_str(text).expect("a body");
        new.check().map_err(|wrong| wrong.into_iter().map(|it| it.field).collect())
    }

    #[test]
    fn what_cannot_be_meant_is_refused_before_anybody_is_asked() {
        assert_eq!(asked(r#"{"verb": "close", "ids": [1, 2]}"#), Ok(()));
        assert_eq!(asked(r#"{"verb": "message", "ids": [1], "text": "go on"}"#), Ok(()));
        assert_eq!(asked(r#"{"verb": "set", "ids": [1], "change": {"priority": 3}}"#), Ok(()));
        assert_eq!(asked(r#"{"verb": "close", "ids": []}"#), Err(vec!["ids".to_owned()]));
        let many = format!(r#"{{"verb": "start", "ids": {:?}}}"#, (1..=201).collect::<Vec<_>>());
        assert_eq!(asked(&many), Err(vec!["ids".to_owned()]));
        assert_eq!(asked(r#"{"verb": "message", "ids": [1]}"#), Err(vec!["text".to_owned()]));
        assert_eq!(asked(r#"{"verb": "set", "ids": [1]}"#), Err(vec!["change".to_owned()]));
        let odd = r#"{"verb": "merge", "ids": [1], "text": "x", "change": {}}"#;
        assert_eq!(asked(odd), Err(vec!["text".to_owned(), "change".to_owned()]));
        assert!(serde_json::from_str::<NewBulk>(r#"{"verb": "explode", "ids": [1]}"#).is_err());
    }
}
