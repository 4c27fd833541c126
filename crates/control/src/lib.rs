//! The study: decides. Desks take a grant and write what people want; keepers walk the house and make it so.
//!
//! The only crate that sees the ground floor together. Absent on purpose: HTTP, SQL and anything a provider does inside.
#![forbid(unsafe_code)]

mod bells;
mod credentials;
mod desks;
mod error;
mod forges;
mod hooks;
mod house;
mod inside;
mod keeper;
mod ledger;
mod library;
mod models;
mod nearness;
mod nodes;
mod numbers;
mod paging;
mod pulls;
mod registry;
mod secret;
mod settings;
mod shelf;
mod sturdy;
mod sweep;
mod tasks;
mod tools;
mod work;

pub use carrel_bell::Reach as NoticeReach;
pub use carrel_envd::{
    Content, Line,
    wire::{Codec, Operation},
};
pub use carrel_forge::hooks::{Dialect as LetterDialect, HookError as LetterError, MOST_BYTES as LARGEST_LETTER};
pub use carrel_git::{
    Renames,
    gateway::{Service as GitService, Upload, Version as GitVersion},
};
pub use carrel_model::usage::Dialect;
pub use carrel_sandbox::{
    egress::{Behind, Passed},
    volume::{EntryKind, Ownership, VolumeContent, VolumeEntry, VolumeError},
};
pub use carrel_store::{Chunk, Stream, UsageFilter};
pub use credentials::ForgeKeys;
pub use desks::{
    agents::AgentsDesk,
    audit::{AuditDesk, AuditQuery},
    copies::Forked,
    diffs::Extract,
    events::{EventFilter, EventsDesk, Heard, Listener},
    execs::{Attached, ExecsDesk, Running},
    files::{FilesDesk, Found},
    first::Furnished,
    gateway::{GatewayDesk, Visitor},
    hooks::HooksDesk,
    keys::{KeysDesk, Link, Visit},
    logs::{LogReader, LogsDesk},
    models::{Asked, ModelVisit, ModelsDesk},
    nodes::{NodePass, NodesDesk},
    notices::NoticesDesk,
    outbound::OutboundDesk,
    parcels::{Delivery, Wrapped},
    ports::{PortLine, PortsDesk},
    providers::ProvidersDesk,
    prune::PruneDesk,
    pulls::{PullQuery, PullsDesk},
    quotas::{Quotas, QuotasDesk},
    repos::ReposDesk,
    sandboxes::{Created, SandboxQuery, SandboxesDesk, Waited},
    secrets::SecretsDesk,
    sessions::{SessionQuery, SessionsDesk},
    steps::{BuildStep, FilesHash, Given, Steps},
    tasks::{TaskQuery, TaskWaited, TasksDesk},
    templates::{Begun, ContentKind, TemplatesDesk},
    verbs::Verb,
    visits::{Destination, TurnedAway, Visit as PortVisit},
    volumes::VolumesDesk,
    work::WorkDesk,
};
pub use error::{Error, TooMuch};
pub use house::{Control, Idempotency};
pub use inside::{live::Reader, samples::Sample};
pub use ledger::StoreLedger;
pub use models::{BadPrice, ModelProvider, Models, Prices};
pub use nodes::Whereabouts;
pub use paging::{Limit, Paging};
pub use pulls::{Foreseen, ForeseenWith, LetterRefused, Live, MergeRefused, MergeWish, Merged, Moved, Posted};
pub use secret::{new_node_id, new_uuid, uuid_of};
pub use settings::{Notices, Patience, Retention, Settings, Workload};
pub use tools::{About, ToolPermits, ToolsDesk};
pub use work::{Work, furnish::Saved};
