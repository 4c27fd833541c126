//! Server-sent events for what is not the journal: output, logs, progress.

use std::{convert::Infallible, future::Future, time::Duration};

use axum::{
    body::Body,
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::stream;
use serde::Serialize;

/// A silent connection says this often that it is alive.
const PING: Duration = Duration::from_secs(15);

/// Whether the client wants events.
pub(crate) fn wants_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|kind| kind.split(';').next().unwrap_or_default().trim() == "text/event-stream")
}

/// One event.
pub(crate) fn frame(event: &str, id: Option<i64>, data: &impl Serialize) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    let json = serde_json::to_string(data).unwrap_or_default();
    Bytes::from(format!("{id}event: {event}\ndata: {json}\n\n"))
}

/// What makes frames, one after the other.
pub(crate) trait EventFrames: Send + Sized + 'static {
    /// The next frames; nothing when it is over. May be called off and called again.
    fn next(&mut self) -> impl Future<Output = Option<Bytes>> + Send;

    /// The answer that carries them.
    fn answer(self) -> Response {
        let frames = stream::unfold(self, |mut frames| async {
            let frame = match tokio::time::timeout(PING, frames.next()).await {
                Ok(frame) => frame?,
                Err(_) => Bytes::from_static(b": ping\n\n"),
            };
            Some((Ok::<_, Infallible>(frame), frames))
        });
        let about = [
            (header::CONTENT_TYPE, "text/event-stream"),
            (header::CACHE_CONTROL, "no-store"),
            (header::HeaderName::from_static("x-accel-buffering"), "no"),
        ];
        (about, Body::from_stream(frames)).into_response()
    }
}
