//! The repos desk: what Carrel works on.

use std::{sync::Arc, time::Duration};

use carrel_git::GitError;
use carrel_model::{
    Action, Authority, Branch, CommitId, Grant, RepoName, RepoSource, Subject,
    audit::{AuditLine, Outcome},
    git::Locator,
    public::{NewNetwork, NewRepo, Page, PushView, RepoChange, RepoView, TaskChange},
    repo::{Repo, RepoPhase, RepoRules},
};

use carrel_sandbox::ProviderError;
use futures::StreamExt;

use super::fetching;
use crate::{Error, Paging, house::House, library, nearness};

/// Adds, shows, changes and removes repositories.
pub struct ReposDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

/// How often upstreams are looked at without being asked.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// So many of them are looked at side by side.
const SIDE_BY_SIDE: usize = 8;
/// So long an upstream is waited for by somebody who could begin with what is here, and by somebody who could not.
const ANSWERS: Duration = Duration::from_secs(30);
const FETCHES: Duration = Duration::from_secs(3600);
/// A look that found nothing new is written down so often.
const TOUCHED_EVERY: jiff::SignedDuration = jiff::SignedDuration::from_mins(10);
/// Where pull requests can be.
const FORGES: [&str; 3] = ["embedded", "github", "gitea"];

impl ReposDesk<'_> {
    /// The repositories, by name: all of them, unless somebody asks for so many.
    pub async fn list(&self, grant: &Grant, paging: &Paging) -> Result<Page<RepoView>, Error> {
        self.house.admit(grant, Action::RepoRead, Subject::House).await?;
        let mut repos = self.house.store.repos().list().await?;
        if let Some(after) = &paging.cursor {
            repos.retain(|repo| repo.name.as_str() > after.as_str());
        }
        let next = paging.limit.and_then(|_| Paging::cut(&mut repos, paging.limit(), |repo| repo.name.to_string()));
        Ok(Page { items: repos.iter().map(RepoView::from).collect(), next })
    }

    /// Shows one.
    pub async fn get(&self, grant: &Grant, name: &RepoName) -> Result<RepoView, Error> {
        self.house.admit(grant, Action::RepoRead, Subject::Repo(name)).await?;
        Ok(RepoView::from(&find(self.house, name).await?))
    }

    /// Adds a repository. Its mirror is fetched whether or not the caller stays. The same one twice is one; the flag says
    /// that it was there.
    pub async fn add(&self, grant: &Grant, new: NewRepo) -> Result<(RepoView, bool), Error> {
        let name = name_of(&new)?;
        self.house.admit(grant, Action::RepoAdd, Subject::Repo(&name)).await?;
        if let Some(source) = &new.source
            && source.is_near()
            && grant.authority != Authority::Admin
        {
            let why = "a path of the server, or an address of the server itself, is added with an admin key only";
            return Err(Error::field("source", why));
        }
        if let Some(Locator::Http { host, .. } | Locator::Ssh { host, .. }) =
            new.source.as_ref().map(RepoSource::locator)
        {
            nearness::refuse(&grant.authority, "source", &host).await?;
        }
        self.house.library.mirrors()?;
        check_network(new.network.as_ref())?;
        let rules = check(new.change().apply(&RepoRules::default()))?;
        let (by, source) = (grant.clone(), new.source.clone());
        let added = self.house.store.change(move |tx| {
            Box::pin(async move {
                if let Some(before) = tx.lock_repo(&name).await? {
                    if before.source == source && before.phase != RepoPhase::Failed {
                        return Ok((before, true));
                    }
                    if before.source != source {
                        let why = format!("there is another repo `{name}`; choose another name for this one");
                        return Err(Error::Conflict { why });
                    }
                }
                let phase = if source.is_some() { RepoPhase::Cloning } else { RepoPhase::Ready };
                let mut repo = Repo {
                    name,
                    source,
                    phase,
                    default_branch: rules.pinned_branch.clone(),
                    head: None,
                    rules,
                    note: None,
                    synced_at: None,
                    created_by: by.key.clone(),
                    created_at: tx.now(),
                    updated_at: tx.now(),
                    revision: 0,
                };
                tx.put_repo(&mut repo).await?;
                let subject = Some(repo.name.to_string());
                tx.audit(&AuditLine::by(&by, Action::RepoAdd.word(), subject, Outcome::Done, tx.now())).await?;
                Ok((repo, false))
            })
        });
        let (repo, was_there) = added.await?;
        if repo.is_hosted() {
            let mirror = self.house.library.mirror(&repo.name).await?;
            if let Some(branch) = &repo.default_branch {
                mirror.set_default_branch(branch).await?;
            }
            return Ok((RepoView::from(&bring_up_to_date(self.house, &repo.name).await?), was_there));
        }
        if !was_there {
            let (house, name) = (Arc::clone(self.house), repo.name.clone());
            self.house.tasks().spawn(async move {
                let stop = house.stop().clone();
                // What the server's end cuts off is taken up at the next start.
                Box::pin(stop.run_until_cancelled(bring_up_to_date(&house, &name))).await;
            });
        }
        Ok((RepoView::from(&repo), was_there))
    }

    /// Changes what is wanted of one.
    pub async fn change(&self, grant: &Grant, name: &RepoName, change: RepoChange) -> Result<RepoView, Error> {
        self.house.admit(grant, Action::RepoChange, Subject::Repo(name)).await?;
        check_network(change.network.as_ref())?;
        let (by, owned) = (grant.clone(), name.clone());
        let changed = self.house.store.change(move |tx| {
            Box::pin(async move {
                let mut repo = tx.lock_repo(&owned).await?.ok_or_else(|| no_repo(&owned))?;
                repo.rules = check(change.apply(&repo.rules))?;
                tx.put_repo(&mut repo).await?;
                let subject = Some(repo.name.to_string());
                tx.audit(&AuditLine::by(&by, Action::RepoChange.word(), subject, Outcome::Done, tx.now())).await?;
                Ok::<_, Error>(repo)
            })
        });
        let mut repo = changed.await?;
        let mirror = self.house.library.mirror(name).await?;
        if repo.is_hosted()
            && let Some(branch) = &repo.rules.pinned_branch
        {
            mirror.set_default_branch(branch).await?;
        }
        library::look(&mirror, &mut repo).await?;
        let note = repo.note.clone();
        Ok(RepoView::from(&settle(self.house, repo, note).await?))
    }

    /// Brings one up to date now, with its pulls, and says how it is.
    pub async fn sync(&self, grant: &Grant, name: &RepoName) -> Result<RepoView, Error> {
        self.house.admit(grant, Action::RepoSync, Subject::Repo(name)).await?;
        find(self.house, name).await?;
        let repo = bring_up_to_date(self.house, name).await?;
        // A forge that does not answer leaves the repository as good as it is.
        if let Err(error) = crate::pulls::look_at_repo(self.house, &repo).await {
            tracing::debug!(error = &error as &dyn std::error::Error, repo = %name, "pulls were not looked at");
        }
        Ok(RepoView::from(&repo))
    }

    /// Removes one, with its mirror.
    pub async fn remove(&self, grant: &Grant, name: &RepoName) -> Result<(), Error> {
        self.house.admit(grant, Action::RepoRemove, Subject::Repo(name)).await?;
        let live: Vec<_> = self.house.store.tasks().live(name).await?.iter().map(|task| task.id.to_string()).collect();
        if !live.is_empty() {
            let why = format!("tasks are under way in `{name}`: {}; close them first", live.join(", "));
            return Err(Error::Conflict { why });
        }
        let alone = self.house.library.standing.try_write();
        let _alone = alone.map_err(|_| Error::Unavailable {
            why: "sandboxes with checkouts are being made just now; try again in a moment".into(),
            source: None,
        })?;
        self.refuse_if_borrowed(name).await?;
        let (by, owned) = (grant.clone(), name.clone());
        let removed = self.house.store.change(move |tx| {
            Box::pin(async move {
                let repo = tx.lock_repo(&owned).await?.ok_or_else(|| no_repo(&owned))?;
                tx.remove_repo(&repo).await?;
                tx.forget_pulls(&repo.name).await?;
                let subject = Some(repo.name.to_string());
                tx.audit(&AuditLine::by(&by, Action::RepoRemove.word(), subject, Outcome::Done, tx.now())).await?;
                Ok::<_, Error>(())
            })
        });
        removed.await?;
        self.house.library.mirrors()?.remove(name)?;
        Ok(())
    }

    /// Whoever stands on a mirror would lose every object of it.
    async fn refuse_if_borrowed(&self, name: &RepoName) -> Result<(), Error> {
        let Ok(mirrors) = self.house.library.mirrors() else { return Ok(()) };
        let folder = mirrors.folder_of(name);
        for post in self.house.providers.values() {
            if let Some(furnishing) = post.provider.furnishing() {
                let away = |error: ProviderError| Error::Unavailable { why: error.to_string(), source: None };
                furnishing.let_go(&folder).await.map_err(away)?;
            }
        }
        let borrowed = library::borrowed(self.house).await?.unwrap_or_default();
        if borrowed.iter().any(|place| place.starts_with(&folder)) {
            let why = format!(
                "sandboxes or snapshots have checkouts of repo `{name}` and read their history from its mirror; remove \
                 them first"
            );
            return Err(Error::Conflict { why });
        }
        Ok(())
    }

    /// What was pushed to one, newest first.
    pub async fn pushes(&self, grant: &Grant, name: &RepoName, paging: &Paging) -> Result<Page<PushView>, Error> {
        self.house.admit(grant, Action::RepoRead, Subject::Repo(name)).await?;
        find(self.house, name).await?;
        let limit = paging.limit();
        let mut pushes = self.house.store.pushes().list(name, paging.after()?, limit + 1).await?;
        let next = Paging::cut(&mut pushes, limit, |push| Paging::place(push.at, push.id.as_str()));
        Ok(Page { items: pushes.iter().map(PushView::from).collect(), next })
    }
}

pub(crate) async fn find(house: &House, name: &RepoName) -> Result<Repo, Error> {
    house.store.repos().find(name).await?.ok_or_else(|| no_repo(name))
}

/// A repository that somebody can work on: one that lives here and is empty gets its first commit.
pub(crate) async fn founded(house: &Arc<House>, name: &RepoName) -> Result<Repo, Error> {
    let repo = find(house, name).await?;
    if !repo.is_hosted() || repo.head.is_some() {
        return Ok(repo);
    }
    let mirror = house.library.mirror(name).await?;
    let branch = match mirror.default_branch().await?.or(repo.default_branch) {
        Some(branch) => branch,
        None => "main".parse().map_err(|_| no_repo(name))?,
    };
    if mirror.find(&branch.full()).await?.is_none() {
        mirror.found(&branch, &format!("# {name}\n")).await?;
        mirror.set_default_branch(&branch).await?;
    }
    bring_up_to_date(house, name).await
}

fn no_repo(name: &RepoName) -> Error {
    Error::NotFound { what: format!("repo `{name}`") }
}

fn name_of(new: &NewRepo) -> Result<RepoName, Error> {
    match (&new.source, new.new) {
        (Some(_), true) => return Err(Error::field("new", "a repo comes from a source or is new, not both")),
        (None, false) => return Err(Error::field("source", "say where it comes from, or `new`")),
        _ => {}
    }
    let suggested = || new.source.as_ref().and_then(|source| source.suggested_name());
    new.name.clone().or_else(suggested).ok_or_else(|| Error::field("name", RepoName::RULE))
}

fn check_network(network: Option<&NewNetwork>) -> Result<(), Error> {
    match network.cloned().map(NewNetwork::rule) {
        Some(Err(fields)) => Err(Error::Invalid { fields }),
        Some(Ok(_)) | None => Ok(()),
    }
}

/// Rules that can be followed, or what is wrong with them.
fn check(rules: RepoRules) -> Result<RepoRules, Error> {
    library::content_rules(&rules).map_err(|error| Error::field("allow_paths", error.to_string()))?;
    if rules.forge.as_ref().is_some_and(|forge| !FORGES.contains(&forge.as_str())) {
        return Err(Error::field("forge", format!("one of: {}", FORGES.join(", "))));
    }
    if rules.check_command.as_ref().is_some_and(|command| command.len() > 4096 || command.contains('\0')) {
        return Err(Error::field("check_command", "at most 4096 bytes, without NUL"));
    }
    let is_name = |name: &String| (1..=100).contains(&name.trim().len()) && !name.chars().any(char::is_control);
    if !rules.pulls.labels.iter().all(is_name) || rules.pulls.labels.len() > 20 {
        return Err(Error::field("pulls.labels", "at most 20 labels, each of 1 to 100 characters in one line"));
    }
    if !rules.pulls.reviewers.iter().all(is_name) || rules.pulls.reviewers.len() > 15 {
        return Err(Error::field("pulls.reviewers", "at most 15 logins, each of 1 to 100 characters in one line"));
    }
    super::agents::check_rules(&rules.commands)?;
    Ok(rules)
}

/// The newest commit of a branch, upstream's as far as it can be reached; nothing when there is no such branch.
pub(crate) async fn newest_of(house: &Arc<House>, repo: &Repo, branch: &Branch) -> Result<Option<CommitId>, Error> {
    let mirror = house.library.mirror(&repo.name).await?;
    if !repo.is_hosted() {
        // What the mirror has is better than waiting for an upstream that does not answer; the walk goes on with it.
        let most = if mirror.find(&branch.full()).await?.is_some() { ANSWERS } else { FETCHES };
        let _ = tokio::time::timeout(most, Box::pin(bring_up_to_date(house, &repo.name))).await;
    }
    Ok(mirror.find(&branch.full()).await?)
}

/// Looks at the upstream of a repository, fetches what is new, and records how it is.
pub(crate) async fn bring_up_to_date(house: &Arc<House>, name: &RepoName) -> Result<Repo, Error> {
    let mut repo = find(house, name).await?;
    let mirror = house.library.mirror(name).await?;
    let upstream = if repo.is_hosted() { None } else { Some(house.upstream_of(&repo).await?) };
    let (is_first, usual) = (repo.phase == RepoPhase::Cloning, repo.default_branch.clone());
    let looking = async {
        match &upstream {
            Some(upstream) => drop(mirror.sync(upstream).await?),
            // There is nobody to fetch it from anew: people must know.
            None => mirror.check_if_suspect().await?,
        }
        let before = repo.head.clone();
        library::look(&mirror, &mut repo).await?;
        let Some(head) = &repo.head else { return Ok(None) };
        let (is_ready, is_known) = (repo.phase == RepoPhase::Ready, repo.head == before && repo.note.is_none());
        if is_ready && (is_known || repo.is_hosted()) {
            return Ok(None);
        }
        match mirror.check_fit(head).await {
            // What is at work goes on; who begins at the new commit is told why that cannot be.
            Err(GitError::Unfit { why }) if is_ready => {
                Ok(Some(format!("Nobody can begin at its newest commit: {why}.")))
            }
            checked => checked.map(|()| None),
        }
    };
    let looked = tokio::select! {
        biased;
        looked = looking => looked,
        never = fetching::tell(house, name, &mirror), if is_first => match never {},
    };
    match looked {
        Ok(unfit) => {
            repo.phase = RepoPhase::Ready;
            repo.synced_at = Some(house.store.now());
            let missing = repo.default_branch.as_ref().filter(|_| repo.head.is_none() && !repo.is_hosted());
            let format = repo.rules.branch_format.clone().unwrap_or_default();
            let note = match missing {
                Some(branch) if format.task(branch).is_some() || format.is_blocked_by(branch) => Some(format!(
                    "Its branch `{branch}` is in the place of those of tasks, which are named `{format}` here: name them \
                     otherwise (carrel repo set {name} --branch-format 'agents/{{id}}')."
                )),
                Some(branch) if repo.rules.pinned_branch.is_some() => {
                    Some(format!("There is no branch `{branch}` upstream."))
                }
                _ => unfit,
            };
            let repo = settle(house, repo, note).await?;
            if let (Some(old), Some(new)) = (&usual, &repo.default_branch)
                && old != new
                && mirror.find(&old.full()).await?.is_none()
            {
                Box::pin(follow_rename(house, name, old, new)).await?;
            }
            crate::pulls::tell_of_bases(house, &repo).await?;
            Ok(repo)
        }
        Err(error) => {
            tracing::debug!(repo = %name, error = &error as &dyn std::error::Error, "a repo was not brought up to date");
            let note = format!("It could not be brought up to date: {error}.");
            if repo.phase == RepoPhase::Cloning && !error.is_passing() {
                repo.phase = RepoPhase::Failed;
            }
            settle(house, repo, Some(note)).await?;
            Err(error.into())
        }
    }
}

/// The default branch has another name now: what was to be merged into the old one is merged into the new one.
async fn follow_rename(house: &Arc<House>, repo: &RepoName, old: &Branch, new: &Branch) -> Result<(), Error> {
    for task in house.store.tasks().live(repo).await?.into_iter().filter(|task| task.base == *old) {
        let grant = crate::tasks::desk::grant_of(&task.created_by);
        let change = TaskChange { base: Some(new.clone()), ..TaskChange::default() };
        // One whose pull the forge does not let go of says so when somebody merges it.
        if let Err(error) = (crate::TasksDesk { house }).change(&grant, task.id, change).await {
            tracing::warn!(task = %task.id, error = &error as &dyn std::error::Error, "a task keeps a base that is gone");
        }
    }
    Ok(())
}

/// Records how a repository was seen. What people wrote meanwhile stays, and what says nothing new is not told.
async fn settle(house: &House, seen: Repo, note: Option<String>) -> Result<Repo, Error> {
    let settled = house.store.change(move |tx| {
        Box::pin(async move {
            let Some(mut repo) = tx.lock_repo(&seen.name).await? else { return Err(no_repo(&seen.name)) };
            let told = (repo.phase, repo.head.clone(), repo.default_branch.clone(), repo.note.clone());
            let now = (seen.phase, seen.head.clone(), seen.default_branch.clone(), note.clone());
            let recently = |at: jiff::Timestamp| tx.now().duration_since(at) < TOUCHED_EVERY;
            if told == now && repo.synced_at.is_some_and(recently) {
                return Ok(repo);
            }
            (repo.phase, repo.head, repo.default_branch, repo.note) = now;
            repo.synced_at = seen.synced_at.max(repo.synced_at);
            tx.put_repo(&mut repo).await?;
            Ok::<_, Error>(repo)
        })
    });
    settled.await
}

/// Looks at every upstream now and then; and first of all at those whose cloning an earlier life did not finish.
pub(crate) async fn walk(house: Arc<House>) {
    loop {
        // Of several nodes one walks; should it die, another does.
        let walks = crate::pulls::Hold::try_named(&house, "walk repos").await.unwrap_or_default();
        if walks.is_some() && house.library.mirrors().is_ok() {
            let repos = house.store.repos().list().await.unwrap_or_default();
            let followed = repos.into_iter().filter(|repo| !repo.is_hosted() && repo.phase != RepoPhase::Failed);
            // A few at a time, and none for longer than until the next round: one that hangs keeps no other from being
            // followed. What it was about to fetch goes on, and the next look waits for that.
            let house = &house;
            let looks = followed.map(|repo| async move {
                let _ = tokio::time::timeout(LOOK_AGAIN, bring_up_to_date(house, &repo.name)).await;
                if let Ok(mirror) = house.library.mirror(&repo.name).await {
                    library::tend(house, &mirror).await;
                }
            });
            futures::stream::iter(looks).buffer_unordered(SIDE_BY_SIDE).collect::<()>().await;
        }
        drop(walks);
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}
