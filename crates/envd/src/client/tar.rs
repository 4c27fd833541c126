//! Folders as tar archives. Ours packs and unpacks by itself; in the sandbox of a stranger the program `tar` does it.

use std::{
    io,
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Method, header};

use super::{Content, Download, Ended, Envd, EnvdError, Event, Events, Start, ask::target, line::Load};
use crate::wire;

/// So much of what `tar` complains about is told.
const COMPLAINT: usize = 500;

impl Envd {
    /// Reads a folder as a tar archive.
    pub async fn download_tar(&self, path: &str, user: Option<&str>) -> Result<Download, EnvdError> {
        if self.packs().await? {
            return self.fetch(&target("/tar", path, user)).await;
        }
        let events = self.start(&tar(&["-cf", "-", "."], path, user)).await.map_err(no_folder)?;
        Ok(Download { size: None, content: packed(events) })
    }

    /// Unpacks a tar archive into a folder, which is made when it is missing.
    pub async fn upload_tar(&self, path: &str, user: Option<&str>, archive: Content) -> Result<(), EnvdError> {
        if self.packs().await? {
            let builder = self.request(Method::PUT, &target("/tar", path, user));
            let builder = builder.header(header::CONTENT_TYPE, "application/x-tar");
            return self.ask(builder, Load::Stream(archive)).await?.whole().await.map(drop);
        }
        match self.make_dir(path, user).await {
            Ok(_) | Err(EnvdError::AlreadyThere(_)) => {}
            Err(error) => return Err(error),
        }
        let draft = draft();
        let unpacked = async {
            self.upload(&draft, user, archive).await?;
            let mut events = self.start(&tar(&["-xf", &draft], path, user)).await.map_err(no_folder)?;
            let mut complaint = Vec::new();
            while let Some(event) = events.next().await {
                match event? {
                    Event::Stderr(bytes) => complain(&mut complaint, &bytes),
                    Event::Ended(ended) if ended.exit_code == 0 => return Ok(()),
                    Event::Ended(ended) => return Err(EnvdError::Invalid(told(&complaint, &ended))),
                    _ => {}
                }
            }
            Err(EnvdError::Unreachable(io::ErrorKind::UnexpectedEof.into()))
        };
        let unpacked = unpacked.await;
        // What is left of it is in nobody's way; what it was for has been done or said.
        let _ = self.remove(&draft, user).await;
        unpacked
    }

    /// Whether it knows archives itself. Asked once, with a question that has no answer: ours says that this is not how it
    /// is asked, nobody else has anything there.
    async fn packs(&self) -> Result<bool, EnvdError> {
        if let Some(packs) = self.packs.get() {
            return Ok(*packs);
        }
        let mut answer = self.send(self.request(Method::POST, "/tar"), Load::Whole(None)).await?;
        answer.whole().await?;
        Ok(*self.packs.get_or_init(|| answer.head.headers.contains_key(wire::OURS)))
    }
}

fn tar(args: &[&str], folder: &str, user: Option<&str>) -> Start {
    Start {
        program: "tar".into(),
        args: args.iter().map(|arg| arg.to_string()).collect(),
        cwd: Some(folder.to_owned()),
        user: user.map(str::to_owned),
        ..Start::default()
    }
}

/// Where an archive lies until it is unpacked.
fn draft() -> String {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos());
    format!("/tmp/.carrel-{now:x}-{}-{}.tar", std::process::id(), DRAFTS.fetch_add(1, Ordering::Relaxed))
}

/// A folder that is not there is what was asked for, and no argument.
fn no_folder(error: EnvdError) -> EnvdError {
    match error {
        EnvdError::Invalid(why) if why.contains("does not exist") => EnvdError::NotFound(why),
        other => other,
    }
}

/// What a packing `tar` prints, as content. It fails at its end if `tar` does.
fn packed(events: Events) -> Content {
    let pieces = stream::unfold(Some((events, Vec::new())), |state| async move {
        let (mut events, mut complaint) = state?;
        loop {
            let broken = |error: io::Error| Some((Err(error), None));
            match events.next().await {
                Some(Ok(Event::Stdout(bytes))) => return Some((Ok(bytes), Some((events, complaint)))),
                Some(Ok(Event::Stderr(bytes))) => complain(&mut complaint, &bytes),
                // 1: something changed while it was read.
                Some(Ok(Event::Ended(ended))) if matches!(ended.exit_code, 0 | 1) => return None,
                Some(Ok(Event::Ended(ended))) => return broken(io::Error::other(told(&complaint, &ended))),
                Some(Ok(_)) => {}
                Some(Err(EnvdError::Unreachable(error))) => return broken(error),
                Some(Err(error)) => return broken(io::Error::other(error)),
                None => return broken(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    });
    Box::pin(pieces)
}

fn complain(complaint: &mut Vec<u8>, bytes: &Bytes) {
    let room = COMPLAINT.saturating_sub(complaint.len());
    complaint.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

fn told(complaint: &[u8], ended: &Ended) -> String {
    let complaint = String::from_utf8_lossy(complaint);
    format!("tar did not get through ({}): {}", ended.status, complaint.trim().replace('\n', "; "))
}
