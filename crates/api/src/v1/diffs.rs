//! Which part of a diff is asked for: between which checkpoints, and of which files.

use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
    response::{IntoResponse, Response},
};
use carrel_control::{Extract, Renames};
use serde::Deserialize;
use tower_http::compression::CompressionLayer;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;

use crate::{
    door::{Problem, from_text, read_query},
    house::Doors,
};

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct Between {
    /// From this checkpoint on, by its place in the timeline; from the base when left out.
    #[param(value_type = Option<i64>)]
    #[serde(deserialize_with = "from_text")]
    pub(super) from: Option<i64>,
    /// Up to this checkpoint; up to the newest work when left out.
    #[param(value_type = Option<i64>)]
    #[serde(deserialize_with = "from_text")]
    pub(super) to: Option<i64>,
}

/// Only some files of a diff.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct Files {
    /// Only this file; said again, more of them, up to 100. One that was moved is named by both of its paths.
    #[param(value_type = Option<Vec<String>>)]
    path: Vec<String>,
    /// Whether a file that was moved is told as one, where files are named; `true` when left out.
    #[param(value_type = Option<bool>)]
    #[serde(deserialize_with = "from_text")]
    renames: Option<bool>,
}

/// The parameters of a diff between checkpoints.
pub(super) struct Asked(pub(super) Extract);

/// The parameters of a diff that has no checkpoints.
pub(super) struct AskedFiles(pub(super) Extract);

impl FromRequestParts<Doors> for Asked {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, _: &Doors) -> Result<Self, Problem> {
        let query = parts.uri.query().unwrap_or_default();
        let (own, rest): (Vec<&str>, Vec<&str>) = query.split('&').partition(|pair| is_of_files(pair));
        let Between { from, to } = read_query(&rest.join("&"))?;
        Ok(Asked(Extract { from, to, ..files(&own)? }))
    }
}

impl FromRequestParts<Doors> for AskedFiles {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, _: &Doors) -> Result<Self, Problem> {
        let query = parts.uri.query().unwrap_or_default();
        Ok(AskedFiles(files(&query.split('&').collect::<Vec<_>>())?))
    }
}

fn name_of(pair: &str) -> &str {
    pair.split('=').next().unwrap_or_default()
}

fn is_of_files(pair: &str) -> bool {
    matches!(name_of(pair), "path" | "renames")
}

/// The decoder of queries takes each name once; a path may be said as often as there are files.
fn files(pairs: &[&str]) -> Result<Extract, Problem> {
    #[derive(Deserialize)]
    struct One {
        path: String,
    }
    let (paths, rest): (Vec<&str>, Vec<&str>) = pairs.iter().partition(|pair| name_of(pair) == "path");
    let mut asked: Files = read_query(&rest.join("&"))?;
    for pair in paths {
        let One { path } = read_query(pair)?;
        asked.path.push(path);
    }
    let renames = if asked.renames.unwrap_or(true) { Renames::Found } else { Renames::Apart };
    Ok(Extract { paths: asked.path, renames, ..Extract::default() })
}

/// Diffs are long and much alike: they travel packed, for whoever can unpack them.
pub(super) fn packed(routes: OpenApiRouter<Doors>) -> OpenApiRouter<Doors> {
    routes.layer(CompressionLayer::new().gzip(true))
}

/// A patch, as browsers and programs know it.
pub(super) fn patch(text: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, "text/x-diff; charset=utf-8")], text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_may_be_said_often_and_nothing_else_may() {
        let asked = |query: &str| files(&query.split('&').collect::<Vec<_>>());
        let wanted = asked("path=a%20b&renames=false&path=c%26d").unwrap();
        assert_eq!((wanted.paths, wanted.renames), (vec!["a b".to_owned(), "c&d".to_owned()], Renames::Apart));
        assert_eq!(asked("").unwrap().renames, Renames::Found);
        for wrong in ["renames=maybe", "renames=true&renames=true", "path=%ff", "paths=a"] {
            assert!(asked(wrong).is_err(), "{wrong}");
        }
    }
}
