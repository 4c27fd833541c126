//! Links to ports under names of their own, over HTTP.

use axum::{extract::State, http::HeaderMap};
use carrel_model::{SandboxId, number::Whole, public::Problem as ProblemBody};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    door::{Asker, Created, Json, Name, Problem, Waited},
    e2b,
    house::Doors,
    passes::{self, Shown},
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new().routes(routes!(link))
}

/// Asks for a link to a port.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewPortLink {
    /// Which port.
    #[schema(value_type = u16, minimum = 1, maximum = 65535)]
    port: Whole<1, 65_535>,
    /// Whether it is opened in a frame of the board, and not in a tab.
    #[serde(default)]
    frame: bool,
}

/// A link to a port, under a name that belongs to it alone.
#[derive(Serialize, ToSchema)]
struct PortLink {
    /// The whole address. It opens the port in one browser, once; that browser may then come back for some hours.
    url: String,
}

/// Makes a link that opens a port in a browser, with an origin of its own: for pages that want cookies, storage or workers, as an
/// editor does. Something must listen there.
#[utoipa::path(post, path = "/sandboxes/{id}/port_link", operation_id = "create_port_link", tag = "sandboxes", params(("id" = SandboxId, Path)), request_body = NewPortLink,
    responses((status = 201, description = "The link.", body = PortLink),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn link(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(id): Name<SandboxId>,
    headers: HeaderMap,
    Json(asked): Json<NewPortLink>,
) -> Result<Created<PortLink>, Problem> {
    let port = asked.port.get() as u16;
    // Whether they may, whether it is awake, and whether anybody listens: all of it is asked by opening a line.
    drop(doors.control.ports().open(&grant, &id, port).await?);
    let Some(domain) = e2b::domain(&doors, &headers) else {
        let why = "ports have names of their own only below a name; this server is called by an address";
        let hint = "call it by a name, or set `server.sandbox_domain`";
        return Err(Problem::new(409, "conflict", "No name for it", why).with_hint(hint));
    };
    let scheme = if doors.options.secure { "https" } else { "http" };
    let page = passes::host_of(&headers).filter(|_| asked.frame);
    let code = doors.passes.code(&grant, &id, port, page.map_or(Shown::Alone, Shown::Within));
    let url = format!("{scheme}://{port}-{id}.{domain}/?{}", passes::query(&code));
    Ok(Created {
        place: format!("/api/v1/sandboxes/{id}/port_link"),
        body: PortLink { url },
        repeated: false,
        waited: Waited::NotAsked,
    })
}
