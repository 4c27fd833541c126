//! Work in a sandbox's checkout: looked at, saved, committed, pushed, and gone on with.
//!
//! Each verb is one errand inside, as whoever works there, and may be repeated. What the agent left there is trusted in
//! nothing. The task keeper calls these; they take no grant because nobody outside asks.

mod carry;
mod errand;
pub(crate) mod furnish;
pub(crate) mod keep;

use std::{sync::Arc, time::Duration};

use carrel_git::{
    WORKSPACE, inside,
    message::{make_conventional, with_trailer},
};
use carrel_model::{
    Branch, CommitId, Holder, RepoName, SandboxId,
    agent::Voice,
    public::SandboxView,
    sandbox::{Checkout, Depth, Sandbox, Spec},
    session::{Left, MomentKind, Session},
};
use carrel_sandbox::{ProviderError, egress::GATEWAY};

use self::errand::Errand;
use crate::{Error, SandboxesDesk, desks::cards::moment, house::House, library};

/// What there is in a sandbox's checkout.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Work {
    /// The branch that is checked out, unless none is.
    pub branch: Option<Branch>,
    /// The commit that is checked out.
    pub head: Option<CommitId>,
    /// Whether files differ from it: changed or new, not ignored. A repository that cannot be read counts as changed.
    pub dirty: bool,
    /// Commits that the base has not.
    pub ahead: u32,
    /// When another branch is checked out, or none: commits of its own branch that this has not.
    pub aside: u32,
    /// Then also: its commits that are on nobody's branch.
    pub new: Option<u32>,
    /// What git is in the middle of, such as `rebase` or `merge`.
    pub in_progress: Option<String>,
}

/// Saves the working tree under its holder's name in the mirror. Nothing when nothing is new since the last time, when
/// the sandbox is nobody's desk or has no checkout, or when what was saved before has not been laid on it yet: a fresh
/// checkout must not take the place of somebody's work.
pub(crate) async fn save_work(house: &Arc<House>, id: &SandboxId) -> Result<Option<CommitId>, Error> {
    let place = Place::find(house, id).await?;
    let Some((holder, repo)) = place.holder.as_ref().zip(place.repo.as_ref()) else { return Ok(None) };
    if !is_laid(house, holder, id).await? && house.library.mirror(repo).await?.saved(holder).await?.is_some() {
        return Ok(None);
    }
    let rules = crate::desks::repos::find(house, repo).await?.rules;
    let most = library::push_limits(&rules).file_bytes >> 10;
    let (reference, base) = (holder.saves().to_string(), place.checkout.commit.to_string());
    let errand = Errand::new(inside::SAVE).args([WORKSPACE, &reference, &place.origin, &base, &most.to_string()]);
    let told = errand.run(house, id).await?;
    let large =
        (told.left("large"), format!("Too large to be saved (over {} MiB)", most >> 10), "a push of it is refused too");
    let shut =
        (told.left("shut"), "Shut to its owner, so that it cannot be saved".to_owned(), "it is not pushed either");
    let saved = told.commit("save its work")?;
    for (paths, why, also) in [large, shut] {
        if let Err(error) = say_unsaved(house, holder, paths, why, also).await {
            // It is tried again with the next save.
            tracing::warn!(sandbox = %id, error = &error as &dyn std::error::Error, "nobody heard what is not saved");
        }
    }
    if place.is_carried {
        let carrier = carry::Carrier::reach(house, id, repo, &place.checkout).await?;
        // Also when nothing is new: whoever saved last may have died before it was fetched.
        carrier.fetch_saved(holder).await?;
        // What the agent pushed by itself, as far as it is taken; a refusal is told when the work is published.
        match carrier.fetch_branch().await {
            Ok(()) | Err(Error::Conflict { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(saved)
}

/// Says on the timeline which files are not saved, once for each.
async fn say_unsaved(
    house: &Arc<House>,
    holder: &Holder,
    paths: Vec<String>,
    why: String,
    also: &'static str,
) -> Result<(), Error> {
    let session = match holder {
        Holder::Task(task) => house.store.tasks().find(*task).await?.map(|task| task.session_id),
        Holder::Session(session) => Some(session.clone()),
    };
    let Some(id) = session else { return Ok(()) };
    let is_said = |session: &Session| paths.iter().all(|path| session.unsaved.contains(path));
    if paths.is_empty() || house.store.sessions().find(&id).await?.is_none_or(|session| is_said(&session)) {
        return Ok(());
    }
    let said = house.store.change(move |tx| {
        Box::pin(async move {
            let Some(mut session) = tx.lock_session(&id).await? else { return Ok(()) };
            let new: Vec<String> = paths.into_iter().filter(|path| !session.unsaved.contains(path)).collect();
            if !new.is_empty() {
                let text = unsaved_in_words(&new, &why, also);
                tx.say(&mut session, moment(MomentKind::Note, Voice::House, text)).await?;
                session.unsaved.extend(new);
                tx.put_session(&mut session).await?;
            }
            Ok::<_, Error>(())
        })
    });
    said.await
}

/// So many are named in one note.
const MOST_NAMED: usize = 10;

fn unsaved_in_words(paths: &[String], why: &str, also: &str) -> String {
    let named: Vec<String> = paths.iter().take(MOST_NAMED).map(|path| format!("`{path}`")).collect();
    let more = match paths.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{why}: {}{more}. If this desk is lost, so is that; {also}. Everything else is saved.", named.join(", "))
}

/// Brings what is new in the repository to a sandbox that cannot fetch it; the others fetch for themselves.
pub(crate) async fn refresh(house: &Arc<House>, id: &SandboxId) -> Result<(), Error> {
    let place = Place::find(house, id).await?;
    let Some(repo) = place.repo.as_ref().filter(|_| place.is_carried) else { return Ok(()) };
    let carrier = carry::Carrier::reach(house, id, repo, &place.checkout).await?;
    match carrier.fetch_branch().await {
        // It was refused, and the box is as if it had not been pushed.
        Ok(()) | Err(Error::Conflict { .. }) => {}
        Err(error) => return Err(error),
    }
    carrier.bring(&[]).await
}

/// How long a desk may take to save its work before it falls asleep. It is not kept awake by a save that hangs.
const BEFORE_SLEEP: Duration = Duration::from_secs(60);

/// Saves the work of a desk that is about to be paused. A save that fails keeps nobody awake: the work is still there.
pub(crate) async fn save_before_sleep(house: &Arc<House>, sandbox: &Sandbox) {
    if sandbox.spec.checkout.is_none() || sandbox.spec.repo.is_none() {
        return;
    }
    let id = &sandbox.id;
    let saved = async {
        save_work(house, id).await?;
        let found = look_at_work(house, id).await?;
        Ok::<_, Error>(found.head.map(|head| Left { sandbox: id.clone(), branch: found.branch, head }))
    };
    let left = match tokio::time::timeout(BEFORE_SLEEP, saved).await {
        Ok(Ok(left)) => left,
        Ok(Err(error)) => {
            tracing::warn!(sandbox = %id, error = &error as &dyn std::error::Error, "a desk sleeps with unsaved work");
            None
        }
        Err(_) => {
            tracing::warn!(sandbox = %id, "a desk sleeps with unsaved work: saving took too long");
            None
        }
    };
    if let Err(error) = remember_left(house, id, left).await {
        tracing::warn!(sandbox = %id, error = &error as &dyn std::error::Error, "how a desk was left is not known");
    }
}

/// Writes down how a desk was left, or that it does not matter any more.
async fn remember_left(house: &House, id: &SandboxId, left: Option<Left>) -> Result<(), Error> {
    let Some(session) = house.store.sessions().of_sandbox(id).await?.filter(|session| session.left != left) else {
        return Ok(());
    };
    let (id, desk) = (session.id, id.clone());
    let written = house.store.change(move |tx| {
        Box::pin(async move {
            if let Some(mut session) = tx.lock_session(&id).await?.filter(|it| it.sandbox_id.as_ref() == Some(&desk)) {
                session.left = left;
                tx.put_session(&mut session).await?;
            }
            Ok::<_, Error>(())
        })
    });
    written.await
}

/// Looks at a desk that came back from its sleep, before anybody uses it. Says what is wrong with one that is not as it was
/// left: then it is of no use, and a new one goes on from the save that was made before it slept. One that only stood still
/// is what it was.
pub(crate) async fn verify_after_sleep(
    house: &Arc<House>,
    sandbox: &Sandbox,
    from: Depth,
) -> Result<Option<String>, Error> {
    let id = &sandbox.id;
    let Some(checkout) = sandbox.spec.checkout.as_ref().filter(|_| sandbox.spec.repo.is_some()) else {
        return Ok(None);
    };
    let left = house.store.sessions().of_sandbox(id).await?.and_then(|session| session.left);
    let wrong = match left.filter(|left| left.sandbox == *id && from >= Depth::Stored) {
        None => None,
        Some(left) => {
            let args = [WORKSPACE, checkout.commit.as_str(), checkout.base.as_str(), checkout.branch.as_str()];
            let told = Errand::new(inside::LOOK).args(args).run_at(house, &SandboxView::from(sandbox)).await?;
            match told.good("look at its work") {
                Ok(text) => Work::read(&text).differs_from(&left),
                Err(Error::Conflict { .. }) => Some("it came back without its working tree".to_owned()),
                Err(error) => return Err(error),
            }
        }
    };
    if wrong.is_none() {
        remember_left(house, id, None).await?;
    }
    Ok(wrong)
}

/// Goes on from saved work in a new sandbox: the branch is where it was, the files are those that were saved.
pub(crate) async fn restore_work(house: &Arc<House>, id: &SandboxId, commit: &CommitId) -> Result<(), Error> {
    let place = Place::find(house, id).await?;
    let Some(holder) = &place.holder else {
        return Err(Error::Conflict { why: format!("sandbox {id} is nobody's desk, so nothing was saved for it") });
    };
    if let Some(repo) = place.repo.as_ref().filter(|_| place.is_carried) {
        let carrier = carry::Carrier::reach(house, id, repo, &place.checkout).await?;
        carrier.bring(&[(holder.saves(), commit.clone())]).await?;
    }
    let (reference, branch) = (holder.saves().to_string(), place.checkout.branch.as_str());
    let errand = Errand::new(inside::RESTORE).args([WORKSPACE, commit.as_str(), &reference, &place.origin, branch]);
    errand.run(house, id).await?.good("go on from saved work").map(drop)
}

/// Looks at what there is.
pub(crate) async fn look_at_work(house: &Arc<House>, id: &SandboxId) -> Result<Work, Error> {
    let place = Place::find(house, id).await?;
    let Checkout { commit, base, branch, .. } = &place.checkout;
    // A desk that was made anew begins with commits of its task: they count. One that began at a checkpoint has others'.
    let began = match &place.holder {
        Some(Holder::Task(task)) => {
            let task = house.store.tasks().find(*task).await?.filter(|task| !task.goes_on());
            task.and_then(|task| task.base_commit)
        }
        _ => Some(commit.clone()),
    };
    let began = began.as_ref().map_or("", CommitId::as_str);
    let args = [WORKSPACE, began, base.as_str(), branch.as_str()];
    let told = Errand::new(inside::LOOK).args(args).run(house, id).await?;
    Ok(Work::read(&told.good("look at its work")?))
}

/// Whether there is a working tree in a sandbox at all. There is none where nothing runs.
pub(crate) async fn has_tree(house: &Arc<House>, id: &SandboxId) -> Result<bool, Error> {
    let view = SandboxesDesk { house }.look(id).await?;
    let endpoint = house.post(&view.provider)?.provider.endpoint(id).await;
    if matches!(endpoint, Err(ProviderError::Unfit { .. })) {
        return Ok(false);
    }
    let look = "if [ -d \"$1\" ]; then echo yes; else echo no; fi";
    let told = Errand::new(look).args([WORKSPACE]).run(house, id).await?;
    Ok(told.good("look for its working tree")? == "yes")
}

/// Commits everything that is not ignored, with the agent as author and the task in a trailer. The message is made a
/// conventional one. Nothing when there is nothing to commit.
pub(crate) async fn commit_work(
    house: &Arc<House>,
    id: &SandboxId,
    message: &str,
    trailers: &[(&str, &str)],
) -> Result<Option<CommitId>, Error> {
    let place = Place::find(house, id).await?;
    let mut message = make_conventional(message);
    let task = match &place.holder {
        Some(Holder::Task(task)) => Some(task.to_string()),
        _ => None,
    };
    let all = trailers.iter().copied().chain(task.as_deref().map(|task| ("Carrel-Task", task)));
    for (key, value) in all {
        message = with_trailer(&message, key, &value.replace(['\n', '\r', '\0'], " "));
    }
    let Checkout { branch, commit, author, .. } = &place.checkout;
    let args = [WORKSPACE, branch.as_str(), &place.origin, commit.as_str(), author.name(), author.email(), &message];
    let told = Errand::new(inside::COMMIT).args(args).run(house, id).await?;
    told.commit("commit its work")
}

/// Takes away the locks that a git of whoever was killed there has left: the next git would not begin.
pub(crate) async fn unlock(house: &Arc<House>, id: &SandboxId) -> Result<(), Error> {
    let place = Place::find(house, id).await?;
    Errand::new(inside::UNLOCK).args([WORKSPACE, place.checkout.branch.as_str()]).run(house, id).await.map(drop)
}

/// Pushes what is checked out to the task's branch, and says which commit that is. A branch that somebody else moved
/// meanwhile is not run over: that is a conflict.
pub(crate) async fn push_work(house: &Arc<House>, id: &SandboxId) -> Result<CommitId, Error> {
    let place = Place::find(house, id).await?;
    // Inside, a branch is compared with what the box knows of it.
    refresh(house, id).await?;
    let Checkout { branch, commit, .. } = &place.checkout;
    let args = [WORKSPACE, branch.as_str(), &place.origin, commit.as_str()];
    let told = Errand::new(inside::PUSH).args(args).run(house, id).await?;
    let pushed = told.commit("push its work")?;
    if let Some(repo) = place.repo.as_ref().filter(|_| place.is_carried) {
        carry::Carrier::reach(house, id, repo, &place.checkout).await?.fetch_branch().await?;
    }
    pushed.ok_or_else(|| Error::Inside { why: format!("inside sandbox {id}: git did not say what it pushed") })
}

/// A checkout in a sandbox, and where it belongs.
struct Place {
    checkout: Checkout,
    repo: Option<RepoName>,
    /// Whose desk it is.
    holder: Option<Holder>,
    /// Where its origin is, as it sees it.
    origin: String,
    /// Whether everything between it and the house is carried, because it can ask nobody.
    is_carried: bool,
}

impl Place {
    async fn find(house: &House, id: &SandboxId) -> Result<Place, Error> {
        let found = house.store.sandboxes().find(id).await?;
        let spec = found.ok_or_else(|| Error::NotFound { what: format!("sandbox {id}") })?.spec;
        let none = || Error::Conflict { why: format!("sandbox {id} has no checkout") };
        let checkout = spec.checkout.clone().ok_or_else(none)?;
        let is_carried = house.post(&spec.provider).is_ok_and(|post| carry::is_needed(&*post.provider));
        let at_gateway = spec.repo.as_ref().map(origin).ok_or_else(none)?;
        let origin = if is_carried { inside::BOX_PLACE.to_owned() } else { at_gateway };
        let holder = holder_of(house, id, &spec).await?;
        Ok(Place { checkout, origin, repo: spec.repo, holder, is_carried })
    }
}

/// Whose desk a sandbox is: the task's that it was made for, or the session's whose desk it is now.
pub(crate) async fn holder_of(house: &House, id: &SandboxId, spec: &Spec) -> Result<Option<Holder>, Error> {
    if let Some(task) = spec.task_id {
        return Ok(Some(Holder::Task(task)));
    }
    if spec.repo.is_none() || spec.checkout.is_none() {
        return Ok(None);
    }
    let session = house.store.sessions().of_sandbox(id).await?;
    Ok(session.map(|session| Holder::Session(session.id)))
}

/// Whether somebody works in a sandbox's checkout whose work is saved.
pub(crate) async fn is_desk(house: &House, id: &SandboxId) -> Result<bool, Error> {
    let Some(sandbox) = house.store.sandboxes().find(id).await? else { return Ok(false) };
    let has_checkout = sandbox.spec.repo.is_some() && sandbox.spec.checkout.is_some();
    Ok(has_checkout && holder_of(house, id, &sandbox.spec).await?.is_some())
}

/// Whether a desk is its holder's and has what was saved before: it began with it, or it was laid on it.
async fn is_laid(house: &House, holder: &Holder, id: &SandboxId) -> Result<bool, Error> {
    Ok(match holder {
        Holder::Task(task) => house.store.tasks().find(*task).await?.is_none_or(|task| {
            task.sandbox_id.as_ref() == Some(id) && task.told.get("desk").is_some_and(|desk| desk == id.as_str())
        }),
        Holder::Session(session) => {
            house.store.sessions().find(session).await?.is_some_and(|session| session.laid.as_ref() == Some(id))
        }
    })
}

/// Where a sandbox finds the repository that it works on.
pub(crate) fn origin(repo: &RepoName) -> String {
    format!("{GATEWAY}/git/{repo}.git")
}

impl Work {
    /// What is not as it was left; nothing when all is.
    fn differs_from(&self, left: &Left) -> Option<String> {
        let name =
            |branch: &Option<Branch>| branch.as_ref().map_or_else(|| "no branch".into(), |name| format!("`{name}`"));
        match &self.head {
            None => Some("it came back without its checkout".to_owned()),
            Some(head) if *head != left.head => {
                Some(format!("it came back at {}, and was left at {}", head.short(), left.head.short()))
            }
            Some(_) if self.branch != left.branch => {
                Some(format!("it came back on {}, and was left on {}", name(&self.branch), name(&left.branch)))
            }
            Some(_) => None,
        }
    }

    /// Reads the facts, a word and its value in each line. What is not understood was not said.
    fn read(text: &str) -> Work {
        let mut work = Work::default();
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("branch", name)) => work.branch = name.parse().ok(),
                Some(("head", id)) => work.head = id.parse().ok(),
                Some(("ahead", count)) => work.ahead = count.parse().unwrap_or(0),
                Some(("aside", count)) => work.aside = count.parse().unwrap_or(0),
                Some(("new", count)) => work.new = count.parse().ok(),
                Some(("dirty", _)) => work.dirty = true,
                Some(("doing", what)) => work.in_progress = Some(what.chars().take(40).collect()),
                _ => {}
            }
        }
        work
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_work_is_read_and_nonsense_is_not_believed() {
        let head = "a".repeat(40);
        let work = Work::read(&format!("branch task-7\nhead {head}\nahead 3\ndirty yes\ndoing rebase\n"));
        assert_eq!(work.branch.as_ref().map(Branch::as_str), Some("task-7"));
        assert_eq!((work.ahead, work.dirty, work.in_progress.as_deref()), (3, true, Some("rebase")));
        let left = |branch: Option<&str>, head: &str| Left {
            sandbox: SandboxId::from_random([7; 16]),
            branch: branch.map(|name| name.parse().unwrap()),
            head: head.parse().unwrap(),
        };
        assert_eq!(work.differs_from(&left(Some("task-7"), &head)), None);
        assert!(
            work.differs_from(&left(Some("task-8"), &head)).unwrap().contains("on `task-7`, and was left on `task-8`")
        );
        assert!(work.differs_from(&left(None, &head)).unwrap().contains("left on no branch"));
        assert!(work.differs_from(&left(Some("task-7"), &"b".repeat(40))).unwrap().contains("was left at bbbb"));
        assert!(Work::default().differs_from(&left(None, &head)).unwrap().contains("without its checkout"));
        assert_eq!(Work::read("branch -evil\nhead zzz\nahead many\nwhat\n"), Work::default());
    }

    #[test]
    fn what_is_not_saved_is_named_as_far_as_it_is_readable() {
        let (why, also) = ("Too large to be saved (over 50 MiB)", "a push of it is refused too");
        assert_eq!(
            unsaved_in_words(&["a.bin".to_owned(), "b.bin".to_owned()], why, also),
            "Too large to be saved (over 50 MiB): `a.bin`, `b.bin`. If this desk is lost, so is that; a push of it is \
             refused too. Everything else is saved."
        );
        assert!(unsaved_in_words(&["x"; 13].map(str::to_owned), why, also).contains(" and 3 more. "));
    }
}
