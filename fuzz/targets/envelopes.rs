//! Connect's envelopes, and the messages in them. However they are cut, the same comes out.
#![no_main]

use carrel_envd::wire::{Codec, Deframer, filesystem, process};

fn envelopes(pieces: &[&[u8]]) -> Vec<String> {
    let mut deframer = Deframer::default();
    let mut seen = Vec::new();
    for piece in pieces {
        deframer.push(piece);
        loop {
            match deframer.next_envelope() {
                Ok(Some(envelope)) => seen.push(format!("{envelope:?}")),
                Ok(None) => break,
                Err(_) => return seen,
            }
        }
    }
    seen
}

libfuzzer_sys::fuzz_target!(|input: (u16, &[u8])| {
    let (cut, bytes) = input;
    let (one, two) = bytes.split_at(usize::from(cut).min(bytes.len()));
    assert_eq!(envelopes(&[bytes]), envelopes(&[one, two]));
    for codec in [Codec::Json, Codec::Proto] {
        let _ = codec.decode::<process::StartRequest>(bytes);
        let _ = codec.decode::<process::EventResponse>(bytes);
        let _ = codec.decode::<filesystem::ListDirRequest>(bytes);
    }
});
