//! Percent encoding, as addresses need it.

use std::fmt::Write;

/// Encodes everything but letters, digits and `-._~`.
pub fn percent_encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte as char),
            other => {
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}

/// Decodes `%XX`, and `+` as a space. What is not UTF-8 afterwards is not text.
pub fn percent_decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let high = (bytes.next()? as char).to_digit(16)?;
                let low = (bytes.next()? as char).to_digit(16)?;
                out.push((high * 16 + low) as u8);
            }
            other => out.push(other),
        }
    }
    String::from_utf8(out).ok()
}

/// Whether all of a query can be decoded.
pub fn is_readable_query(query: &str) -> bool {
    query.split('&').filter(|pair| !pair.is_empty()).all(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        percent_decode(name).is_some() && percent_decode(value).is_some()
    })
}

/// The pairs of a query, decoded; what cannot be decoded is left out.
pub fn query_pairs(query: &str) -> impl Iterator<Item = (String, String)> + '_ {
    query.split('&').filter(|pair| !pair.is_empty()).filter_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((percent_decode(name)?, percent_decode(value)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_that_is_no_text_is_not_readable() {
        for query in ["", "a=b", "a=%20&&b", "path=%C3%A9+x"] {
            assert!(is_readable_query(query), "{query}");
        }
        for query in ["path=%FF", "a=b&%FF=c", "path=%zz", "path=%2"] {
            assert!(!is_readable_query(query), "{query}");
        }
    }

    #[test]
    fn any_text_survives_the_way_there_and_back() {
        for text in ["", "/home/user/a b", "100%", "a+b&c=d", "zeile\nzwei", "ключ"] {
            assert_eq!(percent_decode(&percent_encode(text)).as_deref(), Some(text));
        }
    }

    #[test]
    fn a_query_that_is_cut_off_loses_only_the_pair_it_cut() {
        assert_eq!(query_pairs("path=%2Fa&x=%2").collect::<Vec<_>>(), [("path".to_owned(), "/a".to_owned())]);
    }
}
