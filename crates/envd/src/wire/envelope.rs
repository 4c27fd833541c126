//! Envelopes: a byte of flags, four of length, then the message.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use serde::{Deserialize, Serialize};

use super::{Code, Codec, Fault, Message};

/// The flag of the last envelope of a stream.
pub const END_STREAM: u8 = 0x02;
const COMPRESSED: u8 = 0x01;
/// Larger messages are refused: nobody has to hold them.
const LARGEST: usize = 64 << 20;

/// One envelope, opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Envelope {
    /// A message.
    Message(Bytes),
    /// The end of the stream, well or not.
    End(Result<(), Fault>),
}

/// Puts a message into an envelope.
pub fn frame<M: Message>(codec: Codec, message: &M) -> Bytes {
    match codec {
        Codec::Proto => {
            let length = message.encoded_len();
            let mut out = BytesMut::with_capacity(5 + length);
            out.put_u8(0);
            out.put_u32(length as u32);
            // The buffer was made for exactly this message.
            let _ = message.encode(&mut out);
            out.freeze()
        }
        Codec::Json => frame_json(0, message),
    }
}

/// Puts JSON into an envelope with these flags.
pub fn frame_json(flags: u8, value: &impl Serialize) -> Bytes {
    let mut out = vec![flags, 0, 0, 0, 0];
    // Writing plain structs to memory does not fail.
    let _ = serde_json::to_writer(&mut out, value);
    let length = (out.len() - 5) as u32;
    out[1..5].copy_from_slice(&length.to_be_bytes());
    out.into()
}

#[derive(Deserialize)]
struct End {
    error: Option<Fault>,
}

/// Opens envelopes that arrive in pieces.
#[derive(Debug, Default)]
pub struct Deframer {
    held: BytesMut,
}

impl Deframer {
    /// Takes in what arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// Whether nothing is waiting for its other half.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The next whole envelope, if it has arrived.
    pub fn next_envelope(&mut self) -> Result<Option<Envelope>, Fault> {
        if self.held.len() < 5 {
            return Ok(None);
        }
        let flags = self.held[0];
        let length = u32::from_be_bytes([self.held[1], self.held[2], self.held[3], self.held[4]]) as usize;
        if length > LARGEST {
            return Err(Fault::new(Code::ResourceExhausted, "the message is larger than 64 MiB"));
        }
        if flags & COMPRESSED != 0 {
            return Err(Fault::new(Code::Unimplemented, "compressed messages are not taken; send them as they are"));
        }
        if self.held.len() < 5 + length {
            return Ok(None);
        }
        self.held.advance(5);
        let message = self.held.split_to(length).freeze();
        if flags & END_STREAM == 0 {
            return Ok(Some(Envelope::Message(message)));
        }
        let end: End = serde_json::from_slice(&message)
            .map_err(|error| Fault::new(Code::Internal, format!("the end of the stream is not understood: {error}")))?;
        Ok(Some(Envelope::End(end.error.map_or(Ok(()), Err))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Empty;
    use proptest::prelude::*;

    #[test]
    fn an_envelope_that_arrives_byte_by_byte_is_opened_once_it_is_whole() {
        let mut deframer = Deframer::default();
        let sent = [frame(Codec::Json, &Empty {}), frame_json(END_STREAM, &serde_json::json!({}))].concat();
        let mut seen = Vec::new();
        for byte in sent {
            deframer.push(&[byte]);
            while let Ok(Some(envelope)) = deframer.next_envelope() {
                seen.push(envelope);
            }
        }
        assert_eq!(seen, [Envelope::Message(Bytes::from_static(b"{}")), Envelope::End(Ok(()))]);
        assert!(deframer.is_empty());
    }

    #[test]
    fn a_compressed_envelope_and_a_huge_one_are_refused() {
        let mut deframer = Deframer::default();
        deframer.push(&[1, 0, 0, 0, 0]);
        assert_eq!(deframer.next_envelope().map_err(|fault| fault.code), Err(Code::Unimplemented));
        let mut deframer = Deframer::default();
        deframer.push(&[0, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(deframer.next_envelope().map_err(|fault| fault.code), Err(Code::ResourceExhausted));
    }

    /// Everything that can be opened, of bytes that arrive in these pieces, and how it ended.
    fn opened(bytes: &[u8], cuts: &[usize]) -> (Vec<Envelope>, Option<Code>) {
        let mut deframer = Deframer::default();
        let (mut seen, mut rest) = (Vec::new(), bytes);
        for cut in cuts.iter().map(|cut| cut % 64 + 1).chain([usize::MAX]) {
            let (now, later) = rest.split_at(cut.min(rest.len()));
            deframer.push(now);
            rest = later;
            loop {
                match deframer.next_envelope() {
                    Ok(Some(envelope)) => seen.push(envelope),
                    Ok(None) => break,
                    Err(fault) => return (seen, Some(fault.code)),
                }
            }
        }
        (seen, None)
    }

    proptest! {
        #[test]
        fn no_bytes_break_it_and_pieces_change_nothing(
            bytes in prop::collection::vec(any::<u8>(), 0..2000),
            cuts in prop::collection::vec(any::<usize>(), 0..200),
        ) {
            let whole = opened(&bytes, &[]);
            // In pieces an envelope that is none may be noticed only when more of it has come; what was opened is the same.
            prop_assert_eq!(opened(&bytes, &cuts), whole);
        }

        #[test]
        fn what_was_put_in_comes_out(
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..20),
            cuts in prop::collection::vec(any::<usize>(), 0..200),
        ) {
            let mut sent = Vec::new();
            for message in &messages {
                sent.push(0);
                sent.extend((message.len() as u32).to_be_bytes());
                sent.extend(message);
            }
            let expected: Vec<_> = messages.into_iter().map(|message| Envelope::Message(message.into())).collect();
            prop_assert_eq!(opened(&sent, &cuts), (expected, None));
        }
    }
}
