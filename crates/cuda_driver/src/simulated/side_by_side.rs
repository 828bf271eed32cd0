//! Kernels of several streams on one card.
//!
//! A kernel takes a share of the card for its time, and others run beside it as long as all shares add up to no more than one. A share is
//! the largest of four: of the room for blocks, of the cycles of multiprocessors, of L2 and device memory, and of the grids that the
//! card can hold. So two kernels that each read with 60% of the bandwidth follow one another, and 128 kernels of one block that
//! wait for their own instructions run together:
//!
//! ```text
//! kernel A  share 0.6   0 to 10 us
//! kernel B  share 0.3   0 to 10 us    beside A
//! kernel C  share 0.6  10 to 20 us    after A
//! ```
//!
//! A card starts one kernel at a time: two starts are apart by as long as a launch takes. On an H200, 32 kernels of one block that are
//! branches of a graph take 0.7 us each beside the 5 us of one of them, where launches in a row of empty kernels take 0.78.
//!
//! A card is less rigid: blocks of C start where single blocks of A have ended, and kernels that want more than there is slow each
//! other down instead of waiting. The last kernel of all ends at about the same time.

use simt::coalescing::ComputeCapability;
use simt::model::LaunchTime;

/// The part of the multiprocessors that a kernel takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Part {
    /// The share of the card, of at most one, for all of its time.
    pub share: f64,
    /// The seconds, of its time, in which the card starts it and no other.
    pub starting: f64,
}

/// A kernel in its time.
#[derive(Clone, Copy, Debug)]
struct Running {
    start: f64,
    started: f64,
    end: f64,
    share: f64,
}

/// Most kernels that are remembered; before the oldest of more than these nothing begins.
const MOST: usize = 512;

/// Room for the rounding of sums of shares.
const SLACK: f64 = 1e-9;

/// What runs on a context's multiprocessors, in seconds of virtual time.
#[derive(Clone, Debug, Default)]
pub(super) struct SideBySide {
    running: Vec<Running>,
    /// Nothing begins before.
    floor: f64,
}

impl SideBySide {
    /// Schedules a kernel as early as possible, not before a time. Returns its end.
    pub(super) fn place(&mut self, not_before: f64, seconds: f64, part: Part) -> f64 {
        let (share, starting) = (part.share.clamp(0.0, 1.0), part.starting.min(seconds));
        let mut start = not_before.max(self.floor);
        while let Some(later) = self.refuses(start, [starting, seconds], share) {
            start = later;
        }
        let end = start + seconds;
        self.running.push(Running { start, started: start + starting, end, share });
        if self.running.len() > MOST {
            self.running.sort_by(|one, other| one.end.total_cmp(&other.end));
            let floor =
                self.running.drain(..MOST / 2).map(|forgotten| forgotten.end).fold(self.floor, f64::max);
            self.floor = floor;
        }
        end
    }

    /// A later time to try, if a kernel that starts and runs for so many seconds cannot begin at a time.
    fn refuses(&self, start: f64, [starting, running]: [f64; 2], share: f64) -> Option<f64> {
        let starts = |other: &&Running| other.started > start && other.start < start + starting;
        if let Some(other) = self.running.iter().find(starts) {
            return Some(other.started);
        }
        let meets = |other: &&Running| other.end > start && other.start < start + running;
        let beside: Vec<&Running> = self.running.iter().filter(meets).collect();
        let used = |at: f64| -> f64 {
            beside.iter().filter(|other| other.start <= at && at < other.end).map(|other| other.share).sum()
        };
        // The most is used where one of them begins.
        let most = beside.iter().map(|other| used(other.start.max(start))).fold(0.0, f64::max);
        (most + share > 1.0 + SLACK)
            .then(|| beside.iter().map(|other| other.end).fold(f64::INFINITY, f64::min))
    }

    /// Forgets what ended before a time, before which nothing begins any more.
    pub(super) fn forget(&mut self, before: f64) {
        self.running.retain(|kernel| kernel.end > before);
    }
}

/// The share of a card that a launch takes while it runs.
///
/// `blocks` is its grid, `resident` the blocks of it that a multiprocessor holds. For example, 132 blocks of which eight fit, each on one of
/// 132 multiprocessors whose schedulers they keep busy for half of the time, take an eighth of the room and half of the cycles: a
/// half.
pub(super) fn share(time: &LaunchTime, blocks: u64, resident: u32, multiprocessors: u32, grids: u32) -> f64 {
    let multiprocessors = f64::from(multiprocessors.max(1));
    let places = blocks as f64 / multiprocessors;
    let room = places / f64::from(resident.max(1));
    let running = time.seconds - time.launch;
    let of_time = |seconds: f64| if running > 0.0 { seconds / running } else { 0.0 };
    let cycles = of_time(time.issue.max(time.on_chip)) * places.min(1.0);
    let memory = of_time(time.l2.max(time.dram));
    [cycles, memory, 1.0 / f64::from(grids.max(1))].into_iter().fold(room, f64::max).min(1.0)
}

/// Returns how many grids a card executes at once. From the table "Technical Specifications per Compute Capability" of the CUDA C
/// Programming Guide, for the newest as for those before them.
pub(super) fn grids(capability: ComputeCapability) -> u32 {
    match (capability.major, capability.minor) {
        (1, _) => 1,
        (2, _) | (3, 0) | (5, 3) | (6, 2) | (7, 2) => 16,
        (3, 2) => 4,
        (3 | 5, _) | (6, 1) => 32,
        _ => 128,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(kernels: &[(f64, f64, f64)]) -> Vec<f64> {
        let mut card = SideBySide::default();
        let place =
            |&(not_before, seconds, share)| card.place(not_before, seconds, Part { share, starting: 0.0 });
        kernels.iter().map(place).collect()
    }

    #[test]
    fn kernels_start_one_after_the_other() {
        let mut card = SideBySide::default();
        let part = Part { share: 0.01, starting: 1.0 };
        let mut place = |not_before| card.place(not_before, 5.0, part);
        assert_eq!([place(0.0), place(0.0), place(4.5)], [5.0, 6.0, 9.5]);
        // Between the second and the third there is time for two starts, and then behind the third.
        assert_eq!([place(0.0), place(0.5), place(3.6)], [7.0, 8.0, 10.5]);
    }

    #[test]
    fn shares_that_add_up_to_a_card_run_together() {
        assert_eq!(ends(&[(0.0, 10.0, 0.6), (0.0, 10.0, 0.3), (0.0, 10.0, 0.6)]), [10.0, 10.0, 20.0]);
        assert_eq!(ends(&[(0.0, 4.0, 1.0), (0.0, 4.0, 1.0), (1.0, 4.0, 1.0)]), [4.0, 8.0, 12.0]);
        assert_eq!(ends(&[(0.0, 3.0, 1.0 / 3.0); 6]), [3.0, 3.0, 3.0, 6.0, 6.0, 6.0]);
    }

    #[test]
    fn a_gap_before_later_work_is_filled_where_it_is_long_enough() {
        // The second begins at 5; the third fits before it, the fourth does not.
        assert_eq!(
            ends(&[(0.0, 2.0, 1.0), (5.0, 5.0, 1.0), (0.0, 3.0, 0.5), (0.0, 4.0, 0.8)]),
            [2.0, 10.0, 5.0, 14.0]
        );
        // The third would run beside the first, and beside the second when that has begun.
        assert_eq!(ends(&[(0.0, 5.0, 0.5), (5.0, 5.0, 0.9), (2.0, 4.0, 0.4)]), [5.0, 10.0, 14.0]);
    }

    #[test]
    fn what_is_forgotten_is_not_overtaken() {
        let mut card = SideBySide::default();
        let whole = Part { share: 1.0, starting: 0.0 };
        for _ in 0..4 * MOST {
            card.place(0.0, 1.0, whole);
        }
        assert!(card.running.len() <= MOST);
        assert_eq!(card.place(0.0, 1.0, whole), 4.0 * MOST as f64 + 1.0);
        card.forget(1e9);
        assert!(card.running.is_empty());
    }

    #[test]
    fn a_share_is_the_largest_of_room_cycles_memory_and_grids() {
        let time = |issue: f64, dram: f64| LaunchTime {
            seconds: 11.0,
            launch: 1.0,
            dram,
            l2: 0.0,
            on_chip: 0.0,
            issue,
            latency: 0.0,
        };
        assert_eq!(share(&time(5.0, 0.0), 132, 8, 132, 128), 0.5, "cycles");
        assert_eq!(share(&time(5.0, 0.0), 1, 8, 132, 128), 1.0 / 128.0, "grids");
        assert_eq!(share(&time(5.0, 0.0), 132 * 6, 8, 132, 128), 0.75, "room");
        assert_eq!(share(&time(5.0, 6.0), 1, 8, 132, 128), 0.6, "memory");
        assert_eq!(share(&time(5.0, 0.0), 132 * 100, 8, 132, 128), 1.0, "several waves");
    }

    #[test]
    fn cards_hold_as_many_grids_as_the_guide_says() {
        let of = |major, minor| grids(ComputeCapability { major, minor });
        assert_eq!(
            [of(1, 0), of(2, 0), of(3, 5), of(6, 0), of(6, 1), of(8, 6), of(9, 0)],
            [1, 16, 32, 128, 32, 128, 128]
        );
    }
}
