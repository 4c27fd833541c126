//! How a door says no: a status, a sentence, a hint. Never a stack trace, never a secret.

use std::any::Any;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use carrel_control::Error;
use carrel_model::public::{self, FieldProblem};

/// A refusal on its way out.
#[derive(Debug)]
pub(crate) struct Problem {
    body: Box<public::Problem>,
    retry_after: Option<u64>,
}

impl Problem {
    pub(crate) fn new(status: u16, kind: &str, title: &str, detail: impl Into<String>) -> Self {
        let body = public::Problem {
            kind: format!("/problems/{kind}"),
            title: title.to_owned(),
            status,
            detail: sentence(detail.into()),
            hint: None,
            errors: Vec::new(),
            request_id: super::around::request_id(),
        };
        Self { body: Box::new(body), retry_after: None }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.body.hint = Some(sentence(hint.into()));
        self
    }

    pub(crate) fn with_errors(mut self, errors: Vec<FieldProblem>) -> Self {
        self.body.errors = errors;
        self
    }

    pub(crate) fn with_retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds.max(1));
        self
    }

    pub(crate) fn malformed(detail: impl Into<String>) -> Self {
        Problem::new(400, "malformed", "Malformed request", detail)
    }

    pub(crate) fn unauthorized(detail: impl Into<String>) -> Self {
        Problem::new(401, "unauthorized", "Not signed in", detail)
            .with_hint("send `Authorization: Bearer KEY`; `carrel serve` left a key for its user in DATA/admin.key")
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Problem::new(404, "not-found", "Not found", detail)
    }

    pub(crate) fn field(field: &str, detail: impl Into<String>) -> Self {
        Problem::invalid(vec![FieldProblem { field: field.to_owned(), detail: detail.into() }])
    }

    pub(crate) fn invalid(errors: Vec<FieldProblem>) -> Self {
        let complaints: Vec<_> = errors.iter().map(|error| format!("`{}`: {}", error.field, error.detail)).collect();
        let mut problem = Problem::new(422, "invalid", "Invalid value", complaints.join("; "));
        problem.body.errors = errors;
        problem
    }

    pub(crate) fn too_many(seconds: u64, detail: impl Into<String>) -> Self {
        Problem::new(429, "too-many-requests", "Too many requests", detail).with_retry_after(seconds)
    }

    /// A panic is a bug report: it is logged here, and the caller learns only that it happened.
    pub(crate) fn from_panic(panic: Box<dyn Any + Send + 'static>) -> Response {
        let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        tracing::error!(panic = said.unwrap_or("?"), request_id = super::around::request_id(), "a handler panicked");
        Problem::broken().into_response()
    }

    /// Its status and its sentences, for a door that says no in other words.
    pub(crate) fn told(&self) -> (u16, String, Option<u64>) {
        let hint = self.body.hint.as_deref().map(|hint| format!(" {hint}")).unwrap_or_default();
        (self.body.status, format!("{}{hint}", self.body.detail), self.retry_after)
    }

    /// Its status.
    pub(crate) fn status(&self) -> u16 {
        self.body.status
    }

    /// Itself, as a part of an answer that is not a refusal as a whole.
    pub(crate) fn body(self) -> public::Problem {
        *self.body
    }

    /// Its sentence, without the hint.
    pub(crate) fn detail(&self) -> &str {
        &self.body.detail
    }

    /// A fault of ours that was told elsewhere.
    pub(crate) fn internal() -> Self {
        Problem::broken()
    }

    /// In plain words, for programs that show them to a person as they are.
    pub(crate) fn spoken(self) -> Response {
        let words = match &self.body.hint {
            Some(hint) => format!("{}\n{hint}\n", self.body.detail),
            None => format!("{}\n", self.body.detail),
        };
        let mut response = self.into_response();
        *response.body_mut() = words.into();
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, plain);
        response.headers_mut().remove(header::CONTENT_LENGTH);
        response
    }

    fn broken() -> Self {
        Problem::new(500, "internal", "Internal error", "something in the house is broken; the log says more")
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let detail = error.to_string();
        match error {
            Error::NotFound { .. } => Problem::not_found(detail),
            Error::AskedOtherwise { .. } | Error::Conflict { .. } => {
                Problem::new(409, "conflict", "Wrong state", detail)
            }
            Error::TooSoon { hint, .. } => Problem::new(409, "conflict", "Wrong state", detail).with_hint(hint),
            Error::Invalid { fields } => Problem::invalid(fields),
            Error::Denied(_) => Problem::new(403, "denied", "Not allowed", detail)
                .with_hint("an admin can mint a key that may: `carrel key create`"),
            Error::Refused { hint, .. } => Problem::new(403, "refused", "Not allowed here", detail).with_hint(hint),
            Error::Limited { retry_after, .. } => Problem::too_many(retry_after.as_secs().unsigned_abs(), detail),
            Error::Spent { .. } => Problem::new(402, "spent", "Budget spent", detail),
            Error::Unavailable { ref source, .. } => {
                tracing::warn!(
                    error = source.as_ref().map(|source| source as &dyn std::error::Error),
                    detail,
                    "unavailable"
                );
                Problem::new(503, "unavailable", "Not available", detail).with_retry_after(1)
            }
            Error::Inside { .. } => Problem::new(502, "inside", "Nobody answers inside", detail),
            Error::Internal(source) => {
                let source: &dyn std::error::Error = &*source;
                tracing::error!(
                    error = source,
                    request_id = super::around::request_id(),
                    "a request failed by our fault"
                );
                Problem::broken()
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.body.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self.body).unwrap_or_default();
        let mut response = (status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response();
        response.extensions_mut().insert(crate::e2b::Told::from(&self));
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Begins with a capital and ends with a full stop.
fn sentence(text: String) -> String {
    let mut letters = text.chars();
    let mut text: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}
