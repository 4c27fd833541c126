//! Pull requests as they were last seen, at whatever forge; what was heard there; and where bases are.

use carrel_model::{
    Branch, CommitId, RepoName, Timestamp,
    public::{BaseView, Happening, PullNews, PullPhase, PullView},
};

use crate::{
    Store, StoreError, Tx,
    sql::{Row, args, understood},
};

/// Pull requests as they were last seen.
pub struct SeenPulls<'s> {
    pub(crate) store: &'s Store,
}

/// Which pulls are asked for.
#[derive(Debug, Clone, Default)]
pub struct PullFilter {
    /// Of this repository.
    pub repo: Option<RepoName>,
    /// In this phase.
    pub phase: Option<PullPhase>,
    /// Whether they are over.
    pub over: Option<bool>,
    /// With this branch as their head.
    pub head: Option<Branch>,
    /// Older than this one: when it was opened, and the repository and number as `repo/number`.
    pub before: Option<(Timestamp, String)>,
}

impl SeenPulls<'_> {
    /// The pull of this number.
    pub async fn find(&self, repo: &RepoName, number: u64) -> Result<Option<PullView>, StoreError> {
        let sql = "SELECT * FROM seen_pulls WHERE repo = $1 AND number = $2";
        let row = self.store.sql().fetch_optional(sql, args![repo.as_str(), number_of(number)?]).await?;
        row.as_ref().map(read).transpose()
    }

    /// A page of pulls, newest first.
    pub async fn list(&self, filter: &PullFilter, most: u32) -> Result<Vec<PullView>, StoreError> {
        let (at, last) = filter.before.clone().unwrap_or((Timestamp::MAX, String::new()));
        let (last_repo, last_number) = last.rsplit_once('/').unwrap_or(("", "0"));
        let sql = "SELECT * FROM seen_pulls
                   WHERE (created_at, repo, number) < ($1, $2, $3)
                     AND ($4 = '' OR repo = $4) AND ($5 = '' OR phase = $5) AND ($6 < 0 OR is_over = $6)
                     AND ($7 = '' OR head = $7)
                   ORDER BY created_at DESC, repo DESC, number DESC LIMIT $8";
        let values = args![
            at,
            last_repo,
            last_number.parse::<i64>().unwrap_or(0),
            filter.repo.as_ref().map_or("", |repo| repo.as_str()),
            filter.phase.map_or("", PullPhase::word),
            filter.over.map_or(-1, i64::from),
            filter.head.as_ref().map_or("", |head| head.as_str()),
            i64::from(most),
        ];
        self.store.sql().fetch_all(sql, values).await?.iter().map(read).collect()
    }

    /// Those that are not over and have one of these branches at either end.
    pub async fn touching(&self, repo: &RepoName, branch: &Branch) -> Result<Vec<PullView>, StoreError> {
        let sql =
            "SELECT * FROM seen_pulls WHERE repo = $1 AND is_over = 0 AND (head = $2 OR base = $2) ORDER BY number";
        self.store.sql().fetch_all(sql, args![repo.as_str(), branch.as_str()]).await?.iter().map(read).collect()
    }

    /// What was heard at a pull, and in which version.
    pub async fn heard(
        &self,
        repo: &RepoName,
        number: u64,
    ) -> Result<std::collections::HashMap<String, String>, StoreError> {
        let sql = "SELECT word, version FROM heard_words WHERE repo = $1 AND number = $2";
        let rows = self.store.sql().fetch_all(sql, args![repo.as_str(), number_of(number)?]).await?;
        rows.iter().map(|row| Ok((row.text("word")?, row.text("version")?))).collect()
    }

    /// How far a forge was read.
    pub async fn reading(&self, repo: &RepoName) -> Result<Option<String>, StoreError> {
        let sql = "SELECT body FROM forge_readings WHERE repo = $1";
        let row = self.store.sql().fetch_optional(sql, args![repo.as_str()]).await?;
        row.map(|row| row.text("body")).transpose()
    }

    /// The bases that are watched, and where each was when it was last told of.
    pub async fn bases(&self, repo: &RepoName) -> Result<Vec<(Branch, Option<CommitId>)>, StoreError> {
        let sql = "SELECT branch, commit_id FROM bases WHERE repo = $1 ORDER BY branch";
        let rows = self.store.sql().fetch_all(sql, args![repo.as_str()]).await?;
        rows.iter().map(|row| Ok((row.name("branch")?, row.maybe_name("commit_id")?))).collect()
    }
}

impl Tx {
    /// Writes a pull as it was seen and tells of it, unless nothing is new. What is merged stays merged.
    pub async fn see_pull(&mut self, mut seen: PullView, news: Vec<PullNews>) -> Result<PullView, StoreError> {
        let number = number_of(seen.number)?;
        let lock = if self.work.is_postgres() { " FOR UPDATE" } else { "" };
        let sql = format!("SELECT * FROM seen_pulls WHERE repo = $1 AND number = $2{lock}");
        let before = self.work.fetch_optional(sql, args![seen.repo.as_str(), number]).await?;
        let before = before.as_ref().map(read).transpose()?;
        if let Some(before) = before {
            seen.revision = before.revision;
            let late = before.phase == PullPhase::Merged && seen.phase != PullPhase::Merged;
            if (late || before.is_as(&seen)) && news.is_empty() {
                return Ok(before);
            }
            if late {
                seen = before;
            }
        }
        seen.revision += 1;
        let body = serde_json::to_string(&seen).map_err(|_| StoreError::Corrupt { what: "a pull".into() })?;
        let sql = "INSERT INTO seen_pulls (repo, number, head, base, phase, is_over, body, created_at, revision)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
                   ON CONFLICT (repo, number) DO UPDATE SET head = $3, base = $4, phase = $5, is_over = $6, body = $7,
                       created_at = $8, revision = $9";
        let values = args![
            seen.repo.as_str(),
            number,
            seen.head.as_str(),
            seen.base.as_str(),
            seen.phase.word(),
            i64::from(seen.phase.is_over()),
            body,
            seen.created_at,
            seen.revision,
        ];
        self.work.execute(sql, values).await?;
        self.tell(Happening::Pull { pull: Box::new(seen.clone()), news });
        Ok(seen)
    }

    /// Hears a word at a pull, and says whether it is new or in another version than before.
    pub async fn hear(&mut self, repo: &RepoName, number: u64, word: &str, version: &str) -> Result<bool, StoreError> {
        let sql = "INSERT INTO heard_words (repo, number, word, version) VALUES ($1, $2, $3, $4)
                   ON CONFLICT (repo, number, word) DO UPDATE SET version = $4 WHERE heard_words.version <> $4";
        let values = args![repo.as_str(), number_of(number)?, word, version];
        Ok(self.work.execute(sql, values).await? == 1)
    }

    /// Writes down how far a forge was read.
    pub async fn put_reading(&mut self, repo: &RepoName, body: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO forge_readings (repo, body) VALUES ($1, $2) ON CONFLICT (repo) DO UPDATE SET body = $2";
        self.work.execute(sql, args![repo.as_str(), body]).await?;
        Ok(())
    }

    /// Watches a branch from now on, beginning where it is. One that is watched stays as it was told.
    pub async fn watch_base(
        &mut self,
        repo: &RepoName,
        branch: &Branch,
        commit: Option<&CommitId>,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO bases (repo, branch, commit_id) VALUES ($1, $2, $3)
                   ON CONFLICT (repo, branch) DO NOTHING";
        let values = args![repo.as_str(), branch.as_str(), commit.map(CommitId::as_str)];
        self.work.execute(sql, values).await?;
        Ok(())
    }

    /// Tells that a base moved, if it is still where it was told to be; says whether it was.
    pub async fn move_base(&mut self, base: BaseView) -> Result<bool, StoreError> {
        let sql = "UPDATE bases SET commit_id = $1
                   WHERE repo = $2 AND branch = $3 AND coalesce(commit_id, '') = coalesce($4, '')";
        let values = args![
            base.commit.as_ref().map(CommitId::as_str),
            base.repo.as_str(),
            base.branch.as_str(),
            base.before.as_ref().map(CommitId::as_str),
        ];
        let moved = self.work.execute(sql, values).await? == 1;
        if moved {
            self.tell(Happening::Base { base });
        }
        Ok(moved)
    }

    /// Forgets what was seen of a repository that goes away.
    pub async fn forget_pulls(&mut self, repo: &RepoName) -> Result<(), StoreError> {
        for table in ["seen_pulls", "heard_words", "forge_readings", "bases", "pulls", "pull_words", "checks"] {
            self.work.execute(format!("DELETE FROM {table} WHERE repo = $1"), args![repo.as_str()]).await?;
        }
        Ok(())
    }
}

fn number_of(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(|_| StoreError::Corrupt { what: "a pull's number".into() })
}

fn read(row: &Row) -> Result<PullView, StoreError> {
    understood("seen_pulls.body", serde_json::from_str(&row.text("body")?).ok())
}
