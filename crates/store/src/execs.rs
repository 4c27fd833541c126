//! Execs in the database.

use carrel_model::{
    ExecId, NodeId, SandboxId, Timestamp,
    exec::{Exec, ExecStatus},
};

use crate::{
    Store, StoreError, Tx,
    sql::{Row, args, understood},
};

/// The execs.
pub struct Execs<'s> {
    pub(crate) store: &'s Store,
}

impl Execs<'_> {
    /// The exec with this id.
    pub async fn find(&self, id: &ExecId) -> Result<Option<Exec>, StoreError> {
        let row = self.store.sql().fetch_optional("SELECT * FROM execs WHERE id = $1", args![id.as_str()]).await?;
        row.as_ref().map(read).transpose()
    }

    /// A page of a sandbox's execs, newest first.
    pub async fn list(
        &self,
        sandbox: &SandboxId,
        before: Option<(Timestamp, ExecId)>,
        most: u32,
    ) -> Result<Vec<Exec>, StoreError> {
        let (mut sql, mut values) = ("SELECT * FROM execs WHERE sandbox_id = $1".to_owned(), args![sandbox.as_str()]);
        if let Some((at, id)) = before {
            sql.push_str(" AND (started_at, id) < ($2, $3)");
            values.extend(args![at, id.as_str()]);
        }
        sql.push_str(&format!(" ORDER BY started_at DESC, id DESC LIMIT ${}", values.len() + 1));
        values.push(i64::from(most).into());
        self.store.sql().fetch_all(sql, values).await?.iter().map(read).collect()
    }

    /// What a node follows, or followed in an earlier life.
    pub async fn running(&self, node: &NodeId) -> Result<Vec<Exec>, StoreError> {
        let sql = "SELECT * FROM execs WHERE status = 'running' AND node = $1";
        self.store.sql().fetch_all(sql, args![node.as_str()]).await?.iter().map(read).collect()
    }

    /// What is said to run in sandboxes that are no more: whoever followed it did not live to see its end.
    pub async fn stranded(&self) -> Result<Vec<Exec>, StoreError> {
        let sql = "SELECT execs.* FROM execs JOIN sandboxes ON sandboxes.id = execs.sandbox_id
                   WHERE execs.status = 'running' AND sandboxes.phase = 'gone'";
        self.store.sql().fetch_all(sql, vec![]).await?.iter().map(read).collect()
    }

    /// Forgets execs that ended before a moment.
    pub async fn forget_before(&self, moment: Timestamp) -> Result<u64, StoreError> {
        let mut work = self.store.sql().begin().await?;
        let forgotten = work.execute("DELETE FROM execs WHERE ended_at < $1", args![moment]).await?;
        work.commit().await?;
        Ok(forgotten)
    }
}

impl Tx {
    /// Writes an exec as it now stands, whether or not it was written before. Nothing is written, and this is false, when
    /// another node follows it by now.
    pub async fn put_exec(&mut self, exec: &Exec) -> Result<bool, StoreError> {
        let sql = "INSERT INTO execs (id, sandbox_id, command, username, cwd, background, terminal, pid, status,
                       exit_code, timed_out, note, created_by, node, started_at, ended_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
                   ON CONFLICT (id) DO UPDATE SET pid = $8, status = $9, exit_code = $10, timed_out = $11, note = $12,
                       ended_at = $16 WHERE execs.node = $14";
        let values = args![
            exec.id.as_str(),
            exec.sandbox.as_str(),
            exec.command.as_str(),
            exec.user.as_deref(),
            exec.cwd.as_deref(),
            i64::from(exec.background),
            i64::from(exec.terminal),
            exec.pid.map(i64::from),
            exec.status.word(),
            exec.exit_code.map(i64::from),
            i64::from(exec.timed_out),
            exec.note.as_deref(),
            exec.created_by.as_str(),
            exec.node.as_str(),
            exec.started_at,
            exec.ended_at,
        ];
        if self.work.is_postgres() {
            return Ok(self.work.execute(sql, values).await? > 0);
        }
        // Nobody shares a SQLite: there it may travel with the next statement.
        self.work.put(sql, values).await.map(|()| true)
    }

    /// Gives a node what another followed in sandboxes that are on none.
    pub async fn adopt_execs(&mut self, from: &NodeId, to: &NodeId) -> Result<Vec<Exec>, StoreError> {
        let sql = "UPDATE execs SET node = $2 WHERE status = 'running' AND node = $1 AND sandbox_id IN
                       (SELECT id FROM sandboxes WHERE home IS NULL AND phase <> 'gone') RETURNING *";
        self.work.fetch_all(sql, args![from.as_str(), to.as_str()]).await?.iter().map(read).collect()
    }
}

fn read(row: &Row) -> Result<Exec, StoreError> {
    let small = |name: &str| row.maybe_int(name)?.map(|number| understood(name, number.try_into().ok())).transpose();
    Ok(Exec {
        id: row.name("id")?,
        sandbox: row.name("sandbox_id")?,
        command: row.text("command")?,
        user: row.maybe_text("username")?,
        cwd: row.maybe_text("cwd")?,
        background: row.int("background")? != 0,
        terminal: row.int("terminal")? != 0,
        pid: row.maybe_int("pid")?.map(|pid| understood("execs.pid", pid.try_into().ok())).transpose()?,
        status: understood("execs.status", ExecStatus::from_word(&row.text("status")?))?,
        exit_code: small("exit_code")?,
        timed_out: row.int("timed_out")? != 0,
        note: row.maybe_text("note")?,
        created_by: row.name("created_by")?,
        node: row.name("node")?,
        started_at: row.time("started_at")?,
        ended_at: row.maybe_time("ended_at")?,
    })
}
