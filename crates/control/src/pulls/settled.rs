//! Heads that the house made itself: a conflict was settled, and a forge outside can only merge what its branch has.
//!
//! The head that was replaced stays under a name that says by what, written in the same step that moves the branch. So
//! whoever looked at the one has looked at the other, also after a crash. The forge's checks judged the head that was
//! replaced; the new one waits until they have judged it too.

use carrel_forge::{CheckState, Forge};
use carrel_git::{GitError, Mirror, merge::RungRecord};
use carrel_model::{CommitId, RefName, agent::Voice, public::PullView, repo::Repo, session::MomentKind};
use jiff::SignedDuration;

use super::{MergeRefused, view::LANE_CHECK};
use crate::{
    Error,
    desks::cards::moment,
    house::House,
    tasks::{put_on_base, settled_in_words},
};

/// How long a check that ran for the head before may take to appear for the new one.
const BEGINS: SignedDuration = SignedDuration::from_mins(30);
/// For so long a forge may not have understood yet that it can merge the new head.
const FRESH: SignedDuration = SignedDuration::from_mins(1);
/// So often a head may have been replaced; whatever comes before is not asked for.
const LONGEST: usize = 64;

/// Where the head of a pull is kept that was replaced by another one, because that fits its base.
pub(super) fn place(forge: &str, number: u64, by: &CommitId) -> RefName {
    let name = format!("refs/carrel/pulls/{forge}/{number}-before-{by}");
    name.parse().expect("the word of a forge, a number and a commit are plain")
}

/// The heads of a pull that a commit was made of, the newest first.
pub(super) async fn came_of(mirror: &Mirror, pull: &PullView, head: &CommitId) -> Result<Vec<CommitId>, GitError> {
    let (mut heads, mut at): (Vec<CommitId>, _) = (Vec::new(), head.clone());
    while let Some(before) = mirror.find(&place(&pull.forge, pull.number, &at)).await? {
        if heads.len() == LONGEST || heads.contains(&before) || before == *head {
            break;
        }
        heads.push(before.clone());
        at = before;
    }
    Ok(heads)
}

/// Whether a head was made a moment ago.
pub(super) async fn is_fresh(house: &House, mirror: &Mirror, head: &CommitId) -> Result<bool, Error> {
    Ok(mirror.made_at(head).await?.is_some_and(|made| house.store.now().duration_since(made) < FRESH))
}

/// The card of a task says at once what became of its branch, however the merge ends.
pub(super) async fn say_so(
    house: &House,
    pull: &PullView,
    commit: &CommitId,
    records: &[RungRecord],
) -> Result<(), Error> {
    let Some(id) = pull.task_id else { return Ok(()) };
    let words = settled_in_words(records).map(|words| format!("{words} ")).unwrap_or_default();
    let note = format!(
        "{words}Its branch was put onto `{}` for that and is at {} now; before, it was at {}, which is kept as {}.",
        pull.base,
        commit.short(),
        pull.head_commit.short(),
        place(&pull.forge, pull.number, commit)
    );
    let (before, commit, branch) = (pull.head_commit.clone(), commit.clone(), pull.head.clone());
    let said = house.store.change(move |tx| {
        Box::pin(async move {
            let Some((mut task, _)) = tx.lock_task(id).await? else { return Ok(()) };
            if task.branch != branch || task.phase.is_over() {
                return Ok(());
            }
            put_on_base(&mut task, &before, commit);
            if let Some(mut session) = tx.lock_session(&task.session_id).await? {
                tx.say(&mut session, moment(MomentKind::Note, Voice::House, note)).await?;
                tx.put_session(&mut session).await?;
            }
            tx.put_task(&mut task).await?;
            Ok::<_, Error>(())
        })
    });
    said.await
}

/// What a new head says of the checks that ran for the ones before it.
#[derive(Debug, PartialEq, Eq)]
enum Judged {
    Done,
    Runs(String),
    Missing(String),
}

/// The forge has judged a head that was made here, or it is waited for.
pub(super) async fn judged(
    house: &House,
    repo: &Repo,
    mirror: &Mirror,
    forge: &dyn Forge,
    pull: &PullView,
    before: &[CommitId],
) -> Result<(), MergeRefused> {
    let head = &pull.head_commit;
    let heard = house.store.seen_pulls().heard(&repo.name, pull.number).await.map_err(Error::from)?;
    let said = heard.iter().filter(|(_, version)| !version.starts_with("skipped"));
    let names = said.filter_map(|(word, _)| {
        let (commit, name) = word.strip_prefix("check ")?.split_once(' ')?;
        before.iter().any(|one| one.as_str() == commit).then_some(name)
    });
    let now: Vec<(String, CheckState)> =
        forge.checks(head).await?.all.into_iter().map(|check| (check.name, check.state)).collect();
    match compare(names.collect(), &now) {
        Judged::Done => Ok(()),
        Judged::Runs(name) => {
            Err(MergeRefused::Waits { why: format!("waits for the check `{name}` of its new head {}", head.short()) })
        }
        Judged::Missing(name) => {
            let made = mirror.made_at(head).await?.unwrap_or(pull.updated_at);
            if house.store.now().duration_since(made) < BEGINS {
                let why = format!("waits for the check `{name}` to run for its new head {}", head.short());
                return Err(MergeRefused::Waits { why });
            }
            let why = format!(
                "the check `{name}` ran for {} and has not begun for its new head {}; start it at the forge, and merge again",
                before.first().map(CommitId::short).unwrap_or_default(),
                head.short()
            );
            Err(MergeRefused::Upstream { why })
        }
    }
}

/// What runs comes before what is missing: it may be what begins the other.
fn compare(mut wanted: Vec<&str>, now: &[(String, CheckState)]) -> Judged {
    let ours = |name: &str| name == LANE_CHECK;
    wanted.sort_unstable();
    let runs = now.iter().find(|(name, state)| !ours(name) && *state == CheckState::Pending);
    if let Some((name, _)) = runs {
        return Judged::Runs(name.clone());
    }
    let is_there = |wanted: &str| now.iter().any(|(name, _)| name == wanted);
    match wanted.into_iter().find(|name| !ours(name) && !is_there(name)) {
        Some(name) => Judged::Missing(name.to_owned()),
        None => Judged::Done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_head_waits_for_every_check_that_the_one_before_it_had_and_not_for_ours() {
        use CheckState::*;
        let now = |list: &[(&str, CheckState)]| {
            let own = |(name, state): &(&str, CheckState)| ((*name).to_owned(), *state);
            list.iter().map(own).collect::<Vec<_>>()
        };
        assert_eq!(compare(vec![], &[]), Judged::Done, "who had none waits for none");
        assert_eq!(compare(vec!["ci", LANE_CHECK], &now(&[("ci", Passed)])), Judged::Done);
        assert_eq!(compare(vec!["ci"], &now(&[("ci", Failed)])), Judged::Done, "how it ended is for another gate");
        assert_eq!(compare(vec!["lint", "ci"], &now(&[("lint", Passed)])), Judged::Missing("ci".into()));
        assert_eq!(compare(vec!["lint"], &now(&[("ci", Pending)])), Judged::Runs("ci".into()));
        assert_eq!(compare(vec![], &now(&[(LANE_CHECK, Pending)])), Judged::Done);
    }

    #[test]
    fn what_was_replaced_is_named_after_what_replaced_it() {
        let by: CommitId = "a".repeat(40).parse().unwrap();
        let name = place("github", 12, &by);
        assert_eq!(name.as_str(), format!("refs/carrel/pulls/github/12-before-{by}"));
    }
}
