//! What secrets look like. The rules are facts in `secrets.toml`, so that they can be kept without touching code.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use serde::Deserialize;

use crate::GitError;

/// A set of rules, ready to be asked.
#[derive(Debug)]
pub struct SecretRules {
    rules: Vec<Rule>,
    all: RegexSet,
    allowed: RegexSet,
}

/// One kind of secret.
#[derive(Debug)]
pub struct Rule {
    /// Its name, for rules and sentences.
    pub id: String,
    /// What it looks like, as the middle of a sentence.
    pub description: String,
    pattern: Regex,
    entropy: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sheet {
    /// Values that look like secrets and are none: examples, placeholders.
    allow: Vec<String>,
    rule: Vec<SheetRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SheetRule {
    id: String,
    description: String,
    /// Its first group, when it has one, is the secret itself.
    regex: String,
    /// How mixed the secret must be, in bits a character, so that placeholders are let by.
    #[serde(default)]
    entropy: f64,
}

/// Whoever writes a line that only looks like a secret says so on it.
const MARKS: [&[u8]; 2] = [b"carrel:allow", b"gitleaks:allow"];

impl SecretRules {
    /// The rules that come with Carrel.
    pub fn shipped() -> Arc<SecretRules> {
        static SHIPPED: OnceLock<Arc<SecretRules>> = OnceLock::new();
        let read =
            || Arc::new(SecretRules::read(include_str!("secrets.toml")).expect("our own rules are read by a test"));
        Arc::clone(SHIPPED.get_or_init(read))
    }

    /// Rules of another sheet of the same form.
    pub fn read(text: &str) -> Result<SecretRules, GitError> {
        let odd = |error: &dyn std::fmt::Display| {
            GitError::unfit(format!("the rules for secrets are not understood: {error}"))
        };
        let sheet: Sheet = toml::from_str(text).map_err(|error| odd(&error))?;
        let mut rules = Vec::with_capacity(sheet.rule.len());
        for rule in &sheet.rule {
            let pattern = RegexBuilder::new(&rule.regex).unicode(false).build().map_err(|error| odd(&error))?;
            let (id, description) = (rule.id.clone(), rule.description.clone());
            rules.push(Rule { id, description, pattern, entropy: rule.entropy });
        }
        let set = |patterns: Vec<&str>| RegexSetBuilder::new(patterns).unicode(false).size_limit(64 << 20).build();
        let all = set(sheet.rule.iter().map(|rule| rule.regex.as_str()).collect()).map_err(|error| odd(&error))?;
        let allowed = set(sheet.allow.iter().map(String::as_str).collect()).map_err(|error| odd(&error))?;
        Ok(SecretRules { rules, all, allowed })
    }

    /// The first rule that a line breaks.
    pub fn find(&self, line: &[u8]) -> Option<&Rule> {
        let matches = self.all.matches(line);
        if !matches.matched_any() || MARKS.iter().any(|mark| line.windows(mark.len()).any(|word| word == *mark)) {
            return None;
        }
        matches.into_iter().map(|index| &self.rules[index]).find(|rule| {
            rule.pattern.captures_iter(line).any(|found| {
                let secret = found.get(1).or_else(|| found.get(0)).map_or(&b""[..], |found| found.as_bytes());
                entropy(secret) >= rule.entropy && !self.allowed.is_match(secret)
            })
        })
    }
}

/// How mixed a text is, in bits a character.
fn entropy(text: &[u8]) -> f64 {
    let mut counts: HashMap<u8, f64> = HashMap::new();
    text.iter().for_each(|byte| *counts.entry(*byte).or_default() += 1.0);
    let total = text.len() as f64;
    counts.values().map(|count| -(count / total) * (count / total).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Put together here, so that no scanner takes this file for a leak.
    fn samples() -> Vec<(&'static str, String)> {
        let mixed =
            "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzA1bC2dE3fG4hJ5kL6mN7pQ8rS9tU0vWxYzaBcDeFgHjKmNpQrStUvWxYz123456789";
        let part = |length: usize| &mixed[..length];
        vec![
            ("aws-access-key", format!("key = AKIA{}", "Z7QXM3RTPLK2WV5N")),
            ("github-token", format!("TOKEN=ghp_{}", part(36))),
            ("github-fine-grained-token", format!("github_pat_{}", part(82))),
            ("gitlab-token", format!("x: glpat-{}", part(20))),
            ("slack-token", format!("xoxb-{}-{}-{}", "123456789012", "123456789012", part(24))),
            ("stripe-key", format!("sk_live_{}", part(24))),
            ("private-key", "-----BEGIN OPENSSH PRIVATE KEY-----".into()),
            ("private-key", "-----BEGIN RSA PRIVATE KEY-----".into()),
            ("google-api-key", format!("AIza{}", part(35))),
            ("anthropic-key", format!("sk-ant-api03-{}AA", part(93))),
            ("openai-key", format!("sk-proj-{}", part(48))),
            ("npm-token", format!("npm_{}", part(36))),
            ("pypi-token", format!("pypi-AgEIcHlwaS5vcmc{}", part(60))),
            ("age-key", format!("AGE-SECRET-KEY-1{}", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE")),
            ("carrel-key", format!("crl_{}", "0123456789abcdef0123456789abcdef01234567")),
            ("password-in-address", format!("postgres://app:{}@db.example.net/app", part(14))),
            ("generic-secret", format!("client_secret = \"{}\"", part(32))),
        ]
    }

    #[test]
    fn each_kind_of_secret_is_found() {
        let rules = SecretRules::shipped();
        for (id, line) in samples() {
            assert_eq!(rules.find(line.as_bytes()).map(|rule| rule.id.as_str()), Some(id), "{id}");
        }
    }

    #[test]
    fn placeholders_and_marked_lines_are_let_by() {
        let rules = SecretRules::shipped();
        let marked = samples().into_iter().map(|(_, line)| format!("{line} # carrel:allow"));
        let harmless = [
            "AKIAIOSFODNN7EXAMPLE".to_owned(),
            format!("ghp_{}", "x".repeat(36)),
            "password = \"changeme\"".into(),
            "client_secret = \"${CLIENT_SECRET}\"".into(),
            "postgres://user:password@localhost/db".into(),
            "https://user:$TOKEN@example.org".into(),
            "let key = std::env::var(\"API_KEY\")?;".into(),
            "-----BEGIN PUBLIC KEY-----".into(),
            "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=".into(),
        ];
        for line in marked.chain(harmless) {
            assert!(rules.find(line.as_bytes()).is_none(), "{line}: {:?}", rules.find(line.as_bytes()));
        }
    }
}
