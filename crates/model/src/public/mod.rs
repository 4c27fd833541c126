//! The published language: what HTTP, SSE, the command line and the page hear. It only grows.
//!
//! Everything else in the house stays unserializable to the outside.

mod ask;
mod entry;
mod problem;
mod view;

pub use ask::{Defaults, Field, NewKey, NewLimits, NewNetwork, NewSandbox, NewTimeout, SignIn};
pub use entry::{Cursor, Drain, Entry, Happening, Kind, Reset};
pub use problem::{FieldProblem, Problem};
pub use view::{
    Actor, AuditView, Bearer, BreakerState, BreakerView, EndedView, KeyView, Minted, Page, ProviderView, Readiness,
    ReadinessView, SandboxPage, SandboxView, SignedIn, Status,
};
