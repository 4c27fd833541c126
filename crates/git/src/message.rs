//! Messages of commits: conventional ones, checked and written, with the task in a trailer.

use carrel_model::TaskId;
use git_conventional::Commit;

/// What a conventional message says in its first line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conventional {
    /// `feat`, `fix`, …
    pub kind: String,
    /// What it is about, in brackets.
    pub scope: Option<String>,
    /// The rest of the line.
    pub summary: String,
    /// Whether it breaks something for others.
    pub breaking: bool,
}

/// Why a message is not a conventional one, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unconventional(pub String);

/// The longest first line that we write.
const LONGEST_LINE: usize = 72;

/// Reads a message as a conventional one.
pub fn check(message: &str) -> Result<Conventional, Unconventional> {
    let (first, rest) = message.trim().split_once('\n').unwrap_or((message.trim(), ""));
    let odd = |why: &dyn std::fmt::Display| {
        Unconventional(format!("not a conventional commit (`type(scope): summary`): {why}"))
    };
    // Only the first line: what people write below it is theirs.
    let commit = Commit::parse(first.trim_end()).map_err(|error| odd(&error))?;
    if !rest.is_empty() && !rest.starts_with('\n') && !rest.starts_with("\r\n") {
        return Err(odd(&"the second line is not empty"));
    }
    let announced =
        rest.lines().any(|line| line.starts_with("BREAKING CHANGE: ") || line.starts_with("BREAKING-CHANGE: "));
    Ok(Conventional {
        kind: commit.type_().as_str().to_owned(),
        scope: commit.scope().map(|scope| scope.as_str().to_owned()),
        summary: commit.description().to_owned(),
        breaking: commit.breaking() || announced,
    })
}

/// A message that is a conventional one: as it is, or with its kind guessed from its words.
pub fn make_conventional(message: &str) -> String {
    let message = message.trim();
    if check(message).is_ok() {
        return message.to_owned();
    }
    let (first, rest) = message.split_once('\n').unwrap_or((message, ""));
    let first = first.trim().trim_end_matches(['.', ':']).trim();
    let first = if first.is_empty() { "work in progress" } else { first };
    let (line, more) = shorten(&format!("{}: {}", guess(first), begin_small(first)));
    let body =
        [more.as_str(), rest.trim()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    if body.is_empty() { line } else { format!("{line}\n\n{body}") }
}

/// A message with the task that it was written for, once.
pub fn with_task(message: &str, task: TaskId) -> String {
    with_trailer(message, "Carrel-Task", &task.to_string())
}

/// A message with a trailer at its end, unless it is there already.
pub fn with_trailer(message: &str, key: &str, value: &str) -> String {
    let message = message.trim_end();
    let line = format!("{key}: {value}");
    let last = message.rsplit("\n\n").next().unwrap_or_default();
    let has_body = message.contains("\n\n");
    let in_trailers = has_body && last.lines().all(is_trailer);
    if in_trailers && last.lines().any(|present| present == line) {
        return format!("{message}\n");
    }
    let gap = if in_trailers { "\n" } else { "\n\n" };
    format!("{message}{gap}{line}\n")
}

fn is_trailer(line: &str) -> bool {
    line.split_once(": ").is_some_and(|(key, value)| {
        !key.is_empty() && !value.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}

/// The kind of a change, from how people speak of it.
fn guess(line: &str) -> &'static str {
    let first: String = line.chars().take_while(|c| c.is_alphabetic()).collect::<String>().to_lowercase();
    let kinds: [(&str, &[&str]); 8] = [
        ("fix", &["fix", "fixes", "fixed", "repair", "correct", "resolve", "handle", "prevent", "avoid", "bugfix"]),
        ("docs", &["document", "documents", "documentation", "docs", "readme", "explain"]),
        ("test", &["test", "tests", "cover"]),
        ("refactor", &["refactor", "rename", "move", "extract", "simplify", "restructure", "clean", "split"]),
        ("perf", &["optimise", "optimize", "speed", "cache"]),
        ("build", &["bump", "upgrade", "update", "pin", "build"]),
        ("revert", &["revert"]),
        ("chore", &["remove", "delete", "drop", "format", "lint", "chore", "wip", "work"]),
    ];
    kinds.iter().find(|(_, words)| words.contains(&first.as_str())).map_or("feat", |(kind, _)| kind)
}

fn begin_small(line: &str) -> String {
    let mut chars = line.chars();
    match (chars.next(), chars.clone().next()) {
        // A name in capitals stays one.
        (Some(first), second) if !second.is_some_and(char::is_uppercase) => first.to_lowercase().chain(chars).collect(),
        _ => line.to_owned(),
    }
}

/// A first line that fits, and what did not fit into it.
fn shorten(line: &str) -> (String, String) {
    if line.chars().count() <= LONGEST_LINE {
        return (line.to_owned(), String::new());
    }
    let cut: String = line.chars().take(LONGEST_LINE - 1).collect();
    let at = cut.rfind(' ').filter(|at| *at > 20).unwrap_or(cut.len());
    (format!("{}…", cut[..at].trim_end()), format!("…{}", line[at..].trim_start()).replace("… ", "…"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn task(number: i64) -> TaskId {
        TaskId::try_from(number).unwrap()
    }

    #[test]
    fn a_conventional_message_is_understood_and_others_are_told_apart() {
        let read = check("feat(git)!: receive pushes\n\nBody.").unwrap();
        assert_eq!((read.kind.as_str(), read.scope.as_deref(), read.breaking), ("feat", Some("git"), true));
        for bad in ["Fix the thing", "", "feat:", "feat receive", "WIP"] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn what_we_write_is_made_conventional_and_keeps_what_was_said() {
        for (given, line) in [
            ("Fix the login page.", "fix: fix the login page"),
            ("Add a button", "feat: add a button"),
            ("API keys are rotated", "feat: API keys are rotated"),
            ("Bump tokio", "build: bump tokio"),
            ("docs: it is fine", "docs: it is fine"),
        ] {
            assert_eq!(make_conventional(given), line);
        }
        let long = make_conventional(&format!("Add {}\n\nWhy.", "word ".repeat(40)));
        assert!(long.lines().next().unwrap().chars().count() <= LONGEST_LINE);
        assert!(long.ends_with("Why."));
    }

    #[test]
    fn a_task_is_named_once_among_the_trailers() {
        let once = with_task("feat: x\n\nBody here: yes\nand more.", task(42));
        assert!(once.ends_with("and more.\n\nCarrel-Task: 42\n"));
        assert_eq!(with_task(&once, task(42)), once);
        let beside = with_task("feat: x\n\nSigned-off-by: A <a@b>", task(1));
        assert!(beside.ends_with("Signed-off-by: A <a@b>\nCarrel-Task: 1\n"));
        assert_eq!(with_task("feat: x", task(1)), "feat: x\n\nCarrel-Task: 1\n");
    }

    proptest! {
        #[test]
        fn whatever_is_written_becomes_a_conventional_message(text in "[ -~\n]{0,200}") {
            let made = make_conventional(&text);
            prop_assert!(check(&made).is_ok(), "{made:?}");
        }
    }
}
