//! Webhooks out: addresses that hear what happens in the house.
//!
//! A hook is a reader of the journal with a cursor of its own. What was delivered is behind the cursor; what was not is
//! tried again, in order, so that nothing is lost by a crash and nothing overtakes anything.

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{HookId, KeyId, Malformed, SecretName, ids::name, public::Kind};

name!(
    /// Where a hook is called: an address of the web without a name or password in it.
    HookUrl,
    "the address of a hook begins with https://, http:// or nats://, names a host, holds no user, password, fragment or \
     space, and has at most 2048 characters",
    is_address
);
name!(
    /// What a hook wants to hear: a kind of entry such as `task`, or one word of it such as `task.needs_you`.
    Topic,
    "a topic is a kind of event such as `task`, or a kind and what became of it, such as `task.needs_you`",
    |text| {
        let (kind, word) = text.split_once('.').unwrap_or((text, "any"));
        Kind::ALL.iter().any(|known| known.word() == kind)
            && !word.is_empty()
            && word.len() <= 40
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    }
);

fn is_address(text: &str) -> bool {
    let Some(rest) = ["https://", "http://", "nats://"].iter().find_map(|scheme| text.strip_prefix(scheme)) else {
        return false;
    };
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    let plain = text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'<' | b'>' | b'\\' | b'#'));
    text.len() <= 2048 && plain && !host.is_empty() && !host.contains('@')
}

impl Topic {
    /// Whether something that happened is what is wanted.
    pub fn covers(&self, happened: &str) -> bool {
        happened == self.0 || happened.strip_prefix(self.0.as_str()).is_some_and(|rest| rest.starts_with('.'))
    }
}

/// A hook, as its row remembers it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hook {
    /// Its name.
    pub id: HookId,
    /// Where it is called.
    pub url: HookUrl,
    /// What it wants to hear.
    pub events: Vec<Topic>,
    /// The last entry of the journal that it needs no more.
    pub cursor: i64,
    /// How often the present entry could not be delivered.
    #[serde(default)]
    pub failures: u32,
    /// When it is tried again.
    #[serde(default)]
    pub next_attempt_at: Option<Timestamp>,
    /// Why nothing is delivered any more; people start it again by a replay.
    #[serde(default)]
    pub stopped: Option<String>,
    /// How the last try went.
    #[serde(default)]
    pub last: Option<Delivery>,
    /// How many entries were delivered.
    #[serde(default)]
    pub delivered: u64,
    /// Who added it.
    pub created_by: KeyId,
    /// When.
    pub created_at: Timestamp,
    /// Counts the changes of the row.
    pub revision: i64,
}

impl Hook {
    /// The secret of the house that its deliveries are signed with.
    pub fn secret_name(&self) -> SecretName {
        self.id.as_str().replace('_', "-").parse().expect("a hook's id makes a good name")
    }

    /// Whether it wants to hear of something.
    pub fn wants(&self, happened: &str) -> bool {
        self.events.iter().any(|topic| topic.covers(happened))
    }
}

/// How a try to deliver went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Delivery {
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The entry; nothing for a test.
    pub cursor: Option<i64>,
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// What was wrong.
    pub error: Option<String>,
    /// How long it took.
    pub took_ms: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_covers_its_kind_or_one_word_of_it() {
        let topic = |text: &str| text.parse::<Topic>().unwrap();
        assert!(topic("task").covers("task.needs_you") && topic("task").covers("task"));
        assert!(topic("task.needs_you").covers("task.needs_you"));
        assert!(!topic("task.needs_you").covers("task.needs") && !topic("task").covers("tasks.x"));
        for bad in ["", "tasks", "task.", "task.X", "task.a.b", ".", "task.needs you"] {
            assert!(bad.parse::<Topic>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_address_of_a_hook_holds_no_password_and_is_of_the_web() {
        for good in
            ["https://chat.example/hook?x=1", "http://127.0.0.1:8080/", "https://[::1]/a", "nats://bus:4222/carrel"]
        {
            assert!(good.parse::<HookUrl>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "ftp://x/",
            "https://",
            "https:///x",
            "https://me:pw@host/",
            "https://h/#f",
            "https://h/a b",
            "file:///etc",
            "https://h/\n",
            "gopher://x",
        ] {
            assert!(bad.parse::<HookUrl>().is_err(), "{bad:?}");
        }
    }
}
