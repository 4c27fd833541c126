//! The audit desk.

use carrel_model::{
    Action, Grant, KeyId, Subject,
    audit::{AuditLine, Outcome},
    public::{AuditView, Page},
};
use carrel_store::AuditFilter;

use crate::{Error, Paging, house::House};

/// Reads the audit.
pub struct AuditDesk<'h> {
    pub(crate) house: &'h House,
}

/// Which lines are asked for.
#[derive(Debug, Clone, Default)]
pub struct AuditQuery {
    /// By this key.
    pub actor: Option<KeyId>,
    /// Doing this.
    pub action: Option<String>,
    /// To this.
    pub subject: Option<String>,
    /// With this end.
    pub outcome: Option<Outcome>,
    /// How much of the list.
    pub paging: Paging,
}

impl AuditDesk<'_> {
    /// A page of the audit, newest first.
    pub async fn list(&self, grant: &Grant, query: AuditQuery) -> Result<Page<AuditView>, Error> {
        self.house.admit(grant, Action::AuditRead, Subject::House).await?;
        let limit = query.paging.limit();
        for (field, text) in [("action", &query.action), ("subject", &query.subject)] {
            if text.as_ref().is_some_and(|text| text.contains('\0')) {
                return Err(Error::field(field, "expected text without NUL"));
            }
        }
        let filter = AuditFilter {
            actor: query.actor,
            action: query.action,
            subject: query.subject,
            outcome: query.outcome,
            before: query.paging.after_number()?,
        };
        let mut items = self.house.store.list_audit(&filter, limit + 1).await?;
        let next = Paging::cut(&mut items, limit, |line| line.id.to_string());
        Ok(Page { items, next })
    }

    /// Writes down that somebody without a grant was turned away at the door.
    pub async fn turned_away(&self, what: &str, origin: Option<String>, why: &str) -> Result<(), Error> {
        let line = AuditLine {
            at: self.house.store.now(),
            key: None,
            name: "nobody".into(),
            role: None,
            action: what.to_owned(),
            subject: None,
            origin,
            outcome: Outcome::Denied,
            detail: Some(why.to_owned()),
        };
        Ok(self.house.store.write_audit(&line).await?)
    }
}
