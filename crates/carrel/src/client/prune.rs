//! `carrel prune`

use carrel_model::{
    number::Whole,
    public::{NewPrune, PrunedView},
};
use reqwest::Method;

use super::Client;
use crate::{failure::Failure, say};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Records of sandboxes that are gone for at least so many days [default: 30]
    #[arg(long, value_name = "DAYS")]
    older_than: Option<Whole<1, 36_500>>,
    /// Only say what would go
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        let asked = NewPrune { older_than_days: self.older_than, dry_run: self.dry_run };
        let went: PrunedView = client.fetch(client.request(Method::POST, "/prune")?.json(&asked)).await?;
        if client.json() {
            return say::json(&went);
        }
        let verb = if went.dry_run { "would be" } else { "were" };
        say::line(format_args!("{} records of sandboxes that are gone {verb} forgotten", went.sandboxes));
        match (went.dry_run, went.checkouts) {
            (true, _) => say::line("checkouts that nobody stands on would be removed"),
            (false, Some(gone)) => {
                say::line(format_args!("{gone} checkouts and mirrors that nobody stood on were removed"))
            }
            (false, None) => say::line("checkouts stay: somebody was about to stand on one; try again"),
        }
        Ok(())
    }
}
