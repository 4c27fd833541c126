//! Claims: a sandbox out of a slot that waits, made before its row is written.
//!
//! One commit then writes a row that is ready, where two would write one that is asked for and one that is. Until somebody
//! confirms it, the record says that it was only claimed: should the server end in between, the next sweep that finds no
//! row for it ends it. Whoever is told of a sandbox is told after the row was written.

use std::sync::Arc;

use carrel_model::{SandboxId, sandbox::Spec};

use super::{
    Inner,
    desk::{Desk, Place, greet},
    slot::unavailable,
};
use crate::ProviderError;

impl Inner {
    /// Makes a sandbox out of a slot that waits. No when none does, or when more than a moment is needed.
    pub(crate) async fn claim(self: &Arc<Self>, id: &SandboxId, spec: &Spec) -> bool {
        let network = &spec.network;
        if spec.checkout.is_some() || !spec.volumes.is_empty() || network.interface || !network.headers.is_empty() {
            return false;
        }
        let Ok(template) = self.find_template(spec).await else { return false };
        if template.memory || template.config.start_command.is_some() {
            return false;
        }
        let Ok(Some((mut record, mut held))) = self.waiting_slot(&template, spec).await else { return false };
        record.belong_to(id, spec);
        (record.claimed, record.ready) = (true, true);
        let told = greet(&self.envd_of(&record, &held), &record).await.is_ok();
        if !told || self.yard.keep(&record).is_err() {
            // Whoever makes another one hears why. If this one cannot be ended either, the next start ends it.
            let _ = self.end_slot(record).await;
            return false;
        }
        held.greeted = true;
        let place = Arc::clone(self.places().entry(id.clone()).or_insert_with(Place::empty));
        let mut desk = place.desk().await;
        let made = desk.insert(Desk::new(record));
        self.hold(made, &place, held);
        if made.gateway.is_none() {
            self.reopen_gateway(made, &place).await;
        }
        true
    }

    /// Its row is written.
    pub(crate) async fn confirm(&self, id: &SandboxId) {
        let Some(place) = self.place(id) else { return };
        let mut desk = place.desk().await;
        if let Some(desk) = desk.as_mut().filter(|desk| desk.record.claimed) {
            // Else it is confirmed at the next start, when its row is found.
            let _ = self.note_known(desk);
        }
    }

    pub(crate) fn note_known(&self, desk: &mut Desk) -> Result<(), ProviderError> {
        desk.record.claimed = false;
        self.yard.keep(&desk.record).map_err(|error| unavailable("remember that it is known", &error))
    }

    /// Whether it was claimed in an earlier life of the server, which ended before anybody knew of it.
    pub(crate) async fn is_left_claimed(&self, id: &SandboxId) -> bool {
        let Some(place) = self.place(id) else { return false };
        let desk = place.desk().await;
        desk.as_ref().is_some_and(|desk| desk.found && desk.record.claimed)
    }
}
