//! What is asked: bodies, parameters and names, each checked by its type, each refusal a sentence that names the field.

use std::{fmt::Display, str::FromStr};

use axum::{
    body::to_bytes,
    extract::{FromRequest, FromRequestParts, Path, Request},
    http::{header, request::Parts},
};
use carrel_control::Idempotency;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, DeserializeOwned, IgnoredAny},
};

use super::{Problem, objects::Objects, wording::plain};
use crate::house::{Doors, LARGEST_BODY};

/// A JSON body.
pub(crate) struct Json<T>(pub(crate) T);

/// A JSON body that may be left out.
pub(crate) struct OptionalJson<T>(pub(crate) T);

/// How many items of a list are asked for.
pub(crate) type Limit = carrel_control::Limit;

/// The parameters after the question mark.
pub(crate) struct Query<T>(pub(crate) T);

/// A name in the path. One that cannot exist is not found.
pub(crate) struct Name<T>(pub(crate) T);

/// Two names in the path.
pub(crate) struct Names<A, B>(pub(crate) A, pub(crate) B);

/// A body as it is, of modest size.
pub(crate) struct Raw(pub(crate) bytes::Bytes);

/// The name under which a request may be repeated.
pub(crate) struct AskedOnce(Option<String>);

impl<T: DeserializeOwned> FromRequest<Doors> for Json<T> {
    type Rejection = Problem;
    async fn from_request(request: Request, _: &Doors) -> Result<Self, Problem> {
        expect_json(&request)?;
        Ok(Json(read_json(&read_body(request).await?)?))
    }
}

impl<T: DeserializeOwned + Default> FromRequest<Doors> for OptionalJson<T> {
    type Rejection = Problem;
    async fn from_request(request: Request, _: &Doors) -> Result<Self, Problem> {
        let is_json = expect_json(&request);
        let body = read_body(request).await?;
        if body.is_empty() {
            return Ok(OptionalJson(T::default()));
        }
        is_json?;
        Ok(OptionalJson(read_json(&body)?))
    }
}

fn expect_json(request: &Request) -> Result<(), Problem> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("nothing");
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json")) {
        return Ok(());
    }
    let shown: String = kind.chars().take(100).collect();
    Err(Problem::new(
        415,
        "unsupported-media-type",
        "Wrong content type",
        format!("the body is {shown}, expected JSON"),
    )
    .with_hint("send `Content-Type: application/json`"))
}

async fn read_body(request: Request) -> Result<bytes::Bytes, Problem> {
    let too_large = || {
        Problem::new(413, "too-large", "Too large", format!("the body is larger than {LARGEST_BODY} bytes"))
            .with_hint("files are uploaded with PUT, not inside JSON")
    };
    let told = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if told.is_some_and(|length| length > LARGEST_BODY as u64) {
        return Err(too_large());
    }
    to_bytes(request.into_body(), LARGEST_BODY).await.map_err(|error| {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
        while let Some(error) = cause {
            if error.to_string().contains("length limit exceeded") {
                return too_large();
            }
            cause = error.source();
        }
        Problem::malformed("the body broke off")
    })
}

/// Reads a JSON object. A complaint names the field.
pub(crate) fn read_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let not_json =
        |error: serde_json::Error| Problem::malformed(format!("the body is not JSON: {}", plain(&error.to_string())));
    // Left to itself serde also takes a list for an object, field by field.
    if body.trim_ascii_start().first() != Some(&b'{') {
        let json: Result<IgnoredAny, _> = serde_json::from_slice(body);
        return Err(json.map_or_else(not_json, |_| Problem::field("body", "expected a JSON object")));
    }
    let mut reader = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(Objects(&mut reader)).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        match error.classify() {
            serde_json::error::Category::Data => complain(&path, &without_place(&error.to_string())),
            _ => not_json(error),
        }
    })?;
    reader.end().map_err(|error| Problem::malformed(format!("there is more after the JSON: {error}")))?;
    Ok(value)
}

/// A line and a column help nobody once the field is named.
fn without_place(text: &str) -> String {
    text.rsplit_once(" at line ").map_or(text, |(text, _)| text).to_owned()
}

/// A complaint about the field itself. Serde names a missing or unknown field in its text, not in its path.
fn complain(path: &str, said: &str) -> Problem {
    let named = ["unknown field `", "missing field `", "duplicate field `"]
        .iter()
        .find_map(|lead| said.strip_prefix(lead)?.split('`').next());
    let parent = path.trim_matches('.');
    let parent = if parent == "?" { "" } else { parent };
    let field = match named {
        Some(name) if parent == name || parent.ends_with(&format!(".{name}")) => parent.to_owned(),
        Some(name) if parent.is_empty() => name.to_owned(),
        Some(name) => format!("{parent}.{name}"),
        None if parent.is_empty() => "body".to_owned(),
        None => parent.to_owned(),
    };
    Problem::field(&shortened(&field, 100), shortened(&plain(said), 1000))
}

/// The beginning and the end, where serde says what it found and what it expected.
fn shortened(text: &str, most: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= most {
        return text.to_owned();
    }
    let (beginning, end) = (&letters[..most / 4], &letters[letters.len() - most / 2..]);
    beginning.iter().chain(&[' ', '…', ' ']).chain(end).collect()
}

impl<T: DeserializeOwned> FromRequestParts<Doors> for Query<T> {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, _: &Doors) -> Result<Self, Problem> {
        read_query(parts.uri.query().unwrap_or_default()).map(Query)
    }
}

/// Reads the parameters after the question mark. A complaint names the one.
pub(crate) fn read_query<T: DeserializeOwned>(query: &str) -> Result<T, Problem> {
    // Left to itself the decoder puts a sign for what it cannot read, and so names something else.
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if !is_utf8(name) || !is_utf8(value) {
            let name = form_pairs(name).next().map(|(name, _)| shortened(&name, 100)).unwrap_or_default();
            return Err(Problem::field(&name, "expected text in UTF-8"));
        }
    }
    let pairs = serde_urlencoded::Deserializer::new(form_pairs(query));
    serde_path_to_error::deserialize(pairs).map_err(|error| {
        let path = error.path().to_string();
        complain(&path, &error.into_inner().to_string())
    })
}

/// Reads a parameter by its own rule, so that a refusal says what is allowed.
pub(crate) fn from_text<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    String::deserialize(deserializer)?.parse().map(Some).map_err(de::Error::custom)
}

/// Whether a piece of a query is UTF-8 when it is decoded.
fn is_utf8(encoded: &str) -> bool {
    let hex = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let (encoded, mut plain, mut at) = (encoded.as_bytes(), Vec::new(), 0);
    while let Some(byte) = encoded.get(at) {
        match (byte, hex(encoded.get(at + 1)), hex(encoded.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                plain.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                plain.push(*byte);
                at += 1;
            }
        }
    }
    std::str::from_utf8(&plain).is_ok()
}

fn form_pairs(query: &str) -> form_urlencoded::Parse<'_> {
    form_urlencoded::parse(query.as_bytes())
}

impl<T> FromRequestParts<Doors> for Name<T>
where
    T: TryFrom<String, Error = carrel_model::Malformed>,
{
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, doors: &Doors) -> Result<Self, Problem> {
        let Path(text) = Path::<String>::from_request_parts(parts, doors)
            .await
            .map_err(|_| Problem::malformed("the path is not UTF-8"))?;
        named(text).map(Name)
    }
}

impl<A, B> FromRequestParts<Doors> for Names<A, B>
where
    A: TryFrom<String, Error = carrel_model::Malformed>,
    B: TryFrom<String, Error = carrel_model::Malformed>,
{
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, doors: &Doors) -> Result<Self, Problem> {
        let Path((first, second)) = Path::<(String, String)>::from_request_parts(parts, doors)
            .await
            .map_err(|_| Problem::malformed("the path is not UTF-8"))?;
        Ok(Names(named(first)?, named(second)?))
    }
}

impl FromRequest<Doors> for Raw {
    type Rejection = Problem;
    async fn from_request(request: Request, _: &Doors) -> Result<Self, Problem> {
        read_body(request).await.map(Raw)
    }
}

fn named<T: TryFrom<String, Error = carrel_model::Malformed>>(text: String) -> Result<T, Problem> {
    let shown: String = text.chars().take(100).collect();
    T::try_from(text)
        .map_err(|malformed| Problem::not_found(format!("there is nothing called `{shown}`")).with_hint(malformed.rule))
}

impl FromRequestParts<Doors> for AskedOnce {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, _: &Doors) -> Result<Self, Problem> {
        let Some(value) = parts.headers.get("idempotency-key") else { return Ok(AskedOnce(None)) };
        match value.to_str() {
            Ok(key) if (1..=255).contains(&key.len()) => Ok(AskedOnce(Some(key.to_owned()))),
            _ => Err(Problem::field("Idempotency-Key", "expected 1 to 255 visible ASCII characters")),
        }
    }
}

impl AskedOnce {
    /// The name of the request, where it has one.
    pub(crate) fn key(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Together with what is asked: the same name for another request is a mistake.
    pub(crate) fn of(self, what: &str, body: &impl Serialize) -> Option<Idempotency> {
        let AskedOnce(key) = self;
        let request = format!("{what} {}", serde_json::to_string(body).unwrap_or_default());
        key.map(|key| Idempotency { key, request })
    }
}
