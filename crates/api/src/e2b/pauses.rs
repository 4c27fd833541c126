//! Pausing, and everything that brings a sandbox back: connect, and the older resume.

use std::time::{Duration, Instant};

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use carrel_model::{
    Grant, SandboxId,
    public::SandboxView,
    sandbox::{AtEnd, Depth, Phase, Want},
};
use serde::Deserialize;

use super::{
    Refusal,
    ask::{Body, Caller, Named},
    sandboxes::{PATIENCE, alive, connection, lifetime},
};
use crate::house::Doors;

/// A sandbox that is not what its row says is looked at again after so long.
const LOOKS_AGAIN: Duration = Duration::from_secs(1);

pub(super) fn routes() -> Router<Doors> {
    Router::new()
        .route("/sandboxes/{id}/pause", post(pause))
        .route("/sandboxes/{id}/resume", post(resume))
        .route("/sandboxes/{id}/connect", post(connect))
        .route("/v2/sandboxes/{id}/connect", post(connect))
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pause {
    memory: Option<bool>,
    require_healthy_guest: Option<bool>,
}

async fn pause(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Named(id): Named,
    Body(asked): Body<Pause>,
) -> Result<StatusCode, Refusal> {
    // To whoever pauses, 409 says that there is nothing left to wait for.
    let (_, state) = alive(&doors, &grant, &id).await.map_err(Refusal::not_in_conflict)?;
    if state == "paused" {
        return Err(Refusal::new(409, format!("Sandbox {id} is already paused")));
    }
    if asked.require_healthy_guest == Some(true) {
        let answers = doors.control.sandboxes().answers(&grant, &id).await;
        if !answers.map_err(|error| Refusal::of_sandbox(&id, error))? {
            let message = format!("Sandbox {id} was not paused: nobody answers inside");
            return Err(Refusal::new(503, message).for_good());
        }
    }
    let depth = if asked.memory == Some(false) { Depth::Files } else { Depth::Frozen };
    sleep(&doors, &grant, &id, depth).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lays a sandbox aside, and waits until it sleeps.
async fn sleep(doors: &Doors, grant: &Grant, id: &SandboxId, depth: Depth) -> Result<(), Refusal> {
    let desk = doors.control.sandboxes();
    desk.lay_aside(grant, id, depth).await.map_err(|error| Refusal::of_sandbox(id, error))?;
    let sleeps = |view: &SandboxView| {
        let deep_enough = view.paused.is_some_and(|paused| paused.depth == depth || paused.depth >= Depth::Stored);
        view.phase == Phase::Paused && deep_enough
    };
    // We asked for its sleep: when it is wanted awake, somebody took it up since.
    let is_overtaken = |view: &SandboxView| view.want == Want::Ready;
    let settled =
        |view: &SandboxView| sleeps(view) || is_overtaken(view) || !matches!(view.phase, Phase::Ready | Phase::Paused);
    let view = desk.until(grant, id, PATIENCE, settled).await?;
    match view.phase {
        Phase::Closing | Phase::Gone => Err(Refusal::ended(&view)),
        Phase::Ready | Phase::Paused if is_overtaken(&view) && !sleeps(&view) => {
            let message = format!("Sandbox {id} was not paused: somebody connected to it before it slept");
            Err(Refusal::new(409, message).for_good())
        }
        Phase::Paused => Ok(()),
        _ => {
            let why = view.note.as_deref().unwrap_or("it takes longer than usual");
            Err(Refusal::new(503, format!("Sandbox {id} could not be paused: {why}")))
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Connect {
    timeout: Option<u64>,
    memory: Option<bool>,
}

/// 200 when it worked already, 201 when it was woken.
async fn connect(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    headers: HeaderMap,
    Named(id): Named,
    Body(asked): Body<Connect>,
) -> Result<Response, Refusal> {
    let (_, state) = alive(&doors, &grant, &id).await?;
    let status = if state == "paused" { StatusCode::CREATED } else { StatusCode::OK };
    if asked.memory == Some(false) && state == "paused" {
        sleep(&doors, &grant, &id, Depth::Files).await?;
    }
    wake(&doors, &grant, &headers, &id, (asked.timeout.unwrap_or(300), None), status).await
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resume {
    timeout: Option<u64>,
    auto_pause: Option<bool>,
    memory: Option<bool>,
}

async fn resume(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    headers: HeaderMap,
    Named(id): Named,
    Body(asked): Body<Resume>,
) -> Result<Response, Refusal> {
    let (_, state) = alive(&doors, &grant, &id).await?;
    if state == "running" {
        return Err(Refusal::new(409, format!("Sandbox {id} is already running")));
    }
    let at_end = asked.auto_pause.map(|pauses| if pauses { AtEnd::Pause } else { AtEnd::Destroy });
    if asked.memory == Some(false) {
        sleep(&doors, &grant, &id, Depth::Files).await?;
    }
    wake(&doors, &grant, &headers, &id, (asked.timeout.unwrap_or(15), at_end), StatusCode::CREATED).await
}

async fn wake(
    doors: &Doors,
    grant: &Grant,
    headers: &HeaderMap,
    id: &SandboxId,
    (seconds, at_end): (u64, Option<AtEnd>),
    status: StatusCode,
) -> Result<Response, Refusal> {
    let desk = doors.control.sandboxes();
    let lifetime = lifetime(seconds)?;
    desk.take_up(grant, id, lifetime, at_end).await.map_err(|error| Refusal::of_sandbox(id, error))?;
    let end = Instant::now() + PATIENCE;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        // A pause that was under way when it was taken up is carried out first, and then it is woken.
        desk.until_let_go(grant, id, left).await?;
        let left = end.saturating_duration_since(Instant::now());
        let view = desk.until(grant, id, left, |view| view.phase != Phase::Paused).await?;
        match view.phase {
            Phase::Ready => match connection(doors, grant, headers, &view).await {
                Ok(connection) => return Ok((status, axum::Json(connection)).into_response()),
                // It sleeps, and its row does not say so: whoever let it could not write that down.
                Err(refusal) if refusal.is_conflict() && !left.is_zero() => {
                    if let Err(error) = desk.settle(grant, id).await {
                        tracing::debug!(sandbox = %id, %error, "it is looked at again");
                    }
                    let moves = |now: &SandboxView| now.updated_at != view.updated_at;
                    desk.until(grant, id, left.min(LOOKS_AGAIN), moves).await?;
                }
                Err(refusal) if refusal.is_conflict() => return Err(too_long(id, &view)),
                Err(refusal) => return Err(refusal),
            },
            Phase::Paused => return Err(too_long(id, &view)),
            _ => return Err(Refusal::ended(&view)),
        }
    }
}

fn too_long(id: &SandboxId, view: &SandboxView) -> Refusal {
    let why = view.note.as_deref().unwrap_or("it takes longer than usual");
    Refusal::new(503, format!("Sandbox {id} does not come back from its pause: {why}")).with_retry_after(1)
}
