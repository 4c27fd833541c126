//! Sandboxes: what they are asked to be, how they live, and how their row reads.

mod checkout;
mod exit;
mod life;
mod pause;
mod range;
mod spec;
mod usage;

pub use checkout::{Author, Checkout};
pub use exit::{Authorities, ExitProxy, ExitTls, ProxyAddress, ProxyWord, ServerName};
pub use life::{Fact, OutOfOrder, Phase, Step, Want};
pub use pause::{Depth, Manners, Sleep};
pub use range::AddressRange;
pub use spec::{
    AtEnd, DiskMb, EnvName, EnvValue, HeaderName, HeaderText, Headers, HostRule, Isolation, Lifetime, Limits,
    MOST_ALLOWED, MOST_ENV, MOST_HEADERS, MOST_VOLUMES, MemoryMb, Metadata, Network, NetworkMode, Pids, PortAccess,
    PortHost, Spec, VolumeMount, VolumePath,
};
pub use usage::Usage;

use jiff::{SignedDuration, Timestamp};

use crate::{KeyId, NodeId, SandboxId, clock::is_from_the_future};

/// A sandbox, as its row remembers it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sandbox {
    /// Its name, for good.
    pub id: SandboxId,
    /// What it was asked to be.
    pub spec: Spec,
    /// Where people want it.
    pub want: Want,
    /// Where it is.
    pub phase: Phase,
    /// Why it is where it is, when that needs a sentence.
    pub note: Option<String>,
    /// The node it lives on, when its provider is bound to one.
    pub home: Option<NodeId>,
    /// Who asked for it.
    pub created_by: KeyId,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When its row last changed.
    pub updated_at: Timestamp,
    /// When it was first ready.
    pub ready_at: Option<Timestamp>,
    /// When its lifetime has passed.
    pub expires_at: Timestamp,
    /// How it behaves while nobody looks.
    pub manners: Manners,
    /// When it counts as idle, if nothing happens until then.
    pub idle_at: Option<Timestamp>,
    /// How deep people want it to sleep when it is paused.
    pub depth: Depth,
    /// How it sleeps, while it is paused.
    pub sleep: Option<Sleep>,
    /// Who ended it, when somebody did.
    pub ended: Option<Ended>,
    /// How often the present step has failed so far.
    pub attempts: u32,
    /// When it is tried again.
    pub next_attempt_at: Option<Timestamp>,
    /// Counts the changes of the row.
    pub revision: i64,
}

/// Who ended a sandbox, why and when: what the tombstone says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// A key id, or `lifetime`.
    pub by: String,
    /// A sentence.
    pub why: String,
    /// The moment.
    pub at: Timestamp,
}

impl Sandbox {
    /// A sandbox as it is born.
    pub fn born(
        id: SandboxId,
        spec: Spec,
        manners: Manners,
        created_by: KeyId,
        home: Option<NodeId>,
        now: Timestamp,
    ) -> Sandbox {
        let (expires_at, depth) = (end_of(&spec, now), spec.pause_depth);
        Sandbox {
            id,
            spec,
            want: Want::Ready,
            phase: Phase::Requested,
            note: None,
            home,
            created_by,
            created_at: now,
            updated_at: now,
            ready_at: None,
            expires_at,
            manners,
            idle_at: None,
            depth,
            sleep: None,
            ended: None,
            attempts: 0,
            next_attempt_at: None,
            revision: 1,
        }
    }

    /// What is wanted at this moment: the people's want, until the lifetime has passed or nothing happened for too long.
    pub fn want_at(&self, now: Timestamp) -> Want {
        match (self.want, self.spec.at_end) {
            (Want::Gone, _) => Want::Gone,
            (Want::Ready, _) if now < self.expires_at && self.is_idle_at(now) => Want::Paused,
            (want, _) if now < self.expires_at => want,
            // What failed has nothing left to pause.
            (_, AtEnd::Pause) if self.phase != Phase::Failed => Want::Paused,
            (_, AtEnd::Pause | AtEnd::Destroy) => Want::Gone,
        }
    }

    /// What a keeper should do now.
    pub fn step_at(&self, now: Timestamp) -> Option<Step> {
        let want = self.want_at(now);
        match (self.phase, want, self.sleep) {
            // A second pause of one that sleeps lets it sleep deeper. It is asked once, however deep it went.
            (Phase::Paused, Want::Paused, Some(sleep)) if self.depth > sleep.asked => Some(Step::Pause),
            _ => self.phase.step_towards(want),
        }
    }

    /// When a keeper should look again, if nothing else happens: to act, to try again, or because a time is up.
    pub fn look_at(&self, now: Timestamp) -> Option<Timestamp> {
        if self.step_at(now).is_some() {
            return Some(self.next_try(now).map_or(now, |next| next.max(now)));
        }
        let moves = |then: &Timestamp| now < *then && self.phase.step_towards(self.want_at(*then)).is_some();
        [Some(self.expires_at), self.idle_at].into_iter().flatten().filter(moves).min()
    }

    /// Until when it rests before it is tried again.
    pub fn next_try(&self, now: Timestamp) -> Option<Timestamp> {
        self.next_attempt_at.filter(|_| !is_from_the_future(self.updated_at, now))
    }

    /// Whether nothing has happened in it for longer than it was given.
    fn is_idle_at(&self, now: Timestamp) -> bool {
        matches!(self.phase, Phase::Ready | Phase::Paused) && self.idle_at.is_some_and(|idle_at| idle_at <= now)
    }

    /// Whether nothing but silence puts it to sleep now.
    pub fn sleeps_for_silence(&self, now: Timestamp) -> bool {
        self.phase == Phase::Ready && self.want == Want::Ready && now < self.expires_at && self.is_idle_at(now)
    }

    /// Something happened in it: from now on it is idle later.
    pub fn stir(&mut self, now: Timestamp) {
        self.idle_at = self.manners.idle.map(|idle| after(now, idle));
    }

    /// Starts the lifetime anew.
    pub fn extend(&mut self, lifetime: Lifetime, now: Timestamp) {
        self.spec.lifetime = lifetime;
        self.expires_at = end_of(&self.spec, now);
    }

    /// Lets it work again: its lifetime and its patience with silence start anew.
    pub fn wake(&mut self, now: Timestamp) {
        self.want = Want::Ready;
        self.depth = self.spec.pause_depth;
        self.extend(self.spec.lifetime, now);
        self.stir(now);
    }
}

fn end_of(spec: &Spec, now: Timestamp) -> Timestamp {
    after(now, spec.lifetime)
}

fn after(now: Timestamp, seconds: Lifetime) -> Timestamp {
    now.checked_add(SignedDuration::from_secs(seconds.get() as i64)).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sandbox(at_end: AtEnd) -> Sandbox {
        let spec = Spec {
            template: "host".parse().unwrap(),
            provider: "fake".parse().unwrap(),
            isolation: Isolation::None,
            agent_id: None,
            task_id: None,
            repo: None,
            checkout: None,
            env: Default::default(),
            metadata: Default::default(),
            lifetime: Lifetime::new(60).unwrap(),
            at_end,
            limits: serde_json::from_value(serde_json::json!({"cpus": 1, "memory_mb": 64, "disk_mb": 64, "pids": 64}))
                .unwrap(),
            network: Default::default(),
            ports: Default::default(),
            port_host: None,
            tls_ports: Vec::new(),
            pause_depth: Default::default(),
            volumes: Vec::new(),
        };
        let id = SandboxId::from_random([7; 16]);
        Sandbox::born(id, spec, Manners::default(), KeyId::from_random([1; 8]), None, Timestamp::UNIX_EPOCH)
    }
    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_lifetime_that_passed_ends_or_pauses_as_it_was_asked() {
        let mut ends = sandbox(AtEnd::Destroy);
        ends.phase = Phase::Ready;
        assert_eq!((ends.want_at(at(59)), ends.want_at(at(60))), (Want::Ready, Want::Gone));
        assert_eq!(ends.look_at(at(10)), Some(at(60)));

        let mut pauses = sandbox(AtEnd::Pause);
        pauses.phase = Phase::Ready;
        assert_eq!(pauses.want_at(at(60)), Want::Paused);
        pauses.phase = Phase::Paused;
        assert_eq!(pauses.look_at(at(60)), None, "what is paused at its end stays as it is");
        pauses.phase = Phase::Failed;
        assert_eq!(pauses.want_at(at(60)), Want::Gone, "what failed has nothing to keep");
    }

    #[test]
    fn a_paused_sandbox_without_auto_pause_still_ends() {
        let mut paused = sandbox(AtEnd::Destroy);
        (paused.phase, paused.want) = (Phase::Paused, Want::Paused);
        assert_eq!(paused.look_at(at(1)), Some(at(60)));
        assert_eq!(paused.step_at(at(60)), Some(Step::Destroy));
    }

    #[test]
    fn a_step_that_failed_waits_for_its_next_try() {
        let mut waiting = sandbox(AtEnd::Destroy);
        waiting.next_attempt_at = Some(at(5));
        assert_eq!(waiting.look_at(at(1)), Some(at(5)));
        assert_eq!(waiting.look_at(at(9)), Some(at(9)));
    }

    #[test]
    fn a_sandbox_in_which_nothing_happens_is_paused_and_one_that_stirs_is_not() {
        let mut quiet = sandbox(AtEnd::Destroy);
        quiet.manners.idle = Lifetime::new(10);
        quiet.phase = Phase::Ready;
        quiet.stir(at(0));
        assert_eq!((quiet.want_at(at(9)), quiet.want_at(at(10))), (Want::Ready, Want::Paused));
        assert_eq!(quiet.look_at(at(1)), Some(at(10)));
        quiet.stir(at(9));
        assert_eq!((quiet.want_at(at(10)), quiet.look_at(at(10))), (Want::Ready, Some(at(19))));
        quiet.phase = Phase::Paused;
        assert_eq!(quiet.look_at(at(30)), Some(at(60)), "its lifetime still ends");
        quiet.wake(at(40));
        assert_eq!((quiet.step_at(at(40)), quiet.idle_at), (Some(Step::Resume), Some(at(50))));
    }

    #[test]
    fn a_deeper_sleep_is_asked_for_once() {
        let mut asleep = sandbox(AtEnd::Pause);
        (asleep.phase, asleep.want) = (Phase::Paused, Want::Paused);
        asleep.sleep = Some(Sleep { asked: Depth::Frozen, reached: Depth::Frozen });
        assert_eq!(asleep.step_at(at(1)), None);
        asleep.depth = Depth::Stored;
        assert_eq!(asleep.step_at(at(1)), Some(Step::Pause));
        asleep.sleep = Some(Sleep { asked: Depth::Stored, reached: Depth::Frozen });
        assert_eq!(asleep.step_at(at(1)), None, "it went as deep as it could");
    }
}
