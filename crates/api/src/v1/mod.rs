//! `/api/v1`: one file per noun, one function per verb.

mod agents;
mod audit;
mod events;
mod execs;
mod files;
mod hooks;
mod keys;
mod logs;
mod notices;
mod port_links;
mod ports;
mod providers;
mod pulls;
mod reports;
mod repos;
mod sandboxes;
mod secrets;
mod sessions;
mod sign_in;
mod tasks;
mod templates;
mod terminal;
mod tunnel;
mod usage;

use utoipa_axum::router::OpenApiRouter;

use crate::house::Doors;

pub(crate) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new()
        .merge(sandboxes::routes())
        .merge(execs::routes())
        .merge(files::routes())
        .merge(terminal::routes())
        .merge(ports::routes())
        .merge(port_links::routes())
        .merge(tunnel::routes())
        .merge(logs::routes())
        .merge(templates::routes())
        .merge(repos::routes())
        .merge(agents::routes())
        .merge(sessions::routes())
        .merge(tasks::routes())
        .merge(reports::routes())
        .merge(hooks::routes())
        .merge(pulls::routes())
        .merge(events::routes())
        .merge(providers::routes())
        .merge(keys::routes())
        .merge(secrets::routes())
        .merge(audit::routes())
        .merge(usage::routes())
        .merge(notices::routes())
        .merge(sign_in::routes())
}
