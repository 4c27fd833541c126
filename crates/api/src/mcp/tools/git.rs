//! Git at a desk: the program itself, in the working tree of the sandbox. Arguments are passed as they are, never through a
//! shell, and none of them can be taken for an option.

use serde_json::{Value, json};

use super::{Args, Audience::KeyHolders, Does, Gives, Nature, Row, rest::sandbox, text};
use crate::mcp::desk::Trouble;

/// Where the house answers inside a sandbox.
const HOUSE: &str = "http://127.0.0.1:49980/git";

fn tree() -> Value {
    json!({"sandbox_id": sandbox(), "cwd": {"type": "string", "description": "The working tree; the usual folder when left out."}})
}

fn tree_with(more: &[(&str, Value)]) -> Value {
    let mut takes = tree();
    for (name, schema) in more {
        takes[*name] = schema.clone();
    }
    takes
}

macro_rules! row {
    ($name:literal, $title:literal, $about:literal, $nature:ident, $takes:expr, $needs:expr, $plan:expr) => {
        Row {
            name: $name,
            title: $title,
            about: $about,
            nature: Nature::$nature,
            audience: KeyHolders,
            takes: $takes,
            needs: $needs,
            gives: Gives::Ran,
            does: Does::Git($plan),
        }
    };
}

pub(super) static ROWS: [Row; 9] = [
    row!(
        "git_clone",
        "Clone a repository",
        "Clones a repository of the house into a folder of the sandbox.",
        Adds,
        || tree_with(&[("repo", json!({"type": "string"})), ("folder", json!({"type": "string"}))]),
        &["sandbox_id", "repo"],
        |args| {
            let repo = plain(args, "repo")?.unwrap_or_default();
            let mut clone = words(&["git", "clone", "--quiet", "--"]);
            clone.push(format!("{HOUSE}/{}.git", repo.trim_end_matches(".git")));
            clone.extend(plain(args, "folder")?);
            Ok(vec![clone])
        }
    ),
    row!(
        "git_status",
        "Status of the working tree",
        "Shows the branch and what is changed, staged or untracked.",
        Reads,
        tree,
        &["sandbox_id"],
        |_| Ok(vec![words(&["git", "status", "--short", "--branch"])])
    ),
    row!(
        "git_diff",
        "What is changed",
        "Shows changes as a diff: of the working tree, of what is staged, or against another commit.",
        Reads,
        || tree_with(&[
            ("staged", json!({"type": "boolean"})),
            ("against", json!({"type": "string", "description": "A commit or branch."})),
            ("path", json!({"type": "string"})),
        ]),
        &["sandbox_id"],
        |args| {
            let mut diff = words(&["git", "diff"]);
            if args.get("staged") == Some(&Value::Bool(true)) {
                diff.push("--staged".into());
            }
            diff.extend(plain(args, "against")?);
            diff.push("--".into());
            diff.extend(plain(args, "path")?);
            Ok(vec![diff])
        }
    ),
    row!(
        "git_log",
        "The history",
        "Lists the newest commits.",
        Reads,
        || tree_with(&[
            ("count", json!({"type": "integer", "minimum": 1, "maximum": 1000})),
            ("of", json!({"type": "string", "description": "A commit, branch or range; HEAD when left out."})),
        ]),
        &["sandbox_id"],
        |args| {
            let count = args.get("count").and_then(Value::as_u64).unwrap_or(20).min(1000);
            let mut log = words(&["git", "log", "--date=iso-strict", "--format=%h %ad %an %s"]);
            log.push(format!("--max-count={count}"));
            log.extend(plain(args, "of")?);
            log.push("--".into());
            Ok(vec![log])
        }
    ),
    row!(
        "git_branch",
        "Branches",
        "Lists branches; with `name`, switches to that branch, which is made when it is missing.",
        Sets,
        || tree_with(&[("name", json!({"type": "string"}))]),
        &["sandbox_id"],
        |args| match plain(args, "name")? {
            Some(name) => {
                // Made where it is missing, and switched to either way.
                let script = "git show-ref --verify --quiet \"refs/heads/$1\" && exec git switch \"$1\"; exec git switch --create \"$1\"";
                Ok(vec![vec!["sh".into(), "-c".into(), script.into(), "sh".into(), name]])
            }
            None => Ok(vec![words(&["git", "branch", "--all", "--verbose"])]),
        }
    ),
    row!(
        "git_commit",
        "Commit",
        "Commits everything that is changed, or only `paths`. Write the message as a conventional commit: `fix(parser): …`.",
        Adds,
        || tree_with(&[
            ("message", json!({"type": "string", "minLength": 1})),
            ("paths", json!({"type": "array", "items": {"type": "string"}})),
        ]),
        &["sandbox_id", "message"],
        |args| {
            let mut add = words(&["git", "add", "--all", "--"]);
            let paths = args.get("paths").and_then(Value::as_array).cloned().unwrap_or_default();
            add.extend(paths.iter().map(text));
            if paths.is_empty() {
                add.push(".".into());
            }
            let message = args.get("message").map(text).unwrap_or_default();
            let commit = vec!["git".into(), "commit".into(), "--quiet".into(), format!("--message={message}")];
            Ok(vec![add, commit, words(&["git", "log", "--max-count=1", "--stat", "--format=%H %s"])])
        }
    ),
    row!(
        "git_push",
        "Push",
        "Pushes the branch that is checked out to the house. A task may push to its own branch alone.",
        Sets,
        tree,
        &["sandbox_id"],
        |_| Ok(vec![words(&["git", "push", "--set-upstream", "origin", "HEAD"])])
    ),
    row!(
        "git_pull",
        "Pull",
        "Fetches, and puts your commits on top of what is there. A conflict is left in the tree: see git_conflicts.",
        Sets,
        || tree_with(&[("from", json!({"type": "string", "description": "A branch; the upstream's when left out."}))]),
        &["sandbox_id"],
        |args| {
            let mut pull = words(&["git", "pull", "--rebase", "--quiet"]);
            if let Some(branch) = plain(args, "from")? {
                pull.extend(["origin".to_owned(), branch]);
            }
            Ok(vec![pull])
        }
    ),
    row!(
        "git_conflicts",
        "Conflicts",
        "Lists the files in conflict and shows their conflicts. Edit them, git_commit, or run `git rebase --continue`.",
        Reads,
        tree,
        &["sandbox_id"],
        |_| Ok(vec![
            words(&["git", "diff", "--name-only", "--diff-filter=U"]),
            words(&["git", "diff", "--diff-filter=U"])
        ])
    ),
];

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A word that cannot be taken for an option.
fn plain(args: &Args, name: &str) -> Result<Option<String>, Trouble> {
    let Some(value) = args.get(name).filter(|value| !value.is_null()).map(text) else { return Ok(None) };
    if value.is_empty() || value.starts_with('-') || value.contains(['\0', '\n']) {
        return Err(Trouble(format!("`{name}` cannot be `{value}`: it must not be empty or begin with `-`.")));
    }
    Ok(Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_argument_becomes_an_option() {
        for row in &ROWS {
            let Does::Git(plan) = &row.does else { continue };
            for name in ["repo", "folder", "against", "path", "of", "name", "from"] {
                let args: Args = [(name.to_owned(), json!("--upload-pack=evil"))].into_iter().collect();
                let planned = plan(&args).unwrap_or_default();
                assert!(planned.iter().flatten().all(|word| !word.contains("evil")), "{} {name}", row.name);
            }
            let args: Args = [("message".to_owned(), json!("--amend")), ("paths".to_owned(), json!(["--force"]))]
                .into_iter()
                .collect();
            for command in plan(&args).unwrap_or_default() {
                let place = command.iter().position(|word| word == "--force");
                assert!(place.is_none_or(|place| command[..place].contains(&"--".to_owned())), "{command:?}");
                assert!(!command.contains(&"--amend".to_owned()), "{command:?}");
            }
        }
    }
}
