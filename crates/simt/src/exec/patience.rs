//! Detects endless loops by time without progress.
//!
//! A kernel makes progress when a warp ends or a block passes a barrier. Without progress for the time that the launch
//! allows, it is taken to be endless. An endless loop may contain a barrier, so barriers alone extend the time only
//! tenfold. Blocks that end on other workers count, since a block may wait for one of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Factor by which the time is extended while only barriers are passed.
const BARRIERS_ALONE: u32 = 10;

/// Instructions of a worker between two reports of progress. If workers reported each block, they would wait for each other's
/// cache line.
const BETWEEN_REPORTS: u64 = 1 << 12;

/// Progress that the workers of a launch share, in cache lines that hold nothing else.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Progress {
    ends: AtomicU64,
    barriers: AtomicU64,
}

/// The instructions of a worker when it last reported an end and a barrier.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reported {
    ends: u64,
    barriers: u64,
}

/// Time at which a worker last saw progress. It reads the clock only when one of its warps yields.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Patience {
    seen: (u64, u64),
    since_end: Option<Instant>,
    since_barrier: Option<Instant>,
}

impl Progress {
    /// Notes an ended block of a worker that has executed this many instructions.
    pub(super) fn block_ended(&self, reported: &mut Reported, instructions: u64) {
        report(&self.ends, &mut reported.ends, instructions);
    }

    /// Notes a passed barrier, likewise.
    pub(super) fn barrier_passed(&self, reported: &mut Reported, instructions: u64) {
        report(&self.barriers, &mut reported.barriers, instructions);
    }

    fn now(&self) -> (u64, u64) {
        (self.ends.load(Ordering::Relaxed), self.barriers.load(Ordering::Relaxed))
    }
}

fn report(shared: &AtomicU64, reported: &mut u64, instructions: u64) {
    if instructions - *reported >= BETWEEN_REPORTS {
        *reported = instructions;
        shared.fetch_add(1, Ordering::Relaxed);
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
        let mut reported = Reported::default();
        progress.barrier_passed(&mut reported, BETWEEN_REPORTS);
        assert!(!waiting().is_over(&progress, second), "a barrier was passed");
        assert!(waiting().is_over(&progress, second / 10), "barriers alone are no progress for ever");
        progress.block_ended(&mut reported, BETWEEN_REPORTS);
        assert!(!waiting().is_over(&progress, second / 10), "another worker's block ended");
        let before = progress.now();
        progress.block_ended(&mut reported, 2 * BETWEEN_REPORTS - 1);
        assert_eq!(progress.now(), before, "it has just reported");
        progress.block_ended(&mut reported, 2 * BETWEEN_REPORTS);
        assert_ne!(progress.now(), before);
    }
}
