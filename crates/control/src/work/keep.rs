//! What was done and is nowhere else when a task or a session is closed: kept under a ref of its own for a while.

use std::sync::Arc;

use carrel_model::{Branch, CommitId, Holder, RepoName};

use crate::{Error, desks::repos, house::House};

/// So many paths are named in a note.
const NAMED: usize = 8;

/// Keeps the newest of somebody's work, unless the base has it or there is none, and says in a sentence what is there.
/// Nothing when the repository itself is gone.
pub(crate) async fn keep(
    house: &Arc<House>,
    holder: &Holder,
    repo: &RepoName,
    branch: Option<&Branch>,
    base: &Branch,
) -> Result<Option<String>, Error> {
    if matches!(repos::find(house, repo).await, Err(Error::NotFound { .. })) {
        return Ok(None);
    }
    let mirror = house.library.mirror(repo).await?;
    let newest = match (mirror.saved(holder).await?, branch) {
        (Some(saved), _) => Some(saved),
        (None, Some(branch)) => mirror.find(&branch.full()).await?,
        (None, None) => None,
    };
    let newest = match newest {
        // Kept already, by a try that was broken off after it.
        None => mirror.find(&holder.kept()).await?,
        newest => newest,
    };
    let Some(newest) = newest else { return Ok(None) };
    if mirror.is_in(base, &newest).await? {
        return Ok(None);
    }
    let began = mirror.merge_base(base, &newest).await?;
    let files = match &began {
        Some(began) => mirror.changed_files(began, &newest).await?,
        None => Vec::new(),
    };
    // A save of a tree that nobody changed holds nothing.
    if began.is_some() && files.is_empty() {
        return Ok(None);
    }
    let kept = holder.kept();
    mirror.hold(&kept, &newest).await?;
    Ok(Some(sentence(kept.as_str(), &newest, &files)))
}

fn sentence(kept: &str, newest: &CommitId, files: &[String]) -> String {
    let named: Vec<&str> = files.iter().take(NAMED).map(String::as_str).collect();
    let there = match files.len() {
        0 => String::new(),
        count if count > NAMED => format!(" There are {count} files: {}, …", named.join(", ")),
        _ => format!(" There is: {}.", named.join(", ")),
    };
    format!("What was done is kept as {kept} at {}.{there}", newest.short())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_names_what_is_there_and_not_everything() {
        let newest: CommitId = "a".repeat(40).parse().unwrap();
        let few = sentence("refs/carrel/kept/task-1", &newest, &["a.txt".into(), "b.txt".into()]);
        assert!(few.ends_with("There is: a.txt, b.txt."), "{few}");
        let many: Vec<String> = (0..20).map(|number| format!("{number}.txt")).collect();
        let told = sentence("refs/carrel/kept/task-1", &newest, &many);
        assert!(told.contains("There are 20 files: 0.txt,") && !told.contains("19.txt"), "{told}");
    }
}
