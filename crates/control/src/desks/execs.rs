//! The execs desk: runs commands in sandboxes. What they print is a transcript that anybody may read from any offset.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use carrel_envd::{Event, Events, Selector, Size, Start};
use carrel_model::{
    Action, ExecId, Grant, SandboxId, Subject, Timestamp,
    exec::{Exec, ExecStatus},
    public::{Command, ExecSignal, ExecSize, ExecView, NewExec, Page, SandboxView},
};
use carrel_store::{Extent, Stream};
use tokio::sync::oneshot;

use crate::{
    Error, Paging, Reader, SandboxesDesk,
    house::House,
    inside::{
        Inside,
        activity::{Busy, Doing},
        follower::Follower,
        live::Live,
    },
    secret::new_exec_id,
};

/// So much of what a terminal showed before is shown to who comes back to it.
const SCREEN: i64 = 64 * 1024;

/// Starts commands, shows them, and talks to them.
pub struct ExecsDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

/// A command that runs, or ran.
pub struct Running {
    live: Arc<Live>,
    /// Reads what it prints, from the beginning.
    pub output: Reader,
    /// Somebody waits for its end, which keeps the sandbox awake.
    _waits: Option<Busy>,
}

/// Somebody who sits at a terminal.
pub struct Attached {
    house: Arc<House>,
    inside: Inside,
    live: Option<Arc<Live>>,
    /// As it was at the beginning.
    pub exec: ExecView,
    /// Reads what it shows.
    pub output: Reader,
    _busy: Busy,
}

/// A command that was just begun, and that nobody follows yet.
pub(crate) struct Begun {
    pub(crate) exec: ExecId,
    pub(crate) command: Command,
    pub(crate) start: Start,
    pub(crate) started_at: Timestamp,
    /// What was heard of it already.
    pub(crate) ahead: Vec<Event>,
    pub(crate) events: Events,
}

/// What its envd is asked for a command.
pub(crate) fn start_of(exec: &ExecId, command: &Command, new: &NewExec) -> Start {
    let (program, args) = match command {
        Command::Line(line) => ("/bin/sh".to_owned(), vec!["-c".to_owned(), line.clone()]),
        Command::Argv(argv) => {
            let mut words = argv.iter().cloned();
            (words.next().unwrap_or_default(), words.collect())
        }
    };
    Start {
        program,
        args,
        env: new.env.iter().flatten().map(|(name, value)| (name.clone().into(), value.clone().into())).collect(),
        cwd: new.cwd.clone(),
        user: new.user.clone(),
        terminal: new.terminal.map(size),
        tag: Some(exec.to_string()),
        stdin: new.stdin.is_some() || new.keep_stdin == Some(true),
        timeout: new.timeout().map(Duration::from_secs),
    }
}

impl Running {
    /// As it now is.
    pub fn exec(&self) -> ExecView {
        ExecView::from(&self.live.exec())
    }
}

/// The names of the variables that are set for a command.
fn variables(new: &NewExec) -> Vec<&str> {
    new.env.iter().flat_map(|env| env.keys()).map(|name| name.as_str()).collect()
}

impl ExecsDesk<'_> {
    /// Starts a command that somebody asks for, when the rules of the desk let it by. It goes on whether or not anybody
    /// listens.
    pub async fn start(&self, grant: &Grant, id: &SandboxId, new: NewExec) -> Result<Running, Error> {
        let command = new.command().map_err(|fields| Error::Invalid { fields })?;
        let inside = self.house.enter(grant, id, Action::SandboxExec).await?;
        self.house.permit(grant, &inside.view, Action::SandboxExec, &command, &variables(&new)).await?;
        self.begin(grant, inside, command, new).await
    }

    /// Starts a command of the house itself.
    pub(crate) async fn start_own(&self, grant: &Grant, id: &SandboxId, new: NewExec) -> Result<Running, Error> {
        let command = new.command().map_err(|fields| Error::Invalid { fields })?;
        let inside = self.house.enter(grant, id, Action::SandboxExec).await?;
        self.begin(grant, inside, command, new).await
    }

    async fn begin(&self, grant: &Grant, inside: Inside, command: Command, new: NewExec) -> Result<Running, Error> {
        // Its id is all that the caller of a background exec has of it: it must be known after a restart too.
        let (witness, written) = if new.background == Some(true) {
            let (witness, written) = oneshot::channel();
            (Some(witness), Some(written))
        } else {
            (None, None)
        };
        let live = self.run(grant, Action::SandboxExec, &inside, (new_exec_id(), command), &new, witness).await?;
        if let Some(written) = written {
            let _ = written.await;
        }
        Ok(self.running(&inside, &new, live))
    }

    /// A command that is followed, and what it prints from the beginning on. Unless it runs in the background, whoever
    /// has this waits for it.
    pub(crate) fn running(&self, inside: &Inside, new: &NewExec, live: Arc<Live>) -> Running {
        let waits = new.background != Some(true);
        let waits = waits.then(|| Busy::new(self.house, &inside.view, Doing::Waiting));
        Running { output: self.reader(&live, 0), live, _waits: waits }
    }

    /// Starts a command under a name that was drawn for it before, so that it is found whatever dies. What runs under
    /// that name without anybody knowing is ended first.
    pub(crate) async fn start_as(
        &self,
        grant: &Grant,
        id: &SandboxId,
        exec: ExecId,
        new: NewExec,
    ) -> Result<Running, Error> {
        const KILL: u32 = 9;
        let command = new.command().map_err(|fields| Error::Invalid { fields })?;
        let inside = self.house.enter(grant, id, Action::SandboxExec).await?;
        // What runs under that name may be another node's, when this one was silent.
        self.house.nodes.still_here()?;
        let _ = inside.envd.signal(&tag(&exec), KILL).await;
        let (witness, written) = oneshot::channel();
        let live = self.run(grant, Action::SandboxExec, &inside, (exec, command), &new, Some(witness)).await?;
        let _ = written.await;
        Ok(Running { output: self.reader(&live, 0), live, _waits: None })
    }

    /// Follows an exec from its beginning, if anything is known of it.
    pub(crate) async fn follow(&self, exec: &ExecId) -> Result<Option<Running>, Error> {
        if let Some(live) = self.house.lives.find(exec) {
            return Ok(Some(Running { output: self.reader(&live, 0), live, _waits: None }));
        }
        let Some(row) = self.house.store.execs().find(exec).await? else { return Ok(None) };
        // Over, or followed by another node: what it printed is in the store either way.
        let live = Arc::new(Live::new(row, Extent::new(self.house.settings.transcript_cap)));
        let output = Reader::new(self.house.store.clone(), exec.clone(), None, 0);
        Ok(Some(Running { output, live, _waits: None }))
    }

    async fn run(
        &self,
        grant: &Grant,
        action: Action,
        inside: &Inside,
        (exec_id, command): (ExecId, Command),
        new: &NewExec,
        witness: Option<oneshot::Sender<()>>,
    ) -> Result<Arc<Live>, Error> {
        let (house, id) = (self.house, &inside.view.id);
        let start = start_of(&exec_id, &command, new);
        let started_at = house.store.now();
        let events = inside.envd.start(&start).await.map_err(|error| house.understand(id, "command", error))?;
        let begun = Begun { exec: exec_id, command, start, started_at, ahead: Vec::new(), events };
        Ok(self.attend(grant, action, inside, new, begun, witness))
    }

    /// Follows a command that was just begun.
    pub(crate) fn attend(
        &self,
        grant: &Grant,
        action: Action,
        inside: &Inside,
        new: &NewExec,
        begun: Begun,
        witness: Option<oneshot::Sender<()>>,
    ) -> Arc<Live> {
        let (house, id) = (self.house, &inside.view.id);
        let Begun { exec: exec_id, command, start, started_at, ahead, events } = begun;
        let shown = command.shown();
        let exec = Exec {
            id: exec_id,
            sandbox: id.clone(),
            command: shown,
            user: new.user.clone(),
            cwd: new.cwd.clone(),
            background: new.background == Some(true),
            terminal: new.terminal.is_some(),
            pid: None,
            status: ExecStatus::Running,
            exit_code: None,
            timed_out: false,
            note: None,
            created_by: grant.key.clone(),
            node: house.settings.node.clone(),
            started_at,
            ended_at: None,
        };
        let audit = house.audited(grant, action, id, Some(exec.id.to_string()));
        let _ = house.exec_news.send(Arc::new(exec.clone()));
        let tag = Selector::Tag(exec.id.to_string());
        let live = Arc::new(Live::new(exec, Extent::new(house.settings.transcript_cap)));
        for event in ahead {
            match event {
                Event::Started { pid, .. } => live.edit(|exec| exec.pid = Some(pid)),
                Event::Stdout(bytes) | Event::Terminal(bytes) => _ = live.push(Stream::Stdout, bytes),
                Event::Stderr(bytes) => _ = live.push(Stream::Stderr, bytes),
                Event::Ended(_) => {}
            }
        }
        house.lives.put(&live);
        // A terminal that nobody sits at keeps no sandbox awake.
        let busy = start.terminal.is_none().then(|| Busy::new(house, &inside.view, Doing::Exec));
        let (house, live) = (Arc::clone(house), live);
        let view = Some(Arc::clone(&inside.view));
        let audit = Some(audit);
        let follower = Follower {
            house,
            live: Arc::clone(&live),
            view,
            audit,
            busy,
            writing: None,
            witness,
            met: None,
            heard_before: None,
        };
        follower.begin(events, inside.cut.clone());
        if let Some(text) = &new.stdin {
            let (envd, text) = (inside.envd.clone(), Bytes::from(text.clone()));
            // Beside: it may print before it reads.
            tokio::spawn(async move {
                let fed = match text.is_empty() {
                    true => Ok(()),
                    false => envd.send_input(&tag, false, text).await,
                };
                // It may have ended without reading: that is its own affair.
                if fed.is_ok() {
                    let _ = envd.close_stdin(&tag).await;
                }
            });
        }
        live
    }

    /// Shows an exec.
    pub async fn get(&self, grant: &Grant, id: &SandboxId, exec: &ExecId) -> Result<ExecView, Error> {
        self.admit(grant, id, Action::SandboxRead).await?;
        Ok(ExecView::from(&self.find(id, exec).await?))
    }

    /// A page of execs, newest first.
    pub async fn list(&self, grant: &Grant, id: &SandboxId, paging: Paging) -> Result<Page<ExecView>, Error> {
        self.admit(grant, id, Action::SandboxRead).await?;
        self.house.scribe.catch_up().await;
        let limit = paging.limit();
        let mut execs = self.house.store.execs().list(id, paging.after()?, limit + 1).await?;
        let next = Paging::cut(&mut execs, limit, |exec| Paging::place(exec.started_at, exec.id.as_str()));
        let now = |exec: &Exec| self.house.lives.find(&exec.id).map_or_else(|| exec.clone(), |live| live.exec());
        Ok(Page { items: execs.iter().map(|exec| ExecView::from(&now(exec))).collect(), next })
    }

    /// Reads what an exec printed, from an offset on.
    pub async fn output(&self, grant: &Grant, id: &SandboxId, exec: &ExecId, from: i64) -> Result<Reader, Error> {
        self.admit(grant, id, Action::SandboxRead).await?;
        self.find(id, exec).await?;
        let live = self.house.lives.find(exec);
        if live.is_none() && self.house.store.transcripts().extent(exec).await?.is_none() {
            return Err(Error::NotFound { what: format!("transcript of {exec}: it is kept for a while only") });
        }
        Ok(Reader::new(self.house.store.clone(), exec.clone(), live, from))
    }

    /// Writes to the standard input or the terminal of an exec.
    pub async fn input(&self, grant: &Grant, id: &SandboxId, exec: &ExecId, bytes: Bytes) -> Result<(), Error> {
        let (inside, found) = self.reach(grant, id, exec).await?;
        let sent = inside.envd.send_input(&tag(exec), found.terminal, bytes).await;
        sent.map_err(|error| self.house.understand(id, "process", error))
    }

    /// Says that no more input comes.
    pub async fn close_stdin(&self, grant: &Grant, id: &SandboxId, exec: &ExecId) -> Result<(), Error> {
        let (inside, _) = self.reach(grant, id, exec).await?;
        inside.envd.close_stdin(&tag(exec)).await.map_err(|error| self.house.understand(id, "process", error))
    }

    /// Sends a signal to an exec.
    pub async fn signal(&self, grant: &Grant, id: &SandboxId, exec: &ExecId, new: &ExecSignal) -> Result<(), Error> {
        let (inside, _) = self.reach(grant, id, exec).await?;
        let number = new.signal.get() as u32;
        let sent = match new.group {
            true => inside.envd.signal_group(&tag(exec), number).await,
            false => inside.envd.signal(&tag(exec), number).await,
        };
        sent.map_err(|error| self.house.understand(id, "process", error))
    }

    /// Gives the terminal of an exec another size.
    pub async fn resize(&self, grant: &Grant, id: &SandboxId, exec: &ExecId, to: ExecSize) -> Result<(), Error> {
        let (inside, _) = self.reach(grant, id, exec).await?;
        inside.envd.resize(&tag(exec), size(to)).await.map_err(|error| self.house.understand(id, "process", error))
    }

    /// Sits down at a new terminal.
    pub async fn terminal(&self, grant: &Grant, id: &SandboxId, new: NewExec) -> Result<Attached, Error> {
        let command = match (&new.command, &new.argv) {
            (None, None) => Command::Line("command -v bash >/dev/null 2>&1 && exec bash -il; exec sh -i".into()),
            _ => new.command().map_err(|fields| Error::Invalid { fields })?,
        };
        let inside = self.house.enter(grant, id, Action::SandboxTerminal).await?;
        self.house.permit(grant, &inside.view, Action::SandboxTerminal, &command, &variables(&new)).await?;
        let mut new = NewExec { background: Some(true), keep_stdin: Some(true), ..new };
        let term = ("TERM".to_owned(), "xterm-256color".to_owned());
        if let (Ok(name), Ok(value)) = (term.0.try_into(), term.1.try_into()) {
            new.env.get_or_insert_default().entry(name).or_insert(value);
        }
        let live = self.run(grant, Action::SandboxTerminal, &inside, (new_exec_id(), command), &new, None).await?;
        let output = self.reader(&live, 0);
        Ok(self.attach(inside, ExecView::from(&live.exec()), Some(live), output))
    }

    /// Sits down at a terminal that is there already, and sees what it showed last.
    pub async fn reattach(
        &self,
        grant: &Grant,
        id: &SandboxId,
        exec: &ExecId,
        from: Option<i64>,
    ) -> Result<Attached, Error> {
        let inside = self.house.enter(grant, id, Action::SandboxTerminal).await?;
        let found = self.find(id, exec).await?;
        if !found.terminal {
            return Err(Error::Conflict { why: format!("{exec} has no terminal") });
        }
        let live = self.house.lives.find(exec);
        let length = match &live {
            Some(live) => live.length(),
            None => self.house.store.transcripts().extent(exec).await?.map_or(0, |extent| extent.length),
        };
        let from = from.unwrap_or((length - SCREEN).max(0));
        let output = Reader::new(self.house.store.clone(), exec.clone(), live.clone(), from);
        Ok(self.attach(inside, ExecView::from(&found), live, output))
    }

    fn attach(&self, inside: Inside, exec: ExecView, live: Option<Arc<Live>>, output: Reader) -> Attached {
        let busy = Busy::new(self.house, &inside.view, Doing::Terminal);
        Attached { house: Arc::clone(self.house), inside, live, exec, output, _busy: busy }
    }

    fn reader(&self, live: &Arc<Live>, from: i64) -> Reader {
        Reader::new(self.house.store.clone(), live.exec().id, Some(Arc::clone(live)), from)
    }

    async fn admit(&self, grant: &Grant, id: &SandboxId, action: Action) -> Result<Arc<SandboxView>, Error> {
        let view = SandboxesDesk { house: self.house }.look(id).await?;
        let subject = Subject::Sandbox { id: Some(id), agent: view.agent_id.as_ref() };
        self.house.admit(grant, action, subject).await?;
        Ok(view)
    }

    async fn find(&self, id: &SandboxId, exec: &ExecId) -> Result<Exec, Error> {
        let found = match self.house.lives.find(exec) {
            Some(live) => Some(live.exec()),
            None => self.house.store.execs().find(exec).await?,
        };
        // One of another sandbox is not found here, whoever asks.
        let found = found.filter(|found| found.sandbox == *id);
        found.ok_or_else(|| Error::NotFound { what: format!("{exec} in sandbox {id}") })
    }

    async fn reach(&self, grant: &Grant, id: &SandboxId, exec: &ExecId) -> Result<(Inside, Exec), Error> {
        self.admit(grant, id, Action::SandboxExec).await?;
        let found = self.find(id, exec).await?;
        if found.status != ExecStatus::Running {
            return Err(Error::Conflict { why: format!("{exec} does not run any more") });
        }
        Ok((self.house.enter(grant, id, Action::SandboxExec).await?, found))
    }
}

impl Attached {
    /// As it now is.
    pub async fn now(&self) -> Result<ExecView, Error> {
        if let Some(live) = &self.live {
            return Ok(ExecView::from(&live.exec()));
        }
        let row = self.house.store.execs().find(&self.exec.exec_id).await?;
        Ok(row.as_ref().map_or_else(|| self.exec.clone(), ExecView::from))
    }

    /// Types.
    pub async fn input(&self, bytes: Bytes) -> Result<(), Error> {
        let sent = self.inside.envd.send_input(&tag(&self.exec.exec_id), true, bytes).await;
        sent.map_err(|error| self.house.understand(&self.inside.view.id, "process", error))
    }

    /// Gives it another size.
    pub async fn resize(&self, to: ExecSize) -> Result<(), Error> {
        let done = self.inside.envd.resize(&tag(&self.exec.exec_id), size(to)).await;
        done.map_err(|error| self.house.understand(&self.inside.view.id, "process", error))
    }

    /// Sends a signal.
    pub async fn signal(&self, signal: u32) -> Result<(), Error> {
        let sent = self.inside.envd.signal(&tag(&self.exec.exec_id), signal).await;
        sent.map_err(|error| self.house.understand(&self.inside.view.id, "process", error))
    }
}

fn tag(exec: &ExecId) -> Selector {
    Selector::Tag(exec.to_string())
}

fn size(size: ExecSize) -> Size {
    Size { cols: size.cols.get() as u16, rows: size.rows.get() as u16 }
}
