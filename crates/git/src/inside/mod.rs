//! Errands inside a sandbox: what the house has done there with git, as small scripts for `sh`.
//!
//! Each may be repeated, and called off in the middle. They run as whoever works there, with nothing more than the
//! sandbox has, and trust nothing that was left: no settings, no hooks, no index, no lock.

/// Saves the working tree as a commit under the task's name. Its arguments: the working tree, the ref, where to push,
/// the commit that the work began at (or nothing), the largest file in KiB.
///
/// It prints a line `large PATH` for each of the first fifty files that are too large to be saved, `shut PATH` for each of
/// the first fifty that cannot be read, then the commit that was saved, or nothing when nothing is different from what was saved before.
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
/// It prints the commit, or nothing when there is nothing to commit. Exit code 65: conflicts are not resolved; 67: there is
/// a repository within the repository; 68: files cannot be read.
pub const COMMIT: &str = concat!(include_str!("prelude.sh"), include_str!("mend.sh"), include_str!("commit.sh"));

/// Takes away the locks that a git has left which was killed, unless one is at work. Its arguments: the working tree, the
/// branch.
pub const UNLOCK: &str = concat!(include_str!("prelude.sh"), include_str!("mend.sh"), include_str!("unlock.sh"));

/// Pushes what is checked out to the task's branch. Its arguments: the working tree, the branch, where origin is, the
/// commit that the work began at. It prints the commit.
pub const PUSH: &str = concat!(include_str!("prelude.sh"), include_str!("mend.sh"), include_str!("push.sh"));

/// Clones through the gateway, for sandboxes that no layer can be laid under. Its arguments: the working tree, where
/// origin is, the branch, the commit, the author's name and address, the task (or nothing), `whole` or `blobless`.
pub const CLONE: &str = concat!(include_str!("prelude.sh"), include_str!("clone.sh"));

/// Makes the box of a sandbox that can ask nobody, or finds it. Its arguments: the working tree, the branch that its HEAD
/// is. It prints its refs, a commit and a name in each line.
pub const BOX: &str = concat!(include_str!("prelude.sh"), include_str!("box.sh"));

/// Takes what was brought into the box. Its argument: the working tree. What was brought lies in the files [`BROUGHT`].
pub const TAKE: &str = concat!(include_str!("prelude.sh"), include_str!("take.sh"));

/// Packs what a ref of the box has and the house has not, into [`SENT`]. Its arguments: the working tree, the ref, where it
/// is agreed on, the commit that the work began at, `known` or `whole`.
///
/// It prints where the ref is and where it was agreed to be; nothing when that is the same.
pub const SEND: &str = concat!(include_str!("prelude.sh"), include_str!("send.sh"));

/// Writes down what came of it. Its arguments: the working tree, the ref, where it is agreed on, and the commit that was
/// taken; without one it was refused.
pub const AGREE: &str = concat!(include_str!("prelude.sh"), include_str!("agree.sh"));

/// The box beside [`crate::WORKSPACE`].
pub const BOX_PLACE: &str = "/workspace.git";
/// Where what is brought lies, in the box: the pack, where history ends, where refs go.
pub const BROUGHT: [&str; 3] = ["carrel/in.pack", "carrel/in.ends", "carrel/in.refs"];
/// Where what is sent lies, in the box.
pub const SENT: &str = "carrel/out.pack";

/// The exit code of an errand that found no working tree.
pub const NO_TREE: i32 = 66;
/// The exit code of an errand that found conflicts.
pub const CONFLICTS: i32 = 65;
