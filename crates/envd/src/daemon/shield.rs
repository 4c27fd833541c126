//! The shield: envd holds the token, and nobody inside, root neither, may look into its memory or take its descriptors.
//!
//! A capability that it has and that nobody who is started after it can have keeps everybody out: the kernel lets nobody
//! look into a process with more rights than their own. Where the host gave it none, it is not dumpable at all; that
//! keeps everybody out too, and CRIU as well once it was restored (its memory then belongs to the host's users).

use std::io;

use rustix::{
    process::{DumpableBehavior, set_dumpable_behavior},
    thread::{CapabilitySet, capabilities, capability_is_in_bounding_set, remove_capability_from_bounding_set},
};

/// It wakes the machine from sleep, which is nobody's right inside.
const BADGE: CapabilitySet = CapabilitySet::WAKE_ALARM;

/// Keeps everybody out from now on. Nobody may have been started yet.
pub(super) fn raise() -> io::Result<()> {
    if has_badge() {
        // Whoever is started later can have what is in the bounding set, and nothing else.
        let _ = remove_capability_from_bounding_set(BADGE);
    }
    if is_badge_ours_alone() { Ok(()) } else { Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?) }
}

/// Lets the host dump it. The kernel takes that back whenever one of its threads acts as somebody else.
pub(super) fn let_it_be_dumped() {
    if is_badge_ours_alone() {
        let _ = set_dumpable_behavior(DumpableBehavior::Dumpable);
    }
}

fn is_badge_ours_alone() -> bool {
    has_badge() && capability_is_in_bounding_set(BADGE) == Ok(false)
}

fn has_badge() -> bool {
    capabilities(None).is_ok_and(|sets| sets.permitted.contains(BADGE))
}
