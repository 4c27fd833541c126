//! The pulls of repositories that are hosted here, in the database.
//!
//! What a pull, a comment or a check says is a text to this room; columns are only what is looked for.

use carrel_model::{RepoName, Timestamp};

use crate::{
    Store, StoreError, Tx,
    sql::{Row, args},
};

/// The pulls, comments, reviews and checks of one repository.
pub struct Pulls<'s> {
    pub(crate) store: &'s Store,
    pub(crate) repo: &'s RepoName,
}

/// A pull as its row has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRecord {
    /// Its number; given when it is written first.
    pub number: i64,
    /// The branch that is to be merged.
    pub head: String,
    /// The branch it is to be merged into.
    pub base: String,
    /// Whether it is open.
    pub is_open: bool,
    /// Everything else.
    pub body: String,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Counts its changes.
    pub revision: i64,
}

/// What a word at a pull is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordKind {
    /// A comment.
    Comment,
    /// A review.
    Review,
}

impl WordKind {
    fn word(self) -> &'static str {
        match self {
            WordKind::Comment => "comment",
            WordKind::Review => "review",
        }
    }
}

/// A comment or a review: its number, and what it says.
pub type Word = (i64, String);

impl Pulls<'_> {
    /// The pull of this number.
    pub async fn find(&self, number: i64) -> Result<Option<PullRecord>, StoreError> {
        let sql = "SELECT * FROM pulls WHERE repo = $1 AND number = $2";
        let row = self.store.sql().fetch_optional(sql, args![self.repo.as_str(), number]).await?;
        row.as_ref().map(read).transpose()
    }

    /// The pull of a branch: the open one, else the newest.
    pub async fn find_by_head(&self, head: &str) -> Result<Option<PullRecord>, StoreError> {
        let sql = "SELECT * FROM pulls WHERE repo = $1 AND head = $2 ORDER BY is_open DESC, number DESC LIMIT 1";
        let row = self.store.sql().fetch_optional(sql, args![self.repo.as_str(), head]).await?;
        row.as_ref().map(read).transpose()
    }

    /// Those that are open, and those that changed at that time or later.
    pub async fn list_since(&self, since: Timestamp) -> Result<Vec<PullRecord>, StoreError> {
        let sql = "SELECT * FROM pulls WHERE repo = $1 AND (is_open = 1 OR updated_at >= $2) ORDER BY number";
        self.store.sql().fetch_all(sql, args![self.repo.as_str(), since]).await?.iter().map(read).collect()
    }

    /// All comments or reviews of a pull, the oldest first.
    pub async fn words(&self, number: i64, kind: WordKind) -> Result<Vec<Word>, StoreError> {
        let sql = "SELECT id, body FROM pull_words WHERE repo = $1 AND number = $2 AND kind = $3 ORDER BY id";
        let rows = self.store.sql().fetch_all(sql, args![self.repo.as_str(), number, kind.word()]).await?;
        rows.iter().map(read_word).collect()
    }

    /// What programs said about a commit, by name.
    pub async fn checks(&self, commit: &str) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT body FROM checks WHERE repo = $1 AND commit_id = $2 ORDER BY name";
        let rows = self.store.sql().fetch_all(sql, args![self.repo.as_str(), commit]).await?;
        rows.iter().map(|row| row.text("body")).collect()
    }
}

impl Tx {
    /// Writes a new pull under the next number, or finds the open one of the same branches.
    pub async fn add_pull(&mut self, repo: &RepoName, new: &PullRecord) -> Result<PullRecord, StoreError> {
        // Whoever else opens one in this repository waits for this row.
        let number = self.next_number(repo, "pulls").await?;
        let sql = "SELECT * FROM pulls WHERE repo = $1 AND head = $2 AND base = $3 AND is_open = 1";
        let values = args![repo.as_str(), new.head.as_str(), new.base.as_str()];
        if let Some(row) = self.work.fetch_optional(sql, values).await? {
            self.work
                .execute("UPDATE pull_numbers SET pulls = pulls - 1 WHERE repo = $1", args![repo.as_str()])
                .await?;
            return read(&row);
        }
        let sql = "INSERT INTO pulls (repo, number, head, base, is_open, body, updated_at, revision)
                   VALUES ($1, $2, $3, $4, 1, $5, $6, 1)";
        let values =
            args![repo.as_str(), number, new.head.as_str(), new.base.as_str(), new.body.as_str(), new.updated_at];
        self.work.execute(sql, values).await?;
        Ok(PullRecord { number, is_open: true, revision: 1, ..new.clone() })
    }

    /// Writes a pull as it now is, if nobody wrote it since it was read; says whether it was written.
    pub async fn put_pull(&mut self, repo: &RepoName, pull: &PullRecord) -> Result<bool, StoreError> {
        let sql =
            "UPDATE pulls SET head = $1, base = $2, is_open = $3, body = $4, updated_at = $5, revision = revision + 1
                   WHERE repo = $6 AND number = $7 AND revision = $8";
        let values = args![
            pull.head.as_str(),
            pull.base.as_str(),
            i64::from(pull.is_open),
            pull.body.as_str(),
            pull.updated_at,
            repo.as_str(),
            pull.number,
            pull.revision
        ];
        Ok(self.work.execute(sql, values).await? == 1)
    }

    /// Writes a comment or review, or finds the comment with the same stamp at the same pull.
    pub async fn add_word(
        &mut self,
        repo: &RepoName,
        number: i64,
        kind: WordKind,
        stamp: Option<&str>,
        body: &str,
    ) -> Result<Word, StoreError> {
        let id = self.next_number(repo, "words").await?;
        if let Some(stamp) = stamp {
            let sql = "SELECT id, body FROM pull_words WHERE repo = $1 AND number = $2 AND stamp = $3";
            if let Some(row) = self.work.fetch_optional(sql, args![repo.as_str(), number, stamp]).await? {
                return read_word(&row);
            }
        }
        let sql = "INSERT INTO pull_words (repo, id, number, kind, stamp, body) VALUES ($1, $2, $3, $4, $5, $6)";
        self.work.execute(sql, args![repo.as_str(), id, number, kind.word(), stamp, body]).await?;
        Ok((id, body.to_owned()))
    }

    /// Writes what a program says about a commit, in place of what it said before.
    pub async fn put_check(&mut self, repo: &RepoName, commit: &str, name: &str, body: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO checks (repo, commit_id, name, body) VALUES ($1, $2, $3, $4)
                   ON CONFLICT (repo, commit_id, name) DO UPDATE SET body = $4";
        self.work.execute(sql, args![repo.as_str(), commit, name, body]).await?;
        Ok(())
    }

    async fn next_number(&mut self, repo: &RepoName, what: &'static str) -> Result<i64, StoreError> {
        let first = "INSERT INTO pull_numbers (repo, pulls, words) VALUES ($1, 0, 0) ON CONFLICT (repo) DO NOTHING";
        self.work.execute(first, args![repo.as_str()]).await?;
        let sql = format!("UPDATE pull_numbers SET {what} = {what} + 1 WHERE repo = $1 RETURNING {what} AS number");
        let row = self.work.fetch_optional(sql, args![repo.as_str()]).await?;
        row.ok_or_else(|| StoreError::Corrupt { what: "no pull numbers".into() })?.int("number")
    }
}

fn read(row: &Row) -> Result<PullRecord, StoreError> {
    Ok(PullRecord {
        number: row.int("number")?,
        head: row.text("head")?,
        base: row.text("base")?,
        is_open: row.int("is_open")? != 0,
        body: row.text("body")?,
        updated_at: row.time("updated_at")?,
        revision: row.int("revision")?,
    })
}

fn read_word(row: &Row) -> Result<Word, StoreError> {
    Ok((row.int("id")?, row.text("body")?))
}
