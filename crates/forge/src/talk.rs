//! What people and programs say at a pull request: comments and reviews.

use carrel_model::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{CommitId, Stamp};

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// Its name at the forge, unique among all comments of the repository.
    pub id: String,
    /// Who said it.
    pub author: String,
    /// What was said, without the stamp.
    pub body: String,
    /// The line it is about, when it is about one.
    pub place: Option<Place>,
    /// The commit that it speaks of, where the forge names it.
    #[serde(default)]
    pub commit: Option<CommitId>,
    /// What it is known by, when it was said through Carrel.
    pub stamp: Option<Stamp>,
    /// Where people look at it.
    pub url: String,
    /// When it was said.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// A line of a file in a pull request's diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The file.
    pub path: String,
    /// The line, counted from one. `None` when the line is gone from the diff by now.
    pub line: Option<u32>,
    /// Which side of the diff counts the line.
    pub side: Side,
}

/// A side of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// As it was.
    Old,
    /// As it is to be.
    New,
}

/// Something that is to be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewComment {
    /// What to say.
    pub body: String,
    /// The line it is about.
    pub place: Option<Place>,
    /// What it is known by: with a stamp it is said once, however often it is asked for.
    pub stamp: Option<Stamp>,
}

/// What somebody thinks of a pull request as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// Its name at the forge.
    pub id: String,
    /// Whose it is.
    pub author: String,
    /// What it comes to.
    pub verdict: Verdict,
    /// What it says.
    pub body: String,
    /// The commit that was looked at, where the forge names it.
    pub commit: Option<CommitId>,
    /// When it was given.
    pub at: Timestamp,
}

/// What a review comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It may be merged.
    Approved,
    /// Something has to change first.
    ChangesRequested,
    /// Remarks only.
    Commented,
    /// It was taken back.
    Dismissed,
}

/// A review that is to be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReview {
    /// What it comes to.
    pub verdict: Verdict,
    /// What it says. Only an approval may say nothing.
    pub body: String,
}

/// The longest text that every forge takes.
const MOST_CHARACTERS: usize = 60_000;

/// A text that fits, with the stamp at its end where a reader does not see it.
pub(crate) fn written(body: &str, stamp: Option<&Stamp>) -> String {
    let mut text = match body.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{}\n\n… (the rest was cut)", &body[..end]),
        None => body.to_owned(),
    };
    if let Some(stamp) = stamp {
        text.push_str(&format!("\n\n{OPENS}{stamp}{CLOSES}"));
    }
    text
}

/// A text without its stamp, and the stamp.
pub(crate) fn read(text: &str) -> (String, Option<Stamp>) {
    let stamped = text.trim_end().strip_suffix(CLOSES).and_then(|rest| {
        let (body, stamp) = rest.rsplit_once(OPENS)?;
        Some((body.trim_end().to_owned(), Some(stamp.parse().ok()?)))
    });
    stamped.unwrap_or_else(|| (text.to_owned(), None))
}

/// A title that fits: one line, not too long.
pub(crate) fn title_of(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(250) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

const OPENS: &str = "<!-- carrel:";
const CLOSES: &str = " -->";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_found_again_and_is_not_part_of_what_was_said() {
        let stamp: Stamp = "task-42.turn-3".parse().unwrap();
        assert_eq!(read(&written("All green.", Some(&stamp))), ("All green.".into(), Some(stamp)));
        assert_eq!(read("plain <!-- carrel:not a stamp -->"), ("plain <!-- carrel:not a stamp -->".into(), None));
        assert_eq!(read("plain"), ("plain".into(), None));
    }

    #[test]
    fn texts_and_titles_are_cut_between_characters() {
        let long = written(&"ä".repeat(100_000), None);
        assert!(long.chars().count() < 65_536 && long.ends_with("(the rest was cut)"));
        assert_eq!(title_of("fix:\n  a\tthing "), "fix: a thing");
        assert_eq!(title_of(&"é".repeat(400)).chars().count(), 251);
    }
}
