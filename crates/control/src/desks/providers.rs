//! The providers desk.

use carrel_model::{Action, Grant, Subject, public::ProviderView};

use crate::{Error, house::House};

/// Shows the providers.
pub struct ProvidersDesk<'h> {
    pub(crate) house: &'h House,
}

impl ProvidersDesk<'_> {
    /// All providers and their breakers, as this node sees them.
    pub async fn list(&self, grant: &Grant) -> Result<Vec<ProviderView>, Error> {
        self.house.admit(grant, Action::ProviderRead, Subject::House).await?;
        Ok(self.house.providers.values().map(|post| post.view()).collect())
    }
}
