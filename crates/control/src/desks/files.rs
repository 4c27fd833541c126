//! The files desk: what lies in a sandbox, in and out, of any size.

use std::sync::Arc;

use carrel_envd::{Content, Download, Entry, EntryKind};
use carrel_model::{
    Action, Grant, SandboxId, Timestamp,
    public::{FileEntry, FileKind},
};

use crate::{Error, house::House, inside::Inside};

/// Reads and writes files.
pub struct FilesDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

/// Something that was found, on its way out.
pub struct Found {
    /// What it is. A directory comes as a tar archive.
    pub entry: FileEntry,
    /// How many bytes are promised, when that is known.
    pub size: Option<u64>,
    /// The bytes.
    pub content: Content,
}

/// How deep a listing may go.
const DEEPEST: u32 = 64;

impl FilesDesk<'_> {
    /// Reads a file, or a directory as a tar archive.
    pub async fn download(
        &self,
        grant: &Grant,
        id: &SandboxId,
        path: &str,
        user: Option<&str>,
    ) -> Result<Found, Error> {
        let inside = self.enter(grant, id, Action::SandboxFilesRead, path, user).await?;
        let understand = |error| self.house.understand(id, "path", error);
        let entry = inside.envd.stat(path, user).await.map_err(understand)?;
        let Download { size, content } = match entry.kind {
            EntryKind::Directory => inside.envd.download_tar(path, user).await,
            EntryKind::File => inside.envd.download(path, user).await,
            EntryKind::Other => {
                return Err(Error::field("path", format!("`{path}` is neither a file nor a directory")));
            }
        }
        .map_err(understand)?;
        Ok(Found { entry: shown(entry), size, content })
    }

    /// Looks at one file.
    pub async fn stat(
        &self,
        grant: &Grant,
        id: &SandboxId,
        path: &str,
        user: Option<&str>,
    ) -> Result<FileEntry, Error> {
        let inside = self.enter(grant, id, Action::SandboxFilesRead, path, user).await?;
        let entry = inside.envd.stat(path, user).await;
        Ok(shown(entry.map_err(|error| self.house.understand(id, "path", error))?))
    }

    /// Lists a directory, so deep.
    pub async fn list(
        &self,
        grant: &Grant,
        id: &SandboxId,
        path: &str,
        depth: u32,
        user: Option<&str>,
    ) -> Result<Vec<FileEntry>, Error> {
        let inside = self.enter(grant, id, Action::SandboxFilesRead, path, user).await?;
        let entries = inside.envd.list(path, depth.clamp(1, DEEPEST), user).await;
        let entries = entries.map_err(|error| self.house.understand(id, "path", error))?;
        Ok(entries.into_iter().map(shown).collect())
    }

    /// Writes a file; its parents are made.
    pub async fn upload(
        &self,
        grant: &Grant,
        id: &SandboxId,
        path: &str,
        user: Option<&str>,
        content: Content,
    ) -> Result<(), Error> {
        let inside = self.enter(grant, id, Action::SandboxFilesWrite, path, user).await?;
        let written = inside.envd.upload(path, user, content).await;
        written.map_err(|error| self.house.understand(id, "path", error))?;
        self.noted(grant, id, format!("wrote {path}")).await;
        Ok(())
    }

    /// Unpacks a tar archive into a directory, which is made when it is missing.
    pub async fn extract(
        &self,
        grant: &Grant,
        id: &SandboxId,
        path: &str,
        user: Option<&str>,
        tar: Content,
    ) -> Result<(), Error> {
        let inside = self.enter(grant, id, Action::SandboxFilesWrite, path, user).await?;
        let written = inside.envd.upload_tar(path, user, tar).await;
        written.map_err(|error| self.house.understand(id, "path", error))?;
        self.noted(grant, id, format!("unpacked into {path}")).await;
        Ok(())
    }

    /// Removes a file, or a directory with all that is in it. What is not there is not found.
    pub async fn remove(&self, grant: &Grant, id: &SandboxId, path: &str, user: Option<&str>) -> Result<(), Error> {
        let inside = self.enter(grant, id, Action::SandboxFilesWrite, path, user).await?;
        let understand = |error| self.house.understand(id, "path", error);
        inside.envd.stat(path, user).await.map_err(understand)?;
        inside.envd.remove(path, user).await.map_err(understand)?;
        self.noted(grant, id, format!("removed {path}")).await;
        Ok(())
    }

    async fn enter(
        &self,
        grant: &Grant,
        id: &SandboxId,
        action: Action,
        path: &str,
        user: Option<&str>,
    ) -> Result<Inside, Error> {
        let inside = self.house.enter(grant, id, action).await?;
        if path.is_empty() || path.len() > 4096 || path.contains('\0') {
            return Err(Error::field("path", "expected 1 to 4096 bytes without NUL"));
        }
        if user.is_some_and(|user| user.is_empty() || user.len() > 256 || user.contains(['\0', '\n'])) {
            return Err(Error::field("user", "expected a user's name"));
        }
        Ok(inside)
    }

    async fn noted(&self, grant: &Grant, id: &SandboxId, what: String) {
        let line = self.house.audited(grant, Action::SandboxFilesWrite, id, Some(what));
        self.house.scribe.audit(line).await;
    }
}

fn shown(entry: Entry) -> FileEntry {
    FileEntry {
        name: entry.name,
        path: entry.path,
        kind: match entry.kind {
            EntryKind::File => FileKind::File,
            EntryKind::Directory => FileKind::Directory,
            EntryKind::Other => FileKind::Other,
        },
        size: entry.size,
        mode: format!("{:04o}", entry.mode & 0o7777),
        owner: entry.owner,
        group: entry.group,
        modified_at: Timestamp::from_second(entry.modified_s).ok(),
        symlink_target: entry.symlink_target,
    }
}
