//! What a sandbox uses.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a sandbox uses now. What cannot be measured on its host is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    /// Processor time since it was made, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_us: Option<u64>,
    /// Bytes of memory, caches included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Bytes of caches in that memory, which the kernel takes back when it needs them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_bytes: Option<u64>,
    /// Bytes it has written to its own layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
    /// Processes and threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pids: Option<u64>,
    /// Bytes received from outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received_bytes: Option<u64>,
    /// Bytes sent outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_bytes: Option<u64>,
    /// How often the kernel ended a process of it for want of memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_of_memory: Option<u64>,
}
