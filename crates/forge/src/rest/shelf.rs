//! Answers that are kept, so that the same question costs nothing of the budget when nothing changed.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard},
};

use http::{HeaderValue, header};
use reqwest::Url;

use super::Answer;

/// Answers that are kept at most, and how large each may be.
const MOST_ANSWERS: usize = 512;
const MOST_BYTES: usize = 512 * 1024;

/// Answers by address, with the tags that the forge gave them.
#[derive(Default)]
pub(super) struct Shelf {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    answers: HashMap<(String, &'static str), (Known, u64)>,
    /// Counts uses: what was used longest ago makes room.
    clock: u64,
}

/// An answer that is known, and its tag.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) tag: HeaderValue,
    pub(super) answer: Answer,
}

impl Shelf {
    pub(super) fn find(&self, url: &Url, accept: &'static str) -> Option<Known> {
        let mut kept = self.kept();
        kept.clock += 1;
        let now = kept.clock;
        let (known, used) = kept.answers.get_mut(&(url.to_string(), accept))?;
        *used = now;
        Some(known.clone())
    }

    pub(super) fn put(&self, url: &Url, accept: &'static str, answer: &Answer) {
        let Some(tag) = answer.headers.get(header::ETAG).cloned() else { return };
        if answer.body.len() > MOST_BYTES {
            return;
        }
        let mut kept = self.kept();
        kept.clock += 1;
        let now = kept.clock;
        if kept.answers.len() >= MOST_ANSWERS {
            let oldest = kept.answers.iter().min_by_key(|(_, (_, used))| *used).map(|(address, _)| address.clone());
            oldest.and_then(|oldest| kept.answers.remove(&oldest));
        }
        kept.answers.insert((url.to_string(), accept), (Known { tag, answer: answer.clone() }, now));
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("nobody panics at the shelf")
    }
}
