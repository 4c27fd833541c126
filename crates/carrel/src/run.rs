//! `carrel run`: the whole journey in one command. A house of its own when no server is there, gone again at the end.

use std::path::Path;

use carrel_model::{
    AgentId, Branch, RepoName,
    public::{NewPause, NewRepo, NewTask, Page, RepoView, TaskPage, TaskView},
    sandbox::Depth,
    task::TaskPhase,
};
use clap::Args;
use reqwest::Method;

use crate::{
    cli::{Common, ServeArgs},
    client::{Client, repo::read_source, task, timeline},
    data::DataDir,
    failure::{Exit, Failure},
    say, serve,
};

/// What tells the tasks of `carrel run` from others.
const LABEL: &str = "run";

/// What `carrel run` understands.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What is wanted; `-` reads standard input
    prompt: String,
    /// The repository: a path in it, a URL, or the name of one that was added
    #[arg(long, default_value = ".")]
    repo: String,
    /// Who does it
    #[arg(long)]
    agent: Option<AgentId>,
    /// The branch that it begins at
    #[arg(long)]
    base: Option<Branch>,
    /// Merge the pull request when it is open
    #[arg(long)]
    merge: bool,
}

/// Runs the journey at the server that is there, or in a house of its own.
pub(crate) async fn run(data: DataDir, common: Common, args: RunArgs) -> Result<(), Failure> {
    let client = Client::new(&common)?;
    if client.readiness().await.is_ok() {
        return journey(&client, args, House::Theirs).await;
    }
    let quiet = ServeArgs { listen: Some("127.0.0.1:0".into()), ..ServeArgs::default() };
    let errand: serve::Errand = Box::new(move |url: String| {
        Box::pin(async move {
            let client = Client::new(&Common { url, ..common })?;
            journey(&client, args, House::Own).await
        })
    });
    Box::pin(serve::serve(data, quiet, Some(errand))).await
}

/// Whose house the journey is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum House {
    /// A server that was there, and stays.
    Theirs,
    /// One for the journey alone: afterwards nobody answers.
    Own,
}

async fn journey(client: &Client, args: RunArgs, house: House) -> Result<(), Failure> {
    let prompt = task::said(args.prompt)?;
    if prompt.trim().is_empty() {
        return Err(Failure::new("the prompt is empty")
            .hint("say what shall be done: `carrel run \"…\"`")
            .exit(Exit::Usage));
    }
    let repo = find_repo(client, &args.repo).await?;
    let title: String = prompt.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().into();
    let new = NewTask {
        repo,
        title: shortened(&title),
        prompt: Some(prompt),
        agent: args.agent,
        base: args.base,
        start: true,
        priority: None,
        due: None,
        labels: vec![LABEL.to_owned()],
        depends_on: Vec::new(),
        isolation: None,
        network: None,
        budget_usd: None,
    };
    let written = match unfinished(client, &new, house).await? {
        Some(earlier) => {
            say::aside(format_args!("carrel: going on with task {}", earlier.id));
            client.fetch(client.request(Method::POST, &format!("/tasks/{}/start", earlier.id))?).await?
        }
        None => client.fetch::<TaskView>(client.request(Method::POST, "/tasks")?.json(&new)).await?,
    };
    say::aside(format_args!("carrel: task {} on {} with {}", written.id, written.repo, written.agent));
    let mut shown = timeline::Shown::default();
    let mut ended = timeline::follow(client, written.id, &mut shown).await?;
    if args.merge && ended.phase == TaskPhase::InReview {
        client.send(client.request(Method::POST, &format!("/tasks/{}/merge", ended.id))?).await?;
        ended = timeline::follow(client, ended.id, &mut shown).await?;
    }
    // Nobody is left to look after a desk that goes on running.
    if let Some(sandbox) = &ended.sandbox_id {
        let pause = client.request(Method::POST, &format!("/sandboxes/{sandbox}/pause?wait=paused"))?;
        let _ = client.send(pause.json(&NewPause { depth: Some(Depth::Files) })).await;
    }
    let wanted = if args.merge { TaskPhase::Merged } else { TaskPhase::InReview };
    if ended.phase != wanted {
        let failure = task::unfinished(&ended, wanted.word());
        return Err(match house {
            House::Theirs => failure,
            House::Own => {
                let id = ended.id;
                failure
                    .hint(format!("`carrel serve`, then `carrel task show {id}` and `carrel task message {id} \"…\"`"))
            }
        });
    }
    if client.json() {
        return say::json(&ended);
    }
    let diff = client.send(client.request(Method::GET, &format!("/tasks/{}/diff", ended.id))?).await?;
    let diff = diff.text().await.unwrap_or_default();
    say::line("");
    if let Some(pull) = &ended.pull {
        say::line(format_args!("pull {} {}  {}", pull.number, pull.phase.word(), ended.title));
    }
    say::line(format_args!("branch {} → {}", ended.branch, ended.base));
    for line in stat(&diff) {
        say::line(line);
    }
    Ok(())
}

/// The same wish of an earlier run that was interrupted. In a house of one's own, other runs that were are left at rest:
/// this one does its own. At a server they are somebody's who still waits for them.
async fn unfinished(client: &Client, new: &NewTask, house: House) -> Result<Option<TaskView>, Failure> {
    let page: TaskPage = client.get(&format!("/tasks?limit=1000&repo={}", new.repo)).await?;
    let mut same = None;
    for task in page.items.into_iter().filter(|task| task.labels.iter().any(|label| label == LABEL)) {
        let is_same = Some(&task.prompt) == new.prompt.as_ref()
            && new.agent.as_ref().is_none_or(|agent| *agent == task.agent)
            && (task.phase.is_busy() || matches!(task.phase, TaskPhase::Backlog | TaskPhase::Queued));
        if is_same && same.is_none() {
            same = Some(task);
        } else if house == House::Own && (task.phase.is_busy() || task.phase == TaskPhase::Queued) {
            let _ = client.send(client.request(Method::POST, &format!("/tasks/{}/stop", task.id))?).await;
        }
    }
    Ok(same)
}

/// The repository of a path, an address or a name: found, or added.
async fn find_repo(client: &Client, typed: &str) -> Result<RepoName, Failure> {
    let known: Page<RepoView> = client.get("/repos").await?;
    let is_place = typed.starts_with('.') || typed.starts_with('/') || Path::new(typed).is_dir();
    if !is_place && let Some(repo) = known.items.iter().find(|repo| repo.name.as_str() == typed) {
        return Ok(repo.name.clone());
    }
    let top = if is_place { top_of(typed) } else { None };
    let source = read_source(top.as_deref().unwrap_or(typed))?;
    if is_place {
        if is_no_repository(typed) {
            return Err(Failure::new(format!("{typed} is no git repository"))
                .hint("`git init && git add -A && git commit -m begin` makes it one")
                .exit(Exit::NotFound));
        }
        tell_of_uncommitted(typed);
    }
    let repo = match known.items.into_iter().find(|repo| repo.source.as_ref() == Some(&source)) {
        Some(repo) => repo,
        None => {
            let new = NewRepo { source: Some(source), ..NewRepo::default() };
            client.fetch(client.request(Method::POST, "/repos")?.json(&new)).await?
        }
    };
    let waiting = say::progress(format!("fetching {}", repo.name));
    let synced: Result<RepoView, Failure> =
        client.fetch(client.request(Method::POST, &format!("/repos/{}/sync", repo.name))?).await;
    waiting.finish_and_clear();
    let repo = synced?;
    if repo.head.is_none() {
        return Err(Failure::new(format!("{typed} has no commit yet"))
            .hint("commit something first")
            .exit(Exit::Conflict));
    }
    Ok(repo.name)
}

/// Whether git itself says so. Whatever else is wrong with a folder is said by whoever fetches it.
fn is_no_repository(folder: &str) -> bool {
    let asked =
        std::process::Command::new("git").args(["-C", folder, "rev-parse", "--git-dir"]).env("LC_ALL", "C").output();
    asked.is_ok_and(|asked| {
        !asked.status.success() && String::from_utf8_lossy(&asked.stderr).contains("not a git repository")
    })
}

/// The top of the working tree that a folder is in, as git finds it; nothing where there is none.
fn top_of(folder: &str) -> Option<String> {
    let asked = std::process::Command::new("git").args(["-C", folder, "rev-parse", "--show-toplevel"]).output().ok()?;
    let top = String::from_utf8(asked.stdout).ok()?;
    let top = top.strip_suffix('\n').unwrap_or(&top);
    (asked.status.success() && !top.is_empty()).then(|| top.to_owned())
}

/// An agent sees what is committed, and nothing else of a folder.
fn tell_of_uncommitted(folder: &str) {
    let status = std::process::Command::new("git").args(["-C", folder, "status", "--porcelain"]).output();
    let changed =
        status.map_or(0, |status| status.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count());
    match changed {
        0 => {}
        1 => say::aside("carrel: 1 file here is not committed, and so not part of it"),
        many => say::aside(format_args!("carrel: {many} files here are not committed, and so not part of it")),
    }
}

/// A prompt's first line, as long as a title may be.
fn shortened(line: &str) -> String {
    let line: String = line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    if line.chars().count() <= 120 {
        return line;
    }
    line.chars().take(119).chain(['…']).collect()
}

/// How many lines each file of a patch gains and loses.
fn stat(diff: &str) -> Vec<String> {
    let mut files: Vec<(String, usize, usize)> = Vec::new();
    for line in diff.lines() {
        if let Some(rest) = line.strip_prefix("diff --git a/") {
            let name = rest.split_once(" b/").map_or(rest, |(_, name)| name);
            files.push((name.to_owned(), 0, 0));
        } else if let Some((_, gained, lost)) = files.last_mut() {
            match line.as_bytes().first() {
                Some(b'+') if !line.starts_with("+++ ") => *gained += 1,
                Some(b'-') if !line.starts_with("--- ") => *lost += 1,
                _ => {}
            }
        }
    }
    let (gained, lost) = files.iter().fold((0, 0), |sum, file| (sum.0 + file.1, sum.1 + file.2));
    let mut lines: Vec<String> =
        files.iter().map(|(name, gained, lost)| format!("  {} | +{gained} -{lost}", say::printable(name))).collect();
    let noun = if files.len() == 1 { "file" } else { "files" };
    lines.push(format!("  {} {noun}, +{gained} -{lost}", files.len()));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_counted_file_by_file() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n+c\ndiff --git a/y b/y\n+++ b/y\n+z\n";
        assert_eq!(stat(diff), ["  x | +2 -1", "  y | +1 -0", "  2 files, +3 -1"]);
    }

    #[test]
    fn a_long_line_becomes_a_title() {
        assert_eq!(shortened("fix it"), "fix it");
        assert_eq!(shortened(&"x".repeat(300)).chars().count(), 120);
    }
}
