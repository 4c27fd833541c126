//! The grammar of agents that speak in plain lines, and of our own, that write moments as lines of JSON.

use serde_json::Value;

use super::Grammar;
use crate::{Moment, heard::Heard};

/// Every line is said; a line that is a moment is that moment.
pub(crate) struct Plain;

impl Grammar for Plain {
    fn object(&mut self, value: &Value, line: &str, heard: &mut Heard) {
        match value.get("moment").and_then(|_| serde_json::from_value::<Moment>(value.clone()).ok()) {
            Some(moment) => heard.moment(moment),
            None => self.text(line, heard),
        }
    }

    fn text(&mut self, line: &str, heard: &mut Heard) {
        heard.said_line(&without_colours(line));
    }

    fn says_when_it_is_done(&self) -> bool {
        false
    }
}

/// Takes out what terminals would not show: colours, cursor movements, and what was overwritten by a carriage return.
pub(crate) fn without_colours(line: &str) -> String {
    let line = line.rsplit('\r').find(|part| !part.is_empty()).unwrap_or_default();
    let mut clean = String::with_capacity(line.len());
    let mut rest = line.chars();
    while let Some(next) = rest.next() {
        match next {
            '\u{1b}' => match rest.next() {
                // A control sequence ends with a letter or one of a few signs.
                Some('[') => while rest.next().is_some_and(|any| !('@'..='~').contains(&any)) {},
                // A command to the terminal ends with a bell or an escape and a backslash.
                Some(']') => {
                    while let Some(any) = rest.next() {
                        if any == '\u{7}' || (any == '\u{1b}' && rest.next().is_some()) {
                            break;
                        }
                    }
                }
                _ => {}
            },
            '\t' => clean.push('\t'),
            any if any.is_control() => {}
            any => clean.push(any),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_progress_bars_are_left_out() {
        assert_eq!(without_colours("\u{1b}[1;31mred\u{1b}[0m"), "red");
        assert_eq!(without_colours("10%\r50%\r100% done"), "100% done");
        assert_eq!(without_colours("\u{1b}]0;title\u{7}text"), "text");
        assert_eq!(without_colours("\u{1b}]8;;http://x\u{1b}\\link"), "link");
        assert_eq!(without_colours("\u{1b}[31"), "");
    }
}
