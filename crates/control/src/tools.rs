//! Which tools are for whom: `tools.yaml` in the data directory, and `.carrel/tools.yaml` on the default branch of a
//! repository. Both take away; neither gives.
//!
//! The repository's file is read where tasks begin, not where an agent works: nobody opens a door for itself by writing
//! into its own checkout. A file that cannot be understood closes every tool and says why.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use carrel_model::{
    AgentId, CommitId, Grant, RepoName, SandboxId, TaskId,
    audit::{AuditLine, Outcome},
    tools::ToolMap,
};

use crate::{Error, desks::repos, house::House};

/// Where a repository says it.
const IN_REPO: &str = ".carrel/tools.yaml";
/// The largest file that is read.
const LARGEST: u64 = 64 * 1024;

type Read = Result<Arc<ToolMap>, String>;

/// What was read, by repository and by the commit it was read at.
#[derive(Default)]
pub(crate) struct Tools(Mutex<HashMap<RepoName, (CommitId, Option<Read>)>>);

/// Says who may use which tools.
pub struct ToolsDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

/// What a call of a tool is about.
#[derive(Debug, Clone, Copy, Default)]
pub struct About<'a> {
    /// The sandbox, when one is named.
    pub sandbox: Option<&'a SandboxId>,
    /// The task, when one is named.
    pub task: Option<TaskId>,
    /// The repository, when one is named.
    pub repo: Option<&'a RepoName>,
}

/// What whoever asks may use.
pub struct ToolPermits {
    grant: Grant,
    agent: Option<AgentId>,
    files: Vec<(String, Read)>,
}

impl ToolPermits {
    /// Whether a tool may be used; else a sentence that says which file keeps it closed.
    pub fn check(&self, tool: &str) -> Result<(), String> {
        for (file, read) in &self.files {
            match read {
                Ok(map) if map.permits_grant(&self.grant, self.agent.as_ref(), tool) => {}
                Ok(_) => return Err(format!("the tool `{tool}` is not for you: {file} keeps it for others")),
                Err(why) => return Err(format!("no tool can be used: {file} cannot be understood: {why}")),
            }
        }
        Ok(())
    }
}

impl ToolsDesk<'_> {
    /// What a grant may use of what is asked for.
    pub async fn permits(&self, grant: &Grant, about: About<'_>) -> Result<ToolPermits, Error> {
        let (mut agent, mut repos) = (None, Vec::new());
        repos.extend(about.repo.cloned());
        if let Some(id) = about.sandbox
            && let Some(sandbox) = self.house.store.sandboxes().find(id).await?
        {
            agent = sandbox.spec.agent_id;
            repos.extend(sandbox.spec.repo);
        }
        if let Some(id) = about.task
            && let Some(task) = self.house.store.tasks().find(id).await?
        {
            repos.push(task.repo);
        }
        repos.dedup();
        let mut files: Vec<_> =
            self.of_house().await.map(|read| ("`tools.yaml` of the house".to_owned(), read)).into_iter().collect();
        for name in repos {
            if let Some(read) = self.of_repo(&name).await? {
                files.push((format!("`{IN_REPO}` of the repo `{name}`"), read));
            }
        }
        Ok(ToolPermits { grant: grant.clone(), agent, files })
    }

    /// Writes down that a tool was not for somebody: in the audit, and on the timeline of the desk that asked.
    pub async fn refused(&self, grant: &Grant, tool: &str, why: &str) -> Result<(), Error> {
        let line = AuditLine::by(grant, "tool.use", Some(tool.to_owned()), Outcome::Denied, self.house.store.now());
        self.house.store.write_audit(&line.with_detail(why.to_owned())).await?;
        if let carrel_model::Authority::Sandbox(id) = &grant.authority {
            self.house.tell_refusal(id, format!("Refused: {why}. Whoever may change that file can allow it.")).await?;
        }
        Ok(())
    }

    async fn of_house(&self) -> Option<Read> {
        let path = self.house.settings.tools.clone();
        let read = tokio::task::spawn_blocking(move || read_file(&path)).await;
        read.unwrap_or_else(|_| Some(Err("it could not be read".into())))
    }

    async fn of_repo(&self, name: &RepoName) -> Result<Option<Read>, Error> {
        let head = match repos::find(self.house, name).await {
            Ok(repo) => repo.head,
            // Whoever asks hears that from the door.
            Err(Error::NotFound { .. }) => None,
            Err(error) => return Err(error),
        };
        let Some(head) = head else { return Ok(None) };
        let known = |tools: &Tools| {
            let known = tools.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(name).filter(|(at, _)| *at == head).map(|(_, read)| read.clone())
        };
        if let Some(read) = known(&self.house.tools) {
            return Ok(read);
        }
        let mirror = self.house.library.mirror(name).await?;
        let read = match mirror.read_file(&head, IN_REPO, LARGEST).await {
            Ok(bytes) => bytes.map(|bytes| understand(&bytes)),
            Err(carrel_git::GitError::Unfit { why }) => Some(Err(why)),
            Err(error) => return Err(error.into()),
        };
        let mut known = self.house.tools.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(name.clone(), (head, read.clone()));
        Ok(read)
    }
}

fn read_file(path: &Path) -> Option<Read> {
    match std::fs::metadata(path) {
        Ok(about) if about.len() > LARGEST => return Some(Err(format!("it is larger than {LARGEST} bytes"))),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => return Some(Err(error.to_string())),
    }
    match std::fs::read(path) {
        Ok(bytes) => Some(understand(&bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => Some(Err(error.to_string())),
    }
}

fn understand(bytes: &[u8]) -> Read {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not text".to_owned())?;
    ToolMap::from_yaml(text).map(Arc::new)
}

#[cfg(test)]
mod tests {
    use carrel_model::Role;

    use super::*;

    #[test]
    fn a_file_is_read_and_one_that_is_broken_closes() {
        let text = b"# who may what\nroles:\n  sandbox: { deny: [task_ask] }\nagents:\n  reviewer:\n    allow:\n      - files_*\n";
        let map = understand(text).expect("it is well formed");
        assert!(!map.permits(Role::Sandbox, None, "task_ask"));
        let reviewer = "reviewer".parse().expect("a name");
        assert!(map.permits(Role::Sandbox, Some(&reviewer), "files_read"));
        assert!(!map.permits(Role::Sandbox, Some(&reviewer), "git_push"));
        for odd in ["roles: [", "rolles: {}", "roles: {sandbox: {allow: [\"x y\"]}}", "- a", "a: &x [*x]"] {
            assert!(understand(odd.as_bytes()).is_err(), "{odd}");
        }
        assert_eq!(understand(b"# nothing\n").expect("nothing is said"), Arc::default());
    }
}
