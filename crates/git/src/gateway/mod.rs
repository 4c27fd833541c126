//! The gateway's own part of git's smart protocol: what a door passes on, without any idea of HTTP.
//!
//! Fetching is `git upload-pack`. Receiving is ours, with git's own tools: the refs are judged before the pack, the pack
//! is read into a quarantine, what is new in it is looked at, and only then do objects and refs move, safe on disk before
//! anybody hears of it.

mod content;
mod parcel;
mod quarantine;
mod receive;
mod report;
mod request;
mod rules;

use std::{process::Stdio, time::Duration};

use carrel_model::{CommitId, Holder};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::{ChildStderr, ChildStdout},
};

pub use self::{
    content::{ContentRules, Finding},
    receive::{Accepted, Received},
    rules::SecretRules,
};
use crate::{
    GitError, Mirror, packet,
    program::{Call, Running},
    refs,
};

/// The two halves of git's protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// Fetching.
    UploadPack,
    /// Pushing.
    ReceivePack,
}

impl Service {
    /// The service of a name such as `git-upload-pack`.
    pub fn from_name(name: &str) -> Option<Service> {
        [Service::UploadPack, Service::ReceivePack].into_iter().find(|service| service.name() == name)
    }

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Service::UploadPack => "git-upload-pack",
            Service::ReceivePack => "git-receive-pack",
        }
    }
}

/// The version of the protocol that a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Version {
    /// The first.
    #[default]
    V0,
    /// The first, saying so.
    V1,
    /// The second.
    V2,
}

impl Version {
    /// Understands the header `Git-Protocol`, which is a list of words; those that we do not know are not passed on.
    pub fn from_header(text: &str) -> Version {
        let asked = text.split(':').filter_map(|word| word.strip_prefix("version="));
        asked.fold(Version::V0, |found, asked| match asked {
            "2" => Version::V2,
            "1" if found == Version::V0 => Version::V1,
            _ => found,
        })
    }

    fn variable(self) -> &'static str {
        match self {
            Version::V0 => "",
            Version::V1 => "version=1",
            Version::V2 => "version=2",
        }
    }
}

/// Who looks, as far as hidden refs are concerned: the house's own are for nobody, but a task sees its work in progress.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct View {
    /// Whose work in progress is shown.
    pub holder: Option<Holder>,
}

/// How long a fetch may take.
const PATIENCE: Duration = Duration::from_secs(3600);
/// What we understand of a push, and no more.
const CAPABILITIES: &str =
    "report-status delete-refs side-band-64k ofs-delta atomic quiet object-format=sha1 agent=carrel";

impl Mirror {
    /// What a client is shown first (`GET …/info/refs?service=…`).
    pub async fn advertise(&self, service: Service, version: Version, view: View) -> Result<Vec<u8>, GitError> {
        let mut out = Vec::new();
        if service == Service::ReceivePack || version != Version::V2 {
            packet::write(&mut out, format!("# service={}\n", service.name()).as_bytes());
            packet::flush(&mut out);
        }
        match service {
            Service::UploadPack => out.extend(
                self.upload_pack(version, view)
                    .arg("--http-backend-info-refs")
                    .arg(self.path().as_path())
                    .run()
                    .await?,
            ),
            Service::ReceivePack => self.advertise_refs(&mut out, view).await?,
        }
        Ok(out)
    }

    async fn advertise_refs(&self, out: &mut Vec<u8>, view: View) -> Result<(), GitError> {
        let mut shown = refs::list(self.git(), &self.path(), &["refs/heads", "refs/tags"]).await?;
        if let Some(holder) = view.holder {
            let wip = holder.saves();
            if let Some(id) = self.find(&wip).await? {
                shown.insert(wip, id);
            }
        }
        let mut capabilities = format!("\0{CAPABILITIES}");
        if shown.is_empty() {
            packet::write(out, format!("{} capabilities^{{}}{capabilities}\n", CommitId::NONE).as_bytes());
        }
        for (name, id) in &shown {
            packet::write(out, format!("{id} {name}{capabilities}\n").as_bytes());
            capabilities.clear();
        }
        packet::flush(out);
        Ok(())
    }

    /// Answers a fetch (`POST …/git-upload-pack`): reads the question from a stream, and gives the answer as one.
    pub fn upload(
        &self,
        version: Version,
        view: View,
        mut question: impl AsyncRead + Unpin + Send + 'static,
    ) -> Result<Upload, GitError> {
        let call = self.upload_pack(version, view).arg("--stateless-rpc").arg(self.path().as_path());
        let mut running = call.start(Stdio::piped())?;
        let (stdin, stdout, stderr) = (running.stdin(), running.stdout(), running.child.stderr.take());
        let missing = || GitError::Failed { what: "upload-pack", why: "it has no pipes".into() };
        let (mut stdin, stdout) = (stdin.ok_or_else(missing)?, stdout.ok_or_else(missing)?);
        let speaking = tokio::spawn(async move {
            let _ = tokio::io::copy(&mut question, &mut stdin).await;
            let _ = stdin.shutdown().await;
        });
        Ok(Upload { mirror: self.clone(), running, stdout, stderr, speaking })
    }

    fn upload_pack(&self, version: Version, view: View) -> Call {
        let mut call = self.git().call("upload-pack").patience(PATIENCE);
        call.set_env("GIT_PROTOCOL", version.variable());
        // Blobless and shallow clones are for those who cannot borrow.
        call = call.config("uploadpack.allowFilter", "true").config("transfer.hideRefs", "refs/carrel");
        if let Some(holder) = view.holder {
            call = call.config("transfer.hideRefs", format!("!{}", holder.saves()));
        } else {
            // What was done for tasks that were closed can be had by people, and what pulls were before they were squashed.
            call = call.config("transfer.hideRefs", "!refs/carrel/kept");
            call = call.config("transfer.hideRefs", "!refs/carrel/pulls");
        }
        call.arg("--strict").arg("--timeout=300")
    }
}

/// The answer to a fetch, as it comes. Dropping it ends git.
pub struct Upload {
    mirror: Mirror,
    running: Running,
    stdout: ChildStdout,
    stderr: Option<ChildStderr>,
    speaking: tokio::task::JoinHandle<()>,
}

impl std::fmt::Debug for Upload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Upload")
    }
}

impl Upload {
    /// The next piece of the answer; an empty one at its end.
    pub async fn next(&mut self) -> Result<Vec<u8>, GitError> {
        let mut piece = Vec::with_capacity(64 << 10);
        let read = async {
            let mut rest = (&mut self.stdout).take(64 << 10);
            rest.read_buf(&mut piece).await
        };
        let read = tokio::time::timeout(PATIENCE, read).await;
        let late = GitError::TimedOut { what: "upload-pack", after: PATIENCE };
        read.map_err(|_| late)?.map_err(GitError::io("read the answer of git"))?;
        if piece.is_empty() {
            self.finish().await?;
        }
        Ok(piece)
    }

    async fn finish(&mut self) -> Result<(), GitError> {
        let said = crate::program::hear_out(self.stderr.take(), None).await;
        let status = self.running.child.wait().await.map_err(GitError::io("wait for git"))?;
        if status.success() {
            return Ok(());
        }
        // What its helper found, it told the client and not us.
        if GitError::speaks_of_damage(&said) || said.contains("pack-objects died") {
            self.mirror.git().suspect(&self.mirror.path());
        }
        Err(GitError::understand("upload-pack", &said))
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.speaking.abort();
    }
}

/// Reads the commands of a push from bytes that mean nothing.
#[cfg(feature = "fuzz")]
pub(crate) async fn fuzz(bytes: &mut &[u8]) {
    if let Ok(Some(request)) = request::Request::read(bytes).await {
        assert!(request.commands.len() + request.odd.len() > 0, "a push that asks for nothing is none");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_asks_for_a_version_among_other_words() {
        for (text, version) in [
            ("version=2", Version::V2),
            ("version=1", Version::V1),
            ("", Version::V0),
            ("version=1:version=2", Version::V2),
            ("version=2:version=1", Version::V2),
            ("version=2\n--evil", Version::V0),
            ("foo:version=2:bar=1", Version::V2),
        ] {
            assert_eq!(Version::from_header(text), version, "{text:?}");
        }
        assert_eq!(Service::from_name("git-upload-pack"), Some(Service::UploadPack));
        assert_eq!(Service::from_name("git-shell"), None);
    }
}
