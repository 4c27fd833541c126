//! Sends the memory of what stands still to swap when the host has little left.
//!
//! Whoever is frozen needs no memory until somebody wakes it, and waking works the same from there. It is the one depth
//! that a sandbox goes to by itself: nothing is lost by it, and without swap nothing happens.

use std::{
    fs,
    sync::{Arc, Weak},
    time::Duration,
};

use carrel_model::sandbox::Depth;

use super::{Inner, Local};

/// How often it looks. One small file is read; no bell rings when a host's memory runs short that every kernel has.
const ROUND: Duration = Duration::from_secs(5);
/// Below this part of its memory a host is short of it.
const LEAST_PART: u64 = 10;
/// With less swap than this nothing is moved.
const LEAST_SWAP: u64 = 64 << 10;

/// Looks for as long as the provider is there.
pub(crate) fn start(inner: &Arc<Inner>) {
    if inner.yard.hierarchies.can_freeze() {
        tokio::spawn(watch(Arc::downgrade(inner)));
    }
}

async fn watch(inner: Weak<Inner>) {
    let mut round = tokio::time::interval(ROUND);
    round.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        round.tick().await;
        let Some(inner) = inner.upgrade() else { return };
        if is_short() {
            inner.relieve(is_short).await;
        }
    }
}

impl Local {
    /// Moves the memory of every frozen sandbox to swap, and says how many were. The provider does so by itself when the
    /// host's memory runs short.
    pub async fn relieve(&self) -> usize {
        self.inner.relieve(|| true).await
    }
}

impl Inner {
    /// Moves the memory of frozen sandboxes to swap, one after the other, for as long as that is needed.
    async fn relieve(self: &Arc<Self>, is_needed: impl Fn() -> bool) -> usize {
        let places: Vec<_> = self.places().values().cloned().collect();
        let mut moved = 0;
        for place in places {
            if !is_needed() {
                break;
            }
            let mut desk = place.desk().await;
            let Some(desk) = desk.as_mut().filter(|desk| desk.record.asleep == Some(Depth::Frozen) && desk.is_alive())
            else {
                continue;
            };
            match self.page_out(desk).await {
                Ok(0) => continue,
                Ok(_) => {}
                // There is no swap, or it is not ours to use: not for the others either.
                Err(_) => break,
            }
            if self.note(desk, Some(Depth::PagedOut)).is_ok() {
                moved += 1;
            }
        }
        if moved > 0 {
            tracing::info!(moved, "memory runs short: sandboxes that stand still went to swap");
        }
        moved
    }
}

fn is_short() -> bool {
    fs::read_to_string("/proc/meminfo").is_ok_and(|text| says_short(&text))
}

/// Whether the kernel's account tells of little memory and of swap to move it to.
fn says_short(account: &str) -> bool {
    let kilobytes = |name: &str| -> Option<u64> {
        let line = account.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let (Some(all), Some(left), Some(swap)) = (kilobytes("MemTotal"), kilobytes("MemAvailable"), kilobytes("SwapFree"))
    else {
        return false;
    };
    left < all / LEAST_PART && swap >= LEAST_SWAP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_short_when_little_is_left_and_there_is_swap() {
        let account = |left: u64, swap: u64| {
            format!("MemTotal: 1000000 kB\nMemFree: 1 kB\nMemAvailable: {left} kB\nSwapFree: {swap} kB\n")
        };
        assert!(says_short(&account(99_999, 1 << 20)));
        assert!(!says_short(&account(100_000, 1 << 20)), "enough is left");
        assert!(!says_short(&account(1, 0)), "there is nowhere to move it to");
        assert!(!says_short("MemTotal: 1000000 kB\n"), "what is not told is not guessed");
    }
}
