//! What is asked of a model: read whole, so that it can be asked again, and changed only where counting needs it.

use axum::{body::to_bytes, extract::Request, http::Method};
use bytes::Bytes;
use serde::Deserialize;

use super::{
    allowed::{Allowed, Kind},
    refusal::Refusal,
};
use crate::door::about_json;

/// The largest question. Providers take no more either.
const LARGEST: usize = 32 * 1024 * 1024;

/// A question on its way.
pub(super) struct Question {
    method: Method,
    kind: Kind,
    body: Bytes,
    model: String,
    /// Whether the count was asked for by us alone: then the client is not shown it.
    hides_usage: bool,
}

/// What we need to know of it. Whatever else it says is between the client and the model.
#[derive(Debug, Deserialize)]
struct Said {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<serde_json::Map<String, serde_json::Value>>,
    #[serde(default)]
    background: Option<bool>,
}

impl Question {
    pub(super) async fn read(allowed: Allowed, request: Request) -> Result<Question, Refusal> {
        let (method, kind) = (request.method().clone(), allowed.kind());
        if method == Method::GET {
            return Ok(Question { method, kind, body: Bytes::new(), model: String::new(), hides_usage: false });
        }
        let body = to_bytes(request.into_body(), LARGEST).await.map_err(|error| {
            let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
            while let Some(error) = cause {
                if error.to_string().contains("length limit exceeded") {
                    return Refusal::new(413, format!("the question is larger than {LARGEST} bytes"));
                }
                cause = error.source();
            }
            Refusal::new(400, "the question broke off".into())
        })?;
        Question::understand(method, kind, body)
    }

    fn understand(method: Method, kind: Kind, body: Bytes) -> Result<Question, Refusal> {
        // Left to itself serde also takes a list for an object, field by field.
        if body.trim_ascii_start().first() != Some(&b'{') {
            return Err(Refusal::new(400, "the question is not a JSON object".into()));
        }
        let said: Said = serde_json::from_slice(&body)
            .map_err(|error| Refusal::new(400, format!("the question is not understood: {}", about_json(&error))))?;
        if said.background == Some(true) {
            let sentence = "a response in the background cannot be counted; ask without `background`".to_owned();
            return Err(Refusal::new(400, sentence));
        }
        let model = said.model.unwrap_or_default();
        let (mut body, mut hides_usage) = (body, false);
        if kind == Kind::Chat && said.stream == Some(true) {
            let counts = said.stream_options.as_ref().and_then(|options| options.get("include_usage"));
            if counts != Some(&serde_json::Value::Bool(true)) {
                body = with_count(&body, said.stream_options.is_some())
                    .ok_or_else(|| Refusal::new(400, "the question is not an object".into()))?;
                hides_usage = true;
            }
        }
        Ok(Question { method, kind, body, model, hides_usage })
    }

    pub(super) fn method(&self) -> &Method {
        &self.method
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    pub(super) fn body(&self) -> &Bytes {
        &self.body
    }

    /// The model that is asked for.
    pub(super) fn model(&self) -> &str {
        &self.model
    }

    /// Whether the client did not ask for the count that comes at the end of a stream.
    pub(super) fn hides_usage(&self) -> bool {
        self.hides_usage
    }
}

/// Asks for the count as well. Where nothing is said about it, not another byte is changed.
fn with_count(body: &[u8], says_something: bool) -> Option<Bytes> {
    if says_something {
        let mut question: serde_json::Value = serde_json::from_slice(body).ok()?;
        question.get_mut("stream_options")?.as_object_mut()?.insert("include_usage".into(), true.into());
        return serde_json::to_vec(&question).ok().map(Bytes::from);
    }
    // `stream_options: null` says nothing, and must not be said twice.
    let mut question: serde_json::Map<String, serde_json::Value>;
    if contains(body, b"\"stream_options\"") {
        question = serde_json::from_slice(body).ok()?;
        question.insert("stream_options".into(), serde_json::json!({"include_usage": true}));
        return serde_json::to_vec(&question).ok().map(Bytes::from);
    }
    let place = body.iter().position(|byte| *byte == b'{')? + 1;
    let addition: &[u8] = b"\"stream_options\":{\"include_usage\":true},";
    Some(Bytes::from([&body[..place], addition, &body[place..]].concat()))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn understand(kind: Kind, body: &str) -> Question {
        Question::understand(Method::POST, kind, Bytes::copy_from_slice(body.as_bytes())).ok().unwrap()
    }

    #[test]
    fn the_count_is_asked_for_where_it_is_missing_and_nothing_else_changes() {
        let question = understand(Kind::Chat, r#" { "model":"m", "stream":true, "x":1.10 }"#);
        assert!(question.hides_usage());
        let expected = r#" {"stream_options":{"include_usage":true}, "model":"m", "stream":true, "x":1.10 }"#;
        assert_eq!(question.body(), expected);
        for said in ["null", "{}", r#"{"include_usage":false}"#] {
            let body = format!(r#"{{"model":"m","stream":true,"stream_options":{said}}}"#);
            let question = understand(Kind::Chat, &body);
            let sent: serde_json::Value = serde_json::from_slice(question.body()).unwrap();
            assert!(question.hides_usage() && sent["stream_options"]["include_usage"] == true, "{said}");
        }
    }

    #[test]
    fn whatever_counts_by_itself_is_left_alone() {
        let counted = r#"{"model":"m","stream":true,"stream_options":{"include_usage":true}}"#;
        for (kind, body) in [
            (Kind::Chat, counted),
            (Kind::Chat, r#"{"model":"m"}"#),
            (Kind::Messages, r#"{"model":"m","stream":true}"#),
            (Kind::Responses, r#"{"model":"m","stream":true}"#),
        ] {
            let question = understand(kind, body);
            assert!(!question.hides_usage() && question.body() == body, "{body}");
        }
    }

    #[test]
    fn what_cannot_be_counted_is_refused() {
        for body in ["", "[]", "hello", r#"{"model":1}"#, r#"{"model":"a","model":"b"}"#, r#"{"background":true}"#] {
            let body = Bytes::copy_from_slice(body.as_bytes());
            assert!(Question::understand(Method::POST, Kind::Responses, body).is_err());
        }
    }
}
