//! The published language: what HTTP, SSE, the command line and the page hear. It only grows.
//!
//! Everything else in the house stays unserializable to the outside.

mod ask;
mod entry;
mod exec;
mod problem;
mod repo;
mod secret;
mod template;
mod view;

pub use ask::{
    Defaults, Field, NewCheckout, NewFork, NewKey, NewLimits, NewNetwork, NewPause, NewSandbox, NewSnapshot,
    NewTimeout, SignIn,
};
pub use entry::{Cursor, Drain, Entry, Happening, Kind, Reset};
pub use exec::{
    Activity, Command, ExecSignal, ExecSize, ExecView, Executed, FileEntry, FileKind, LogLine, NewExec, StatsView,
};
pub use problem::{FieldProblem, Problem};
pub use repo::{NewRepo, PushView, RepoChange, RepoView};
pub use secret::{NewSecret, SecretText, SecretView};
pub use template::{From, NewTemplate, TemplateView};
pub use view::{
    Actor, AuditView, Bearer, BreakerState, BreakerView, EndedView, KeyView, Minted, Page, PausedView, ProviderView,
    Readiness, ReadinessView, SandboxDetail, SandboxPage, SandboxView, SignedIn, Status,
};
