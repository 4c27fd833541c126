//! Clocks that survive a night on disk.
//!
//! A `timerfd` counts what is left, and CRIU stores just that. The runtime's own timers compare moments instead: after a
//! restore on a machine that booted later every new one would ring at once.

use std::time::Duration;

use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use tokio::net::unix::pipe;

/// Rings once.
pub(super) struct Timer {
    /// To the runtime it is something to read from, like a pipe.
    fd: pipe::Receiver,
}

impl Timer {
    /// Rings so long from now.
    pub(super) fn after(time: Duration) -> std::io::Result<Timer> {
        let fd =
            rustix::time::timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        let timer = Timer { fd: pipe::Receiver::from_owned_fd_unchecked(fd)? };
        timer.again(time)?;
        Ok(timer)
    }

    /// Forgets what it waited for and rings so long from now.
    pub(super) fn again(&self, time: Duration) -> std::io::Result<()> {
        // Zero would mean never.
        let time = time.max(Duration::from_nanos(1));
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Timespec { tv_sec: time.as_secs() as _, tv_nsec: time.subsec_nanos() as _ };
        let spec = Itimerspec { it_interval: zero, it_value: value };
        rustix::time::timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &spec)?;
        Ok(())
    }

    /// Returns when it rings. May be dropped and asked again.
    pub(super) async fn rang(&self) {
        let mut ticks = [0; 8];
        loop {
            // Readiness of a registered timer does not fail while the runtime lives.
            if self.fd.readable().await.is_err() {
                return std::future::pending().await;
            }
            if self.fd.try_read(&mut ticks).is_ok() {
                return;
            }
        }
    }
}

/// Waits so long.
pub(super) async fn sleep(time: Duration) {
    match Timer::after(time) {
        Ok(timer) => timer.rang().await,
        // Out of descriptors: let others run, so that some come free.
        Err(_) => tokio::task::yield_now().await,
    }
}
