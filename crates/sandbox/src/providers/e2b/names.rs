//! The names of snapshots: ours on one side, what E2B takes for a name on the other.
//!
//! A name at E2B has lower-case letters, digits, `-` and `_`. Ours have `.`, `/` and `:` too; `_` and a letter stands for
//! each. The mark of the house is in front, so that houses with one key do not see each other's.

use carrel_model::{TemplateName, template::SNAPSHOT};

/// Longer ones are not taken.
const LONGEST: usize = 128;

/// What E2B is told to call a snapshot; nothing when the name is too long for it.
pub(super) fn kept_as(house: &str, name: &TemplateName) -> Option<String> {
    let own = name.as_str().strip_prefix(SNAPSHOT)?;
    let mut text = format!("carrel-{house}-");
    for letter in own.chars() {
        match letter {
            '_' => text.push_str("__"),
            '.' => text.push_str("_d"),
            '/' => text.push_str("_s"),
            ':' => text.push_str("_c"),
            letter => text.push(letter),
        }
    }
    (text.len() <= LONGEST).then_some(text)
}

/// Our name for a snapshot of this house, from one of the names that E2B tells: `team/name:tag`, or parts of it.
pub(super) fn known_as(house: &str, told: &str) -> Option<TemplateName> {
    let bare = told.rsplit('/').next()?.split(':').next()?;
    let coded = bare.strip_prefix("carrel-")?.strip_prefix(house)?.strip_prefix('-')?;
    let mut own = String::from(SNAPSHOT);
    let mut letters = coded.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '_' => own.push(match letters.next()? {
                '_' => '_',
                'd' => '.',
                's' => '/',
                'c' => ':',
                _ => return None,
            }),
            letter => own.push(letter),
        }
    }
    own.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_snapshot_of_another_house_is_not_ours() {
        let name: TemplateName = "snapshot/before".parse().unwrap();
        let told = kept_as("aa11", &name).unwrap();
        assert_eq!(told, "carrel-aa11-before");
        assert_eq!(known_as("aa11", &format!("team/{told}:default")), Some(name));
        assert_eq!(known_as("aa1", &told), None);
        assert_eq!(known_as("bb22", &told), None);
        assert_eq!(known_as("aa11", "base"), None);
        assert_eq!(kept_as("aa11", &"base".parse().unwrap()), None);
    }

    proptest! {
        #[test]
        fn every_name_comes_back_as_it_was(own in "[a-z0-9][a-z0-9._/:-]{0,60}") {
            if let Ok(name) = format!("snapshot/{own}").parse::<TemplateName>() {
                let kept = kept_as("f00", &name).unwrap();
                prop_assert!(kept.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_'));
                prop_assert_eq!(known_as("f00", &format!("team/{kept}:default")), Some(name));
            }
        }
    }
}
