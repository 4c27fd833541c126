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
    self::rows(head, rows).iter().for_each(line);
}

/// The lines of a table.
pub(crate) fn rows(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_header(head.iter().copied());
    for row in rows {
        table.add_row(row.iter().map(|cell| printable(cell)));
    }
    table.to_string().lines().map(|row| row.trim_end().to_owned()).collect()
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

/// Bytes on standard output, as they are. Says whether anybody still reads.
pub(crate) fn bytes(bytes: &[u8]) -> bool {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).is_ok()
}

/// Bytes on standard error, as they are.
pub(crate) fn aside_bytes(bytes: &[u8]) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

/// Shows how far a transfer is: on a terminal, and only when it takes longer than a second.
pub(crate) struct Transfer {
    bar: Option<indicatif::ProgressBar>,
    total: Option<u64>,
    done: u64,
    began: std::time::Instant,
}

impl Transfer {
    pub(crate) fn new(total: Option<u64>) -> Self {
        Transfer { bar: None, total, done: 0, began: std::time::Instant::now() }
    }

    pub(crate) fn add(&mut self, bytes: usize) {
        self.done += bytes as u64;
        if self.bar.is_none() && self.began.elapsed().as_secs() >= 1 && io::stderr().is_terminal() {
            let bar = match self.total {
                Some(total) => indicatif::ProgressBar::new(total),
                None => indicatif::ProgressBar::no_length(),
            };
            let style = match self.total {
                Some(_) => "{bar:30} {bytes} of {total_bytes} {bytes_per_sec} {eta}",
                None => "{spinner} {bytes} {bytes_per_sec}",
            };
            if let Ok(style) = indicatif::ProgressStyle::with_template(style) {
                bar.set_style(style);
            }
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        }
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// What others wrote, without what could steer the terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
