//! Kernels of several streams on one card.
//!
//! A kernel takes a part of a card's room, for blocks and for grids, and demands a part of what works for it: of the cycles of
//! multiprocessors, or of L2 and device memory, whichever is more. It begins as soon as there is room. Kernels that together demand
//! more than the card has are served in the order in which they came: the later one goes on at the rate that is left. For example,
//! two kernels of 10 us, each of which demands 0.6 of the bandwidth:
//!
//! ```text
//! kernel A  0 to 10 us     at its own rate
//! kernel B  0 to 13.3 us   at 0.4 / 0.6 of it to 10 us, then at its own
//! ```
//!
//! A card starts one kernel at a time: two starts are apart by as long as a launch takes. On an H200, 32 kernels of one block that are
//! branches of a graph start 0.7 us after each other, where launches in a row of empty kernels take 0.78.
//!
//! A card is less strict: single blocks of one kernel take the places of blocks of another, and kernels share what they demand. The
//! last kernel of all ends at about the same time.

use simt::cards::Card;
use simt::model::LaunchTime;

/// The part of a card that a kernel takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Part {
    /// The share of the room, of at most one.
    pub room: f64,
    /// The share of cycles or of bandwidth that it uses where it runs alone, of at most one.
    pub demand: f64,
    /// The seconds, of its time, in which the card starts it and no other.
    pub starting: f64,
}

impl Part {
    /// All of the card, without a start.
    pub(super) const WHOLE: Part = Part { room: 1.0, demand: 1.0, starting: 0.0 };
}

/// A kernel in a part of its time, in which it is served at one rate.
#[derive(Clone, Copy, Debug)]
struct Running {
    start: f64,
    /// The end of its start, at the latest that of this part.
    started: f64,
    end: f64,
    room: f64,
    /// The share of cycles or of bandwidth that it uses.
    used: f64,
}

/// Most parts that are remembered; before the oldest of more than these nothing begins.
const MOST: usize = 512;

/// Room for the rounding of sums of shares.
const SLACK: f64 = 1e-9;

/// The kernels on a context's multiprocessors, in seconds of virtual time.
#[derive(Clone, Debug, Default)]
pub(super) struct SideBySide {
    running: Vec<Running>,
    /// Nothing begins before.
    floor: f64,
}

impl SideBySide {
    /// Schedules a kernel as early as possible, not before a time. Returns its end.
    pub(super) fn place(&mut self, not_before: f64, seconds: f64, part: Part) -> f64 {
        let part = Part {
            room: part.room.clamp(0.0, 1.0),
            demand: part.demand.clamp(0.0, 1.0),
            starting: part.starting.min(seconds),
        };
        let mut start = not_before.max(self.floor);
        while let Some(later) = self.refuses(start, seconds, part) {
            start = later;
        }
        let end = self.serve(start, seconds, part);
        if self.running.len() > MOST {
            self.running.sort_by(|one, other| one.end.total_cmp(&other.end));
            let forgotten = self.running.drain(..MOST / 2);
            self.floor = forgotten.map(|forgotten| forgotten.end).fold(self.floor, f64::max);
        }
        end
    }

    /// A later time to try, if a kernel cannot begin at a time: another one is started then, or there is no room.
    fn refuses(&self, start: f64, seconds: f64, part: Part) -> Option<f64> {
        let starts =
            |other: &&Running| other.started > other.start.max(start) && other.start < start + part.starting;
        if let Some(other) = self.running.iter().find(starts) {
            return Some(other.started);
        }
        let meets = |other: &&Running| other.end > start && other.start < start + seconds;
        let beside: Vec<&Running> = self.running.iter().filter(meets).collect();
        let taken = |at: f64| -> f64 {
            beside.iter().filter(|other| other.start <= at && at < other.end).map(|other| other.room).sum()
        };
        // The most is taken where one of them begins.
        let most = beside.iter().map(|other| taken(other.start.max(start))).fold(0.0, f64::max);
        let soonest = || beside.iter().map(|other| other.end).fold(f64::INFINITY, f64::min);
        (most + part.room > 1.0 + SLACK).then(soonest)
    }

    /// Serves a kernel from a time on, at its own rate or at what others leave. Returns its end.
    fn serve(&mut self, start: f64, seconds: f64, part: Part) -> f64 {
        let (mut now, mut left) = (start, seconds);
        let known = self.running.len();
        while left > 0.0 {
            let others = &self.running[..known];
            let at_once = |other: &&Running| other.start <= now && now < other.end;
            let used: f64 = others.iter().filter(at_once).map(|other| other.used).sum();
            let rate = if part.demand > 0.0 { ((1.0 - used) / part.demand).clamp(0.0, 1.0) } else { 1.0 };
            let changes =
                others.iter().flat_map(|other| [other.start, other.end]).filter(|change| *change > now);
            let change = changes.fold(f64::INFINITY, f64::min);
            let end = if rate * (change - now) >= left { now + left / rate } else { change };
            left = if end < change { 0.0 } else { left - rate * (end - now) };
            let started = (start + part.starting).clamp(now, end);
            self.running.push(Running {
                start: now,
                started,
                end,
                room: part.room,
                used: rate * part.demand,
            });
            now = end;
            if left <= SLACK * seconds {
                break;
            }
        }
        now
    }

    /// Forgets what ended before a time, before which nothing begins any more.
    pub(super) fn forget(&mut self, before: f64) {
        self.running.retain(|kernel| kernel.end > before);
    }
}

/// The part of a card that a launch takes while it runs.
///
/// `blocks` is its grid, and `resident` the blocks of it that a multiprocessor holds. For example, 132 blocks of which eight fit, each
/// on one of 132 multiprocessors whose schedulers they keep busy for half of the time, take an eighth of the room and demand half of
/// the cycles.
pub(super) fn part(time: &LaunchTime, blocks: u64, resident: u32, card: &Card) -> Part {
    let multiprocessors = f64::from(card.multiprocessors.max(1));
    let places = blocks as f64 / multiprocessors;
    let room = (places / f64::from(resident.max(1))).max(1.0 / f64::from(card.limits().grids));
    let running = time.seconds - time.launch;
    let of_time = |seconds: f64| if running > 0.0 { seconds / running } else { 0.0 };
    let cycles = of_time(time.issue.max(time.on_chip)) * places.min(1.0);
    let memory = of_time(time.l2.max(time.dram));
    Part { room: room.min(1.0), demand: cycles.max(memory).min(1.0), starting: time.launch }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(kernels: &[(f64, f64, f64)]) -> Vec<f64> {
        let mut card = SideBySide::default();
        let place = |&(not_before, seconds, room)| {
            card.place(not_before, seconds, Part { room, demand: 0.0, starting: 0.0 })
        };
        kernels.iter().map(place).collect()
    }

    #[test]
    fn what_is_demanded_too_often_goes_to_the_first() {
        let mut card = SideBySide::default();
        let mut place = |not_before, seconds, demand| {
            let end = card.place(not_before, seconds, Part { room: 0.1, demand, starting: 0.0 });
            (1000.0_f64 * end).round() / 1000.0
        };
        assert_eq!([place(0.0, 10.0, 0.6), place(0.0, 10.0, 0.6)], [10.0, 13.333]);
        // Nothing is left until 10; then 0.4 of 0.8 are, and from 13.333 on all.
        assert_eq!(place(0.0, 5.0, 0.8), 16.667);
        assert_eq!(place(0.0, 3.0, 0.0), 3.0);
        assert_eq!(place(20.0, 5.0, 1.0), 25.0);
    }

    #[test]
    fn kernels_start_one_after_the_other() {
        let mut card = SideBySide::default();
        let part = Part { room: 0.01, demand: 0.01, starting: 1.0 };
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
        for _ in 0..4 * MOST {
            card.place(0.0, 1.0, Part::WHOLE);
        }
        assert!(card.running.len() <= MOST);
        assert_eq!(card.place(0.0, 1.0, Part::WHOLE), 4.0 * MOST as f64 + 1.0);
        card.forget(1e9);
        assert!(card.running.is_empty());
    }

    #[test]
    fn a_part_is_of_room_and_of_cycles_or_memory() {
        let card = simt::cards::find("h200").expect("a card");
        let of = |issue: f64, dram: f64, blocks| {
            let (l2, on_chip, latency) = (0.0, 0.0, 0.0);
            let time = LaunchTime { seconds: 11.0, launch: 1.0, dram, l2, on_chip, issue, latency };
            let Part { room, demand, starting } = part(&time, blocks, 8, &card);
            assert_eq!(starting, 1.0);
            (room, (1e6 * demand).round() / 1e6)
        };
        assert_eq!(of(5.0, 0.0, 132), (0.125, 0.5), "cycles");
        assert_eq!(of(5.0, 6.0, 66), (0.0625, 0.6), "memory");
        assert_eq!(of(6.6, 0.0, 1), (1.0 / 128.0, 0.005), "grids");
        assert_eq!(of(5.0, 0.0, 132 * 100), (1.0, 0.5), "several waves");
    }
}
