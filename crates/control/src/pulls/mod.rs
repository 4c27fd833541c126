//! Pull requests: opened, looked at, published, merged; who would conflict with whom.
//!
//! ```text
//! Open ─► Checking ─► Mergeable | Conflicted ─► Merged | Closed
//! ```
//!
//! Every verb here may be asked twice: it finds what was done, or finishes it. What is seen at a forge is written down
//! and told in one change, each word once, whoever looks and however often.

mod bases;
mod by_itself;
mod check;
mod forecast;
mod lane;
mod letters;
mod look;
mod merge;
mod open;
mod publish;
mod rebase;
mod settled;
mod sign;
mod view;
mod walk;

pub(crate) use self::{
    bases::{tell_of_bases, watch_base},
    by_itself::{merge_pull_by_itself, tend as tend_pull},
    letters::take_letter,
    look::{look_at_pull, look_at_pulls_of, look_at_pulls_soon},
    merge::merge_pull,
    view::{LANE_CHECK, checks_of, comment_of, review_of},
    walk::{look_at_repo, take_up_former_lanes, walk},
};
pub(crate) use self::{
    check::{Checked, house_grant, try_out},
    forecast::{Outlook, forecast},
    lane::{Hold, still_holds},
    open::{PullWish, open_pull},
    publish::{publish, take_back},
    rebase::{Rebased, rebase_branch},
    sign::signer_of,
};
pub use self::{
    forecast::{Foreseen, ForeseenWith, Live, Moved},
    letters::{LetterRefused, Posted},
    merge::{MergeRefused, MergeWish, Merged},
};
