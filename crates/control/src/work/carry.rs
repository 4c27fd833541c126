//! Carrying between the house and a sandbox that can ask nobody: no network, no key, only files in and files out.
//!
//! ```text
//! mirror ── pack, refs ──► box (a bare repository inside, `origin` of the checkout) ──► working tree
//! mirror ◄── a push, judged like any other ── pack ◄── box ◄── git push, or a save
//! ```
//!
//! Both sides remember in the box what they last agreed on, so that each step may be repeated and nobody is run over.

use std::{collections::HashMap, sync::Arc};

use carrel_envd::{Envd, EnvdError};
use carrel_git::{
    Mirror, WORKSPACE,
    carry::{Load, agreed, push_request},
    gateway::Service,
    inside,
};
use carrel_model::{
    CommitId, Holder, RefName, RepoName, SandboxId, push::RefCommand, sandbox::Checkout, sandbox::Phase,
};
use carrel_sandbox::Provider;
use futures::StreamExt;
use tokio_util::io::{ReaderStream, StreamReader};

use super::{errand::Errand, furnish::LARGE};
use crate::{Error, GatewayDesk, SandboxesDesk, house::House};

/// Whether everything must be carried to sandboxes of this provider.
pub(super) fn is_needed(provider: &dyn Provider) -> bool {
    provider.furnishing().is_none() && provider.lacks_gateway().is_some()
}

/// Carries between one sandbox and the mirror of its repository.
pub(super) struct Carrier<'c> {
    house: &'c Arc<House>,
    envd: Envd,
    id: &'c SandboxId,
    repo: &'c RepoName,
    checkout: &'c Checkout,
    mirror: Mirror,
    _turn: tokio::sync::OwnedMutexGuard<()>,
}

impl<'c> Carrier<'c> {
    /// One who knows the way already. One at a time for each sandbox.
    pub(super) async fn new(
        house: &'c Arc<House>,
        envd: Envd,
        id: &'c SandboxId,
        repo: &'c RepoName,
        checkout: &'c Checkout,
    ) -> Result<Carrier<'c>, Error> {
        let turn = house.forges.turn(&format!("carry {id}")).await;
        let mirror = house.library.mirror(repo).await?;
        Ok(Carrier { house, envd, id, repo, checkout, mirror, _turn: turn })
    }

    /// The same, to a sandbox that is ready.
    pub(super) async fn reach(
        house: &'c Arc<House>,
        id: &'c SandboxId,
        repo: &'c RepoName,
        checkout: &'c Checkout,
    ) -> Result<Carrier<'c>, Error> {
        let view = SandboxesDesk { house }.look(id).await?;
        if view.phase != Phase::Ready {
            return Err(Error::Conflict { why: format!("sandbox {id} is {}, not ready", view.phase.word()) });
        }
        let (envd, _) = house.line(&view).await?;
        Carrier::new(house, envd, id, repo, checkout).await
    }

    /// Brings the base, the task's branch and whatever else is named to the box, as far as it is not there.
    pub(super) async fn bring(&self, more: &[(RefName, CommitId)]) -> Result<(), Error> {
        let Checkout { base, branch, commit, .. } = self.checkout;
        let box_refs = self.refs().await?;
        let known = self.mirror.refs().await?;
        let mut wanted: Vec<(RefName, CommitId)> = more.to_vec();
        for name in [base.full(), branch.full()] {
            wanted.extend(known.get(&name).map(|at| (name, at.clone())));
        }
        // The commit itself may be on no branch: it is held by a name of its own.
        wanted.extend(format!("refs/carrel/begun/{commit}").parse().ok().map(|name| (name, commit.clone())));
        let agreed_on = |name: &RefName| agreed(name).and_then(|place| box_refs.get(&place).cloned());
        wanted.retain(|(name, at)| agreed_on(name).as_ref() != Some(at));
        wanted.dedup();
        if wanted.is_empty() {
            return Ok(());
        }
        let is_agreed = |name: &&RefName| name.is_below("refs/carrel/brought");
        let mut has: Vec<CommitId> =
            box_refs.keys().filter(is_agreed).filter_map(|name| box_refs.get(name)).cloned().collect();
        has.sort();
        has.dedup();
        let mut load = Load { wanted: wanted.iter().map(|(_, at)| at.clone()).collect(), ..Load::default() };
        for commit in has {
            // Somebody may have written there what we do not know.
            if self.mirror.has(&commit).await? {
                load.has.push(commit);
            }
        }
        if load.has.is_empty() && self.mirror.size() > LARGE {
            load.ends = self.ends(&load.wanted).await?;
        }
        self.hand_in(&load, &wanted).await
    }

    /// Where history may end: where everything that is wanted parted from the base, so that it can still be merged.
    async fn ends(&self, wanted: &[CommitId]) -> Result<Vec<CommitId>, Error> {
        let mut end = self.mirror.head_of(&self.checkout.base).await?;
        for commit in wanted {
            match self.mirror.parting(&end, commit).await? {
                Some(parting) => end = parting,
                None => return Ok(Vec::new()),
            }
        }
        Ok(vec![end])
    }

    /// Lays a pack and refs into the box, and lets it take them.
    async fn hand_in(&self, load: &Load, wanted: &[(RefName, CommitId)]) -> Result<(), Error> {
        let [pack, ends, refs] = inside::BROUGHT.map(|name| format!("{}/{name}", inside::BOX_PLACE));
        let broken = |error: std::io::Error| Error::Internal(Box::new(error));
        std::fs::create_dir_all(&self.house.settings.scratch).map_err(broken)?;
        let file =
            tempfile::Builder::new().prefix("carried-").tempfile_in(&self.house.settings.scratch).map_err(broken)?;
        self.mirror.pack_into(file.path(), load).await?;
        let content = tokio::fs::File::open(file.path()).await.map_err(broken)?;
        self.put(&pack, ReaderStream::with_capacity(content, 128 << 10).boxed()).await?;
        let text: String = load.ends.iter().map(|end| format!("{end}\n")).collect();
        self.put_text(&ends, text).await?;
        let mut text = String::new();
        for (name, at) in wanted {
            text.push_str(&format!("update {name} {at}\n"));
            if let Some(place) = agreed(name) {
                text.push_str(&format!("update {place} {at}\n"));
            }
        }
        self.put_text(&refs, text).await?;
        let told = self.run(Errand::new(inside::TAKE).args([WORKSPACE])).await?;
        told.good("take in what was brought").map(drop)
    }

    async fn put_text(&self, path: &str, text: String) -> Result<(), Error> {
        self.put(path, futures::stream::once(async move { Ok(bytes::Bytes::from(text)) }).boxed()).await
    }

    async fn put(&self, path: &str, content: carrel_envd::Content) -> Result<(), Error> {
        self.envd.upload(path, None, content).await.map_err(|error| self.trouble(error))
    }

    /// The refs of the box, which is made when it is missing.
    async fn refs(&self) -> Result<HashMap<RefName, CommitId>, Error> {
        let told = self.run(Errand::new(inside::BOX).args([WORKSPACE, self.checkout.base.as_str()])).await?;
        let told = told.good("open its box")?;
        let read = |line: &str| {
            let (id, name) = line.split_once(' ')?;
            Some((name.parse().ok()?, id.parse().ok()?))
        };
        Ok(told.lines().filter_map(read).collect())
    }

    /// Fetches what was saved of somebody's work.
    pub(super) async fn fetch_saved(&self, holder: &Holder) -> Result<(), Error> {
        let name = holder.saves();
        let old = self.mirror.find(&name).await?;
        self.fetch(&name, Some(old)).await
    }

    /// Fetches what was pushed to the branch. What the house does not take is as if it had not been pushed.
    pub(super) async fn fetch_branch(&self) -> Result<(), Error> {
        self.fetch(&self.checkout.branch.full(), None).await
    }

    /// Fetches one ref, from where it was agreed to be unless the caller knows better.
    async fn fetch(&self, name: &RefName, old: Option<Option<CommitId>>) -> Result<(), Error> {
        let Some(place) = agreed(name) else { return Ok(()) };
        let (name_text, place) = (name.to_string(), place.to_string());
        for how in ["known", "whole"] {
            let base = self.checkout.commit.as_str();
            let sent = self.run(Errand::new(inside::SEND).args([WORKSPACE, &name_text, &place, base, how])).await?;
            let sent = sent.good("pack its work")?;
            let mut words = sent.lines().last().unwrap_or_default().split(' ').map(|word| word.parse().ok());
            let (new, before): (Option<CommitId>, _) = (words.next().flatten(), words.next().flatten());
            let Some(new) = new else { return Ok(()) };
            let old = old.clone().unwrap_or(before);
            let command = RefCommand { name: name.clone(), old, new: Some(new.clone()) };
            let refusal = self.receive(&command).await?;
            // Somebody who plays with what was agreed on gets a second chance, so that nothing is lost.
            if how == "known" && refusal.as_ref().is_some_and(|why| why.contains("lacks objects")) {
                continue;
            }
            let taken = if refusal.is_none() { new.as_str() } else { "" };
            let told = self.run(Errand::new(inside::AGREE).args([WORKSPACE, &name_text, &place, taken])).await?;
            told.good("write down what was taken")?;
            return match refusal {
                None => Ok(()),
                Some(why) => Err(Error::Conflict { why: format!("could not push its work: {why}") }),
            };
        }
        Ok(())
    }

    /// Hands a push in at the gateway, in the name of the sandbox. Says why it was refused.
    async fn receive(&self, command: &RefCommand) -> Result<Option<String>, Error> {
        let desk = GatewayDesk { house: self.house };
        let gone = || Error::NotFound { what: format!("sandbox {}", self.id) };
        let grant = desk.grant_of(self.id).await?.ok_or_else(gone)?;
        let visitor = desk.enter(&grant, self.repo, Service::ReceivePack).await?;
        let pack = format!("{}/{}", inside::BOX_PLACE, inside::SENT);
        let pack = self.envd.download(&pack, None).await.map_err(|error| self.trouble(error))?;
        let request = Ok::<_, std::io::Error>(bytes::Bytes::from(push_request(command)));
        let request = futures::stream::once(std::future::ready(request));
        let mut stream = StreamReader::new(request.chain(pack.content).boxed());
        Ok(visitor.take_in(&mut stream).await?.refusal)
    }

    async fn run(&self, errand: Errand) -> Result<super::errand::Told, Error> {
        errand.run_by(&self.envd).await.map_err(|error| self.trouble(error))
    }

    fn trouble(&self, error: EnvdError) -> Error {
        self.house.understand(self.id, "errand", error)
    }
}
