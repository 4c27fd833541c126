//! The journal as server-sent events: from a cursor on, nothing lost, nothing twice.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use axum::{
    body::Body,
    extract::State,
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use bytes::{BufMut, Bytes, BytesMut};
use carrel_control::{EventFilter, Heard, Listener};
use carrel_model::{
    SandboxId, TaskId,
    number::Whole,
    public::{Cursor, Drain, Entry, Kind, Problem as ProblemBody},
};
use futures::stream;
use serde::Deserialize;
use tokio::{sync::watch, time::Instant};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    door::{Asker, Problem, Query, from_text, visit_of},
    house::Doors,
};

/// A silent connection says this often that it is alive.
const PING: Duration = Duration::from_secs(15);
/// How soon a client comes back when the server drains.
const COME_BACK: Drain = Drain { retry_ms: 500 };

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new().routes(routes!(follow))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct Ask {
    /// Begin after this cursor; with the next entry when left out.
    #[param(value_type = Option<i64>, minimum = 0)]
    #[serde(deserialize_with = "from_text")]
    after: Option<Whole<0, { i64::MAX as u64 }>>,
    /// About this sandbox.
    sandbox_id: Option<SandboxId>,
    /// About this task.
    #[serde(deserialize_with = "from_text")]
    task_id: Option<TaskId>,
    /// Of these kinds, separated by commas: `sandbox`, `key`, `provider`, `template`, `repo`, `push`, `pull`, `base`.
    kind: Option<String>,
}

/// Follows the journal. `id` is the cursor, `event` the kind, `data` the entry. Come back with `Last-Event-ID`.
#[utoipa::path(get, path = "/events", operation_id = "follow_events", tag = "events",
    params(Ask, ("Last-Event-ID" = Option<i64>, Header, description = "Goes before `after`.")),
    responses((status = 200, description = "A stream of entries; `reset` and `drain` are told in between.", body = Entry, content_type = "text/event-stream"),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn follow(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    headers: HeaderMap,
    Query(ask): Query<Ask>,
) -> Result<Response, Problem> {
    let cookie = visit_of(&headers, &doors);
    let after = last_event_id(&headers)?.or(ask.after.map(|cursor| cursor.get() as i64));
    let filter = EventFilter { sandbox: ask.sandbox_id, task: ask.task_id, kinds: kinds(ask.kind.as_deref())? };
    let listener = doors.control.events().follow(&grant, cookie.as_deref(), after.map(Cursor), filter).await?;
    let (told, now) = (listener.cursor(), Instant::now());
    let telling = Telling {
        listener,
        draining: doors.control.draining(),
        told,
        greeted: false,
        over: false,
        ping_at: now + PING,
        rests_until: now,
        reader: Reader::new(&doors.readers),
    };
    let frames = stream::unfold(telling, |mut telling| async {
        let frame = telling.next().await?;
        Some((Ok::<_, Infallible>(frame), telling))
    });
    let about = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((about, Body::from_stream(frames)).into_response())
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<i64>, Problem> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse().ok()).filter(|number| *number >= 0);
    number.map(Some).ok_or_else(|| Problem::field("Last-Event-ID", "expected the `id` of an event"))
}

fn kinds(text: Option<&str>) -> Result<Vec<Kind>, Problem> {
    let known = |word: &str| {
        let kind = Kind::ALL.into_iter().find(|kind| kind.word() == word.trim());
        kind.ok_or_else(|| {
            Problem::field("kind", "expected `sandbox`, `key`, `provider`, `template`, or several with commas")
        })
    };
    text.map_or(Ok(Vec::new()), |text| text.split(',').map(known).collect())
}

async fn listen(listener: &mut Listener, rests_until: Instant) -> Result<Heard, carrel_control::Error> {
    if rests_until > Instant::now() {
        tokio::time::sleep_until(rests_until).await;
    }
    listener.next().await
}

async fn drained(draining: &mut watch::Receiver<bool>) {
    let _ = draining.wait_for(|draining| *draining).await;
}

/// One client being told.
struct Telling {
    listener: Listener,
    draining: watch::Receiver<bool>,
    /// The last cursor the client knows.
    told: Cursor,
    greeted: bool,
    over: bool,
    ping_at: Instant,
    /// Not told again before then.
    rests_until: Instant,
    reader: Reader,
}

/// Counts the readers. The more there are, the longer each rests after it was told: a thousand that are woken by every
/// single entry would leave no time for those who write. The first entry after a silence is told at once.
struct Reader(Arc<AtomicU32>);

impl Reader {
    const EACH: Duration = Duration::from_micros(50);
    const LONGEST: Duration = Duration::from_millis(50);

    fn new(count: &Arc<AtomicU32>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Reader(Arc::clone(count))
    }

    fn rest(&self) -> Duration {
        (Self::EACH * self.0.load(Ordering::Relaxed)).min(Self::LONGEST)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Telling {
    /// The next bytes for the client; nothing when it is over.
    async fn next(&mut self) -> Option<Bytes> {
        if self.over {
            return None;
        }
        if !self.greeted {
            self.greeted = true;
            // With the cursor: who comes back before the first entry misses nothing either.
            return Some(Bytes::from(format!("retry: 1000\nid: {}\n\n", self.told.0)));
        }
        let frames = self.wait().await;
        let now = Instant::now();
        (self.ping_at, self.rests_until) = (now + PING, now + self.reader.rest());
        Some(frames)
    }

    async fn wait(&mut self) -> Bytes {
        loop {
            let heard = tokio::select! {
                biased;
                () = drained(&mut self.draining) => return self.send_away(),
                heard = listen(&mut self.listener, self.rests_until) => heard,
                () = tokio::time::sleep_until(self.ping_at) => return self.ping(),
            };
            match heard {
                Ok(Heard::Entries(entries)) if entries.is_empty() => {}
                Ok(Heard::Entries(entries)) => {
                    let mut frames = BytesMut::with_capacity(entries.iter().map(|entry| entry.json().len() + 64).sum());
                    for written in &entries {
                        let kind = written.entry().happening.kind().word();
                        put_frame(&mut frames, kind, Some(written.cursor()), written.json());
                    }
                    self.told = entries.last().map_or(self.told, |entry| entry.cursor());
                    return frames.freeze();
                }
                Ok(Heard::Reset(reset)) => {
                    self.told = reset.head;
                    return frame("reset", Some(reset.head), &reset, None);
                }
                // Who comes back without a good key is told so at the door.
                Ok(Heard::Void) => return self.send_away(),
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "a reader of events is sent away");
                    return self.send_away();
                }
            }
        }
    }

    /// The client comes back by itself, with its cursor.
    fn send_away(&mut self) -> Bytes {
        self.over = true;
        frame("drain", None, &COME_BACK, Some(COME_BACK.retry_ms))
    }

    /// Alive; and where the journal is, so that a reader with a narrow filter does not fall behind what is kept.
    fn ping(&mut self) -> Bytes {
        let cursor = self.listener.cursor();
        if cursor == self.told {
            return Bytes::from_static(b": ping\n\n");
        }
        self.told = cursor;
        Bytes::from(format!(": ping\nid: {}\n\n", cursor.0))
    }
}

fn frame(event: &str, id: Option<Cursor>, data: &impl serde::Serialize, retry_ms: Option<u64>) -> Bytes {
    let mut frames = BytesMut::new();
    if let Some(retry_ms) = retry_ms {
        frames.put_slice(format!("retry: {retry_ms}\n").as_bytes());
    }
    put_frame(&mut frames, event, id, &serde_json::to_string(data).unwrap_or_default());
    frames.freeze()
}

fn put_frame(frames: &mut BytesMut, event: &str, id: Option<Cursor>, json: &str) {
    if let Some(Cursor(id)) = id {
        frames.put_slice(b"id: ");
        frames.put_slice(id.to_string().as_bytes());
        frames.put_u8(b'\n');
    }
    frames.put_slice(b"event: ");
    frames.put_slice(event.as_bytes());
    frames.put_slice(b"\ndata: ");
    frames.put_slice(json.as_bytes());
    frames.put_slice(b"\n\n");
}
