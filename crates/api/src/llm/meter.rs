//! The meter: stands beside an answer while it passes, and writes down what it took, however it ends.

use std::{sync::Arc, time::Instant};

use axum::{body::Body, http::header};
use bytes::Bytes;
use carrel_control::{Asked, ModelVisit};
use carrel_model::Timestamp;
use futures::{Stream, StreamExt, stream};

use super::{
    allowed::Kind,
    count::{Counted, Shape, Tally},
    question::Question,
    sieve::Sieve,
};

/// Counts one request. One that is dropped before its end writes down what it has seen so far.
pub(super) struct Meter {
    visit: Arc<ModelVisit>,
    kind: Kind,
    model: String,
    /// How long the question is.
    length: u64,
    at: Timestamp,
    began: Instant,
    /// The answer, once it has begun: its status and its count.
    answer: Option<(u16, Tally)>,
    is_written: bool,
}

struct Passing<S> {
    pieces: S,
    meter: Meter,
    sieve: Option<Sieve>,
    /// Whether the client can tell from its length where the answer ends: then the last piece waits for the bill.
    holds_last: bool,
    held: Bytes,
    is_over: bool,
}

impl Meter {
    pub(super) fn begin(visit: Arc<ModelVisit>, question: &Question) -> Meter {
        Meter {
            at: visit.now(),
            visit,
            kind: question.kind(),
            model: question.model().to_owned(),
            length: question.body().len() as u64,
            began: Instant::now(),
            answer: None,
            is_written: false,
        }
    }

    /// Writes down that there was no good answer. It cost nothing.
    pub(super) async fn refused(mut self, status: u16) {
        self.write(status, Counted { model: None, tokens: Default::default(), is_estimated: false }).await;
    }

    /// Passes an answer on as it comes. Its end is passed on when what it cost is written down, so that whoever asks again
    /// after it finds it counted.
    pub(super) fn pass_on(mut self, response: reqwest::Response, question: &Question) -> Body {
        let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_stream = text(header::CONTENT_TYPE).starts_with("text/event-stream");
        let shape = if is_stream { Shape::Stream } else { Shape::Whole };
        let is_packed = text(header::CONTENT_ENCODING).eq_ignore_ascii_case("gzip");
        let sieve = (question.hides_usage() && is_stream && !is_packed).then(Sieve::default);
        self.answer = Some((response.status().as_u16(), Tally::new(shape, is_packed)));
        let holds_last = sieve.is_none() && (!is_stream || response.content_length().is_some());
        let pieces = Box::pin(response.bytes_stream());
        let passing = Passing { pieces, meter: self, sieve, holds_last, held: Bytes::new(), is_over: false };
        Body::from_stream(stream::try_unfold(passing, |mut passing| async move {
            let piece = passing.next().await?;
            Ok::<_, std::io::Error>(piece.map(|piece| (piece, passing)))
        }))
    }

    fn read(&mut self, piece: &[u8]) {
        if let Some((_, tally)) = &mut self.answer {
            tally.read(piece);
        }
    }

    async fn end(&mut self) {
        if let Some((status, tally)) = self.answer.take() {
            self.write(status, tally.end(self.length)).await;
        }
    }

    async fn write(&mut self, status: u16, counted: Counted) {
        if let Some(asked) = self.asked(status, counted) {
            // In a task of its own: a client that leaves now does not take the bill with it.
            if Arc::clone(&self.visit).record_later(asked).await.is_err() {
                tracing::error!("what a model cost was not written down");
            }
        }
    }

    /// What is to be written down, once.
    fn asked(&mut self, status: u16, counted: Counted) -> Option<Asked> {
        if std::mem::replace(&mut self.is_written, true) || self.kind == Kind::Free {
            return None;
        }
        let Counted { model, tokens, is_estimated } = counted;
        Some(Asked {
            model: model.unwrap_or_else(|| self.model.clone()),
            tokens,
            is_estimated,
            status,
            took_ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            at: self.at,
        })
    }
}

impl Drop for Meter {
    /// The client has gone. What it was told by then is counted; a question that was not answered yet is guessed.
    fn drop(&mut self) {
        const CLIENT_LEFT: u16 = 499;
        let (length, answer) = (self.length, self.answer.take());
        let tally = answer.map_or_else(|| Tally::new(Shape::Stream, false), |(_, tally)| tally);
        if let Some(asked) = self.asked(CLIENT_LEFT, tally.end(length)) {
            drop(Arc::clone(&self.visit).record_later(asked));
        }
    }
}

impl<S> Passing<S>
where
    S: Stream<Item = Result<Bytes, reqwest::Error>> + Unpin,
{
    async fn next(&mut self) -> Result<Option<Bytes>, std::io::Error> {
        while !self.is_over {
            match self.pieces.next().await {
                Some(Ok(piece)) => {
                    self.meter.read(&piece);
                    let shown = match &mut self.sieve {
                        Some(sieve) => sieve.pass(&piece),
                        None => piece,
                    };
                    if shown.is_empty() {
                        continue;
                    }
                    let shown = if self.holds_last { std::mem::replace(&mut self.held, shown) } else { shown };
                    if !shown.is_empty() {
                        return Ok(Some(shown));
                    }
                }
                Some(Err(error)) => {
                    self.is_over = true;
                    self.meter.end().await;
                    return Err(std::io::Error::other(error.without_url()));
                }
                None => {
                    self.is_over = true;
                    self.meter.end().await;
                    let rest = match &mut self.sieve {
                        Some(sieve) => sieve.rest(),
                        None => std::mem::take(&mut self.held),
                    };
                    if !rest.is_empty() {
                        return Ok(Some(rest));
                    }
                }
            }
        }
        Ok(None)
    }
}
