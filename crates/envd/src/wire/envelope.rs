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
}
