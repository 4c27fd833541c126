//! Hears a client out that was refused while it still spoke.
//!
//! A line that is closed while the other side writes is reset, and with it goes the answer that says why. What is left
//! of a body that nobody wants is therefore read and thrown away, up to a bound in bytes and time.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, HttpBody},
    extract::Request,
};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Frame, SizeHint};

/// Whoever still sends after this much is cut off.
const LARGEST_REST: usize = 64 * 1024 * 1024;
/// And after this long.
const LONGEST_REST: Duration = Duration::from_secs(10);

/// The body of every request, heard out when it is dropped before its end.
pub(crate) async fn hear_out(request: Request) -> Request {
    if request.body().is_end_stream() {
        return request;
    }
    request.map(|body| Body::new(Lingering(Some(body))))
}

struct Lingering(Option<Body>);

impl HttpBody for Lingering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(body) = &mut self.0 else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(context);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.0 = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        let unread = self.0.take().filter(|body| !body.is_end_stream());
        if let (Some(body), Ok(runtime)) = (unread, tokio::runtime::Handle::try_current()) {
            runtime.spawn(tokio::time::timeout(LONGEST_REST, throw_away(body)));
        }
    }
}

async fn throw_away(mut body: Body) {
    let mut rest = LARGEST_REST;
    while let Some(Ok(frame)) = body.frame().await {
        let Some(left) = rest.checked_sub(frame.data_ref().map_or(0, Bytes::len)) else { return };
        rest = left;
    }
}
