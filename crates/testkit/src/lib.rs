//! A whole house in a temporary directory, for tests: real databases, real HTTP, the fake provider.
//!
//! A house that closes asserts that it left nothing behind. Helpers panic when something is wrong: they are tests.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "everything here runs inside a test, where a panic is the verdict")]

mod bare;
mod database;
mod engine;
mod events;
mod house;
mod postgres;
mod process;
mod redis;
mod upstream;

pub use bare::Bare;
pub use database::TestDatabase;
pub use engine::{Engine, EngineSetup};
pub use events::{Event, EventStream};
pub use house::{House, Setup, defaults};
pub use postgres::Postgres;
pub use process::{Server, Start};
pub use redis::Redis;
pub use upstream::{Mood, Upstream, git_answers};

/// Runs an async test body on SQLite and on PostgreSQL.
#[macro_export]
macro_rules! on_both_databases {
    ($($(#[$about:meta])* async fn $name:ident($database:ident: TestDatabase) $body:block)+) => {
        mod sqlite {
            #[allow(unused_imports, reason = "what the bodies use is the business of the test file")]
            use super::*;
            $($(#[$about])* #[tokio::test(flavor = "multi_thread")] async fn $name() {
                let $database = $crate::TestDatabase::sqlite();
                $body
            })+
        }
        mod postgres {
            #[allow(unused_imports, reason = "what the bodies use is the business of the test file")]
            use super::*;
            $($(#[$about])* #[tokio::test(flavor = "multi_thread")] async fn $name() {
                let $database = $crate::TestDatabase::postgres().await;
                $body
            })+
        }
    };
}
