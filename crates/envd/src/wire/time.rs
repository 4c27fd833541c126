//! `google.protobuf.Timestamp`: two numbers on the binary wire, RFC 3339 in JSON.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// A moment.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Timestamp {
    /// Seconds since 1970.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// And a billionth of it.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

impl Timestamp {
    /// The moment in RFC 3339, UTC.
    pub fn to_rfc3339(self) -> String {
        let days = self.seconds.div_euclid(86_400);
        let rest = self.seconds.rem_euclid(86_400);
        let (year, month, day) = date_of(days);
        let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
        let fraction = match self.nanos {
            0 => String::new(),
            nanos if nanos % 1_000_000 == 0 => format!(".{:03}", nanos / 1_000_000),
            nanos if nanos % 1_000 == 0 => format!(".{:06}", nanos / 1_000),
            nanos => format!(".{nanos:09}"),
        };
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
    }

    /// Reads RFC 3339 with any zone.
    pub fn of_rfc3339(text: &str) -> Option<Timestamp> {
        let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        let mut rest = text.get(19..)?;
        let mut nanos = 0;
        if let Some(fraction) = rest.strip_prefix('.') {
            let digits = fraction.find(|byte: char| !byte.is_ascii_digit()).unwrap_or(fraction.len());
            let nine: String = fraction[..digits].chars().chain("000000000".chars()).take(9).collect();
            nanos = nine.parse().ok()?;
            rest = &fraction[digits..];
        }
        let zone = match rest.as_bytes().first()? {
            b'Z' | b'z' => 0,
            sign @ (b'+' | b'-') => {
                let hours: i64 = rest.get(1..3)?.parse().ok()?;
                let minutes: i64 = rest.get(4..6)?.parse().ok()?;
                (hours * 3600 + minutes * 60) * if *sign == b'-' { -1 } else { 1 }
            }
            _ => return None,
        };
        let seconds = days_of(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - zone;
        Some(Timestamp { seconds, nanos })
    }
}

/// Days since 1970 of a date, in the Gregorian calendar of all years. Years begin in March here, so that the leap day
/// is the last of its year.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let since_march = (month + 9) % 12;
    let day_of_year = (153 * since_march + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}

fn date_of(days: i64) -> (i64, i64, i64) {
    // A guess that is never too late and at most a year too early.
    let mut year = 1970 + days.div_euclid(366) - 1;
    while days_of(year + 1, 3, 1) <= days {
        year += 1;
    }
    let day_of_year = days - days_of(year, 3, 1);
    let since_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * since_march + 2) / 5 + 1;
    let month = if since_march < 10 { since_march + 3 } else { since_march - 9 };
    (if month <= 2 { year + 1 } else { year }, month, day)
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.to_rfc3339())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Timestamp::of_rfc3339(&text).ok_or_else(|| D::Error::custom(format!("{text} is not a moment in RFC 3339")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_others_read_them() {
        for (seconds, nanos, text) in [
            (0, 0, "1970-01-01T00:00:00Z"),
            (951_782_400, 0, "2000-02-29T00:00:00Z"),
            (1_794_767_020, 780_583_000, "2026-11-15T18:23:40.780583Z"),
            (-1, 500_000_000, "1969-12-31T23:59:59.500Z"),
            (4_107_542_399, 0, "2100-02-28T23:59:59Z"),
            (4_107_542_400, 0, "2100-03-01T00:00:00Z"),
        ] {
            let moment = Timestamp { seconds, nanos };
            assert_eq!(moment.to_rfc3339(), text);
            assert_eq!(Timestamp::of_rfc3339(text), Some(moment));
        }
        let elsewhere = Timestamp::of_rfc3339("2026-11-15T19:23:40+01:00");
        assert_eq!(elsewhere, Some(Timestamp { seconds: 1_794_767_020, nanos: 0 }));
    }

    #[test]
    fn every_day_of_four_centuries_is_found_again() {
        for day in -146_097..146_097 {
            let (year, month, date) = date_of(day);
            assert_eq!(days_of(year, month, date), day);
        }
    }
}
