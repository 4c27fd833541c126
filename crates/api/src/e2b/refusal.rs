//! How this door says no: `{"code", "message"}`, the code always equal to the status. The SDKs read both.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use carrel_control::Error;
use carrel_model::{SandboxId, public::SandboxView};

use super::Told;
use crate::door::Problem;

/// A refusal on its way out.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: u16,
    message: String,
    error_code: Option<&'static str>,
    retry_after: Option<u64>,
}

impl Refusal {
    pub(super) fn new(status: u16, message: impl Into<String>) -> Self {
        Refusal { status, message: message.into(), error_code: None, retry_after: None }
    }

    /// A word that programs can tell apart.
    pub(super) fn with_code(mut self, code: &'static str) -> Self {
        self.error_code = Some(code);
        self
    }

    pub(super) fn with_retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Refusal::new(400, message)
    }

    pub(super) fn no_sandbox(id: &str) -> Self {
        let shown: String = id.chars().take(64).collect();
        Refusal::new(404, format!("Sandbox {shown} not found"))
    }

    /// A sandbox that ended: the stone says who or what ended it, when and why.
    pub(super) fn ended(view: &SandboxView) -> Self {
        Refusal::new(404, format!("Sandbox {} not found: {}", view.id, tombstone(view)))
    }

    /// What a desk says of one sandbox. Whoever may not see it learns no more than that it is not theirs to find.
    pub(super) fn of_sandbox(id: &SandboxId, error: Error) -> Self {
        match error {
            Error::Denied(_) => Refusal::no_sandbox(id.as_str()),
            error => error.into(),
        }
    }
}

/// What is left to say of a sandbox that ended.
pub(super) fn tombstone(view: &SandboxView) -> String {
    match (&view.ended, &view.note) {
        (Some(ended), _) => format!("it ended at {} by {}. {}", ended.at, ended.by, ended.why),
        (None, Some(note)) => format!("it is {} since {}: {note}", view.phase.word(), view.updated_at),
        (None, None) => match view.expires_at {
            Some(end) => format!("its timeout passed at {end}"),
            None => format!("it ended at {}", view.updated_at),
        },
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::NotFound { .. } => Some(404),
            Error::Conflict { .. } => Some(409),
            Error::Invalid { .. } => Some(400),
            Error::Denied(_) | Error::Refused { .. } => Some(403),
            Error::Spent { .. } => Some(402),
            Error::Limited { .. } | Error::Unavailable { .. } | Error::Inside { .. } | Error::Internal(_) => None,
        };
        match status {
            Some(status) => Refusal::new(status, error.to_string()),
            // These are logged where problems are made.
            None => Problem::from(error).into(),
        }
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Told::from(&problem).into()
    }
}

impl From<Told> for Refusal {
    fn from(told: Told) -> Self {
        let status = if told.status == 422 || told.status == 415 { 400 } else { told.status };
        let error_code = (status == 500).then_some("internal_server_error");
        Refusal { status, message: told.message, error_code, retry_after: told.retry_after }
    }
}

impl Refusal {
    /// What it says.
    pub(super) fn body(&self) -> serde_json::Value {
        let mut body = serde_json::json!({ "code": self.status, "message": self.message });
        if let Some(code) = self.error_code {
            body["error_code"] = code.into();
        }
        body
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, axum::Json(self.body())).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
