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
    /// Words of all rules, and whose each is. Most lines have none of them.
    words: RegexSet,
    whose: Vec<usize>,
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
    /// One of them, in great or small letters, is in every line that it could find.
    words: Vec<String>,
    /// Its first group, when it has one, is the secret itself.
    regex: String,
    /// How mixed the secret must be, in bits a character, so that placeholders are let by.
    #[serde(default)]
    entropy: f64,
    /// A line that it finds, for the tests.
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "only the tests read it"))]
    finds: String,
    /// A line like it that it lets pass, for the tests.
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "only the tests read it"))]
    passes: String,
}

/// How much is remembered of where words are looked for, so that it is not worked out again for every line.
const MOST_REMEMBERED: usize = 16 << 20;

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
        let pairs =
            || sheet.rule.iter().enumerate().flat_map(|(index, rule)| rule.words.iter().map(move |word| (index, word)));
        let whose = pairs().map(|(index, _)| index).collect();
        let mut words = RegexSetBuilder::new(pairs().map(|(_, word)| regex::escape(word)));
        let words = words.unicode(false).case_insensitive(true).dfa_size_limit(MOST_REMEMBERED).build();
        let words = words.map_err(|error| odd(&error))?;
        let allowed = RegexSetBuilder::new(&sheet.allow).unicode(false).build().map_err(|error| odd(&error))?;
        Ok(SecretRules { rules, words, whose, allowed })
    }

    /// The first rule that a line breaks.
    pub fn find(&self, line: &[u8]) -> Option<&Rule> {
        let words = self.words.matches(line);
        if !words.matched_any() || MARKS.iter().any(|mark| line.windows(mark.len()).any(|word| word == *mark)) {
            return None;
        }
        // Words are in the order of their rules, so that the first rule is asked first.
        let mut rules: Vec<usize> = words.into_iter().map(|word| self.whose[word]).collect();
        rules.dedup();
        rules.into_iter().map(|index| &self.rules[index]).find(|rule| {
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

    /// A line of the sheet with its places filled. Put together here, so that no scanner takes the sheet for a leak.
    fn filled(line: &str) -> String {
        let uuid = "{hex8}-{hex4}-{hex4}-{hex4}-{hex12}";
        let mut text = line.replace("{uuid}", uuid);
        for (kind, letters) in [
            ("hex", "0123456789abcdef"),
            (
                "mixed",
                "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzA1bC2dE3fG4hJ5kL6mN7pQ8rS9tU0vWxYzaBcDeFgHjKmNpQrStUvWxYz123456789",
            ),
            ("lower", "a7b3c9d1e5f2g8h4j6k0m7n3p9q1r5s2t8u4v6w0xyz"),
            ("upper", "Z7QXM3RTPLK2WV5NABCDEFGHIJSUYO46"),
            ("bech", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
            ("digits", "2345678901"),
            ("dash", "-"),
            ("x", "x"),
        ] {
            while let Some(at) = text.find(&format!("{{{kind}")) {
                let (before, rest) = text.split_at(at);
                let (count, after) = rest[kind.len() + 1..].split_once('}').unwrap();
                let letters = letters.chars().cycle().take(count.parse().unwrap());
                text = format!("{before}{}{after}", letters.collect::<String>());
            }
        }
        text
    }

    fn sheet() -> Vec<SheetRule> {
        toml::from_str::<Sheet>(include_str!("secrets.toml")).unwrap().rule
    }

    #[test]
    fn each_kind_of_secret_is_found_by_its_own_rule_and_what_is_only_like_it_passes() {
        let rules = SecretRules::shipped();
        let found = |line: &str| rules.find(filled(line).as_bytes()).map(|rule| rule.id.as_str());
        for rule in sheet() {
            assert!(!rule.finds.is_empty() && !rule.passes.is_empty(), "{} has no lines to be tried with", rule.id);
            assert_eq!(found(&rule.finds), Some(rule.id.as_str()), "{}", rule.finds);
            assert_eq!(found(&rule.passes), None, "{}: {}", rule.id, rule.passes);
        }
    }

    #[test]
    fn the_sheet_itself_holds_no_secret() {
        let rules = SecretRules::shipped();
        for (number, line) in include_str!("secrets.toml").lines().enumerate() {
            assert!(rules.find(line.as_bytes()).is_none(), "line {}: {line}", number + 1);
        }
    }

    #[test]
    fn placeholders_and_marked_lines_are_let_by() {
        let rules = SecretRules::shipped();
        let marked = sheet().into_iter().map(|rule| format!("{} # carrel:allow", filled(&rule.finds)));
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
