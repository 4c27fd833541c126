//! Sandboxes in the database, and the leases on them.

use carrel_model::{
    AgentId, NodeId, ProviderName, SandboxId, TaskId, TemplateName, Timestamp,
    public::{Cursor, Happening, SandboxView},
    sandbox::{Depth, Ended, Lifetime, Manners, Phase, Sandbox, Sleep, Want},
};

use crate::{
    Store, StoreError, Tx,
    sql::{Arg, Row, args, understood},
};

/// The sandboxes.
pub struct Sandboxes<'s> {
    pub(crate) store: &'s Store,
}

/// The right to act on a row: one owner at a time. The token grows with every new owner, so that a former one whose
/// lease ran out is recognised when it comes back late.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The process that holds it.
    pub owner: String,
    /// Told apart from former leases by this.
    pub token: i64,
    /// When it runs out unless it is renewed.
    pub until: Timestamp,
}

/// A sandbox together with the lease on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Leased {
    /// The sandbox.
    pub sandbox: Sandbox,
    /// The lease.
    pub lease: Lease,
}

/// Which sandboxes to list.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// In this phase; everything but `gone` when not given.
    pub phase: Option<Phase>,
    /// At this provider.
    pub provider: Option<ProviderName>,
    /// From this template.
    pub template: Option<TemplateName>,
    /// Of this agent.
    pub agent: Option<AgentId>,
    /// Of this task.
    pub task: Option<TaskId>,
    /// Only this one.
    pub id: Option<SandboxId>,
    /// Older than this one: the last of the page before.
    pub before: Option<(Timestamp, SandboxId)>,
}

impl Sandboxes<'_> {
    /// The sandbox with this id.
    pub async fn find(&self, id: &SandboxId) -> Result<Option<Sandbox>, StoreError> {
        let row = self.store.sql().fetch_optional("SELECT * FROM sandboxes WHERE id = $1", args![id.as_str()]).await?;
        row.as_ref().map(read).transpose()
    }

    /// A page of sandboxes, newest first, and a cursor from before they were read: what changes later is an entry after it.
    pub async fn list(&self, filter: &Filter, most: u32) -> Result<(Vec<Sandbox>, Cursor), StoreError> {
        let as_of = self.store.journal().head();
        let mut conditions = vec![match filter.phase {
            Some(phase) => format!("phase = '{}'", phase.word()),
            None => "phase <> 'gone'".to_owned(),
        }];
        let mut values: Vec<Arg> = Vec::new();
        let mut only = |column: &str, value: Option<Arg>| {
            if let Some(value) = value {
                values.push(value);
                conditions.push(format!("{column} = ${}", values.len()));
            }
        };
        only("provider", filter.provider.as_ref().map(|name| name.as_str().into()));
        only("template", filter.template.as_ref().map(|name| name.as_str().into()));
        only("agent_id", filter.agent.as_ref().map(|id| id.as_str().into()));
        only("task_id", filter.task.map(|id| i64::from(id).into()));
        only("id", filter.id.as_ref().map(|id| id.as_str().into()));
        if let Some((at, id)) = &filter.before {
            values.extend(args![*at, id.as_str()]);
            conditions.push(format!("(created_at, id) < (${}, ${})", values.len() - 1, values.len()));
        }
        values.push(i64::from(most).into());
        let sql = format!(
            "SELECT * FROM sandboxes WHERE {} ORDER BY created_at DESC, id DESC LIMIT ${}",
            conditions.join(" AND "),
            values.len()
        );
        let rows = self.store.sql().fetch_all(sql, values).await?;
        Ok((rows.iter().map(read).collect::<Result<_, _>>()?, as_of))
    }

    /// How many sandboxes are in each phase, `gone` left out.
    pub async fn count(&self) -> Result<Vec<(Phase, i64)>, StoreError> {
        let sql = "SELECT phase, count(*) AS count FROM sandboxes WHERE phase <> 'gone' GROUP BY phase";
        let rows = self.store.sql().fetch_all(sql, vec![]).await?;
        rows.iter().map(|row| Ok((read_phase(row)?, row.int("count")?))).collect()
    }

    /// The sandboxes that should exist at a provider, as far as this node is concerned.
    pub async fn expected(&self, provider: &ProviderName, node: &NodeId) -> Result<Vec<Sandbox>, StoreError> {
        let sql = "SELECT * FROM sandboxes WHERE provider = $1 AND phase IN ('ready', 'paused')
                   AND (home IS NULL OR home = $2)";
        let rows = self.store.sql().fetch_all(sql, args![provider.as_str(), node.as_str()]).await?;
        rows.iter().map(read).collect()
    }

    /// Takes the leases on rows that are due and that nobody holds, oldest first.
    pub async fn claim(
        &self,
        owner: &str,
        node: &NodeId,
        until: Timestamp,
        most: u32,
    ) -> Result<Vec<Leased>, StoreError> {
        let now = self.store.now();
        let due = "due_at <= $1 AND (lease_owner IS NULL OR lease_until <= $1) AND (home IS NULL OR home = $2)";
        // A look costs no write: mostly there is nothing to do.
        let look = format!("SELECT 1 AS one FROM sandboxes WHERE {due} LIMIT 1");
        if self.store.sql().fetch_optional(look, args![now, node.as_str()]).await?.is_none() {
            return Ok(Vec::new());
        }
        let mut work = self.store.sql().begin().await?;
        let lock = if work.is_postgres() { "FOR UPDATE SKIP LOCKED" } else { "" };
        let sql = format!(
            "UPDATE sandboxes SET lease_owner = $3, lease_until = $4, lease_token = lease_token + 1
             WHERE id IN (SELECT id FROM sandboxes WHERE {due} ORDER BY due_at LIMIT $5 {lock}) RETURNING *"
        );
        let rows = work.fetch_all(sql, args![now, node.as_str(), owner, until, i64::from(most)]).await?;
        work.commit().await?;
        rows.iter().map(read_leased).collect()
    }

    /// Takes the lease on one row, due or not, unless somebody holds it.
    pub async fn claim_one(&self, id: &SandboxId, owner: &str, until: Timestamp) -> Result<Option<Leased>, StoreError> {
        let mut work = self.store.sql().begin().await?;
        let sql = "UPDATE sandboxes SET lease_owner = $3, lease_until = $4, lease_token = lease_token + 1
                   WHERE id = $1 AND (lease_owner IS NULL OR lease_until <= $2) RETURNING *";
        let row = work.fetch_optional(sql, args![id.as_str(), self.store.now(), owner, until]).await?;
        work.commit().await?;
        row.as_ref().map(read_leased).transpose()
    }

    /// Whether somebody has a row in hand, and may be in the middle of a step.
    pub async fn is_in_hand(&self, id: &SandboxId) -> Result<bool, StoreError> {
        let sql = "SELECT 1 AS one FROM sandboxes WHERE id = $1 AND lease_owner IS NOT NULL AND lease_until > $2";
        let held = self.store.sql().fetch_optional(sql, args![id.as_str(), self.store.now()]).await?;
        Ok(held.is_some())
    }

    /// The heartbeat: prolongs the leases on these rows, as far as this process still holds them, and says how many.
    ///
    /// Only what is really in hand is named: a row whose step was lost must run out and be taken up again.
    pub async fn renew(&self, owner: &str, ids: &[SandboxId], until: Timestamp) -> Result<u64, StoreError> {
        if ids.is_empty() {
            return Ok(0);
        }
        let mut values = args![owner, until, self.store.now()];
        let places: Vec<_> = (4..4 + ids.len()).map(|place| format!("${place}")).collect();
        values.extend(ids.iter().map(|id| Arg::from(id.as_str())));
        let mut work = self.store.sql().begin().await?;
        let sql = format!(
            "UPDATE sandboxes SET lease_until = $2 WHERE lease_owner = $1 AND lease_until > $3 AND id IN ({})",
            places.join(", ")
        );
        let renewed = work.execute(sql, values).await?;
        work.commit().await?;
        Ok(renewed)
    }

    /// Gives up the leases of a node's former lives. Only the one process that holds the node's data directory may ask.
    pub async fn abandon(&self, node: &NodeId) -> Result<u64, StoreError> {
        let mut work = self.store.sql().begin().await?;
        let sql = "UPDATE sandboxes SET lease_owner = NULL, lease_until = NULL WHERE lease_owner LIKE $1";
        // A node id holds `_`, which LIKE takes for any character: harmless, the digits are unique.
        let abandoned = work.execute(sql, args![format!("{node}:%")]).await?;
        work.commit().await?;
        Ok(abandoned)
    }

    /// When the next row is due that nobody holds.
    pub async fn next_due(&self, node: &NodeId) -> Result<Option<Timestamp>, StoreError> {
        let sql =
            "SELECT min(CASE WHEN lease_owner IS NULL OR lease_until < due_at THEN due_at ELSE lease_until END) AS due
                   FROM sandboxes WHERE due_at IS NOT NULL AND (home IS NULL OR home = $1)";
        let row = self.store.sql().fetch_optional(sql, args![node.as_str()]).await?;
        row.map(|row| row.maybe_time("due")).transpose().map(Option::flatten)
    }
}

impl Tx {
    /// Writes a new sandbox and tells of it. With a lease it is at once in its owner's hands.
    pub async fn insert_sandbox(&mut self, sandbox: &Sandbox, lease: Option<&Lease>) -> Result<(), StoreError> {
        let sql =
            "INSERT INTO sandboxes (want, phase, note, updated_at, ready_at, expires_at, ended_by, ended_why, ended_at,
                       attempts, next_attempt_at, revision, spec, due_at, lease_owner, lease_until,
                       idle_at, depth, sleep_asked, sleep_depth,
                       id, lease_token, provider, template, agent_id, task_id, home, created_by, created_at,
                       auto_resume, idle_s)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
                       $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31)";
        let mut values = changing(sandbox, lease, self.now())?;
        values.extend(args![
            sandbox.id.as_str(),
            lease.map_or(0, |lease| lease.token),
            sandbox.spec.provider.as_str(),
            sandbox.spec.template.as_str(),
            sandbox.spec.agent_id.as_ref().map(|id| id.as_str()),
            sandbox.spec.task_id.map(i64::from),
            sandbox.home.as_ref().map(|id| id.as_str()),
            sandbox.created_by.as_str(),
            sandbox.created_at,
            i64::from(sandbox.manners.auto_resume),
            sandbox.manners.idle.map(|idle| idle.get() as i64),
        ]);
        self.work.put(sql, values).await?;
        self.tell_of(sandbox);
        Ok(())
    }

    /// Reads a sandbox and keeps others from changing it until this change is over.
    pub async fn lock_sandbox(&mut self, id: &SandboxId) -> Result<Option<(Sandbox, Option<Lease>)>, StoreError> {
        let lock = if self.work.is_postgres() { " FOR UPDATE" } else { "" };
        let sql = format!("SELECT * FROM sandboxes WHERE id = $1{lock}");
        let row = self.work.fetch_optional(sql, args![id.as_str()]).await?;
        row.map(|row| Ok((read(&row)?, read_lease(&row)?))).transpose()
    }

    /// The same for a keeper: only if its lease is still the one on the row.
    pub async fn lock_leased(&mut self, id: &SandboxId, lease: &Lease) -> Result<Sandbox, StoreError> {
        match self.lock_sandbox(id).await? {
            Some((sandbox, Some(held))) if held.owner == lease.owner && held.token == lease.token => Ok(sandbox),
            _ => Err(StoreError::LeaseLost { subject: format!("sandbox {id}") }),
        }
    }

    /// Takes the lease on a row that nobody holds and that may be tended on this node; nothing when somebody does.
    pub async fn take_lease(
        &mut self,
        id: &SandboxId,
        owner: &str,
        node: &NodeId,
        until: Timestamp,
    ) -> Result<Option<Lease>, StoreError> {
        let sql = "UPDATE sandboxes SET lease_owner = $3, lease_until = $4, lease_token = lease_token + 1
                   WHERE id = $1 AND (lease_owner IS NULL OR lease_until <= $2) AND (home IS NULL OR home = $5)
                   RETURNING lease_token";
        let row = self.work.fetch_optional(sql, args![id.as_str(), self.now, owner, until, node.as_str()]).await?;
        row.map(|row| Ok(Lease { owner: owner.to_owned(), token: row.int("lease_token")?, until })).transpose()
    }

    /// Writes a sandbox that was locked in this change and tells of it. Without a lease it is given back.
    ///
    /// A heartbeat may have prolonged the lease since the caller took it; writing does not shorten it again.
    pub async fn update_sandbox(&mut self, sandbox: &mut Sandbox, lease: Option<&Lease>) -> Result<(), StoreError> {
        self.update(sandbox, lease, None).await.map(drop)
    }

    /// The same for a keeper that knows the row well enough to do without locking it first: written only if nobody has
    /// changed it since, and if the lease in hand is still the one on the row. Says whether it was.
    pub async fn update_unchanged(
        &mut self,
        sandbox: &mut Sandbox,
        held: &Lease,
        lease: Option<&Lease>,
    ) -> Result<bool, StoreError> {
        self.update(sandbox, lease, Some(held)).await
    }

    async fn update(
        &mut self,
        sandbox: &mut Sandbox,
        lease: Option<&Lease>,
        held: Option<&Lease>,
    ) -> Result<bool, StoreError> {
        let known = sandbox.revision;
        sandbox.revision += 1;
        sandbox.updated_at = self.now();
        let mut values = changing(sandbox, lease, self.now())?;
        values.extend(args![sandbox.id.as_str()]);
        let only_if = match held {
            Some(held) => {
                values.extend(args![known, held.owner.as_str(), held.token]);
                " AND revision = $22 AND lease_owner = $23 AND lease_token = $24"
            }
            None => "",
        };
        let sql = format!(
            "UPDATE sandboxes SET want = $1, phase = $2, note = $3, updated_at = $4, ready_at = $5, expires_at = $6,
                 ended_by = $7, ended_why = $8, ended_at = $9, attempts = $10, next_attempt_at = $11, revision = $12,
                 spec = $13, due_at = $14, lease_owner = $15,
                 lease_until = CASE WHEN lease_owner = $15 AND lease_until > $16 THEN lease_until ELSE $16 END,
                 idle_at = $17, depth = $18, sleep_asked = $19, sleep_depth = $20
             WHERE id = $21{only_if}"
        );
        let written = match held {
            Some(_) => self.work.execute(sql, values).await? == 1,
            // Whoever has the row locked knows that it is there.
            None => self.work.put(&sql, values).await.map(|()| true)?,
        };
        if written {
            self.tell_of(sandbox);
        }
        Ok(written)
    }

    /// Writes that something happened in a sandbox, so that it is idle later. Not worth telling.
    pub async fn stir_sandbox(&mut self, sandbox: &mut Sandbox) -> Result<(), StoreError> {
        let now = self.now();
        self.stir_sandbox_since(sandbox, now).await
    }

    /// The same for something that was last seen a while ago.
    pub async fn stir_sandbox_since(&mut self, sandbox: &mut Sandbox, at: Timestamp) -> Result<(), StoreError> {
        sandbox.stir(at);
        sandbox.revision += 1;
        let sql = "UPDATE sandboxes SET idle_at = $2, due_at = $3, revision = $4 WHERE id = $1";
        let due = sandbox.look_at(self.now());
        self.work.execute(sql, args![sandbox.id.as_str(), sandbox.idle_at, due, sandbox.revision]).await?;
        Ok(())
    }

    /// Gives a lease back without a change worth telling.
    pub async fn release_sandbox(&mut self, sandbox: &Sandbox) -> Result<(), StoreError> {
        let sql = "UPDATE sandboxes SET lease_owner = NULL, lease_until = NULL, due_at = $2 WHERE id = $1";
        self.work.execute(sql, args![sandbox.id.as_str(), sandbox.look_at(self.now())]).await?;
        Ok(())
    }

    fn tell_of(&mut self, sandbox: &Sandbox) {
        self.tell(Happening::Sandbox { sandbox: Box::new(SandboxView::from(sandbox)) });
    }
}

/// The twenty columns that a change may touch, in the order both statements name them.
fn changing(sandbox: &Sandbox, lease: Option<&Lease>, now: Timestamp) -> Result<Vec<Arg>, StoreError> {
    let spec = serde_json::to_string(&sandbox.spec).map_err(|_| StoreError::Corrupt { what: "a spec".into() })?;
    Ok(args![
        sandbox.want.word(),
        sandbox.phase.word(),
        sandbox.note.clone(),
        sandbox.updated_at,
        sandbox.ready_at,
        sandbox.expires_at,
        sandbox.ended.as_ref().map(|ended| ended.by.clone()),
        sandbox.ended.as_ref().map(|ended| ended.why.clone()),
        sandbox.ended.as_ref().map(|ended| ended.at),
        i64::from(sandbox.attempts),
        sandbox.next_attempt_at,
        sandbox.revision,
        spec,
        sandbox.look_at(now),
        lease.map(|lease| lease.owner.clone()),
        lease.map(|lease| lease.until),
        sandbox.idle_at,
        sandbox.depth.word(),
        sandbox.sleep.map(|sleep| sleep.asked.word()),
        sandbox.sleep.map(|sleep| sleep.reached.word()),
    ])
}

fn read(row: &Row) -> Result<Sandbox, StoreError> {
    let ended = match (row.maybe_text("ended_by")?, row.maybe_text("ended_why")?, row.maybe_time("ended_at")?) {
        (Some(by), Some(why), Some(at)) => Some(Ended { by, why, at }),
        _ => None,
    };
    let idle = |seconds: i64| u64::try_from(seconds).ok().and_then(Lifetime::new);
    let idle = row.maybe_int("idle_s")?.map(|seconds| understood("sandboxes.idle_s", idle(seconds))).transpose()?;
    Ok(Sandbox {
        id: row.name("id")?,
        spec: understood("sandboxes.spec", serde_json::from_str(&row.text("spec")?).ok())?,
        want: understood("sandboxes.want", Want::from_word(&row.text("want")?))?,
        phase: read_phase(row)?,
        note: row.maybe_text("note")?,
        home: row.maybe_name("home")?,
        created_by: row.name("created_by")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
        ready_at: row.maybe_time("ready_at")?,
        expires_at: row.time("expires_at")?,
        manners: Manners { auto_resume: row.int("auto_resume")? != 0, idle },
        idle_at: row.maybe_time("idle_at")?,
        depth: understood("sandboxes.depth", Depth::from_word(&row.text("depth")?))?,
        sleep: read_sleep(row)?,
        ended,
        attempts: understood("sandboxes.attempts", row.int("attempts")?.try_into().ok())?,
        next_attempt_at: row.maybe_time("next_attempt_at")?,
        revision: row.int("revision")?,
    })
}

fn read_sleep(row: &Row) -> Result<Option<Sleep>, StoreError> {
    let depth = |word: String| understood("sandboxes.sleep_depth", Depth::from_word(&word));
    Ok(match (row.maybe_text("sleep_asked")?, row.maybe_text("sleep_depth")?) {
        (Some(asked), Some(reached)) => Some(Sleep { asked: depth(asked)?, reached: depth(reached)? }),
        _ => None,
    })
}

fn read_phase(row: &Row) -> Result<Phase, StoreError> {
    understood("sandboxes.phase", Phase::from_word(&row.text("phase")?))
}

pub(crate) fn read_lease(row: &Row) -> Result<Option<Lease>, StoreError> {
    let token = row.int("lease_token")?;
    Ok(match (row.maybe_text("lease_owner")?, row.maybe_time("lease_until")?) {
        (Some(owner), Some(until)) => Some(Lease { owner, token, until }),
        _ => None,
    })
}

fn read_leased(row: &Row) -> Result<Leased, StoreError> {
    Ok(Leased { sandbox: read(row)?, lease: understood("sandboxes.lease_owner", read_lease(row)?)? })
}
