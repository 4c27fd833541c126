//! The names of things. A name that exists is well formed: it can only be made by the rule that checks it.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::number::Whole;

/// A name that does not follow its rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{rule}")]
pub struct Malformed {
    /// The rule, as a sentence a person can follow.
    pub rule: &'static str,
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $rule:literal, $follows:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
        #[serde(try_from = "String", into = "String")]
        #[schema(value_type = String)]
        pub struct $name(String);

        impl $name {
            /// The rule that every name of this kind follows.
            pub const RULE: &'static str = $rule;

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = Malformed;
            fn try_from(text: String) -> Result<Self, Malformed> {
                let follows: fn(&str) -> bool = $follows;
                if follows(&text) { Ok(Self(text)) } else { Err(Malformed { rule: $rule }) }
            }
        }

        impl FromStr for $name {
            type Err = Malformed;
            fn from_str(text: &str) -> Result<Self, Malformed> {
                text.to_owned().try_into()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

pub(crate) use name;

name!(
    /// Names a sandbox: twenty characters as E2B has them, safe in host names, paths and branch names.
    SandboxId,
    "a sandbox id is 20 lower-case letters or digits",
    |text| text.len() == 20 && text.bytes().all(is_lower_or_digit)
);
name!(
    /// Names a key. It is not the secret.
    KeyId,
    "a key id is `key_` and 16 hexadecimal digits",
    |text| is_prefixed_hex(text, "key_", 16)
);
name!(
    /// Names one `carrel serve` and its data directory, across restarts.
    NodeId,
    "a node id is `node_` and 16 hexadecimal digits",
    |text| is_prefixed_hex(text, "node_", 16)
);
name!(
    /// Names an exec, and so its transcript.
    ExecId,
    "an exec id is `exec_` and 16 hexadecimal digits",
    |text| is_prefixed_hex(text, "exec_", 16)
);
name!(
    /// Names a push.
    PushId,
    "a push id is `push_` and 16 hexadecimal digits",
    |text| is_prefixed_hex(text, "push_", 16)
);
name!(
    /// Names a session.
    SessionId,
    "a session id is `ses_` and 16 hexadecimal digits",
    |text| is_prefixed_hex(text, "ses_", 16)
);
name!(
    /// Names a volume.
    VolumeId,
    "a volume id is `vol_` and 16 hexadecimal digits",
    |text| is_prefixed_hex(text, "vol_", 16)
);
name!(
    /// What people call a volume.
    VolumeName,
    "the name of a volume is 1 to 128 letters, digits, `_` or `-`",
    |text| (1..=128).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
);
name!(
    /// Names a hook: an address that hears what happens.
    HookId,
    "a hook id is `hook_` and 16 hexadecimal digits",
    |text| is_prefixed_hex(text, "hook_", 16)
);
name!(
    /// Names an agent.
    AgentId,
    "an agent id is 1 to 63 lower-case letters, digits, `.`, `_` or `-`, and begins with a letter or digit",
    |text| is_slug(text, 63, b"._-")
);
name!(
    /// Names a provider: a place where sandboxes live.
    ProviderName,
    "a provider name is 1 to 63 lower-case letters, digits, `_` or `-`, and begins with a letter or digit",
    |text| is_slug(text, 63, b"_-")
);
name!(
    /// Names a template: what a sandbox starts from.
    TemplateName,
    "a template name is 1 to 127 lower-case letters, digits, `.`, `_`, `-`, `/` or `:`, and begins with a letter or digit",
    |text| is_slug(text, 127, b"._-/:")
);
name!(
    /// Names a secret, such as `github-token`.
    SecretName,
    "a secret name is 1 to 63 lower-case letters, digits, `.`, `_` or `-`, and begins with a letter or digit",
    |text| is_slug(text, 63, b"._-")
);

impl SandboxId {
    /// A new id from random bytes.
    pub fn from_random(bytes: [u8; 16]) -> Self {
        const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
        let mut rest = u128::from_le_bytes(bytes);
        let mut text = String::with_capacity(20);
        text.push('i');
        for _ in 0..19 {
            text.push(char::from(DIGITS[(rest % 36) as usize]));
            rest /= 36;
        }
        Self(text)
    }
}

macro_rules! random_id {
    ($($name:ident, $prefix:literal);+) => {$(
        impl $name {
            /// A new id from random bytes.
            pub fn from_random(bytes: [u8; 8]) -> Self {
                Self(format!(concat!($prefix, "{:016x}"), u64::from_le_bytes(bytes)))
            }
        }
    )+};
}
random_id!(KeyId, "key_"; NodeId, "node_"; ExecId, "exec_"; PushId, "push_"; SessionId, "ses_"; VolumeId, "vol_"; HookId, "hook_");

/// Names a task: a whole number, counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(from = "AnyTask", into = "i64")]
#[schema(value_type = i64, minimum = 1)]
pub struct TaskId(i64);

type AnyTask = Whole<1, { i64::MAX as u64 }>;

impl From<AnyTask> for TaskId {
    fn from(number: AnyTask) -> TaskId {
        TaskId(number.get() as i64)
    }
}

impl FromStr for TaskId {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        text.parse::<AnyTask>().map(TaskId::from)
    }
}

impl TryFrom<String> for TaskId {
    type Error = Malformed;
    /// A number, or a branch that is named after one.
    fn try_from(text: String) -> Result<Self, Malformed> {
        let digits = text.strip_prefix("task-").unwrap_or(&text);
        digits.parse().map_err(|_| Malformed { rule: "a task id is a whole number from 1 up" })
    }
}

impl TryFrom<i64> for TaskId {
    type Error = Malformed;
    fn try_from(number: i64) -> Result<Self, Malformed> {
        if number >= 1 { Ok(Self(number)) } else { Err(Malformed { rule: "a task id is a whole number from 1 up" }) }
    }
}

impl From<TaskId> for i64 {
    fn from(id: TaskId) -> i64 {
        id.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn is_lower_or_digit(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn is_prefixed_hex(text: &str, prefix: &str, digits: usize) -> bool {
    text.strip_prefix(prefix).is_some_and(|rest| {
        rest.len() == digits && rest.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    })
}

pub(crate) fn is_slug(text: &str, most: usize, also: &[u8]) -> bool {
    (1..=most).contains(&text.len())
        && text.bytes().next().is_some_and(is_lower_or_digit)
        && text.bytes().all(|b| is_lower_or_digit(b) || also.contains(&b))
        && !text.contains("..")
        && !text.contains("//")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_that_breaks_its_rule_cannot_be_made() {
        for bad in [
            "",
            "short",
            "UPPERCASEUPPERCASE12",
            "../../../etc/passwd0",
            "i23456789012345678 0",
            "i2345678901234567890",
        ] {
            let made: Result<SandboxId, _> = bad.parse();
            assert_eq!(made.is_ok(), bad == "i2345678901234567890", "{bad:?}");
        }
        assert!("base/../root".parse::<TemplateName>().is_err());
        assert!("-rf".parse::<AgentId>().is_err());
        assert!(TaskId::try_from(0).is_err());
    }

    proptest! {
        #[test]
        fn ids_from_random_bytes_follow_their_own_rule(long: [u8; 16], short: [u8; 8]) {
            let sandbox = SandboxId::from_random(long);
            prop_assert_eq!(sandbox.as_str().parse::<SandboxId>().unwrap(), sandbox);
            let key = KeyId::from_random(short);
            prop_assert_eq!(key.as_str().parse::<KeyId>().unwrap(), key);
        }

        #[test]
        fn no_text_makes_a_name_that_could_leave_its_folder(text in ".*") {
            if let Ok(name) = text.parse::<TemplateName>() {
                prop_assert!(!name.as_str().starts_with(['/', '-', '.']) && !name.as_str().contains(".."));
            }
        }
    }
}
