//! Repositories, over HTTP.

use axum::{extract::State, http::StatusCode};
use carrel_control::Paging;
use carrel_model::{
    RepoName,
    public::{NewRepo, Page, Problem as ProblemBody, PushView, RepoChange, RepoFitness, RepoView},
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    door::{Asker, Created, Json, Limit, Name, Problem, Query, Waited},
    house::Doors,
};

pub(super) fn routes() -> OpenApiRouter<Doors> {
    OpenApiRouter::new()
        .routes(routes!(list, add))
        .routes(routes!(get, change, remove))
        .routes(routes!(sync))
        .routes(routes!(test))
        .routes(routes!(pushes))
}

fn place(name: &RepoName) -> String {
    format!("/api/v1/repos/{name}")
}

/// Lists the repositories, by name.
#[utoipa::path(get, path = "/repos", operation_id = "list_repos", tag = "repos", params(Pages),
    responses((status = 200, description = "The repositories.", body = Page<RepoView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn list(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Query(pages): Query<Pages>,
) -> Result<axum::Json<Page<RepoView>>, Problem> {
    let paging = Paging { limit: pages.limit, cursor: pages.cursor };
    Ok(axum::Json(doors.control.repos().list(&grant, &paging).await?))
}

/// Adds a repository. The events tell when it is `ready`. The same one twice is one.
#[utoipa::path(post, path = "/repos", operation_id = "add_repo", tag = "repos", request_body = NewRepo,
    responses((status = 201, description = "It is there, or being fetched.", body = RepoView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn add(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Json(new): Json<NewRepo>,
) -> Result<Created<RepoView>, Problem> {
    let (repo, repeated) = doors.control.repos().add(&grant, new).await?;
    Ok(Created { place: place(&repo.name), body: repo, repeated, waited: Waited::NotAsked })
}

/// Shows a repository.
#[utoipa::path(get, path = "/repos/{name}", operation_id = "get_repo", tag = "repos", params(("name" = RepoName, Path)),
    responses((status = 200, description = "The repository.", body = RepoView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn get(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(name): Name<RepoName>,
) -> Result<axum::Json<RepoView>, Problem> {
    Ok(axum::Json(doors.control.repos().get(&grant, &name).await?))
}

/// Changes what is wanted of a repository; what is left out stays.
#[utoipa::path(patch, path = "/repos/{name}", operation_id = "change_repo", tag = "repos", params(("name" = RepoName, Path)), request_body = RepoChange,
    responses((status = 200, description = "The repository.", body = RepoView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn change(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(name): Name<RepoName>,
    Json(change): Json<RepoChange>,
) -> Result<axum::Json<RepoView>, Problem> {
    Ok(axum::Json(doors.control.repos().change(&grant, &name, change).await?))
}

/// Removes a repository, with its mirror. What was pushed to it stays written down.
#[utoipa::path(delete, path = "/repos/{name}", operation_id = "remove_repo", tag = "repos", params(("name" = RepoName, Path)),
    responses((status = 204, description = "It is gone."),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn remove(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(name): Name<RepoName>,
) -> Result<StatusCode, Problem> {
    doors.control.repos().remove(&grant, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Brings a repository up to date with its upstream, and answers when it is. Many who ask at once share one fetch.
#[utoipa::path(post, path = "/repos/{name}/sync", operation_id = "sync_repo", tag = "repos", params(("name" = RepoName, Path)),
    responses((status = 200, description = "It is up to date.", body = RepoView),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn sync(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(name): Name<RepoName>,
) -> Result<axum::Json<RepoView>, Problem> {
    Ok(axum::Json(doors.control.repos().sync(&grant, &name).await?))
}

/// Asks the repository's forge who we are there and what our credential lacks. Changes nothing.
#[utoipa::path(post, path = "/repos/{name}/test", operation_id = "test_repo", tag = "repos", params(("name" = RepoName, Path)),
    responses((status = 200, description = "What it answered.", body = RepoFitness),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn test(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(name): Name<RepoName>,
) -> Result<axum::Json<RepoFitness>, Problem> {
    Ok(axum::Json(doors.control.repos().test(&grant, &name).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Pages {
    /// At most so many items.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    #[serde(default)]
    limit: Option<Limit>,
    /// The `next` of the page before.
    #[serde(default)]
    cursor: Option<String>,
}

/// Lists what was pushed to a repository, newest first, with the verdicts.
#[utoipa::path(get, path = "/repos/{name}/pushes", operation_id = "list_pushes", tag = "repos", params(("name" = RepoName, Path), Pages),
    responses((status = 200, description = "The pushes.", body = Page<PushView>),
        (status = "default", description = "A problem.", body = ProblemBody, content_type = "application/problem+json")))]
async fn pushes(
    State(doors): State<Doors>,
    Asker(grant): Asker,
    Name(name): Name<RepoName>,
    Query(pages): Query<Pages>,
) -> Result<axum::Json<Page<PushView>>, Problem> {
    let paging = Paging { limit: pages.limit, cursor: pages.cursor };
    Ok(axum::Json(doors.control.repos().pushes(&grant, &name, &paging).await?))
}
