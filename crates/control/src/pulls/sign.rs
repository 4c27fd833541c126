//! Signatures under the commits that the house makes itself: merges, squashes, rebases. What agents commit in their
//! sandboxes is not signed, because no key goes there.

use std::sync::Arc;

use carrel_git::Signer;
use carrel_model::RepoName;
use secrecy::ExposeSecret;

use crate::{Error, house::House};

/// What signs commits in a repository, if anything does: its own key, else the house's; ssh comes before GPG.
pub(crate) async fn signer_of(house: &Arc<House>, repo: &RepoName) -> Result<Option<Signer>, Error> {
    if let Some(key) = house.reveal(Some(repo), &"signing-key".parse().expect("a good name")).await? {
        return Ok(Some(Signer::Ssh(key)));
    }
    let named = house.reveal(Some(repo), &"signing-gpg-key".parse().expect("a good name")).await?;
    Ok(named.map(|id| Signer::Gpg {
        key: id.expose_secret().trim().to_owned(),
        home: house.settings.library.join("gnupg"),
    }))
}
