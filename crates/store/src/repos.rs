//! Repositories and pushes in the database.

use carrel_model::{
    PushId, RepoName, TaskId, Timestamp,
    public::{Happening, PushView, RepoView},
    repo::{Push, Repo, RepoPhase},
};

use crate::{
    Store, StoreError, Tx,
    sql::{Row, args, understood},
};

/// The repositories.
pub struct Repos<'s> {
    pub(crate) store: &'s Store,
}

/// What was pushed.
pub struct Pushes<'s> {
    pub(crate) store: &'s Store,
}

impl Repos<'_> {
    /// The repository of this name.
    pub async fn find(&self, name: &RepoName) -> Result<Option<Repo>, StoreError> {
        let sql = "SELECT * FROM repos WHERE name = $1";
        self.store.sql().fetch_optional(sql, args![name.as_str()]).await?.as_ref().map(read).transpose()
    }

    /// All of them, by name.
    pub async fn list(&self) -> Result<Vec<Repo>, StoreError> {
        let sql = "SELECT * FROM repos ORDER BY name";
        self.store.sql().fetch_all(sql, vec![]).await?.iter().map(read).collect()
    }
}

impl Pushes<'_> {
    /// A page of pushes to a repository, newest first.
    pub async fn list(
        &self,
        repo: &RepoName,
        before: Option<(Timestamp, PushId)>,
        most: u32,
    ) -> Result<Vec<Push>, StoreError> {
        let (at, id) = before.map_or((Timestamp::MAX, None), |(at, id)| (at, Some(id)));
        let sql = "SELECT * FROM pushes WHERE repo = $1 AND (at, id) < ($2, $3) ORDER BY at DESC, id DESC LIMIT $4";
        let id = id.as_ref().map_or("", |id| id.as_str());
        let rows = self.store.sql().fetch_all(sql, args![repo.as_str(), at, id, i64::from(most)]).await?;
        rows.iter().map(read_push).collect()
    }
}

impl Tx {
    /// Reads a repository and keeps others from changing it until this change is over.
    pub async fn lock_repo(&mut self, name: &RepoName) -> Result<Option<Repo>, StoreError> {
        let lock = if self.work.is_postgres() { " FOR UPDATE" } else { "" };
        let sql = format!("SELECT * FROM repos WHERE name = $1{lock}");
        self.work.fetch_optional(sql, args![name.as_str()]).await?.as_ref().map(read).transpose()
    }

    /// Writes a repository as it now is, whether or not it was written before, and tells of it.
    pub async fn put_repo(&mut self, repo: &mut Repo) -> Result<(), StoreError> {
        repo.revision += 1;
        repo.updated_at = self.now();
        let sql = "INSERT INTO repos (name, source, phase, default_branch, head, rules, note, synced_at, created_by,
                       created_at, updated_at, revision)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
                   ON CONFLICT (name) DO UPDATE SET source = $2, phase = $3, default_branch = $4, head = $5, rules = $6,
                       note = $7, synced_at = $8, created_by = $9, created_at = $10, updated_at = $11, revision = $12";
        let rules = serde_json::to_string(&repo.rules).map_err(|_| StoreError::Corrupt { what: "rules".into() })?;
        let values = args![
            repo.name.as_str(),
            repo.source.as_ref().map(|source| source.as_str()),
            repo.phase.word(),
            repo.default_branch.as_ref().map(|branch| branch.as_str()),
            repo.head.as_ref().map(|head| head.as_str()),
            rules,
            repo.note.as_deref(),
            repo.synced_at,
            repo.created_by.as_str(),
            repo.created_at,
            repo.updated_at,
            repo.revision,
        ];
        self.work.execute(sql, values).await?;
        self.tell(Happening::Repo { repo: Box::new(RepoView::from(&*repo)) });
        Ok(())
    }

    /// Forgets a repository that was locked in this change, and tells of it. What was pushed to it stays written down.
    pub async fn remove_repo(&mut self, repo: &Repo) -> Result<(), StoreError> {
        self.work.execute("DELETE FROM repos WHERE name = $1", args![repo.name.as_str()]).await?;
        let last = RepoView { removed: true, revision: repo.revision + 1, ..RepoView::from(repo) };
        self.tell(Happening::Repo { repo: Box::new(last) });
        Ok(())
    }

    /// Writes down what was pushed and tells of it.
    pub async fn insert_push(&mut self, push: &Push) -> Result<(), StoreError> {
        let sql = "INSERT INTO pushes (id, repo, task_id, sandbox_id, key_id, refs, refusal, at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
        let refs = serde_json::to_string(&push.refs).map_err(|_| StoreError::Corrupt { what: "refs".into() })?;
        let values = args![
            push.id.as_str(),
            push.repo.as_str(),
            push.task_id.map(i64::from),
            push.sandbox_id.as_ref().map(|id| id.as_str()),
            push.key.as_str(),
            refs,
            push.refusal.as_deref(),
            push.at,
        ];
        self.work.execute(sql, values).await?;
        self.tell(Happening::Push { push: PushView::from(push) });
        Ok(())
    }
}

fn read(row: &Row) -> Result<Repo, StoreError> {
    Ok(Repo {
        name: row.name("name")?,
        source: row.maybe_name("source")?,
        phase: understood("repos.phase", RepoPhase::from_word(&row.text("phase")?))?,
        default_branch: row.maybe_name("default_branch")?,
        head: row.maybe_name("head")?,
        rules: understood("repos.rules", serde_json::from_str(&row.text("rules")?).ok())?,
        note: row.maybe_text("note")?,
        synced_at: row.maybe_time("synced_at")?,
        created_by: row.name("created_by")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
        revision: row.int("revision")?,
    })
}

fn read_push(row: &Row) -> Result<Push, StoreError> {
    let task = |number| understood("pushes.task_id", TaskId::try_from(number).ok());
    Ok(Push {
        id: row.name("id")?,
        repo: row.name("repo")?,
        task_id: row.maybe_int("task_id")?.map(task).transpose()?,
        sandbox_id: row.maybe_name("sandbox_id")?,
        key: row.name("key_id")?,
        refs: understood("pushes.refs", serde_json::from_str(&row.text("refs")?).ok())?,
        refusal: row.maybe_text("refusal")?,
        at: row.time("at")?,
    })
}
