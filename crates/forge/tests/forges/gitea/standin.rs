//! A stand-in for Gitea, with its manners: its paths, fields, statuses and gaps. It keeps state like a real one.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Body,
    extract::State,
    http::{Request, Response, header},
};
use carrel_forge::{
    BranchName, Check, CheckState, Comment, CommitId, Forge, ForgeError, Merge, MergeWay, Mergeable, NewComment,
    NewPull, NewReview, Notebook, Place, Pull, PullChange, PullNumber, PullState, Repository, Review, Side, Verdict,
    forges::embedded::{self, Embedded},
};
use carrel_model::Timestamp;
use serde_json::{Value, json};

/// The repository that it has.
pub(crate) const SLUG: &str = "octo/hello";

/// The stand-in. It serves until it is dropped.
pub(crate) struct StandIn {
    pub(crate) house: Arc<House>,
    pub(crate) address: std::net::SocketAddr,
    serving: tokio::task::JoinHandle<()>,
}

/// Everything that it remembers.
pub(crate) struct House {
    pub(crate) forge: Embedded,
    repository: Arc<dyn Repository>,
    /// Who bears which token.
    pub(crate) tokens: Mutex<HashMap<String, String>>,
    pub(crate) violations: Mutex<Vec<String>>,
    labels: Mutex<Vec<String>>,
    /// Line comments by the review they came with.
    lines: Mutex<HashMap<(PullNumber, u64), WithLines>>,
    /// The largest page it gives.
    page: usize,
}

type WithLines = (Review, Vec<Comment>);

impl StandIn {
    /// A stand-in in front of a repository, with other doors at the same address.
    pub(crate) async fn over(repository: Arc<dyn Repository>, doors: Router) -> StandIn {
        let forge = embedded::Config {
            ledger: Arc::new(Notebook::default()),
            repository: Arc::clone(&repository),
            login: "carrel".into(),
            url: "https://fake.invalid/pulls".into(),
        };
        let tokens = ["carrel", "mona"].map(|login| (login.to_owned(), login.to_owned()));
        let house = Arc::new(House {
            forge: forge.build(),
            repository,
            tokens: Mutex::new(HashMap::from(tokens)),
            violations: Mutex::default(),
            labels: Mutex::default(),
            lines: Mutex::default(),
            page: 3,
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = doors.merge(Router::new().fallback(serve).with_state(Arc::clone(&house)));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        StandIn { house, address, serving }
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

type Reply = (u16, Value);

struct Asked<'a> {
    house: &'a House,
    forge: Embedded,
    path: Vec<&'a str>,
    query: Vec<(String, String)>,
    body: Value,
}

async fn serve(State(house): State<Arc<House>>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let shown = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let login = shown.strip_prefix("token ").and_then(|token| house.tokens.lock().unwrap().get(token).cloned());
    let Some(login) = login else {
        return send(401, &json!({ "message": "token is required", "url": "https://x.example/api/swagger" }), 0);
    };
    let query = reqwest::Url::parse(&format!("http://x{}", parts.uri)).unwrap().query_pairs().into_owned().collect();
    let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).unwrap() };
    let path = parts.uri.path().strip_prefix("/api/v1/").unwrap_or_default();
    let asked =
        Asked { house: &house, forge: house.forge.acting_as(&login), path: path.split('/').collect(), query, body };
    let (status, value) = asked.answer(parts.method.as_str(), &login).await;
    if let Value::String(text) = &value {
        return Response::builder().status(status).body(Body::from(text.clone())).unwrap();
    }
    let total = value.as_array().map_or(0, Vec::len);
    send(status, &asked.page(value), total)
}

fn send(status: u16, value: &Value, total: usize) -> Response<Body> {
    let builder =
        Response::builder().status(status).header("content-type", "application/json").header("x-total-count", total);
    builder.body(if value.is_null() { Body::empty() } else { Body::from(value.to_string()) }).unwrap()
}

fn refuse(status: u16, why: &str) -> Reply {
    (status, json!({ "message": why, "url": "https://x.example/api/swagger" }))
}

fn time(at: Timestamp) -> Value {
    // With the zone of the server, as Gitea has it.
    let there = Timestamp::from_second(at.as_second() + 7200).unwrap().to_string();
    json!(there.replace('Z', "+02:00"))
}

fn user(login: &str) -> Value {
    json!({ "id": 1, "login": login, "full_name": "", "email": "x@x.example" })
}

impl Asked<'_> {
    /// Fields that Gitea does not know are ignored by it; here they are noticed.
    fn knows(&self, fields: &[&str]) {
        for name in self.body.as_object().into_iter().flat_map(|body| body.keys()) {
            if !fields.contains(&name.as_str()) {
                self.house.violations.lock().unwrap().push(format!("{}: {name}", self.path.join("/")));
            }
        }
    }

    fn text(&self, name: &str) -> String {
        self.body[name].as_str().unwrap_or_default().to_owned()
    }

    fn asks(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn page(&self, value: Value) -> Value {
        let (Value::Array(items), Some(page)) = (&value, self.asks("page").and_then(|page| page.parse::<usize>().ok()))
        else {
            return value;
        };
        let size = self.asks("limit").and_then(|limit| limit.parse().ok()).unwrap_or(30).min(self.house.page);
        items.iter().skip(size * (page - 1)).take(size).cloned().collect()
    }

    fn number(&self) -> PullNumber {
        PullNumber(self.path.get(4).and_then(|part| part.trim_end_matches(".diff").parse().ok()).unwrap_or(0))
    }

    fn labels(&self, names: &[String]) -> Value {
        let known = self.house.labels.lock().unwrap();
        let id = |name: &String| known.iter().position(|label| label == name).map_or(0, |at| at + 1);
        names.iter().map(|name| json!({ "id": id(name), "name": name, "color": "7057ff" })).collect()
    }

    async fn pull(&self, pull: &Pull) -> Value {
        let gone = self.house.repository.tip(&pull.head).await.unwrap().is_none();
        let head = if gone { format!("refs/pull/{}/head", pull.number) } else { pull.head.to_string() };
        let merged = matches!(pull.state, PullState::Merged { .. });
        json!({
            "id": pull.number.0 + 1000, "number": pull.number.0, "url": pull.url, "html_url": pull.url,
            "title": if pull.draft { format!("WIP: {}", pull.title) } else { pull.title.clone() },
            "body": pull.body, "user": user(&pull.author), "labels": self.labels(&pull.labels),
            "state": if pull.state == PullState::Open { "open" } else { "closed" },
            "mergeable": pull.mergeable == Mergeable::Clean && !pull.draft,
            "merged": merged, "merged_at": if merged { time(pull.updated_at) } else { Value::Null },
            "merge_commit_sha": match &pull.state { PullState::Merged { commit } => json!(commit), _ => Value::Null },
            "requested_reviewers": if pull.reviewers.is_empty() { Value::Null } else { pull.reviewers.iter().map(|login| user(login)).collect() },
            "head": { "label": pull.head, "ref": head, "sha": pull.head_commit, "repo_id": 1 },
            "base": { "label": pull.base, "ref": pull.base, "sha": pull.head_commit, "repo_id": 1 },
            "created_at": time(pull.created_at), "updated_at": time(pull.updated_at),
        })
    }

    async fn show(&self, status: u16) -> Reply {
        match self.forge.get(self.number()).await {
            Ok(pull) => (status, self.pull(&pull).await),
            Err(_) => refuse(404, "not found"),
        }
    }

    async fn answer(&self, method: &str, login: &str) -> Reply {
        let rest = match self.path.as_slice() {
            ["user"] => return (200, user(login)),
            ["repos", "octo", "hello", rest @ ..] => rest,
            _ => return refuse(404, "not found"),
        };
        match (method, rest) {
            ("GET", []) => {
                let permissions = json!({ "admin": false, "push": true, "pull": true });
                (
                    200,
                    json!({ "default_branch": "main", "archived": false, "has_pull_requests": true, "permissions": permissions }),
                )
            }
            ("GET", ["pulls"]) => self.list().await,
            ("POST", ["pulls"]) => self.open().await,
            ("GET", ["pulls", name]) if name.ends_with(".diff") => match self.forge.diff(self.number()).await {
                Ok(diff) => (200, json!(diff)),
                Err(_) => refuse(404, "not found"),
            },
            ("GET", ["pulls", _]) => self.show(200).await,
            ("PATCH", ["pulls", _]) => self.change().await,
            ("POST", ["pulls", _, "merge"]) => self.merge().await,
            ("DELETE", ["pulls", _, "merge"]) => {
                let wished = self.forge.get(self.number()).await.is_ok_and(|pull| pull.auto_merge.is_some());
                if !wished {
                    return refuse(404, "not found");
                }
                self.forge.auto_merge(self.number(), None).await.unwrap();
                (204, Value::Null)
            }
            ("GET", ["pulls", _, "reviews"]) => self.reviews().await,
            ("POST", ["pulls", _, "reviews"]) => self.review().await,
            ("GET", ["pulls", _, "reviews", id, "comments"]) => {
                let lines = self.house.lines.lock().unwrap();
                let (_, comments) = &lines[&(self.number(), id.parse().unwrap())];
                (200, comments.iter().map(|comment| self.comment_view(comment)).collect())
            }
            ("POST", ["pulls", _, "requested_reviewers"]) => {
                self.knows(&["reviewers", "team_reviewers"]);
                let logins: Vec<String> = serde_json::from_value(self.body["reviewers"].clone()).unwrap();
                match self.forge.request_reviewers(self.number(), &logins).await {
                    Ok(()) => (201, json!([])),
                    Err(error) => refuse(422, &error.to_string()),
                }
            }
            ("GET", ["issues", _, "comments"]) => {
                let since = self.asks("since").map(|since| since.parse().unwrap());
                match self.forge.comments(self.number(), since).await {
                    Ok(said) => {
                        (200, said.iter().filter(|c| c.place.is_none()).map(|c| self.comment_view(c)).collect())
                    }
                    Err(_) => refuse(404, "not found"),
                }
            }
            ("POST", ["issues", _, "comments"]) => {
                self.knows(&["body"]);
                let new = NewComment { body: self.text("body"), place: None, stamp: None };
                match self.forge.comment(self.number(), &new).await {
                    Ok(comment) => (201, self.comment_view(&comment)),
                    Err(_) => refuse(404, "not found"),
                }
            }
            ("GET", ["labels"]) => {
                let names = self.house.labels.lock().unwrap().clone();
                (200, self.labels(&names))
            }
            ("POST", ["labels"]) => {
                self.knows(&["name", "color", "description", "exclusive", "is_archived"]);
                self.house.labels.lock().unwrap().push(self.text("name"));
                (201, self.labels(&[self.text("name")])[0].clone())
            }
            ("POST", ["issues", _, "labels"]) => {
                self.knows(&["labels"]);
                let ids: Vec<usize> = serde_json::from_value(self.body["labels"].clone()).unwrap();
                let known = self.house.labels.lock().unwrap().clone();
                let names: Vec<_> = ids.into_iter().map(|id| known[id - 1].clone()).collect();
                match self.forge.label(self.number(), &names).await {
                    Ok(()) => (200, self.labels(&names)),
                    Err(_) => refuse(404, "not found"),
                }
            }
            ("GET", ["commits", commit, "statuses"]) => {
                let checks = self.forge.checks(&commit.parse().unwrap()).await.unwrap();
                (200, checks.all.iter().map(status_view).collect())
            }
            ("POST", ["statuses", commit]) => self.report(&commit.parse().unwrap()).await,
            ("DELETE", ["branches", parts @ ..]) => {
                let branch: BranchName = parts.join("/").parse().unwrap();
                if self.house.repository.tip(&branch).await.unwrap().is_none() {
                    return refuse(404, "not found");
                }
                match self.forge.delete_branch(&branch).await {
                    Ok(()) => (204, Value::Null),
                    Err(_) => refuse(403, "can not delete default branch"),
                }
            }
            _ => {
                self.house.violations.lock().unwrap().push(format!("{method} {}", self.path.join("/")));
                refuse(404, "not found")
            }
        }
    }

    async fn list(&self) -> Reply {
        let mut pulls = self.forge.changed(Timestamp::UNIX_EPOCH).await.unwrap();
        let state = self.asks("state").unwrap_or("open");
        pulls.retain(|pull| state == "all" || (state == "open") == (pull.state == PullState::Open));
        pulls.sort_by_key(|pull| if self.asks("sort").is_some() { pull.updated_at } else { pull.created_at });
        pulls.reverse();
        let mut views = Vec::new();
        for pull in &pulls {
            views.push(self.pull(pull).await);
        }
        (200, views.into())
    }

    async fn open(&self) -> Reply {
        self.knows(&[
            "head",
            "base",
            "title",
            "body",
            "assignee",
            "assignees",
            "milestone",
            "labels",
            "due_date",
            "reviewers",
        ]);
        let title = self.text("title");
        let plain = title.strip_prefix("WIP: ").map(str::to_owned);
        let (head, base): (BranchName, BranchName) =
            (self.text("head").parse().unwrap(), self.text("base").parse().unwrap());
        if self.house.repository.tip(&head).await.unwrap().is_none() {
            return refuse(404, "not found");
        }
        if let Ok(Some(known)) = self.forge.find(&head).await
            && known.state == PullState::Open
        {
            return refuse(409, "pull request already exists for these targets");
        }
        let new =
            NewPull { draft: plain.is_some(), title: plain.unwrap_or(title), body: self.text("body"), head, base };
        match self.forge.open(&new).await {
            Ok(pull) => (201, self.pull(&pull).await),
            Err(error) => refuse(422, &error.to_string()),
        }
    }

    async fn change(&self) -> Reply {
        self.knows(&[
            "title",
            "body",
            "base",
            "assignee",
            "assignees",
            "milestone",
            "labels",
            "state",
            "due_date",
            "unset_due_date",
            "allow_maintainer_edit",
        ]);
        let words = |name: &str| self.body[name].as_str().map(str::to_owned);
        let title = words("title");
        let draft = title.as_ref().map(|title| title.starts_with("WIP: "));
        let change = PullChange {
            title: title.map(|title| title.trim_start_matches("WIP: ").to_owned()),
            body: words("body"),
            base: words("base").map(|base| base.parse().unwrap()),
            open: words("state").map(|state| state == "open"),
        };
        match self.forge.update(self.number(), &change).await {
            Err(ForgeError::NotFound { .. }) => return refuse(404, "not found"),
            Err(error) => return refuse(412, &error.to_string()),
            Ok(_) => {}
        }
        if let Some(draft) = draft {
            self.forge.set_draft(self.number(), draft).await.unwrap();
        }
        self.show(201).await
    }

    async fn merge(&self) -> Reply {
        self.knows(&[
            "Do",
            "MergeTitleField",
            "MergeMessageField",
            "head_commit_id",
            "merge_when_checks_succeed",
            "delete_branch_after_merge",
            "force_merge",
            "MergeCommitID",
        ]);
        let Ok(pull) = self.forge.get(self.number()).await else { return refuse(404, "not found") };
        let way = MergeWay::from_word(&self.text("Do")).unwrap();
        match pull.state {
            PullState::Merged { .. } => return refuse(405, ""),
            PullState::Closed => return refuse(404, "not found"),
            PullState::Open => {}
        }
        if self.body["merge_when_checks_succeed"] == true {
            if pull.auto_merge.is_some() {
                return refuse(409, "pull request is already scheduled to auto merge when checks succeed [pull_id: 1]");
            }
            self.forge.auto_merge(self.number(), Some(way)).await.unwrap();
            return (201, Value::Null);
        }
        let head: CommitId = self.text("head_commit_id").parse().unwrap();
        if head != pull.head_commit {
            return refuse(409, "head out of date");
        }
        match self.forge.merge(self.number(), &Merge { way, head, title: None, message: None }).await {
            Ok(_) => (200, Value::Null),
            Err(error) => refuse(409, &error.to_string()),
        }
    }

    fn comment_view(&self, comment: &Comment) -> Value {
        let id: u64 = comment.id.rsplit('-').next().unwrap().parse().unwrap();
        let mut view = json!({
            "id": id, "html_url": comment.url, "user": user(&comment.author), "body": comment.body,
            "created_at": time(comment.created_at), "updated_at": time(comment.updated_at),
        });
        if let Some(place) = &comment.place {
            let line = place.line.unwrap();
            view["path"] = json!(place.path);
            view["position"] = json!(if place.side == Side::New { line } else { 0 });
            view["original_position"] = json!(if place.side == Side::Old { line } else { 0 });
        }
        view
    }

    fn review_view(&self, review: &Review, comments: usize) -> Value {
        let state = match review.verdict {
            Verdict::Approved => "APPROVED",
            Verdict::ChangesRequested => "REQUEST_CHANGES",
            _ => "COMMENT",
        };
        json!({
            "id": review.id.rsplit('-').next().unwrap().parse::<u64>().unwrap(), "user": user(&review.author),
            "state": state, "body": review.body, "commit_id": review.commit, "stale": false, "official": false,
            "dismissed": false, "comments_count": comments, "submitted_at": time(review.at),
        })
    }

    async fn reviews(&self) -> Reply {
        let Ok(reviews) = self.forge.reviews(self.number()).await else { return refuse(404, "not found") };
        let mut views: Vec<_> = reviews.iter().map(|review| self.review_view(review, 0)).collect();
        let lines = self.house.lines.lock().unwrap();
        for ((number, _), (review, comments)) in lines.iter() {
            if *number == self.number() {
                views.push(self.review_view(review, comments.len()));
            }
        }
        // Who was asked stands in the same list.
        views.push(json!({ "id": 9_999, "user": user("mona"), "state": "REQUEST_REVIEW", "body": "", "commit_id": "", "submitted_at": time(Timestamp::now()) }));
        (200, views.into())
    }

    async fn review(&self) -> Reply {
        self.knows(&["event", "body", "commit_id", "comments"]);
        let verdict = match self.text("event").as_str() {
            "APPROVED" => Verdict::Approved,
            "REQUEST_CHANGES" => Verdict::ChangesRequested,
            _ => Verdict::Commented,
        };
        let Some(lines) = self.body["comments"].as_array() else {
            return match self.forge.review(self.number(), &NewReview { verdict, body: self.text("body") }).await {
                Ok(review) => (200, self.review_view(&review, 0)),
                Err(ForgeError::NotFound { .. }) => refuse(404, "not found"),
                Err(error) => refuse(422, &error.to_string()),
            };
        };
        let mut said = Vec::new();
        for line in lines {
            let number = |name: &str| line[name].as_u64().filter(|line| *line > 0).map(|line| line as u32);
            let (line_number, side) = match (number("new_position"), number("old_position")) {
                (Some(new), _) => (new, Side::New),
                (None, old) => (old.unwrap(), Side::Old),
            };
            let place = Place { path: line["path"].as_str().unwrap().into(), line: Some(line_number), side };
            let new = NewComment { body: line["body"].as_str().unwrap().into(), place: Some(place), stamp: None };
            said.push(self.forge.comment(self.number(), &new).await.unwrap());
        }
        let id: u64 = 5_000 + said[0].id.rsplit('-').next().unwrap().parse::<u64>().unwrap();
        let commit = self.text("commit_id").parse().ok();
        let author = said[0].author.clone();
        let review =
            Review { id: id.to_string(), author, verdict, body: String::new(), commit, at: said[0].created_at };
        let view = self.review_view(&review, said.len());
        self.house.lines.lock().unwrap().insert((self.number(), id), (review, said));
        (200, view)
    }

    async fn report(&self, commit: &CommitId) -> Reply {
        self.knows(&["context", "state", "description", "target_url"]);
        let state = match self.text("state").as_str() {
            "success" => CheckState::Passed,
            "pending" => CheckState::Pending,
            _ => CheckState::Failed,
        };
        let check = Check {
            name: self.text("context"),
            state,
            summary: Some(self.text("description")),
            url: Some(self.text("target_url")),
            at: Some(Timestamp::now()),
        };
        self.forge.report(commit, &check).await.unwrap();
        (201, status_view(&check))
    }
}

fn status_view(check: &Check) -> Value {
    let state = match check.state {
        CheckState::Passed | CheckState::Skipped => "success",
        CheckState::Pending => "pending",
        CheckState::Failed => "failure",
    };
    let at = time(check.at.unwrap());
    json!({ "id": 1, "status": state, "context": check.name, "description": check.summary, "target_url": check.url, "created_at": at, "updated_at": at })
}
