//! `carrel quotas`

use carrel_model::public::{Page, QuotaView};

use super::Client;
use crate::{failure::Failure, say};

pub(crate) async fn run(client: &Client) -> Result<(), Failure> {
    let page: Page<QuotaView> = client.get("/quotas").await?;
    if client.json() {
        return say::json(&page.items);
    }
    if page.items.is_empty() {
        say::line("There are no quotas. `[quotas]` in carrel.toml sets them.");
        return Ok(());
    }
    let row = |quota: QuotaView| {
        let (used, most) = (quota.used.to_string(), quota.most.to_string());
        vec![quota.of.word().to_owned(), quota.name, quota.what.word().to_owned(), used, most]
    };
    say::table(&["OF", "NAME", "WHAT", "USED", "MOST"], page.items.into_iter().map(row));
    Ok(())
}
