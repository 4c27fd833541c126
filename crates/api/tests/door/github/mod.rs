//! The whole way with a forge outside: a house, a stand-in for GitHub that is held to GitHub's own description, and a real
//! repository behind it that is fetched from and pushed to over HTTP.

#[path = "../../../../forge/tests/forges/github/app.rs"]
#[allow(dead_code, reason = "shared with the tests of the forges")]
mod app;
#[path = "../../../../forge/tests/forges/bare.rs"]
#[allow(dead_code, reason = "shared with the tests of the forges")]
pub(crate) mod bare;
#[path = "../../../../forge/tests/forges/github/description.rs"]
#[allow(dead_code, reason = "shared with the tests of the forges")]
mod description;
#[path = "../../../../forge/tests/forges/github/desk.rs"]
#[allow(dead_code, reason = "shared with the tests of the forges")]
mod desk;
pub(crate) mod journey;
#[path = "../../../../forge/tests/forges/github/standin.rs"]
#[allow(dead_code, reason = "shared with the tests of the forges")]
mod standin;
pub(crate) mod upstream;
#[path = "../../../../forge/tests/forges/github/words.rs"]
#[allow(dead_code, reason = "shared with the tests of the forges")]
mod words;
