//! What waits in the pool, by kind, and what is to be made next. Pure: the time comes as an argument.

use std::{
    collections::HashMap,
    path::Path,
    time::{Duration, Instant},
};

use carrel_model::{TemplateName, sandbox::Limits};

use super::PoolSize;
use crate::template::{Config, LayerId, Template};

/// A kind that has nothing waiting and was not asked for in so long is not thought of any more.
const FORGOTTEN: Duration = Duration::from_secs(60 * 60);
/// Whoever has just claimed a slot has its first command still to come.
const A_MOMENT: Duration = Duration::from_millis(25);
/// Where nothing waits at all, whoever fills waits no longer than this for a moment in which nobody asks.
const A_WHILE: Duration = Duration::from_secs(1);
const A_LOOK: Duration = Duration::from_millis(5);

/// What slots are alike in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Kind {
    layers: Vec<LayerId>,
    config: Config,
    size: String,
}

impl Kind {
    pub(crate) fn of(template: &Template, limits: &Limits) -> Kind {
        Kind { layers: template.layers.clone(), config: template.config.clone(), size: format!("{limits:?}") }
    }
}

/// The slots of all kinds.
pub(crate) struct Kinds<Slot> {
    size: PoolSize,
    kinds: HashMap<Kind, Waiting<Slot>>,
}

struct Waiting<Slot> {
    template: Template,
    limits: Limits,
    slots: Vec<Slot>,
    asked: Instant,
}

/// What whoever fills the pool does next.
#[derive(Debug)]
pub(crate) enum Next<Slot> {
    Make(Box<(Kind, Template, Limits)>),
    End(Slot),
    Rest,
}

impl<Slot> Kinds<Slot> {
    pub(crate) fn new(size: PoolSize) -> Kinds<Slot> {
        Kinds { size, kinds: HashMap::new() }
    }

    /// How many slots wait.
    pub(crate) fn waiting(&self) -> usize {
        self.kinds.values().map(|waiting| waiting.slots.len()).sum()
    }

    /// A slot that waits, and remembers that this kind is asked for.
    pub(crate) fn take(&mut self, template: &Template, limits: Limits, now: Instant) -> Option<Slot> {
        let fresh = || Waiting { template: template.clone(), limits, slots: Vec::new(), asked: now };
        let waiting = self.kinds.entry(Kind::of(template, &limits)).or_insert_with(fresh);
        waiting.asked = now;
        waiting.slots.pop()
    }

    /// Lets a slot wait; gives it back when nobody waits for its kind any more.
    pub(crate) fn put(&mut self, kind: &Kind, slot: Slot) -> Option<Slot> {
        match self.kinds.get_mut(kind) {
            Some(waiting) => {
                waiting.slots.push(slot);
                None
            }
            None => Some(slot),
        }
    }

    /// What is to be made next: the kind that was asked for last and has too few. Kinds that nobody asks for any more make room.
    pub(crate) fn next(&mut self, now: Instant) -> Next<Slot> {
        let is_thought_of = |waiting: &Waiting<Slot>| now.duration_since(waiting.asked) < FORGOTTEN;
        self.kinds.retain(|_, waiting| !waiting.slots.is_empty() || is_thought_of(waiting));
        let total = self.waiting();
        let wanted = self.kinds.iter().filter(|(_, waiting)| waiting.slots.len() < self.size.target);
        let Some((kind, wanted)) = wanted.max_by_key(|(_, waiting)| waiting.asked) else { return Next::Rest };
        if total < self.size.cap {
            return Next::Make(Box::new((kind.clone(), wanted.template.clone(), wanted.limits)));
        }
        let asked = wanted.asked;
        let others = self.kinds.values_mut().filter(|other| !other.slots.is_empty() && other.asked < asked);
        match others.min_by_key(|other| other.asked).and_then(|oldest| oldest.slots.pop()) {
            Some(slot) => Next::End(slot),
            None => Next::Rest,
        }
    }

    /// How long whoever fills waits before it looks again, having waited so long already; nothing when it is time to fill.
    /// Live work goes first, but not for ever: where nothing waits of what is asked for, one slot is made every while.
    pub(crate) fn patience(&self, is_busy: bool, waited: Duration, now: Instant) -> Option<Duration> {
        let last = self.kinds.values().max_by_key(|waiting| waiting.asked);
        let is_dry = last.is_some_and(|last| last.slots.is_empty());
        patience(self.since_asked(now), is_busy, waited, is_dry)
    }

    /// How long ago somebody asked for any, if anybody did.
    pub(crate) fn since_asked(&self, now: Instant) -> Option<Duration> {
        self.kinds.values().map(|waiting| waiting.asked).max().map(|last| now.duration_since(last))
    }

    /// All of them, from now on of no kind.
    pub(crate) fn take_all(&mut self) -> Vec<Slot> {
        self.kinds.drain().flat_map(|(_, waiting)| waiting.slots).collect()
    }

    /// The slots of a template that is forgotten or made anew: nobody will ask for them, and they hold its layers.
    pub(crate) fn forget(&mut self, name: &TemplateName) -> Vec<Slot> {
        let gone = self.kinds.extract_if(|_, waiting| waiting.template.name == *name);
        gone.flat_map(|(_, waiting)| waiting.slots).collect()
    }

    /// The slots of earlier versions of a template.
    pub(crate) fn forget_earlier(&mut self, now: &Template) -> Vec<Slot> {
        let is_earlier = |kind: &Kind| kind.layers != now.layers || kind.config != now.config;
        let gone = self.kinds.extract_if(|kind, waiting| waiting.template.name == now.name && is_earlier(kind));
        gone.flat_map(|(_, waiting)| waiting.slots).collect()
    }

    /// Slots that are shown something beneath a folder, which is to go.
    pub(crate) fn forget_shown(&mut self, folder: &Path) -> Vec<Slot> {
        let beneath = |kind: &Kind| kind.config.shown.iter().any(|shown| shown.from.starts_with(folder));
        let gone = self.kinds.extract_if(|kind, _| beneath(kind));
        gone.flat_map(|(_, waiting)| waiting.slots).collect()
    }
}

/// The same for whatever is made before anybody asks: how long ago somebody did, whether somebody waits for one to be made,
/// how long whoever fills has waited, and whether nothing is there.
pub(crate) fn patience(since: Option<Duration>, is_busy: bool, waited: Duration, is_dry: bool) -> Option<Duration> {
    let since = since.unwrap_or(A_MOMENT);
    let is_quiet = since >= A_MOMENT && !is_busy;
    if is_quiet || (is_dry && waited >= A_WHILE) {
        return None;
    }
    Some(A_MOMENT.saturating_sub(since).max(A_LOOK))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pool whose slots are numbers, told at moments of our choosing.
    struct Story {
        kinds: Kinds<u32>,
        began: Instant,
        made: u32,
    }

    impl Story {
        fn of(target: usize, cap: usize) -> Story {
            Story { kinds: Kinds::new(PoolSize { target, cap, shells: 0 }), began: Instant::now(), made: 0 }
        }

        fn at(&self, second: u64) -> Instant {
            self.began + Duration::from_secs(second)
        }

        fn asks(&mut self, second: u64, template: &Template) -> Option<u32> {
            self.kinds.take(template, limits(), self.at(second))
        }

        /// Fills until there is nothing to do, and says what was made of which template and what had to go.
        fn fills(&mut self, second: u64) -> (Vec<String>, Vec<u32>) {
            let (mut made, mut ended) = (Vec::new(), Vec::new());
            loop {
                match self.kinds.next(self.at(second)) {
                    Next::Make(wanted) => {
                        let (kind, template, _) = *wanted;
                        self.made += 1;
                        assert_eq!(self.kinds.put(&kind, self.made), None, "somebody waits for it");
                        made.push(template.name.to_string());
                    }
                    Next::End(slot) => ended.push(slot),
                    Next::Rest => return (made, ended),
                }
            }
        }
    }

    fn template(name: &str, version: u8) -> Template {
        Template {
            name: name.parse().expect("a good name"),
            layers: vec![LayerId::snapshot([version; 16])],
            config: Config::default(),
            origin: String::new(),
            bytes: 0,
            made_at: jiff::Timestamp::UNIX_EPOCH,
            memory: false,
        }
    }

    fn limits() -> Limits {
        let limits = serde_json::json!({"cpus": 1, "memory_mb": 512, "disk_mb": 1024, "pids": 64});
        serde_json::from_value(limits).expect("in range")
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn no_more_than_the_cap_waits_and_what_is_asked_for_makes_the_older_go() {
        let (mut story, old, new) = (Story::of(2, 3), template("old", 1), template("new", 2));
        assert_eq!(story.fills(0), (vec![], vec![]), "nobody has asked for anything");
        assert_eq!(story.asks(1, &old), None);
        assert_eq!(story.fills(1), (names(&["old", "old"]), vec![]));
        assert_eq!(story.asks(2, &new), None);
        assert_eq!(story.fills(2), (names(&["new", "new"]), vec![2]), "two of the new, and one of the old has to go");
        assert_eq!((story.kinds.waiting(), story.fills(3)), (3, (vec![], vec![])));
        // The older one is asked for again: now it is the newer.
        assert_eq!(story.asks(4, &old), Some(1));
        assert_eq!(story.fills(4), (names(&["old", "old"]), vec![4]));
        assert_eq!(story.kinds.waiting(), 3);
    }

    #[test]
    fn a_size_is_a_kind_of_its_own() {
        let (mut story, host) = (Story::of(1, 9), template("host", 1));
        story.asks(1, &host);
        assert_eq!(story.fills(1), (names(&["host"]), vec![]));
        let small = serde_json::json!({"cpus": 1, "memory_mb": 77, "disk_mb": 1024, "pids": 33});
        let small: Limits = serde_json::from_value(small).expect("in range");
        assert_eq!(story.kinds.take(&host, small, story.at(2)), None);
        assert_eq!(story.fills(2), (names(&["host"]), vec![]));
        assert_eq!(story.asks(3, &host), Some(1));
    }

    #[test]
    fn a_kind_with_nothing_waiting_is_forgotten_after_an_hour() {
        let mut story = Story::of(1, 2);
        // Many sizes or checkouts, each asked for once.
        for round in 0..100 {
            story.asks(u64::from(round), &template("passing", round));
            story.fills(u64::from(round));
        }
        assert_eq!((story.kinds.waiting(), story.kinds.kinds.len()), (2, 100));
        story.fills(60 * 60 + 50);
        assert_eq!(story.kinds.kinds.len(), 49, "those of the last hour");
        story.fills(2 * 60 * 60);
        assert_eq!((story.kinds.waiting(), story.kinds.kinds.len()), (2, 2), "what waits, waits on");
        assert_eq!(story.asks(3 * 60 * 60, &template("passing", 99)), Some(100));
    }

    #[test]
    fn a_template_made_anew_takes_its_earlier_slots_with_it() {
        let (mut story, before, other) = (Story::of(1, 9), template("mine", 1), template("other", 3));
        story.asks(1, &before);
        story.asks(1, &other);
        story.fills(1);
        assert_eq!(story.kinds.forget_earlier(&before), Vec::<u32>::new(), "made anew, and the same");
        // The same files, and another environment.
        let mut now = before.clone();
        now.config.env.insert("NEW".into(), "1".into());
        assert_eq!(story.asks(2, &now), None, "a slot of the earlier one would not have it");
        assert_eq!(story.kinds.forget_earlier(&now).len(), 1);
        assert_eq!(story.fills(3), (names(&["mine"]), vec![]));
        assert_eq!((story.kinds.waiting(), story.kinds.forget(&other.name).len()), (2, 1));
        // What was being made meanwhile is nobody's.
        assert_eq!(story.kinds.put(&Kind::of(&before, &limits()), 7), Some(7));
    }

    #[test]
    fn live_work_goes_first_but_not_for_ever() {
        let (mut story, host) = (Story::of(2, 4), template("host", 1));
        let moment = Duration::from_millis(10);
        assert_eq!(story.kinds.patience(false, Duration::ZERO, story.at(0)), None, "nobody has asked yet");
        story.asks(1, &host);
        let (now, quiet) = (story.at(1) + moment, story.at(1) + A_MOMENT);
        assert_eq!(story.kinds.patience(false, Duration::ZERO, now), Some(A_MOMENT - moment));
        assert_eq!(story.kinds.patience(false, Duration::ZERO, quiet), None);
        assert_eq!(story.kinds.patience(true, Duration::ZERO, quiet), Some(A_LOOK), "somebody waits for a slot");
        assert_eq!(story.kinds.patience(true, A_WHILE, now), None, "they come without end, and nothing waits for them");
        story.fills(1);
        assert!(story.kinds.patience(true, A_WHILE, now).is_some(), "something waits: no hurry");
        assert!(story.kinds.patience(false, A_WHILE * 10, now).is_some());
    }
}
