//! What answers are made of.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::{Stream, stream::BoxStream};
use http::{HeaderValue, Response, StatusCode, header};
use http_body::{Frame, SizeHint};
use serde::Serialize;

/// The body of an answer: all at once, or as it comes.
pub(super) enum Body {
    Whole(Option<Bytes>),
    Stream { content: BoxStream<'static, io::Result<Bytes>>, size: Option<u64> },
}

impl Body {
    pub(super) fn empty() -> Body {
        Body::Whole(None)
    }

    pub(super) fn stream(content: impl Stream<Item = io::Result<Bytes>> + Send + 'static, size: Option<u64>) -> Body {
        Body::Stream { content: Box::pin(content), size }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            Body::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Body::Stream { content, .. } => content.as_mut().poll_next(cx).map_ok(Frame::data),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Body::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Body::Stream { size: Some(size), .. } => SizeHint::with_exact(*size),
            Body::Stream { size: None, .. } => SizeHint::default(),
        }
    }
}

/// An answer of envd.
pub(super) type Answer = Response<Body>;

/// An answer without a body.
pub(super) fn status(status: StatusCode) -> Answer {
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = status;
    answer
}

/// An answer with these bytes.
pub(super) fn bytes(status: StatusCode, kind: &'static str, bytes: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Body::Whole(Some(bytes.into()).filter(|bytes| !bytes.is_empty())));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

/// An answer in JSON.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    bytes(status, "application/json", serde_json::to_vec(value).unwrap_or_default())
}

/// A refusal of the plain HTTP plane.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Refusal {
        Refusal { status, message: message.into() }
    }

    /// What a failed call to the filesystem means to the caller.
    pub(super) fn of_io(error: &io::Error, path: &std::path::Path) -> Refusal {
        use io::ErrorKind as Kind;
        let path = path.display();
        match error.kind() {
            Kind::NotFound => Refusal::new(StatusCode::NOT_FOUND, format!("path '{path}' does not exist")),
            Kind::IsADirectory => Refusal::new(StatusCode::BAD_REQUEST, format!("path '{path}' is a directory")),
            // A file that grows beyond what the whole disk may have is refused by its size.
            Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => {
                Refusal::new(StatusCode::INSUFFICIENT_STORAGE, format!("no space left for '{path}'"))
            }
            Kind::NotADirectory | Kind::InvalidInput | Kind::InvalidFilename => {
                Refusal::new(StatusCode::BAD_REQUEST, format!("path '{path}': {error}"))
            }
            Kind::PermissionDenied | Kind::ReadOnlyFilesystem => {
                Refusal::new(StatusCode::FORBIDDEN, format!("path '{path}': {error}"))
            }
            _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
                Refusal::new(StatusCode::BAD_REQUEST, format!("path '{path}': {error}"))
            }
            _ => Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, format!("path '{path}': {error}")),
        }
    }

    pub(super) fn answer(&self) -> Answer {
        json(self.status, &serde_json::json!({"code": self.status.as_u16(), "message": self.message}))
    }
}

impl From<crate::wire::Fault> for Refusal {
    fn from(fault: crate::wire::Fault) -> Refusal {
        let status = StatusCode::from_u16(fault.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Refusal { status, message: fault.message }
    }
}
