//! What is said: for each measure the house, its peer and the ratio.

use std::{
    borrow::Cow,
    fmt::Display,
    io::{self, Write},
};

use hdrhistogram::Histogram;

use crate::Outcome;

/// One measure, taken of both in every round.
#[derive(Clone)]
pub(crate) struct Measure {
    name: Cow<'static, str>,
    unit: Unit,
    aim: &'static str,
    rounds: Vec<(f64, f64)>,
}

/// What a number counts.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Microseconds,
    PerSecond,
    /// So many of something.
    Count,
    /// Processors kept busy.
    Cores,
    Bytes,
    BytesPerSecond,
    /// Clock ticks of processor time, a hundred to a second.
    Ticks,
}

impl Measure {
    pub(crate) fn new(name: impl Into<Cow<'static, str>>, unit: Unit) -> Self {
        Measure { name: name.into(), unit, aim: "", rounds: Vec::new() }
    }

    /// What it, or the ratio, should be, in words.
    pub(crate) fn aim(self, aim: &'static str) -> Self {
        Measure { aim, ..self }
    }

    /// The numbers of one round.
    pub(crate) fn note(&mut self, house: f64, peer: f64) {
        self.rounds.push((house, peer));
    }

    /// The number of one round, of something that has no peer.
    pub(crate) fn note_alone(&mut self, house: f64) {
        self.rounds.push((house, f64::NAN));
    }

    fn row(&self) -> String {
        let Measure { name, unit, aim, rounds } = self;
        let house =
            if rounds.is_empty() { "none".into() } else { unit.show(median(rounds.iter().map(|round| round.0))) };
        let peer = median(rounds.iter().map(|round| round.1));
        if peer.is_nan() {
            return format!("  {name:<38}{house:>12}{:>12}{:>9}   {aim}", "", "");
        }
        // Of each round, whose two halves had the same weather; not of the two medians.
        let ratio = median(rounds.iter().map(|round| round.0 / round.1));
        format!("  {name:<38}{house:>12}{:>12}{ratio:>8.2}×   {aim}", unit.show(peer))
    }
}

impl Unit {
    fn show(self, number: f64) -> String {
        match self {
            Unit::Microseconds if number >= 10_000.0 => format!("{:.1} ms", number / 1000.0),
            Unit::Microseconds if number >= 1000.0 => format!("{:.2} ms", number / 1000.0),
            Unit::Microseconds => format!("{number:.1} µs"),
            Unit::PerSecond if number < 10.0 => format!("{number:.1}/s"),
            Unit::PerSecond => format!("{number:.0}/s"),
            Unit::Count => format!("{number:.1}"),
            Unit::Cores => format!("{number:.2}"),
            Unit::Bytes if number.abs() >= 1e6 => format!("{:.2} MB", number / 1e6),
            Unit::Bytes => format!("{:.0} kB", number / 1e3),
            Unit::BytesPerSecond => format!("{:.0} MB/s", number / 1e6),
            Unit::Ticks => format!("{number:.0} ticks"),
        }
    }
}

/// A line on standard output.
pub(crate) fn line(text: impl Display) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{text}")
}

/// Says where it is measured.
pub(crate) fn introduce(quick: bool) -> Outcome<()> {
    let cores = std::thread::available_parallelism()?;
    let load = std::fs::read_to_string("/proc/loadavg")?;
    let load = load.split(' ').next().unwrap_or_default();
    let folder = std::env::temp_dir();
    line(format_args!("{cores} processors, load {load} before we began, databases in {}", folder.display()))?;
    const TMPFS: u64 = 0x0102_1994;
    if u64::try_from(rustix::fs::statfs(&folder)?.f_type).is_ok_and(|kind| kind == TMPFS) {
        line("These databases are in memory, where durability is free: set TMPDIR to a folder on a disk.")?;
    }
    if quick {
        line("Quick: this shows that everything works, not how fast.")?;
    }
    Ok(())
}

/// Says what was measured.
pub(crate) fn table(title: &str, measures: &[Measure]) -> Outcome<()> {
    let rounds = measures.first().map_or(0, |measure| measure.rounds.len());
    line(format_args!("\n{title}"))?;
    line(format_args!(
        "  {:<38}{:>12}{:>12}{:>9}   aim",
        format!("median of rounds: {rounds}"),
        "house",
        "peer",
        "ratio"
    ))?;
    for measure in measures {
        line(measure.row().trim_end())?;
    }
    Ok(())
}

/// The value at a quantile, in microseconds.
pub(crate) fn quantile(times: &Histogram<u64>, quantile: f64) -> f64 {
    times.value_at_quantile(quantile) as f64
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    match numbers.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => numbers[count / 2],
        count => (numbers[count / 2 - 1] + numbers[count / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()), 2.5);
    }
}
