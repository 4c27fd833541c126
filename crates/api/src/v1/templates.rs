//! Templates, over HTTP.

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode},
    response::Response,
};
use bytes::Bytes;
use carrel_control::{Begun, ContentKind, Reader};
use carrel_model::{
    ProviderName, TemplateName,
    public::{NewTemplate, Page, Problem as ProblemBody, TemplateView},
};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    execs::{From, bytes_of, frames_of},
    files::content,
};
use crate::{
    door::{AskedOnce, Asker, Created, EventFrames, Json, Name, Problem, Query, Waited, frame, wants_events},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new()
        .routes(routes!(list, make))
        .routes(routes!(get, remove))
        .routes(routes!(log))
        .routes(routes!(make_from))
}

/// The address of a template. A name with `/` is one segment of it.
pub(super) fn place(name: &TemplateName) -> String {
    format!("/api/v1/templates/{}", form_urlencoded::byte_serialize(name.as_str().as_bytes()).collect::<String>())
}

/// Lists the templates, by name.
#[utoipa::path(get, path = "/templates", operation_id = "list_templates", tag = "templates",
    responses((status = 200, description = "The templates.", body = Page<TemplateView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn list(State(doors): State<Doors>, Asker(grant): Asker) -> Result<axum::Json<Page<TemplateView>>, Problem> {
    Ok(axum::Json(Page { items: doors.control.templates().list(&grant).await?, next: None }))
}

/// Asks for a template. The events tell when it is `ready`; its log tells how it goes.
#[utoipa::path(post, path = "/templates", operation_id = "make_template", tag = "templates", request_body = NewTemplate,
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeating the request with the same key makes one thing.")),
    responses((status = 201, description = "It is being made.", body = TemplateView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn make(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    once: AskedOnce,
    Json(new): Json<NewTemplate>,
) -> Result<Created<TemplateView>, Problem> {
    let once = once.of("template.make", &new);
    let Begun { template, repeated } = doors.control.templates().make(&grant, new, once).await?;
    Ok(Created { place: place(&template.name), body: template, repeated, waited: Waited::NotAsked })
}

/// Shows a template.
#[utoipa::path(get, path = "/templates/{name}", operation_id = "get_template", tag = "templates", params(("name" = TemplateName, Path, description = "With `%2F` for `/`.")),
    responses((status = 200, description = "The template.", body = TemplateView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn get(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(name): Name<TemplateName>,
) -> Result<axum::Json<TemplateView>, Problem> {
    Ok(axum::Json(doors.control.templates().get(&grant, &name).await?))
}

/// Forgets a template. Sandboxes that live on it are not disturbed.
#[utoipa::path(delete, path = "/templates/{name}", operation_id = "remove_template", tag = "templates", params(("name" = TemplateName, Path)),
    responses((status = 204, description = "It is forgotten."),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn remove(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(name): Name<TemplateName>,
) -> Result<StatusCode, Problem> {
    doors.control.templates().remove(&grant, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Tells how the making of a template went, or goes: text, or events with `Accept: text/event-stream`.
#[utoipa::path(get, path = "/templates/{name}/log", operation_id = "get_template_log", tag = "templates", params(("name" = TemplateName, Path), From),
    responses((status = 200, description = "The log.", body = String),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn log(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(name): Name<TemplateName>,
    headers: HeaderMap,
    Query(from): Query<From>,
) -> Result<Response, Problem> {
    let reader = doors.control.templates().log(&grant, &name, from.offset(&headers)).await?;
    if wants_events(&headers) {
        let ended = async move { doors.control.templates().get(&grant, &name).await.ok() };
        return Ok(Watching { reader, ended: Some(Box::pin(ended)) }.answer());
    }
    Ok(bytes_of(reader, from.follows()))
}

/// What is uploaded.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// An image, by `docker save` or in the OCI layout.
    Archive,
    /// A tar archive of a folder with a recipe in it, and what it copies.
    Recipe,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Uploaded {
    /// What the body is.
    #[param(inline)]
    kind: Kind,
    /// With `recipe`: where the recipe is in the archive; `Recipefile` when left out.
    #[serde(default)]
    file: Option<String>,
    /// Where it is made; the usual provider when left out.
    #[serde(default)]
    provider: Option<ProviderName>,
}

/// Asks for a template from what is uploaded.
#[utoipa::path(put, path = "/templates/{name}/content", operation_id = "make_template_from_content", tag = "templates", params(("name" = TemplateName, Path), Uploaded),
    request_body(content = Vec<u8>, content_type = "application/x-tar"),
    responses((status = 201, description = "It is being made.", body = TemplateView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn make_from(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(name): Name<TemplateName>,
    Query(uploaded): Query<Uploaded>,
    request: Request,
) -> Result<Created<TemplateView>, Problem> {
    let kind = match uploaded.kind {
        Kind::Archive => ContentKind::Archive,
        Kind::Recipe => ContentKind::Recipe,
    };
    let file = uploaded.file.as_deref().unwrap_or("Recipefile");
    let templates = doors.control.templates();
    let template = templates.make_from(&grant, name, uploaded.provider, kind, file, content(request)).await?;
    Ok(Created { place: place(&template.name), body: template, repeated: false, waited: Waited::NotAsked })
}

/// A making being watched.
struct Watching {
    reader: Reader,
    ended: Option<futures::future::BoxFuture<'static, Option<TemplateView>>>,
}

impl EventFrames for Watching {
    async fn next(&mut self) -> Option<Bytes> {
        match self.reader.next().await {
            Ok(Some(chunks)) => Some(frames_of(chunks)),
            Ok(None) => {
                let template = self.ended.take()?.await?;
                Some(frame("end", None, &template))
            }
            Err(_) => None,
        }
    }
}
