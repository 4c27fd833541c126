//! Tasks whose pulls are at GitHub: a stand-in that is held to GitHub's own description, and a real repository behind it.

#[path = "../../../../forge/tests/forges/bare.rs"]
#[allow(dead_code, reason = "shared with the tests of the forges")]
mod bare;
#[path = "../../../../forge/tests/forges/github/description.rs"]
#[allow(dead_code, reason = "shared with the tests of the forges")]
mod description;
#[path = "../../../../forge/tests/forges/github/desk.rs"]
#[allow(dead_code, reason = "shared with the tests of the forges")]
mod desk;
mod refusals;
mod rules;
mod settled;
#[path = "../../../../forge/tests/forges/github/standin.rs"]
#[allow(dead_code, reason = "shared with the tests of the forges")]
mod standin;
#[path = "../../../../api/tests/door/github/upstream.rs"]
#[allow(dead_code, reason = "shared with the tests of the doors")]
mod upstream;
#[path = "../../../../forge/tests/forges/github/words.rs"]
#[allow(dead_code, reason = "shared with the tests of the forges")]
mod words;
