//! The sieve: takes the count out of a stream of completions that the client did not ask for.
//!
//! Events pass whole, in order, as they were; only the one that holds nothing but the count stays behind.

use bytes::{Bytes, BytesMut};
use serde_json::Value;

use super::count::data_of;

/// An event that grows beyond this passes unread.
const LONGEST: usize = 32 * 1024 * 1024;

/// Holds back the event that is not at its end yet.
#[derive(Default)]
pub(super) struct Sieve {
    held: BytesMut,
}

impl Sieve {
    /// What may pass of everything so far.
    pub(super) fn pass(&mut self, piece: &Bytes) -> Bytes {
        self.held.extend_from_slice(piece);
        let mut passed = BytesMut::new();
        while let Some(end) = end_of_event(&self.held) {
            let event = self.held.split_to(end);
            if !is_count(&event) {
                passed.unsplit(event);
            }
        }
        if self.held.len() > LONGEST {
            passed.unsplit(self.held.split());
        }
        passed.freeze()
    }

    /// What is left when the stream ends.
    pub(super) fn rest(&mut self) -> Bytes {
        let rest = self.held.split();
        if is_count(&rest) { Bytes::new() } else { rest.freeze() }
    }
}

/// Behind the empty line that ends the first event.
fn end_of_event(text: &[u8]) -> Option<usize> {
    let mut line = 0;
    for (place, byte) in text.iter().enumerate() {
        if *byte == b'\n' {
            if text[line..place].trim_ascii().is_empty() {
                return Some(place + 1);
            }
            line = place + 1;
        }
    }
    None
}

fn is_count(event: &[u8]) -> bool {
    let mut said = event.split(|byte| *byte == b'\n').filter_map(data_of);
    let Some(said) = said.next().and_then(|data| serde_json::from_slice::<Value>(data).ok()) else { return false };
    said["usage"].is_object() && said["choices"].as_array().is_some_and(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STREAM: &str = ": hello\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":null}\r\n\r\n\
                          data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\ndata: [DONE]\n\n";

    proptest! {
        #[test]
        fn only_the_count_stays_behind_however_the_stream_is_cut(size in 1_usize..200) {
            let mut sieve = Sieve::default();
            let mut seen = Vec::new();
            for piece in STREAM.as_bytes().chunks(size) {
                seen.extend_from_slice(&sieve.pass(&Bytes::copy_from_slice(piece)));
            }
            seen.extend_from_slice(&sieve.rest());
            let expected = STREAM.replace("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\n", "");
            prop_assert_eq!(String::from_utf8(seen).unwrap(), expected);
        }
    }

    #[test]
    fn a_stream_that_breaks_off_keeps_what_came() {
        let mut sieve = Sieve::default();
        assert!(sieve.pass(&Bytes::from_static(b"data: {\"cho")).is_empty());
        assert_eq!(sieve.rest(), "data: {\"cho");
    }
}
