//! The whole way with a Gitea or Forgejo: a house, a stand-in with Gitea's manners, and a real repository behind it that
//! is fetched from and pushed to over HTTP.

mod journey;
#[path = "../../../../forge/tests/forges/gitea/standin.rs"]
#[allow(dead_code, reason = "shared with the tests of the forges")]
mod standin;
