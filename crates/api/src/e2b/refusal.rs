//! How this door says no: `{"code", "message"}`, the code always equal to the status. The SDKs read both.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use carrel_control::{Error, TooMuch};
use carrel_model::{
    SandboxId,
    public::SandboxView,
    sandbox::{Phase, Want},
};

use super::Told;
use crate::door::Problem;

/// E2B's word for a sandbox that is not there yet.
const UNBORN: &str = "sandbox_start_in_flight";

/// A refusal on its way out.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: u16,
    message: String,
    error_code: Option<&'static str>,
    retry_after: Option<u64>,
    should_retry: Option<bool>,
}

impl Refusal {
    pub(super) fn new(status: u16, message: impl Into<String>) -> Self {
        Refusal { status, message: message.into(), error_code: None, retry_after: None, should_retry: None }
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

    /// Asked again it would be the same: the SDKs leave it at that.
    pub(super) fn for_good(mut self) -> Self {
        self.should_retry = Some(false);
        self
    }

    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Refusal::new(400, message)
    }

    pub(super) fn no_sandbox(id: &str) -> Self {
        let shown: String = id.chars().take(64).collect();
        Refusal::new(404, format!("Sandbox {shown} not found"))
    }

    /// What is wrong with a key, and where E2B's clients look for a right one.
    pub(super) fn of_key(problem: Problem) -> Self {
        if problem.status() != 401 {
            return problem.into();
        }
        let hint = "Set `E2B_API_KEY` to a key of this server, written with `e2b_` instead of `crl_` \
                    (`carrel serve` left one for its user in DATA/admin.key; `carrel key create` makes more).";
        Refusal::new(401, format!("{} {hint}", problem.detail()))
    }

    /// A sandbox that is not there yet.
    pub(super) fn unborn(view: &SandboxView) -> Self {
        let message =
            format!("Sandbox {} is {}: it is not ready yet, ask again in a moment", view.id, view.phase.word());
        Refusal::new(409, message).with_code(UNBORN)
    }

    /// The same for a question to which 409 is an answer of another meaning.
    pub(super) fn not_in_conflict(self) -> Self {
        let status = if self.is_of_unborn() { 503 } else { self.status };
        Refusal { status, ..self }
    }

    /// Whether it is about where the sandbox is just now.
    pub(super) fn is_conflict(&self) -> bool {
        self.status == 409
    }

    pub(super) fn is_not_found(&self) -> bool {
        self.status == 404
    }

    pub(super) fn is_of_unborn(&self) -> bool {
        self.error_code == Some(UNBORN)
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
        (None, None) if view.phase == Phase::Closing || view.want == Want::Gone => {
            format!("it is being ended since {}", view.updated_at)
        }
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
            Error::AskedOtherwise { .. } | Error::Conflict { .. } | Error::TooSoon { .. } => Some(409),
            Error::Invalid { .. } => Some(400),
            Error::Denied(_) | Error::Refused { .. } => Some(403),
            Error::Spent { .. } => Some(402),
            // No time is named: a quota does not pass by itself, and whoever asks tells it from a rate by that.
            Error::Limited { of: TooMuch::Quota, .. } => Some(429),
            Error::Limited { of: TooMuch::Haste, .. }
            | Error::Unavailable { .. }
            | Error::Inside { .. }
            | Error::Internal(_) => None,
        };
        let refusal = |status| Refusal::new(status, error.to_string());
        match status {
            Some(status @ 429) => refusal(status).with_code("quota_exceeded").for_good(),
            Some(status) if matches!(error, Error::AskedOtherwise { .. }) => {
                refusal(status).with_code("idempotency_request_mismatch").for_good()
            }
            Some(status) => refusal(status),
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
        Refusal { status, message: told.message, error_code, retry_after: told.retry_after, should_retry: None }
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
            if status == StatusCode::TOO_MANY_REQUESTS {
                response.headers_mut().insert("ratelimit-remaining", HeaderValue::from(0));
                response.headers_mut().insert("ratelimit-reset", HeaderValue::from(seconds));
            }
        }
        if let Some(worth) = self.should_retry {
            let worth = HeaderValue::from_static(if worth { "true" } else { "false" });
            response.headers_mut().insert("should-retry", worth);
        }
        response
    }
}
