//! Webhooks: GitHub's published examples, Gitea's letters, forgeries and copies.

use carrel_forge::{
    CheckState, Notice, PullMove, PullNumber, Verdict,
    hooks::{Dialect, HookError, Letter, Replays},
};
use carrel_model::Timestamp;
use http::HeaderMap;
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::github::file;

const SECRET: &str = "a secret that both know";

fn secrets() -> Vec<SecretString> {
    vec![SECRET.into()]
}

fn signature(secret: &str, body: &[u8]) -> String {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret.as_bytes());
    hex::encode(ring::hmac::sign(&key, body).as_ref())
}

fn headers(pairs: &[(&'static str, String)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap())).collect()
}

fn from_github(event: &str, id: &str, body: &[u8]) -> Result<Letter, HookError> {
    let headers = headers(&[
        ("x-github-event", event.into()),
        ("x-github-delivery", id.into()),
        ("x-hub-signature-256", format!("sha256={}", signature(SECRET, body))),
        ("content-type", "application/json".into()),
    ]);
    Dialect::GitHub.read(&secrets(), &headers, body)
}

fn from_gitea(event: &str, body: &Value) -> Result<Letter, HookError> {
    let body = body.to_string();
    let headers = headers(&[
        ("x-gitea-event", event.into()),
        ("x-gitea-delivery", "f6266f16-1bf3-46a5-9ea4-602e06ead473".into()),
        ("x-gitea-signature", signature(SECRET, body.as_bytes())),
        ("content-type", "application/json".into()),
    ]);
    Dialect::Gitea.read(&secrets(), &headers, body.as_bytes())
}

#[test]
fn every_example_that_github_publishes_is_understood() {
    let Value::Array(kinds) = file("webhooks.json") else { panic!("no list") };
    let (mut read, mut told) = (0, std::collections::BTreeMap::<String, usize>::new());
    for kind in &kinds {
        let event = kind["name"].as_str().unwrap();
        for example in kind["examples"].as_array().unwrap() {
            let body = serde_json::to_vec(example).unwrap();
            let letter = from_github(event, "1", &body).unwrap_or_else(|error| panic!("{event}: {error}\n{example:#}"));
            read += 1;
            if letter.notice.is_some() {
                *told.entry(event.to_owned()).or_default() += 1;
            }
        }
    }
    assert!(read > 200, "only {read} examples");
    let events = ["check_run", "pull_request", "pull_request_review", "pull_request_review_comment", "push", "status"];
    assert_eq!(told.keys().map(String::as_str).collect::<Vec<_>>(), events, "{told:?}");
}

/// The examples of an event with this action.
fn examples(event: &str, action: Option<&str>) -> Vec<Value> {
    let Value::Array(kinds) = file("webhooks.json") else { panic!("no list") };
    let kind = kinds.into_iter().find(|kind| kind["name"] == event).unwrap();
    let all = kind["examples"].as_array().unwrap().clone();
    all.into_iter().filter(|example| action.is_none_or(|action| example["action"] == action)).collect()
}

fn notice(event: &str, example: &Value) -> Notice {
    from_github(event, "1", &serde_json::to_vec(example).unwrap()).unwrap().notice.unwrap()
}

#[test]
fn githubs_examples_say_what_they_mean() {
    for (action, wanted) in [
        ("opened", PullMove::Opened),
        ("synchronize", PullMove::Pushed),
        ("reopened", PullMove::Reopened),
        ("labeled", PullMove::Changed),
    ] {
        for example in examples("pull_request", Some(action)) {
            let Notice::Pull { pull, moved } = notice("pull_request", &example) else { panic!("no pull") };
            assert_eq!(moved, wanted);
            assert_eq!(pull.number, PullNumber(example["number"].as_u64().unwrap()));
            assert_eq!(pull.head_commit.as_str(), example["pull_request"]["head"]["sha"]);
        }
    }
    for example in examples("pull_request", Some("closed")) {
        let Notice::Pull { moved, .. } = notice("pull_request", &example) else { panic!("no pull") };
        let merged = example["pull_request"]["merged"] == true;
        assert_eq!(moved, if merged { PullMove::Merged } else { PullMove::Closed });
    }
    for example in examples("pull_request_review", Some("submitted")) {
        let Some(Notice::Review { review, .. }) =
            from_github("pull_request_review", "1", &serde_json::to_vec(&example).unwrap()).unwrap().notice
        else {
            continue;
        };
        assert!(matches!(review.verdict, Verdict::Approved | Verdict::Commented | Verdict::ChangesRequested));
    }
    for example in examples("check_run", Some("completed")) {
        let Notice::Check { check, .. } = notice("check_run", &example) else { panic!("no check") };
        assert_eq!(check.state == CheckState::Passed, example["check_run"]["conclusion"] == "success", "{example:#}");
    }
    // All published comments are on issues, which do not concern us; a pull is an issue with one field more.
    let mut comment = examples("issue_comment", Some("created"))[0].clone();
    assert_eq!(from_github("issue_comment", "1", &serde_json::to_vec(&comment).unwrap()).unwrap().notice, None);
    comment["issue"]["pull_request"] = json!({ "url": "https://api.github.com/repos/o/r/pulls/1" });
    let Notice::Comment { number, .. } = notice("issue_comment", &comment) else { panic!("no comment") };
    assert_eq!(number, PullNumber(comment["issue"]["number"].as_u64().unwrap()));
    comment["action"] = json!("deleted");
    assert_eq!(from_github("issue_comment", "1", &serde_json::to_vec(&comment).unwrap()).unwrap().notice, None);
    let line = notice("pull_request_review_comment", &examples("pull_request_review_comment", Some("created"))[0]);
    assert!(matches!(line, Notice::Comment { comment, .. } if comment.place.is_some()));
    let push = notice(
        "push",
        &examples("push", None)
            .into_iter()
            .find(|push| push["ref"].as_str().unwrap().starts_with("refs/heads/"))
            .unwrap(),
    );
    assert!(matches!(push, Notice::Push { .. }));
}

#[test]
fn a_forged_letter_is_not_believed() {
    let body = serde_json::to_vec(&examples("pull_request", Some("opened"))[0]).unwrap();
    let sign = |value: String| {
        headers(&[
            ("x-github-event", "pull_request".into()),
            ("x-github-delivery", "1".into()),
            ("x-hub-signature-256", value),
        ])
    };
    let read = |secrets: &[SecretString], headers: &HeaderMap| Dialect::GitHub.read(secrets, headers, &body);
    let good = sign(format!("sha256={}", signature(SECRET, &body)));
    assert!(read(&secrets(), &good).is_ok());
    for bad in [
        sign(format!("sha256={}", signature("another secret", &body))),
        sign(format!("sha256={}", signature("", &body))),
        sign("sha256=".into()),
        sign("sha256=zz".into()),
        sign(format!("sha1={}", "0".repeat(40))),
        headers(&[("x-github-event", "pull_request".into()), ("x-github-delivery", "1".into())]),
    ] {
        assert_eq!(read(&secrets(), &bad), Err(HookError::Forged));
    }
    // Without a secret, or with an empty one, nothing is believed at all.
    assert_eq!(read(&[], &good), Err(HookError::Forged));
    let nothing = sign(format!("sha256={}", signature("", &body)));
    assert_eq!(read(&["".into()], &nothing), Err(HookError::Forged));
    // While a secret is replaced, both are good.
    assert!(read(&["the new one".into(), SECRET.into()], &good).is_ok());
    let mut changed = body.clone();
    changed[0] ^= 1;
    assert_eq!(Dialect::GitHub.read(&secrets(), &good, &changed), Err(HookError::Forged));
}

#[test]
fn a_letter_that_is_signed_but_makes_no_sense_is_malformed() {
    for body in ["", "[]", "{}", "{\"action\":\"opened\"}", "not json"] {
        let read = from_github("pull_request", "1", body.as_bytes());
        assert!(matches!(read, Err(HookError::Malformed { .. })), "{body}: {read:?}");
    }
    assert_eq!(from_github("ping", "1", b"{\"zen\":\"Keep it logically awesome.\"}").unwrap().notice, None);
}

#[test]
fn a_letter_that_comes_twice_is_new_once() {
    let body = serde_json::to_vec(&examples("pull_request", Some("opened"))[0]).unwrap();
    let mut replays = Replays::default();
    let now = Timestamp::now();
    assert!(replays.is_new(&from_github("pull_request", "1", &body).unwrap(), now));
    assert!(!replays.is_new(&from_github("pull_request", "1", &body).unwrap(), now));
    assert!(
        !replays.is_new(&from_github("pull_request", "2", &body).unwrap(), now),
        "the delivery's name is not signed"
    );
}

#[test]
fn giteas_letters_become_the_same_notices() {
    let pull = json!({
        "id": 7, "number": 3, "html_url": "https://git.example/o/r/pulls/3", "title": "WIP: feat: x", "body": "",
        "user": { "login": "mona" }, "state": "open", "mergeable": false, "merged": false, "labels": [],
        "requested_reviewers": null, "head": { "label": "task-3", "ref": "task-3", "sha": "a".repeat(40) },
        "base": { "label": "main", "ref": "main", "sha": "b".repeat(40) },
        "created_at": "2026-01-02T03:04:05+01:00", "updated_at": "2026-01-02T03:04:06+01:00",
    });
    let repository = json!({ "full_name": "o/r" });
    let letter = |event: &str, action: &str| {
        let body =
            json!({ "action": action, "number": 3, "pull_request": pull, "repository": repository, "review": null });
        from_gitea(event, &body).unwrap()
    };
    for (event, action, wanted) in [
        ("pull_request", "opened", PullMove::Opened),
        ("pull_request", "synchronized", PullMove::Pushed),
        ("pull_request", "label_updated", PullMove::Changed),
        ("pull_request", "closed", PullMove::Closed),
        ("pull_request_approved", "reviewed", PullMove::Reviewed),
        ("pull_request_rejected", "reviewed", PullMove::Reviewed),
    ] {
        let Letter { notice: Some(Notice::Pull { pull, moved }), repository, .. } = letter(event, action) else {
            panic!("{event}")
        };
        assert_eq!((moved, repository.unwrap().as_str()), (wanted, "o/r"));
        assert!(pull.draft && pull.title == "feat: x");
    }
    let comment = json!({
        "action": "created", "is_pull": true, "issue": { "number": 3 }, "repository": repository,
        "comment": {
            "id": 9, "html_url": "https://git.example/c", "user": { "login": "mona" }, "body": "Why?",
            "created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z",
        },
    });
    let said = from_gitea("issue_comment", &comment).unwrap().notice;
    assert!(matches!(said, Some(Notice::Comment { number: PullNumber(3), comment }) if comment.body == "Why?"));
    let push = json!({ "ref": "refs/heads/main", "before": "0".repeat(40), "after": "c".repeat(40), "repository": repository });
    let Some(Notice::Push { before, after, .. }) = from_gitea("push", &push).unwrap().notice else { panic!("no push") };
    assert!(before.is_none() && after.is_some());
    let status = json!({
        "sha": "d".repeat(40), "context": "ci", "state": "failure", "description": "", "target_url": "",
        "created_at": "2026-01-02T03:04:05Z", "updated_at": null, "repository": repository,
    });
    let Some(Notice::Check { check, .. }) = from_gitea("status", &status).unwrap().notice else { panic!("no check") };
    assert_eq!((check.state, check.url), (CheckState::Failed, None));
}

proptest::proptest! {
    #[test]
    fn no_letter_whatever_its_bytes_makes_the_reader_fall(event in "[a-z_]{0,30}", body: Vec<u8>) {
        for event in [event.as_str(), "pull_request", "push", "status", "check_run"] {
            let _ = from_github(event, "1", &body);
        }
    }

    #[test]
    fn no_example_with_a_piece_missing_makes_the_reader_fall(pick: proptest::sample::Index, cut: proptest::sample::Index) {
        static ALL: std::sync::OnceLock<Vec<(String, String)>> = std::sync::OnceLock::new();
        let all = ALL.get_or_init(|| {
            let Value::Array(kinds) = file("webhooks.json") else { panic!("no list") };
            let of = |kind: &Value| -> Vec<_> {
                let name = kind["name"].as_str().unwrap().to_owned();
                kind["examples"].as_array().unwrap().iter().map(|example| (name.clone(), example.to_string())).collect()
            };
            kinds.iter().flat_map(of).collect()
        });
        let (event, body) = pick.get(all);
        // A whole field taken out, wherever it stands.
        let keys: Vec<_> = body.match_indices("\":").map(|(at, _)| at).collect();
        let at = *cut.get(&keys);
        let broken = format!("{}x{}", &body[..at], &body[at..]);
        let read = from_github(event, "1", broken.as_bytes());
        proptest::prop_assert!(read != Err(HookError::Forged));
    }
}
