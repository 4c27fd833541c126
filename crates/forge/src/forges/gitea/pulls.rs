//! What a forge does, in Gitea's words.

use std::collections::HashMap;

use async_trait::async_trait;
use carrel_model::Timestamp;
use http::Method;
use serde_json::json;

use super::{
    Gitea,
    wire::{
        CommentWire, LabelWire, LineCommentWire, PullWire, RepositoryWire, ReviewWire, StatusWire, UserWire, marked,
    },
};
use crate::{
    BranchName, Check, CheckState, Checks, Comment, CommitId, Fitness, Forge, ForgeError, Merge, MergeWay, Merged,
    NewComment, NewPull, NewReview, Pull, PullChange, PullNumber, PullState, Review, Side, Verdict, diff, talk,
};

#[async_trait]
impl Forge for Gitea {
    async fn probe(&self) -> Result<Fitness, ForgeError> {
        let repository = self.about().await?;
        let login = self.fetch::<UserWire>(self.inner.rest.ask(Method::GET, ["user"])).await;
        let mut missing = Vec::new();
        let login = match login {
            // A token may be good for repositories alone.
            Err(ForgeError::Denied { .. }) => {
                missing.push("The token lacks `read:user`; without it Carrel does not know its own name.".to_owned());
                String::new()
            }
            login => login?.login,
        };
        if repository.permissions.as_ref().is_none_or(|permissions| !permissions.push) {
            missing.push(format!("The token may not write to {}; make its owner a collaborator.", self.slug));
        }
        if !repository.has_pull_requests {
            missing.push(format!("Pull requests are switched off in {}; switch them on in its settings.", self.slug));
        }
        if repository.archived {
            missing.push(format!("{} is archived: nothing can be changed until it is not.", self.slug));
        }
        for (path, scope) in [("pulls", "read:repository"), ("labels", "write:issue")] {
            match self.send(self.ask(Method::GET, &[path]).query("limit", "1")).await {
                Err(ForgeError::Denied { .. }) => {
                    missing.push(format!("The token lacks `{scope}`; make one that has it."))
                }
                Err(ForgeError::NotFound { .. }) | Ok(_) => {}
                Err(error) => return Err(error),
            }
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
            "title": marked(&talk::title_of(&new.title), new.draft),
            "body": talk::written(&new.body, None),
            "head": new.head,
            "base": new.base,
        }));
        match self.fetch::<PullWire>(ask).await {
            Ok(pull) => Ok(pull.into()),
            // Somebody was quicker, perhaps an earlier call of ours whose answer was lost.
            Err(error @ ForgeError::Conflict { .. }) => self.find_open(&new.head, Some(&new.base)).await?.ok_or(error),
            // It calls a branch that is not there not found, as it does a repository.
            Err(ForgeError::NotFound { .. }) => {
                self.about().await?;
                Err(ForgeError::invalid(format!("there is no branch `{}` or no branch `{}`", new.head, new.base)))
            }
            Err(error) => Err(error),
        }
    }

    async fn find(&self, head: &BranchName) -> Result<Option<Pull>, ForgeError> {
        if let Some(open) = self.find_open(head, None).await? {
            return Ok(Some(open));
        }
        let ask = self.ask(Method::GET, &["pulls"]).query("state", "closed").query("sort", "recentupdate");
        let closed: Vec<PullWire> = self.list(ask, |_| false).await?;
        let of_it = closed.into_iter().map(Pull::from).filter(|pull| pull.head == *head);
        Ok(of_it.max_by_key(|pull| pull.number))
    }

    async fn get(&self, number: PullNumber) -> Result<Pull, ForgeError> {
        Ok(self.fetch::<PullWire>(self.ask(Method::GET, &["pulls", &number.to_string()])).await?.into())
    }

    async fn changed(&self, since: Timestamp) -> Result<Vec<Pull>, ForgeError> {
        let ask = self.ask(Method::GET, &["pulls"]).query("state", "all").query("sort", "recentupdate");
        let wires = self.list(ask, |pull: &PullWire| pull.updated_at() < since).await?;
        let mut pulls: Vec<Pull> =
            wires.into_iter().filter(|pull| pull.updated_at() >= since).map(Pull::from).collect();
        pulls.sort_by_key(|pull| (pull.updated_at, pull.number));
        Ok(pulls)
    }

    async fn update(&self, number: PullNumber, change: &PullChange) -> Result<Pull, ForgeError> {
        let mut body = serde_json::Map::new();
        if let Some(title) = &change.title {
            let draft = self.get(number).await?.draft;
            body.insert("title".into(), marked(&talk::title_of(title), draft).into());
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
        self.patch(number, body.into()).await
    }

    async fn diff(&self, number: PullNumber) -> Result<String, ForgeError> {
        let ask = self.ask(Method::GET, &["pulls", &format!("{number}.diff")]).accept("text/plain");
        Ok(String::from_utf8_lossy(&self.send(ask).await?.body).into_owned())
    }

    async fn comment(&self, number: PullNumber, new: &NewComment) -> Result<Comment, ForgeError> {
        if let Some(stamp) = &new.stamp {
            let said = self.comments(number, None).await?;
            if let Some(known) = said.into_iter().find(|comment| comment.stamp.as_ref() == Some(stamp)) {
                return Ok(known);
            }
        }
        let body = talk::written(&new.body, new.stamp.as_ref());
        let Some(place) = &new.place else {
            let ask = self.ask(Method::POST, &["issues", &number.to_string(), "comments"]);
            return Ok(self.fetch::<CommentWire>(ask.json(json!({ "body": body }))).await?.into());
        };
        // It would take any line.
        if !diff::shows(&self.diff(number).await?, place) {
            return Err(ForgeError::invalid(format!("the diff does not show that line of `{}`", place.path)));
        }
        let position = match place.side {
            Side::Old => "old_position",
            Side::New => "new_position",
        };
        let commit = self.get(number).await?.head_commit;
        let comments = json!([{ "path": place.path, "body": body, position: place.line }]);
        let ask = self.ask(Method::POST, &["pulls", &number.to_string(), "reviews"]);
        let review: ReviewWire =
            self.fetch(ask.json(json!({ "event": "COMMENT", "commit_id": commit, "comments": comments }))).await?;
        let made = self.comments_of(number, review.id).await?.into_iter().next();
        made.ok_or_else(|| ForgeError::unavailable("the comment was taken but cannot be seen yet"))
    }

    async fn comments(&self, number: PullNumber, since: Option<Timestamp>) -> Result<Vec<Comment>, ForgeError> {
        let mut ask = self.ask(Method::GET, &["issues", &number.to_string(), "comments"]);
        if let Some(since) = since {
            ask = ask.query("since", &Timestamp::from_second(since.as_second()).unwrap_or(since).to_string());
        }
        let general: Option<Vec<CommentWire>> = self.fetch(ask).await?;
        let mut all: Vec<Comment> = general.into_iter().flatten().map(Comment::from).collect();
        for review in self.review_wires(number).await?.into_iter().filter(|review| review.comments_count > 0) {
            all.extend(self.comments_of(number, review.id).await?);
        }
        all.retain(|comment| since.is_none_or(|since| comment.updated_at.as_second() >= since.as_second()));
        all.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        Ok(all)
    }

    async fn review(&self, number: PullNumber, new: &NewReview) -> Result<Review, ForgeError> {
        let event = match new.verdict {
            Verdict::Approved => "APPROVED",
            Verdict::ChangesRequested => "REQUEST_CHANGES",
            Verdict::Commented => "COMMENT",
            Verdict::Dismissed => return Err(ForgeError::invalid("a review cannot be given as dismissed")),
        };
        let body = json!({ "event": event, "body": talk::written(&new.body, None) });
        let ask = self.ask(Method::POST, &["pulls", &number.to_string(), "reviews"]);
        let review: ReviewWire = self.fetch(ask.json(body)).await?;
        review.understood().ok_or_else(|| ForgeError::unavailable("the review was taken but not published"))
    }

    async fn reviews(&self, number: PullNumber) -> Result<Vec<Review>, ForgeError> {
        let mut reviews: Vec<Review> =
            self.review_wires(number).await?.into_iter().filter_map(ReviewWire::understood).collect();
        reviews.sort_by_key(|review| review.at);
        Ok(reviews)
    }

    async fn label(&self, number: PullNumber, labels: &[String]) -> Result<(), ForgeError> {
        let known: Vec<LabelWire> = self.list(self.ask(Method::GET, &["labels"]), |_| false).await?;
        let mut ids: HashMap<String, u64> = known.into_iter().map(|label| (label.name, label.id)).collect();
        let mut wanted: Vec<u64> = Vec::new();
        for name in labels {
            if !ids.contains_key(name) {
                let ask = self.ask(Method::POST, &["labels"]).json(json!({ "name": name, "color": "#7057ff" }));
                ids.insert(name.clone(), self.fetch::<LabelWire>(ask).await?.id);
            }
            wanted.extend(ids.get(name));
        }
        let ask = self.ask(Method::POST, &["issues", &number.to_string(), "labels"]);
        self.send(ask.json(json!({ "labels": wanted }))).await.map(drop)
    }

    async fn request_reviewers(&self, number: PullNumber, logins: &[String]) -> Result<(), ForgeError> {
        // Asking again would make a second entry; who was asked stays asked.
        let asked = self.get(number).await?.reviewers;
        let (teams, people): (Vec<&String>, Vec<&String>) =
            logins.iter().filter(|login| !asked.contains(login)).partition(|login| login.contains('/'));
        if teams.is_empty() && people.is_empty() {
            return Ok(());
        }
        let teams: Vec<_> = teams.iter().filter_map(|team| team.rsplit('/').next()).collect();
        let ask = self.ask(Method::POST, &["pulls", &number.to_string(), "requested_reviewers"]);
        self.send(ask.json(json!({ "reviewers": people, "team_reviewers": teams }))).await.map(drop)
    }

    async fn set_draft(&self, number: PullNumber, draft: bool) -> Result<(), ForgeError> {
        let pull = self.get(number).await?;
        if pull.draft == draft {
            return Ok(());
        }
        self.patch(number, json!({ "title": marked(&pull.title, draft) })).await.map(drop)
    }

    async fn auto_merge(&self, number: PullNumber, way: Option<MergeWay>) -> Result<(), ForgeError> {
        let number = number.to_string();
        let path = ["pulls", &number, "merge"];
        let Some(way) = way else {
            return match self.send(self.ask(Method::DELETE, &path)).await {
                // There was no wish.
                Err(ForgeError::NotFound { .. }) => Ok(()),
                done => done.map(drop),
            };
        };
        let ask = self.ask(Method::POST, &path);
        let body = json!({ "Do": way.word(), "merge_when_checks_succeed": true });
        match self.send(ask.json(body)).await {
            // It is wished for already.
            Err(ForgeError::Conflict { why }) if why.contains("scheduled") => Ok(()),
            done => done.map(drop),
        }
    }

    async fn checks(&self, commit: &CommitId) -> Result<Checks, ForgeError> {
        let ask = self.ask(Method::GET, &["commits", commit.as_str(), "statuses"]).query("sort", "recentupdate");
        let statuses: Vec<StatusWire> = match self.list(ask, |_| false).await {
            Err(ForgeError::NotFound { .. }) => vec![],
            statuses => statuses?,
        };
        // The newest first: of two words in one second the first counts.
        Ok(statuses.into_iter().rev().map(Check::from).collect())
    }

    async fn report(&self, commit: &CommitId, check: &Check) -> Result<(), ForgeError> {
        let state = match check.state {
            CheckState::Passed | CheckState::Skipped => "success",
            CheckState::Pending => "pending",
            CheckState::Failed => "failure",
        };
        let body = json!({
            "context": check.name,
            "state": state,
            "description": check.summary.clone().unwrap_or_default(),
            "target_url": check.url.clone().unwrap_or_default(),
        });
        self.send(self.ask(Method::POST, &["statuses", commit.as_str()]).json(body)).await.map(drop)
    }

    async fn merge(&self, number: PullNumber, merge: &Merge) -> Result<Merged, ForgeError> {
        let body = json!({
            "Do": merge.way.word(),
            "head_commit_id": merge.head,
            "MergeTitleField": merge.title.clone().unwrap_or_default(),
            "MergeMessageField": merge.message.clone().unwrap_or_default(),
        });
        let done = self.send(self.ask(Method::POST, &["pulls", &number.to_string(), "merge"]).json(body)).await;
        match (done, self.get(number).await?.state) {
            (Ok(_), PullState::Merged { commit }) => Ok(Merged { commit }),
            (Ok(_), _) => Err(ForgeError::unavailable("the merge was taken but is not done yet")),
            // 405 and 404 mean that it is merged, closed, or not to be merged; the pull itself tells.
            (Err(ForgeError::Conflict { .. } | ForgeError::NotFound { .. }), PullState::Merged { commit }) => {
                Ok(Merged { commit })
            }
            (Err(ForgeError::NotFound { .. }), _) => {
                Err(ForgeError::conflict(format!("pull request {number} is closed")))
            }
            (Err(error), _) => Err(error),
        }
    }

    async fn delete_branch(&self, branch: &BranchName) -> Result<(), ForgeError> {
        let path: Vec<_> = std::iter::once("branches").chain(branch.as_str().split('/')).collect();
        match self.send(self.ask(Method::DELETE, &path)).await {
            Err(ForgeError::NotFound { .. }) => Ok(()),
            done => done.map(drop),
        }
    }

    fn shows_auto_merge(&self) -> bool {
        false
    }
}

impl Gitea {
    async fn about(&self) -> Result<RepositoryWire, ForgeError> {
        self.fetch(self.ask(Method::GET, &[])).await
    }

    async fn patch(&self, number: PullNumber, body: serde_json::Value) -> Result<Pull, ForgeError> {
        let ask = self.ask(Method::PATCH, &["pulls", &number.to_string()]);
        Ok(self.fetch::<PullWire>(ask.json(body)).await?.into())
    }

    async fn find_open(&self, head: &BranchName, base: Option<&BranchName>) -> Result<Option<Pull>, ForgeError> {
        let ask = self.ask(Method::GET, &["pulls"]).query("state", "open");
        let open: Vec<PullWire> = self.list(ask, |_| false).await?;
        let fits = |pull: &Pull| pull.head == *head && base.is_none_or(|base| pull.base == *base);
        Ok(open.into_iter().map(Pull::from).find(fits))
    }

    async fn review_wires(&self, number: PullNumber) -> Result<Vec<ReviewWire>, ForgeError> {
        self.list(self.ask(Method::GET, &["pulls", &number.to_string(), "reviews"]), |_| false).await
    }

    async fn comments_of(&self, number: PullNumber, review: u64) -> Result<Vec<Comment>, ForgeError> {
        let path = ["pulls", &number.to_string(), "reviews", &review.to_string(), "comments"];
        let comments: Option<Vec<LineCommentWire>> = self.fetch(self.ask(Method::GET, &path)).await?;
        Ok(comments.into_iter().flatten().map(Comment::from).collect())
    }
}
