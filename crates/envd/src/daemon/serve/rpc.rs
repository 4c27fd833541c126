//! The Connect protocol: which method a request means, in which codec, one answer or a stream of them.

use bytes::{Bytes, BytesMut};
use http::{StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::{
    super::{
        body::{Answer, Refusal, bytes, json},
        filesystem, process,
    },
    Asked, streams,
};
use crate::wire::{
    Code, Codec, Deframer, Empty, Envelope, Fault, Message, filesystem as files_wire,
    process::{self as process_wire, StreamInputRequest},
};

/// A unary message may be this large.
const LARGEST: usize = 64 << 20;

pub(super) fn is_method(path: &str) -> bool {
    path.starts_with("/process.Process/") || path.starts_with("/filesystem.Filesystem/")
}

pub(super) async fn answer(asked: Asked) -> Answer {
    let (codec, streaming) =
        match asked.header(header::CONTENT_TYPE).map(|kind| kind.split(';').next().unwrap_or(kind).trim()) {
            Some("application/json") => (Codec::Json, false),
            Some("application/proto") => (Codec::Proto, false),
            Some("application/connect+json") => (Codec::Json, true),
            Some("application/connect+proto") => (Codec::Proto, true),
            other => {
                let message = format!("content type {} is not understood", other.unwrap_or("(none)"));
                return Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message).answer();
            }
        };
    if streaming { stream(asked, codec).await } else { unary(asked, codec).await }
}

async fn unary(mut asked: Asked, codec: Codec) -> Answer {
    let user = asked.basic_user();
    let guest = asked.guest.clone();
    let path = asked.request.uri().path().to_owned();
    let body = match whole(&mut asked).await {
        Ok(body) => body,
        Err(fault) => return refuse(&fault),
    };
    let user = user.as_deref();
    let (service, method) = path.trim_start_matches('/').split_once('/').unwrap_or_default();
    match (service, method) {
        (process_wire::SERVICE, "List") => one(codec, &body, |_: Empty| Ok(process::list(&guest))),
        (process_wire::SERVICE, "Update") => one(codec, &body, |request| process::update(&guest, &request)),
        (process_wire::SERVICE, "SendSignal") => one(codec, &body, |request| process::send_signal(&guest, &request)),
        (process_wire::SERVICE, "SendInput") => match codec.decode(&body) {
            Ok(request) => say(codec, process::send_input(&guest, request).await),
            Err(fault) => refuse(&fault),
        },
        (process_wire::SERVICE, "CloseStdin") => match codec.decode(&body) {
            Ok(request) => say(codec, process::close_stdin(&guest, &request).await),
            Err(fault) => refuse(&fault),
        },
        (files_wire::SERVICE, "Stat") => one(codec, &body, |request| filesystem::stat(&guest, user, request)),
        (files_wire::SERVICE, "MakeDir") => one(codec, &body, |request| filesystem::make_dir(&guest, user, request)),
        (files_wire::SERVICE, "Move") => match codec.decode(&body) {
            Ok(request) => say(codec, filesystem::rename(&guest, user, request).await),
            Err(fault) => refuse(&fault),
        },
        (files_wire::SERVICE, "ListDir") => match codec.decode(&body) {
            Ok(request) => say(codec, filesystem::list(&guest, user, request).await),
            Err(fault) => refuse(&fault),
        },
        (files_wire::SERVICE, "Remove") => match codec.decode(&body) {
            Ok(request) => say(codec, filesystem::remove(&guest, user, request).await),
            Err(fault) => refuse(&fault),
        },
        (files_wire::SERVICE, "CreateWatcher") => {
            one(codec, &body, |request| filesystem::create_watcher(&guest, user, request))
        }
        (files_wire::SERVICE, "GetWatcherEvents") => {
            one(codec, &body, |request| filesystem::watcher_events(&guest, &request))
        }
        (files_wire::SERVICE, "RemoveWatcher") => {
            one(codec, &body, |request| filesystem::remove_watcher(&guest, &request))
        }
        (process_wire::SERVICE, "Start" | "Connect" | "StreamInput") | (files_wire::SERVICE, "WatchDir") => {
            Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "this method streams: use application/connect+json")
                .answer()
        }
        _ => refuse(&unknown(&path)),
    }
}

async fn stream(mut asked: Asked, codec: Codec) -> Answer {
    let path = asked.request.uri().path().to_owned();
    let result = match path.as_str() {
        "/process.Process/Start" => start(&mut asked, codec).await,
        "/process.Process/Connect" => connect(&mut asked, codec).await,
        "/process.Process/StreamInput" => stream_input(&mut asked, codec).await,
        "/filesystem.Filesystem/WatchDir" => watch(&mut asked, codec).await,
        _ => Err(unknown(&path)),
    };
    result.unwrap_or_else(|fault| streams::failed(codec, &fault))
}

async fn start(asked: &mut Asked, codec: Codec) -> Result<Answer, Fault> {
    let request = only_message(asked, codec).await?;
    let hearing = process::start(&asked.guest, asked.basic_user().as_deref(), request, asked.time_limit())?;
    Ok(streams::process(codec, hearing, asked.number("keepalive-ping-interval"), None))
}

async fn connect(asked: &mut Asked, codec: Codec) -> Result<Answer, Fault> {
    let request = only_message(asked, codec).await?;
    let hearing = process::connect(&asked.guest, &request).await?;
    Ok(streams::process(codec, hearing, asked.number("keepalive-ping-interval"), asked.time_limit()))
}

async fn watch(asked: &mut Asked, codec: Codec) -> Result<Answer, Fault> {
    let request = only_message(asked, codec).await?;
    let watch = filesystem::watch(&asked.guest, asked.basic_user().as_deref(), &request)?;
    Ok(streams::watch(codec, watch, asked.number("keepalive-ping-interval"), asked.time_limit()))
}

/// Takes input as long as it comes, and answers once.
async fn stream_input(asked: &mut Asked, codec: Codec) -> Result<Answer, Fault> {
    let mut deframer = Deframer::default();
    let mut process = None;
    let mut last = false;
    loop {
        while let Some(envelope) = deframer.next_envelope()? {
            let Envelope::Message(message) = envelope else { continue };
            let message: StreamInputRequest = codec.decode(&message)?;
            if let Some(start) = message.start {
                process = Some(process::find(&asked.guest, start.process.as_ref())?);
            }
            if let Some(data) = message.data {
                let process = process.as_ref();
                let process = process.ok_or_else(|| Fault::new(Code::InvalidArgument, "no process was named first"))?;
                process.input.write(data.input.unwrap_or_default()).await?;
            }
        }
        if last {
            return Ok(streams::once(codec, &Empty {}));
        }
        last = !more(asked.request.body_mut(), &mut deframer).await?;
    }
}

/// The one message of a request whose answer streams. The end of the request is taken along where it is there already,
/// so that the line can be used again.
async fn only_message<M: Message>(asked: &mut Asked, codec: Codec) -> Result<M, Fault> {
    use futures::FutureExt;
    let mut deframer = Deframer::default();
    let body = asked.request.body_mut();
    loop {
        match deframer.next_envelope()? {
            Some(Envelope::Message(message)) => {
                let _ = body.frame().now_or_never();
                return codec.decode(&message);
            }
            Some(Envelope::End(_)) => {}
            None => {
                if !more(body, &mut deframer).await? {
                    return Err(Fault::new(Code::InvalidArgument, "the request has no message"));
                }
            }
        }
    }
}

async fn more(body: &mut Incoming, deframer: &mut Deframer) -> Result<bool, Fault> {
    match body.frame().await {
        Some(Ok(frame)) => {
            if let Ok(data) = frame.into_data() {
                deframer.push(&data);
            }
            Ok(true)
        }
        Some(Err(error)) => Err(Fault::new(Code::Canceled, format!("the request broke off: {error}"))),
        None => Ok(false),
    }
}

async fn whole(asked: &mut Asked) -> Result<Bytes, Fault> {
    let coding = asked.header(header::CONTENT_ENCODING).unwrap_or("identity").to_owned();
    let too_large = || Fault::new(Code::ResourceExhausted, "the message is larger than 64 MiB");
    let mut body = BytesMut::new();
    while let Some(frame) = asked.request.body_mut().frame().await {
        let frame = frame.map_err(|error| Fault::new(Code::Canceled, format!("the request broke off: {error}")))?;
        if let Ok(data) = frame.into_data() {
            if body.len() + data.len() > LARGEST {
                return Err(too_large());
            }
            body.extend_from_slice(&data);
        }
    }
    match coding.as_str() {
        "identity" | "" => Ok(body.freeze()),
        "gzip" => {
            use std::io::Read;
            let mut plain = Vec::new();
            flate2::read::MultiGzDecoder::new(&body[..])
                .take(LARGEST as u64 + 1)
                .read_to_end(&mut plain)
                .map_err(|error| Fault::new(Code::InvalidArgument, format!("the message is not gzip: {error}")))?;
            if plain.len() > LARGEST { Err(too_large()) } else { Ok(plain.into()) }
        }
        other => Err(Fault::new(Code::Unimplemented, format!("coding {other} is not understood"))),
    }
}

fn one<Q: Message, A: Message>(codec: Codec, body: &[u8], ask: impl FnOnce(Q) -> Result<A, Fault>) -> Answer {
    say(codec, codec.decode(body).and_then(ask))
}

fn say<A: Message>(codec: Codec, answer: Result<A, Fault>) -> Answer {
    match answer {
        Ok(message) => {
            let kind = match codec {
                Codec::Json => "application/json",
                Codec::Proto => "application/proto",
            };
            bytes(StatusCode::OK, kind, codec.encode(&message))
        }
        Err(fault) => refuse(&fault),
    }
}

fn refuse(fault: &Fault) -> Answer {
    json(StatusCode::from_u16(fault.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), fault)
}

fn unknown(path: &str) -> Fault {
    Fault::new(Code::Unimplemented, format!("there is no method {path}"))
}
