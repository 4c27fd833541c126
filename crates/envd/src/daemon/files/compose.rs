//! Joining files that were uploaded in pieces.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use http::StatusCode;
use http_body_util::BodyExt;
use serde::Deserialize;

use super::{
    super::{
        body::{Answer, Refusal, json},
        filesystem::describe,
        paths,
        serve::Asked,
        users::User,
    },
    draft::{Draft, Target},
    plain_file,
};

/// What to join, and where.
#[derive(Deserialize)]
struct Compose {
    #[serde(alias = "source_paths", alias = "sourcePaths", alias = "paths")]
    sources: Vec<String>,
    #[serde(alias = "destination_path", alias = "destinationPath", alias = "path")]
    destination: String,
    username: Option<String>,
}

/// Joins files into one, in the order they are named, and removes them.
pub(in crate::daemon) async fn compose(mut asked: Asked) -> Result<Answer, Refusal> {
    let body = asked.request.body_mut().collect().await;
    let body = body.map_err(|error| bad(format!("the request broke off: {error}")))?.to_bytes();
    let request: Compose =
        serde_json::from_slice(&body).map_err(|error| bad(format!("the request is not understood: {error}")))?;
    let user = match &request.username {
        Some(name) => asked.guest.user(Some(name))?,
        None => asked.named_user()?,
    };
    if request.sources.is_empty() {
        return Err(bad("there is nothing to join"));
    }
    let sources = request.sources.iter().map(|source| paths::resolve(source, &user, None));
    let sources = sources.collect::<Result<Vec<PathBuf>, _>>()?;
    let destination = paths::resolve(&request.destination, &user, None)?;
    if sources.contains(&destination) {
        return Err(bad("a file cannot be joined into itself"));
    }
    let everybody = asked.guest.users.everybody();
    let joined = tokio::task::spawn_blocking(move || {
        join(&sources, &destination, &user)?;
        describe(&destination, &everybody).map_err(|error| Refusal::of_io(&error, &destination))
    });
    let entry = joined.await.map_err(|error| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))??;
    Ok(json(StatusCode::OK, &entry))
}

fn join(sources: &[PathBuf], destination: &Path, user: &User) -> Result<(), Refusal> {
    let open = |source: &PathBuf| {
        let file = File::open(source).map_err(|error| Refusal::of_io(&error, source))?;
        plain_file(file, source)
    };
    // All of them have to be there before the first is touched.
    let files = sources.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let refuse = |error: io::Error| Refusal::of_io(&error, destination);
    let mut draft = Draft::begin(Target::find(destination, user)?).map_err(refuse)?;
    for mut file in files {
        draft.append(&mut file).map_err(refuse)?;
    }
    draft.keep(|_| Ok(()))?;
    for source in sources {
        std::fs::remove_file(source).map_err(|error| Refusal::of_io(&error, source))?;
    }
    Ok(())
}

fn bad(message: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, message)
}
