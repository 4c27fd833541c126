//! Names of signals. E2B knows two; any other from 1 to 64 is an extension of ours.

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// Names and numbers, as Linux has them on the machines we run on.
const NAMES: [(&str, i32); 31] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ILL", 4),
    ("TRAP", 5),
    ("ABRT", 6),
    ("BUS", 7),
    ("FPE", 8),
    ("KILL", 9),
    ("USR1", 10),
    ("SEGV", 11),
    ("USR2", 12),
    ("PIPE", 13),
    ("ALRM", 14),
    ("TERM", 15),
    ("STKFLT", 16),
    ("CHLD", 17),
    ("CONT", 18),
    ("STOP", 19),
    ("TSTP", 20),
    ("TTIN", 21),
    ("TTOU", 22),
    ("URG", 23),
    ("XCPU", 24),
    ("XFSZ", 25),
    ("VTALRM", 26),
    ("PROF", 27),
    ("WINCH", 28),
    ("IO", 29),
    ("PWR", 30),
    ("SYS", 31),
];

/// The number of a signal by its name: `SIGNAL_SIGKILL`, `SIGKILL` or `KILL`.
pub fn number(name: &str) -> Option<i32> {
    let name = name.strip_prefix("SIGNAL_").unwrap_or(name);
    let name = name.strip_prefix("SIG").unwrap_or(name);
    if name == "UNSPECIFIED" {
        return Some(0);
    }
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
}

/// How a signal is called in the status of a process it ended.
pub fn story(number: i32) -> String {
    let words = match number {
        1 => "hangup",
        2 => "interrupt",
        3 => "quit",
        4 => "illegal instruction",
        5 => "trace/breakpoint trap",
        6 => "aborted",
        7 => "bus error",
        8 => "floating point exception",
        9 => "killed",
        10 => "user defined signal 1",
        11 => "segmentation fault",
        12 => "user defined signal 2",
        13 => "broken pipe",
        14 => "alarm clock",
        15 => "terminated",
        other => return format!("signal {other}"),
    };
    words.to_owned()
}

/// The signal that a story tells of.
pub fn of_story(words: &str) -> Option<i32> {
    let words = words.strip_suffix(" (core dumped)").unwrap_or(words);
    let number = words.strip_prefix("signal ").and_then(|number| number.parse().ok());
    number.or_else(|| (1..16).find(|number| story(*number) == words))
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Either {
    Number(i32),
    Text(String),
}

pub(super) fn serialize<S: Serializer>(number: &i32, to: S) -> Result<S::Ok, S::Error> {
    match number {
        0 => to.serialize_str("SIGNAL_UNSPECIFIED"),
        9 => to.serialize_str("SIGNAL_SIGKILL"),
        15 => to.serialize_str("SIGNAL_SIGTERM"),
        other => to.serialize_i32(*other),
    }
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
    match Option::<Either>::deserialize(from)? {
        None => Ok(0),
        Some(Either::Number(number)) => Ok(number),
        Some(Either::Text(text)) => {
            number(&text).ok_or_else(|| D::Error::custom(format!("no signal is called {text}")))
        }
    }
}
