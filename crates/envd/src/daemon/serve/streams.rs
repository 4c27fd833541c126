//! Answers that stream: envelopes as things happen, a sign of life in silence, and an end that says how it was.

use std::{future::pending, io, time::Duration};

use bytes::Bytes;
use futures::{Stream, stream};
use http::{HeaderValue, Response, header};
use serde_json::json;

use super::super::{
    body::{Answer, Body},
    filesystem::Watch,
    process::{Heard, Hearing, started},
    timer::Timer,
};
use crate::wire::{
    Code, Codec, END_STREAM, Empty, Fault, Message,
    filesystem::WatchDirResponse,
    frame, frame_json,
    process::{EventResponse, ProcessEvent},
};

/// The silence after which a sign of life is sent when the caller does not say.
const SILENCE: Duration = Duration::from_secs(90);

/// Follows a process.
pub(super) fn process(codec: Codec, hearing: Hearing, ping: Option<u64>, limit: Option<Duration>) -> Answer {
    let first = frame(codec, &started(&hearing));
    respond(codec, envelopes(codec, first, Source::Process(hearing), ping, limit))
}

/// Follows a watched folder.
pub(super) fn watch(codec: Codec, watch: Watch, ping: Option<u64>, limit: Option<Duration>) -> Answer {
    let first = frame(codec, &WatchDirResponse { start: Some(Empty {}), ..Default::default() });
    respond(codec, envelopes(codec, first, Source::Watch(Box::new(watch)), ping, limit))
}

/// A stream of one message.
pub(super) fn once(codec: Codec, message: &impl Message) -> Answer {
    let all = [frame(codec, message), end(None)].concat();
    respond_whole(codec, all.into())
}

/// A stream that failed before it began: status 200 all the same, for some clients read nothing else.
pub(super) fn failed(codec: Codec, fault: &Fault) -> Answer {
    respond_whole(codec, end(Some(fault)))
}

fn end(fault: Option<&Fault>) -> Bytes {
    match fault {
        None => frame_json(END_STREAM, &json!({})),
        Some(fault) => frame_json(END_STREAM, &json!({ "error": fault })),
    }
}

fn respond(codec: Codec, content: impl Stream<Item = io::Result<Bytes>> + Send + 'static) -> Answer {
    with_kind(codec, Body::stream(content, None))
}

fn respond_whole(codec: Codec, bytes: Bytes) -> Answer {
    with_kind(codec, Body::Whole(Some(bytes)))
}

fn with_kind(codec: Codec, body: Body) -> Answer {
    let kind = match codec {
        Codec::Json => "application/connect+json",
        Codec::Proto => "application/connect+proto",
    };
    let mut answer = Response::new(body);
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

enum Source {
    Process(Hearing),
    Watch(Box<Watch>),
}

struct Envelopes {
    codec: Codec,
    source: Source,
    silence: Duration,
    keepalive: Option<Timer>,
    limit: Option<Timer>,
}

fn envelopes(
    codec: Codec,
    first: Bytes,
    source: Source,
    ping: Option<u64>,
    limit: Option<Duration>,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let silence = ping.filter(|ping| *ping > 0).map_or(SILENCE, Duration::from_secs);
    // Without a descriptor for it there is no limit and no sign of life, but there is the stream.
    let limit = limit.and_then(|limit| Timer::after(limit).ok());
    let envelopes = Envelopes { codec, source, silence, keepalive: None, limit };
    let rest = stream::unfold(Some(envelopes), |envelopes| async move {
        let mut envelopes = envelopes?;
        let (bytes, last) = envelopes.next().await;
        Some((Ok(bytes), Some(envelopes).filter(|_| !last)))
    });
    futures::StreamExt::chain(stream::once(std::future::ready(Ok(first))), rest)
}

impl Envelopes {
    /// The next bytes, and whether they are the last.
    async fn next(&mut self) -> (Bytes, bool) {
        match &self.keepalive {
            Some(timer) => drop(timer.again(self.silence)),
            None => self.keepalive = Timer::after(self.silence).ok(),
        }
        let codec = self.codec;
        let heard = tokio::select! {
            biased;
            heard = self.source.next(codec) => heard,
            () = rings(&self.limit) => {
                Err(Fault::new(Code::DeadlineExceeded, "the time of the request is over"))
            }
            () = rings(&self.keepalive) => Ok((self.source.sign_of_life(codec), false)),
        };
        match heard {
            Ok((bytes, false)) => (bytes, false),
            Ok((bytes, true)) => ([bytes, end(None)].concat().into(), true),
            Err(fault) => (end(Some(&fault)), true),
        }
    }
}

impl Source {
    async fn next(&mut self, codec: Codec) -> Result<(Bytes, bool), Fault> {
        match self {
            Source::Process(hearing) => {
                let (event, last) = match hearing.next().await? {
                    Heard::Data(data) => (ProcessEvent { data: Some(data), ..Default::default() }, false),
                    Heard::End(end) => (ProcessEvent { end: Some(end), ..Default::default() }, true),
                };
                Ok((frame(codec, &EventResponse { event: Some(event) }), last))
            }
            Source::Watch(watch) => {
                let events = watch.next().await?;
                let frames = events
                    .into_iter()
                    .map(|event| frame(codec, &WatchDirResponse { filesystem: Some(event), ..Default::default() }));
                Ok((frames.collect::<Vec<_>>().concat().into(), false))
            }
        }
    }

    fn sign_of_life(&self, codec: Codec) -> Bytes {
        match self {
            Source::Process(_) => {
                let event = ProcessEvent { keepalive: Some(Empty {}), ..Default::default() };
                frame(codec, &EventResponse { event: Some(event) })
            }
            Source::Watch(_) => frame(codec, &WatchDirResponse { keepalive: Some(Empty {}), ..Default::default() }),
        }
    }
}

async fn rings(timer: &Option<Timer>) {
    match timer {
        Some(timer) => timer.rang().await,
        None => pending().await,
    }
}
