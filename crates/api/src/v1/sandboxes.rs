//! Sandboxes, over HTTP.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use carrel_control::{Begun, Error, Forked, Idempotency, Paging, SandboxQuery, Waited as WaitEnded};
use carrel_model::{
    AgentId, Grant, ProviderName, SandboxId, TaskId, TemplateName,
    number::Whole,
    public::{
        MoreHosts, NewExec, NewFork, NewPause, NewSandbox, NewSnapshot, NewTimeout, Page, Problem as ProblemBody,
        RefusedHost, SandboxCreated, SandboxDetail, SandboxPage, SandboxView, StatsView, TemplateView,
    },
    sandbox::Phase,
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    door::{
        AskedOnce, Asker, Created, EventFrames, Json, Limit, Name, OptionalJson, Problem, Query, Waited, frame,
        from_text, wants_events,
    },
    house::Doors,
    v1::execs::{Telling, to_its_end},
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(get, destroy))
        .routes(routes!(pause))
        .routes(routes!(resume))
        .routes(routes!(set_timeout))
        .routes(routes!(allow_hosts))
        .routes(routes!(refused))
        .routes(routes!(stats))
        .routes(routes!(snapshot))
        .routes(routes!(fork))
}

/// Whether to wait, for what, and how long.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct Wait {
    /// Answer only when the sandbox is in this phase; the header `Carrel-Waited` says how the wait ended.
    pub(super) wait: Option<Phase>,
    /// Seconds to wait at most: 1 to 600, 60 when left out.
    #[param(value_type = Option<u64>, minimum = 1, maximum = 600)]
    #[serde(deserialize_with = "from_text")]
    pub(super) timeout: Option<Whole<1, 600>>,
}

impl Wait {
    /// Waits if asked to, and shows the sandbox as it then is.
    pub(super) async fn on(
        &self,
        doors: &Doors,
        grant: &Grant,
        view: Arc<SandboxView>,
    ) -> Result<(Arc<SandboxView>, Waited), Problem> {
        let Some(phase) = self.wait else { return Ok((view, Waited::NotAsked)) };
        let most = self.most();
        let ended = doors.control.sandboxes().wait(grant, &view.id, phase, most).await?;
        let waited = Waited::from(&ended);
        let (WaitEnded::Reached(view) | WaitEnded::Never(view) | WaitEnded::NotYet(view)) = ended;
        Ok((view, waited))
    }

    /// How long at most.
    fn most(&self) -> Duration {
        Duration::from_secs(self.timeout.map_or(60, Whole::get))
    }

    async fn show(&self, doors: &Doors, grant: &Grant, view: Arc<SandboxView>) -> Result<Response, Problem> {
        let (view, waited) = self.on(doors, grant, view).await?;
        Ok((waited.headers(), axum::Json(view)).into_response())
    }
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
struct Ask {
    /// At most so many sandboxes: 1 to 1000, 100 when left out.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    #[serde(deserialize_with = "from_text")]
    limit: Option<Limit>,
    /// The `next` of the page before.
    cursor: Option<String>,
    /// In this phase; all but `gone` when left out.
    phase: Option<Phase>,
    /// At this provider.
    provider: Option<ProviderName>,
    /// From this template.
    template: Option<TemplateName>,
    /// Of this agent.
    agent_id: Option<AgentId>,
    /// Of this task.
    #[serde(deserialize_with = "from_text")]
    task_id: Option<TaskId>,
}

/// Asks for a sandbox. It is born `requested`; the events tell when it is `ready`. With `exec` the answer waits until the
/// sandbox is ready and the command has ended; with `Accept: text/event-stream` it tells of `sandbox`, and then of `start`,
/// `stdout`, `stderr` and `end` as they happen. Where the command cannot be started, no sandbox is left.
#[utoipa::path(post, path = "/sandboxes", operation_id = "create_sandbox", tag = "sandboxes", request_body(content = Option<NewSandbox>),
    params(Wait, ("Idempotency-Key" = Option<String>, Header, description = "Repeating the request with the same key makes one thing.")),
    responses((status = 201, description = "It was asked for.", body = SandboxCreated),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn create(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Query(wait): Query<Wait>,
    once: AskedOnce,
    headers: HeaderMap,
    OptionalJson(mut new): OptionalJson<NewSandbox>,
) -> Result<Response, Problem> {
    let once = once.of("sandbox.create", &new);
    if let Some(exec) = new.exec.take() {
        return create_and_run(&doors, &grant, &wait, once, &headers, (new, exec)).await;
    }
    let created = doors.control.sandboxes().create(&grant, new, once).await?;
    let place = format!("/api/v1/sandboxes/{}", created.sandbox.id);
    let (body, waited) = wait.on(&doors, &grant, created.sandbox).await?;
    Ok(Created { place, body, repeated: created.repeated, waited }.into_response())
}

/// The same with a command.
async fn create_and_run(
    doors: &Doors,
    grant: &Grant,
    wait: &Wait,
    once: Option<Idempotency>,
    headers: &HeaderMap,
    (new, exec): (NewSandbox, NewExec),
) -> Result<Response, Problem> {
    if wait.wait.is_some_and(|phase| phase != Phase::Ready) {
        return Err(Error::field("wait", "with `exec` only `ready` can be waited for").into());
    }
    let background = exec.background == Some(true);
    let made = doors.control.sandboxes().create_and_run(grant, new, exec, once, wait.most()).await?;
    let place = format!("/api/v1/sandboxes/{}", made.sandbox.id);
    let (sandbox, repeated, waited) = (made.sandbox, made.repeated, Waited::from(&made.waited));
    let exec = match made.running {
        Some(running) if wants_events(headers) => {
            let told = Telling::after(frame("sandbox", None, &*sandbox), running).answer();
            let created = Created { place, body: (), repeated, waited }.into_response();
            let (mut head, _) = created.into_parts();
            head.headers.extend(told.headers().clone());
            return Ok(Response::from_parts(head, told.into_body()));
        }
        Some(running) => Some(to_its_end(running, background).await?),
        None => None,
    };
    Ok(Created { place, body: SandboxCreated { sandbox, exec }, repeated, waited }.into_response())
}

/// Lists sandboxes, newest first: those that the key may see.
#[utoipa::path(get, path = "/sandboxes", operation_id = "list_sandboxes", tag = "sandboxes", params(Ask),
    responses((status = 200, description = "A page of sandboxes.", body = SandboxPage),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn list(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Query(ask): Query<Ask>,
) -> Result<axum::Json<SandboxPage>, Problem> {
    let query = SandboxQuery {
        phase: ask.phase,
        provider: ask.provider,
        template: ask.template,
        agent: ask.agent_id,
        task: ask.task_id,
        paging: Paging { limit: ask.limit, cursor: ask.cursor },
    };
    Ok(axum::Json(doors.control.sandboxes().list(&grant, query).await?))
}

/// Shows a sandbox. One that ended is shown as its tombstone.
#[utoipa::path(get, path = "/sandboxes/{id}", operation_id = "get_sandbox", tag = "sandboxes", params(("id" = SandboxId, Path)),
    responses((status = 200, description = "The sandbox.", body = SandboxDetail),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn get(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SandboxId>,
) -> Result<axum::Json<SandboxDetail>, Problem> {
    Ok(axum::Json(doors.control.sandboxes().detail(&grant, &id).await?))
}

/// Asks for a sandbox to be paused. One that is paused may be asked to sleep deeper.
#[utoipa::path(post, path = "/sandboxes/{id}/pause", operation_id = "pause_sandbox", tag = "sandboxes", params(("id" = SandboxId, Path), Wait), request_body(content = Option<NewPause>),
    responses((status = 200, description = "It was asked for.", body = SandboxView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn pause(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SandboxId>,
    Query(wait): Query<Wait>,
    OptionalJson(new): OptionalJson<NewPause>,
) -> Result<Response, Problem> {
    let view = doors.control.sandboxes().pause(&grant, &id, new.depth.unwrap_or_default()).await?;
    wait.show(&doors, &grant, view).await
}

/// Asks for a paused sandbox to work again. Its lifetime starts anew.
#[utoipa::path(post, path = "/sandboxes/{id}/resume", operation_id = "resume_sandbox", tag = "sandboxes", params(("id" = SandboxId, Path), Wait),
    responses((status = 200, description = "It was asked for.", body = SandboxView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn resume(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SandboxId>,
    Query(wait): Query<Wait>,
) -> Result<Response, Problem> {
    let view = doors.control.sandboxes().resume(&grant, &id).await?;
    wait.show(&doors, &grant, view).await
}

/// Lets a sandbox reach more hosts than before.
#[utoipa::path(post, path = "/sandboxes/{id}/hosts", operation_id = "allow_sandbox_hosts", tag = "sandboxes", params(("id" = SandboxId, Path)), request_body = MoreHosts,
    responses((status = 200, description = "The sandbox.", body = SandboxView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn allow_hosts(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SandboxId>,
    Json(more): Json<MoreHosts>,
) -> Result<axum::Json<Arc<SandboxView>>, Problem> {
    Ok(axum::Json(doors.control.sandboxes().allow_hosts(&grant, &id, more.allow).await?))
}

/// Lists the hosts that a sandbox was not let through to, newest first: the last 64 since the server began.
#[utoipa::path(get, path = "/sandboxes/{id}/refused", operation_id = "list_refused_hosts", tag = "sandboxes", params(("id" = SandboxId, Path)),
    responses((status = 200, description = "The hosts.", body = Page<RefusedHost>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn refused(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SandboxId>,
) -> Result<axum::Json<Page<RefusedHost>>, Problem> {
    let items = doors.control.sandboxes().refused(&grant, &id).await?;
    Ok(axum::Json(Page { items, next: None }))
}

/// Starts a sandbox's lifetime anew.
#[utoipa::path(post, path = "/sandboxes/{id}/timeout", operation_id = "set_sandbox_timeout", tag = "sandboxes", params(("id" = SandboxId, Path)), request_body = NewTimeout,
    responses((status = 200, description = "It lives that long from now on.", body = SandboxView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn set_timeout(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SandboxId>,
    Json(new): Json<NewTimeout>,
) -> Result<axum::Json<Arc<SandboxView>>, Problem> {
    Ok(axum::Json(doors.control.sandboxes().set_timeout(&grant, &id, new.timeout_s).await?))
}

/// Shows what a sandbox uses, and what goes on in it.
#[utoipa::path(get, path = "/sandboxes/{id}/stats", operation_id = "get_sandbox_stats", tag = "sandboxes", params(("id" = SandboxId, Path)),
    responses((status = 200, description = "What it uses now.", body = StatsView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn stats(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SandboxId>,
) -> Result<axum::Json<StatsView>, Problem> {
    Ok(axum::Json(doors.control.sandboxes().stats(&grant, &id).await?))
}

/// Keeps a sandbox as it is now, as a template that others start from. It goes on undisturbed.
#[utoipa::path(post, path = "/sandboxes/{id}/snapshot", operation_id = "snapshot_sandbox", tag = "sandboxes", params(("id" = SandboxId, Path), ("Idempotency-Key" = Option<String>, Header, description = "Repeating the request with the same key makes one thing.")), request_body(content = Option<NewSnapshot>),
    responses((status = 201, description = "The template.", body = TemplateView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn snapshot(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SandboxId>,
    once: AskedOnce,
    OptionalJson(new): OptionalJson<NewSnapshot>,
) -> Result<Created<TemplateView>, Problem> {
    let once = once.of("sandbox.snapshot", &(&id, &new));
    let Begun { template, repeated } = doors.control.sandboxes().snapshot_once(&grant, &id, new, once).await?;
    let place = super::templates::place(&template.name);
    Ok(Created { place, body: template, repeated, waited: Waited::NotAsked })
}

/// Makes copies of a sandbox as it is now.
#[utoipa::path(post, path = "/sandboxes/{id}/fork", operation_id = "fork_sandbox", tag = "sandboxes", params(("id" = SandboxId, Path), Wait, ("Idempotency-Key" = Option<String>, Header, description = "Repeating the request with the same key makes one thing.")), request_body(content = Option<NewFork>),
    responses((status = 201, description = "The copies.", body = Page<SandboxView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn fork(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SandboxId>,
    Query(wait): Query<Wait>,
    once: AskedOnce,
    OptionalJson(new): OptionalJson<NewFork>,
) -> Result<Created<Page<Arc<SandboxView>>>, Problem> {
    let once = once.of("sandbox.fork", &(&id, &new));
    let Forked { forks, repeated } = doors.control.sandboxes().fork_once(&grant, &id, new, once).await?;
    let (mut items, mut last) = (Vec::with_capacity(forks.len()), Waited::NotAsked);
    for fork in forks {
        let (view, waited) = wait.on(&doors, &grant, fork).await?;
        last = last.worse(waited);
        items.push(view);
    }
    let place = format!("/api/v1/sandboxes/{}", items.first().map_or(&id, |fork| &fork.id));
    Ok(Created { place, body: Page { items, next: None }, repeated, waited: last })
}

/// Asks for a sandbox to end. Asking again is no mistake.
#[utoipa::path(delete, path = "/sandboxes/{id}", operation_id = "destroy_sandbox", tag = "sandboxes", params(("id" = SandboxId, Path), Wait),
    responses((status = 204, description = "It was asked for."),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn destroy(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SandboxId>,
    Query(wait): Query<Wait>,
) -> Result<Response, Problem> {
    let view = doors.control.sandboxes().remove(&grant, &id).await?;
    let (_, waited) = wait.on(&doors, &grant, view).await?;
    Ok((StatusCode::NO_CONTENT, waited.headers()).into_response())
}
