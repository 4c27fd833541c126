//! Claims: a sandbox out of a slot that waits, or that is made in a moment, before its row is written.
//!
//! One commit then writes a row that is ready, where two would write one that is asked for and one that is. Until somebody
//! confirms it, the record says that it was only claimed: should the server end in between, the next sweep that finds no
//! row for it ends it. Whoever asked is answered when both are written.

use std::{sync::Arc, time::Duration};

use carrel_model::{SandboxId, sandbox::Spec};

use super::{
    Inner,
    desk::{Desk, Place},
    slot::unavailable,
};
use crate::{Claimed, Naming, ProviderError};

/// A slot that takes longer is not waited for: its sandbox is told as asked for, and as ready when it is.
const A_MOMENT: Duration = Duration::from_millis(20);

impl Inner {
    /// Makes a sandbox out of a slot that waits, or of a new one. Nothing when more than a moment is needed.
    pub(crate) async fn claim(self: &Arc<Self>, id: SandboxId, spec: &Spec, naming: Naming) -> Option<Claimed> {
        let network = &spec.network;
        if spec.checkout.is_some() || !spec.volumes.is_empty() || network.interface || !network.headers.is_empty() {
            return None;
        }
        let template = self.find_template(spec).await.ok()?;
        if template.memory || template.config.start_command.is_some() {
            return None;
        }
        let slot = match self.waiting_slot(&template, spec).await {
            Ok(None) => {
                // What is not made in a moment stays expected: whoever creates the sandbox takes it from there.
                self.begin_slot(&id, spec, false);
                self.expected.take_within(&id, A_MOMENT).await
            }
            waiting => waiting.ok().flatten(),
        };
        let (mut record, mut held) = slot?;
        let (id, greeted) = match held.name.take().filter(|_| naming == Naming::Free) {
            // It knows everything but what is brought along.
            Some(name) => (name, spec.env.is_empty()),
            None => (id, false),
        };
        held.greeted = greeted;
        record.belong_to(&id, spec);
        record.claimed = true;
        // Whoever greets it leaves a line for its first command.
        let envd = self.envd_of(&record, &mut held);
        let place = Arc::clone(self.places().entry(id.clone()).or_insert_with(Place::empty));
        let mut desk = place.desk_to_keep().await;
        self.hold(desk.insert(Desk::new(record)), &place, held);
        // It is written down and told whose it is while its row is written: whoever wants in waits for the desk.
        let (inner, whose) = (Arc::clone(self), id.clone());
        tokio::spawn(async move { inner.settle_claim(&whose, &place, &mut desk).await });
        // On disk it is still nobody's then, and ends with what runs in it should the server end before it is written down.
        Some(Claimed { id, open: greeted.then_some(envd) })
    }

    /// Does for a claimed sandbox what must be done before anybody is told of it. One that cannot be had is lost.
    async fn settle_claim(self: &Arc<Self>, id: &SandboxId, place: &Arc<Place>, desk: &mut Option<Desk>) {
        let Some(made) = desk else { return };
        let settled = match self.yard.keep(&made.record) {
            Ok(()) => {
                if made.gateway.is_none() {
                    self.reopen_gateway(made, place).await;
                }
                self.introduce(made).await.is_ok()
            }
            Err(_) => false,
        };
        if !settled {
            // Whoever asks hears that it is lost. If it cannot be ended either, the next start ends it.
            made.let_go();
            let _ = self.end_slot(made.record.clone()).await;
            *desk = None;
            self.places().remove(id);
        }
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
