//! Files, looked at and moved.

use futures::stream;

use super::{Entry, EntryKind, Envd, EnvdError, WatchEvent, WatchEvents, WatchKind};
use crate::wire::{
    Empty,
    filesystem::{
        CHMOD, CREATE, DIRECTORY, EntryInfo, EntryResponse, FILE, ListDirRequest, ListDirResponse, MoveRequest,
        PathRequest, REMOVE, RENAME, SERVICE, WRITE, WatchDirResponse, WatchRequest,
    },
};

impl Envd {
    /// Looks at one file.
    pub async fn stat(&self, path: &str, user: Option<&str>) -> Result<Entry, EnvdError> {
        self.call(SERVICE, "Stat", user, &PathRequest { path: path.to_owned() }).await.and_then(entry)
    }

    /// Lists a folder, so deep.
    pub async fn list(&self, path: &str, depth: u32, user: Option<&str>) -> Result<Vec<Entry>, EnvdError> {
        let request = ListDirRequest { path: path.to_owned(), depth };
        let answer: ListDirResponse = self.call(SERVICE, "ListDir", user, &request).await?;
        Ok(answer.entries.into_iter().map(Entry::from).collect())
    }

    /// Makes a folder and its parents.
    pub async fn make_dir(&self, path: &str, user: Option<&str>) -> Result<Entry, EnvdError> {
        self.call(SERVICE, "MakeDir", user, &PathRequest { path: path.to_owned() }).await.and_then(entry)
    }

    /// Moves a file or folder.
    pub async fn rename(&self, from: &str, to: &str, user: Option<&str>) -> Result<Entry, EnvdError> {
        let request = MoveRequest { source: from.to_owned(), destination: to.to_owned() };
        self.call(SERVICE, "Move", user, &request).await.and_then(entry)
    }

    /// Removes a file, or a folder with all that is in it. What is not there is removed already.
    pub async fn remove(&self, path: &str, user: Option<&str>) -> Result<(), EnvdError> {
        self.call(SERVICE, "Remove", user, &PathRequest { path: path.to_owned() }).await.map(|Empty {}| ())
    }

    /// Follows the changes in a folder. Returns when the watch is in place.
    pub async fn watch(&self, path: &str, recursive: bool, user: Option<&str>) -> Result<WatchEvents, EnvdError> {
        let request = WatchRequest { path: path.to_owned(), recursive, ..Default::default() };
        let mut messages = self.follow(SERVICE, "WatchDir", user, None, &request).await?;
        let broke_off = || EnvdError::Unreachable(std::io::ErrorKind::UnexpectedEof.into());
        while messages.next::<WatchDirResponse>().await?.ok_or_else(broke_off)?.start.is_none() {}
        Ok(Box::pin(stream::unfold(Some(messages), move |messages| async move {
            let mut messages = messages?;
            loop {
                let message = match messages.next::<WatchDirResponse>().await {
                    Ok(Some(message)) => message,
                    Ok(None) => return None,
                    Err(error) => return Some((Err(error), None)),
                };
                if let Some(event) = message.filesystem
                    && let Some(kind) = kind(event.kind)
                {
                    return Some((Ok(WatchEvent { name: event.name, kind }), Some(messages)));
                }
            }
        })))
    }
}

fn entry(answer: EntryResponse) -> Result<Entry, EnvdError> {
    answer.entry.map(Entry::from).ok_or_else(|| EnvdError::Broken("the answer has no entry".to_owned()))
}

fn kind(kind: i32) -> Option<WatchKind> {
    match kind {
        CREATE => Some(WatchKind::Create),
        WRITE => Some(WatchKind::Write),
        REMOVE => Some(WatchKind::Remove),
        RENAME => Some(WatchKind::Rename),
        CHMOD => Some(WatchKind::Chmod),
        _ => None,
    }
}

impl From<EntryInfo> for Entry {
    fn from(entry: EntryInfo) -> Entry {
        Entry {
            name: entry.name,
            path: entry.path,
            kind: match entry.kind {
                FILE => EntryKind::File,
                DIRECTORY => EntryKind::Directory,
                _ => EntryKind::Other,
            },
            size: u64::try_from(entry.size).unwrap_or(0),
            mode: entry.mode,
            owner: entry.owner,
            group: entry.group,
            modified_s: entry.modified_time.unwrap_or_default().seconds,
            symlink_target: entry.symlink_target,
        }
    }
}
