//! Sandboxes: create, look, list, kill, and how long they live.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post, put},
};
use carrel_control::{Limit, Paging, SandboxQuery, Waited};
use carrel_model::{
    Grant, SandboxId, Timestamp,
    public::{NewSandbox, NewVolumeMount, SandboxView, an_object},
    sandbox::{Depth, EnvName, EnvValue, Lifetime, Metadata, Phase},
};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Refusal,
    ask::{Body, Caller, Named, Query, place, sandbox_id},
    interpreter, names,
    network::Asked as AskedNetwork,
    refusal::tombstone,
    words::{self, Connection},
};
use crate::{door::AskedOnce, house::Doors};

/// How long a sandbox lives when nobody says: for the newer path, and for the older one.
const USUAL_V2: u64 = 300;
const USUAL_V1: u64 = 15;
/// A page of sandboxes has no more, and as many when nobody says.
const LONGEST_PAGE: u32 = 100;
/// A refresh gives no more than this at once.
const LONGEST_REFRESH: u64 = 3600;
/// How long a creation, a pause or a resume is waited for. The SDKs wait for sixty seconds.
pub(super) const PATIENCE: Duration = Duration::from_secs(55);

pub(super) fn routes() -> Router<Doors> {
    Router::new()
        .route("/sandboxes", post(create_v1).get(list_v1))
        .route("/v2/sandboxes", post(create_v2).get(list))
        .route("/sandboxes/{id}", get(show).delete(kill))
        .route("/sandboxes/{id}/timeout", post(set_timeout))
        .route("/sandboxes/{id}/refreshes", post(refresh))
        .route("/sandboxes/{id}/network", put(set_network))
}

/// Asks for a sandbox.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct New {
    #[serde(rename = "templateID")]
    template_id: String,
    timeout: Option<u64>,
    auto_pause: Option<bool>,
    auto_pause_memory: Option<bool>,
    #[serde(default, deserialize_with = "an_object")]
    auto_resume: Option<AutoResume>,
    #[serde(rename = "allow_internet_access")]
    allow_internet_access: Option<bool>,
    #[serde(default, deserialize_with = "an_object")]
    network: Option<AskedNetwork>,
    metadata: Option<BTreeMap<String, String>>,
    env_vars: Option<BTreeMap<String, String>>,
    iam: Option<Value>,
    mcp: Option<Value>,
    volume_mounts: Option<Vec<NewVolumeMount>>,
    /// Every sandbox asks for its token, whatever this says.
    #[allow(dead_code, reason = "named so that it is known")]
    secure: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct AutoResume {
    #[serde(default)]
    enabled: bool,
}

/// What is told apart when a request is repeated.
#[derive(Serialize)]
struct Once<'a> {
    new: &'a NewSandbox,
}

impl New {
    fn understood(self, usual: u64) -> Result<NewSandbox, Refusal> {
        if self
            .iam
            .as_ref()
            .is_some_and(|iam| iam.get("tokens").and_then(Value::as_object).is_some_and(|t| !t.is_empty()))
        {
            return Err(Refusal::malformed("`iam` is not supported by this server: it issues no tokens of its own."));
        }
        if self.mcp.as_ref().and_then(Value::as_object).is_some_and(|servers| !servers.is_empty()) {
            return Err(Refusal::malformed(
                "`mcp` is not supported by this server: start MCP servers by a command inside the sandbox.",
            ));
        }
        let auto_pause = self.auto_pause == Some(true);
        let files_alone = auto_pause && self.auto_pause_memory == Some(false);
        let auto_resume = self.auto_resume.as_ref().is_some_and(|auto_resume| auto_resume.enabled);
        if auto_resume && files_alone {
            return Err(Refusal::malformed(
                "`autoResume` does not go with `autoPauseMemory: false`: what was running does not come back by itself.",
            ));
        }
        if auto_resume && !auto_pause {
            return Err(Refusal::malformed(
                "`autoResume` goes with `autoPause` only: what is killed does not come back.",
            ));
        }
        let asked = self.network.unwrap_or_default();
        let env: Result<BTreeMap<_, _>, _> = self.env_vars.unwrap_or_default().into_iter().map(variable).collect();
        let metadata = self.metadata.map(Metadata::try_from).transpose();
        Ok(NewSandbox {
            checkout: None,
            template: Some(names::ours(&self.template_id)?),
            env: Some(env?),
            metadata: metadata.map_err(|malformed| Refusal::malformed(format!("`metadata`: {}.", malformed.rule)))?,
            timeout_s: Some(lifetime(self.timeout.unwrap_or(usual))?),
            auto_pause: Some(auto_pause),
            auto_resume: Some(auto_resume),
            network: Some(asked.understood(self.allow_internet_access)?),
            ports: Some(asked.ports()),
            port_host: asked.port_host()?,
            tls_ports: Some(asked.tls_ports()),
            pause_depth: files_alone.then_some(Depth::Files),
            volumes: self.volume_mounts,
            ..NewSandbox::default()
        })
    }
}

fn variable((name, value): (String, String)) -> Result<(EnvName, EnvValue), Refusal> {
    let shown: String = name.chars().take(64).collect();
    let odd = |rule: &str| Refusal::malformed(format!("`envVars.{shown}`: {rule}."));
    let name = EnvName::try_from(name).map_err(|malformed| odd(malformed.rule))?;
    Ok((name, EnvValue::try_from(value).map_err(|malformed| odd(malformed.rule))?))
}

/// A lifetime of so many seconds. Nothing lives for none at all: it ends in a second.
pub(super) fn lifetime(seconds: u64) -> Result<Lifetime, Refusal> {
    Lifetime::new(seconds.max(1)).ok_or_else(|| Refusal::malformed("Timeout cannot be greater than 720 hours"))
}

async fn create_v1(
    state: State<Doors>,
    caller: Caller,
    headers: HeaderMap,
    once: AskedOnce,
    Body(new): Body<New>,
) -> Result<Response, Refusal> {
    create(&state, caller, &headers, once, new, USUAL_V1).await
}

async fn create_v2(
    state: State<Doors>,
    caller: Caller,
    headers: HeaderMap,
    once: AskedOnce,
    Body(new): Body<New>,
) -> Result<Response, Refusal> {
    create(&state, caller, &headers, once, new, USUAL_V2).await
}

async fn create(
    doors: &Doors,
    Caller(grant): Caller,
    headers: &HeaderMap,
    once: AskedOnce,
    new: New,
    usual: u64,
) -> Result<Response, Refusal> {
    let named = new.template_id.clone();
    let mut new = new.understood(usual)?;
    if once.key().is_some_and(|key| !is_request_name(key)) {
        return Err(Refusal::malformed("`Idempotency-Key`: expected 1 to 255 lower-case letters, digits and `-`."));
    }
    if let Some(template) = &new.template {
        new.limits = Some(doors.control.templates().limits(template).await?);
    }
    let once = once.of("e2b.create", &Once { new: &new });
    let desk = doors.control.sandboxes();
    let wanted = new.template.clone().filter(|name| name.as_str() == names::INTERPRETER);
    if let Some(name) = wanted
        && !doors.control.templates().is_ready(&name)
    {
        interpreter::prepare(doors, &grant, &name).await?;
    }
    let created = desk.create(&grant, new, once).await.map_err(|error| unknown_template(&named, error))?;
    let (id, repeated) = (created.sandbox.id.clone(), created.repeated);
    // It was ready for whoever asked first. What became of it since is no failure of this request.
    let state = words::state(&created.sandbox, words::now(&doors.control));
    if repeated && created.sandbox.ready_at.is_some() && state != Some("running") {
        let message = match state {
            Some(_) => format!("Sandbox {id}, which this Idempotency-Key made, is paused: connect to it"),
            None => {
                let stone = tombstone(&created.sandbox);
                format!("Sandbox {id}, which this Idempotency-Key made, is not there any more: {stone}")
            }
        };
        return Err(Refusal::new(409, message).for_good());
    }
    match desk.wait(&grant, &id, Phase::Ready, PATIENCE).await? {
        Waited::Reached(view) => {
            Ok((StatusCode::CREATED, axum::Json(connection(doors, &grant, headers, &view).await?)).into_response())
        }
        Waited::NotYet(_) if repeated => {
            let message = format!("Sandbox {id}, which this Idempotency-Key makes, is not ready yet");
            Err(Refusal::new(409, message).with_code("idempotency_request_in_progress"))
        }
        Waited::Never(view) => {
            let why = view.note.clone().unwrap_or_else(|| "it ended before it was ready".into());
            let _ = desk.destroy(&grant, &id).await;
            Err(Refusal::new(500, format!("Sandbox {id} could not be created: {why}"))
                .with_code("sandbox_create_failed")
                .for_good())
        }
        Waited::NotYet(_) => {
            // Nobody will ask for it: its id never leaves the house.
            let _ = desk.destroy(&grant, &id).await;
            let message = format!("Sandbox {id} was not ready after {PATIENCE:?} and was given up");
            Err(Refusal::new(504, message).with_code("sandbox_placement_timeout").for_good())
        }
    }
}

/// The alphabet that E2B has for the names of requests.
fn is_request_name(key: &str) -> bool {
    key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

fn unknown_template(named: &str, error: carrel_control::Error) -> Refusal {
    match &error {
        carrel_control::Error::Invalid { fields } if fields.iter().any(|field| field.field == "template") => {
            let shown: String = named.chars().take(128).collect();
            Refusal::new(404, format!("template '{shown}' not found"))
        }
        carrel_control::Error::Unavailable { .. } => Refusal::from(error).with_code("sandbox_capacity_unavailable"),
        _ => error.into(),
    }
}

/// What a client needs to talk to a sandbox that works.
pub(super) async fn connection(
    doors: &Doors,
    grant: &Grant,
    headers: &HeaderMap,
    view: &SandboxView,
) -> Result<Connection, Refusal> {
    let token = doors.control.sandboxes().token(grant, &view.id).await?;
    let token = token.map(|token| token.expose_secret().to_owned());
    let traffic = doors.control.ports().traffic_token(view).await?;
    Ok(Connection::new(view, token, traffic, domain(doors, headers)))
}

/// The domain under which ports have names: what the operator says, else the name that the client called us by.
pub(crate) fn domain(doors: &Doors, headers: &HeaderMap) -> Option<String> {
    if let Some(domain) = &doors.options.sandbox_domain {
        return Some(domain.clone());
    }
    let host = headers.get(header::HOST)?.to_str().ok()?;
    let host = host.strip_prefix("api.").unwrap_or(host);
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => (name, format!(":{port}")),
        _ => (host, String::new()),
    };
    // Addresses have no names below them; this one has, and it is the same machine.
    let is_address = name.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    match is_address {
        Ok(address) if address.is_loopback() => Some(format!("localhost{port}")),
        Ok(_) => None,
        Err(_) => Some(format!("{name}{port}")),
    }
}

/// A sandbox that has not ended, with the word for where it is.
pub(super) async fn alive(
    doors: &Doors,
    grant: &Grant,
    id: &SandboxId,
) -> Result<(Arc<SandboxView>, &'static str), Refusal> {
    let view = doors.control.sandboxes().get(grant, id).await;
    let view = view.map_err(|error| match error {
        carrel_control::Error::NotFound { .. } => Refusal::no_sandbox(id.as_str()),
        error => Refusal::of_sandbox(id, error),
    })?;
    match words::state(&view, words::now(&doors.control)) {
        Some(state) => Ok((view, state)),
        None if words::is_unborn(&view) => Err(Refusal::unborn(&view)),
        None => Err(Refusal::ended(&view)),
    }
}

async fn show(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    headers: HeaderMap,
    Named(id): Named,
) -> Result<axum::Json<Value>, Refusal> {
    let (view, state) = alive(&doors, &grant, &id).await?;
    // One that sleeps deep has nobody who asks for a token.
    let token = doors.control.sandboxes().token(&grant, &id).await.ok().flatten();
    let token = token.map(|token| token.expose_secret().to_owned());
    Ok(axum::Json(words::detailed(&view, state, token, domain(&doors, &headers))))
}

async fn kill(State(doors): State<Doors>, Caller(grant): Caller, Named(id): Named) -> Result<StatusCode, Refusal> {
    match alive(&doors, &grant, &id).await {
        Ok(_) => {}
        // One that nobody waits for any more need not become ready first.
        Err(refusal) if refusal.is_of_unborn() => {}
        Err(refusal) => return Err(refusal),
    }
    doors.control.sandboxes().remove(&grant, &id).await.map_err(|error| Refusal::of_sandbox(&id, error))?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize)]
struct NewTimeout {
    timeout: u64,
}

async fn set_timeout(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Named(id): Named,
    Body(asked): Body<NewTimeout>,
) -> Result<StatusCode, Refusal> {
    let (_, state) = alive(&doors, &grant, &id).await?;
    if state == "paused" {
        return Err(Refusal::new(404, format!("Sandbox {id} not found: it is paused, connect to it first")));
    }
    let lifetime = lifetime(asked.timeout)?;
    let set = doors.control.sandboxes().set_timeout(&grant, &id, lifetime).await;
    set.map_err(|error| Refusal::of_sandbox(&id, error))?;
    Ok(StatusCode::NO_CONTENT)
}

/// The whole of it anew: what is left out is cleared.
#[derive(Debug, Deserialize)]
struct NewEgress {
    #[serde(flatten)]
    network: AskedNetwork,
    allow_internet_access: Option<bool>,
}

async fn set_network(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Named(id): Named,
    Body(asked): Body<NewEgress>,
) -> Result<StatusCode, Refusal> {
    let (view, state) = alive(&doors, &grant, &id).await?;
    if state == "paused" {
        return Err(Refusal::new(409, format!("Sandbox {id} is paused: connect to it first")));
    }
    asked.network.refuse_in_a_change(&view)?;
    let network = asked.network.understood(asked.allow_internet_access)?;
    let set = doors.control.sandboxes().set_network(&grant, &id, network).await;
    set.map_err(|error| Refusal::of_sandbox(&id, error))?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize)]
struct Refresh {
    duration: Option<u64>,
}

/// Lets it live on for so long, if that is longer than it would.
async fn refresh(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Named(id): Named,
    Body(asked): Body<Refresh>,
) -> Result<StatusCode, Refusal> {
    let (_, state) = alive(&doors, &grant, &id).await?;
    if state == "paused" {
        return Err(Refusal::new(404, format!("Sandbox {id} not found: it is paused, connect to it first")));
    }
    let duration = asked.duration.unwrap_or(USUAL_V1);
    if duration > LONGEST_REFRESH {
        return Err(Refusal::malformed(format!("`duration`: expected a whole number from 0 to {LONGEST_REFRESH}.")));
    }
    let lifetime = lifetime(duration)?;
    let taken = doors.control.sandboxes().take_up(&grant, &id, lifetime, None).await;
    taken.map_err(|error| Refusal::of_sandbox(&id, error))?;
    Ok(StatusCode::NO_CONTENT)
}

/// Which sandboxes are asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Ask {
    metadata: Option<String>,
    state: Option<String>,
    order: Option<String>,
    started_after: Option<Timestamp>,
    template: Option<String>,
    limit: Option<u32>,
    next_token: Option<String>,
}

struct Sieve {
    metadata: Vec<(String, String)>,
    states: Vec<String>,
    started_after: Option<Timestamp>,
    template: Option<String>,
    now: Timestamp,
}

impl Sieve {
    fn new(ask: &Ask, now: Timestamp) -> Result<Self, Refusal> {
        let states: Vec<String> =
            ask.state.as_deref().unwrap_or("running,paused").split(',').map(str::to_owned).collect();
        if let Some(odd) = states.iter().find(|state| !["running", "paused"].contains(&state.as_str())) {
            return Err(Refusal::malformed(format!("`state` is a list of `running` and `paused`, not `{odd}`.")));
        }
        if ask.template.as_ref().is_some_and(|template| template.contains(':')) {
            return Err(Refusal::malformed("`template` is a name or an id, without a tag."));
        }
        let template = ask.template.as_deref().map(names::ours).transpose()?;
        Ok(Sieve {
            metadata: ask.metadata.as_deref().map(metadata_filter).unwrap_or_default(),
            states,
            started_after: ask.started_after,
            template: template.map(|name| names::theirs(&name).to_owned()),
            now,
        })
    }

    fn takes(&self, view: &SandboxView) -> Option<Value> {
        let state = words::state(view, self.now)?;
        let named = || names::split(names::theirs(&view.template)).0;
        let taken = self.states.iter().any(|wanted| wanted == state)
            && self.metadata.iter().all(|(key, value)| view.metadata.get(key) == Some(value))
            && self.started_after.is_none_or(|after| view.ready_at.unwrap_or(view.created_at) >= after)
            && self.template.as_deref().is_none_or(|template| named() == template);
        taken.then(|| words::listed(view, state))
    }
}

/// The SDKs encode this three times: the parameter, the form inside it, and each word of the form.
fn metadata_filter(text: &str) -> Vec<(String, String)> {
    let once_more = |text: &str| -> String {
        let plain = text.replace('+', "%2B");
        form_urlencoded::parse(format!("x={plain}").as_bytes())
            .next()
            .map(|(_, value)| value.into_owned())
            .unwrap_or_default()
    };
    form_urlencoded::parse(text.as_bytes()).map(|(key, value)| (once_more(&key), once_more(&value))).collect()
}

async fn list_v1(
    State(doors): State<Doors>,
    Caller(grant): Caller,
    Query(ask): Query<Ask>,
) -> Result<Response, Refusal> {
    let ask = Ask { metadata: ask.metadata, state: Some("running".into()), ..Ask::default() };
    page(&doors, &grant, ask, 1000).await
}

async fn list(State(doors): State<Doors>, Caller(grant): Caller, Query(ask): Query<Ask>) -> Result<Response, Refusal> {
    match ask.limit.unwrap_or(LONGEST_PAGE) {
        most @ 1..=LONGEST_PAGE => page(&doors, &grant, ask, most as usize).await,
        _ => Err(Refusal::malformed(format!("`limit`: expected a whole number from 1 to {LONGEST_PAGE}."))),
    }
}

async fn page(doors: &Doors, grant: &Grant, ask: Ask, most: usize) -> Result<Response, Refusal> {
    let sieve = Sieve::new(&ask, words::now(&doors.control))?;
    let newest_first = match ask.order.as_deref() {
        None | Some("desc") => true,
        Some("asc") => false,
        Some(odd) => return Err(Refusal::malformed(format!("`order` is `asc` or `desc`, not `{odd}`."))),
    };
    let after = ask.next_token.as_deref().map(place).transpose()?;
    if after.is_some_and(|(_, id)| sandbox_id(id).is_none_or(|known| known.as_str() != id)) {
        return Err(Refusal::malformed(
            "`nextToken`: it names no sandbox; send the `x-next-token` of an earlier page.",
        ));
    }
    let mut found: Vec<(Timestamp, SandboxId, Value)> = Vec::new();
    let mut cursor = if newest_first { ask.next_token.clone() } else { None };
    loop {
        let paging = Paging { limit: Limit::new(1000), cursor };
        let query = SandboxQuery { paging, ..SandboxQuery::default() };
        let page = doors.control.sandboxes().list(grant, query).await?;
        found.extend(page.items.iter().filter_map(|view| Some((view.created_at, view.id.clone(), sieve.takes(view)?))));
        cursor = page.next;
        if cursor.is_none() || (newest_first && found.len() > most) {
            break;
        }
    }
    if !newest_first {
        found.reverse();
        if let Some(after) = after {
            found.retain(|(at, id, _)| (at.as_microsecond(), id.as_str()) > after);
        }
    }
    let next = (found.len() > most).then(|| &found[most - 1]).map(|(at, id, _)| Paging::place(*at, id.as_str()));
    found.truncate(most);
    let items: Vec<Value> = found.into_iter().map(|(_, _, item)| item).collect();
    let mut response = axum::Json(items).into_response();
    if let Some(next) = next.and_then(|next| HeaderValue::from_str(&next).ok()) {
        response.headers_mut().insert(HeaderName::from_static("x-next-token"), next);
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_decoded_as_often_as_the_sdks_encode_it() {
        let pairs = |text: &str| metadata_filter(text);
        assert_eq!(pairs("a%2520b=c%2526d&e=f"), [("a b".into(), "c&d".into()), ("e".into(), "f".into())]);
        assert_eq!(pairs("a=b"), [("a".into(), "b".into())]);
    }
}
