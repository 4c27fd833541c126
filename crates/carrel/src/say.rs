//! Words to people: standard output for what was asked, standard error for the rest.

use std::io::{self, IsTerminal, Write};

use comfy_table::{ContentArrangement, Table, presets::NOTHING};
use serde::Serialize;

use crate::failure::Failure;

/// A line on standard output. A reader that has gone away is no error.
pub(crate) fn line(text: impl std::fmt::Display) {
    let _ = writeln!(io::stdout().lock(), "{text}");
}

/// A line on standard error.
pub(crate) fn aside(text: impl std::fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// JSON on standard output.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text =
        serde_json::to_string_pretty(value).map_err(|error| Failure::new(format!("cannot write JSON: {error}")))?;
    line(text);
    Ok(())
}

/// A table on standard output.
pub(crate) fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_header(head.iter().copied());
    for row in rows {
        table.add_row(row.iter().map(|cell| printable(cell)));
    }
    for row in table.to_string().lines() {
        line(row.trim_end());
    }
}

/// Shows that something takes a while, on a terminal only.
pub(crate) fn progress(message: impl Into<String>) -> indicatif::ProgressBar {
    if !io::stderr().is_terminal() {
        return indicatif::ProgressBar::hidden();
    }
    let spinner = indicatif::ProgressBar::new_spinner().with_message(message.into());
    let style = indicatif::ProgressStyle::with_template("{spinner} {msg} {elapsed}");
    if let Ok(style) = style {
        spinner.set_style(style);
    }
    spinner.enable_steady_tick(std::time::Duration::from_millis(120));
    spinner
}

/// What others wrote, without what could steer the terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
