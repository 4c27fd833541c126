//! The gateway desk: git's way in and out of the house, for sandboxes and people.

use std::sync::Arc;

use carrel_git::{
    Mirror,
    gateway::{Received, Service, Upload, Version, View},
};
use carrel_model::{
    Action, Authority, Branch, BranchFormat, CommitId, Grant, Holder, PushId, RepoName, SandboxId, Subject, TaskId,
    audit::{AuditLine, Outcome},
    push::Pusher,
    repo::{Push, PushedRef, Repo},
    sandbox::Want,
};
use tokio::io::AsyncRead;

use super::repos::{bring_up_to_date, find};
use crate::{Error, house::House, library, work};

/// Lets fetches and pushes pass.
pub struct GatewayDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

/// Somebody who may fetch from one repository, or push to it.
pub struct Visitor {
    house: Arc<House>,
    grant: Grant,
    repo: Repo,
    mirror: Mirror,
    place: Place,
}

/// From where somebody comes.
enum Place {
    Outside,
    /// A sandbox, with whose desk it is, and the commit that its work began at.
    Sandbox(SandboxId, Option<Holder>, Option<CommitId>),
}

impl GatewayDesk<'_> {
    /// What a sandbox may do that asks from inside: its own, for as long as it lives; nothing after that. It shows
    /// nothing, because nobody else can ask by its gateway.
    pub async fn grant_of(&self, id: &SandboxId) -> Result<Option<Grant>, Error> {
        let found = self.house.store.sandboxes().find(id).await?;
        let living = found.filter(|sandbox| !sandbox.phase.is_over() && sandbox.want != Want::Gone);
        Ok(living.map(|sandbox| Grant {
            key: sandbox.created_by,
            name: format!("sandbox {id}"),
            authority: Authority::Sandbox(sandbox.id),
            origin: None,
        }))
    }

    /// Lets somebody in to fetch, or to push. A sandbox comes to the repository that it works on and to no other.
    pub async fn enter(&self, grant: &Grant, name: &RepoName, service: Service) -> Result<Visitor, Error> {
        let action = match service {
            Service::UploadPack => Action::RepoRead,
            Service::ReceivePack => Action::RepoPush,
        };
        let place = match &grant.authority {
            Authority::Sandbox(id) => match self.house.store.sandboxes().find(id).await? {
                Some(sandbox) if sandbox.spec.repo.as_ref() == Some(name) && !sandbox.phase.is_over() => {
                    if let Some(task) = sandbox.spec.task_id {
                        self.refuse_if_over(name, task).await?;
                    }
                    let holder = work::holder_of(self.house, id, &sandbox.spec).await?;
                    let root = sandbox.spec.checkout.map(|checkout| checkout.commit);
                    Place::Sandbox(id.clone(), holder, root)
                }
                // Not its own: the grant itself covers no repository, and says so.
                _ => {
                    self.house.admit(grant, action, Subject::Repo(name)).await?;
                    Place::Outside
                }
            },
            _ => {
                self.house.admit(grant, action, Subject::Repo(name)).await?;
                Place::Outside
            }
        };
        let repo = find(self.house, name).await?;
        if service == Service::ReceivePack {
            self.house.nodes.still_here()?;
        }
        if service == Service::ReceivePack && matches!(place, Place::Sandbox(_, None, _)) {
            return Err(Error::Conflict {
                why: "this sandbox belongs to no task, so it has no branch to push to".into(),
            });
        }
        if service == Service::ReceivePack && matches!(place, Place::Outside) {
            super::quotas::admit_to_repo(self.house, grant, name).await?;
        }
        let mirror = self.house.library.mirror(name).await?;
        // A node that has never seen this repository fetches it first.
        if !repo.is_hosted() && mirror.default_branch().await?.is_none_or(|_| repo.synced_at.is_none()) {
            bring_up_to_date(self.house, name).await?;
        }
        Ok(Visitor { house: Arc::clone(self.house), grant: grant.clone(), repo, mirror, place })
    }

    /// What a sandbox was granted for its task ends with the task, also while the sandbox is still being taken down.
    async fn refuse_if_over(&self, name: &RepoName, task: TaskId) -> Result<(), Error> {
        let task = self.house.store.tasks().find(task).await?;
        match task.filter(|task| task.repo == *name && task.phase.is_over()) {
            Some(task) => Err(Error::Conflict {
                why: format!("task {} is {}: its desk can neither fetch nor push any more", task.id, task.phase.word()),
            }),
            None => Ok(()),
        }
    }
}

impl Visitor {
    /// What is shown first.
    pub async fn advertise(&self, service: Service, version: Version) -> Result<Vec<u8>, Error> {
        Ok(self.mirror.advertise(service, version, self.view()).await?)
    }

    /// Answers a fetch.
    pub fn upload(&self, version: Version, question: impl AsyncRead + Unpin + Send + 'static) -> Result<Upload, Error> {
        Ok(self.mirror.upload(version, self.view(), question)?)
    }

    /// Receives a push, and gives the answer to it. What was accepted is safe on disk and written down by then.
    pub async fn receive(&self, stream: &mut (impl AsyncRead + Unpin + Send)) -> Result<Vec<u8>, Error> {
        Ok(self.take_in(stream).await?.answer)
    }

    /// The same, for whoever carries a push here and reads the answer himself.
    pub(crate) async fn take_in(&self, stream: &mut (impl AsyncRead + Unpin + Send)) -> Result<Received, Error> {
        let mut rules = library::content_rules(&self.repo.rules)?;
        if let Place::Sandbox(_, _, Some(root)) = &self.place {
            rules = rules.with_root(root.clone());
        }
        let limits = library::push_limits(&self.repo.rules);
        let received = self.mirror.receive(stream, &self.pusher(), &limits, &rules).await?;
        if received.asked.is_empty() {
            return Ok(received);
        }
        let pushed = |command: &carrel_model::push::RefCommand| PushedRef {
            name: command.name.clone(),
            old: command.old.clone(),
            new: command.new.clone(),
            moved: received.accepted.iter().any(|step| step.name == command.name),
        };
        let (sandbox_id, task_id) = match &self.place {
            Place::Outside => (None, None),
            Place::Sandbox(id, Some(Holder::Task(task)), _) => (Some(id.clone()), Some(*task)),
            Place::Sandbox(id, _, _) => (Some(id.clone()), None),
        };
        let format = self.format();
        let branch_of = |name: &carrel_model::RefName| name.branch().and_then(|branch| format.task(&branch));
        let push = Push {
            id: new_push_id(),
            repo: self.repo.name.clone(),
            task_id: task_id.or_else(|| received.asked.iter().find_map(|command| branch_of(&command.name))),
            sandbox_id,
            key: self.grant.key.clone(),
            refs: received.asked.iter().map(pushed).collect(),
            refusal: received.refusal.clone(),
            at: self.house.store.now(),
        };
        let moved: Vec<_> = received.accepted.iter().filter_map(|step| step.name.branch()).collect();
        self.record(push).await?;
        if !received.accepted.is_empty() {
            self.follow_up(moved).await?;
        }
        Ok(received)
    }

    async fn record(&self, push: Push) -> Result<(), Error> {
        let grant = self.grant.clone();
        let recorded = self.house.store.change(move |tx| {
            Box::pin(async move {
                tx.insert_push(&push).await?;
                let outcome = if push.refusal.is_none() { Outcome::Done } else { Outcome::Denied };
                let subject = Some(push.repo.to_string());
                let line = AuditLine::by(&grant, Action::RepoPush.word(), subject, outcome, tx.now());
                let line = match push.refusal {
                    Some(why) => line.with_detail(why.chars().take(500).collect::<String>()),
                    None => line,
                };
                tx.audit(&line).await?;
                Ok::<_, Error>(())
            })
        });
        recorded.await
    }

    /// What a push changes beyond its refs: where the default branch is, what pulls look like, and how many packs there
    /// are.
    async fn follow_up(&self, moved: Vec<Branch>) -> Result<(), Error> {
        if self.repo.is_hosted() {
            bring_up_to_date(&self.house, &self.repo.name).await?;
        }
        let (mirror, house, repo) = (self.mirror.clone(), Arc::clone(&self.house), self.repo.name.clone());
        self.house.tasks().spawn(async move {
            for branch in moved {
                // What is missed here is seen by the next walk.
                if let Err(error) = crate::pulls::look_at_pulls_of(&house, &repo, &branch).await {
                    tracing::debug!(error = &error as &dyn std::error::Error, "pulls were not looked at after a push");
                }
            }
            library::tend(&house, &mirror).await;
        });
        Ok(())
    }

    fn view(&self) -> View {
        match &self.place {
            Place::Outside => View::default(),
            Place::Sandbox(_, holder, _) => View { holder: holder.clone() },
        }
    }

    fn pusher(&self) -> Pusher {
        match &self.place {
            Place::Sandbox(_, Some(Holder::Task(task)), _) => {
                Pusher::Task { task: *task, branch: self.format().of(*task) }
            }
            Place::Sandbox(_, Some(Holder::Session(session)), _) => Pusher::Session(session.clone()),
            _ => Pusher::Person {
                hosted: self.repo.is_hosted(),
                default_branch: self.repo.default_branch.clone(),
                format: self.format(),
            },
        }
    }

    /// How this repository names the branches of tasks.
    fn format(&self) -> BranchFormat {
        self.repo.rules.branch_format.clone().unwrap_or_default()
    }
}

fn new_push_id() -> PushId {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the kernel has randomness");
    PushId::from_random(bytes)
}
