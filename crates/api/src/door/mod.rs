//! What stands at every door: who is asking, what they say, how they are refused.

mod around;
mod ask;
mod bearer;
mod problem;
mod show;

pub(crate) use around::{around, unknown_route, wrong_method};
pub(crate) use ask::{AskedOnce, Json, Limit, Name, OptionalJson, Query, from_text};
pub(crate) use bearer::{Asker, Limiter, Origin, cookie_value, is_own_page};
pub(crate) use problem::Problem;
pub(crate) use show::{Created, Waited};
