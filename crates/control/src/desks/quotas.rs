//! Quotas: how much one member and one repository may have. Who runs the house may always.
//!
//! What is refused here is something new: a sandbox, a card, a question to a model, a push of a person. Saves and pushes of
//! agents are never refused for room, so that no work is lost by a number in a file.

use std::sync::Arc;

use carrel_model::{
    Action, Authority, Grant, KeyId, RepoName, Subject,
    public::{QuotaOf, QuotaView, QuotaWhat},
    usage::Dollars,
};
use carrel_store::Tx;
use jiff::SignedDuration;

use super::budgets::beginning_of_day;
use crate::{Error, TooMuch, house::House};

/// What may be asked again after so many seconds: somebody may have made room.
const RESTS: i64 = 60;

/// How much somebody may have. Nothing is refused where there is no number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Sandboxes of one member that live at the same time, besides the desks of tasks.
    pub member_sandboxes: Option<u64>,
    /// Cards of one member that are not merged or closed.
    pub member_tasks: Option<u64>,
    /// What the work of one member may cost in a day, in UTC.
    pub member_day: Option<Dollars>,
    /// Cards in one repository that are not merged or closed.
    pub repo_tasks: Option<u64>,
    /// What the work in one repository may cost in a day, in UTC.
    pub repo_day: Option<Dollars>,
    /// How many MiB the mirror of one repository may take.
    pub repo_disk_mb: Option<u64>,
}

/// Shows quotas.
pub struct QuotasDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

impl QuotasDesk<'_> {
    /// What there is a quota for, and how much of it is used: one's own, and every repository's. An admin sees everybody's.
    pub async fn list(&self, grant: &Grant) -> Result<Vec<QuotaView>, Error> {
        self.house.admit(grant, Action::UsageRead, Subject::House).await?;
        let (store, quotas) = (&self.house.store, &self.house.settings.work.quotas);
        let members: Vec<(KeyId, String)> = match &grant.authority {
            Authority::Sandbox(_) => return Ok(Vec::new()),
            Authority::Admin => {
                let keys = store.keys().list(None, 1000).await?;
                let holds = |key: &carrel_model::key::Key| {
                    key.revoked_at.is_none() && !matches!(key.authority, Authority::Admin)
                };
                keys.into_iter().filter(holds).map(|key| (key.id, key.name)).collect()
            }
            Authority::Member | Authority::Agent(_) => vec![(grant.key.clone(), grant.name.clone())],
        };
        let today = beginning_of_day(store.now());
        let holdings = store.holdings();
        let mut views = Vec::new();
        let mut tell = |of, name: &str, what, used: f64, most: Option<f64>| {
            views.extend(most.map(|most| QuotaView { of, name: name.to_owned(), what, used, most }));
        };
        for (key, name) in &members {
            if let Some(most) = quotas.member_sandboxes {
                let used = holdings.sandboxes_of(key).await?;
                tell(QuotaOf::Member, name, QuotaWhat::Sandboxes, used as f64, Some(most as f64));
            }
            if let Some(most) = quotas.member_tasks {
                let used = holdings.tasks_of(key).await?;
                tell(QuotaOf::Member, name, QuotaWhat::Tasks, used as f64, Some(most as f64));
            }
            if let Some(most) = quotas.member_day {
                let used = holdings.cost_of(key, today).await?;
                tell(QuotaOf::Member, name, QuotaWhat::UsdToday, usd(used), Some(usd(most)));
            }
        }
        for repo in store.repos().list().await? {
            let name = repo.name.as_str();
            if let Some(most) = quotas.repo_tasks {
                let used = holdings.tasks_in(&repo.name).await?;
                tell(QuotaOf::Repo, name, QuotaWhat::Tasks, used as f64, Some(most as f64));
            }
            if let Some(most) = quotas.repo_day {
                let used = holdings.cost_in(&repo.name, today).await?;
                tell(QuotaOf::Repo, name, QuotaWhat::UsdToday, usd(used), Some(usd(most)));
            }
            if let Some(most) = quotas.repo_disk_mb {
                let used = disk_mb(self.house, &repo.name).await?;
                tell(QuotaOf::Repo, name, QuotaWhat::DiskMb, used as f64, Some(most as f64));
            }
        }
        Ok(views)
    }
}

/// Lets a sandbox be written down, unless its owner has enough of them. Called before it is.
pub(crate) async fn admit_sandbox(tx: &mut Tx, quotas: &Quotas, grant: &Grant) -> Result<(), Error> {
    let Some(most) = quotas.member_sandboxes.filter(|_| is_bound(grant)) else { return Ok(()) };
    let used = tx.sandboxes_of(&grant.key).await?;
    if used < most {
        return Ok(());
    }
    Err(full(format!(
        "`{}` has {used} sandboxes, and {most} are allowed: end one with `carrel sandbox rm`, or ask an admin to raise \
         `quotas.member_sandboxes`",
        grant.name
    )))
}

/// Lets a card be, unless there are too many with it. Called after it was written: what is refused goes back.
pub(crate) async fn admit_card(tx: &mut Tx, quotas: &Quotas, grant: &Grant, repo: &RepoName) -> Result<(), Error> {
    if !is_bound(grant) {
        return Ok(());
    }
    if let Some(most) = quotas.member_tasks
        && tx.tasks_of(&grant.key).await? > most
    {
        return Err(full(format!(
            "`{}` has {most} tasks that are not merged or closed, which is all that are allowed: close one, or ask an \
             admin to raise `quotas.member_tasks`",
            grant.name
        )));
    }
    if let Some(most) = quotas.repo_tasks
        && tx.tasks_in(repo).await? > most
    {
        return Err(full(format!(
            "repo `{repo}` has {most} tasks that are not merged or closed, which is all that are allowed: close one, or \
             ask an admin to raise `quotas.repo_tasks`"
        )));
    }
    Ok(())
}

/// Lets something new begin in a repository, unless its mirror takes more room than it may.
pub(crate) async fn admit_to_repo(house: &Arc<House>, grant: &Grant, repo: &RepoName) -> Result<(), Error> {
    let Some(most) = house.settings.work.quotas.repo_disk_mb.filter(|_| is_bound(grant)) else { return Ok(()) };
    let used = disk_mb(house, repo).await?;
    if used < most {
        return Ok(());
    }
    Err(full(format!(
        "repo `{repo}` takes {used} MiB on the disk of the server, and {most} are allowed: ask an admin to raise \
         `quotas.repo_disk_mb`. What is under way is still saved and pushed"
    )))
}

async fn disk_mb(house: &Arc<House>, repo: &RepoName) -> Result<u64, Error> {
    Ok(house.library.mirror(repo).await?.size() >> 20)
}

/// Whoever runs the house sets the numbers; the house itself acts as an admin too.
fn is_bound(grant: &Grant) -> bool {
    !matches!(grant.authority, Authority::Admin)
}

fn full(why: String) -> Error {
    Error::Limited { why, retry_after: SignedDuration::from_secs(RESTS), of: TooMuch::Quota }
}

fn usd(dollars: Dollars) -> f64 {
    dollars.micros() as f64 / 1e6
}
