//! Names of templates: what the SDKs call them, and what we call them.
//!
//! E2B's `name`, `name:tag`, `team/name` and ids are all names of ours. `name:default` is `name`. `base` is our `host` as
//! long as nobody has made another, and E2B's own image of it is meant too.

use carrel_model::TemplateName;

use super::Refusal;

/// What the SDKs start from when nobody says otherwise.
pub(super) const BASE: &str = "base";
/// What the code interpreter's SDKs start from.
pub(super) const INTERPRETER: &str = "code-interpreter-v1";
/// Ours, for `base`.
const HOST: &str = "host";
/// The tag of what has no tag.
pub(super) const DEFAULT_TAG: &str = "default";

/// The template that a client means.
pub(super) fn ours(text: &str) -> Result<TemplateName, Refusal> {
    let text = text.trim().to_ascii_lowercase();
    let plain = text.strip_suffix(&format!(":{DEFAULT_TAG}")).unwrap_or(&text);
    let plain = match plain {
        BASE | "e2bdev/base" | "e2bdev/base:latest" => HOST,
        "code-interpreter" | "e2bdev/code-interpreter" | "e2bdev/code-interpreter:latest" => INTERPRETER,
        other => other,
    };
    plain.parse().map_err(|malformed: carrel_model::Malformed| {
        Refusal::malformed(format!("`{text}` cannot be the name of a template: {}.", malformed.rule))
    })
}

/// What a client calls a template of ours.
pub(super) fn theirs(name: &TemplateName) -> &str {
    if name.as_str() == HOST { BASE } else { name.as_str() }
}

/// The name without its tag, and the tag.
pub(super) fn split(name: &str) -> (&str, &str) {
    match name.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (name, DEFAULT_TAG),
    }
}

/// The name with a tag.
pub(super) fn tagged(name: &str, tag: &str) -> String {
    if tag == DEFAULT_TAG { name.to_owned() } else { format!("{name}:{tag}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_sdks_call_base_is_our_host_and_back() {
        for text in ["base", "Base", "base:default", "e2bdev/base"] {
            let name = ours(text).unwrap();
            assert_eq!((name.as_str(), theirs(&name)), ("host", "base"), "{text}");
        }
        assert_eq!(ours("Team/Tool:v1").unwrap().as_str(), "team/tool:v1");
        assert_eq!(ours("tool:default").unwrap().as_str(), "tool");
        assert!(ours("../etc").is_err() && ours("").is_err());
    }

    #[test]
    fn a_tag_is_what_stands_after_the_last_colon() {
        assert_eq!(split("a/b:v1"), ("a/b", "v1"));
        assert_eq!(split("a"), ("a", "default"));
        assert_eq!(tagged("a", "default"), "a");
        assert_eq!(tagged("a", "v1"), "a:v1");
    }
}
