//! What the stand-in does with a request. Behind it stands an embedded forge; here are GitHub's manners: its statuses, its
//! refusals, and what it finds out only when asked twice.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use carrel_forge::{
    BranchName, Check, CheckState, CommitId, Forge, ForgeError, Merge, MergeWay, Mergeable, NewComment, NewPull,
    NewReview, Place, Pull, PullChange, PullNumber, PullState, Side, Verdict, forges::embedded::Embedded,
};
use carrel_model::Timestamp;
use serde_json::{Value, json};

use super::{
    description::description,
    standin::{House, Memory},
    words,
};

/// A request that was understood.
pub(crate) struct Asked<'a> {
    pub(crate) house: &'a House,
    pub(crate) login: &'a str,
    pub(crate) path: &'a str,
    pub(crate) query: &'a [(String, String)],
    pub(crate) body: Value,
}

type Reply = (u16, Option<Value>);

pub(crate) fn message(text: &str) -> Value {
    json!({ "message": text, "documentation_url": "https://docs.github.com/rest", "status": "404" })
}

fn invalid(text: &str) -> Reply {
    let error = json!({ "resource": "PullRequest", "code": "custom", "message": text });
    let body = json!({ "message": "Validation Failed", "errors": [error], "documentation_url": "https://docs.github.com/rest" });
    (422, Some(body))
}

fn invalid_simply(text: &str) -> Reply {
    let body = json!({ "message": "Unprocessable Entity", "errors": [text], "documentation_url": "https://docs.github.com/rest" });
    (422, Some(body))
}

fn not_found() -> Reply {
    (404, Some(message("Not Found")))
}

impl Asked<'_> {
    fn forge(&self) -> Embedded {
        self.house.forge.acting_as(self.login)
    }

    fn text(&self, name: &str) -> String {
        self.body[name].as_str().unwrap_or_default().to_owned()
    }

    fn asks(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, text)| text.as_str())
    }

    fn number(&self) -> PullNumber {
        PullNumber(self.path.split('/').nth(5).and_then(|part| part.parse().ok()).unwrap_or(0))
    }

    fn commit(&self) -> Option<CommitId> {
        self.path.split('/').nth(5)?.parse().ok()
    }

    async fn base(&self, pull: &Pull) -> CommitId {
        let main: BranchName = "main".parse().unwrap();
        let repository = &self.house.repository;
        let tip = repository.tip(&pull.base).await.unwrap();
        match tip {
            Some(tip) => tip,
            None => repository.tip(&main).await.unwrap().unwrap(),
        }
    }

    pub(crate) async fn diff(&self) -> Option<String> {
        self.forge().diff(self.number()).await.ok()
    }

    pub(crate) async fn answer(&self, method: &str, template: &str) -> Reply {
        let here = "/repos/{owner}/{repo}";
        if self.path.starts_with("/repos/")
            && !self.path.starts_with(&format!("/repos/{}/{}", words::OWNER, words::NAME))
        {
            return not_found();
        }
        let short = template.strip_prefix(here).unwrap_or(template);
        match (method, short) {
            ("GET", "") => (200, Some(words::repository())),
            ("GET", "/user") => (200, Some(words::me(self.login))),
            ("GET", "/app") => (200, Some(app())),
            ("GET", "/installation") => (200, Some(description().example("installation"))),
            ("POST", "/app/installations/{installation_id}/access_tokens") => self.lend(),
            ("GET", "/pulls") => self.list().await,
            ("POST", "/pulls") => self.open().await,
            ("GET", "/pulls/{pull_number}") => self.look(200).await,
            ("PATCH", "/pulls/{pull_number}") => self.change().await,
            ("PUT", "/pulls/{pull_number}/merge") => self.merge().await,
            ("GET", "/issues/comments") => (200, Some(json!([]))),
            ("GET", "/issues/{issue_number}/comments") => self.comments(false).await,
            ("GET", "/pulls/{pull_number}/comments") => self.comments(true).await,
            ("POST", "/issues/{issue_number}/comments") => self.comment(None).await,
            ("POST", "/pulls/{pull_number}/comments") => {
                let side = if self.body["side"] == "LEFT" { Side::Old } else { Side::New };
                let line = self.body["line"].as_u64().map(|line| line as u32);
                self.comment(Some(Place { path: self.text("path"), line, side })).await
            }
            ("GET", "/pulls/{pull_number}/reviews") => match self.forge().reviews(self.number()).await {
                Ok(reviews) => (200, Some(reviews.iter().map(words::review).collect())),
                Err(_) => not_found(),
            },
            ("POST", "/pulls/{pull_number}/reviews") => self.review().await,
            ("POST", "/issues/{issue_number}/labels") => self.label().await,
            ("POST", "/pulls/{pull_number}/requested_reviewers") => self.ask_reviewers().await,
            ("GET", "/commits/{ref}/check-runs") => self.runs(),
            ("GET", "/commits/{ref}/status") => self.statuses().await,
            ("POST", "/statuses/{sha}") => self.report().await,
            ("DELETE", "/git/refs/{ref}") => self.delete_ref().await,
            ("GET", "/git/ref/{ref}") => self.find_ref().await,
            _ => {
                self.house.memory().violations.push(format!("{method} {template}: the stand-in cannot do that"));
                not_found()
            }
        }
    }

    async fn list(&self) -> Reply {
        let mut pulls = self.forge().changed(Timestamp::UNIX_EPOCH).await.unwrap();
        let state = self.asks("state").unwrap_or("open");
        let head = self.asks("head").map(|head| head.split_once(':').map_or(head, |(_, branch)| branch));
        pulls.retain(|pull| {
            (state == "all" || (state == "open") == (pull.state == PullState::Open))
                && head.is_none_or(|head| pull.head.as_str() == head)
                && self.asks("base").is_none_or(|base| pull.base.as_str() == base)
        });
        match self.asks("sort") {
            Some("updated") => pulls.sort_by_key(|pull| pull.updated_at),
            _ => pulls.sort_by_key(|pull| pull.number),
        }
        // Without a direction GitHub gives the newest first.
        if self.asks("direction") != Some("asc") {
            pulls.reverse();
        }
        let mut items = Vec::new();
        for pull in &pulls {
            items.push(words::pull_item(pull, &self.base(pull).await));
        }
        (200, Some(items.into()))
    }

    async fn look(&self, status: u16) -> Reply {
        let Ok(pull) = self.forge().get(self.number()).await else { return not_found() };
        let base = self.base(&pull).await;
        // GitHub finds out in the background, and says null until it has.
        let first = self.house.memory().looked_at.insert(format!("{} {} {base}", pull.number, pull.head_commit));
        let mergeable = match pull.mergeable {
            Mergeable::Unknown => None,
            _ if first => None,
            seen => Some(seen == Mergeable::Clean),
        };
        (status, Some(words::pull(&pull, &base, mergeable)))
    }

    async fn open(&self) -> Reply {
        let (Ok(head), Ok(base)) = (self.text("head").parse::<BranchName>(), self.text("base").parse()) else {
            return invalid("a branch is invalid");
        };
        let new = NewPull {
            title: self.text("title"),
            body: self.text("body"),
            head,
            base,
            draft: self.body["draft"] == true,
        };
        if let Ok(Some(known)) = self.forge().find(&new.head).await
            && known.state == PullState::Open
            && known.base == new.base
        {
            return invalid(&format!("A pull request already exists for {}:{}.", words::OWNER, new.head));
        }
        match self.forge().open(&new).await {
            Ok(pull) => (201, Some(words::pull(&pull, &self.base(&pull).await, None))),
            Err(error) => invalid(&error.to_string()),
        }
    }

    async fn change(&self) -> Reply {
        let words = |name: &str| self.body[name].as_str().map(str::to_owned);
        let change = PullChange {
            title: words("title"),
            body: words("body"),
            base: words("base").and_then(|base| base.parse().ok()),
            open: words("state").map(|state| state == "open"),
        };
        match self.forge().update(self.number(), &change).await {
            Ok(_) => self.look(200).await,
            Err(ForgeError::NotFound { .. }) => not_found(),
            Err(error) => invalid(&error.to_string()),
        }
    }

    async fn merge(&self) -> Reply {
        let Ok(pull) = self.forge().get(self.number()).await else { return not_found() };
        let Ok(head) = self.text("sha").parse::<CommitId>() else { return invalid("sha is missing") };
        if pull.state != PullState::Open {
            return (
                405,
                Some(
                    json!({ "message": "Pull Request is not mergeable", "documentation_url": "https://docs.github.com/rest" }),
                ),
            );
        }
        if head != pull.head_commit {
            return (
                409,
                Some(
                    json!({ "message": "Head branch was modified. Review and try the merge again.", "documentation_url": "https://docs.github.com/rest" }),
                ),
            );
        }
        let way = MergeWay::from_word(&self.text("merge_method")).unwrap();
        match self.forge().merge(self.number(), &Merge { way, head, title: None, message: None }).await {
            Ok(merged) => {
                let mut reply = description().example("pull-request-merge-result-response-if-merge-was-successful");
                reply["sha"] = json!(merged.commit);
                (200, Some(reply))
            }
            Err(error) => (405, Some(json!({ "message": error.to_string() }))),
        }
    }

    async fn comments(&self, on_lines: bool) -> Reply {
        let since = self.asks("since").map(|since| since.parse::<Timestamp>().unwrap());
        let Ok(comments) = self.forge().comments(self.number(), since).await else { return not_found() };
        let Ok(pull) = self.forge().get(self.number()).await else { return not_found() };
        let wanted = comments.iter().filter(|comment| comment.place.is_some() == on_lines);
        let word = |comment: &carrel_forge::Comment| match on_lines {
            true => words::line_comment(comment, &comment.body, &pull.head_commit),
            false => words::comment(comment, &comment.body),
        };
        (200, Some(wanted.map(word).collect()))
    }

    async fn comment(&self, place: Option<Place>) -> Reply {
        let on_line = place.is_some();
        let new = NewComment { body: self.text("body"), place, stamp: None };
        let Ok(pull) = self.forge().get(self.number()).await else { return not_found() };
        match self.forge().comment(self.number(), &new).await {
            Ok(comment) if on_line => (201, Some(words::line_comment(&comment, &comment.body, &pull.head_commit))),
            Ok(comment) => (201, Some(words::comment(&comment, &comment.body))),
            Err(ForgeError::NotFound { .. }) => not_found(),
            Err(error) => invalid(&error.to_string()),
        }
    }

    async fn review(&self) -> Reply {
        let verdict = match self.text("event").as_str() {
            "APPROVE" => Verdict::Approved,
            "REQUEST_CHANGES" => Verdict::ChangesRequested,
            _ => Verdict::Commented,
        };
        match self.forge().review(self.number(), &NewReview { verdict, body: self.text("body") }).await {
            Ok(review) => (200, Some(words::review(&review))),
            Err(ForgeError::NotFound { .. }) => not_found(),
            Err(error) => invalid_simply(&error.to_string()),
        }
    }

    async fn label(&self) -> Reply {
        let labels: Vec<String> = serde_json::from_value(self.body["labels"].clone()).unwrap();
        if self.forge().label(self.number(), &labels).await.is_err() {
            return not_found();
        }
        let all = self.forge().get(self.number()).await.unwrap().labels;
        (200, Some(all.iter().map(|name| words::label(name)).collect()))
    }

    async fn ask_reviewers(&self) -> Reply {
        let logins: Vec<String> = serde_json::from_value(self.body["reviewers"].clone()).unwrap_or_default();
        match self.forge().request_reviewers(self.number(), &logins).await {
            Ok(()) => {
                let pull = self.forge().get(self.number()).await.unwrap();
                (201, Some(words::pull_item(&pull, &self.base(&pull).await)))
            }
            Err(ForgeError::NotFound { .. }) => not_found(),
            Err(error) => invalid(&error.to_string()),
        }
    }

    fn runs(&self) -> Reply {
        let memory = self.house.memory();
        let runs = self.commit().and_then(|commit| Some((memory.runs.get(&commit)?.clone(), commit)));
        let (runs, commit) = runs.unwrap_or_else(|| (vec![], "0".repeat(40).parse().unwrap()));
        let items: Vec<_> = runs.iter().map(|run| words::check_run(&commit, run)).collect();
        (200, Some(json!({ "total_count": items.len(), "check_runs": items })))
    }

    async fn statuses(&self) -> Reply {
        let commit = self.commit().unwrap_or_else(|| "0".repeat(40).parse().unwrap());
        let checks = self.forge().checks(&commit).await.unwrap().all;
        (200, Some(words::statuses(&commit, &checks)))
    }

    async fn report(&self) -> Reply {
        let state = match self.text("state").as_str() {
            "success" => CheckState::Passed,
            "pending" => CheckState::Pending,
            _ => CheckState::Failed,
        };
        let words = |name: &str| self.body[name].as_str().map(str::to_owned);
        let at = Some(Timestamp::now());
        let check =
            Check { name: self.text("context"), state, summary: words("description"), url: words("target_url"), at };
        let Some(commit) = self.commit() else { return invalid("no such commit") };
        self.forge().report(&commit, &check).await.unwrap();
        (201, Some(words::status(&check)))
    }

    async fn delete_ref(&self) -> Reply {
        let branch: BranchName = self.path.split("/git/refs/heads/").nth(1).unwrap().parse().unwrap();
        if self.house.repository.tip(&branch).await.unwrap().is_none() {
            return (
                422,
                Some(
                    json!({ "message": "Reference does not exist", "documentation_url": "https://docs.github.com/rest" }),
                ),
            );
        }
        match self.forge().delete_branch(&branch).await {
            Ok(()) => (204, None),
            Err(_) => (422, Some(json!({ "message": "Cannot delete the default branch" }))),
        }
    }

    async fn find_ref(&self) -> Reply {
        let branch: BranchName = self.path.split("/git/ref/heads/").nth(1).unwrap().parse().unwrap();
        match self.house.repository.tip(&branch).await.unwrap() {
            Some(_) => (200, Some(description().example("git-ref"))),
            None => not_found(),
        }
    }

    fn lend(&self) -> Reply {
        let mut memory = self.house.memory();
        memory.installations_asked += 1;
        let token = format!("ghs_{:036}", memory.installations_asked);
        let ends = Timestamp::now() + jiff::SignedDuration::from_secs(memory.lifetime_s);
        memory.tokens.insert(token.clone(), ("carrel-app[bot]".into(), Some(ends)));
        let mut reply = description().example("installation-token");
        reply["token"] = json!(token);
        reply["expires_at"] = words::time(ends);
        reply["permissions"] = memory.granted.clone();
        (201, Some(reply))
    }
}

fn app() -> Value {
    let mut app = description().example("integration");
    app["slug"] = json!("carrel-app");
    app
}

/// Whether a token is a statement that the app's own key signed, and that is good now.
pub(crate) fn is_from_the_app(memory: &Memory, token: &str) -> bool {
    let (Some(key), Some((signed, signature))) = (&memory.app_key, token.rsplit_once('.')) else { return false };
    let Ok(signature) = URL_SAFE_NO_PAD.decode(signature) else { return false };
    let public = ring::signature::UnparsedPublicKey::new(&ring::signature::RSA_PKCS1_2048_8192_SHA256, key);
    let claims = signed.split('.').nth(1).and_then(|claims| URL_SAFE_NO_PAD.decode(claims).ok());
    let claims: Value = claims.and_then(|claims| serde_json::from_slice(&claims).ok()).unwrap_or_default();
    let (now, from, until) = (Timestamp::now().as_second(), claims["iat"].as_i64(), claims["exp"].as_i64());
    // GitHub takes no statement that is good for longer than ten minutes.
    let timely = from.zip(until).is_some_and(|(from, until)| from <= now && now < until && until - now <= 600);
    public.verify(signed.as_bytes(), &signature).is_ok() && timely && claims["iss"] == "12345"
}

/// Drafts, and merging by itself.
pub(crate) async fn mutate(house: &House, login: &str, body: &Value) -> Value {
    let forge = house.forge.acting_as(login);
    let query = body["query"].as_str().unwrap_or_default();
    let input = &body["variables"]["input"];
    let node = input["pullRequestId"].as_str().and_then(|node| node.strip_prefix("PR_")?.parse().ok());
    let number = PullNumber(node.unwrap_or(0));
    let done = if query.contains("convertPullRequestToDraft") {
        forge.set_draft(number, true).await
    } else if query.contains("markPullRequestReadyForReview") {
        forge.set_draft(number, false).await
    } else if query.contains("enablePullRequestAutoMerge") {
        let way = input["mergeMethod"].as_str().map(str::to_lowercase).and_then(|word| MergeWay::from_word(&word));
        match forge.get(number).await {
            Ok(pull) if pull.draft => {
                let why = "Pull request Pull request is in draft status";
                return json!({ "data": null, "errors": [{ "type": "UNPROCESSABLE", "path": [], "message": why }] });
            }
            Ok(pull) if forge.checks(&pull.head_commit).await.unwrap().verdict() != Some(CheckState::Pending) => {
                let why = "Pull request Pull request is in clean status";
                return json!({ "data": null, "errors": [{ "type": "UNPROCESSABLE", "path": [], "message": why }] });
            }
            _ => forge.auto_merge(number, way).await,
        }
    } else {
        forge.auto_merge(number, None).await
    };
    match done {
        Ok(()) => json!({ "data": { "it": { "clientMutationId": null } } }),
        Err(_) => {
            let why = "Could not resolve to a node";
            json!({ "data": null, "errors": [{ "type": "NOT_FOUND", "path": [], "message": why }] })
        }
    }
}
