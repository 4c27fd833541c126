//! `/hooks/{forge}/{repo}`: letters that forges send by themselves. No key is shown; the signature is what is believed.

use axum::{
    Router,
    body::to_bytes,
    extract::{Path, Request, State},
    http::StatusCode,
    routing::post,
};
use carrel_control::{LARGEST_LETTER, LetterDialect as Dialect, LetterError, LetterRefused, Posted};
use carrel_model::RepoName;
use serde_json::{Value, json};

use crate::{door::Problem, house::Doors};

pub(crate) fn routes() -> Router<Doors> {
    Router::new().route("/hooks/{forge}/{repo}", post(take))
}

/// Takes a letter. It is answered at once; what it is about is looked at afterwards.
async fn take(
    State(doors): State<Doors>,
    Path((forge, repo)): Path<(String, String)>,
    request: Request,
) -> Result<(StatusCode, axum::Json<Value>), Problem> {
    let dialect = match forge.as_str() {
        "github" => Dialect::GitHub,
        "gitea" | "forgejo" => Dialect::Gitea,
        _ => return Err(Problem::not_found("there is no such letter box").with_hint("github, gitea or forgejo")),
    };
    let repo: RepoName = repo.parse().map_err(|_| forged())?;
    let (parts, body) = request.into_parts();
    let too_large = |_| Problem::new(413, "too-large", "Too large", "the letter is too large or broke off");
    let body = to_bytes(body, LARGEST_LETTER).await.map_err(too_large)?;
    let posted = doors.control.pulls().take_letter(dialect, &repo, &parts.headers, &body).await;
    let word = match posted.map_err(refusal)? {
        Posted::Taken => "taken",
        Posted::Again => "again",
        Posted::Nothing => "nothing",
    };
    Ok((StatusCode::ACCEPTED, axum::Json(json!({ "letter": word }))))
}

fn refusal(refused: LetterRefused) -> Problem {
    match refused {
        LetterRefused::Hook(LetterError::Forged) => forged(),
        LetterRefused::Hook(LetterError::Malformed { why }) => Problem::malformed(why),
        LetterRefused::Failed(error) => error.into(),
    }
}

fn forged() -> Problem {
    Problem::new(401, "forged", "Not believed", LetterError::Forged.to_string())
        .with_hint("set the same secret at the forge and with `carrel secret set webhook-secret --repo NAME`")
}
