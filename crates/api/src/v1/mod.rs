//! `/api/v1`: one file per noun, one function per verb.

mod agents;
mod audit;
mod bulk;
mod diffs;
mod events;
mod execs;
mod files;
mod hooks;
mod keys;
mod logs;
mod nodes;
mod notices;
mod parcels;
mod port_links;
mod ports;
mod providers;
mod prune;
mod pulls;
mod quotas;
mod reports;
mod repos;
mod sandboxes;
mod secrets;
mod sessions;
mod sign_in;
mod standing;
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
        .merge(bulk::routes())
        .merge(parcels::routes())
        .merge(reports::routes())
        .merge(standing::routes())
        .merge(hooks::routes())
        .merge(pulls::routes())
        .merge(events::routes())
        .merge(providers::routes())
        .merge(nodes::routes())
        .merge(keys::routes())
        .merge(secrets::routes())
        .merge(audit::routes())
        .merge(usage::routes())
        .merge(quotas::routes())
        .merge(prune::routes())
        .merge(notices::routes())
        .merge(sign_in::routes())
}
