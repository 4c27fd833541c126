//! Our pulls, comments and reviews in GitHub's words: its own examples, with what is true filled in.

use carrel_forge::{Check, CheckState, Comment, CommitId, Pull, PullState, Review, Side, Verdict};
use carrel_model::Timestamp;
use serde_json::{Value, json};

use super::description::{Description, description};

/// The repository that the stand-in has.
pub(crate) const OWNER: &str = "octo-org";
pub(crate) const NAME: &str = "hello-world";

fn fill(mut value: Value, truth: Value) -> Value {
    for (name, known) in truth.as_object().unwrap() {
        value[name] = known.clone();
    }
    value
}

fn words() -> &'static Description {
    description()
}

/// GitHub counts whole seconds.
pub(crate) fn time(at: Timestamp) -> Value {
    json!(Timestamp::from_second(at.as_second()).unwrap().to_string())
}

pub(crate) fn user(login: &str) -> Value {
    let id = login.bytes().fold(7_u64, |sum, byte| sum * 31 % 1_000_003 + u64::from(byte));
    let kind = if login.ends_with("[bot]") { "Bot" } else { "User" };
    fill(words().example("pull-request")["user"].clone(), json!({ "login": login, "id": id, "type": kind }))
}

pub(crate) fn me(login: &str) -> Value {
    let example = words().example("private-user-response-with-public-profile-information");
    fill(example, json!({ "login": login }))
}

pub(crate) fn repository() -> Value {
    let truth = json!({
        "name": NAME, "full_name": format!("{OWNER}/{NAME}"), "default_branch": "main", "archived": false,
        "permissions": { "admin": false, "push": true, "pull": true, "maintain": false, "triage": true },
    });
    let mut example = words().example("full-repository-default-response");
    // Where GitHub's example does not follow GitHub's description.
    example["language"] = Value::Null;
    ["parent", "source", "template_repository"]
        .iter()
        .for_each(|name| drop(example.as_object_mut().unwrap().remove(*name)));
    fill(example, truth)
}

/// A pull by itself. `mergeable` is null until GitHub has found out.
pub(crate) fn pull(pull: &Pull, base: &CommitId, mergeable: Option<bool>) -> Value {
    let truth = json!({
        "merged": matches!(pull.state, PullState::Merged { .. }),
        "mergeable": mergeable,
        "rebaseable": mergeable,
        "mergeable_state": match mergeable { None => "unknown", Some(true) => "clean", Some(false) => "dirty" },
        "merged_by": match pull.state { PullState::Merged { .. } => user("octocat"), _ => Value::Null },
    });
    fill(fill(words().example("pull-request"), common(pull, base)), truth)
}

/// A pull in a list.
pub(crate) fn pull_item(pull: &Pull, base: &CommitId) -> Value {
    fill(words().example("pull-request-simple-items")[0].clone(), common(pull, base))
}

fn common(pull: &Pull, base: &CommitId) -> Value {
    let example = words().example("pull-request");
    let side = |name: &str, branch: &str, commit: &CommitId| {
        let truth = json!({ "ref": branch, "sha": commit, "label": format!("{OWNER}:{branch}") });
        fill(example[name].clone(), truth)
    };
    let updated = time(pull.updated_at);
    let merged = matches!(pull.state, PullState::Merged { .. });
    json!({
        "id": pull.number.0, "node_id": format!("PR_{}", pull.number), "number": pull.number.0,
        "url": format!("https://api.github.com/repos/{OWNER}/{NAME}/pulls/{}", pull.number),
        "html_url": format!("https://github.com/{OWNER}/{NAME}/pull/{}", pull.number),
        "state": if pull.state == PullState::Open { "open" } else { "closed" },
        "locked": false, "active_lock_reason": null,
        "title": pull.title, "body": if pull.body.is_empty() { Value::Null } else { json!(pull.body) },
        "user": user(&pull.author), "draft": pull.draft,
        "labels": pull.labels.iter().map(|name| label(name)).collect::<Vec<_>>(),
        "milestone": null, "assignee": null, "assignees": [],
        "requested_reviewers": pull.reviewers.iter().map(|login| user(login)).collect::<Vec<_>>(),
        "requested_teams": [],
        "head": side("head", pull.head.as_str(), &pull.head_commit),
        "base": side("base", pull.base.as_str(), base),
        "created_at": time(pull.created_at), "updated_at": updated,
        "closed_at": if pull.state == PullState::Open { Value::Null } else { updated.clone() },
        "merged_at": if merged { updated } else { Value::Null },
        "merge_commit_sha": match &pull.state { PullState::Merged { commit } => json!(commit), _ => Value::Null },
        "auto_merge": pull.auto_merge.map(|way| json!({
            "enabled_by": user(&pull.author), "merge_method": way.word(), "commit_title": "t", "commit_message": "m",
        })),
    })
}

pub(crate) fn label(name: &str) -> Value {
    fill(words().example("label"), json!({ "name": name }))
}

fn number_of(id: &str) -> u64 {
    id.rsplit('-').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// A comment on the pull as a whole.
pub(crate) fn comment(comment: &Comment, body: &str) -> Value {
    let id = number_of(&comment.id);
    let truth = json!({
        "id": id, "user": user(&comment.author), "body": body,
        "html_url": format!("https://github.com/{OWNER}/{NAME}/pull/1#issuecomment-{id}"),
        "created_at": time(comment.created_at), "updated_at": time(comment.updated_at),
    });
    fill(words().example("issue-comment"), truth)
}

/// A comment on a line, of the pull's newest commit: it moves along with the branch.
pub(crate) fn line_comment(comment: &Comment, body: &str, head: &CommitId) -> Value {
    let place = comment.place.as_ref().unwrap();
    let truth = json!({
        "id": number_of(&comment.id), "user": user(&comment.author), "body": body, "path": place.path,
        "line": place.line, "side": match place.side { Side::Old => "LEFT", Side::New => "RIGHT" },
        "start_line": null, "start_side": null, "commit_id": head,
        "created_at": time(comment.created_at), "updated_at": time(comment.updated_at),
    });
    fill(words().example("pull-request-review-comment-items")[0].clone(), truth)
}

pub(crate) fn review(review: &Review) -> Value {
    let state = match review.verdict {
        Verdict::Approved => "APPROVED",
        Verdict::ChangesRequested => "CHANGES_REQUESTED",
        Verdict::Commented => "COMMENTED",
        Verdict::Dismissed => "DISMISSED",
    };
    let truth = json!({
        "id": number_of(&review.id), "user": user(&review.author), "body": review.body, "state": state,
        "commit_id": review.commit, "submitted_at": time(review.at),
    });
    fill(words().example("pull-request-review"), truth)
}

pub(crate) fn status(check: &Check) -> Value {
    let state = match check.state {
        CheckState::Passed | CheckState::Skipped => "success",
        CheckState::Pending => "pending",
        CheckState::Failed => "failure",
    };
    let at = time(check.at.unwrap());
    let truth = json!({
        "context": check.name, "state": state, "description": check.summary, "target_url": check.url,
        "created_at": at, "updated_at": at,
    });
    fill(words().example("status"), truth)
}

pub(crate) fn statuses(commit: &CommitId, checks: &[Check]) -> Value {
    let truth = json!({
        "sha": commit, "total_count": checks.len(), "statuses": checks.iter().map(status).collect::<Vec<_>>(),
        "state": "pending",
    });
    fill(words().example("combined-commit-status"), truth)
}

pub(crate) fn check_run(commit: &CommitId, check: &Check) -> Value {
    let at = time(check.at.unwrap());
    let (state, conclusion) = match check.state {
        CheckState::Passed => ("completed", json!("success")),
        CheckState::Skipped => ("completed", json!("skipped")),
        CheckState::Failed => ("completed", json!("failure")),
        CheckState::Pending => ("in_progress", Value::Null),
    };
    let mut run = words().example("check-run-paginated")["check_runs"][0].clone();
    run["output"]["title"] = json!(check.summary);
    let truth = json!({
        "head_sha": commit, "name": check.name, "status": state, "conclusion": conclusion, "started_at": at,
        "completed_at": if state == "completed" { at.clone() } else { Value::Null },
        "details_url": check.url, "pull_requests": [],
    });
    fill(run, truth)
}
