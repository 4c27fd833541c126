//! Letters that came before.

use std::collections::{HashMap, HashSet, VecDeque};

use carrel_model::Timestamp;
use jiff::SignedDuration;

use super::Letter;

/// Remembers the letters of a while, so that a copy does nothing.
///
/// A forge repeats a letter that we did not answer in time, and whoever overheard one can send it again: the signature
/// covers the body, but neither the delivery's name nor a time. So the signed content itself is remembered too. What
/// comes again after the window, or after a restart, is heard again, and does no harm: a notice only makes us look.
#[derive(Debug)]
pub struct Replays {
    window: SignedDuration,
    most: usize,
    known: HashMap<[u8; 32], Timestamp>,
    ids: HashSet<String>,
    order: VecDeque<(Timestamp, [u8; 32], String)>,
}

impl Replays {
    /// Remembers for a while, and no more than so many.
    pub fn new(window: SignedDuration, most: usize) -> Replays {
        Replays { window, most: most.max(1), known: HashMap::new(), ids: HashSet::new(), order: VecDeque::new() }
    }

    /// Whether a letter is new. From now on it is not.
    pub fn is_new(&mut self, letter: &Letter, now: Timestamp) -> bool {
        while let Some((at, _, _)) = self.order.front() {
            if now.duration_since(*at) < self.window && self.order.len() < self.most {
                break;
            }
            if let Some((_, print, id)) = self.order.pop_front() {
                self.known.remove(&print);
                self.ids.remove(&id);
            }
        }
        if self.known.contains_key(&letter.print) || self.ids.contains(&letter.id) {
            return false;
        }
        self.known.insert(letter.print, now);
        self.ids.insert(letter.id.clone());
        self.order.push_back((now, letter.print, letter.id.clone()));
        true
    }
}

impl Default for Replays {
    /// Three days, as long as GitHub lets a delivery be repeated, and a hundred thousand letters.
    fn default() -> Replays {
        Replays::new(SignedDuration::from_hours(72), 100_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(id: &str, print: u8) -> Letter {
        Letter { id: id.into(), event: "push".into(), repository: None, notice: None, print: [print; 32] }
    }

    #[test]
    fn a_copy_is_known_by_its_name_and_by_its_content_until_the_window_has_passed() {
        let mut replays = Replays::new(SignedDuration::from_secs(10), 3);
        let at = |second| Timestamp::from_second(second).unwrap();
        assert!(replays.is_new(&letter("a", 1), at(0)));
        assert!(!replays.is_new(&letter("a", 1), at(1)));
        assert!(!replays.is_new(&letter("b", 1), at(1)), "the same content under another name");
        assert!(!replays.is_new(&letter("a", 2), at(1)), "another content under the same name");
        assert!(replays.is_new(&letter("a", 1), at(20)));
        for (id, print) in [("c", 3), ("d", 4), ("e", 5)] {
            assert!(replays.is_new(&letter(id, print), at(21)));
        }
        assert!(replays.order.len() <= 3 && replays.known.len() <= 3 && replays.ids.len() <= 3);
    }
}
