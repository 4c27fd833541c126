//! Reads one file of a commit, without a working tree.

use carrel_model::CommitId;

use crate::{GitError, Mirror};

impl Mirror {
    /// A plain file of a commit, when it is there and not larger than `most` bytes. Links are not followed.
    pub async fn read_file(&self, commit: &CommitId, path: &str, most: u64) -> Result<Option<Vec<u8>>, GitError> {
        let call = self.git().at(&self.path(), "ls-tree").args(["-z", "--long"]).arg(commit).arg("--");
        let listed = String::from_utf8_lossy(&call.path_in_tree(path).run().await?).into_owned();
        // MODE TYPE ID SIZE, then a tab and the name.
        let mut words = listed.split('\t').next().unwrap_or_default().split_whitespace();
        let (mode, _, id, size) = (words.next(), words.next(), words.next(), words.next());
        let is_plain = mode.is_some_and(|mode| mode.starts_with("100"));
        let Some(id) = id.filter(|_| is_plain).and_then(|id| id.parse::<CommitId>().ok()) else { return Ok(None) };
        if size.and_then(|size| size.parse::<u64>().ok()).is_none_or(|size| size > most) {
            return Err(GitError::Unfit { why: format!("`{path}` is larger than {most} bytes") });
        }
        self.git().at(&self.path(), "cat-file").arg("blob").arg(&id).run().await.map(Some)
    }
}
