//! The study: decides. Desks take a grant and write what people want; keepers walk the house and make it so.
//!
//! The only crate that sees the ground floor together. Absent on purpose: HTTP, SQL and anything a provider does inside.
#![forbid(unsafe_code)]

mod credentials;
mod desks;
mod error;
mod house;
mod inside;
mod keeper;
mod ledger;
mod paging;
mod registry;
mod secret;
mod settings;
mod shelf;
mod sturdy;
mod sweep;

pub use carrel_envd::{Content, Line};
pub use carrel_store::{Chunk, Stream};
pub use credentials::ForgeKeys;
pub use desks::{
    audit::{AuditDesk, AuditQuery},
    events::{EventFilter, EventsDesk, Heard, Listener},
    execs::{Attached, ExecsDesk, Running},
    files::{FilesDesk, Found},
    keys::{KeysDesk, Link, Visit},
    logs::{LogReader, LogsDesk},
    ports::{PortLine, PortsDesk},
    providers::ProvidersDesk,
    sandboxes::{Created, SandboxQuery, SandboxesDesk, Waited},
    secrets::SecretsDesk,
    templates::{ContentKind, TemplatesDesk},
};
pub use error::Error;
pub use house::{Control, Idempotency};
pub use inside::live::Reader;
pub use ledger::StoreLedger;
pub use paging::{Limit, Paging};
pub use secret::new_node_id;
pub use settings::{Patience, Retention, Settings};
