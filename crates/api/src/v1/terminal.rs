//! A terminal in a sandbox, over a WebSocket.
//!
//! Binary frames are bytes, both ways. Text frames are JSON: from the client `resize` and `signal`, from the server
//! `started` and `exit`. Whoever goes away leaves the terminal as it is, and may come back with its `exec_id`.

use axum::{
    extract::{
        State, WebSocketUpgrade,
        ws::{Message, WebSocket, rejection::WebSocketUpgradeRejection},
    },
    response::Response,
};
use carrel_control::Attached;
use carrel_model::{
    ExecId, SandboxId,
    number::Whole,
    public::{ExecSize, NewExec, Problem as ProblemBody},
};
use futures::{SinkExt, StreamExt, stream::SplitSink};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    door::{Asker, FromOwnPage, Name, Problem, Query, about_json, from_text},
    house::Doors,
};

/// The largest frame that is taken from a client.
const LARGEST: usize = 1024 * 1024;

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new().routes(routes!(open))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct Ask {
    /// Columns: 80 when left out.
    #[serde(deserialize_with = "from_text")]
    #[param(value_type = Option<u64>, minimum = 1, maximum = 4096)]
    cols: Option<Whole<1, 4096>>,
    /// Rows: 24 when left out.
    #[serde(deserialize_with = "from_text")]
    #[param(value_type = Option<u64>, minimum = 1, maximum = 4096)]
    rows: Option<Whole<1, 4096>>,
    /// What to run, as a line for the shell; a login shell when left out.
    cmd: Option<String>,
    /// As whom.
    user: Option<String>,
    /// Where.
    cwd: Option<String>,
    /// Sit down at this terminal again.
    exec_id: Option<ExecId>,
    /// With `exec_id`: begin at this byte of its transcript; with the last it showed when left out.
    #[serde(deserialize_with = "from_text")]
    #[param(value_type = Option<i64>, minimum = 0)]
    offset: Option<Whole<0, { i64::MAX as u64 }>>,
}

/// What a client says about its terminal.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Said {
    Resize(ExecSize),
    Signal { signal: Whole<1, 64> },
}

/// What the server says about it.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Told<'t> {
    Started { exec_id: &'t ExecId, pid: Option<u32> },
    Exit { code: Option<i32>, note: Option<String> },
    Trouble { detail: String },
}

/// Opens a terminal over a WebSocket, or sits down at one again.
#[utoipa::path(get, path = "/sandboxes/{id}/terminal", operation_id = "open_terminal", tag = "execs", params(("id" = SandboxId, Path), Ask),
    responses((status = 101, description = "A WebSocket."),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn open(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    _: FromOwnPage,
    Name(id): Name<SandboxId>,
    Query(ask): Query<Ask>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let upgrade = upgrade.map_err(|_| {
        Problem::new(426, "upgrade-required", "Not a WebSocket", "a terminal is opened as a WebSocket")
            .with_hint("`carrel sandbox shell` opens one")
    })?;
    let execs = doors.control.execs();
    let size = ExecSize { cols: ask.cols.unwrap_or(COLS), rows: ask.rows.unwrap_or(ROWS) };
    let attached = match &ask.exec_id {
        Some(exec) => execs.reattach(&grant, &id, exec, ask.offset.map(|offset| offset.get() as i64)).await?,
        None => {
            let new =
                NewExec { command: ask.cmd, user: ask.user, cwd: ask.cwd, terminal: Some(size), ..NewExec::default() };
            execs.terminal(&grant, &id, new).await?
        }
    };
    let upgrade = upgrade.max_message_size(LARGEST).max_frame_size(LARGEST);
    Ok(upgrade.on_upgrade(move |socket| sit(socket, attached)))
}

const COLS: Whole<1, 4096> = match Whole::new(80) {
    Some(cols) => cols,
    None => panic!("in range"),
};
const ROWS: Whole<1, 4096> = match Whole::new(24) {
    Some(rows) => rows,
    None => panic!("in range"),
};

async fn sit(socket: WebSocket, mut attached: Attached) {
    let (mut out, mut typed) = socket.split();
    let exec = attached.exec.clone();
    let pid = attached.now().await.map_or(exec.pid, |now| now.pid);
    if !tell(&mut out, &Told::Started { exec_id: &exec.exec_id, pid }).await {
        return;
    }
    loop {
        tokio::select! {
            shown = attached.output.next() => match shown {
                Ok(Some(chunks)) => {
                    for chunk in chunks {
                        if out.send(Message::Binary(chunk.bytes)).await.is_err() {
                            return;
                        }
                    }
                }
                Ok(None) => {
                    let (code, note) = attached.now().await.map_or((None, None), |exec| (exec.exit_code, exec.note));
                    tell(&mut out, &Told::Exit { code, note }).await;
                    let _ = out.send(Message::Close(None)).await;
                    return;
                }
                Err(error) => {
                    tell(&mut out, &Told::Trouble { detail: error.to_string() }).await;
                    return;
                }
            },
            message = typed.next() => {
                let done = match message {
                    Some(Ok(Message::Binary(bytes))) => attached.input(bytes).await,
                    Some(Ok(Message::Text(text))) => match serde_json::from_str(&text) {
                        Ok(Said::Resize(size)) => attached.resize(size).await,
                        Ok(Said::Signal { signal }) => attached.signal(signal.get() as u32).await,
                        Err(error) => {
                            let detail = format!("a text frame was not understood: {}", about_json(&error));
                            tell(&mut out, &Told::Trouble { detail }).await;
                            Ok(())
                        }
                    },
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(()),
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                };
                // What has just ended cannot be typed into: its end is on its way.
                if let Err(error) = done
                    && !tell(&mut out, &Told::Trouble { detail: error.to_string() }).await
                {
                    return;
                }
            }
        }
    }
}

async fn tell(out: &mut SplitSink<WebSocket, Message>, told: &Told<'_>) -> bool {
    let text = serde_json::to_string(told).unwrap_or_default();
    out.send(Message::Text(text.into())).await.is_ok()
}
