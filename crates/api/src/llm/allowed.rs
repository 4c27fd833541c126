//! What may be asked of a provider. Everything else stays inside: files, fine-tuning and administration are not for agents.

use axum::http::Method;
use carrel_control::Dialect;

/// A request that is passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Allowed {
    path: String,
    kind: Kind,
}

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Anthropic's messages.
    Messages,
    /// OpenAI's chat completions.
    Chat,
    /// OpenAI's responses.
    Responses,
    /// OpenAI's embeddings.
    Embeddings,
    /// It costs nothing: lists of models, counting beforehand.
    Free,
}

const ANTHROPIC: [(&str, Kind); 2] = [("v1/messages", Kind::Messages), ("v1/messages/count_tokens", Kind::Free)];
const OPENAI: [(&str, Kind); 3] =
    [("v1/chat/completions", Kind::Chat), ("v1/responses", Kind::Responses), ("v1/embeddings", Kind::Embeddings)];

impl Allowed {
    /// The request, when it may be made. The path is ours, not the caller's, except for the name of a model.
    pub(super) fn find(dialect: Dialect, method: &Method, path: &str) -> Option<Allowed> {
        if *method == Method::GET {
            let models = path.strip_prefix("v1/models")?;
            let name = models.strip_prefix('/');
            let is_plain = |name: &str| {
                let plain = |c: char| c.is_ascii_alphanumeric() || "._-:@/".contains(c);
                (1..=200).contains(&name.len()) && name.chars().all(plain) && !name.contains("..")
            };
            let is_good = models.is_empty() || name.is_some_and(is_plain);
            return is_good.then(|| Allowed { path: format!("v1/models{models}"), kind: Kind::Free });
        }
        let list: &[(&str, Kind)] = match dialect {
            Dialect::Anthropic => &ANTHROPIC,
            Dialect::Openai => &OPENAI,
        };
        let (path, kind) = list.iter().find(|(known, _)| *method == Method::POST && *known == path)?;
        Some(Allowed { path: (*path).to_owned(), kind: *kind })
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_agents_need_is_passed_on() {
        let find = |dialect, method: &str, path| Allowed::find(dialect, &method.parse().unwrap(), path).is_some();
        for (method, path) in [("POST", "v1/messages"), ("POST", "v1/messages/count_tokens"), ("GET", "v1/models")] {
            assert!(find(Dialect::Anthropic, method, path), "{method} {path}");
        }
        for path in ["v1/chat/completions", "v1/responses", "v1/embeddings"] {
            assert!(find(Dialect::Openai, "POST", path) && !find(Dialect::Openai, "GET", path), "{path}");
        }
        assert!(find(Dialect::Openai, "GET", "v1/models/org/model:free"));
        for path in [
            "v1/files",
            "v1/messages/batches",
            "v1/organizations/api_keys",
            "v1/models/../files",
            "v1/modelsX",
            "v1/models/",
            "v1/models/a?b",
            "../v1/messages",
            "",
        ] {
            for dialect in [Dialect::Anthropic, Dialect::Openai] {
                assert!(!find(dialect, "GET", path) && !find(dialect, "POST", path), "{path}");
            }
        }
        assert!(!find(Dialect::Openai, "DELETE", "v1/models/mine"));
    }
}
