//! Errands inside a sandbox: what the house has done there with git, as small scripts for `sh`.
//!
//! Each may be repeated, and called off in the middle. They run as whoever works there, with nothing more than the
//! sandbox has, and trust nothing that was left: no settings, no hooks, no index, no lock.

/// Saves the working tree as a commit under the task's name. Its arguments: the working tree, the ref, where to push,
/// the commit that the work began at (or nothing), the largest file in KiB.
///
/// It prints the commit that was saved, or nothing when nothing is different from what was saved before.
pub const SAVE: &str = concat!(include_str!("prelude.sh"), include_str!("save.sh"));

/// Goes on from a saved commit in a new sandbox. Its arguments: the working tree, the commit, its ref, where to fetch it
/// from, the branch.
pub const RESTORE: &str = concat!(include_str!("prelude.sh"), include_str!("restore.sh"));

/// Looks at the working tree. Its arguments: the working tree, the commit that the work began at, the branch that it goes
/// to. It prints facts, a word and its value in each line: `branch`, `head`, `ahead`, `dirty`, `doing`.
pub const LOOK: &str = concat!(include_str!("prelude.sh"), include_str!("look.sh"));

/// Commits everything that is not ignored. Its arguments: the working tree, the branch, where origin is, the commit that
/// the work began at, the author's name and address, the message.
///
/// It prints the commit, or nothing when there is nothing to commit. Exit code 65: conflicts are not resolved.
pub const COMMIT: &str = concat!(include_str!("prelude.sh"), include_str!("mend.sh"), include_str!("commit.sh"));

/// Pushes what is checked out to the task's branch. Its arguments: the working tree, the branch, where origin is, the
/// commit that the work began at. It prints the commit.
pub const PUSH: &str = concat!(include_str!("prelude.sh"), include_str!("mend.sh"), include_str!("push.sh"));

/// Clones through the gateway, for sandboxes that no layer can be laid under. Its arguments: the working tree, where
/// origin is, the branch, the commit, the author's name and address, the task (or nothing), `whole` or `blobless`.
pub const CLONE: &str = concat!(include_str!("prelude.sh"), include_str!("clone.sh"));

/// The exit code of an errand that found no working tree.
pub const NO_TREE: i32 = 66;
/// The exit code of an errand that found conflicts.
pub const CONFLICTS: i32 = 65;
