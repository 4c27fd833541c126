//! Calls of the host: who you are, and good night.

use std::{collections::BTreeMap, path::Path, time::Duration};

use http::{HeaderValue, StatusCode, header};
use http_body_util::BodyExt;
use serde::Deserialize;

use super::super::{
    body::{Answer, Refusal, status},
    serve::Asked,
    shield,
};

/// Where code that was written for E2B looks for its sandbox.
const FOR_E2B: &str = "/run/e2b";
/// How long envd is deaf after a night began, when the host does not say.
const HOLD: Duration = Duration::from_millis(20);

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Init {
    #[serde(alias = "env_vars")]
    env_vars: Option<BTreeMap<String, String>>,
    #[serde(alias = "access_token")]
    access_token: Option<String>,
    #[serde(alias = "default_user")]
    default_user: Option<String>,
    #[serde(alias = "default_workdir")]
    default_workdir: Option<String>,
    hostname: Option<String>,
}

/// Learns who it is. What is absent stays as it was.
pub(in crate::daemon) async fn init(mut asked: Asked) -> Result<Answer, Refusal> {
    let body = asked.request.body_mut().collect().await;
    let body = body.map_err(|error| bad(format!("the request broke off: {error}")))?.to_bytes();
    let init: Init = match body.len() {
        0 => Init::default(),
        _ => serde_json::from_slice(&body).map_err(|error| bad(format!("the request is not understood: {error}")))?,
    };
    let mut settings = asked.guest.settings();
    if let Some(env) = init.env_vars {
        // Only pid 1 has a machine of its own.
        if rustix::process::getpid().is_init() {
            write_down(Path::new(FOR_E2B), &env);
        }
        settings.env = env;
    }
    if let Some(token) = init.access_token {
        settings.token = Some(token).filter(|token| !token.is_empty());
    }
    if let Some(user) = init.default_user {
        settings.default_user = Some(user).filter(|user| !user.is_empty());
    }
    if let Some(workdir) = init.default_workdir {
        settings.default_workdir = Some(workdir).filter(|workdir| !workdir.is_empty());
    }
    drop(settings);
    // Anybody but pid 1 would rename the machine it runs on.
    if let Some(hostname) = init.hostname.filter(|_| rustix::process::getpid().is_init()) {
        rustix::system::sethostname(hostname.as_bytes()).map_err(|error| {
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the host name stays: {error}"))
        })?;
    }
    Ok(status(StatusCode::NO_CONTENT))
}

/// Writes down whose sandbox this is, where code that was written for E2B looks for it. It does without where that
/// cannot be.
fn write_down(folder: &Path, env: &BTreeMap<String, String>) {
    for name in ["E2B_SANDBOX", "E2B_SANDBOX_ID", "E2B_TEMPLATE_ID"] {
        let Some(value) = env.get(name) else { continue };
        let place = folder.join(format!(".{name}"));
        if std::fs::write(&place, value).is_err() && std::fs::create_dir_all(folder).is_ok() {
            let _ = std::fs::write(&place, value);
        }
    }
}

/// Closes everything that leads outside; the caller's own line goes with the answer.
pub(in crate::daemon) async fn hibernate(asked: Asked) -> Result<Answer, Refusal> {
    let hold = asked.parameter("hold_ms").and_then(|hold| hold.parse().ok()).map_or(HOLD, Duration::from_millis);
    asked.caller.lines.hibernate(asked.caller.id, hold).await;
    shield::let_it_be_dumped();
    let mut answer = status(StatusCode::NO_CONTENT);
    answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    Ok(answer)
}

fn bad(message: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, message)
}
