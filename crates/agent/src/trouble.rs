//! What errors mean: words of programs and providers in, what can be done out.

use crate::{Ending, Failure, shorten};

/// What a text says of its cause.
pub(crate) fn judge(text: &str) -> Failure {
    judge_or(text, Failure::Other)
}

/// What a text says of its cause; `otherwise` when it says nothing that we know.
///
/// The order matters: providers answer 429 for a rate and for an empty account, and speak of limits in both.
pub(crate) fn judge_or(text: &str, otherwise: Failure) -> Failure {
    let text = text.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if says(&BUDGET) || has_status(&text, &["402"]) {
        Failure::Budget
    } else if says(&AUTHENTICATION) || has_status(&text, &["401", "403"]) {
        Failure::Authentication
    } else if says(&PATIENCE) || has_status(&text, &["429"]) {
        Failure::RateLimited { retry_after_s: retry_after(&text) }
    } else if says(&CONVERSATION) {
        Failure::Conversation
    } else if says(&PASSING) || has_status(&text, &["500", "502", "503", "504", "529"]) {
        Failure::Transient
    } else {
        otherwise
    }
}

const BUDGET: [&str; 10] = [
    "budget",
    "insufficient_quota",
    "exceeded your current quota",
    "credit balance",
    "billing",
    "payment required",
    "out of credits",
    "insufficient credits",
    "spending limit",
    "usage limit",
];
const AUTHENTICATION: [&str; 12] = [
    "authentication",
    "unauthorized",
    "invalid api key",
    "invalid_api_key",
    "incorrect api key",
    "x-api-key",
    "permission_error",
    "not logged in",
    "please run /login",
    "auth_required",
    "api key is missing",
    "forbidden",
];
const PATIENCE: [&str; 5] = ["rate limit", "rate_limit", "ratelimit", "too many requests", "retry-after"];
const CONVERSATION: [&str; 5] = [
    "no conversation found",
    "session not found",
    "no rollout found",
    "no saved session",
    "resource not found: session",
];
const PASSING: [&str; 19] = [
    "overloaded",
    "connection reset",
    "connection refused",
    "connection error",
    "connection closed",
    "econnreset",
    "econnrefused",
    "etimedout",
    "timed out",
    "timeout",
    "temporarily",
    "stream disconnected",
    "fetch failed",
    "unable to connect",
    "internal server error",
    "bad gateway",
    "service unavailable",
    "socket hang up",
    "out of memory",
];

/// Whether a number stands there as one of these status codes, and not as a part of another number.
fn has_status(text: &str, codes: &[&str]) -> bool {
    ["status", "error", "http", "code", "api"].iter().any(|word| text.contains(word))
        && text.split(|any: char| !any.is_ascii_alphanumeric() && any != '.').any(|word| codes.contains(&word))
}

/// The number of seconds after words such as "retry after" or "try again in".
fn retry_after(text: &str) -> Option<u64> {
    let at = ["retry-after", "retry after", "retry_after", "try again in"]
        .iter()
        .find_map(|words| text.find(words).map(|at| at + words.len()))?;
    let rest = text[at..].trim_start_matches(|any: char| !any.is_ascii_digit() && any != '\n');
    let number: String = rest.chars().take_while(|any| any.is_ascii_digit() || *any == '.').collect();
    let unit = rest[number.len()..].trim_start();
    let amount: f64 = number.trim_end_matches('.').parse().ok()?;
    let seconds = match unit {
        _ if unit.starts_with("ms") || unit.starts_with("milli") => amount / 1000.0,
        _ if unit.starts_with('m') => amount * 60.0,
        _ if unit.starts_with('h') => amount * 3600.0,
        _ => amount,
    };
    (0.0..=7.0 * 86_400.0).contains(&seconds).then(|| seconds.ceil() as u64)
}

/// What an exit code says, when it says anything. `None` is an agent whose end nobody saw.
pub(crate) fn exit(exit: Option<i32>, done: bool, aside: &str, hint: &str) -> Option<Ending> {
    let because = |words: &str| match last_line(aside) {
        Some(line) => format!("{words}: {line}"),
        None => format!("{words}."),
    };
    let (why, failure) = match exit {
        Some(0) => return None,
        // It did its work and stumbled on the way out.
        Some(_) if done => return None,
        None => ("Its process was lost before it ended.".to_owned(), Failure::Transient),
        Some(126 | 127) => {
            let why = because("The program cannot be started");
            (if hint.is_empty() { why } else { format!("{why} {hint}") }, Failure::Missing)
        }
        Some(code @ 129..=192) => {
            (because(&format!("It was ended by signal {}", code - 128)), judge_or(aside, Failure::Transient))
        }
        Some(code) => (because(&format!("It ended with exit code {code}")), judge(aside)),
    };
    Some(Ending::Failed { why, failure })
}

/// The last line that says something.
pub(crate) fn last_line(text: &str) -> Option<String> {
    text.lines().rev().map(shorten::line).find(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_programs_and_providers_have_a_meaning() {
        for (text, meaning) in [
            ("API Error: 529 Overloaded", Failure::Transient),
            ("Error: 429 Too Many Requests, retry after 12.5 s", Failure::RateLimited { retry_after_s: Some(13) }),
            ("rate_limit_error: try again in 2m", Failure::RateLimited { retry_after_s: Some(120) }),
            ("429 You exceeded your current quota, please check your plan and billing details", Failure::Budget),
            ("HTTP 402: the task's budget of 2 USD is spent", Failure::Budget),
            ("Invalid API key · Please run /login", Failure::Authentication),
            ("unexpected status 401 Unauthorized", Failure::Authentication),
            ("stream disconnected before completion", Failure::Transient),
            ("No conversation found with session ID: 1234", Failure::Conversation),
            ("the file has 429 lines", Failure::Other),
            ("error: expected 1401 rows", Failure::Other),
            ("panicked at main.rs", Failure::Other),
        ] {
            assert_eq!(judge(text), meaning, "{text}");
        }
    }

    #[test]
    fn exit_codes_of_the_shell_are_understood() {
        let missing = exit(Some(127), false, "sh: 1: codex: not found\n", "Install it.");
        assert_eq!(
            missing,
            Some(Ending::Failed {
                why: "The program cannot be started: sh: 1: codex: not found Install it.".into(),
                failure: Failure::Missing
            })
        );
        assert!(matches!(exit(Some(137), false, "", ""), Some(Ending::Failed { failure: Failure::Transient, .. })));
        assert_eq!(exit(Some(1), true, "", ""), None);
        assert!(matches!(exit(None, true, "", ""), Some(Ending::Failed { failure: Failure::Transient, .. })));
    }
}
