//! The answer to a push: what became of each ref, and lines for people.

use super::request::{Request, Wants};
use crate::packet;

/// What became of each ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    /// Each ref with a few words on why it did not move.
    pub(crate) refs: Vec<(String, Option<String>)>,
    /// Why the pack could not be read.
    pub(crate) unpack: Option<String>,
    /// Lines for people.
    pub(crate) words: Vec<String>,
}

impl Report {
    /// Nothing moved, for one reason.
    pub(crate) fn refused(request: &Request, short: &str, words: Vec<String>) -> Report {
        let names = request.commands.iter().map(|command| command.name.to_string()).chain(request.odd.iter().cloned());
        Report { refs: names.map(|name| (name, Some(short.to_owned()))).collect(), unpack: None, words }
    }

    /// As the client wants to hear it. Without bands only the few words beside each ref reach a person.
    pub(crate) fn write(&self, wants: Wants) -> Vec<u8> {
        let mut status = Vec::new();
        if wants.report {
            let unpack = self.unpack.as_deref().map_or_else(|| "ok".to_owned(), one_line);
            packet::write(&mut status, format!("unpack {unpack}\n").as_bytes());
            for (name, refusal) in &self.refs {
                let line = match refusal {
                    None => format!("ok {name}\n"),
                    Some(short) => format!("ng {name} {}\n", one_line(short)),
                };
                packet::write(&mut status, line.as_bytes());
            }
            packet::flush(&mut status);
        }
        if !wants.bands {
            return status;
        }
        let mut out = Vec::new();
        if !self.words.is_empty() {
            let text: String = self.words.iter().map(|line| format!("{}\n", one_line(line))).collect();
            packet::write_band(&mut out, 2, text.as_bytes());
        }
        packet::write_band(&mut out, 1, &status);
        packet::flush(&mut out);
        out
    }
}

/// No control characters: a name from a repository must not move a person's cursor.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).take(1000).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_lines_only_on_their_own_band() {
        let report = Report {
            refs: vec![("refs/heads/a".into(), None), ("refs/heads/b".into(), Some("no\x1b[2J".into()))],
            unpack: None,
            words: vec!["Because.".into()],
        };
        let plain = report.write(Wants { report: true, ..Wants::default() });
        assert_eq!(
            String::from_utf8(plain).unwrap(),
            "000eunpack ok\n0014ok refs/heads/a\n001bng refs/heads/b no?[2J\n0000"
        );
        let bands = report.write(Wants { report: true, bands: true, ..Wants::default() });
        assert!(bands.starts_with(b"000e\x02Because.\n"));
        assert!(bands.ends_with(b"00000000"));
        assert!(report.write(Wants::default()).is_empty());
    }
}
