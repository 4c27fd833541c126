//! The door: the few questions that the SDKs ask, and the stream of lines that answers a cell.

use std::{collections::BTreeMap, convert::Infallible, net::SocketAddr, sync::Arc};

use axum::{
    Json, Router,
    body::Body,
    extract::{DefaultBodyLimit, Path, Request, State},
    http::{HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
    routing::{delete, get, post},
};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc};
use tokio_stream::{StreamExt, wrappers::ReceiverStream};

use crate::{
    contexts::{Context, Contexts},
    kernel::{Kernels, Trouble},
};

/// The largest cell.
const LARGEST: usize = 64 << 20;
/// So many lines wait for a reader; then the cell waits.
const AHEAD: usize = 64;

/// Serves until the process ends.
pub async fn serve(address: SocketAddr, kernels: Kernels) -> std::io::Result<()> {
    let contexts = Arc::new(Contexts::new(kernels));
    // What everybody asks for first should not be waited for.
    let (first, python) = (Arc::clone(&contexts), contexts.usual("python"));
    tokio::spawn(async move {
        // Whoever asks for it is told why it does not start.
        let _ = first.wake(&python).await;
    });
    let app = Router::new()
        .route("/health", get(|| async { Json("OK") }))
        .route("/execute", post(execute))
        .route("/contexts", get(list).post(make))
        .route("/contexts/{id}", delete(remove))
        .route("/contexts/{id}/restart", post(restart))
        .layer(DefaultBodyLimit::max(LARGEST))
        .layer(axum::middleware::from_fn(open_to_all))
        .with_state(contexts);
    axum::serve(TcpListener::bind(address).await?, app).await
}

/// Pages of any origin may ask, and ask before whether they may.
async fn open_to_all(request: Request, next: Next) -> Response {
    let is_preflight =
        request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = match is_preflight {
        true => StatusCode::NO_CONTENT.into_response(),
        false => next.run(request).await,
    };
    let any = HeaderValue::from_static("*");
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, any.clone());
    if is_preflight {
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_METHODS, any.clone());
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_HEADERS, any);
    }
    response
}

/// A refusal: plain text, as the SDKs show it.
struct Refused(StatusCode, String);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.0, self.1).into_response()
    }
}

impl From<Trouble> for Refused {
    fn from(trouble: Trouble) -> Self {
        // Whatever kept a kernel from starting: this is what the SDKs hear at E2B.
        Refused(StatusCode::INTERNAL_SERVER_ERROR, trouble.to_string())
    }
}

#[derive(Deserialize)]
struct Cell {
    code: String,
    context_id: Option<String>,
    language: Option<String>,
    env_vars: Option<BTreeMap<String, String>>,
}

/// The language by its usual name.
fn language(text: Option<&str>) -> String {
    match text.unwrap_or("python").trim().to_ascii_lowercase().as_str() {
        "" | "py" | "python3" => "python".into(),
        "js" | "node" => "javascript".into(),
        "ts" => "typescript".into(),
        "sh" => "bash".into(),
        other => other.to_owned(),
    }
}

async fn execute(State(contexts): State<Arc<Contexts>>, Json(cell): Json<Cell>) -> Result<Response, Refused> {
    let context = match (&cell.context_id, &cell.language) {
        (Some(_), Some(_)) => {
            return Err(Refused(StatusCode::BAD_REQUEST, "Only one of context_id or language can be provided".into()));
        }
        (Some(id), None) => contexts.find(id).ok_or_else(|| no_context(id))?,
        (None, named) => contexts.usual(&language(named.as_deref())),
    };
    let env = cell.env_vars.unwrap_or_default();
    if let Some(odd) = env.keys().find(|name| !is_name(name)) {
        return Err(Refused(StatusCode::BAD_REQUEST, format!("`{odd}` cannot be the name of a variable")));
    }
    // A kernel that cannot start is told by the status; what happens later is told in the stream.
    contexts.wake(&context).await?;
    let (told, lines) = mpsc::channel::<Value>(AHEAD);
    tokio::spawn(async move {
        let ran = contexts.run(&context, &cell.code, &env, &told).await;
        if let Err(trouble) = ran {
            let error =
                json!({ "type": "error", "name": "KernelError", "value": trouble.to_string(), "traceback": "" });
            let _ = told.send(error).await;
        }
        let _ = told.send(json!({ "type": "end_of_execution" })).await;
    });
    let lines = ReceiverStream::new(lines).map(|line| Ok::<_, Infallible>(Bytes::from(format!("{line}\n"))));
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response())
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|letter: char| letter.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn no_context(id: &str) -> Refused {
    let shown: String = id.chars().take(64).collect();
    Refused(StatusCode::NOT_FOUND, format!("Context {shown} not found"))
}

#[derive(Deserialize)]
struct NewContext {
    language: Option<String>,
    cwd: Option<String>,
}

async fn make(State(contexts): State<Arc<Contexts>>, Json(new): Json<NewContext>) -> Result<Json<Value>, Refused> {
    let context = contexts.make(&language(new.language.as_deref()), new.cwd.as_deref()).await?;
    Ok(Json(context.shown()))
}

async fn list(State(contexts): State<Arc<Contexts>>) -> Json<Vec<Value>> {
    Json(contexts.list().iter().map(|context: &Arc<Context>| context.shown()).collect())
}

async fn remove(State(contexts): State<Arc<Contexts>>, Path(id): Path<String>) -> Result<StatusCode, Refused> {
    if contexts.remove(&id).await { Ok(StatusCode::OK) } else { Err(no_context(&id)) }
}

async fn restart(State(contexts): State<Arc<Contexts>>, Path(id): Path<String>) -> Result<StatusCode, Refused> {
    contexts.restart(&id).await.ok_or_else(|| no_context(&id))??;
    Ok(StatusCode::OK)
}
