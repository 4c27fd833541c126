//! How requests are written and answers understood.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::atomic::Ordering,
    task::{Context, Poll},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use futures::FutureExt;
use http::{HeaderValue, Method, Request, header, request::Builder};
use secrecy::ExposeSecret;
use tokio::time::{Instant, Sleep};

use super::{
    Envd, EnvdError,
    line::{Answer, Load},
};
use crate::wire::{self, Codec, Deframer, Envelope, Fault, Message};

/// A sign of life is asked for after so many seconds of silence,
const PING: &str = "50";
/// and after so long without one nobody is there any more.
const SILENCE: Duration = Duration::from_secs(120);

impl Envd {
    pub(super) fn request(&self, method: Method, target: &str) -> Builder {
        let mut builder = Request::builder().method(method).uri(target);
        if let Some(headers) = builder.headers_mut() {
            headers.extend(self.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        match &self.token {
            Some(token) => builder.header("x-access-token", token.expose_secret()),
            None => builder,
        }
    }

    /// Sends a request whatever the answer is.
    pub(super) async fn send(&self, builder: Builder, load: Load) -> Result<Answer, EnvdError> {
        let request = builder.body(load).map_err(|error| EnvdError::Invalid(error.to_string()))?;
        let answer = self.lines.send(request).await?;
        if answer.head.headers.contains_key(wire::OURS) {
            self.is_ours.store(true, Ordering::Relaxed);
        }
        Ok(answer)
    }

    /// Sends a request that should succeed.
    pub(super) async fn ask(&self, builder: Builder, load: Load) -> Result<Answer, EnvdError> {
        let mut answer = self.send(builder, load).await?;
        if answer.head.status.is_success() {
            return Ok(answer);
        }
        let body = answer.whole().await?;
        Err(EnvdError::of_answer(answer.head.status, &body))
    }

    /// Calls a method that answers once.
    pub(super) async fn call<Q: Message, A: Message>(
        &self,
        service: &str,
        method: &str,
        user: Option<&str>,
        message: &Q,
    ) -> Result<A, EnvdError> {
        let codec = self.codec();
        let kind = match codec {
            Codec::Json => "application/json",
            Codec::Proto => "application/proto",
        };
        let builder = self.rpc(service, method, user).header(header::CONTENT_TYPE, kind);
        let mut answer = self.ask(builder, Load::Whole(Some(codec.encode(message)))).await?;
        let body = answer.whole().await?;
        let kind = answer.head.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let codec =
            if kind.is_some_and(|kind| kind.starts_with("application/proto")) { Codec::Proto } else { Codec::Json };
        codec.decode(&body).map_err(|fault| EnvdError::Broken(format!("the answer is not understood: {fault}")))
    }

    /// Calls a method that answers with a stream.
    pub(super) async fn follow<Q: Message>(
        &self,
        service: &str,
        method: &str,
        user: Option<&str>,
        limit: Option<Duration>,
        message: &Q,
    ) -> Result<Messages, EnvdError> {
        let codec = self.codec();
        let kind = match codec {
            Codec::Json => "application/connect+json",
            Codec::Proto => "application/connect+proto",
        };
        let mut builder = self.rpc(service, method, user).header(header::CONTENT_TYPE, kind);
        builder = builder.header("keepalive-ping-interval", PING);
        if let Some(limit) = limit {
            builder = builder.header("connect-timeout-ms", (limit.as_millis() as u64).max(1));
        }
        let answer = self.ask(builder, Load::Whole(Some(wire::frame(codec, message)))).await?;
        Ok(Messages { codec, answer, deframer: Deframer::default(), patience: Box::pin(tokio::time::sleep(SILENCE)) })
    }

    fn rpc(&self, service: &str, method: &str, user: Option<&str>) -> Builder {
        let builder =
            self.request(Method::POST, &format!("/{service}/{method}")).header("connect-protocol-version", "1");
        match user {
            Some(user) => builder.header(header::AUTHORIZATION, basic(user)),
            None => builder,
        }
    }
}

/// A user by Basic authorization, which names one and proves nothing.
fn basic(user: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:")))
}

/// The path and user of a plain request.
pub(super) fn target(route: &str, path: &str, user: Option<&str>) -> String {
    let mut target = format!("{route}?path={}", wire::percent_encode(path));
    if let Some(user) = user {
        target.push_str("&username=");
        target.push_str(&wire::percent_encode(user));
    }
    target
}

/// A stream of messages.
pub(super) struct Messages {
    codec: Codec,
    answer: Answer,
    deframer: Deframer,
    patience: Pin<Box<Sleep>>,
}

impl Messages {
    /// The next message; `None` at a good end.
    pub(super) async fn next<M: Message>(&mut self) -> Result<Option<M>, EnvdError> {
        loop {
            match self.deframer.next_envelope()? {
                Some(Envelope::Message(message)) => return Ok(Some(self.codec.decode(&message)?)),
                Some(Envelope::End(end)) => {
                    self.finish();
                    return end.map(|()| None).map_err(|fault: Fault| fault.into());
                }
                None => {}
            }
            match poll_fn(|cx| self.poll_bytes(cx)).await {
                Some(bytes) => self.deframer.push(&bytes?),
                None => return Err(EnvdError::Unreachable(std::io::ErrorKind::UnexpectedEof.into())),
            }
            self.patience.as_mut().reset(Instant::now() + SILENCE);
        }
    }

    /// Reads what has arrived after the last message, so that the line is free again.
    pub(super) fn finish(&mut self) {
        while let Some(Some(Ok(_))) = poll_fn(|cx| self.answer.poll_bytes(cx)).now_or_never() {}
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, EnvdError>>> {
        if let Poll::Ready(bytes) = self.answer.poll_bytes(cx) {
            return Poll::Ready(bytes);
        }
        match self.patience.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Some(Err(EnvdError::Unreachable(std::io::ErrorKind::TimedOut.into())))),
            Poll::Pending => Poll::Pending,
        }
    }
}

/// A body in JSON.
pub(super) fn json(builder: Builder, value: &serde_json::Value) -> (Builder, Load) {
    let builder = builder.header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    (builder, Load::Whole(Some(value.to_string().into())))
}
