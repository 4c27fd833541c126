//! `filesystem.Filesystem`: what is said about files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Empty, Timestamp,
    json::{is_default, long, names, nullable},
};

/// The service's name in addresses.
pub const SERVICE: &str = "filesystem.Filesystem";

/// Neither file nor directory.
pub const UNSPECIFIED: i32 = 0;
/// A file.
pub const FILE: i32 = 1;
/// A directory.
pub const DIRECTORY: i32 = 2;
/// A symbolic link (E2B's envd says what the link leads to instead).
pub const SYMLINK: i32 = 3;

/// Something was made.
pub const CREATE: i32 = 1;
/// Something was written.
pub const WRITE: i32 = 2;
/// Something was removed.
pub const REMOVE: i32 = 3;
/// Something was renamed.
pub const RENAME: i32 = 4;
/// Something has another mode or owner.
pub const CHMOD: i32 = 5;

names!(file_type, [
    0 => "FILE_TYPE_UNSPECIFIED",
    1 => "FILE_TYPE_FILE",
    2 => "FILE_TYPE_DIRECTORY",
    3 => "FILE_TYPE_SYMLINK",
]);

names!(event_type, [
    0 => "EVENT_TYPE_UNSPECIFIED",
    1 => "EVENT_TYPE_CREATE",
    2 => "EVENT_TYPE_WRITE",
    3 => "EVENT_TYPE_REMOVE",
    4 => "EVENT_TYPE_RENAME",
    5 => "EVENT_TYPE_CHMOD",
]);

/// A file, as a listing shows it.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct EntryInfo {
    /// Its name.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// What it is; of a link, what it leads to.
    #[prost(int32, tag = "2")]
    #[serde(with = "file_type", rename = "type")]
    pub kind: i32,
    /// Its whole path.
    #[prost(string, tag = "3")]
    #[serde(deserialize_with = "nullable")]
    pub path: String,
    /// Bytes.
    #[prost(int64, tag = "4")]
    #[serde(with = "long")]
    pub size: i64,
    /// The nine permission bits; of a link, those of what it leads to.
    #[prost(uint32, tag = "5")]
    #[serde(deserialize_with = "nullable")]
    pub mode: u32,
    /// Kind and permissions as `ls` draws them.
    #[prost(string, tag = "6")]
    #[serde(deserialize_with = "nullable")]
    pub permissions: String,
    /// Owner.
    #[prost(string, tag = "7")]
    #[serde(deserialize_with = "nullable")]
    pub owner: String,
    /// Group.
    #[prost(string, tag = "8")]
    #[serde(deserialize_with = "nullable")]
    pub group: String,
    /// When it was last changed.
    #[prost(message, optional, tag = "9")]
    #[serde(skip_serializing_if = "Option::is_none", alias = "modified_time")]
    pub modified_time: Option<Timestamp>,
    /// Where it leads, when it is a link.
    #[prost(string, optional, tag = "10")]
    #[serde(skip_serializing_if = "Option::is_none", alias = "symlink_target")]
    pub symlink_target: Option<String>,
    /// What was noted with it.
    #[prost(btree_map = "string, string", tag = "11")]
    #[serde(deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Whether it is a link.
    #[prost(bool, optional, tag = "12")]
    #[serde(skip_serializing_if = "Option::is_none", alias = "is_symlink")]
    pub is_symlink: Option<bool>,
}

/// A request that only names a path: Stat, MakeDir, Remove.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct PathRequest {
    /// The path.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub path: String,
}

/// An answer that is one entry.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct EntryResponse {
    /// The entry.
    #[prost(message, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryInfo>,
}

/// Asks to move something.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct MoveRequest {
    /// From.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub source: String,
    /// To.
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "nullable")]
    pub destination: String,
}

/// Asks for a listing.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct ListDirRequest {
    /// Of this folder.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub path: String,
    /// So deep; 0 counts as 1.
    #[prost(uint32, tag = "2")]
    #[serde(deserialize_with = "nullable", skip_serializing_if = "is_default")]
    pub depth: u32,
}

/// A listing.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct ListDirResponse {
    /// What is there.
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub entries: Vec<EntryInfo>,
}

/// Asks for a watch, streamed or polled.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WatchRequest {
    /// Of this folder.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub path: String,
    /// And all below.
    #[prost(bool, tag = "2")]
    #[serde(deserialize_with = "nullable", skip_serializing_if = "is_default")]
    pub recursive: bool,
    /// With the entry in each event that has one.
    #[prost(bool, tag = "3")]
    #[serde(deserialize_with = "nullable", skip_serializing_if = "is_default", alias = "include_entry")]
    pub include_entry: bool,
    /// Also where changes made elsewhere are not heard of.
    #[prost(bool, tag = "4")]
    #[serde(deserialize_with = "nullable", skip_serializing_if = "is_default", alias = "allow_network_mounts")]
    pub allow_network_mounts: bool,
}

/// A change.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct FilesystemEvent {
    /// Of what, relative to the watched folder.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Which.
    #[prost(int32, tag = "2")]
    #[serde(with = "event_type", rename = "type")]
    pub kind: i32,
    /// As it is now.
    #[prost(message, optional, tag = "3")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryInfo>,
}

/// What is heard of a watched folder: one of the three.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct WatchDirResponse {
    /// The watch is in place.
    #[prost(message, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Empty>,
    /// Something changed.
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<FilesystemEvent>,
    /// Nothing happened for a while.
    #[prost(message, optional, tag = "3")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keepalive: Option<Empty>,
}

/// Names a watcher that is polled.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Watcher {
    /// Its name.
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "nullable", alias = "watcher_id")]
    pub watcher_id: String,
}

/// What happened since it was last asked.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct WatcherEvents {
    /// Each.
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "nullable")]
    pub events: Vec<FilesystemEvent>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Codec;

    #[test]
    fn an_entry_looks_like_e2bs() {
        let entry = EntryInfo {
            name: "a".into(),
            kind: FILE,
            path: "/tmp/a".into(),
            size: 12,
            mode: 0o644,
            permissions: "-rw-r--r--".into(),
            owner: "user".into(),
            group: "user".into(),
            modified_time: Some(Timestamp { seconds: 1_794_767_020, nanos: 810_357_000 }),
            ..Default::default()
        };
        let text = r#"{"name":"a","type":"FILE_TYPE_FILE","path":"/tmp/a","size":"12","mode":420,"permissions":"-rw-r--r--","owner":"user","group":"user","modifiedTime":"2026-11-15T18:23:40.810357Z"}"#;
        assert_eq!(Codec::Json.encode(&entry), text);
        assert_eq!(Codec::Json.decode::<EntryInfo>(text.as_bytes()).as_ref(), Ok(&entry));
        assert_eq!(Codec::Proto.decode::<EntryInfo>(&Codec::Proto.encode(&entry)), Ok(entry));
    }

    #[test]
    fn names_in_snake_case_are_understood_too() {
        let request = Codec::Json.decode::<WatchRequest>(br#"{"path":"/a","include_entry":true,"recursive":null}"#);
        assert_eq!(request.map(|request| (request.include_entry, request.recursive)), Ok((true, false)));
    }
}
