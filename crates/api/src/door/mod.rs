//! What stands at every door: who is asking, what they say, how they are refused.

mod around;
mod ask;
mod bearer;
mod linger;
mod objects;
mod passing;
mod problem;
mod show;
mod sse;
mod wording;

pub(crate) use around::{Foreign, around, unknown_route, wrong_method};
pub(crate) use ask::{AskedOnce, Json, Limit, Name, Names, OptionalJson, Query, Raw, from_text, read_json, read_query};
pub(crate) use bearer::{
    Asker, FromOwnPage, Granted, Limiter, Origin, cookie_value, is_our_key, is_own_page, shows_ours, shows_something,
    visit_of,
};
pub(crate) use linger::hear_out;
pub(crate) use passing::{Passage, drop_hop_by_hop, keep_our_secrets, pass_on, upgrade_wanted};
pub(crate) use problem::Problem;
pub(crate) use show::{Created, Waited};
pub(crate) use sse::{EventFrames, frame, wants_events};
pub(crate) use wording::about_json;
