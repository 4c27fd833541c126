//! The files of a commit in one piece, for whoever cannot borrow them.

use carrel_model::CommitId;

use crate::{GitError, Mirror};

impl Mirror {
    /// The files of a commit as a tar archive.
    pub async fn archive(&self, commit: &CommitId) -> Result<Vec<u8>, GitError> {
        self.git().at(&self.path(), "archive").arg("--format=tar").arg(commit).run().await
    }
}
