//! The quarantine: objects that arrived and are not believed yet. What does not get out vanishes with its folder.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use carrel_model::push::PushLimits;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

use crate::{
    GitError, Mirror,
    mirror::sync_folder,
    program::{Call, hear_out},
};

/// How long a pack may take to arrive and be read.
const PATIENCE: Duration = Duration::from_secs(1800);
/// How much of a push that is refused is still read, so that the client hears why instead of a broken pipe.
const MOST_DRAINED: u64 = 4 << 30;

/// A folder for the objects of one push.
pub(crate) struct Quarantine {
    folder: PathBuf,
    mirror: Mirror,
}

/// What arrived.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrived {
    /// A pack that git could read.
    Pack,
    /// A pack without objects: everything was here already.
    Nothing,
    /// A pack that is refused, with a sentence.
    Refused { short: &'static str, why: String },
}

impl Quarantine {
    pub(crate) fn open(mirror: &Mirror) -> Result<Quarantine, GitError> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).expect("the kernel has randomness");
        let folder = mirror.path().join("quarantine").join(hex::encode(random));
        fs::create_dir_all(folder.join("pack")).map_err(GitError::io("make a quarantine"))?;
        Ok(Quarantine { folder, mirror: mirror.clone() })
    }

    /// A call that sees what arrived and what was here.
    pub(crate) fn call(&self, command: &'static str) -> Call {
        self.mirror
            .git()
            .at(&self.mirror.path(), command)
            .env("GIT_OBJECT_DIRECTORY", &self.folder)
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", self.mirror.objects())
    }

    /// Reads the pack. The stream is read to its end whatever comes of it.
    pub(crate) async fn take_in(
        &self,
        stream: &mut (impl AsyncRead + Unpin),
        limits: &PushLimits,
    ) -> Result<Arrived, GitError> {
        let mut header = [0; 12];
        stream.read_exact(&mut header).await.map_err(|_| GitError::unfit("the push broke off before its pack"))?;
        let objects = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
        let refuse = |short, why| Ok(Arrived::Refused { short, why });
        if &header[..4] != b"PACK" {
            drain(stream).await;
            return refuse("not a pack", "What follows the refs is not a pack.".into());
        }
        if objects == 0 {
            drain(stream).await;
            return Ok(Arrived::Nothing);
        }
        if objects > limits.objects {
            drain(stream).await;
            let why = format!("The pack has {objects} objects; at most {} are taken in one push.", limits.objects);
            return refuse("too many objects", why);
        }
        let read = tokio::time::timeout(PATIENCE, self.read_pack(&header, stream, limits)).await;
        let read = read.unwrap_or(Err(GitError::TimedOut { what: "index-pack", after: PATIENCE }));
        drain(stream).await;
        read
    }

    async fn read_pack(
        &self,
        header: &[u8],
        stream: &mut (impl AsyncRead + Unpin),
        limits: &PushLimits,
    ) -> Result<Arrived, GitError> {
        let call = self
            .call("index-pack")
            .config("core.fsync", "committed")
            // Sins of old histories; what could do harm stays refused.
            .arg("--strict=zeroPaddedFilemode=ignore,badTimezone=ignore,missingSpaceBeforeDate=ignore,nullSha1=error")
            .args(["--stdin", "--fix-thin"]);
        let mut running = call.start(Stdio::piped())?;
        let missing = || GitError::Failed { what: "index-pack", why: "it has no pipes".into() };
        let mut stdin = running.stdin().ok_or_else(missing)?;
        let hearing = hear_out(running.child.stderr.take(), None);
        let feeding = async move {
            let mut total = header.len() as u64;
            if stdin.write_all(header).await.is_err() {
                return Ok(total);
            }
            let mut buffer = vec![0; 128 << 10];
            loop {
                let length = stream.read(&mut buffer).await.map_err(GitError::io("read a pack"))?;
                total += length as u64;
                // A git that has seen enough hangs up and says why.
                if length == 0 || total > limits.pack_bytes || stdin.write_all(&buffer[..length]).await.is_err() {
                    let _ = stdin.shutdown().await;
                    return Ok(total);
                }
            }
        };
        let (total, said): (Result<u64, GitError>, String) = tokio::join!(feeding, hearing);
        if total? > limits.pack_bytes {
            let why =
                format!("The pack is larger than {} MiB, the most that is taken in one push.", limits.pack_bytes >> 20);
            return Ok(Arrived::Refused { short: "the push is too large", why });
        }
        let status = running.child.wait().await.map_err(GitError::io("wait for git"))?;
        if status.success() {
            return Ok(Arrived::Pack);
        }
        Ok(Arrived::Refused { short: "the pack was not accepted", why: sentence(&said) })
    }

    /// Lets the objects out: into the mirror, safe on disk. The list of objects comes last, so that nobody sees a pack
    /// before it is whole.
    pub(crate) fn release(self) -> Result<(), GitError> {
        let target = self.mirror.objects().join("pack");
        let release = || -> std::io::Result<()> {
            fs::create_dir_all(&target)?;
            let mut files: Vec<PathBuf> = Vec::new();
            for entry in fs::read_dir(self.folder.join("pack"))? {
                files.push(entry?.path());
            }
            files.sort_by_key(|path| path.extension().is_some_and(|extension| extension == "idx"));
            for path in files {
                if let Some(name) = path.file_name() {
                    fs::rename(&path, target.join(name))?;
                }
            }
            sync_folder(&target)
        };
        release().map_err(GitError::io("let a push out of its quarantine"))
    }
}

impl Drop for Quarantine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
        // When it was the last.
        let _ = self.folder.parent().map(|above: &Path| fs::remove_dir(above));
    }
}

/// Reads what is left.
pub(crate) async fn drain(stream: &mut (impl AsyncRead + Unpin)) {
    let _ = tokio::io::copy(&mut stream.take(MOST_DRAINED), &mut tokio::io::sink()).await;
}

/// What git said of a pack, for whoever pushed it.
fn sentence(said: &str) -> String {
    let lines = || said.lines().map(|line| line.trim_start_matches("fatal: ").trim_start_matches("error: "));
    let worst = lines().find(|line| line.contains("hasDot") || line.contains("gitmodules") || line.contains("symlink"));
    match worst {
        Some(line) => format!("A path that git itself would not check out: {line}"),
        None => format!(
            "Git could not read the pack: {}",
            lines().find(|line| !line.is_empty()).unwrap_or("no reason given")
        ),
    }
}
