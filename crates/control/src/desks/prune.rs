//! The desk that carries out what nobody needs: on demand, what the sweep leaves for later.

use std::sync::Arc;

use carrel_model::{
    Action, Grant, Subject, Timestamp,
    audit::{AuditLine, Outcome},
    number::Whole,
    public::{NewPrune, PrunedView},
};
use jiff::SignedDuration;

use crate::{Error, house::House, library};

/// Records of sandboxes that are gone for so many days are old.
const OLD_DAYS: u64 = 30;

/// Carries out what nobody needs.
pub struct PruneDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

impl PruneDesk<'_> {
    /// Forgets sandboxes that are long gone, and removes checkouts that nobody stands on. Work, branches, tasks, sessions
    /// and the audit are never touched.
    pub async fn prune(&self, grant: &Grant, asked: NewPrune) -> Result<PrunedView, Error> {
        self.house.admit(grant, Action::HousePrune, Subject::House).await?;
        let (store, days) = (&self.house.store, asked.older_than_days.map_or(OLD_DAYS, Whole::get));
        let age = SignedDuration::from_hours(i64::try_from(days).unwrap_or(i64::MAX / 24) * 24);
        let before = store.now().checked_sub(age).unwrap_or(Timestamp::MIN);
        if asked.dry_run {
            let sandboxes = store.count_gone(before).await?;
            return Ok(PrunedView { sandboxes, checkouts: None, dry_run: true });
        }
        let sandboxes = store.forget_gone(before).await?;
        let checkouts = library::carry_out(self.house, 0).await?.map(|gone| gone as u64);
        let line = AuditLine::by(grant, Action::HousePrune.word(), None, Outcome::Done, store.now());
        self.house.scribe.audit(line).await;
        Ok(PrunedView { sandboxes, checkouts, dry_run: false })
    }
}
