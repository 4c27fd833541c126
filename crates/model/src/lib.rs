//! What is true in Carrel: names, lives, limits, grants and the language the outside hears.
//!
//! Absent on purpose: input and output, async, clocks and randomness. Time, ids and random bytes arrive as
//! arguments, so the same story can be told twice.
#![forbid(unsafe_code)]

pub mod agent;
pub mod area;
pub mod audit;
pub mod breaker;
pub mod clock;
pub mod command;
pub mod exec;
pub mod git;
pub mod grant;
pub mod holder;
pub mod hook;
pub mod ids;
pub mod key;
pub mod node;
pub mod number;
pub mod parcel;
pub mod public;
pub mod push;
pub mod repo;
pub mod sandbox;
pub mod secret;
pub mod session;
pub mod task;
pub mod template;
pub mod tools;
pub mod usage;
pub mod volume;

pub use git::{Branch, BranchFormat, CommitId, RefName, RepoName, RepoSource};
pub use grant::{Action, Authority, Denied, Grant, Role, Subject};
pub use holder::Holder;
pub use ids::{
    AgentId, ExecId, HookId, KeyId, Malformed, NodeId, ProviderName, PushId, SandboxId, SecretName, SessionId, TaskId,
    TemplateName, VolumeId, VolumeName,
};
pub use jiff::Timestamp;
