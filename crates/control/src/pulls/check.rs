//! A merged result is tried out: in a sandbox of its own that lives no longer than the trial.

use std::{sync::Arc, time::Duration};

use carrel_git::{
    Identity, Mirror, WORKSPACE,
    merge::{Regenerate, Rung, RungRecord},
};
use carrel_model::{
    Authority, Branch, CommitId, Grant, SandboxId, TaskId,
    exec::ExecStatus,
    public::{NewExec, NewSandbox, PullView},
    repo::Repo,
    sandbox::{Author, Checkout, Isolation, Lifetime, Phase},
    task::Task,
};
use carrel_store::Stream;
use futures::StreamExt;

use super::{
    lane::{Hold, in_other_hands},
    signer_of,
};
use crate::{
    Error, ExecsDesk, FilesDesk, SandboxesDesk, Waited, desks::agents, house::House, secret::new_sandbox_id,
    tasks::desk,
};

/// How long a check may take.
const CHECK_LASTS: u64 = 3600;
/// How long a sandbox may take to be there.
const READY_WITHIN: Duration = Duration::from_secs(300);
/// So much of the end of a log is kept.
const LOG_KEPT: usize = 64 * 1024;

/// What a check came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checked {
    /// Whether it is content.
    pub(crate) passed: bool,
    /// What it printed, or the end of it.
    pub(crate) log: String,
    /// The end of what it printed to its standard output alone.
    pub(crate) said: String,
    /// How it ended.
    pub(crate) code: Option<i32>,
}

/// Runs the command of a repository on a commit.
pub(crate) async fn check(
    house: &Arc<House>,
    repo: &Repo,
    mirror: &Mirror,
    commit: &CommitId,
    pull: &PullView,
    command: &str,
    hold: &Hold,
) -> Result<Checked, Error> {
    let trial = Trial::open(house, repo, mirror, commit, &pull.base, pull.task_id, Some(hold)).await?;
    let checked = tokio::select! {
        checked = trial.run(command, &trial.folder) => checked,
        // Whoever has the lane now checks for itself.
        () = hold.lost() => Err(in_other_hands()),
    };
    trial.close(Some(hold)).await;
    checked
}

/// Runs a command on a commit that nobody is about to merge.
pub(crate) async fn try_out(
    house: &Arc<House>,
    repo: &Repo,
    mirror: &Mirror,
    commit: &CommitId,
    task: &Task,
    command: &str,
) -> Result<Checked, Error> {
    let trial = Trial::open(house, repo, mirror, commit, &task.base, Some(task.id), None).await?;
    let checked = trial.run(command, &trial.folder).await;
    trial.close(None).await;
    checked
}

/// What was tried, when files could not be made anew after all: the rung that took them settled nothing of it.
pub(super) fn unmade(records: Vec<RungRecord>, paths: &[String]) -> Vec<RungRecord> {
    let forget = |mut record: RungRecord| {
        if record.rung == Rung::LockFile {
            record.settled.retain(|path| !paths.contains(path));
        }
        record
    };
    records.into_iter().map(forget).collect()
}

/// Lets programs make files anew that no merge can settle, and gives the commit with what they made. Nothing when a program
/// is not there or fails: then the files are for the agent, like every other conflict.
pub(crate) async fn make_anew(
    house: &Arc<House>,
    repo: &Repo,
    mirror: &Mirror,
    commit: CommitId,
    base: &Branch,
    task: Option<TaskId>,
    files: &[Regenerate],
) -> Result<Option<CommitId>, Error> {
    if files.is_empty() {
        return Ok(Some(commit));
    }
    let trial = Trial::open(house, repo, mirror, &commit, base, task, None).await?;
    let made = trial.make(files).await;
    trial.close(None).await;
    let made = match made {
        Ok(made) => made,
        Err(Error::Conflict { why }) => {
            tracing::info!(repo = %repo.name, "{why}");
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let signer = signer_of(house, &repo.name).await?;
    Ok(Some(mirror.with_files(&commit, made, &Identity::house(), signer.as_ref()).await?))
}

/// A sandbox with a commit laid out in it.
struct Trial {
    house: Arc<House>,
    grant: Grant,
    id: SandboxId,
    folder: String,
}

impl Trial {
    async fn open(
        house: &Arc<House>,
        repo: &Repo,
        mirror: &Mirror,
        commit: &CommitId,
        base: &Branch,
        task: Option<TaskId>,
        hold: Option<&Hold>,
    ) -> Result<Trial, Error> {
        let grant = house_grant();
        // What the work was done in is what it is tried out in.
        let task = match task {
            Some(task) => house.store.tasks().find(task).await?.filter(|task| task.repo == repo.name),
            None => None,
        };
        let agent = match &task {
            Some(task) => agents::find(house, &task.agent).await.ok(),
            None => None,
        };
        let isolation = task.as_ref().and_then(|task| task.isolation);
        let provider = desk::provider_for(house, isolation)?;
        let post = house.post(&provider)?;
        let new = NewSandbox {
            repo: Some(repo.name.clone()),
            template: agent.and_then(|agent| agent.template),
            isolation,
            provider: Some(provider),
            // Should everybody die, it goes by itself.
            timeout_s: Lifetime::new(CHECK_LASTS + 600),
            ..NewSandbox::default()
        };
        let isolation = post.usual_isolation().unwrap_or(Isolation::None);
        let manners = new.manners();
        let mut spec =
            new.into_spec(&house.settings.defaults, isolation).map_err(|fields| Error::Invalid { fields })?;
        spec.network = repo.rules.network.clone();
        let mut folder = String::new();
        if post.provider.furnishing().is_some() {
            let author = Author::new("carrel", "carrel@localhost").expect("a good name");
            let (branch, commit) = (base.clone(), commit.clone());
            spec.checkout = Some(Checkout { base: branch.clone(), branch, commit, author });
            folder = WORKSPACE.to_owned();
        }
        let id = new_sandbox_id();
        // Before it is there: whoever comes after a crash finds it, wherever we died.
        if let Some(hold) = hold {
            hold.note_sandbox(Some(&id)).await?;
        }
        // On this node: what runs in it is followed from here.
        Box::pin(SandboxesDesk { house }.create_here(&grant, id.clone(), spec, manners)).await?;
        let mut trial = Trial { house: Arc::clone(house), grant, id, folder };
        match trial.lay_out(mirror, commit).await {
            Ok(()) => Ok(trial),
            Err(error) => {
                trial.close(hold).await;
                Err(error)
            }
        }
    }

    async fn lay_out(&mut self, mirror: &Mirror, commit: &CommitId) -> Result<(), Error> {
        let desk = SandboxesDesk { house: &self.house };
        match desk.wait(&self.grant, &self.id, Phase::Ready, READY_WITHIN).await? {
            Waited::Reached(_) => {}
            Waited::Never(view) | Waited::NotYet(view) => {
                let why = view.note.clone().unwrap_or_else(|| format!("it is {}", view.phase.word()));
                let why = format!("there is no sandbox to check the merge in: {why}");
                return Err(Error::Unavailable { why, source: None });
            }
        }
        if !self.folder.is_empty() {
            return Ok(());
        }
        // Its provider lays nothing under a sandbox, and the commit is on no branch that it could clone: it gets the files.
        let at = self.run("pwd", "").await?;
        self.folder = format!("{}/checkout", at.log.trim());
        let tar = mirror.archive(commit).await?;
        let content = futures::stream::once(async move { Ok(bytes::Bytes::from(tar)) }).boxed();
        FilesDesk { house: &self.house }.extract(&self.grant, &self.id, &self.folder, None, content).await
    }

    /// Runs a line of shell to its end.
    async fn run(&self, command: &str, folder: &str) -> Result<Checked, Error> {
        let new = NewExec {
            command: Some(command.to_owned()),
            cwd: Some(folder.to_owned()).filter(|folder| !folder.is_empty()),
            timeout_s: Lifetime::new(CHECK_LASTS),
            ..NewExec::default()
        };
        let mut running = ExecsDesk { house: &self.house }.start_own(&self.grant, &self.id, new).await?;
        let (mut log, mut said) = (Vec::new(), Vec::new());
        while let Some(chunks) = running.output.next().await? {
            for chunk in chunks.iter().filter(|chunk| chunk.stream != Stream::Carrel) {
                log.extend_from_slice(&chunk.bytes);
                if chunk.stream == Stream::Stdout {
                    said.extend_from_slice(&chunk.bytes);
                }
            }
            for kept in [&mut log, &mut said] {
                if kept.len() > 4 * LOG_KEPT {
                    kept.drain(..kept.len() - LOG_KEPT);
                }
            }
        }
        let exec = running.exec();
        if exec.status == ExecStatus::Lost {
            let why = exec.note.unwrap_or_else(|| "its sandbox is gone".into());
            return Err(Error::Unavailable { why: format!("the check was broken off: {why}"), source: None });
        }
        let from = log.len().saturating_sub(LOG_KEPT);
        let mut log = String::from_utf8_lossy(&log[from..]).into_owned();
        if exec.timed_out {
            log.push_str(&format!("\nIt did not end within {CHECK_LASTS} s and was ended.\n"));
        }
        let said = String::from_utf8_lossy(&said[said.len().saturating_sub(LOG_KEPT)..]).into_owned();
        Ok(Checked { passed: exec.exit_code == Some(0), log, said, code: exec.exit_code })
    }

    async fn make(&self, files: &[Regenerate]) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let mut made = Vec::new();
        for file in files {
            let folder = format!("{}/{}", self.folder, file.folder);
            // The words are ours: no quotes are needed.
            let ran = self.run(&file.command.join(" "), folder.trim_end_matches('/')).await?;
            if !ran.passed {
                let end: String = ran.log.lines().rev().take(3).collect::<Vec<_>>().join("; ");
                return Err(Error::Conflict { why: format!("`{}` could not be made anew: {end}", file.path) });
            }
            let place = format!("{}/{}", self.folder, file.path);
            let found = FilesDesk { house: &self.house }.download(&self.grant, &self.id, &place, None).await?;
            let mut content = Vec::new();
            let mut pieces = found.content;
            while let Some(piece) = pieces.next().await {
                let broken = |error: std::io::Error| Error::Inside { why: error.to_string() };
                content.extend_from_slice(&piece.map_err(broken)?);
            }
            made.push((file.path.clone(), content));
        }
        Ok(made)
    }

    async fn close(self, hold: Option<&Hold>) {
        end_sandbox(&self.house, &self.id).await;
        if let Some(hold) = hold {
            // It was in other hands: then they tidy up.
            let _ = hold.note_sandbox(None).await;
        }
    }
}

/// Asks for a sandbox of ours to be ended; the keepers see to it.
pub(crate) async fn end_sandbox(house: &Arc<House>, id: &SandboxId) {
    if let Err(error) = (SandboxesDesk { house }).destroy(&house_grant(), id).await
        && !matches!(error, Error::NotFound { .. })
    {
        tracing::warn!(error = &error as &dyn std::error::Error, sandbox = %id, "a sandbox was not ended");
    }
}

/// The house itself, where it does what nobody asked for by name.
pub(crate) fn house_grant() -> Grant {
    let key = "key_0000000000000000".parse().expect("a good name");
    Grant { key, name: "carrel".into(), authority: Authority::Admin, origin: None }
}
