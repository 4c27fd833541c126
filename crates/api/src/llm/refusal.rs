//! How this door says no: in the words of the API that was asked, so that agents show the sentence to somebody.

use axum::{
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use carrel_control::Dialect;
use serde_json::json;

use crate::door::Problem;

/// A refusal of ours.
#[derive(Debug)]
pub(super) struct Refusal {
    status: u16,
    sentence: String,
    retry_after: Option<u64>,
}

impl Refusal {
    pub(super) fn new(status: u16, sentence: String) -> Refusal {
        Refusal { status, sentence, retry_after: None }
    }

    pub(super) fn status(&self) -> u16 {
        self.status
    }

    pub(super) fn in_words_of(self, dialect: Dialect) -> Response {
        let (anthropic, openai) = match self.status {
            401 => ("authentication_error", "invalid_api_key"),
            402 => ("billing_error", "insufficient_quota"),
            403 => ("permission_error", "permission_denied"),
            404 => ("not_found_error", "not_found"),
            413 => ("request_too_large", "request_too_large"),
            429 => ("rate_limit_error", "rate_limit_exceeded"),
            400..=499 => ("invalid_request_error", "invalid_request_error"),
            _ => ("api_error", "server_error"),
        };
        let message = format!("Carrel: {}", self.sentence);
        let body = match dialect {
            Dialect::Anthropic => json!({"type": "error", "error": {"type": anthropic, "message": message}}),
            Dialect::Openai => {
                let kind = if self.status == 402 { openai } else { anthropic };
                json!({"error": {"message": message, "type": kind, "param": null, "code": openai}})
            }
        };
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, axum::Json(body)).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        } else if self.status < 500 {
            // Both makers' libraries ask again by themselves unless they are told.
            headers.insert(HeaderName::from_static("x-should-retry"), HeaderValue::from_static("false"));
        }
        response
    }
}

impl<E: Into<Problem>> From<E> for Refusal {
    fn from(problem: E) -> Refusal {
        let (status, sentence, retry_after) = problem.into().told();
        // A conflict is something that libraries try again, and that passes by itself. A missing key does not.
        let status = if status == 409 { 403 } else { status };
        Refusal { status, sentence, retry_after }
    }
}
