//! What a forge does, in GitHub's words.

use async_trait::async_trait;
use carrel_model::Timestamp;
use http::Method;
use serde_json::json;

use super::{
    DIFF, GitHub,
    access::Bearer,
    wire::{
        CheckRunsWire, CommentWire, LineCommentWire, MergedWire, PullWire, RepositoryWire, ReviewWire, StatusesWire,
        as_conflict, status_word,
    },
};
use crate::{
    BranchName, Check, Checks, Comment, CommitId, Fitness, Forge, ForgeError, Merge, MergeWay, Merged, NewComment,
    NewPull, NewReview, Pull, PullChange, PullNumber, PullState, Review, Side, Verdict,
    rest::{Ask, Sane},
    talk,
};

/// What an app's installation is asked to have, in GitHub's words.
const WANTED: [(&str, &str); 5] =
    [("contents", "write"), ("pull_requests", "write"), ("issues", "write"), ("statuses", "write"), ("checks", "read")];

#[async_trait]
impl Forge for GitHub {
    async fn probe(&self) -> Result<Fitness, ForgeError> {
        let repository = self.about().await?;
        let login = self.inner.access.login(&self.inner.rest).await?;
        let mut missing = match self.inner.access.bearer(&self.inner.rest, &self.slug).await? {
            Bearer::App(granted) => WANTED
                .iter()
                .filter(|(name, level)| !granted.get(*name).is_some_and(|has| has == level || has == "write"))
                .map(|(name, level)| lacks(&format!("{name}={level}")))
                .collect(),
            Bearer::Person => self.try_doors(&repository).await?,
        };
        if repository.archived {
            missing.push(format!("{} is archived: nothing can be changed until it is not.", self.slug));
        }
        Ok(Fitness { login, default_branch: repository.default_branch, missing })
    }

    async fn default_branch(&self) -> Result<BranchName, ForgeError> {
        Ok(self.about().await?.default_branch)
    }

    async fn open(&self, new: &NewPull) -> Result<Pull, ForgeError> {
        if let Some(pull) = self.find_open(&new.head, Some(&new.base)).await? {
            return Ok(pull);
        }
        let ask = self.ask(Method::POST, &["pulls"]).json(json!({
            "title": talk::title_of(&new.title),
            "body": talk::written(&new.body, None),
            "head": new.head,
            "base": new.base,
            "draft": new.draft,
        }));
        match self.fetch::<PullWire>(ask).await {
            Ok(pull) => Ok(pull.into()),
            // Somebody was quicker, perhaps an earlier call of ours whose answer was lost.
            Err(error @ ForgeError::Invalid { .. }) => self.find_open(&new.head, Some(&new.base)).await?.ok_or(error),
            Err(error) => Err(error),
        }
    }

    async fn find(&self, head: &BranchName) -> Result<Option<Pull>, ForgeError> {
        if let Some(open) = self.find_open(head, None).await? {
            return Ok(Some(open));
        }
        let ask = self.pulls_of(head).query("state", "all").query("sort", "created").query("direction", "desc");
        let newest = self.fetch::<Vec<PullWire>>(ask.query("per_page", "1")).await?.into_iter().next();
        Ok(newest.map(Pull::from))
    }

    async fn get(&self, number: PullNumber) -> Result<Pull, ForgeError> {
        Ok(self.pull(number).await?.into())
    }

    async fn changed(&self, since: Timestamp) -> Result<Vec<Pull>, ForgeError> {
        let ask = self.ask(Method::GET, &["pulls"]).query("state", "all").query("sort", "updated");
        let ask = ask.query("direction", "desc");
        let pulls = |page: Vec<Sane<PullWire>>| page.into_iter().filter_map(Sane::found).collect();
        let wires = self.list_while(ask, pulls, |pull: &PullWire| pull.updated_at() >= since).await?;
        let mut pulls: Vec<_> = wires.into_iter().filter(|pull| pull.updated_at() >= since).map(Pull::from).collect();
        pulls.reverse();
        Ok(pulls)
    }

    async fn update(&self, number: PullNumber, change: &PullChange) -> Result<Pull, ForgeError> {
        let mut body = serde_json::Map::new();
        if let Some(title) = &change.title {
            body.insert("title".into(), talk::title_of(title).into());
        }
        if let Some(text) = &change.body {
            body.insert("body".into(), talk::written(text, None).into());
        }
        if let Some(base) = &change.base {
            body.insert("base".into(), base.as_str().into());
        }
        if let Some(open) = change.open {
            body.insert("state".into(), if open { "open" } else { "closed" }.into());
        }
        let ask = self.ask(Method::PATCH, &["pulls", &number.to_string()]).json(body.into());
        match self.fetch::<PullWire>(ask).await {
            Ok(pull) if change.open.is_some() && pull.is_merged() => Err(already_merged(number)),
            Ok(pull) => Ok(pull.into()),
            Err(error @ ForgeError::Invalid { .. }) if change.open.is_some() => {
                Err(if self.pull(number).await?.is_merged() { already_merged(number) } else { error })
            }
            Err(error) => Err(error),
        }
    }

    async fn diff(&self, number: PullNumber) -> Result<String, ForgeError> {
        let answer = self.send(self.ask(Method::GET, &["pulls", &number.to_string()]).accept(DIFF)).await?;
        Ok(String::from_utf8_lossy(&answer.body).into_owned())
    }

    async fn comment(&self, number: PullNumber, new: &NewComment) -> Result<Comment, ForgeError> {
        if let Some(stamp) = &new.stamp {
            let said = self.comments(number, None).await?;
            if let Some(known) = said.into_iter().find(|comment| comment.stamp.as_ref() == Some(stamp)) {
                return Ok(known);
            }
        }
        let body = talk::written(&new.body, new.stamp.as_ref());
        let number = number.to_string();
        let Some(place) = &new.place else {
            let ask = self.ask(Method::POST, &["issues", &number, "comments"]).json(json!({ "body": body }));
            return Ok(self.fetch::<CommentWire>(ask).await?.into());
        };
        let Some(line) = place.line else { return Err(ForgeError::invalid("a comment on a line names the line")) };
        let pull: Pull = self.fetch::<PullWire>(self.ask(Method::GET, &["pulls", &number])).await?.into();
        let ask = self.ask(Method::POST, &["pulls", &number, "comments"]).json(json!({
            "body": body,
            "commit_id": pull.head_commit,
            "path": place.path,
            "line": line,
            "side": match place.side { Side::Old => "LEFT", Side::New => "RIGHT" },
        }));
        Ok(self.fetch::<LineCommentWire>(ask).await?.into())
    }

    async fn comments(&self, number: PullNumber, since: Option<Timestamp>) -> Result<Vec<Comment>, ForgeError> {
        let number = number.to_string();
        let ask = |path: &[&str]| {
            let ask = self.ask(Method::GET, path);
            // Whole seconds, rounded down: nothing is left out.
            since.map_or(ask.clone(), |since| ask.query("since", &whole_second(since)))
        };
        let general: Vec<CommentWire> = self.list(ask(&["issues", &number, "comments"])).await?;
        let on_lines: Vec<LineCommentWire> = self.list(ask(&["pulls", &number, "comments"])).await?;
        let mut all: Vec<Comment> =
            general.into_iter().map(Comment::from).chain(on_lines.into_iter().map(Comment::from)).collect();
        all.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        Ok(all)
    }

    async fn review(&self, number: PullNumber, new: &NewReview) -> Result<Review, ForgeError> {
        let event = match new.verdict {
            Verdict::Approved => "APPROVE",
            Verdict::ChangesRequested => "REQUEST_CHANGES",
            Verdict::Commented => "COMMENT",
            Verdict::Dismissed => return Err(ForgeError::invalid("a review cannot be given as dismissed")),
        };
        let ask = self.ask(Method::POST, &["pulls", &number.to_string(), "reviews"]);
        let mut body = json!({ "event": event });
        if !new.body.is_empty() {
            body["body"] = talk::written(&new.body, None).into();
        }
        let review: ReviewWire = self.fetch(ask.json(body)).await?;
        review.understood().ok_or_else(|| ForgeError::unavailable("GitHub took the review but did not publish it"))
    }

    async fn reviews(&self, number: PullNumber) -> Result<Vec<Review>, ForgeError> {
        let ask = self.ask(Method::GET, &["pulls", &number.to_string(), "reviews"]);
        let wires: Vec<ReviewWire> = self.list(ask).await?;
        Ok(wires.into_iter().filter_map(ReviewWire::understood).collect())
    }

    async fn label(&self, number: PullNumber, labels: &[String]) -> Result<(), ForgeError> {
        if labels.is_empty() {
            return Ok(());
        }
        let ask = self.ask(Method::POST, &["issues", &number.to_string(), "labels"]);
        self.send(ask.json(json!({ "labels": labels }))).await.map(drop)
    }

    async fn request_reviewers(&self, number: PullNumber, logins: &[String]) -> Result<(), ForgeError> {
        if logins.is_empty() {
            return Ok(());
        }
        // `organisation/team` is a team.
        let (teams, people): (Vec<_>, Vec<_>) = logins.iter().partition(|login| login.contains('/'));
        let mut body = json!({ "reviewers": people });
        if !teams.is_empty() {
            body["team_reviewers"] = teams.iter().filter_map(|team| team.rsplit('/').next()).collect();
        }
        let ask = self.ask(Method::POST, &["pulls", &number.to_string(), "requested_reviewers"]);
        self.send(ask.json(body)).await.map(drop)
    }

    async fn set_draft(&self, number: PullNumber, draft: bool) -> Result<(), ForgeError> {
        let pull = self.pull(number).await?;
        if pull.is_draft() == draft { Ok(()) } else { self.set_draft_of(&pull.node_id, draft).await }
    }

    async fn auto_merge(&self, number: PullNumber, way: Option<MergeWay>) -> Result<(), ForgeError> {
        let wire = self.pull(number).await?;
        let node = wire.node_id.clone();
        let pull = Pull::from(wire);
        match way {
            _ if pull.auto_merge == way => Ok(()),
            Some(_) if pull.state != PullState::Open => {
                Err(ForgeError::conflict(format!("pull request {number} is not open")))
            }
            way => self.set_auto_merge_of(&node, way).await,
        }
    }

    async fn checks(&self, commit: &CommitId) -> Result<Checks, ForgeError> {
        let runs = self.ask(Method::GET, &["commits", commit.as_str(), "check-runs"]);
        let runs = match self.list_while(runs, |page: CheckRunsWire| page.check_runs, |_| true).await {
            // Some tokens cannot have this permission; `probe` says so. Statuses are better than nothing.
            Err(ForgeError::Denied { .. }) => vec![],
            runs => runs?,
        };
        let statuses = self.ask(Method::GET, &["commits", commit.as_str(), "status"]);
        let statuses = self.list_while(statuses, |page: StatusesWire| page.statuses, |_| true).await?;
        Ok(runs.into_iter().map(Check::from).chain(statuses.into_iter().map(Check::from)).collect())
    }

    async fn report(&self, commit: &CommitId, check: &Check) -> Result<(), ForgeError> {
        let mut body = json!({ "state": status_word(check.state), "context": check.name });
        if let Some(summary) = &check.summary {
            body["description"] = summary.chars().take(140).collect::<String>().into();
        }
        if let Some(url) = &check.url {
            body["target_url"] = url.as_str().into();
        }
        let ask = self.ask(Method::POST, &["statuses", commit.as_str()]);
        self.send(ask.json(body)).await.map(drop)
    }

    async fn merge(&self, number: PullNumber, merge: &Merge) -> Result<Merged, ForgeError> {
        let mut body = json!({ "merge_method": merge.way.word(), "sha": merge.head });
        if let Some(title) = &merge.title {
            body["commit_title"] = title.as_str().into();
        }
        if let Some(message) = &merge.message {
            body["commit_message"] = message.as_str().into();
        }
        let ask = self.ask(Method::PUT, &["pulls", &number.to_string(), "merge"]);
        match self.fetch::<MergedWire>(ask.json(body)).await {
            Ok(merged) => Ok(Merged { commit: merged.sha }),
            Err(error @ (ForgeError::Conflict { .. } | ForgeError::Invalid { .. })) => {
                match self.get(number).await?.state {
                    PullState::Merged { commit } => Ok(Merged { commit }),
                    _ => Err(as_conflict(error)),
                }
            }
            Err(error) => Err(error),
        }
    }

    async fn delete_branch(&self, branch: &BranchName) -> Result<(), ForgeError> {
        match self.send(self.ask_ref(Method::DELETE, "refs", branch)).await {
            Ok(_) => Ok(()),
            // GitHub says "422 Reference does not exist" when there is none, and 422 for other reasons too.
            Err(error @ (ForgeError::Invalid { .. } | ForgeError::NotFound { .. })) => {
                match self.send(self.ask_ref(Method::GET, "ref", branch)).await {
                    Err(ForgeError::NotFound { .. }) => Ok(()),
                    _ => Err(as_conflict(error)),
                }
            }
            Err(error) => Err(error),
        }
    }
}

impl GitHub {
    async fn about(&self) -> Result<RepositoryWire, ForgeError> {
        self.fetch(self.ask(Method::GET, &[])).await
    }

    async fn pull(&self, number: PullNumber) -> Result<PullWire, ForgeError> {
        self.fetch(self.ask(Method::GET, &["pulls", &number.to_string()])).await
    }

    /// The pulls of a branch of this repository; forks may have branches of the same name.
    fn pulls_of(&self, head: &BranchName) -> Ask {
        self.ask(Method::GET, &["pulls"]).query("head", &format!("{}:{head}", self.slug.owner()))
    }

    async fn find_open(&self, head: &BranchName, base: Option<&BranchName>) -> Result<Option<Pull>, ForgeError> {
        let mut ask = self.pulls_of(head).query("state", "open").query("per_page", "1");
        if let Some(base) = base {
            ask = ask.query("base", base.as_str());
        }
        match self.fetch::<Vec<PullWire>>(ask).await?.into_iter().next() {
            // A list does not say whether it can be merged.
            Some(pull) => self.get(Pull::from(pull).number).await.map(Some),
            None => Ok(None),
        }
    }

    fn ask_ref(&self, method: Method, kind: &str, branch: &BranchName) -> Ask {
        let path: Vec<_> = ["git", kind, "heads"].into_iter().chain(branch.as_str().split('/')).collect();
        self.ask(method, &path)
    }

    /// A token of fine grain does not say what it may do. What reads can be tried; what writes shows by `push`.
    async fn try_doors(&self, repository: &RepositoryWire) -> Result<Vec<String>, ForgeError> {
        let mut missing = Vec::new();
        if repository.permissions.as_ref().is_none_or(|permissions| !permissions.push) {
            missing.push(lacks("contents=write"));
        }
        let branch = repository.default_branch.as_str();
        let doors: [(&[&str], &str); 4] = [
            (&["pulls"], "pull_requests=write"),
            (&["issues", "comments"], "issues=write"),
            (&["commits", branch, "check-runs"], "checks=read"),
            (&["commits", branch, "status"], "statuses=write"),
        ];
        for (path, wanted) in doors {
            match self.send(self.ask(Method::GET, path).query("per_page", "1")).await {
                Err(ForgeError::Denied { missing: named, .. }) if named.is_empty() => missing.push(lacks(wanted)),
                Err(ForgeError::Denied { missing: named, .. }) => missing.push(lacks(&named.join(" or "))),
                // A repository without commits has no checks, and what the token does not reach is not there either.
                Err(ForgeError::NotFound { .. } | ForgeError::Conflict { .. } | ForgeError::Invalid { .. }) | Ok(_) => {
                }
                Err(error) => return Err(error),
            }
        }
        Ok(missing)
    }
}

fn lacks(permission: &str) -> String {
    format!("The credential lacks `{permission}`; give it that in its settings at GitHub.")
}

fn already_merged(number: PullNumber) -> ForgeError {
    ForgeError::conflict(format!("pull request {number} is merged"))
}

fn whole_second(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap_or(at).to_string()
}
