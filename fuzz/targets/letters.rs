//! Webhooks, signed as they should be: what is believed must still be understood or refused.
#![no_main]

use carrel_forge::hooks::Dialect;
use http::HeaderMap;
use ring::hmac;

const EVENTS: [&str; 8] =
    ["push", "pull_request", "check_run", "check_suite", "status", "ping", "issue_comment", "pull_request_review"];

libfuzzer_sys::fuzz_target!(|input: (u8, bool, bool, &[u8])| {
    let (event, gitea, signed, body) = input;
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"agreed");
    let tag: String = hmac::sign(&key, body).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let (dialect, name, signature) = if gitea {
        (Dialect::Gitea, "gitea", "x-gitea-signature")
    } else {
        (Dialect::GitHub, "github", "x-hub-signature-256")
    };
    let mut headers = HeaderMap::new();
    let mut put = |name: String, value: String| {
        let name: http::HeaderName = name.parse().expect("a good name");
        headers.insert(name, value.parse().expect("a good value"));
    };
    put(format!("x-{name}-delivery"), "1".into());
    put(format!("x-{name}-event"), EVENTS[usize::from(event) % EVENTS.len()].into());
    put(signature.into(), if signed { format!("sha256={tag}") } else { "sha256=00".into() });
    let read = dialect.read(&["agreed".to_owned().into()], &headers, body);
    assert!(signed || read.is_err(), "what nobody signed was believed");
});
