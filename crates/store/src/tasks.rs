//! Tasks in the database, and the leases on them.

use std::collections::{BTreeMap, BTreeSet};

use carrel_model::{
    AgentId, Branch, NodeId, RepoName, SandboxId, TaskId, Timestamp,
    public::{Cursor, Happening, TaskView},
    task::{Task, TaskPhase},
};

use crate::{
    Lease, Store, StoreError, Tx,
    sandboxes::read_lease,
    sql::{Arg, Row, args, understood},
};

/// The tasks.
pub struct Tasks<'s> {
    pub(crate) store: &'s Store,
}

/// Which tasks to list.
#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    /// In one of these phases; in any when empty.
    pub phases: Vec<TaskPhase>,
    /// In this repository.
    pub repo: Option<RepoName>,
    /// Of this agent.
    pub agent: Option<AgentId>,
    /// With this label.
    pub label: Option<String>,
    /// With these words in its title or its prompt, whatever their case.
    pub text: Option<String>,
    /// At this desk.
    pub sandbox: Option<SandboxId>,
    /// Older than this one: the last of the page before.
    pub before: Option<TaskId>,
}

/// A task together with the lease on it.
#[derive(Debug, Clone)]
pub struct LeasedTask {
    /// The task.
    pub task: Task,
    /// The lease.
    pub lease: Lease,
}

impl Tasks<'_> {
    /// The task with this number.
    pub async fn find(&self, id: TaskId) -> Result<Option<Task>, StoreError> {
        let sql = "SELECT * FROM tasks WHERE id = $1";
        self.store.sql().fetch_optional(sql, args![i64::from(id)]).await?.as_ref().map(read).transpose()
    }

    /// The task whose branch this is.
    pub async fn of_branch(&self, repo: &RepoName, branch: &Branch) -> Result<Option<Task>, StoreError> {
        let sql = "SELECT * FROM tasks WHERE repo = $1 AND branch = $2 ORDER BY id DESC LIMIT 1";
        let row = self.store.sql().fetch_optional(sql, args![repo.as_str(), branch.as_str()]).await?;
        row.as_ref().map(read).transpose()
    }

    /// A page of tasks, newest first, and a cursor from before they were read.
    pub async fn list(&self, filter: &TaskFilter, most: u32) -> Result<(Vec<Task>, Cursor), StoreError> {
        let as_of = self.store.journal().head();
        let mut conditions = vec!["1 = 1".to_owned()];
        if !filter.phases.is_empty() {
            let words: Vec<_> = filter.phases.iter().map(|phase| format!("'{}'", phase.word())).collect();
            conditions.push(format!("phase IN ({})", words.join(", ")));
        }
        let mut values: Vec<Arg> = Vec::new();
        let mut only = |condition: &str, value: Option<Arg>| {
            if let Some(value) = value {
                values.push(value);
                conditions.push(condition.replace('?', &format!("${}", values.len())));
            }
        };
        only("repo = ?", filter.repo.as_ref().map(|name| name.as_str().into()));
        only("agent = ?", filter.agent.as_ref().map(|id| id.as_str().into()));
        only("sandbox_id = ?", filter.sandbox.as_ref().map(|id| id.as_str().into()));
        // What is stuck on a card is in its body. As `json`: a NUL that an agent said elsewhere in it breaks `jsonb`.
        let (label, words) = if self.store.sql().is_postgres() {
            (
                "EXISTS (SELECT 1 FROM json_array_elements_text(body::json -> 'labels') AS label WHERE label = ?)",
                "(body::json ->> 'title' ILIKE ? ESCAPE '\\' OR body::json ->> 'prompt' ILIKE ? ESCAPE '\\')",
            )
        } else {
            (
                "EXISTS (SELECT 1 FROM json_each(body, '$.labels') WHERE value = ?)",
                "(body ->> '$.title' LIKE ? ESCAPE '\\' OR body ->> '$.prompt' LIKE ? ESCAPE '\\')",
            )
        };
        only(label, filter.label.as_deref().map(Into::into));
        only(words, filter.text.as_ref().map(|text| crate::sql::like(text).into()));
        only("id < ?", filter.before.map(|id| i64::from(id).into()));
        values.push(i64::from(most).into());
        let sql =
            format!("SELECT * FROM tasks WHERE {} ORDER BY id DESC LIMIT ${}", conditions.join(" AND "), values.len());
        let rows = self.store.sql().fetch_all(sql, values).await?;
        Ok((rows.iter().map(read).collect::<Result<_, _>>()?, as_of))
    }

    /// The tasks of a repository that are under way: they have a branch that is not merged or closed.
    pub async fn live(&self, repo: &RepoName) -> Result<Vec<Task>, StoreError> {
        let sql = "SELECT * FROM tasks WHERE repo = $1 AND phase NOT IN ('backlog', 'queued', 'merged', 'closed')";
        self.store.sql().fetch_all(sql, args![repo.as_str()]).await?.iter().map(read).collect()
    }

    /// All attempts at the card that a task is one of: the first, its forks and theirs, in the order of their numbers.
    pub async fn attempts(&self, of: &Task) -> Result<Vec<Task>, StoreError> {
        let (mut first, mut above) = (of.id, of.fork_of);
        while let Some(id) = above {
            (first, above) = (id, self.find(id).await?.and_then(|task| task.fork_of));
        }
        let sql = "SELECT * FROM tasks WHERE repo = $1 AND id >= $2 ORDER BY id";
        let rows = self.store.sql().fetch_all(sql, args![of.repo.as_str(), i64::from(first)]).await?;
        let tasks: Vec<Task> = rows.iter().map(read).collect::<Result<_, _>>()?;
        // A fork has a higher number than what it is a fork of, so that is known already.
        let mut family = BTreeSet::from([first]);
        let mut is_one = |task: &Task| {
            let is_fork = task.fork_of.is_some_and(|above| family.contains(&above));
            task.id == first || (is_fork && family.insert(task.id))
        };
        Ok(tasks.into_iter().filter(|task| is_one(task)).collect())
    }

    /// How many tasks are in each phase.
    pub async fn count(&self) -> Result<Vec<(TaskPhase, i64)>, StoreError> {
        let sql = "SELECT phase, count(*) AS count FROM tasks GROUP BY phase";
        let rows = self.store.sql().fetch_all(sql, vec![]).await?;
        let phase = |row: &Row| understood("tasks.phase", TaskPhase::from_word(&row.text("phase")?));
        rows.iter().map(|row| Ok((phase(row)?, row.int("count")?))).collect()
    }

    /// Takes the leases on rows that are due and that nobody holds, oldest first: those that are for this node, and that
    /// are not in hand here already, however late their heartbeat is.
    pub async fn claim(
        &self,
        owner: &str,
        node: &NodeId,
        of: Claimed,
        until: Timestamp,
        in_hand: &[TaskId],
        most: u32,
    ) -> Result<Vec<LeasedTask>, StoreError> {
        let now = self.store.now();
        let held: Vec<_> = in_hand.iter().map(|id| i64::from(*id).to_string()).collect();
        let held = if held.is_empty() { "0".to_owned() } else { held.join(", ") };
        let due = format!(
            "due_at <= $1 AND (lease_owner IS NULL OR lease_until <= $1) AND {} AND id NOT IN ({held})",
            of.condition("$2")
        );
        let look = format!("SELECT 1 AS one FROM tasks WHERE {due} LIMIT 1");
        if self.store.sql().fetch_optional(look, args![now, node.as_str()]).await?.is_none() {
            return Ok(Vec::new());
        }
        let mut work = self.store.sql().begin().await?;
        let lock = if work.is_postgres() { "FOR UPDATE SKIP LOCKED" } else { "" };
        let sql = format!(
            "UPDATE tasks SET lease_owner = $3, lease_until = $4, lease_token = lease_token + 1
             WHERE id IN (SELECT id FROM tasks WHERE {due} ORDER BY due_at LIMIT $5 {lock}) RETURNING *"
        );
        let rows = work.fetch_all(sql, args![now, node.as_str(), owner, until, i64::from(most)]).await?;
        work.commit().await?;
        rows.iter().map(read_leased).collect()
    }

    /// The heartbeat: prolongs the leases on these rows, as far as this process still holds them.
    pub async fn renew(&self, owner: &str, ids: &[TaskId], until: Timestamp) -> Result<u64, StoreError> {
        if ids.is_empty() {
            return Ok(0);
        }
        let numbers: Vec<_> = ids.iter().map(|id| i64::from(*id).to_string()).collect();
        let sql = format!(
            "UPDATE tasks SET lease_until = $2 WHERE lease_owner = $1 AND lease_until > $3 AND id IN ({})",
            numbers.join(", ")
        );
        let mut work = self.store.sql().begin().await?;
        let renewed = work.execute(sql, args![owner, until, self.store.now()]).await?;
        work.commit().await?;
        Ok(renewed)
    }

    /// Gives up the leases of a node's former lives.
    pub async fn abandon(&self, node: &NodeId) -> Result<u64, StoreError> {
        let mut work = self.store.sql().begin().await?;
        let sql = "UPDATE tasks SET lease_owner = NULL, lease_until = NULL WHERE lease_owner LIKE $1";
        let abandoned = work.execute(sql, args![format!("{node}:%")]).await?;
        work.commit().await?;
        Ok(abandoned)
    }

    /// When the next row is due that nobody holds and that may be tended on this node.
    pub async fn next_due(&self, node: &NodeId, of: Claimed) -> Result<Option<Timestamp>, StoreError> {
        let sql = format!(
            "SELECT min(CASE WHEN lease_owner IS NULL OR lease_until < due_at THEN due_at ELSE lease_until END) AS due
                   FROM tasks WHERE due_at IS NOT NULL AND {}",
            of.condition("$1")
        );
        let row = self.store.sql().fetch_optional(sql, args![node.as_str()]).await?;
        row.map(|row| row.maybe_time("due")).transpose().map(Option::flatten)
    }

    /// Whether anybody waits for room.
    pub async fn is_anybody_queued(&self) -> Result<bool, StoreError> {
        let sql = "SELECT 1 AS one FROM tasks WHERE phase = 'queued' LIMIT 1";
        Ok(self.store.sql().fetch_optional(sql, vec![]).await?.is_some())
    }
}

/// Which tasks are for a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claimed {
    /// Those whose desk is on it, or on none.
    HereOrAnywhere,
    /// Those whose desk is on it: others take the rest.
    Here,
}

impl Claimed {
    /// A desk that has ended, or is about to, is nowhere.
    fn condition(self, node: &str) -> String {
        let (not, home) = match self {
            Claimed::HereOrAnywhere => ("NOT ", format!("home IS NOT NULL AND home <> {node}")),
            Claimed::Here => ("", format!("home = {node}")),
        };
        format!(
            "{not}EXISTS (SELECT 1 FROM sandboxes WHERE sandboxes.id = tasks.sandbox_id AND {home}
             AND sandboxes.want <> 'gone' AND sandboxes.phase NOT IN ('gone', 'failed'))"
        )
    }
}

impl Tx {
    /// The next number for a card. Nobody else is given one until this change is over.
    pub async fn next_task_id(&mut self) -> Result<TaskId, StoreError> {
        let sql = "UPDATE task_numbers SET last = last + 1 WHERE only_row = 1 RETURNING last";
        let row = self.work.fetch_optional(sql, vec![]).await?;
        let last = row.ok_or_else(|| StoreError::Corrupt { what: "no task numbers".into() })?.int("last")?;
        understood("task_numbers.last", TaskId::try_from(last).ok())
    }

    /// Keeps others from giving out room until this change is over.
    pub async fn lock_queue(&mut self) -> Result<(), StoreError> {
        if self.work.is_postgres() {
            self.work.fetch_optional("SELECT last FROM task_numbers WHERE only_row = 1 FOR UPDATE", vec![]).await?;
        }
        Ok(())
    }

    /// Those that wait for room: the most urgent first, then who is due soonest, then the oldest; those after one of
    /// them, or from the first on.
    pub async fn queued(&mut self, after: Option<&Task>, most: u32) -> Result<Vec<Task>, StoreError> {
        // Who is due at no time comes after all who are.
        const ORDER: &str = "ORDER BY priority DESC, COALESCE(deadline, 9223372036854775807), id LIMIT $1";
        let most = i64::from(most);
        let rows = match after {
            None => {
                let first = format!("SELECT * FROM tasks WHERE phase = 'queued' {ORDER}");
                self.work.fetch_all(&first, args![most]).await?
            }
            Some(task) => {
                let next = format!(
                    "SELECT * FROM tasks WHERE phase = 'queued' AND (priority < $2 OR (priority = $2
                     AND (COALESCE(deadline, 9223372036854775807) > $3
                          OR (COALESCE(deadline, 9223372036854775807) = $3 AND id > $4)))) {ORDER}"
                );
                let due = task.due.map_or(i64::MAX, |due| due.as_microsecond());
                self.work.fetch_all(&next, args![most, i64::from(task.priority), due, i64::from(task.id)]).await?
            }
        };
        rows.iter().map(read).collect()
    }

    /// Whom those that take up room belong to.
    pub async fn busy(&mut self) -> Result<Vec<(RepoName, AgentId)>, StoreError> {
        let sql = "SELECT repo, agent FROM tasks WHERE phase IN ('preparing', 'working', 'publishing')";
        let rows = self.work.fetch_all(sql, vec![]).await?;
        rows.iter().map(|row| Ok((row.name("repo")?, row.name("agent")?))).collect()
    }

    /// The tasks of a repository that are under way.
    pub async fn live_tasks(&mut self, repo: &RepoName) -> Result<Vec<Task>, StoreError> {
        let sql = "SELECT * FROM tasks WHERE repo = $1 AND phase NOT IN ('merged', 'closed')";
        self.work.fetch_all(sql, args![repo.as_str()]).await?.iter().map(read).collect()
    }

    /// The phases of tasks.
    pub async fn phases_of(&mut self, ids: &[TaskId]) -> Result<BTreeMap<TaskId, TaskPhase>, StoreError> {
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let numbers: Vec<_> = ids.iter().map(|id| i64::from(*id).to_string()).collect();
        let sql = format!("SELECT id, phase FROM tasks WHERE id IN ({})", numbers.join(", "));
        let rows = self.work.fetch_all(sql, vec![]).await?;
        let phase = |row: &Row| {
            let id = understood("tasks.id", TaskId::try_from(row.int("id")?).ok())?;
            Ok((id, understood("tasks.phase", TaskPhase::from_word(&row.text("phase")?))?))
        };
        rows.iter().map(phase).collect()
    }

    /// Who waits for whom, among those that are not over.
    pub async fn task_edges(&mut self) -> Result<BTreeMap<TaskId, Vec<TaskId>>, StoreError> {
        let sql = "SELECT * FROM tasks WHERE phase NOT IN ('merged', 'closed')";
        let rows = self.work.fetch_all(sql, vec![]).await?;
        let tasks: Vec<Task> = rows.iter().map(read).collect::<Result<_, _>>()?;
        Ok(tasks.into_iter().map(|task| (task.id, task.depends_on.iter().map(|edge| edge.task_id).collect())).collect())
    }

    /// Reads a task and keeps others from changing it until this change is over.
    pub async fn lock_task(&mut self, id: TaskId) -> Result<Option<(Task, Option<Lease>)>, StoreError> {
        let lock = if self.work.is_postgres() { " FOR UPDATE" } else { "" };
        let sql = format!("SELECT * FROM tasks WHERE id = $1{lock}");
        let row = self.work.fetch_optional(sql, args![i64::from(id)]).await?;
        row.map(|row| Ok((read(&row)?, read_lease(&row)?))).transpose()
    }

    /// The same for a keeper: only if its lease is still the one on the row.
    pub async fn lock_leased_task(&mut self, id: TaskId, lease: &Lease) -> Result<Task, StoreError> {
        match self.lock_task(id).await? {
            Some((task, Some(held))) if held.owner == lease.owner && held.token == lease.token => Ok(task),
            _ => Err(StoreError::LeaseLost { subject: format!("task {id}") }),
        }
    }

    /// Writes a task as it now is, whether or not it was written before, and tells of it. Leases stay as they are.
    pub async fn put_task(&mut self, task: &mut Task) -> Result<(), StoreError> {
        task.revision += 1;
        task.updated_at = self.now();
        let sql =
            "INSERT INTO tasks (id, repo, agent, phase, want, priority, branch, session_id, sandbox_id, body, due_at,
                       lease_token, updated_at, revision, deadline)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0, $12, $13, $14)
                   ON CONFLICT (id) DO UPDATE SET repo = $2, agent = $3, phase = $4, want = $5, priority = $6,
                       branch = $7, session_id = $8, sandbox_id = $9, body = $10, due_at = $11, updated_at = $12,
                       revision = $13, deadline = $14";
        let body = serde_json::to_string(&*task).map_err(|_| StoreError::Corrupt { what: "a task".into() })?;
        let values = args![
            i64::from(task.id),
            task.repo.as_str(),
            task.agent.as_str(),
            task.phase.word(),
            task.want.word(),
            i64::from(task.priority),
            task.branch.as_str(),
            task.session_id.as_str(),
            task.sandbox_id.as_ref().map(|id| id.as_str()),
            body,
            task.look_at(self.now()),
            task.updated_at,
            task.revision,
            task.due,
        ];
        self.work.execute(sql, values).await?;
        self.tell(Happening::Task { task: Box::new(TaskView::from(&*task)) });
        Ok(())
    }

    /// Gives a lease back, and says when to look again.
    pub async fn release_task(&mut self, task: &Task) -> Result<(), StoreError> {
        let sql = "UPDATE tasks SET lease_owner = NULL, lease_until = NULL, due_at = $2 WHERE id = $1";
        self.work.execute(sql, args![i64::from(task.id), task.look_at(self.now())]).await?;
        Ok(())
    }
}

fn read(row: &Row) -> Result<Task, StoreError> {
    understood("tasks.body", serde_json::from_str(&row.text("body")?).ok())
}

fn read_leased(row: &Row) -> Result<LeasedTask, StoreError> {
    Ok(LeasedTask { task: read(row)?, lease: understood("tasks.lease_owner", read_lease(row)?)? })
}
