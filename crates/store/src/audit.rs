//! The audit in the database. Lines are added and read; the schema forbids anything else.

use carrel_model::{
    KeyId, Role,
    audit::{AuditLine, Outcome},
    public::AuditView,
};

use crate::{
    Store, StoreError, Tx,
    sql::{Arg, Row, Work, args, understood},
};

/// Which lines to list.
#[derive(Debug, Clone, Default)]
pub struct AuditFilter {
    /// By this key.
    pub actor: Option<KeyId>,
    /// Doing this.
    pub action: Option<String>,
    /// To this.
    pub subject: Option<String>,
    /// With this end.
    pub outcome: Option<Outcome>,
    /// Older than this line: the last of the page before.
    pub before: Option<i64>,
}

impl Store {
    /// Adds a line on its own: for what was refused, where nothing else changes.
    pub async fn write_audit(&self, line: &AuditLine) -> Result<(), StoreError> {
        let line = line.clone();
        self.change(move |tx| Box::pin(async move { tx.audit(&line).await })).await
    }

    /// A page of the audit, newest first.
    pub async fn list_audit(&self, filter: &AuditFilter, most: u32) -> Result<Vec<AuditView>, StoreError> {
        let mut conditions = vec!["1 = 1".to_owned()];
        let mut values: Vec<Arg> = Vec::new();
        let mut only = |condition: &str, value: Option<Arg>| {
            if let Some(value) = value {
                values.push(value);
                conditions.push(format!("{condition} ${}", values.len()));
            }
        };
        only("key_id =", filter.actor.as_ref().map(|id| id.as_str().into()));
        only("action =", filter.action.as_deref().map(Arg::from));
        only("subject =", filter.subject.as_deref().map(Arg::from));
        only("outcome =", filter.outcome.map(|outcome| outcome.word().into()));
        only("id <", filter.before.map(Arg::from));
        values.push(i64::from(most).into());
        let conditions = conditions.join(" AND ");
        let sql = format!("SELECT * FROM audit WHERE {conditions} ORDER BY id DESC LIMIT ${}", values.len());
        self.sql().fetch_all(sql, values).await?.iter().map(read).collect()
    }
}

impl Tx {
    /// Adds a line to the audit, together with what it tells of.
    pub async fn audit(&mut self, line: &AuditLine) -> Result<(), StoreError> {
        insert(&mut self.work, line).await
    }
}

async fn insert(work: &mut Work, line: &AuditLine) -> Result<(), StoreError> {
    let sql = "INSERT INTO audit (at, key_id, name, role, action, subject, origin, outcome, detail)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    let values = args![
        line.at,
        line.key.as_ref().map(|id| id.as_str()),
        line.name.as_str(),
        line.role.map(|role| role.word()),
        line.action.as_str(),
        line.subject.clone(),
        line.origin.clone(),
        line.outcome.word(),
        line.detail.clone(),
    ];
    work.put(sql, values).await
}

fn read(row: &Row) -> Result<AuditView, StoreError> {
    let role = row.maybe_text("role")?.map(|word| understood("audit.role", Role::from_word(&word)));
    let line = AuditLine {
        at: row.time("at")?,
        key: row.maybe_name("key_id")?,
        name: row.text("name")?,
        role: role.transpose()?,
        action: row.text("action")?,
        subject: row.maybe_text("subject")?,
        origin: row.maybe_text("origin")?,
        outcome: understood("audit.outcome", Outcome::from_word(&row.text("outcome")?))?,
        detail: row.maybe_text("detail")?,
    };
    Ok(AuditView::new(row.int("id")?, line))
}
