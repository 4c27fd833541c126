//! The peers: what one would write without a house, each with the promise it is compared by and nothing else.

use std::{
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{
    Json, Router,
    body::Body,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use carrel_model::{
    SandboxId,
    public::{Cursor, Entry, Happening, NewSandbox, SandboxView},
};
use futures::{StreamExt, stream};
use jiff::Timestamp;
use sqlx::{
    SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use tokio::sync::broadcast;
use tokio_stream::wrappers::BroadcastStream;

use crate::{Outcome, server};

/// More than a round makes, so that the broadcast never drops any.
const ROOM: usize = 16_384;

#[derive(Clone)]
struct Peer {
    sample: Arc<SandboxView>,
    writer: SqlitePool,
    told: Arc<Mutex<i64>>,
    readers: broadcast::Sender<Bytes>,
}

/// Serves the peers; the sandbox they show is the first thing they hear.
pub(crate) async fn serve() -> Outcome<()> {
    let (sample, parent_is_gone) = server::hear_parent()?;
    let folder = tempfile::Builder::new().prefix("carrel-bench-peer.").tempdir()?;
    let peer = Peer {
        sample: Arc::new(serde_json::from_str(&sample)?),
        writer: open(folder.path()).await?,
        told: Arc::default(),
        readers: broadcast::Sender::new(ROOM),
    };
    let writer = peer.writer.clone();
    let app = Router::new()
        .route("/insert", post(insert))
        .route("/sandbox", get(show))
        .route("/events", get(follow))
        .route("/tell", post(tell))
        .route("/head", get(head))
        .with_state(peer);
    let served = server::serve(app, "none", parent_is_gone).await;
    writer.close().await;
    served
}

/// As durable as the house's database, and with one writer too.
async fn open(folder: &std::path::Path) -> Outcome<SqlitePool> {
    let options = SqliteConnectOptions::new()
        .filename(folder.join("peer.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    let writer = SqlitePoolOptions::new().max_connections(1).connect_with(options).await?;
    let table = "CREATE TABLE sandboxes (id TEXT PRIMARY KEY, created_at BIGINT NOT NULL, body TEXT NOT NULL)";
    sqlx::query(table).execute(&writer).await?;
    Ok(writer)
}

/// The peer of `POST /api/v1/sandboxes`: one body, one insert, one answer.
async fn insert(State(peer): State<Peer>, Json(new): Json<NewSandbox>) -> Result<Response, StatusCode> {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    // Scattered as random ids are.
    let number =
        u128::from(COUNT.fetch_add(1, Ordering::Relaxed)).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    let sandbox = SandboxView {
        id: SandboxId::from_random(number.to_le_bytes()),
        timeout_s: new.timeout_s.map_or(peer.sample.timeout_s, |lifetime| lifetime.get()),
        created_at: Timestamp::now(),
        ..(*peer.sample).clone()
    };
    let body = serde_json::to_string(&sandbox).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    sqlx::query("INSERT INTO sandboxes (id, created_at, body) VALUES ($1, $2, $3)")
        .bind(sandbox.id.as_str())
        .bind(sandbox.created_at.as_microsecond())
        .bind(body)
        .execute(&peer.writer)
        .await
        .map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    Ok((StatusCode::CREATED, Json(sandbox)).into_response())
}

/// The peer of `GET /api/v1/sandboxes/{id}`: the same view, serialised for each answer.
async fn show(State(peer): State<Peer>) -> Json<Arc<SandboxView>> {
    Json(peer.sample)
}

/// The peer of `GET /api/v1/events`: what is broadcast, from now on.
async fn follow(State(peer): State<Peer>) -> Response {
    let greeting = stream::iter([Bytes::from_static(b"retry: 1000\n\n")]);
    // A reader that lags too far is cut off: its next cursor would not be the next.
    let told = BroadcastStream::new(peer.readers.subscribe())
        .take_while(|frame| std::future::ready(frame.is_ok()))
        .filter_map(|frame| std::future::ready(frame.ok()));
    let frames = greeting.chain(told).map(Ok::<_, Infallible>);
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(frames)).into_response()
}

/// Tells one entry.
async fn tell(State(peer): State<Peer>) -> Result<Json<i64>, StatusCode> {
    let mut told = peer.told.lock().expect("nobody panics while telling");
    *told += 1;
    let happening = Happening::Sandbox { sandbox: Box::new((*peer.sample).clone()) };
    let entry = Entry { cursor: Cursor(*told), at: Timestamp::now(), happening };
    let json = serde_json::to_string(&entry).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    // Nobody listens when there is no reader.
    let _ = peer.readers.send(Bytes::from(format!("id: {}\nevent: sandbox\ndata: {json}\n\n", *told)));
    Ok(Json(*told))
}

/// The cursor of the newest entry.
async fn head(State(peer): State<Peer>) -> Json<i64> {
    Json(*peer.told.lock().expect("nobody panics while telling"))
}
