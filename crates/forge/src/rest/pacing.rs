//! Holding back. A forge says how much may still be asked and when to come back; whoever asks all the same is shut out
//! for longer.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard},
};

use carrel_model::Timestamp;
use http::{HeaderMap, StatusCode};
use jiff::SignedDuration;

use super::refusal;
use crate::ForgeError;

/// The first rest after a limit that says nothing of its end, and the longest.
const FIRST_REST: SignedDuration = SignedDuration::from_secs(60);
const LONGEST_REST: SignedDuration = SignedDuration::from_mins(60);

/// How much may be asked of one server with one credential.
pub(super) struct Pacing {
    host: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Until when a budget is used up, by its name.
    spent: HashMap<&'static str, Timestamp>,
    /// Until when nothing at all is to be asked.
    shut: Option<Timestamp>,
    /// Limits without an end that were met one after the other.
    strikes: u32,
}

impl Pacing {
    pub(super) fn new(host: &str) -> Pacing {
        Pacing { host: host.to_owned(), state: Mutex::default() }
    }

    /// Lets a question pass, or says when it may.
    pub(super) fn admit(&self, resource: &'static str) -> Result<(), ForgeError> {
        let state = self.state();
        let until = state.spent.get(resource).copied().max(state.shut);
        match until {
            Some(until) if Timestamp::now() < until => Err(ForgeError::Limited { until }),
            _ => Ok(()),
        }
    }

    /// Takes note of the budget that an answer tells of.
    pub(super) fn heed(&self, resource: &'static str, headers: &HeaderMap) {
        let (Some(remaining), Some(limit)) =
            (number(headers, "x-ratelimit-remaining"), number(headers, "x-ratelimit-limit"))
        else {
            return;
        };
        let gauge = |name: &'static str, value: i64| {
            metrics::gauge!(name, "forge" => self.host.clone(), "resource" => resource).set(value as f64);
        };
        gauge("carrel_forge_budget_remaining", remaining);
        gauge("carrel_forge_budget_limit", limit);
        let reset = number(headers, "x-ratelimit-reset").and_then(|at| Timestamp::from_second(at).ok());
        if let Some(reset) = reset {
            gauge("carrel_forge_budget_reset_timestamp_seconds", reset.as_second());
        }
        let mut state = self.state();
        match reset {
            Some(reset) if remaining == 0 => drop(state.spent.insert(resource, reset)),
            _ => drop(state.spent.remove(resource)),
        }
    }

    /// Something was answered: the next limit without an end is the first again.
    pub(super) fn answered(&self) {
        self.state().strikes = 0;
    }

    /// Understands a refusal, and remembers it when it asks for patience.
    pub(super) fn refused(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
        resource: &'static str,
    ) -> ForgeError {
        let said = refusal::Said::from(body);
        let mut state = self.state();
        let now = Timestamp::now();
        if !is_limit(status, headers, &said) {
            state.strikes = 0;
            return refusal::error(status, headers, &said, &self.host);
        }
        let after =
            number(headers, "retry-after").map(|seconds| now + SignedDuration::from_secs(seconds.clamp(1, 86_400)));
        let until =
            after.or_else(|| state.spent.get(resource).copied().filter(|until| *until > now)).unwrap_or_else(|| {
                state.strikes += 1;
                let doubled = FIRST_REST * 2_i32.saturating_pow(state.strikes.min(8) - 1);
                now + doubled.min(LONGEST_REST)
            });
        state.shut = state.shut.max(Some(until));
        metrics::counter!("carrel_forge_limited_total", "forge" => self.host.clone()).increment(1);
        tracing::warn!(forge = self.host, %until, "the forge asks for patience");
        ForgeError::Limited { until }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics while pacing")
    }
}

/// GitHub answers a limit with 403 or 429; what sets it apart from a lack of permissions are headers or the words.
fn is_limit(status: StatusCode, headers: &HeaderMap, said: &refusal::Said) -> bool {
    match status {
        StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::FORBIDDEN => {
            headers.contains_key("retry-after")
                || number(headers, "x-ratelimit-remaining") == Some(0)
                || ["rate limit", "abuse detection"].iter().any(|words| said.message.to_lowercase().contains(words))
        }
        StatusCode::SERVICE_UNAVAILABLE => headers.contains_key("retry-after"),
        _ => false,
    }
}

fn number(headers: &HeaderMap, name: &str) -> Option<i64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, String)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse::<http::HeaderName>().unwrap(), value.parse().unwrap())).collect()
    }

    fn until(error: ForgeError) -> i64 {
        let ForgeError::Limited { until } = error else { panic!("{error:?} is no limit") };
        until.as_second() - Timestamp::now().as_second()
    }

    #[test]
    fn a_used_up_budget_holds_back_until_it_is_new_and_leaves_the_others_alone() {
        let pacing = Pacing::new("x.example");
        let reset = (Timestamp::now().as_second() + 600).to_string();
        let spent = |remaining: &str| {
            headers(&[
                ("x-ratelimit-limit", "5000".into()),
                ("x-ratelimit-remaining", remaining.into()),
                ("x-ratelimit-reset", reset.clone()),
            ])
        };
        pacing.heed("core", &spent("1"));
        assert_eq!(pacing.admit("core"), Ok(()));
        pacing.heed("core", &spent("0"));
        assert!((599..=600).contains(&until(pacing.admit("core").unwrap_err())));
        assert_eq!(pacing.admit("graphql"), Ok(()));
    }

    #[test]
    fn a_limit_is_told_from_a_lack_of_permissions() {
        let forbidden = StatusCode::FORBIDDEN;
        let body = |text: &str| serde_json::json!({ "message": text }).to_string().into_bytes();
        let pacing = Pacing::new("x.example");
        let denied = pacing.refused(forbidden, &headers(&[]), &body("Resource not accessible by integration"), "core");
        assert!(matches!(denied, ForgeError::Denied { .. }));
        assert_eq!(pacing.admit("core"), Ok(()));

        let after = headers(&[("retry-after", "30".into())]);
        let limited = pacing.refused(forbidden, &after, &body("Slow down"), "core");
        assert!((29..=30).contains(&until(limited)));
        assert!(pacing.admit("graphql").is_err(), "a secondary limit is about everything");
    }

    #[test]
    fn limits_that_name_no_end_are_met_with_longer_and_longer_rests() {
        let pacing = Pacing::new("x.example");
        let body = br#"{"message": "You have exceeded a secondary rate limit. Please wait a few minutes."}"#;
        let rests: Vec<_> =
            (0..3).map(|_| until(pacing.refused(StatusCode::FORBIDDEN, &headers(&[]), body, "core"))).collect();
        assert!(rests[0] >= 59 && rests[1] >= 119 && rests[2] >= 239, "{rests:?}");
        // Answered again, it begins anew. Older Enterprise Servers use other words.
        pacing.answered();
        let body = br#"{"message": "You have triggered an abuse detection mechanism."}"#;
        let rest = until(pacing.refused(StatusCode::FORBIDDEN, &headers(&[]), body, "core"));
        assert!((59..=60).contains(&rest), "{rest}");
    }
}
