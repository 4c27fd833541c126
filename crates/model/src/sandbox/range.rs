//! Ranges of addresses, as rules about the network name them.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use serde::{Deserialize, Serialize};

use crate::Malformed;

/// A range of addresses such as `10.0.0.0/8`, or one address alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AddressRange {
    first: IpAddr,
    bits: u8,
}

impl AddressRange {
    /// Whether an address lies in it. A v4 address that is written as a v6 one is the same address.
    pub fn holds(&self, address: IpAddr) -> bool {
        match (self.first, address.to_canonical()) {
            (IpAddr::V4(first), IpAddr::V4(address)) => masked(first, self.bits) == masked(address, self.bits),
            (IpAddr::V6(first), IpAddr::V6(address)) => masked6(first, self.bits) == masked6(address, self.bits),
            _ => false,
        }
    }

    /// Whether it holds every address of its kind.
    pub fn is_everything(&self) -> bool {
        self.bits == 0
    }
}

fn masked(address: Ipv4Addr, bits: u8) -> u32 {
    u32::from(address) & u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0)
}

fn masked6(address: Ipv6Addr, bits: u8) -> u128 {
    u128::from(address) & u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0)
}

impl FromStr for AddressRange {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        let odd = || Malformed { rule: "a range of addresses is an address, or one such as `10.0.0.0/8`" };
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let first: IpAddr = address.parse().map_err(|_| odd())?;
        let most = if first.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => most,
            Some(bits) if bits.bytes().all(|digit| digit.is_ascii_digit()) => bits.parse().map_err(|_| odd())?,
            Some(_) => return Err(odd()),
        };
        if bits > most { Err(odd()) } else { Ok(AddressRange { first, bits }) }
    }
}

impl TryFrom<String> for AddressRange {
    type Error = Malformed;
    fn try_from(text: String) -> Result<Self, Malformed> {
        text.parse()
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = if self.first.is_ipv4() { 32 } else { 128 };
        match self.bits {
            bits if bits == whole => write!(f, "{}", self.first),
            bits => write!(f, "{}/{bits}", self.first),
        }
    }
}

impl From<AddressRange> for String {
    fn from(range: AddressRange) -> String {
        range.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_what_it_says() {
        for (range, address, holds) in [
            ("10.0.0.0/8", "10.255.1.2", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("10.1.2.3/8", "10.9.9.9", true),
            ("8.8.8.8", "8.8.8.8", true),
            ("8.8.8.8", "::ffff:8.8.8.8", true),
            ("8.8.8.8/32", "8.8.8.9", false),
            ("0.0.0.0/0", "255.1.1.1", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("2001:db8::/32", "2001:db8:ffff::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("::/0", "2001::", true),
        ] {
            let parsed: AddressRange = range.parse().unwrap();
            assert_eq!(parsed.holds(address.parse().unwrap()), holds, "{range} {address}");
        }
        for bad in ["", "10.0.0.0/33", "10.0.0/8", "x/8", "10.0.0.0/", "10.0.0.0/+8", "::/129", "1.2.3.4:80", "*"] {
            assert!(bad.parse::<AddressRange>().is_err(), "{bad:?}");
        }
        assert_eq!("10.0.0.0/8".parse::<AddressRange>().unwrap().to_string(), "10.0.0.0/8");
        assert_eq!("::1/128".parse::<AddressRange>().unwrap().to_string(), "::1");
    }
}
