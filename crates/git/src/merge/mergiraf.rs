//! mergiraf: merges by syntax, file by file, where it is installed.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::process::Command;

use crate::{GitError, program};

/// The program, found.
#[derive(Debug, Clone)]
pub struct Mergiraf {
    program: PathBuf,
}

/// It gives up by itself before this.
const PATIENCE: Duration = Duration::from_secs(30);

impl Mergiraf {
    /// Looks for it in the folders of `PATH`.
    pub fn find() -> Option<Mergiraf> {
        program::find("mergiraf").map(|program| Mergiraf { program })
    }

    /// The one at a path.
    pub fn at(program: PathBuf) -> Mergiraf {
        Mergiraf { program }
    }

    /// Merges three versions of a file. Nothing when it does not know better than git, or does not know the language.
    pub(super) async fn merge(
        &self,
        path: &str,
        base: &[u8],
        ours: &[u8],
        theirs: &[u8],
    ) -> Result<Option<Vec<u8>>, GitError> {
        let scratch = tempfile::tempdir().map_err(GitError::io("make a place to merge in"))?;
        let name =
            Path::new(path).extension().map_or_else(|| "x".to_owned(), |end| format!("x.{}", end.to_string_lossy()));
        let write = |side: &str, content: &[u8]| -> Result<PathBuf, GitError> {
            let place = scratch.path().join(format!("{side}-{name}"));
            std::fs::write(&place, content).map_err(GitError::io("write a file to merge"))?;
            Ok(place)
        };
        let out = scratch.path().join(format!("out-{name}"));
        let mut command = Command::new(&self.program);
        command.arg("merge").arg(write("base", base)?).arg(write("ours", ours)?).arg(write("theirs", theirs)?);
        // The name in the repository may say more than its end: `Dockerfile`, `BUILD`.
        let shown = path.rsplit('/').next().unwrap_or(path);
        command.arg(format!("--path-name={shown}")).arg("--timeout=20000").arg("--output").arg(&out);
        command.env_clear().current_dir(scratch.path()).kill_on_drop(true).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(GitError::io("start mergiraf"))?;
        let Ok(ended) = tokio::time::timeout(PATIENCE, child.wait()).await else { return Ok(None) };
        if !ended.map_err(GitError::io("wait for mergiraf"))?.success() {
            return Ok(None);
        }
        Ok(std::fs::read(&out).ok().filter(|content| !has_marks(content)))
    }
}

/// Whether a text still has the marks of a conflict.
pub(super) fn has_marks(content: &[u8]) -> bool {
    content.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"<<<<<<< ") || line.starts_with(b">>>>>>> "))
}
