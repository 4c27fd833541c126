//! The names of git: refs, branches, commits, repositories and where they come from.
//!
//! What exists here may be written on git's command line: no name begins with a dash, holds a line break or a NUL, or
//! names a transport that runs a program.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Malformed, TaskId, ids::name};

mod source;

pub use source::{Locator, RepoSource, is_near_address};

name!(
    /// Names a repository in this house, in addresses and folders.
    RepoName,
    "a repo name is 1 to 63 lower-case letters, digits, `.`, `_` or `-`, begins with a letter or digit, and does not \
     end with `.git` or `.lock`",
    |text| crate::ids::is_slug(text, 63, b"._-") && ![".git", ".lock", "."].iter().any(|end| text.ends_with(end))
);
name!(
    /// A full name of a ref, such as `refs/heads/main`.
    RefName,
    "a ref is a full name such as `refs/heads/main`, as `git check-ref-format` has it, at most 250 bytes",
    |text| text.starts_with("refs/") && text.matches('/').count() >= 2 && is_ref(text)
);
name!(
    /// The name of a branch, without `refs/heads/`.
    Branch,
    "a branch is a name such as `main` or `feature/x`, as `git check-ref-format --branch` has it, at most 200 bytes",
    |text| text.len() <= 200 && text != "HEAD" && !text.starts_with('-') && is_ref(text)
);
name!(
    /// How the branches of tasks are named, with `{id}` for the number: `task-{id}`, `agents/{id}`.
    BranchFormat,
    "a branch with `{id}` in it once, such as `task-{id}`",
    |text| text.matches("{id}").count() == 1 && text.replace("{id}", "1").parse::<Branch>().is_ok()
);
name!(
    /// Names a commit, or any object: 40 hexadecimal digits.
    CommitId,
    "a commit id is 40 hexadecimal digits, in lower case",
    |text| text.len() == 40 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
);

impl Branch {
    /// The branch of a task: `task-42`.
    pub fn of_task(task: TaskId) -> Branch {
        Branch(format!("task-{task}"))
    }

    /// The task whose branch this is, by its usual name.
    pub fn task(&self) -> Option<TaskId> {
        BranchFormat::default().task(self)
    }

    /// Its full name.
    pub fn full(&self) -> RefName {
        RefName(format!("refs/heads/{}", self.0))
    }
}

impl Default for BranchFormat {
    fn default() -> Self {
        BranchFormat("task-{id}".into())
    }
}

impl BranchFormat {
    /// The branch of a task.
    pub fn of(&self, task: TaskId) -> Branch {
        Branch(self.0.replace("{id}", &task.to_string()))
    }

    /// The task whose branch this is, by its name.
    pub fn task(&self, branch: &Branch) -> Option<TaskId> {
        let (before, after) = self.0.split_once("{id}")?;
        let digits = branch.0.strip_prefix(before)?.strip_suffix(after)?;
        digits.parse().ok().filter(|task: &TaskId| task.to_string() == digits)
    }

    /// Whether a branch would stand in the way of tasks' branches: it lies below where one of them is or will be (`task-7/x`), or
    /// is a folder that they lie in (`agents`, where they are `agents/7`). Git has room for one of the two.
    pub fn is_blocked_by(&self, branch: &Branch) -> bool {
        let above = branch.0.match_indices('/').filter_map(|(end, _)| branch.0[..end].parse::<Branch>().ok());
        let is_folder = self.0.strip_prefix(branch.as_str()).is_some_and(|rest| rest.starts_with('/'));
        is_folder || above.into_iter().any(|above| self.task(&above).is_some())
    }
}

impl RefName {
    /// Where the work in progress of a task is kept.
    pub fn wip(task: TaskId) -> RefName {
        RefName(format!("refs/carrel/wip/{task}"))
    }

    /// Where what was done for a task that was closed is kept for a while.
    pub fn kept(task: TaskId) -> RefName {
        RefName(format!("refs/carrel/kept/task-{task}"))
    }

    /// Where the commits of a pull are kept that its base took as others: squashed, or rebased. The forge is a word of ours.
    pub fn pull(forge: &str, number: u64) -> RefName {
        RefName(format!("refs/carrel/pulls/{forge}/{number}"))
    }

    /// The branch that it names, when it names one.
    pub fn branch(&self) -> Option<Branch> {
        self.0.strip_prefix("refs/heads/").and_then(|short| short.parse().ok())
    }

    /// Whether it lies below a folder of refs.
    pub fn is_below(&self, folder: &str) -> bool {
        self.0.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }
}

impl CommitId {
    /// What stands for "there is none" on the wire.
    pub const NONE: &'static str = "0000000000000000000000000000000000000000";

    /// The first digits, for sentences.
    pub fn short(&self) -> &str {
        &self.0[..10]
    }
}

/// The rules of `git check-ref-format`, and a limit that leaves room for `.lock` in a file's name.
fn is_ref(text: &str) -> bool {
    let component = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let plain = |c: char| !c.is_control() && !" ~^:?*[\\".contains(c);
    (1..=250).contains(&text.len())
        && text.chars().all(plain)
        && text.split('/').all(component)
        && !text.ends_with('.')
        && !text.contains("..")
        && !text.contains("@{")
        && text != "@"
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_branch_follows_gits_own_rules() {
        for good in ["main", "task-42", "feature/x", "ünïcode", "a.b", "v1.2-rc_3", "@a"] {
            assert!(good.parse::<Branch>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "-f",
            "--upload-pack=touch /tmp/x",
            "a..b",
            "a b",
            "a\nb",
            "a\0b",
            ".a",
            "a/.b",
            "a/",
            "/a",
            "a//b",
            "a.lock",
            "a/b.lock/c",
            "a~1",
            "a^",
            "a:b",
            "a?",
            "a*",
            "a[b",
            "a\\b",
            "@",
            "a@{1}",
            "HEAD",
            "a.",
            "\u{7f}",
        ] {
            assert!(bad.parse::<Branch>().is_err(), "{bad:?}");
        }
        assert!("refs/heads/-x".parse::<RefName>().is_ok(), "a full name cannot be an option");
        assert!("heads/main".parse::<RefName>().is_err());
        assert!("refs/main".parse::<RefName>().is_err());
    }

    #[test]
    fn a_tasks_branch_names_its_task_and_lookalikes_do_not() {
        let task = TaskId::try_from(42).unwrap();
        assert_eq!(Branch::of_task(task).task(), Some(task));
        assert_eq!(Branch::of_task(task).full().as_str(), "refs/heads/task-42");
        for other in ["task-", "task-042", "task-+42", "task-42x", "tasks-42", "main"] {
            assert_eq!(other.parse::<Branch>().unwrap().task(), None, "{other}");
        }
    }

    #[test]
    fn branches_of_tasks_may_be_named_otherwise_and_are_still_known() {
        let format: BranchFormat = "agents/{id}/work".parse().unwrap();
        let task = TaskId::try_from(7).unwrap();
        assert_eq!(format.of(task).as_str(), "agents/7/work");
        assert_eq!(format.task(&format.of(task)), Some(task));
        assert_eq!(format.task(&"agents/07/work".parse().unwrap()), None);
        assert_eq!(format.task(&"task-7".parse().unwrap()), None);
        for (format, blocks, leaves) in [
            ("task-{id}", "task-7/x/y", "task-x/7"),
            ("agents/{id}", "agents", "agent"),
            ("a/b/{id}", "a/b/7/x", "a/b/x"),
        ] {
            let format: BranchFormat = format.parse().unwrap();
            assert!(format.is_blocked_by(&blocks.parse().unwrap()), "{blocks}");
            assert!(!format.is_blocked_by(&leaves.parse().unwrap()), "{leaves}");
            assert!(!format.is_blocked_by(&format.of(task)), "its own");
        }
        for bad in ["task", "{id}{id}", "a..{id}", "-{id}", "{id}.lock", "a {id}"] {
            assert!(bad.parse::<BranchFormat>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_repo_name_cannot_leave_its_folder_or_pass_for_a_git_folder() {
        for bad in ["", ".", "..", "a/b", "a..b", "A", "x.git", "x.lock", "-x", ".x", "x.", &"x".repeat(64)] {
            assert!(bad.parse::<RepoName>().is_err(), "{bad:?}");
        }
        assert!("carrel-2.0_x".parse::<RepoName>().is_ok());
    }

    proptest! {
        #[test]
        fn no_text_makes_a_branch_that_git_would_take_for_an_option(text in ".*") {
            if let Ok(branch) = text.parse::<Branch>() {
                prop_assert!(!branch.as_str().starts_with('-') && !branch.as_str().contains(['\n', '\0', ' ']));
                prop_assert!(branch.full().as_str().parse::<RefName>().is_ok());
            }
        }
    }
}
