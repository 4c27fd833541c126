//! How results are shown.

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use carrel_control::{TaskWaited, Waited as WaitEnded};
use serde::Serialize;

/// Something new, with its address.
pub(crate) struct Created<T> {
    pub(crate) place: String,
    pub(crate) body: T,
    /// The request was repeated: nothing new was made.
    pub(crate) repeated: bool,
    pub(crate) waited: Waited,
}

/// How a wait on the caller's behalf ended, as a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// Nobody asked to wait.
    NotAsked,
    Reached,
    Never,
    NotYet,
}

impl From<&WaitEnded> for Waited {
    fn from(ended: &WaitEnded) -> Self {
        match ended {
            WaitEnded::Reached(_) => Waited::Reached,
            WaitEnded::Never(_) => Waited::Never,
            WaitEnded::NotYet(_) => Waited::NotYet,
        }
    }
}

impl From<&TaskWaited> for Waited {
    fn from(ended: &TaskWaited) -> Self {
        match ended {
            TaskWaited::Reached(_) => Waited::Reached,
            TaskWaited::Never(_) => Waited::Never,
            TaskWaited::NotYet(_) => Waited::NotYet,
        }
    }
}

impl Waited {
    /// Of two waits the one that ended worse.
    pub(crate) fn worse(self, other: Waited) -> Waited {
        match (self, other) {
            (Waited::Never, _) | (_, Waited::Never) => Waited::Never,
            (Waited::NotYet, _) | (_, Waited::NotYet) => Waited::NotYet,
            (Waited::Reached, _) | (_, Waited::Reached) => Waited::Reached,
            (Waited::NotAsked, Waited::NotAsked) => Waited::NotAsked,
        }
    }

    pub(crate) fn headers(self) -> HeaderMap {
        let word = match self {
            Waited::NotAsked => return HeaderMap::new(),
            Waited::Reached => "reached",
            Waited::Never => "never",
            Waited::NotYet => "not-yet",
        };
        HeaderMap::from_iter([(HeaderName::from_static("carrel-waited"), HeaderValue::from_static(word))])
    }
}

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        let mut headers = self.waited.headers();
        if let Ok(place) = HeaderValue::from_str(&self.place) {
            headers.insert(header::LOCATION, place);
        }
        if self.repeated {
            headers.insert(HeaderName::from_static("idempotency-replayed"), HeaderValue::from_static("true"));
        }
        (StatusCode::CREATED, headers, axum::Json(self.body)).into_response()
    }
}
