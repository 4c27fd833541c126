//! What can go wrong with a database, by what the caller can do about it.

/// Why the store could not do something.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The address of the database cannot be understood.
    #[error("`{url}` is not a database address: {why}")]
    Address {
        /// The address, without its password.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// Nobody answers there, or not for us.
    #[error("the database {place} cannot be reached")]
    Unreachable {
        /// The address, without its password.
        place: String,
        /// What the driver says.
        source: sqlx::Error,
    },
    /// There is no such database, or no folder to put it in.
    #[error("the database {place} is missing")]
    Missing {
        /// Where it was looked for.
        place: String,
    },
    /// Somebody else holds it.
    #[error("the database {place} is locked by another program")]
    Locked {
        /// Which one.
        place: String,
    },
    /// It can be read but not written.
    #[error("the database {place} is read-only")]
    ReadOnly {
        /// Which one.
        place: String,
    },
    /// A newer Carrel has been here.
    #[error("the database {place} was written by a newer Carrel (its schema is {found}, this one knows {known})")]
    Newer {
        /// Which one.
        place: String,
        /// The version it has.
        found: i64,
        /// The newest version we know.
        known: i64,
    },
    /// It is somebody else's, or damaged.
    #[error("the database {place} is not one of Carrel's: {why}")]
    Foreign {
        /// Which one.
        place: String,
        /// What gives it away.
        why: String,
    },
    /// A keeper lost its lease: somebody else may be at work on the row.
    #[error("the lease on {subject} was lost")]
    LeaseLost {
        /// The row.
        subject: String,
    },
    /// A row holds what no version of Carrel wrote.
    #[error("the database holds {what}, which cannot be understood")]
    Corrupt {
        /// The table and column, never the content.
        what: String,
    },
    /// No connection became free in time.
    #[error("the database is too busy")]
    Busy,
    /// There is no room to write. Somebody has to make some.
    #[error("the disk of the database is full")]
    Full,
    /// The file was removed or replaced while it was in use: what is written now is lost with the process.
    #[error("the file of the database was removed or replaced while it was in use")]
    Astray,
    /// Redis does not answer, or not as it should.
    #[error("{place} cannot be used: {why}")]
    Redis {
        /// Where it is, without its password.
        place: String,
        /// What is the matter.
        why: String,
    },
    /// Anything else.
    #[error("the database failed")]
    Failed(#[source] sqlx::Error),
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::PoolTimedOut => StoreError::Busy,
            sqlx::Error::Database(said) if matches!(said.code().as_deref(), Some("5" | "517" | "55P03")) => {
                StoreError::Busy
            }
            sqlx::Error::Database(said) if matches!(said.code().as_deref(), Some("13" | "53100")) => StoreError::Full,
            _ => StoreError::Failed(error),
        }
    }
}

impl StoreError {
    /// Whether the same call may succeed a little later: the database is away or busy, not at odds with us.
    pub fn is_passing(&self) -> bool {
        match self {
            StoreError::Busy
            | StoreError::Full
            | StoreError::Astray
            | StoreError::Unreachable { .. }
            | StoreError::Redis { .. }
            | StoreError::Locked { .. }
            | StoreError::ReadOnly { .. } => true,
            StoreError::Failed(error) => match error {
                sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::PoolTimedOut => true,
                sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed | sqlx::Error::Protocol(_) => true,
                sqlx::Error::Database(said) => said.code().is_some_and(|code| is_passing_code(&code)),
                _ => false,
            },
            _ => false,
        }
    }
}

/// Connection trouble, shutdown, conflicts and lack of room, as PostgreSQL numbers them; the same and trouble with the
/// disk as SQLite does, whose low byte is the primary code.
fn is_passing_code(code: &str) -> bool {
    match code.parse::<i32>() {
        Ok(number) if code.len() < 5 => matches!(number & 0xff, 5 | 6 | 8 | 10 | 13 | 14),
        _ => ["08", "57P", "40", "53", "25P03", "25006"].iter().any(|class| code.starts_with(class)),
    }
}
