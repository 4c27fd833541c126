//! What leaves by this door, in E2B's spelling.

use carrel_control::Control;
use carrel_model::{
    Timestamp,
    public::SandboxView,
    sandbox::{NetworkMode, Phase, Want},
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{names, network};

/// The version of envd's protocol that ours speaks. The SDKs choose by it what they ask.
pub(super) const ENVD_VERSION: &str = "0.6.13";
/// E2B names the machine that a sandbox is on; nobody reads it.
const CLIENT: &str = "carrel";

/// What a client needs to talk to a sandbox.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Connection {
    #[serde(rename = "templateID")]
    template_id: String,
    #[serde(rename = "sandboxID")]
    sandbox_id: String,
    #[serde(rename = "clientID")]
    client_id: &'static str,
    envd_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    alias: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    envd_access_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    traffic_access_token: Option<String>,
    domain: Option<String>,
}

impl Connection {
    pub(super) fn new(
        view: &SandboxView,
        envd_access_token: Option<String>,
        traffic_access_token: Option<String>,
        domain: Option<String>,
    ) -> Self {
        let name = names::theirs(&view.template).to_owned();
        Connection {
            template_id: name.clone(),
            sandbox_id: view.id.to_string(),
            client_id: CLIENT,
            envd_version: ENVD_VERSION,
            alias: Some(name),
            envd_access_token,
            traffic_access_token,
            domain,
        }
    }
}

/// Where a sandbox is, in E2B's two words; nothing when it has ended or never began.
pub(super) fn state(view: &SandboxView, now: Timestamp) -> Option<&'static str> {
    let passed = view.expires_at.is_some_and(|end| end <= now);
    match (view.phase, view.want) {
        (Phase::Closing | Phase::Gone | Phase::Failed, _) | (_, Want::Gone) => None,
        _ if passed && !view.auto_pause => None,
        (Phase::Requested | Phase::Preparing, _) => None,
        (Phase::Ready, Want::Ready) if !passed => Some("running"),
        (Phase::Ready, _) | (Phase::Paused, _) => Some("paused"),
    }
}

/// Whether it is on its way, and nobody wants it to end.
pub(super) fn is_unborn(view: &SandboxView) -> bool {
    matches!(view.phase, Phase::Requested | Phase::Preparing) && view.want != Want::Gone
}

/// One of a list.
pub(super) fn listed(view: &SandboxView, state: &str) -> Value {
    let name = names::theirs(&view.template);
    let end = match state {
        // Its clock stands still since it was paused.
        "paused" => view.updated_at,
        _ => view.expires_at.unwrap_or(view.updated_at),
    };
    let mounts: Vec<Value> =
        view.volumes.iter().map(|mount| json!({ "name": mount.name, "path": mount.path })).collect();
    json!({
        "templateID": name,
        "alias": name,
        "sandboxID": view.id,
        "clientID": CLIENT,
        "startedAt": view.ready_at.unwrap_or(view.created_at).to_string(),
        "endAt": end.to_string(),
        "cpuCount": cpu_count(view),
        "memoryMB": view.limits.memory_mb.get(),
        "diskSizeMB": view.limits.disk_mb.get(),
        "metadata": view.metadata,
        "state": state,
        "envdVersion": ENVD_VERSION,
        "volumeMounts": mounts,
    })
}

/// One with everything that can be told of it.
pub(super) fn detailed(
    view: &SandboxView,
    state: &str,
    envd_access_token: Option<String>,
    domain: Option<String>,
) -> Value {
    let mut shown = listed(view, state);
    shown["lifecycle"] = json!({
        "autoResume": view.auto_resume,
        "onTimeout": if view.auto_pause { "pause" } else { "kill" },
    });
    shown["network"] = network::shown(view);
    shown["allowInternetAccess"] = (view.network.mode != NetworkMode::None).into();
    shown["domain"] = domain.into();
    if let Some(token) = envd_access_token {
        shown["envdAccessToken"] = token.into();
    }
    if let Some(paused) = view.paused.filter(|_| state == "paused") {
        let files = paused.depth == carrel_model::sandbox::Depth::Files;
        shown["pauseMode"] = if files { "filesystem" } else { "full" }.into();
    }
    shown
}

/// Whole processors: E2B knows no parts of one.
pub(super) fn cpu_count(view: &SandboxView) -> u64 {
    view.limits.cpus.get().ceil() as u64
}

/// The house's clock.
pub(super) fn now(control: &Control) -> Timestamp {
    control.now()
}
