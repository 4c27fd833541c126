//! What a making says, on its way to where it is written down.
//!
//! Whoever says it does not wait. What comes faster than it is written is missing in the middle, and never at the end:
//! the last lines of a command are those that say why it failed.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
};

use tokio::sync::Notify;

/// So many lines wait to be written, from the first on.
const FIRST: usize = 1024;
/// When there are more, so many of the last wait too.
const LAST: usize = 256;

/// Says lines. When it goes nothing comes any more.
pub(super) struct Teller(Arc<Chatter>);

/// Hears them.
pub(super) struct Listener(Arc<Chatter>);

#[derive(Default)]
struct Chatter {
    said: Mutex<Said>,
    news: Notify,
}

#[derive(Default)]
struct Said {
    first: String,
    count: usize,
    missed: u64,
    last: VecDeque<String>,
    ended: bool,
}

pub(super) fn chatter() -> (Teller, Listener) {
    let chatter = Arc::new(Chatter::default());
    (Teller(Arc::clone(&chatter)), Listener(chatter))
}

impl Chatter {
    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Teller {
    pub(super) fn say(&self, line: &str) {
        let mut said = self.0.said();
        if said.count < FIRST {
            said.count += 1;
            said.first.push_str(line);
            said.first.push('\n');
        } else {
            if said.last.len() == LAST {
                said.last.pop_front();
                said.missed += 1;
            }
            said.last.push_back(format!("{line}\n"));
        }
        drop(said);
        self.0.news.notify_one();
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.0.said().ended = true;
        self.0.news.notify_one();
    }
}

impl Listener {
    /// What was said since, and nothing when all is said.
    pub(super) async fn next(&mut self) -> Option<String> {
        loop {
            let ended = {
                let mut said = self.0.said();
                let ended = said.ended;
                let Said { first, missed, last, .. } = std::mem::replace(&mut *said, Said { ended, ..Said::default() });
                if !first.is_empty() {
                    let gap = match missed {
                        0 => String::new(),
                        missed => format!("[carrel: {missed} lines came too fast and are not here]\n"),
                    };
                    return Some(first + &gap + &last.into_iter().collect::<String>());
                }
                ended
            };
            if ended {
                return None;
            }
            self.0.news.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_comes_too_fast_is_missing_in_the_middle_and_never_at_the_end() {
        let (teller, mut listener) = chatter();
        for number in 0..5000 {
            teller.say(&number.to_string());
        }
        let heard = listener.next().await.unwrap();
        let lines: Vec<&str> = heard.lines().collect();
        assert_eq!((lines[0], lines[FIRST - 1], lines.len()), ("0", "1023", FIRST + 1 + LAST));
        assert_eq!(lines[FIRST], "[carrel: 3720 lines came too fast and are not here]");
        assert_eq!((lines[FIRST + 1], lines[FIRST + LAST]), ("4744", "4999"));
        teller.say("and one more");
        drop(teller);
        assert_eq!(listener.next().await.as_deref(), Some("and one more\n"));
        assert_eq!(listener.next().await, None);
    }
}
