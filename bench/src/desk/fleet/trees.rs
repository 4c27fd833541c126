//! How the cost of a task grows with the repository it is about: the same task, alone, in ever larger ones.

use serde_json::json;

use super::{
    super::{Desk, text},
    POOL, room, together,
};
use crate::{
    Outcome,
    desk::task::{AGENT, busy_seconds},
};

/// What a task cost in a repository with so many files.
pub(super) struct Cost {
    pub(super) files: usize,
    /// Processors' time, in seconds.
    pub(super) busy: f64,
    /// From its card to its pull, in microseconds.
    pub(super) p50: f64,
    /// What the library grew by, in bytes.
    pub(super) objects: f64,
}

/// So many tasks, one after the other, in each of these repositories.
pub(super) async fn measure(sizes: &[usize], tasks: usize) -> Outcome<Vec<Cost>> {
    let mut desk = Desk::open(POOL).await?;
    let scribe = json!({"name": "scribe", "dialect": "shell", "command": AGENT}).to_string();
    desk.ask("POST", "/agents", Some(&scribe)).await?;
    let mut costs = Vec::new();
    for (number, &files) in sizes.iter().enumerate() {
        let repo = format!("r{number}");
        desk.ask("POST", "/repos", Some(&json!({"name": repo, "new": true}).to_string())).await?;
        fill(&mut desk, &repo, files).await?;
        // The first one makes the layer.
        let only = |number: usize| number..number + 1;
        together(&desk.server, 1, only(number)).await?;
        let (busy, objects) = (busy_seconds()?, room(&desk.server.folder, "library"));
        let mut times = super::Times::new()?;
        for _ in 0..tasks {
            times.add(&together(&desk.server, 1, only(number)).await?.0)?;
        }
        costs.push(Cost {
            files,
            busy: (busy_seconds()? - busy) / tasks as f64,
            p50: times.at(0.5),
            objects: (room(&desk.server.folder, "library") - objects) / tasks as f64,
        });
    }
    Ok(costs)
}

/// Gives a repository so many files, by a task that is merged.
async fn fill(desk: &mut Desk, repo: &str, files: usize) -> Outcome<()> {
    let command = format!(
        "i=0; while [ $i -lt {files} ]; do d=files/$((i/100)); [ -d $d ] || mkdir -p $d; echo \"line $i\" >$d/$i.txt; \
         i=$((i+1)); done; git add -A; git commit -qm 'feat: files'"
    );
    let agent = json!({"name": format!("fills-{repo}"), "dialect": "shell", "command": command});
    desk.ask("POST", "/agents", Some(&agent.to_string())).await?;
    let card = json!({"repo": repo, "agent": format!("fills-{repo}"), "title": "Fill it", "start": true}).to_string();
    let task = desk.ask("POST", "/tasks?wait=in_review&timeout=600", Some(&card)).await?;
    let path = format!("/tasks/{}/merge?wait=merged&timeout=600", task["id"]);
    let task = desk.ask("POST", &path, None).await?;
    match text(&task, "phase")? {
        "merged" => Ok(()),
        _ => Err(format!("a repository was not filled: {task}").into()),
    }
}
