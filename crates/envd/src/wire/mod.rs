//! The wire: E2B's envd protocol as both sides speak it.
//!
//! The messages derive `prost::Message` for the binary codec and serde for proto3 JSON, so one type serves
//! `application/json`, `application/proto` and their streaming kin. A `oneof` is written as optional fields beside each
//! other: the bytes and the JSON are the same, and reading it needs no buffering.
//!
//! The `connectrpc` crate was looked at and not taken: it brings HTTP/2, its own code generator's runtime and three
//! compressors, wants tower services around everything, and owns the response body, while the guest has two megabytes
//! and must decide itself when a pipe is read, when a frame is flushed and when a line is dropped. What is needed
//! of the protocol is five bytes before each message and a table of error codes.

mod code;
mod envelope;
pub mod filesystem;
mod json;
pub mod process;
pub mod signals;
mod signature;
mod text;
mod time;

pub use code::{Code, Fault};
pub use envelope::{Deframer, END_STREAM, Envelope, frame, frame_json};
pub use signature::{Operation, sign};
pub use text::{is_readable_query, percent_decode, percent_encode, query_pairs};
pub use time::Timestamp;

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};

/// The port that envd has in E2B's world.
pub const PORT: u16 = 49983;
/// The version of envd whose behaviour is offered.
pub const VERSION: &str = "0.6.13";
/// A header in every answer of ours; whoever sees it may use the binary codec and the extensions.
pub const OURS: &str = "x-carrel-envd";

/// How messages are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// proto3 JSON.
    Json,
    /// The binary form of protocol buffers.
    Proto,
}

/// A message of the protocol, in either codec.
pub trait Message: prost::Message + Default + Serialize + DeserializeOwned {}
impl<T: prost::Message + Default + Serialize + DeserializeOwned> Message for T {}

impl Codec {
    /// Writes a message.
    pub fn encode<M: Message>(self, message: &M) -> Bytes {
        match self {
            Codec::Json => serde_json::to_vec(message).unwrap_or_default().into(),
            Codec::Proto => message.encode_to_vec().into(),
        }
    }

    /// Understands a message. An empty one is the default in both codecs.
    pub fn decode<M: Message>(self, bytes: &[u8]) -> Result<M, Fault> {
        if bytes.is_empty() {
            return Ok(M::default());
        }
        match self {
            Codec::Json => serde_json::from_slice(bytes)
                .map_err(|error| Fault::new(Code::InvalidArgument, format!("the message is not understood: {error}"))),
            Codec::Proto => M::decode(bytes)
                .map_err(|error| Fault::new(Code::InvalidArgument, format!("the message is not understood: {error}"))),
        }
    }
}

/// A message without fields.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message, Serialize, serde::Deserialize)]
pub struct Empty {}
