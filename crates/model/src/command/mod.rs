//! Which commands may be asked for at a desk: by program and arguments, never by the text of a line.
//!
//! A pattern is words. The first names the program, by its file name or, with a `/` in it, by its whole path; the others
//! name its arguments, each in its place. Anybody can give a file a name that is allowed: an allowance by name is for what
//! lies where programs lie. `*` and `?` stand for characters of a word, `**` for any number of words. A
//! program alone fits whatever its arguments are.
//!
//! What a line of the shell runs is read by [`line`]. A word whose value is known only when it runs (`$x`) may be anything:
//! it fits no allowance and every prohibition.

pub mod line;

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Malformed, ids::name, public::Command};
use line::Word;

name!(
    /// A pattern that a command fits or does not: `git push **`.
    CommandPattern,
    "a pattern is 1 to 32 words in at most 500 characters, such as `git push **`; only `*`, `?` and `**` stand for something",
    |text| {
        let count = text.split_whitespace().count();
        (1..=32).contains(&count) && text.len() <= 500 && !text.chars().any(char::is_control)
    }
);

/// The most patterns in one list.
pub const MOST_PATTERNS: usize = 100;

/// What may be run when somebody asks for it from outside. Nothing in it: everything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CommandRules {
    /// Only what fits one of these may be run, when there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<CommandPattern>,
    /// What fits one of these may not be run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<CommandPattern>,
}

/// Why a command may not be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// It fits a prohibition.
    Forbidden {
        /// What it runs, as far as is known.
        runs: String,
        /// The prohibition.
        by: CommandPattern,
    },
    /// It fits no allowance.
    NotListed {
        /// What it runs, as far as is known.
        runs: String,
    },
    /// It cannot be seen what it runs.
    Unreadable {
        /// What is in the way.
        why: &'static str,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Forbidden { runs, by } => write!(f, "`{runs}` may not be run: `{by}` is forbidden"),
            Refused::NotListed { runs } => write!(f, "`{runs}` may not be run: it is not on the list"),
            Refused::Unreadable { why } => {
                write!(f, "it cannot be seen what this line runs ({why}); ask with `argv`, or write it plainly")
            }
        }
    }
}

/// Whether a pattern fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    No,
    /// That depends on words that are known only when it runs.
    Perhaps,
    Yes,
}

impl CommandRules {
    /// Whether everything may be run.
    pub fn is_open(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty()
    }

    /// Judges what a command runs, each program of a line for itself.
    pub fn judge(&self, command: &Command) -> Result<(), Refused> {
        if self.is_open() {
            return Ok(());
        }
        let runs = match command {
            Command::Line(line) => line::read(line),
            Command::Argv(argv) => line::unfold(argv.iter().map(|word| Word::Known(word.clone())).collect()),
        };
        let runs = runs.map_err(|why| Refused::Unreadable { why })?;
        runs.iter().try_for_each(|argv| self.judge_one(argv))
    }

    /// Judges the variables that are set for a command.
    pub fn judge_variables<'v>(&self, mut names: impl Iterator<Item = &'v str>) -> Result<(), Refused> {
        match !self.is_open() && names.any(line::steers) {
            true => Err(Refused::Unreadable { why: line::STEERS }),
            false => Ok(()),
        }
    }

    fn judge_one(&self, argv: &[Word]) -> Result<(), Refused> {
        let Some(Word::Known(_)) = argv.first() else {
            return Err(Refused::Unreadable { why: "the program is named by a variable" });
        };
        let shown = || argv.iter().map(Word::shown).collect::<Vec<_>>().join(" ");
        if let Some(by) = self.deny.iter().find(|pattern| pattern.fits(argv) != Fit::No) {
            return Err(Refused::Forbidden { runs: shown(), by: by.clone() });
        }
        let listed = self.allow.is_empty() || self.allow.iter().any(|pattern| pattern.allows(argv));
        if listed { Ok(()) } else { Err(Refused::NotListed { runs: shown() }) }
    }

    /// The pattern that allows exactly what was refused, where it can be written as one.
    pub fn pattern_for(runs: &str) -> Option<CommandPattern> {
        let is_plain = !runs.contains(['*', '?', '\'', '"', '$', '…']);
        runs.parse().ok().filter(|_| is_plain)
    }
}

/// Where programs lie.
const PLACES: [&str; 6] = ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];

impl CommandPattern {
    /// Whether it fits for sure, and what it names is a program of that name.
    fn allows(&self, argv: &[Word]) -> bool {
        let program = self.as_str().split_whitespace().next().unwrap_or_default();
        let says_where = program.contains('/') || program.chars().all(|c| c == '*');
        let is_usual = match argv.first() {
            Some(Word::Known(path)) => path.rsplit_once('/').is_none_or(|(place, _)| PLACES.contains(&place)),
            _ => false,
        };
        (says_where || is_usual) && self.fits(argv) == Fit::Yes
    }

    fn fits(&self, argv: &[Word]) -> Fit {
        let words: Vec<&str> = self.as_str().split_whitespace().collect();
        let (Some((program, rest)), Some((first, args))) = (words.split_first(), argv.split_first()) else {
            return Fit::No;
        };
        let named = match first {
            Word::Known(path) if program.contains('/') => is_like(program, path),
            Word::Known(path) => is_like(program, path.rsplit('/').next().unwrap_or(path)),
            Word::Unknown(_) => return Fit::Perhaps,
        };
        match named {
            false => Fit::No,
            true if rest.is_empty() => Fit::Yes,
            true => fit(rest, args),
        }
    }
}

/// Whether arguments fit the words of a pattern. Each row of the table is one word of the pattern more.
fn fit(pattern: &[&str], args: &[Word]) -> Fit {
    // An unknown word may become none, one or many: from there on, only `**` is sure.
    let surely = fit_when(pattern, args, false);
    if surely {
        return Fit::Yes;
    }
    if args.iter().any(|word| matches!(word, Word::Unknown(_))) && fit_when(pattern, args, true) {
        return Fit::Perhaps;
    }
    Fit::No
}

/// `lenient`: an unknown word is whatever would fit, any number of them.
fn fit_when(pattern: &[&str], args: &[Word], lenient: bool) -> bool {
    let mut reached = vec![false; args.len() + 1];
    reached[0] = true;
    if lenient {
        skip_unknown(&mut reached, args);
    }
    for word in pattern {
        let mut next = vec![false; args.len() + 1];
        for (place, is_reached) in next.iter_mut().enumerate() {
            if *word == "**" {
                *is_reached = reached[..=place].contains(&true);
                continue;
            }
            *is_reached = lenient && reached[place] && matches!(args.get(place), Some(Word::Unknown(_)));
            let Some(before) = place.checked_sub(1) else { continue };
            let likes = match &args[before] {
                Word::Known(text) => is_like(word, text),
                Word::Unknown(_) => lenient,
            };
            *is_reached |= reached[before] && likes;
        }
        if lenient {
            skip_unknown(&mut next, args);
        }
        reached = next;
    }
    reached[args.len()]
}

fn skip_unknown(reached: &mut [bool], args: &[Word]) {
    for (place, word) in args.iter().enumerate() {
        if reached[place] && matches!(word, Word::Unknown(_)) {
            reached[place + 1] = true;
        }
    }
}

/// Whether a text is like a pattern of characters: `*` any number of them, `?` one.
pub fn is_like(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => (p, t) = (p + 1, t + 1),
            _ => match star {
                // The last `*` takes one character more.
                Some((place, taken)) => {
                    star = Some((place, taken + 1));
                    (p, t) = (place + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests;
