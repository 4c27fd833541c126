//! Pull requests, over HTTP.

use axum::{
    extract::{FromRequestParts, Path, State},
    http::request::Parts,
    response::Response,
};
use carrel_control::{MergeRefused, Paging, PullQuery};
use carrel_model::{
    Branch, RepoName,
    public::{
        CheckView, CommentView, DiffFileView, FieldProblem, NewAutoMerge, NewMerge, NewPull, NewPullComment,
        NewPullReview, Page, Problem as ProblemBody, PullPhase, PullView, ReviewView,
    },
};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::diffs::{AskedFiles, Files, packed, patch};
use crate::{
    door::{Asker, Created, Json, Limit, OptionalJson, Problem, Query, Waited, from_text},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new()
        .routes(routes!(list, open))
        .routes(routes!(get))
        .merge(packed(OpenApiRouter::new().routes(routes!(diff)).routes(routes!(diff_files))))
        .routes(routes!(comments, comment))
        .routes(routes!(reviews, review))
        .routes(routes!(checks))
        .routes(routes!(merge))
        .routes(routes!(close))
        .routes(routes!(reopen))
        .routes(routes!(ready))
        .routes(routes!(draft))
        .routes(routes!(auto_merge, no_auto_merge))
}

/// A pull in the path. One that cannot exist is not found.
struct At {
    repo: RepoName,
    number: u64,
}

impl FromRequestParts<Doors> for At {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, doors: &Doors) -> Result<Self, Problem> {
        let nothing = || Problem::not_found("there is no such pull request");
        let Path((repo, number)): Path<(String, String)> =
            Path::from_request_parts(parts, doors).await.map_err(|_| nothing())?;
        let number: Option<i64> = number.parse().ok().filter(|number| *number > 0);
        let number = number.and_then(|number| u64::try_from(number).ok()).ok_or_else(nothing)?;
        Ok(At { repo: repo.parse().map_err(|_| nothing())?, number })
    }
}

/// Which pulls are wanted.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Wanted {
    Open,
    Merged,
    Closed,
    All,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Filter {
    /// Of this repository.
    #[serde(default)]
    repo: Option<RepoName>,
    /// `open`, `merged`, `closed` or `all`; all when left out.
    #[serde(default)]
    #[param(inline)]
    state: Option<Wanted>,
    /// Of this branch.
    #[serde(default)]
    head: Option<Branch>,
    /// At most so many items.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    #[serde(default, deserialize_with = "from_text")]
    limit: Option<Limit>,
    /// The `next` of the page before.
    #[serde(default)]
    cursor: Option<String>,
}

/// Lists pull requests as they were last seen, newest first.
#[utoipa::path(get, path = "/pulls", operation_id = "list_pulls", tag = "pulls", params(Filter),
    responses((status = 200, description = "A page of pull requests.", body = Page<PullView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn list(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Query(filter): Query<Filter>,
) -> Result<axum::Json<Page<PullView>>, Problem> {
    let (over, phase) = match filter.state.unwrap_or(Wanted::All) {
        Wanted::All => (None, None),
        Wanted::Open => (Some(false), None),
        Wanted::Merged => (None, Some(PullPhase::Merged)),
        Wanted::Closed => (None, Some(PullPhase::Closed)),
    };
    let paging = Paging { limit: filter.limit, cursor: filter.cursor };
    let query = PullQuery { repo: filter.repo, phase, over, head: filter.head, paging };
    Ok(axum::Json(doors.control.pulls().list(&grant, query).await?))
}

/// Opens a pull request, or brings the open one of the same branch to what is asked for.
#[utoipa::path(post, path = "/pulls", operation_id = "open_pull", tag = "pulls", request_body = NewPull,
    responses((status = 201, description = "The pull request.", body = PullView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn open(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Json(new): Json<NewPull>,
) -> Result<Created<PullView>, Problem> {
    let pull = doors.control.pulls().open(&grant, new).await?;
    let place = format!("/api/v1/pulls/{}/{}", pull.repo, pull.number);
    Ok(Created { place, body: pull, repeated: false, waited: Waited::NotAsked })
}

/// Shows a pull request as it now is.
#[utoipa::path(get, path = "/pulls/{repo}/{number}", operation_id = "get_pull", tag = "pulls",
    params(("repo" = RepoName, Path), ("number" = u64, Path)),
    responses((status = 200, description = "The pull request.", body = PullView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn get(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    At { repo, number }: At,
) -> Result<axum::Json<PullView>, Problem> {
    Ok(axum::Json(doors.control.pulls().get(&grant, &repo, number).await?))
}

/// Shows what a pull request changes, as a unified diff against its base: all of it, or the files that are named.
#[utoipa::path(get, path = "/pulls/{repo}/{number}/diff", operation_id = "diff_pull", tag = "pulls",
    params(("repo" = RepoName, Path), ("number" = u64, Path), Files),
    responses((status = 200, description = "The diff.", body = String, content_type = "text/x-diff"),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn diff(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    At { repo, number }: At,
    AskedFiles(extract): AskedFiles,
) -> Result<Response, Problem> {
    Ok(patch(doors.control.pulls().diff(&grant, &repo, number, &extract).await?))
}

/// Lists the files that a pull request changes, without their lines, in the order of the diff. One whose branch was never
/// fetched, because it is somebody else's copy of the repository, is answered with a conflict: its diff is known whole.
#[utoipa::path(get, path = "/pulls/{repo}/{number}/diff/files", operation_id = "diff_pull_files", tag = "pulls",
    params(("repo" = RepoName, Path), ("number" = u64, Path)),
    responses((status = 200, description = "The files.", body = Page<DiffFileView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn diff_files(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    At { repo, number }: At,
) -> Result<axum::Json<Page<DiffFileView>>, Problem> {
    let items = doors.control.pulls().diff_files(&grant, &repo, number).await?;
    Ok(axum::Json(Page { items, next: None }))
}

/// Lists what was said at a pull request, on lines and in general, the oldest first.
#[utoipa::path(get, path = "/pulls/{repo}/{number}/comments", operation_id = "list_pull_comments", tag = "pulls",
    params(("repo" = RepoName, Path), ("number" = u64, Path)),
    responses((status = 200, description = "The comments.", body = Page<CommentView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn comments(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    At { repo, number }: At,
) -> Result<axum::Json<Page<CommentView>>, Problem> {
    let items = doors.control.pulls().comments(&grant, &repo, number).await?;
    Ok(axum::Json(Page { items, next: None }))
}

/// Says something at a pull request: with `path` and `line`, to a line of its diff.
#[utoipa::path(post, path = "/pulls/{repo}/{number}/comments", operation_id = "comment_pull", tag = "pulls",
    params(("repo" = RepoName, Path), ("number" = u64, Path)), request_body = NewPullComment,
    responses((status = 201, description = "It was said.", body = CommentView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn comment(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    At { repo, number }: At,
    Json(new): Json<NewPullComment>,
) -> Result<Created<CommentView>, Problem> {
    let body = doors.control.pulls().comment(&grant, &repo, number, new).await?;
    let place = format!("/api/v1/pulls/{repo}/{number}/comments");
    Ok(Created { place, body, repeated: false, waited: Waited::NotAsked })
}

/// Lists what people think of a pull request, the oldest first.
#[utoipa::path(get, path = "/pulls/{repo}/{number}/reviews", operation_id = "list_pull_reviews", tag = "pulls",
    params(("repo" = RepoName, Path), ("number" = u64, Path)),
    responses((status = 200, description = "The reviews.", body = Page<ReviewView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn reviews(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    At { repo, number }: At,
) -> Result<axum::Json<Page<ReviewView>>, Problem> {
    let items = doors.control.pulls().reviews(&grant, &repo, number).await?;
    Ok(axum::Json(Page { items, next: None }))
}

/// Judges a pull request.
#[utoipa::path(post, path = "/pulls/{repo}/{number}/reviews", operation_id = "review_pull", tag = "pulls",
    params(("repo" = RepoName, Path), ("number" = u64, Path)), request_body = NewPullReview,
    responses((status = 201, description = "The review.", body = ReviewView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn review(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    At { repo, number }: At,
    Json(new): Json<NewPullReview>,
) -> Result<Created<ReviewView>, Problem> {
    let body = doors.control.pulls().review(&grant, &repo, number, new).await?;
    let place = format!("/api/v1/pulls/{repo}/{number}/reviews");
    Ok(Created { place, body, repeated: false, waited: Waited::NotAsked })
}

/// Lists what programs found out about the head of a pull request.
#[utoipa::path(get, path = "/pulls/{repo}/{number}/checks", operation_id = "list_pull_checks", tag = "pulls",
    params(("repo" = RepoName, Path), ("number" = u64, Path)),
    responses((status = 200, description = "The checks.", body = Page<CheckView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn checks(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    At { repo, number }: At,
) -> Result<axum::Json<Page<CheckView>>, Problem> {
    let items = doors.control.pulls().checks(&grant, &repo, number).await?;
    Ok(axum::Json(Page { items, next: None }))
}

/// Merges a pull request, one at a time for each base, after the check of the repository passed on the merged result.
/// A second time finds it merged. A refusal names its gate in `type`: `merge-conflicts`, `merge-checks-failed`,
/// `merge-not-approved`, `merge-head-moved`, `merge-waits`, `merge-closed` or `merge-upstream`.
#[utoipa::path(post, path = "/pulls/{repo}/{number}/merge", operation_id = "merge_pull", tag = "pulls",
    params(("repo" = RepoName, Path), ("number" = u64, Path)), request_body = Option<NewMerge>,
    responses((status = 200, description = "It is merged.", body = PullView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn merge(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    At { repo, number }: At,
    OptionalJson(new): OptionalJson<NewMerge>,
) -> Result<axum::Json<PullView>, Problem> {
    match doors.control.pulls().merge(&grant, &repo, number, new).await {
        Ok(merged) => Ok(axum::Json(merged.pull)),
        Err(refused) => Err(refusal(refused)),
    }
}

/// Closes a pull request without merging it.
#[utoipa::path(post, path = "/pulls/{repo}/{number}/close", operation_id = "close_pull", tag = "pulls",
    params(("repo" = RepoName, Path), ("number" = u64, Path)),
    responses((status = 200, description = "It is closed.", body = PullView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn close(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    At { repo, number }: At,
) -> Result<axum::Json<PullView>, Problem> {
    Ok(axum::Json(doors.control.pulls().set_open(&grant, &repo, number, false).await?))
}

/// Opens a pull request again that was closed.
#[utoipa::path(post, path = "/pulls/{repo}/{number}/reopen", operation_id = "reopen_pull", tag = "pulls",
    params(("repo" = RepoName, Path), ("number" = u64, Path)),
    responses((status = 200, description = "It is open.", body = PullView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn reopen(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    At { repo, number }: At,
) -> Result<axum::Json<PullView>, Problem> {
    Ok(axum::Json(doors.control.pulls().set_open(&grant, &repo, number, true).await?))
}

/// Says that a pull request is ready to be reviewed and merged: it is no draft any more.
#[utoipa::path(post, path = "/pulls/{repo}/{number}/ready", operation_id = "ready_pull", tag = "pulls",
    params(("repo" = RepoName, Path), ("number" = u64, Path)),
    responses((status = 200, description = "It is no draft.", body = PullView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn ready(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    At { repo, number }: At,
) -> Result<axum::Json<PullView>, Problem> {
    Ok(axum::Json(doors.control.pulls().set_draft(&grant, &repo, number, false).await?))
}

/// Says that a pull request is still being worked on: nobody merges a draft.
#[utoipa::path(post, path = "/pulls/{repo}/{number}/draft", operation_id = "draft_pull", tag = "pulls",
    params(("repo" = RepoName, Path), ("number" = u64, Path)),
    responses((status = 200, description = "It is a draft.", body = PullView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn draft(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    At { repo, number }: At,
) -> Result<axum::Json<PullView>, Problem> {
    Ok(axum::Json(doors.control.pulls().set_draft(&grant, &repo, number, true).await?))
}

/// Asks that a pull request be merged by itself once nothing stands in the way: here by the lane, at a forge outside by
/// that forge.
#[utoipa::path(post, path = "/pulls/{repo}/{number}/auto_merge", operation_id = "auto_merge_pull", tag = "pulls",
    params(("repo" = RepoName, Path), ("number" = u64, Path)), request_body = Option<NewAutoMerge>,
    responses((status = 200, description = "The pull request; it may be merged already.", body = PullView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn auto_merge(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    At { repo, number }: At,
    OptionalJson(new): OptionalJson<NewAutoMerge>,
) -> Result<axum::Json<PullView>, Problem> {
    Ok(axum::Json(doors.control.pulls().set_auto_merge(&grant, &repo, number, new).await?))
}

/// Takes it back that a pull request is to be merged by itself.
#[utoipa::path(delete, path = "/pulls/{repo}/{number}/auto_merge", operation_id = "cancel_auto_merge_pull", tag = "pulls",
    params(("repo" = RepoName, Path), ("number" = u64, Path)),
    responses((status = 200, description = "The pull request.", body = PullView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn no_auto_merge(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    At { repo, number }: At,
) -> Result<axum::Json<PullView>, Problem> {
    Ok(axum::Json(doors.control.pulls().unset_auto_merge(&grant, &repo, number).await?))
}

fn refusal(refused: MergeRefused) -> Problem {
    let detail = refused.to_string();
    let gate = |kind: &str| Problem::new(409, kind, "Not merged", detail.clone());
    match refused {
        MergeRefused::Failed(error) => error.into(),
        MergeRefused::Conflicts { paths, .. } => {
            let path = |path| FieldProblem { field: "paths".into(), detail: path };
            gate("merge-conflicts").with_errors(paths.into_iter().map(path).collect())
        }
        MergeRefused::ChecksFailed { .. } => gate("merge-checks-failed"),
        MergeRefused::NotApproved { .. } => gate("merge-not-approved"),
        MergeRefused::HeadMoved { .. } => gate("merge-head-moved"),
        MergeRefused::Waits { .. } => gate("merge-waits"),
        MergeRefused::Closed => gate("merge-closed"),
        MergeRefused::Upstream { .. } => gate("merge-upstream"),
    }
}
