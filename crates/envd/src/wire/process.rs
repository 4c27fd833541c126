//! `process.Process`: what is said about processes.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{
    Empty,
    json::{base64_bytes, is_default, nullable},
    signals,
};

/// The service's name in addresses.
pub const SERVICE: &str = "process.Process";

/// What to run.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessConfig {
    /// The program.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub cmd: String,
    /// Its arguments.
    #[prost(string, repeated, tag = "2")]
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Its variables.
    #[prost(btree_map = "string, string", tag = "3")]
    #[serde(deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub envs: BTreeMap<String, String>,
    /// Where.
    #[prost(string, optional, tag = "4")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// The size of a terminal.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct PtySize {
    /// Columns.
    #[prost(uint32, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub cols: u32,
    /// Rows.
    #[prost(uint32, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub rows: u32,
}

/// A terminal.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Pty {
    /// Its size.
    #[prost(message, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<PtySize>,
}

/// Asks for a process.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct StartRequest {
    /// What to run.
    #[prost(message, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessConfig>,
    /// With a terminal.
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty: Option<Pty>,
    /// A name to find it by.
    #[prost(string, optional, tag = "3")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Whether its standard input can be written; absent means yes.
    #[prost(bool, optional, tag = "4")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<bool>,
}

/// Names a process: by one of its fields.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessSelector {
    /// By number.
    #[prost(uint32, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// By tag.
    #[prost(string, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
}

/// A request that only names a process: Connect and CloseStdin.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Named {
    /// Which.
    #[prost(message, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessSelector>,
    /// Connect, from Carrel alone: how many bytes of it were heard already. What came after them is said first, as far
    /// as it is remembered. E2B's envd does not know this and begins with what comes.
    #[prost(uint64, optional, tag = "1001")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard: Option<u64>,
}

/// Asks for another size of a terminal.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct UpdateRequest {
    /// Whose.
    #[prost(message, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessSelector>,
    /// The terminal as it should be.
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty: Option<Pty>,
}

/// Input: one of the two.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessInput {
    /// For its standard input.
    #[prost(bytes = "bytes", optional, tag = "1")]
    #[serde(with = "base64_bytes", skip_serializing_if = "Option::is_none")]
    pub stdin: Option<Bytes>,
    /// For its terminal.
    #[prost(bytes = "bytes", optional, tag = "2")]
    #[serde(with = "base64_bytes", skip_serializing_if = "Option::is_none")]
    pub pty: Option<Bytes>,
}

/// Input for a process.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct SendInputRequest {
    /// Which.
    #[prost(message, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessSelector>,
    /// What.
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<ProcessInput>,
}

/// A piece of streamed input.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamedInput {
    /// What.
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<ProcessInput>,
}

/// A message of StreamInput: which process first, then its input.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamInputRequest {
    /// Which process.
    #[prost(message, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Named>,
    /// Input.
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<StreamedInput>,
    /// Nothing, said so that the line stays warm.
    #[prost(message, optional, tag = "3")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keepalive: Option<Empty>,
}

/// Asks for a signal.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct SendSignalRequest {
    /// To whom.
    #[prost(message, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessSelector>,
    /// Which; E2B knows 9 and 15.
    #[prost(int32, tag = "2")]
    #[serde(with = "signals")]
    pub signal: i32,
    /// Whether its whole process group gets it. Ours alone: E2B's envd does not know of it.
    #[prost(bool, tag = "100")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub group: bool,
}

/// A process that runs.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessInfo {
    /// What it was asked to be.
    #[prost(message, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<ProcessConfig>,
    /// Its number.
    #[prost(uint32, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub pid: u32,
    /// Its tag.
    #[prost(string, optional, tag = "3")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
}

/// What runs.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct ListResponse {
    /// Each.
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub processes: Vec<ProcessInfo>,
}

/// It runs.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct StartEvent {
    /// Its number.
    #[prost(uint32, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub pid: u32,
    /// To whoever said how much was heard: how many bytes had been said before those that follow.
    #[prost(uint64, optional, tag = "1001")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
}

/// It said something: one of the three.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct DataEvent {
    /// On standard output.
    #[prost(bytes = "bytes", optional, tag = "1")]
    #[serde(with = "base64_bytes", skip_serializing_if = "Option::is_none")]
    pub stdout: Option<Bytes>,
    /// On standard error.
    #[prost(bytes = "bytes", optional, tag = "2")]
    #[serde(with = "base64_bytes", skip_serializing_if = "Option::is_none")]
    pub stderr: Option<Bytes>,
    /// On its terminal.
    #[prost(bytes = "bytes", optional, tag = "3")]
    #[serde(with = "base64_bytes", skip_serializing_if = "Option::is_none")]
    pub pty: Option<Bytes>,
}

/// It ended.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct EndEvent {
    /// Its exit code; −1 when a signal ended it.
    #[prost(sint32, tag = "1")]
    #[serde(deserialize_with = "nullable", skip_serializing_if = "is_default", alias = "exit_code")]
    pub exit_code: i32,
    /// Whether it exited by itself.
    #[prost(bool, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub exited: bool,
    /// `exit status N` or `signal: NAME`.
    #[prost(string, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub status: String,
    /// The same words when it did not end well.
    #[prost(string, optional, tag = "4")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What is heard of a process: one of the four.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessEvent {
    /// It runs.
    #[prost(message, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<StartEvent>,
    /// It said something.
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<DataEvent>,
    /// It ended.
    #[prost(message, optional, tag = "3")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<EndEvent>,
    /// Nothing happened for a while.
    #[prost(message, optional, tag = "4")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keepalive: Option<Empty>,
}

/// An event on its stream.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct EventResponse {
    /// The event.
    #[prost(message, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<ProcessEvent>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Codec;

    #[test]
    fn what_the_official_sdks_send_is_understood() {
        let sent = br#"{"process":{"cmd":"/bin/bash","args":["-l","-c","echo hi"],"envs":{"X":"y"},"cwd":null},"stdin":false,"future":1}"#;
        let Ok(request) = Codec::Json.decode::<StartRequest>(sent) else { panic!("it was not understood") };
        let process = request.process.clone().unwrap_or_default();
        assert_eq!((process.cmd.as_str(), process.args.len(), request.stdin), ("/bin/bash", 3, Some(false)));
        let again = Codec::Proto.decode::<StartRequest>(&Codec::Proto.encode(&request));
        assert_eq!(again.as_ref(), Ok(&request));
    }

    #[test]
    fn a_zero_exit_is_left_out_and_bytes_are_base64() {
        let end = EndEvent { exited: true, status: "exit status 0".into(), ..Default::default() };
        assert_eq!(Codec::Json.encode(&end), r#"{"exited":true,"status":"exit status 0"}"#);
        let data = DataEvent { stdout: Some("hi\n".into()), ..Default::default() };
        assert_eq!(Codec::Json.encode(&data), r#"{"stdout":"aGkK"}"#);
        assert_eq!(Codec::Json.decode::<DataEvent>(br#"{"stdout":"aGkK"}"#), Ok(data));
        for spelled in [r#"{"pty":"-_8"}"#, r#"{"pty":"+/8="}"#] {
            let data = Codec::Json.decode::<DataEvent>(spelled.as_bytes());
            assert_eq!(data.map(|data| data.pty), Ok(Some(Bytes::from_static(&[0xfb, 0xff]))));
        }
    }

    #[test]
    fn signals_are_known_by_name_and_by_number() {
        for (spelled, number) in [("\"SIGNAL_SIGKILL\"", 9), ("\"SIGINT\"", 2), ("\"USR1\"", 10), ("37", 37)] {
            let request = format!(r#"{{"process":{{"pid":1}},"signal":{spelled}}}"#);
            let understood = Codec::Json.decode::<SendSignalRequest>(request.as_bytes());
            assert_eq!(understood.map(|request| request.signal), Ok(number));
        }
        assert!(Codec::Json.decode::<SendSignalRequest>(br#"{"signal":"SIGNONE"}"#).is_err());
    }
}
