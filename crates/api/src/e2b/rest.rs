//! The rest of a body that nobody wants any more.
//!
//! Whoever answers before the question is over (a full disk, a wrong token) lets go of the body. Hung up on there, many
//! clients see a broken pipe and never read the answer. So the rest is read and thrown away, for a while.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use futures::StreamExt;
use hyper::body::{Body as _, Frame, SizeHint};

/// How long what nobody wants is listened to.
const PATIENCE: Duration = Duration::from_secs(20);

/// A body whose rest is read to its end when it is dropped.
pub(super) struct ReadToTheEnd(Option<Body>);

impl ReadToTheEnd {
    pub(super) fn new(body: Body) -> Self {
        ReadToTheEnd(Some(body))
    }
}

impl hyper::body::Body for ReadToTheEnd {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(body) = &mut self.0 else { return Poll::Ready(None) };
        let frame = Pin::new(body).poll_frame(cx);
        if matches!(frame, Poll::Ready(None | Some(Err(_)))) {
            self.0 = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(|body| body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or_else(|| SizeHint::with_exact(0), |body| body.size_hint())
    }
}

impl Drop for ReadToTheEnd {
    fn drop(&mut self) {
        let Some(body) = self.0.take().filter(|body| !body.is_end_stream()) else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            let mut rest = body.into_data_stream();
            let _ = tokio::time::timeout(PATIENCE, async { while let Some(Ok(_)) = rest.next().await {} }).await;
        });
    }
}
