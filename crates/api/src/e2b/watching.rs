//! What a sandbox uses and what happened to it: metrics and logs.

use axum::{Router, extract::State, routing::get};
use carrel_control::Sample;
use carrel_model::{
    Grant, SandboxId,
    public::{LogLine, SandboxView},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Refusal,
    ask::{Caller, Named, Query, sandbox_id},
    sandboxes::alive,
    words,
};
use crate::house::Doors;

pub(super) fn routes() -> Router<Doors> {
    Router::new()
        .route("/sandboxes/metrics", get(metrics_of_many))
        .route("/sandboxes/{id}/metrics", get(metrics))
        .route("/sandboxes/{id}/logs", get(logs))
        .route("/v2/sandboxes/{id}/logs", get(logs_v2))
}

/// What a sandbox used at a moment.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Reading {
    timestamp: String,
    timestamp_unix: i64,
    cpu_count: u64,
    cpu_used_pct: f64,
    mem_used: u64,
    mem_total: u64,
    mem_cache: u64,
    disk_used: u64,
    disk_total: u64,
}

impl Reading {
    /// The share of its processors (all of them together are 100) since the sample before; since it began when there is none.
    fn new(view: &SandboxView, before: Option<&Sample>, sample: &Sample) -> Reading {
        let mib = |count: u64| count * 1024 * 1024;
        let load = match before {
            Some(before) => sample.load_since(before.at, before.cpu_us.unwrap_or(0)),
            None => sample.load_since(view.ready_at.unwrap_or(view.created_at), 0),
        };
        Reading {
            timestamp: sample.at.to_string(),
            timestamp_unix: sample.at.as_second(),
            cpu_count: words::cpu_count(view),
            cpu_used_pct: (load / view.limits.cpus.get() * 10_000.0).round() / 100.0,
            mem_used: sample.memory_bytes.unwrap_or(0),
            mem_total: mib(view.limits.memory_mb.get()),
            mem_cache: sample.cache_bytes.unwrap_or(0),
            disk_used: sample.disk_bytes.unwrap_or(0),
            disk_total: mib(view.limits.disk_mb.get()),
        }
    }
}

/// What a sandbox used so far, the newest last.
async fn read(doors: &Doors, grant: &Grant, view: &SandboxView) -> Result<Vec<Reading>, Refusal> {
    let samples = doors.control.sandboxes().samples(grant, &view.id).await;
    let samples = samples.map_err(|error| Refusal::of_sandbox(&view.id, error))?;
    let before = std::iter::once(None).chain(samples.iter().map(Some));
    Ok(samples.iter().zip(before).map(|(sample, before)| Reading::new(view, before, sample)).collect())
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Span {
    start: Option<i64>,
    end: Option<i64>,
}

async fn metrics(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Named(id): Named,
    Query(span): Query<Span>,
) -> Result<axum::Json<Vec<Reading>>, Refusal> {
    let view = match alive(&doors, &grant, &id).await {
        Ok((view, _)) => view,
        // Whoever follows one that has just ended learns of its end elsewhere, and of nothing more here.
        Err(refusal) => {
            let known = doors.control.sandboxes().get(&grant, &id).await;
            return known.map(|_| axum::Json(Vec::new())).map_err(|_| refusal);
        }
    };
    if let (Some(start), Some(end)) = (span.start, span.end)
        && start > end
    {
        return Err(Refusal::malformed("`start` is later than `end`."));
    }
    let mut readings = read(&doors, &grant, &view).await?;
    readings.retain(|reading| {
        span.start.is_none_or(|start| reading.timestamp_unix >= start)
            && span.end.is_none_or(|end| reading.timestamp_unix <= end)
    });
    Ok(axum::Json(readings))
}

#[derive(Debug, Deserialize)]
struct Many {
    sandbox_ids: String,
}

async fn metrics_of_many(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Query(many): Query<Many>,
) -> Result<axum::Json<Value>, Refusal> {
    let mut found = serde_json::Map::new();
    for text in many.sandbox_ids.split(',').filter(|text| !text.is_empty()).take(100) {
        let Some(id) = sandbox_id(text) else { continue };
        // One that has ended is left out, as at E2B.
        let Ok((view, _)) = alive(&doors, &grant, &id).await else { continue };
        if let Ok(readings) = read(&doors, &grant, &view).await
            && let Some(last) = readings.last()
        {
            found.insert(text.to_owned(), json!(last));
        }
    }
    Ok(axum::Json(json!({ "sandboxes": found })))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LogSpan {
    start: Option<i64>,
    cursor: Option<i64>,
    limit: Option<usize>,
    direction: Option<String>,
    level: Option<String>,
    search: Option<String>,
}

/// How loud each level is.
const LEVELS: [&str; 4] = ["debug", "info", "warn", "error"];

impl LogSpan {
    async fn read(&self, doors: &Doors, grant: &Grant, id: &SandboxId) -> Result<Vec<LogLine>, Refusal> {
        let (mut lines, _) =
            doors.control.logs().read(grant, id).await.map_err(|error| Refusal::of_sandbox(id, error))?;
        let loud = |word: &str| LEVELS.iter().position(|level| *level == word);
        let at_least = match self.level.as_deref() {
            None => 0,
            Some(word) => loud(word).ok_or_else(|| Refusal::malformed("`level` is debug, info, warn or error."))?,
        };
        // Everything that is told here is told at this level.
        lines.retain(|line| at_least <= 1 && self.search.as_deref().is_none_or(|text| line.text.contains(text)));
        let backward = self.direction.as_deref() == Some("backward");
        if let Some(from) = self.start.or(self.cursor) {
            lines.retain(
                |line| if backward { line.at.as_millisecond() <= from } else { line.at.as_millisecond() >= from },
            );
        }
        if backward {
            lines.reverse();
        }
        lines.truncate(self.limit.unwrap_or(1000).clamp(1, 1000));
        Ok(lines)
    }
}

fn entry(line: &LogLine) -> Value {
    let mut fields = serde_json::Map::new();
    if let Some(exec) = &line.exec_id {
        fields.insert("exec_id".into(), exec.to_string().into());
    }
    json!({ "timestamp": line.at.to_string(), "message": line.text, "level": "info", "fields": fields })
}

/// The command line reads each line as JSON again.
async fn logs(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Named(id): Named,
    Query(span): Query<LogSpan>,
) -> Result<axum::Json<Value>, Refusal> {
    let lines = span.read(&doors, &grant, &id).await?;
    let old = |line: &LogLine| {
        let text = json!({ "level": "info", "logger": "carrel", "message": line.text });
        json!({ "timestamp": line.at.to_string(), "line": text.to_string() })
    };
    let (old, entries): (Vec<_>, Vec<_>) = lines.iter().map(|line| (old(line), entry(line))).unzip();
    Ok(axum::Json(json!({ "logs": old, "logEntries": entries })))
}

async fn logs_v2(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Named(id): Named,
    Query(span): Query<LogSpan>,
) -> Result<axum::Json<Value>, Refusal> {
    let lines = span.read(&doors, &grant, &id).await?;
    Ok(axum::Json(json!({ "logs": lines.iter().map(entry).collect::<Vec<_>>() })))
}
