//! The notices desk: browsers ask to be told when a card needs somebody, and to be left in peace again.

use std::sync::Arc;

use carrel_bell::{BellError, Doorbell, HouseKey};
use carrel_model::{
    Action, Authority, Grant, SecretName, Subject,
    public::{NewSubscription, NoticesView, SubscriptionView},
};
use carrel_store::BellRecord;

use super::secrets::seal;
use crate::{Error, house::House, secret::hash};

/// So many browsers one key may have.
const MOST: usize = 50;

/// Subscribes browsers.
pub struct NoticesDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

impl NoticesDesk<'_> {
    /// How a browser subscribes, and which ones of the asker's did.
    pub async fn show(&self, grant: &Grant) -> Result<NoticesView, Error> {
        self.admit(grant).await?;
        let public_key = house_key(self.house, Some(grant)).await?.map(|key| key.public()).unwrap_or_default();
        let bells = self.house.store.bells().of(&grant.key).await?;
        Ok(NoticesView { public_key, items: bells.iter().map(view).collect() })
    }

    /// Subscribes a browser. The same one twice is one.
    pub async fn subscribe(&self, grant: &Grant, new: NewSubscription) -> Result<SubscriptionView, Error> {
        self.admit(grant).await?;
        let NewSubscription { endpoint, keys } = new;
        Doorbell::parse(&endpoint, &keys.p256dh, &keys.auth, self.house.settings.notices.reach)
            .map_err(|error| Error::field("endpoint", error.to_string()))?;
        let held = self.house.store.bells().of(&grant.key).await?;
        let record = BellRecord {
            id: print(&endpoint),
            key: grant.key.clone(),
            endpoint,
            p256dh: keys.p256dh,
            auth: keys.auth,
            created_at: self.house.store.now(),
        };
        if held.len() >= MOST && !held.iter().any(|it| it.id == record.id) {
            let why = format!("there are {MOST} browsers for this key already; remove one first");
            return Err(Error::Conflict { why });
        }
        let kept = record.clone();
        let change =
            self.house.store.change(move |tx| Box::pin(async move { Ok::<_, Error>(tx.put_bell(&kept).await?) }));
        change.await?;
        Ok(view(&record))
    }

    /// Leaves a browser in peace. One that was not subscribed is in peace already.
    pub async fn unsubscribe(&self, grant: &Grant, id: &str) -> Result<(), Error> {
        self.admit(grant).await?;
        let (id, key) = (id.to_owned(), grant.key.clone());
        let change = self
            .house
            .store
            .change(move |tx| Box::pin(async move { Ok::<_, Error>(tx.remove_bell(&id, Some(&key)).await?) }));
        change.await?;
        Ok(())
    }

    /// People alone are told: an agent hears the events.
    async fn admit(&self, grant: &Grant) -> Result<(), Error> {
        self.house.admit(grant, Action::EventsFollow, Subject::House).await?;
        match grant.authority {
            Authority::Admin | Authority::Member => Ok(()),
            Authority::Agent(_) | Authority::Sandbox(_) => {
                Err(Error::Conflict { why: "notices are for people; an agent follows the events".into() })
            }
        }
    }
}

/// The key that notices are signed with. It is drawn when somebody first asks for it, and kept as a secret of the house.
pub(crate) async fn house_key(house: &Arc<House>, draws: Option<&Grant>) -> Result<Option<HouseKey>, Error> {
    let name: SecretName = "web-push-key".parse().expect("a good name");
    if let Some(kept) = house.reveal(None, &name).await? {
        return HouseKey::read(&kept).map(Some).map_err(unusable);
    }
    let Some(grant) = draws else { return Ok(None) };
    let sealed = seal(&house.settings.keychain, None, &name, &HouseKey::draw());
    let (key, owned) = (grant.key.clone(), name.clone());
    let change = house
        .store
        .change(move |tx| Box::pin(async move { Ok::<_, Error>(tx.put_secret_once(&owned, &sealed, &key).await?) }));
    change.await?;
    // Somebody else may have drawn one at the same moment: what is kept counts.
    match house.reveal(None, &name).await? {
        Some(kept) => HouseKey::read(&kept).map(Some).map_err(unusable),
        None => Ok(None),
    }
}

fn unusable(error: BellError) -> Error {
    Error::Unavailable { why: format!("{error}; remove the secret `web-push-key` for a new one"), source: None }
}

fn print(endpoint: &str) -> String {
    hash(endpoint).chars().take(24).collect()
}

fn view(bell: &BellRecord) -> SubscriptionView {
    let service = bell.endpoint.split('/').nth(2).unwrap_or_default().to_owned();
    SubscriptionView { id: bell.id.clone(), service, created_at: bell.created_at }
}
