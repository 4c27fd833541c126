//! Numbers from outside. The range is part of the type, so an absurd value cannot get past the door.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A whole number from `LEAST` to `MOST`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Whole<const LEAST: u64, const MOST: u64>(u64);

impl<const LEAST: u64, const MOST: u64> Whole<LEAST, MOST> {
    /// The number, when it is in range.
    pub const fn new(number: u64) -> Option<Self> {
        if number >= LEAST && number <= MOST { Some(Self(number)) } else { None }
    }

    /// The number itself.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl<const LEAST: u64, const MOST: u64> fmt::Display for Whole<LEAST, MOST> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<const LEAST: u64, const MOST: u64> std::str::FromStr for Whole<LEAST, MOST> {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.parse().ok().and_then(Self::new);
        number.ok_or_else(|| format!("expected a whole number from {LEAST} to {MOST}"))
    }
}

impl<const LEAST: u64, const MOST: u64> Serialize for Whole<LEAST, MOST> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de, const LEAST: u64, const MOST: u64> Deserialize<'de> for Whole<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<const LEAST: u64, const MOST: u64>;
        impl<const LEAST: u64, const MOST: u64> de::Visitor<'_> for Reader<LEAST, MOST> {
            type Value = Whole<LEAST, MOST>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from {LEAST} to {MOST}")
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
                Whole::new(number).ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(number), &self))
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
                u64::try_from(number)
                    .ok()
                    .and_then(Whole::new)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Signed(number), &self))
            }
        }
        // Not `any`: formats that know only text (queries, the environment) read the number, JSON takes no text for one.
        deserializer.deserialize_u64(Reader)
    }
}

/// A share of processors, in thousandths: from 0.1 to 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cpus(u32);

impl Cpus {
    const RULE: &str = "a number from 0.1 to 64";

    /// That many processors, when it is in range.
    pub fn new(cpus: f64) -> Option<Self> {
        (0.1..=64.0).contains(&cpus).then(|| Self((cpus * 1000.0).round() as u32))
    }

    /// In thousandths of a processor.
    pub fn thousandths(self) -> u32 {
        self.0
    }

    /// As a number of processors.
    pub fn get(self) -> f64 {
        f64::from(self.0) / 1000.0
    }
}

impl std::str::FromStr for Cpus {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().ok().and_then(Self::new).ok_or_else(|| format!("expected {}", Self::RULE))
    }
}

impl Serialize for Cpus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.get())
    }
}

impl<'de> Deserialize<'de> for Cpus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl de::Visitor<'_> for Reader {
            type Value = Cpus;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(Cpus::RULE)
            }
            fn visit_f64<E: de::Error>(self, cpus: f64) -> Result<Cpus, E> {
                Cpus::new(cpus).ok_or_else(|| E::invalid_value(de::Unexpected::Float(cpus), &self))
            }
            fn visit_u64<E: de::Error>(self, cpus: u64) -> Result<Cpus, E> {
                self.visit_f64(cpus as f64)
            }
            fn visit_i64<E: de::Error>(self, cpus: i64) -> Result<Cpus, E> {
                self.visit_f64(cpus as f64)
            }
        }
        deserializer.deserialize_f64(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_out_of_range_is_refused_with_the_range() {
        type Small = Whole<1, 10>;
        for bad in ["0", "11", "-1", "1.5", "1e30", "\"x\"", "true", "[]"] {
            let refusal = serde_json::from_str::<Small>(bad).unwrap_err().to_string();
            assert!(refusal.contains("a whole number from 1 to 10"), "{bad}: {refusal}");
        }
        assert_eq!(serde_json::from_str::<Small>("7").unwrap().get(), 7);
        for bad in ["0", "0.05", "65", "-2", "\"two\""] {
            assert!(serde_json::from_str::<Cpus>(bad).unwrap_err().to_string().contains("0.1 to 64"));
        }
        assert_eq!(serde_json::from_str::<Cpus>("1.5").unwrap().thousandths(), 1500);
    }
}
