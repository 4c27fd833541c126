//! `carrel task export` and `import`: a task in a file, from one house to another.

use std::{
    fs::OpenOptions,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use carrel_model::{AgentId, RepoName, TaskId, public::TaskView};
use clap::Args;
use futures::StreamExt;
use reqwest::{Method, Response};

use super::{Client, copy, task::task_id};
use crate::{
    failure::{Exit, Failure},
    say,
};

/// A task that goes out.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// Its number
    #[arg(value_parser = task_id)]
    id: TaskId,
    /// Where to write it, which must not be there yet; `-` is standard output [default: task-ID.tar]
    file: Option<PathBuf>,
    /// With all of its history, for a house whose repository does not have the commit that it began at
    #[arg(long)]
    whole: bool,
}

/// A task that comes in.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The file
    file: PathBuf,
    /// The repository that it goes to; the one of the same name when left out
    #[arg(long)]
    repo: Option<RepoName>,
    /// Who goes on with it; whoever did it before when left out
    #[arg(long)]
    agent: Option<AgentId>,
    /// Begin at once
    #[arg(long)]
    start: bool,
}

impl Export {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        let request = client.request(Method::GET, &format!("/tasks/{}/export", self.id))?;
        let request = request.query(&[("whole", self.whole)]);
        let file = self.file.unwrap_or_else(|| format!("task-{}.tar", self.id).into());
        if file == Path::new("-") {
            let mut bytes = client.send(request).await?.bytes_stream();
            while let Some(piece) = bytes.next().await {
                if !say::bytes(&piece.map_err(|error| client.unreachable(&error))?) {
                    break;
                }
            }
            return Ok(());
        }
        let waiting = say::progress("wrapping");
        let written = write(client, client.send(request).await, &file).await;
        waiting.finish_and_clear();
        written?;
        say::line(file.display());
        Ok(())
    }
}

/// Under its name only when it is whole: half a task is nobody's.
async fn write(client: &Client, response: Result<Response, Failure>, file: &Path) -> Result<(), Failure> {
    let response = response?;
    let trouble = |error: std::io::Error| {
        Failure::new(format!("{} cannot be written: {error}", file.display())).exit(Exit::Conflict)
    };
    if file.exists() {
        return Err(trouble(std::io::ErrorKind::AlreadyExists.into()));
    }
    let draft = file.with_extension("tar.part");
    let mut open = OpenOptions::new();
    let mut target = open.write(true).create(true).truncate(true).mode(0o600).open(&draft).map_err(trouble)?;
    let mut bytes = response.bytes_stream();
    while let Some(piece) = bytes.next().await {
        target.write_all(&piece.map_err(|error| client.unreachable(&error))?).map_err(trouble)?;
    }
    target.sync_all().and_then(|()| std::fs::rename(&draft, file)).map_err(trouble)
}

impl Import {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        let mut request = client.request(Method::POST, "/tasks/import")?.query(&[("start", self.start)]);
        if let Some(repo) = &self.repo {
            request = request.query(&[("repo", repo)]);
        }
        if let Some(agent) = &self.agent {
            request = request.query(&[("agent", agent)]);
        }
        let request = request.header("Content-Type", "application/x-tar").body(copy::read(&self.file).await?);
        let task: TaskView = client.fetch(request).await?;
        match (client.json(), client.quiet()) {
            (true, _) => say::json(&task),
            (false, true) => {
                say::line(task.id);
                Ok(())
            }
            (false, false) => {
                say::line(format_args!("task {} is here, {}: {}", task.id, task.phase.word(), task.title));
                Ok(())
            }
        }
    }
}
