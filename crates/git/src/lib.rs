//! Mirrors, layers, pushes and merges, with the git command line as the engine.
//!
//! Absent on purpose: HTTP, SQL, sandboxes, and decisions about who may do what beyond `carrel_model::push`.
#![forbid(unsafe_code)]

mod bundle;
mod care;
pub mod carry;
mod changes;
mod commit;
mod error;
#[cfg(feature = "fuzz")]
pub mod fuzz;
pub mod gateway;
mod history;
mod index;
pub mod inside;
mod layer;
pub mod merge;
pub mod message;
mod mirror;
mod owner;
mod packet;
mod peek;
mod program;
mod progress;
mod publish;
mod refs;
mod secret;
mod seed;
mod sync;
mod wip;

pub use bundle::{Bundled, mirrors_in};
pub use changes::{Change, Leaf, Renames};
pub use commit::{Draft, Identity, Signer};
pub use error::GitError;
pub use layer::{BORROWED, Layer, Layers, Owner, WORKSPACE};
pub use mirror::{Mirror, Mirrors};
pub use program::{Git, too_old};
pub use progress::{Progress, Stage};
pub use publish::Publication;
pub use refs::{Move, Refs};
pub use secret::{Credential, Secret};
pub use seed::{Laid, Plan, Seed};
pub use sync::{BranchMove, Held, Synced, Turn, Upstream};
