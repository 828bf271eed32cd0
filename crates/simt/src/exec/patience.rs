//! Telling a loop without end from a long one, by time.
//!
//! A kernel gets further when one of its warps ends or one of its blocks passes a barrier. When none has for as long as the
//! launch allows, it is taken to be without end. A loop with a barrier in it passes barriers for ever, so barriers alone
//! count for ten times as long. Blocks that end on another worker count too: a block may wait for that one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Barriers alone are progress for so many times the time allowed.
const BARRIERS_ALONE: u32 = 10;

/// What the workers of a launch tell each other of how far they get.
#[derive(Debug, Default)]
pub(super) struct Progress {
    ends: AtomicU64,
    barriers: AtomicU64,
}

/// When a worker last saw progress. It looks at the clock only when one of its warps has had its turn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Patience {
    seen: (u64, u64),
    since_end: Option<Instant>,
    since_barrier: Option<Instant>,
}

impl Progress {
    /// A block has ended.
    pub(super) fn block_ended(&self) {
        self.ends.fetch_add(1, Ordering::Relaxed);
    }

    /// A block has passed a barrier.
    pub(super) fn barrier_passed(&self) {
        self.barriers.fetch_add(1, Ordering::Relaxed);
    }

    fn now(&self) -> (u64, u64) {
        (self.ends.load(Ordering::Relaxed), self.barriers.load(Ordering::Relaxed))
    }
}

impl Patience {
    /// A warp of this worker's has ended.
    #[inline]
    pub(super) fn warp_ended(&mut self) {
        self.since_end = None;
        self.since_barrier = None;
    }

    /// Whether nothing has got any further for as long as is allowed.
    pub(super) fn is_over(&mut self, progress: &Progress, allowed: Duration) -> bool {
        let now = progress.now();
        if now.0 != self.seen.0 {
            self.warp_ended();
        }
        if now.1 != self.seen.1 {
            self.since_barrier = None;
        }
        self.seen = now;
        let waited = |since: &mut Option<Instant>| since.get_or_insert_with(Instant::now).elapsed();
        waited(&mut self.since_barrier) >= allowed
            || waited(&mut self.since_end) >= allowed.saturating_mul(BARRIERS_ALONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_and_barriers_are_progress_and_time_is_not() {
        let progress = Progress::default();
        let mut patience = Patience::default();
        let (never, at_once) = (Duration::MAX, Duration::ZERO);
        assert!(!patience.is_over(&progress, never));
        assert!(patience.is_over(&progress, at_once));
        let long_ago = Instant::now().checked_sub(Duration::from_secs(5)).expect("the computer runs longer");
        let waiting = || Patience { seen: (0, 0), since_end: Some(long_ago), since_barrier: Some(long_ago) };
        let second = Duration::from_secs(1);
        assert!(waiting().is_over(&progress, second));
        let mut ended = waiting();
        ended.warp_ended();
        assert!(!ended.is_over(&progress, second));
        progress.barrier_passed();
        assert!(!waiting().is_over(&progress, second), "a barrier was passed");
        assert!(waiting().is_over(&progress, second / 10), "barriers alone are no progress for ever");
        progress.block_ended();
        assert!(!waiting().is_over(&progress, second / 10), "another worker's block ended");
    }
}
