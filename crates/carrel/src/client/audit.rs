//! `carrel audit`

use carrel_model::public::{AuditView, Page};
use reqwest::Method;

use super::Client;
use crate::{failure::Failure, say};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only what this key did
    #[arg(long, value_name = "KEY_ID")]
    actor: Option<String>,
    /// Only this action, such as sandbox.create
    #[arg(long)]
    action: Option<String>,
    /// Only what was done to this
    #[arg(long)]
    subject: Option<String>,
    /// Only with this end: done or denied
    #[arg(long)]
    outcome: Option<String>,
    /// At most so many lines
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
}

impl Args {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        let mut query = vec![("limit", self.limit.to_string())];
        query.extend(self.actor.map(|actor| ("actor", actor)));
        query.extend(self.action.map(|action| ("action", action)));
        query.extend(self.subject.map(|subject| ("subject", subject)));
        query.extend(self.outcome.map(|outcome| ("outcome", outcome)));
        let page: Page<AuditView> = client.fetch(client.request(Method::GET, "/audit")?.query(&query)).await?;
        if client.json() {
            return say::json(&page.items);
        }
        let rows = page.items.into_iter().map(|line| {
            vec![
                line.at.to_string(),
                line.actor.name,
                line.action,
                line.subject.unwrap_or_default(),
                line.origin.unwrap_or_default(),
                line.outcome.word().to_owned(),
                line.detail.unwrap_or_default(),
            ]
        });
        say::table(&["AT", "WHO", "WHAT", "SUBJECT", "FROM", "OUTCOME", "DETAIL"], rows);
        Ok(())
    }
}
