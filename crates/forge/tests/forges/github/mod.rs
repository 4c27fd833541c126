//! GitHub's client, against a stand-in that is held to GitHub's own description.

mod app;
mod description;
mod desk;
mod standin;
mod words;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use carrel_forge::{
    BranchName, Check, CheckState, CommitId, Forge, ForgeError, Key, Keyring, Merge, MergeWay, NewComment, NewPull,
    PullNumber, PullState,
    contract::{World, broken_promises},
    forges::github::{Config, GitHub},
};
use carrel_model::Timestamp;
use serde_json::json;

use app::{app_key, trust_app};
use standin::{Fault, StandIn};

pub(crate) use description::file;

fn client(standin: &StandIn, keyring: impl Keyring + 'static) -> GitHub {
    let config = Config { api: standin.api(), keyring: Arc::new(keyring), patience: Duration::from_secs(20) };
    config.build().unwrap().repository(format!("{}/{}", words::OWNER, words::NAME).parse().unwrap())
}

fn token(name: &str) -> Key {
    Key::Token(format!("token-{name}").into())
}

struct GitHubWorld {
    standin: StandIn,
    key: Key,
}

#[async_trait]
impl World for GitHubWorld {
    fn open(&self) -> Box<dyn Forge> {
        Box::new(client(&self.standin, self.key.clone()))
    }
    fn mona(&self) -> Box<dyn Forge> {
        Box::new(client(&self.standin, token("mona")))
    }
    async fn push(&self, branch: &BranchName, path: &str, text: &str) -> CommitId {
        self.standin.push(branch, path, text)
    }
}

fn branch(name: &str) -> BranchName {
    name.parse().unwrap()
}

fn new_pull(head: &str) -> NewPull {
    NewPull { title: "feat: x".into(), body: "y".into(), head: branch(head), base: branch("main"), draft: false }
}

async fn opened(standin: &StandIn, github: &GitHub, head: &str) -> carrel_forge::Pull {
    standin.push(&branch(head), &format!("{head}.txt"), "a line\n");
    github.open(&new_pull(head)).await.unwrap()
}

#[tokio::test]
async fn github_with_a_token_keeps_the_contract_by_githubs_own_book() {
    let world = GitHubWorld { standin: StandIn::start("").await, key: token("carrel") };
    assert_eq!(broken_promises(&world).await, Vec::<String>::new());
    world.standin.assert_by_the_book();
}

#[test]
fn the_book_notices_what_does_not_follow_it() {
    let book = description::description();
    let open = book.operation("post", "/repos/a/b/pulls").unwrap();
    let good = json!({ "title": "t", "head": "h", "base": "b" });
    assert_eq!(book.complaints_of_request(&open, &[], Some(&good)), Vec::<String>::new());
    for bad in [
        json!({ "title": "t", "base": "b" }),
        json!({ "title": 1, "head": "h", "base": "b" }),
        json!({ "head": "h", "base": "b", "drat": true }),
    ] {
        assert_ne!(book.complaints_of_request(&open, &[], Some(&bad)), Vec::<String>::new(), "{bad}");
    }
    let odd = [("per_pge".to_owned(), "100".to_owned())];
    let list = book.operation("get", "/repos/a/b/pulls").unwrap();
    assert_ne!(book.complaints_of_request(&list, &odd, None), Vec::<String>::new());
    let mut pull = book.example("pull-request");
    pull["requested_teams"] = json!([]);
    assert_eq!(book.complaints_of_answer(&open, 201, Some(&pull)), Vec::<String>::new());
    pull["number"] = json!("one");
    assert_ne!(book.complaints_of_answer(&open, 201, Some(&pull)), Vec::<String>::new());
    assert_ne!(book.complaints_of_answer(&open, 418, Some(&pull)), Vec::<String>::new());
    assert!(book.operation("post", "/repos/a/b/pals").is_none());
    let mutation = |method: &str| {
        json!({
            "query": "mutation($input: EnablePullRequestAutoMergeInput!) { enablePullRequestAutoMerge(input: $input) { clientMutationId } }",
            "variables": { "input": { "pullRequestId": "x", "mergeMethod": method } },
        })
    };
    assert_eq!(book.complaints_of_mutation(&mutation("SQUASH")), Vec::<String>::new());
    assert_ne!(book.complaints_of_mutation(&mutation("SQUISH")), Vec::<String>::new());
}

#[tokio::test]
async fn github_enterprise_with_an_app_keeps_the_contract() {
    let world = GitHubWorld { standin: StandIn::start("/api/v3").await, key: Key::App(app_key()) };
    trust_app(&world.standin);
    assert_eq!(broken_promises(&world).await, Vec::<String>::new());
    world.standin.assert_by_the_book();
}

#[tokio::test]
async fn an_apps_token_is_fetched_once_by_many_and_replaced_before_it_ends() {
    let standin = StandIn::start("").await;
    trust_app(&standin);
    let github = client(&standin, Key::App(app_key()));
    futures::future::join_all((0..20).map(|_| github.default_branch()))
        .await
        .into_iter()
        .for_each(|b| drop(b.unwrap()));
    assert_eq!(standin.house.memory().installations_asked, 1);

    // A token with four minutes to live is not relied on.
    standin.house.memory().lifetime_s = 240;
    let github = client(&standin, Key::App(app_key()));
    github.default_branch().await.unwrap();
    github.default_branch().await.unwrap();
    assert_eq!(standin.house.memory().installations_asked, 3);
}

#[tokio::test]
async fn an_apps_token_that_was_withdrawn_is_replaced_at_once() {
    let standin = StandIn::start("").await;
    trust_app(&standin);
    let github = client(&standin, Key::App(app_key()));
    github.default_branch().await.unwrap();
    standin.house.memory().tokens.retain(|token, _| !token.starts_with("ghs_"));
    github.default_branch().await.unwrap();
    assert_eq!(standin.house.memory().installations_asked, 2);
}

#[derive(Clone)]
struct Rotating(Arc<std::sync::Mutex<Key>>);

#[async_trait]
impl Keyring for Rotating {
    async fn key(&self) -> Result<Key, ForgeError> {
        Ok(self.0.lock().unwrap().clone())
    }
}

#[tokio::test]
async fn a_new_token_counts_without_a_restart() {
    let standin = StandIn::start("").await;
    let ring = Rotating(Arc::new(std::sync::Mutex::new(Key::Token("expired".into()))));
    let github = client(&standin, ring.clone());
    let denied = github.default_branch().await.unwrap_err();
    assert!(matches!(&denied, ForgeError::Denied { why, .. } if why.contains("Bad credentials")), "{denied:?}");
    *ring.0.lock().unwrap() = token("carrel");
    github.default_branch().await.unwrap();
}

#[tokio::test]
async fn what_the_credential_lacks_is_named() {
    let standin = StandIn::start("").await;
    let github = client(&standin, token("carrel"));
    let named = vec![("x-accepted-github-permissions", "checks=read".to_owned())];
    standin.fail(
        "/check-runs",
        Fault::Refuse(403, named, json!({ "message": "Resource not accessible by personal access token" })),
    );
    let missing = github.probe().await.unwrap().missing;
    assert_eq!(missing.len(), 1);
    assert!(missing[0].contains("`checks=read`"), "{missing:?}");

    trust_app(&standin);
    standin.house.memory().granted = json!({ "contents": "read", "pull_requests": "write", "metadata": "read" });
    let missing = client(&standin, Key::App(app_key())).probe().await.unwrap().missing;
    assert_eq!(missing.len(), 4, "{missing:?}");
    assert!(missing.iter().any(|sentence| sentence.contains("`contents=write`")));
}

#[tokio::test]
async fn an_unchanged_answer_costs_nothing_of_the_budget() {
    let standin = StandIn::start("").await;
    let github = client(&standin, token("carrel"));
    let pull = opened(&standin, &github, "task-1").await;
    let (one, two) = (github.get(pull.number).await.unwrap(), github.get(pull.number).await.unwrap());
    standin.asked();
    let before = standin.house.memory().remaining;
    for _ in 0..10 {
        assert_eq!(github.get(pull.number).await.unwrap(), two);
    }
    assert_eq!(standin.house.memory().remaining, before);
    assert!(standin.asked().iter().all(|line| line.ends_with(" 304")));
    standin.push(&branch("task-1"), "x", "y\n");
    assert_ne!(github.get(pull.number).await.unwrap().head_commit, one.head_commit);
}

#[tokio::test]
async fn long_lists_are_read_to_their_end() {
    let standin = StandIn::start("").await;
    let github = client(&standin, token("carrel"));
    let pull = opened(&standin, &github, "task-1").await;
    let mona = standin.house.forge.acting_as("mona");
    for number in 0..250 {
        let said = NewComment { body: format!("remark {number}"), place: None, stamp: None };
        mona.comment(pull.number, &said).await.unwrap();
    }
    let all = github.comments(pull.number, None).await.unwrap();
    assert_eq!(all.len(), 250);
    assert_eq!(all.iter().collect::<Vec<_>>().windows(2).filter(|two| two[0].id == two[1].id).count(), 0);
    standin.assert_by_the_book();
}

#[tokio::test]
async fn check_runs_and_statuses_are_read_together() {
    let standin = StandIn::start("").await;
    let github = client(&standin, token("carrel"));
    let commit = standin.push(&branch("task-1"), "x", "y\n");
    let check = |name: &str, state| Check {
        name: name.into(),
        state,
        summary: Some("s".into()),
        url: Some("https://ci.example".into()),
        at: Some(Timestamp::now()),
    };
    standin
        .house
        .memory()
        .runs
        .insert(commit.clone(), vec![check("build", CheckState::Passed), check("docs", CheckState::Skipped)]);
    github.report(&commit, &check("carrel/check", CheckState::Pending)).await.unwrap();
    let checks = github.checks(&commit).await.unwrap();
    assert_eq!(checks.all.len(), 3);
    assert_eq!(checks.verdict(), Some(CheckState::Pending));
    standin.house.memory().runs.get_mut(&commit).unwrap().push(check("build 2", CheckState::Failed));
    assert_eq!(github.checks(&commit).await.unwrap().verdict(), Some(CheckState::Failed));
    // A token that may not read check runs still reads statuses.
    standin.fail("/check-runs", Fault::Refuse(403, vec![], json!({ "message": "Resource not accessible" })));
    assert_eq!(github.checks(&commit).await.unwrap().all.len(), 1);
    standin.assert_by_the_book();
}

#[tokio::test]
async fn a_pull_whose_answer_was_lost_is_found_and_not_opened_twice() {
    let standin = StandIn::start("").await;
    let github = client(&standin, token("carrel"));
    standin.push(&branch("task-1"), "x", "y\n");
    standin.fail("POST /repos/octo-org/hello-world/pulls", Fault::CutAfterDoing);
    let lost = github.open(&new_pull("task-1")).await.unwrap_err();
    assert!(matches!(lost, ForgeError::Unavailable { .. }), "{lost:?}");
    let pull = github.open(&new_pull("task-1")).await.unwrap();
    assert_eq!(pull.number, PullNumber(1));
    assert_eq!(github.changed(Timestamp::UNIX_EPOCH).await.unwrap().len(), 1);

    // The same for a merge: the answer was lost, the work was done.
    let merge = Merge { way: MergeWay::Squash, head: pull.head_commit, title: None, message: None };
    standin.fail("/merge", Fault::CutAfterDoing);
    assert!(matches!(github.merge(pull.number, &merge).await, Err(ForgeError::Unavailable { .. })));
    github.merge(pull.number, &merge).await.unwrap();
    assert!(matches!(github.get(pull.number).await.unwrap().state, PullState::Merged { .. }));
}

#[tokio::test]
async fn two_that_open_the_same_pull_at_once_get_the_same_pull() {
    let standin = StandIn::start("").await;
    let (one, two) = (client(&standin, token("carrel")), client(&standin, token("carrel")));
    standin.push(&branch("task-1"), "x", "y\n");
    let new = new_pull("task-1");
    let (one, two) = tokio::join!(one.open(&new), two.open(&new));
    assert_eq!(one.unwrap().number, two.unwrap().number);
}

#[tokio::test]
async fn every_refusal_says_what_can_be_done() {
    let standin = StandIn::start("").await;
    let refuse = |status, headers, message: &str| {
        standin.fail("GET /repos", Fault::Refuse(status, headers, json!({ "message": message })));
    };
    // Each with a client of its own, because a limit is remembered.
    let ask = || async { client(&standin, token("carrel")).default_branch().await.unwrap_err() };
    refuse(401, vec![], "Bad credentials");
    assert!(matches!(ask().await, ForgeError::Denied { .. }));
    refuse(403, vec![], "Resource not accessible by integration");
    assert!(matches!(ask().await, ForgeError::Denied { .. }));
    refuse(403, vec![], "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.");
    assert!(matches!(ask().await, ForgeError::Limited { .. }));
    refuse(429, vec![("retry-after", "7".into())], "Too many requests");
    assert!(matches!(ask().await, ForgeError::Limited { .. }));
    refuse(404, vec![], "Not Found");
    assert!(matches!(ask().await, ForgeError::NotFound { .. }));
    refuse(409, vec![], "Conflict");
    assert!(matches!(ask().await, ForgeError::Conflict { .. }));
    refuse(422, vec![], "Validation Failed");
    assert!(matches!(ask().await, ForgeError::Invalid { .. }));
    refuse(500, vec![], "Server Error");
    assert!(matches!(ask().await, ForgeError::Unavailable { .. }));
    refuse(301, vec![("location", "https://elsewhere.example/".into())], "Moved");
    assert!(matches!(ask().await, ForgeError::Invalid { .. }));
    standin.fail("GET /repos", Fault::CutBefore);
    assert!(matches!(ask().await, ForgeError::Unavailable { .. }));
}

#[tokio::test]
async fn a_forge_that_does_not_answer_is_not_waited_for_without_end() {
    let standin = StandIn::start("").await;
    standin.fail("GET /repos", Fault::Silent);
    let config =
        Config { api: standin.api(), keyring: Arc::new(token("carrel")), patience: Duration::from_millis(200) };
    let github = config.build().unwrap().repository("octo-org/hello-world".parse().unwrap());
    let error = github.default_branch().await.unwrap_err();
    assert_eq!(error, ForgeError::Unavailable { why: "127.0.0.1 does not answer in time".into() });
}

#[tokio::test]
async fn while_a_limit_lasts_nothing_is_asked_at_all() {
    let standin = StandIn::start("").await;
    let github = client(&standin, token("carrel"));
    let after = vec![("retry-after", "120".to_owned())];
    standin.fail(
        "GET /repos",
        Fault::Refuse(403, after, json!({ "message": "You have exceeded a secondary rate limit." })),
    );
    let ForgeError::Limited { until } = github.default_branch().await.unwrap_err() else { panic!("no limit") };
    assert!(until > Timestamp::now() + jiff::SignedDuration::from_secs(100));
    standin.asked();
    assert_eq!(github.default_branch().await.unwrap_err(), ForgeError::Limited { until });
    assert_eq!(standin.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn a_budget_that_is_used_up_is_not_overdrawn() {
    let standin = StandIn::start("").await;
    let github = client(&standin, token("carrel"));
    standin.house.memory().remaining = 1;
    github.default_branch().await.unwrap();
    standin.asked();
    assert!(matches!(github.default_branch().await, Err(ForgeError::Limited { .. })));
    assert_eq!(standin.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn the_budget_can_be_seen() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let seen = recorder.handle();
    let _watching = metrics::set_default_local_recorder(&recorder);
    let standin = StandIn::start("").await;
    let github = client(&standin, token("carrel"));
    standin.house.memory().remaining = 4321;
    github.default_branch().await.unwrap();
    github.default_branch().await.unwrap();
    let text = seen.render();
    for line in [
        r#"carrel_forge_budget_remaining{forge="127.0.0.1",resource="core"} 4320"#,
        r#"carrel_forge_budget_limit{forge="127.0.0.1",resource="core"} 5000"#,
        r#"carrel_forge_requests_total{forge="127.0.0.1",status="200"} 1"#,
        r#"carrel_forge_requests_total{forge="127.0.0.1",status="304"} 1"#,
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[tokio::test]
async fn no_error_and_no_debug_print_shows_the_credential() {
    let standin = StandIn::start("").await;
    let secret = "ghp_thisIsTheSecret";
    let github = client(&standin, Key::Token(secret.into()));
    let error = github.default_branch().await.unwrap_err();
    assert!(!format!("{error:?} {error}").contains(secret));
    assert!(!format!("{:?}", Key::Token(secret.into())).contains(secret));
    for bad in ["http://github.example/api", "https://user:ghp_x@github.example", "not an address"] {
        let config = Config { api: bad.into(), keyring: Arc::new(token("x")), patience: Duration::from_secs(1) };
        assert!(matches!(config.build(), Err(ForgeError::Invalid { .. })), "{bad}");
    }
}
