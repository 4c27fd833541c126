//! The logs desk: what happened to a sandbox, one line each: what was asked of it, how it went, what ran in it.

use std::sync::Arc;

use carrel_model::{
    Action, Grant, SandboxId, Subject,
    exec::{Exec, ExecStatus},
    public::{AuditView, Happening, LogLine, SandboxView},
    sandbox::Phase,
};
use carrel_store::{AuditFilter, Follower, News};
use tokio::sync::broadcast::{self, error::RecvError};

use crate::{Error, SandboxesDesk, house::House};

/// Tells what happened to sandboxes.
pub struct LogsDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

/// Follows what happens to a sandbox.
pub struct LogReader {
    id: SandboxId,
    phase: Phase,
    journal: Follower,
    execs: broadcast::Receiver<Arc<Exec>>,
}

/// So many lines of each kind are looked at.
const MOST: u32 = 500;

impl LogsDesk<'_> {
    /// What happened so far, oldest first, and a reader for what comes.
    pub async fn read(&self, grant: &Grant, id: &SandboxId) -> Result<(Vec<LogLine>, LogReader), Error> {
        // Listens before it looks, so that nothing falls in between.
        let journal = self.house.store.journal();
        let (journal, execs) = (journal.follow(journal.head()), self.house.exec_news.subscribe());
        let view = SandboxesDesk { house: self.house }.look(id).await?;
        let subject = Subject::Sandbox { id: Some(id), agent: view.agent_id.as_ref() };
        self.house.admit(grant, Action::SandboxRead, subject).await?;
        self.house.scribe.catch_up().await;

        let mut lines = of_sandbox(&view);
        let filter = AuditFilter { subject: Some(id.to_string()), ..AuditFilter::default() };
        let asked = self.house.store.list_audit(&filter, MOST).await?;
        lines.extend(asked.into_iter().filter_map(of_audit));
        let ran = self.house.store.execs().list(id, None, MOST).await?;
        lines.extend(ran.iter().flat_map(|exec| [begun(exec)].into_iter().chain(ended(exec))));
        lines.sort_by_key(|line| line.at);
        Ok((lines, LogReader { id: id.clone(), phase: view.phase, journal, execs }))
    }
}

impl LogReader {
    /// The next lines; nothing when the sandbox is gone. May be called off.
    pub async fn next(&mut self) -> Result<Option<Vec<LogLine>>, Error> {
        if self.phase == Phase::Gone {
            return Ok(None);
        }
        loop {
            let lines = tokio::select! {
                news = self.journal.next() => match news? {
                    News::Reset(_) => Vec::new(),
                    News::Entries(entries) => {
                        let mut lines = Vec::new();
                        for written in entries {
                            if let Happening::Sandbox { sandbox } = &written.entry().happening
                                && sandbox.id == self.id
                                && sandbox.phase != self.phase
                            {
                                self.phase = sandbox.phase;
                                let note = sandbox.note.as_deref().map(|note| format!(": {note}")).unwrap_or_default();
                                let text = format!("It is {}{note}", sandbox.phase.word());
                                lines.push(LogLine { at: written.entry().at, text, exec_id: None });
                            }
                        }
                        lines
                    }
                },
                exec = self.execs.recv() => match exec {
                    Ok(exec) if exec.sandbox == self.id && exec.status == ExecStatus::Running => vec![begun(&exec)],
                    Ok(exec) if exec.sandbox == self.id => ended(&exec).into_iter().collect(),
                    // Some were missed: the next look at the whole log has them.
                    Ok(_) | Err(RecvError::Lagged(_)) => Vec::new(),
                    Err(RecvError::Closed) => return Ok(None),
                },
            };
            if !lines.is_empty() {
                return Ok(Some(lines));
            }
        }
    }
}

fn of_sandbox(view: &SandboxView) -> Vec<LogLine> {
    let line = |at, text: String| LogLine { at, text, exec_id: None };
    let mut lines = vec![line(view.created_at, format!("Asked for, from the template `{}`", view.template))];
    lines.extend(view.ready_at.map(|at| line(at, "It is ready for the first time".into())));
    lines.extend(view.ended.as_ref().map(|ended| line(ended.at, ended.why.clone())));
    if let Some(note) = &view.note {
        lines.push(line(view.updated_at, format!("It is {}: {note}", view.phase.word())));
    }
    lines
}

/// What was asked of it, but for what is told better elsewhere.
fn of_audit(line: AuditView) -> Option<LogLine> {
    let told = ["sandbox.create", "sandbox.exec", "sandbox.terminal", "sandbox.destroy"];
    if told.contains(&&*line.action) {
        return None;
    }
    let detail = line.detail.map(|detail| format!(": {detail}")).unwrap_or_default();
    let text = format!("{} {} `{}`{detail}", line.action, line.outcome.word(), line.actor.name);
    Some(LogLine { at: line.at, text, exec_id: None })
}

fn begun(exec: &Exec) -> LogLine {
    LogLine { at: exec.started_at, text: format!("$ {}", exec.command), exec_id: Some(exec.id.clone()) }
}

fn ended(exec: &Exec) -> Option<LogLine> {
    let how = match (exec.status, exec.exit_code) {
        (ExecStatus::Running, _) => return None,
        (ExecStatus::Ended, Some(code)) => format!("ended with {code}"),
        (ExecStatus::Ended, None) => "ended".to_owned(),
        (ExecStatus::Lost, _) => format!("was lost: {}", exec.note.as_deref().unwrap_or("nobody knows why")),
    };
    let took = exec.ended_at?.duration_since(exec.started_at).as_millis();
    let text = format!("{} {how} after {took} ms", exec.id);
    Some(LogLine { at: exec.ended_at?, text, exec_id: Some(exec.id.clone()) })
}
