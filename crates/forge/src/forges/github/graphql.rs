//! The few things that only GitHub's GraphQL can do: drafts, and merging by itself.

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{GitHub, JSON};
use crate::{ForgeError, MergeWay};

/// The mutations, with the type of their input. Each answers with the pull, of which nothing is needed.
const TO_DRAFT: (&str, &str) = ("convertPullRequestToDraft", "ConvertPullRequestToDraftInput");
const TO_READY: (&str, &str) = ("markPullRequestReadyForReview", "MarkPullRequestReadyForReviewInput");
const AUTO_MERGE: (&str, &str) = ("enablePullRequestAutoMerge", "EnablePullRequestAutoMergeInput");
const NO_AUTO_MERGE: (&str, &str) = ("disablePullRequestAutoMerge", "DisablePullRequestAutoMergeInput");

#[derive(Deserialize)]
struct Reply {
    #[serde(default)]
    errors: Vec<Complaint>,
}

#[derive(Deserialize)]
struct Complaint {
    #[serde(rename = "type")]
    kind: Option<String>,
    message: String,
}

impl GitHub {
    pub(super) async fn set_draft_of(&self, node: &str, draft: bool) -> Result<(), ForgeError> {
        self.mutate(if draft { TO_DRAFT } else { TO_READY }, json!({ "pullRequestId": node })).await
    }

    pub(super) async fn set_auto_merge_of(&self, node: &str, way: Option<MergeWay>) -> Result<(), ForgeError> {
        match way {
            Some(way) => {
                let input = json!({ "pullRequestId": node, "mergeMethod": way.word().to_uppercase() });
                self.mutate(AUTO_MERGE, input).await
            }
            None => self.mutate(NO_AUTO_MERGE, json!({ "pullRequestId": node })).await,
        }
    }

    async fn mutate(&self, (mutation, input_type): (&str, &str), input: Value) -> Result<(), ForgeError> {
        let query = format!("mutation($input: {input_type}!) {{ {mutation}(input: $input) {{ clientMutationId }} }}");
        let rest = &self.inner.rest;
        // Beside `/api/v3` on an Enterprise Server, at the root on github.com.
        let mut url = rest.base().clone();
        let path = url.path().trim_end_matches('/');
        url.set_path(&format!("{}/graphql", path.strip_suffix("/v3").unwrap_or(path)));
        let body = json!({ "query": query, "variables": { "input": input } });
        let ask = rest.ask_at(Method::POST, url)?.accept(JSON).resource("graphql").json(body);
        let reply: Reply = self.fetch(ask).await?;
        match reply.errors.into_iter().next() {
            None => Ok(()),
            Some(complaint) => Err(complaint.into()),
        }
    }
}

impl From<Complaint> for ForgeError {
    fn from(complaint: Complaint) -> ForgeError {
        let why = complaint.message;
        match complaint.kind.as_deref() {
            Some("NOT_FOUND") => ForgeError::not_found("the pull request"),
            Some("FORBIDDEN" | "INSUFFICIENT_SCOPES") => ForgeError::Denied { why, missing: vec![] },
            Some("RATE_LIMITED" | "RATE_LIMIT") => {
                ForgeError::Limited { until: carrel_model::Timestamp::now() + jiff::SignedDuration::from_mins(1) }
            }
            Some("SERVICE_UNAVAILABLE") | None => ForgeError::unavailable(why),
            Some("UNPROCESSABLE") => ForgeError::conflict(why),
            Some(_) => ForgeError::invalid(why),
        }
    }
}
