//! What a branch changes, as text.

use carrel_model::CommitId;

use crate::{GitError, Mirror};

const STYLE: [&str; 8] = [
    "-r",
    "-p",
    "--find-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

impl Mirror {
    /// What a branch changed since it left its base, as a unified diff. Bytes that are no text are shown as such.
    pub async fn diff(&self, base: &CommitId, head: &CommitId) -> Result<String, GitError> {
        let call = || self.git().at(&self.path(), "diff-tree").args(STYLE);
        let answer = call().arg("--merge-base").arg(base).arg(head).answer().await?;
        if answer.status.success() {
            return Ok(String::from_utf8_lossy(&answer.output).into_owned());
        }
        // Histories that have nothing in common: everything is new.
        let output = call().arg("--root").arg("--no-commit-id").arg(base).arg(head).run().await?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }
}
