//! A merge whose lock files a program made anew becomes the commit that it was to be.

use carrel_model::CommitId;

use super::tree::Side;
use crate::{
    GitError, Mirror,
    commit::{Draft, Identity, Signer},
};

impl Mirror {
    /// The same commit with other content in some of its files. No ref moves.
    pub async fn with_files(
        &self,
        commit: &CommitId,
        files: Vec<(String, Vec<u8>)>,
        committer: &Identity,
        signer: Option<&Signer>,
    ) -> Result<CommitId, GitError> {
        let tree = self.tree_of(commit).await?;
        let mut sides = std::collections::BTreeMap::new();
        for (path, content) in files {
            sides.insert(path, Side { mode: "100644".into(), blob: self.keep(content).await? });
        }
        let changed = self.replace(&tree, &sides).await?;
        if changed == tree {
            return Ok(commit.clone());
        }
        let story = self.story(commit).await?;
        let draft = Draft {
            tree: &changed,
            parents: &story.parents,
            message: &story.message,
            author: &story.author,
            date: Some(&story.date),
            committer,
            signer,
        };
        draft.make(self.git(), &self.path()).await
    }

    /// Who wrote a commit.
    pub async fn author_of(&self, commit: &CommitId) -> Result<Identity, GitError> {
        Ok(self.story(commit).await?.author)
    }
}
