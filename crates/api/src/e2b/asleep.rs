//! Answers from inside that break off when their sandbox is put to sleep.
//!
//! Whoever reads them would wait for as long as it sleeps. E2B's clients ask what became of it when a line breaks, and
//! say so to their user.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// A body that is broken off by a bell.
pub(super) struct UntilAsleep {
    body: Body,
    asleep: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl UntilAsleep {
    pub(super) fn new(body: Body, asleep: CancellationToken) -> Self {
        UntilAsleep { body, asleep: Box::pin(asleep.cancelled_owned()) }
    }
}

impl hyper::body::Body for UntilAsleep {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // What has come is told first.
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            return Poll::Ready(frame);
        }
        let broken =
            || axum::Error::new(io::Error::new(io::ErrorKind::ConnectionAborted, "the sandbox was put to sleep"));
        self.asleep.as_mut().poll(cx).map(|()| Some(Err(broken())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
