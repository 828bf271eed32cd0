//! Detects endless loops by time without progress.
//!
//! A kernel makes progress when a warp ends or a block passes a barrier. Without progress for the time that the launch
//! allows, it is taken to be endless. An endless loop may contain a barrier, so barriers alone extend the time only
//! tenfold. Blocks that end on other workers count, since a block may wait for one of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Factor by which the time is extended while only barriers are passed.
const BARRIERS_ALONE: u32 = 10;

/// Progress that the workers of a launch share.
#[derive(Debug, Default)]
pub(super) struct Progress {
    ends: AtomicU64,
    barriers: AtomicU64,
}

/// Time at which a worker last saw progress. It reads the clock only when one of its warps yields.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Patience {
    seen: (u64, u64),
    since_end: Option<Instant>,
    since_barrier: Option<Instant>,
}

impl Progress {
    /// Counts an ended block.
    pub(super) fn block_ended(&self) {
        self.ends.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a passed barrier.
    pub(super) fn barrier_passed(&self) {
        self.barriers.fetch_add(1, Ordering::Relaxed);
    }

    fn now(&self) -> (u64, u64) {
        (self.ends.load(Ordering::Relaxed), self.barriers.load(Ordering::Relaxed))
    }
}

impl Patience {
    /// Records that a warp of this worker has ended.
    #[inline]
    pub(super) fn warp_ended(&mut self) {
        self.since_end = None;
        self.since_barrier = None;
    }

    /// Returns true if there has been no progress for the time allowed.
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
