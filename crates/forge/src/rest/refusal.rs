//! What a refusal means for the caller.

use http::{HeaderMap, StatusCode};
use serde::Deserialize;

use crate::ForgeError;

/// What a forge said when it refused.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) message: String,
}

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    message: String,
    #[serde(default)]
    errors: Vec<serde_json::Value>,
}

impl Said {
    /// Reads the sentence, and the details beside it, from the body of a refusal.
    pub(super) fn from(body: &[u8]) -> Said {
        let Ok(body) = serde_json::from_slice::<Body>(body) else { return Said::default() };
        let details = body.errors.iter().filter_map(detail);
        let message = std::iter::once(body.message).chain(details).filter(|part| !part.is_empty());
        Said { message: cut(message.collect::<Vec<_>>().join(": ")) }
    }
}

/// GitHub names what is wrong as a sentence, or as a field and a code.
fn detail(error: &serde_json::Value) -> Option<String> {
    let text = |name: &str| error.get(name).and_then(|value| value.as_str());
    match (error.as_str(), text("message")) {
        (Some(sentence), _) | (None, Some(sentence)) => Some(sentence.to_owned()),
        (None, None) => Some(format!("{} {}", text("field")?, text("code")?)),
    }
}

/// A forge's words go into our sentences, but not without measure.
fn cut(text: String) -> String {
    text.chars().filter(|c| !c.is_control()).take(500).collect()
}

/// What the caller can do about it.
pub(super) fn error(status: StatusCode, headers: &HeaderMap, said: &Said, host: &str) -> ForgeError {
    let told = |otherwise: &str| if said.message.is_empty() { otherwise.to_owned() } else { said.message.clone() };
    match status {
        StatusCode::UNAUTHORIZED => ForgeError::Denied {
            why: format!("{host} does not accept the credential: {}", told("it may have expired or been revoked")),
            missing: vec![],
        },
        StatusCode::FORBIDDEN | StatusCode::UNAVAILABLE_FOR_LEGAL_REASONS => ForgeError::Denied {
            why: format!("{host} does not allow it: {}", told("no reason was given")),
            missing: missing(headers),
        },
        StatusCode::NOT_FOUND | StatusCode::GONE => {
            ForgeError::not_found(format!("what was asked for at {host} (or the credential does not reach it)"))
        }
        StatusCode::METHOD_NOT_ALLOWED | StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED => {
            ForgeError::conflict(format!("{host}: {}", told("its state does not allow it")))
        }
        StatusCode::LOCKED => ForgeError::conflict(format!("{host}: {}", told("it is locked"))),
        status if status.is_redirection() => {
            ForgeError::invalid(format!("{host} sends us to another server; correct the address"))
        }
        status if status.is_client_error() => ForgeError::invalid(format!("{host}: {}", told(status.as_str()))),
        status => ForgeError::unavailable(format!("{host} answers {status}")),
    }
}

/// The permissions that GitHub says would have been enough, such as `pull_requests=write`.
fn missing(headers: &HeaderMap) -> Vec<String> {
    let accepted = headers.get("x-accepted-github-permissions").and_then(|value| value.to_str().ok());
    accepted
        .map(|list| list.split([';', ',']).map(|one| one.trim().to_owned()).filter(|one| !one.is_empty()).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_the_caller_can_do() {
        let said = Said::from(
            br#"{"message":"Validation Failed","errors":[{"resource":"PullRequest","code":"custom","message":"No commits between main and x"},{"field":"base","code":"invalid"}]}"#,
        );
        assert_eq!(said.message, "Validation Failed: No commits between main and x: base invalid");
        let of = |status: u16, headers: HeaderMap| {
            error(StatusCode::from_u16(status).unwrap(), &headers, &said, "x.example")
        };
        assert!(matches!(of(404, HeaderMap::new()), ForgeError::NotFound { .. }));
        assert!(matches!(of(405, HeaderMap::new()), ForgeError::Conflict { .. }));
        assert!(matches!(of(409, HeaderMap::new()), ForgeError::Conflict { .. }));
        assert!(matches!(of(422, HeaderMap::new()), ForgeError::Invalid { .. }));
        assert!(matches!(of(500, HeaderMap::new()), ForgeError::Unavailable { .. }));
        assert!(matches!(of(401, HeaderMap::new()), ForgeError::Denied { .. }));
        let headers: HeaderMap = [(
            "x-accepted-github-permissions".parse::<http::HeaderName>().unwrap(),
            "pull_requests=write; contents=read".parse().unwrap(),
        )]
        .into_iter()
        .collect();
        let ForgeError::Denied { missing, .. } = of(403, headers) else { panic!() };
        assert_eq!(missing, ["pull_requests=write", "contents=read"]);
    }

    #[test]
    fn a_body_that_is_no_json_is_no_reason_to_fail() {
        assert_eq!(Said::from(b"<html>Bad gateway</html>").message, "");
        assert!(Said::from(format!(r#"{{"message":"{}"}}"#, "x".repeat(10_000)).as_bytes()).message.len() <= 500);
    }
}
