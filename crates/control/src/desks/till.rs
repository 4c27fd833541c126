//! Who asks models out of one purse at the same time.
//!
//! What a request costs is known when it is over. While much is left nobody waits; towards the end of a budget only so many
//! ask at the same time as what is left would pay for, if each cost as much as the dearest so far. So a budget is overshot
//! by about one request, and not by as many as an agent can ask at once.
//!
//! Each node knows its own requests only, and of a purse that it has not seen before nothing is known.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use carrel_model::usage::Dollars;
use tokio::sync::{Notify, futures::Notified};

/// So many purses are remembered that nobody draws from at the moment.
const MOST: usize = 4096;

/// Where everybody pays.
#[derive(Default)]
pub(crate) struct Till {
    purses: Mutex<HashMap<String, Drawn>>,
    bell: Notify,
    line: tokio::sync::Mutex<()>,
}

/// What is known of a purse.
#[derive(Default)]
struct Drawn {
    asking: i64,
    dearest: i64,
}

/// Somebody who asks, until this goes.
pub(crate) struct Place {
    till: Arc<Till>,
    purses: Vec<String>,
}

impl Till {
    fn purses(&self) -> MutexGuard<'_, HashMap<String, Drawn>> {
        self.purses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Comes back when somebody has paid after this was called.
    pub(crate) fn paid(&self) -> Notified<'_> {
        self.bell.notified()
    }

    /// Stands in line: who holds this is the only one who may enter.
    pub(crate) async fn line(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.line.lock().await
    }

    /// What those who ask out of each purse now may cost together. To be asked before it is looked how much is left: who has
    /// paid in between is counted twice then, and not left out.
    pub(crate) fn outstanding(&self, names: &[String]) -> Vec<i64> {
        let purses = self.purses();
        let of = |name| purses.get(name).map_or(0, |drawn| drawn.asking.saturating_mul(drawn.dearest));
        names.iter().map(of).collect()
    }

    /// Lets somebody ask who draws from purses in which so much is left; nothing when they have to wait for another.
    pub(crate) fn enter(self: &Arc<Self>, left: Vec<(String, Dollars)>, outstanding: &[i64]) -> Option<Place> {
        let has_room = |((_, left), out): (&(String, Dollars), &i64)| *out == 0 || *out < left.micros();
        if !left.iter().zip(outstanding).all(has_room) {
            return None;
        }
        let mut purses = self.purses();
        if purses.len() >= MOST {
            purses.retain(|_, drawn| drawn.asking > 0);
        }
        let names: Vec<String> = left.into_iter().map(|(name, _)| name).collect();
        for name in &names {
            purses.entry(name.clone()).or_default().asking += 1;
        }
        Some(Place { till: Arc::clone(self), purses: names })
    }
}

impl Place {
    /// It cost so much.
    pub(crate) fn learn(&self, cost: Dollars) {
        let mut purses = self.till.purses();
        for name in &self.purses {
            if let Some(drawn) = purses.get_mut(name) {
                drawn.dearest = drawn.dearest.max(cost.micros());
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut purses = self.till.purses();
        for name in &self.purses {
            if let Some(drawn) = purses.get_mut(name) {
                drawn.asking -= 1;
            }
        }
        drop(purses);
        self.till.bell.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_ask_at_once_as_what_is_left_would_pay_for() {
        let till = Arc::new(Till::default());
        let left = |micros| vec![("task 1".to_owned(), Dollars::from_micros(micros))];
        let enter = |left: Vec<(String, Dollars)>| {
            let names: Vec<String> = left.iter().map(|(name, _)| name.clone()).collect();
            let outstanding = till.outstanding(&names);
            till.enter(left, &outstanding)
        };
        let first: Vec<Place> = (0..20).filter_map(|_| enter(left(10))).collect();
        assert_eq!(first.len(), 20, "nothing is known yet");
        first[0].learn(Dollars::from_micros(300));
        drop(first);
        let mut asking: Vec<Place> = (0..20).filter_map(|_| enter(left(700))).collect();
        assert_eq!(asking.len(), 3, "the third may overshoot it, a fourth would for certain");
        assert!(enter(vec![("task 2".to_owned(), Dollars::from_micros(1))]).is_some(), "others have their own");
        asking.pop();
        assert!(enter(left(100)).is_none() && enter(left(601)).is_some());
        asking.clear();
        assert!(enter(left(1)).is_some(), "whoever is alone may ask while anything is left");
    }
}
