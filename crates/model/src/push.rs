//! Pushes: what is asked of the refs, and whether that may be. Judged before a byte of the pack is read.

use std::fmt;

use crate::{Branch, BranchFormat, CommitId, Holder, RefName, SessionId, TaskId};

/// One ref that a push wants to move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefCommand {
    /// Its name.
    pub name: RefName,
    /// Where the client saw it; nothing when it is to be made.
    pub old: Option<CommitId>,
    /// Where it is to be; nothing when it is to go.
    pub new: Option<CommitId>,
}

/// Who pushes, as far as refs are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pusher {
    /// A task, from its sandbox: its own branch and its own work in progress.
    Task {
        /// Its number.
        task: TaskId,
        /// Its branch.
        branch: Branch,
    },
    /// A session, from its sandbox: its own work in progress and nothing else.
    Session(SessionId),
    /// A person with a key.
    Person {
        /// Whether the repository lives here. One that follows an upstream takes only branches of tasks, because the
        /// others are the upstream's.
        hosted: bool,
        /// The branch that is never removed and never rewritten.
        default_branch: Option<Branch>,
        /// How the branches of tasks are named.
        format: BranchFormat,
    },
}

/// How large a push may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PushLimits {
    /// How many refs it may move.
    pub refs: usize,
    /// Bytes of its pack.
    pub pack_bytes: u64,
    /// Bytes of one file in it.
    pub file_bytes: u64,
    /// Objects in its pack.
    pub objects: u32,
}

impl Default for PushLimits {
    fn default() -> Self {
        PushLimits { refs: 64, pack_bytes: 512 << 20, file_bytes: 50 << 20, objects: 2_000_000 }
    }
}

/// Why a ref may not be moved, in words for whoever pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The ref it is about.
    pub name: RefName,
    /// A few words, for the line that git prints beside the ref.
    pub short: &'static str,
    /// Sentences, for the `remote:` lines.
    pub words: Vec<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.short)
    }
}

/// Whether rewriting a ref is fine, or only moving it forward. Known before the pack, checked after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motion {
    /// It may be rewritten.
    Any,
    /// Its old commit must be an ancestor of the new one.
    Forward,
}

/// Judges what a push asks of the refs: for each command how its ref may move, or every refusal.
pub fn judge(commands: &[RefCommand], pusher: &Pusher, limits: &PushLimits) -> Result<Vec<Motion>, Vec<Refusal>> {
    if commands.len() > limits.refs {
        let words = vec![format!("{} refs in one push; at most {} are taken at a time.", commands.len(), limits.refs)];
        let refuse = |command: &RefCommand| Refusal {
            name: command.name.clone(),
            short: "too many refs in one push",
            words: words.clone(),
        };
        // The sentence once is enough.
        return Err(commands.iter().take(1).map(refuse).collect());
    }
    let mut motions = Vec::with_capacity(commands.len());
    let mut refusals = Vec::new();
    for (index, command) in commands.iter().enumerate() {
        let twice = commands[..index].iter().any(|earlier| earlier.name == command.name);
        let judged = if twice { Err(("named twice", vec![])) } else { judge_one(command, pusher) };
        match judged {
            Ok(motion) => motions.push(motion),
            Err((short, words)) => refusals.push(Refusal { name: command.name.clone(), short, words }),
        }
    }
    if refusals.is_empty() { Ok(motions) } else { Err(refusals) }
}

type Judged = Result<Motion, (&'static str, Vec<String>)>;

fn judge_one(command: &RefCommand, pusher: &Pusher) -> Judged {
    match pusher {
        Pusher::Task { task, branch } => of_task(command, *task, branch),
        Pusher::Session(session) => of_session(command, session),
        Pusher::Person { hosted, default_branch, format } => {
            of_person(command, *hosted, default_branch.as_ref(), format)
        }
    }
}

fn of_task(command: &RefCommand, task: TaskId, branch: &Branch) -> Judged {
    let own = branch.full();
    if command.name != own && command.name != RefName::wip(task) {
        return Err((
            "not this task's branch",
            vec![
                format!("This sandbox works on task {task} and may push only to its branch `{branch}`."),
                format!("Try: git push origin HEAD:{own}"),
            ],
        ));
    }
    if command.new.is_none() {
        return Err(("branches of tasks are not deleted", vec![format!("The house tidies `{branch}` up itself.")]));
    }
    Ok(Motion::Any)
}

/// A session publishes nothing: the house saves its work, and whoever wants a branch writes a card.
fn of_session(command: &RefCommand, session: &SessionId) -> Judged {
    if command.name == Holder::Session(session.clone()).saves() && command.new.is_some() {
        return Ok(Motion::Any);
    }
    Err((
        "a session has no branch to push to",
        vec!["Its work is saved by itself. Work that is to become a pull request is a task.".into()],
    ))
}

fn of_person(command: &RefCommand, hosted: bool, default_branch: Option<&Branch>, format: &BranchFormat) -> Judged {
    let branch = command.name.branch();
    let is_tag = command.name.is_below("refs/tags");
    if branch.is_none() && !is_tag {
        return Err((
            "only branches and tags are taken",
            vec!["Push to `refs/heads/…` or `refs/tags/…`; everything else belongs to the house.".into()],
        ));
    }
    let of_task = branch.as_ref().is_some_and(|branch| format.task(branch).is_some());
    if !hosted && !of_task {
        return Err((
            "this branch is the upstream's",
            vec!["This repository follows its upstream: push there, and it arrives here by itself.".into()],
        ));
    }
    if let Some(branch) = branch.as_ref().filter(|branch| command.new.is_some() && format.is_blocked_by(branch)) {
        return Err((
            "it would stand in the way of tasks",
            vec![format!(
                "Branches of tasks are named `{format}` here, and git has no room for `{branch}` beside them."
            )],
        ));
    }
    let is_default = branch.is_some() && branch.as_ref() == default_branch;
    match &command.new {
        None if is_default => {
            Err(("the default branch stays", vec!["Name another default branch first: carrel repo set.".into()]))
        }
        None => Ok(Motion::Any),
        Some(_) if of_task => Ok(Motion::Any),
        Some(_) if is_default => Ok(Motion::Forward),
        Some(_) => Ok(Motion::Any),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char) -> CommitId {
        digit.to_string().repeat(40).parse().unwrap()
    }

    fn command(name: &str, old: Option<char>, new: Option<char>) -> RefCommand {
        RefCommand { name: name.parse().unwrap(), old: old.map(id), new: new.map(id) }
    }

    fn task(number: i64) -> Pusher {
        let task = TaskId::try_from(number).unwrap();
        Pusher::Task { task, branch: Branch::of_task(task) }
    }

    fn person(hosted: bool) -> Pusher {
        Pusher::Person { hosted, default_branch: Some("main".parse().unwrap()), format: BranchFormat::default() }
    }

    fn short(pusher: &Pusher, command: RefCommand) -> Result<Motion, &'static str> {
        match judge(&[command], pusher, &PushLimits::default()) {
            Ok(motions) => Ok(motions[0]),
            Err(refusals) => Err(refusals[0].short),
        }
    }

    #[test]
    fn a_task_moves_its_own_branch_as_it_likes_and_nothing_else() {
        let me = task(42);
        assert_eq!(short(&me, command("refs/heads/task-42", None, Some('a'))), Ok(Motion::Any));
        assert_eq!(short(&me, command("refs/heads/task-42", Some('a'), Some('b'))), Ok(Motion::Any));
        assert_eq!(short(&me, command("refs/carrel/wip/42", Some('a'), Some('b'))), Ok(Motion::Any));
        for other in [
            "refs/heads/main",
            "refs/heads/task-43",
            "refs/heads/task-042",
            "refs/tags/v1",
            "refs/carrel/wip/43",
            "refs/notes/x",
        ] {
            assert_eq!(short(&me, command(other, None, Some('a'))), Err("not this task's branch"), "{other}");
        }
        assert!(short(&me, command("refs/heads/task-42", Some('a'), None)).is_err());
    }

    #[test]
    fn a_person_pushes_to_what_lives_here_and_the_default_branch_only_moves_forward() {
        let owner = person(true);
        assert_eq!(short(&owner, command("refs/heads/main", Some('a'), Some('b'))), Ok(Motion::Forward));
        assert_eq!(short(&owner, command("refs/heads/other", Some('a'), Some('b'))), Ok(Motion::Any));
        assert_eq!(short(&owner, command("refs/tags/v1", None, Some('b'))), Ok(Motion::Any));
        assert!(short(&owner, command("refs/heads/main", Some('a'), None)).is_err());
        assert!(short(&owner, command("refs/carrel/upstream/heads/main", None, Some('a'))).is_err());
        let beside = "refs/heads/task-7/x";
        assert_eq!(short(&owner, command(beside, None, Some('a'))), Err("it would stand in the way of tasks"));
        assert_eq!(short(&owner, command(beside, Some('a'), None)), Ok(Motion::Any), "one from before may go");
    }

    #[test]
    fn branches_of_an_upstream_are_pushed_to_the_upstream() {
        let follower = person(false);
        assert!(short(&follower, command("refs/heads/main", Some('a'), Some('b'))).is_err());
        assert_eq!(short(&follower, command("refs/heads/task-7", Some('a'), Some('b'))), Ok(Motion::Any));
    }

    #[test]
    fn one_bad_ref_refuses_the_push_and_every_bad_one_is_named() {
        let commands = [
            command("refs/heads/task-42", None, Some('a')),
            command("refs/heads/main", None, Some('a')),
            command("refs/heads/task-42", None, Some('b')),
        ];
        let refusals = judge(&commands, &task(42), &PushLimits::default()).unwrap_err();
        let names: Vec<_> = refusals.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["refs/heads/main: not this task's branch", "refs/heads/task-42: named twice"]);
        let few = PushLimits { refs: 1, ..PushLimits::default() };
        assert_eq!(judge(&commands, &task(42), &few).unwrap_err()[0].short, "too many refs in one push");
    }
}
