//! The order in which the kernels go through memory, and what comes of it: the rules in gpu-kernels' `unified.rs`, written
//! down a second time for the host to check against.

use crate::verify::Expected;
use gpu_kernels::unified;
use pattern::SEED;
use std::sync::OnceLock;

/// Bytes of an element.
pub(super) const ELEMENT: u64 = 4;

/// Elements of a segment: 128 bytes, one for each lane.
const SEGMENT: u64 = unified::SEGMENT as u64;

/// The seed of the random walks.
pub(super) const WALK_SEED: u32 = 20_190_625;

/// Segments up to which those are counted that random walks visit.
const MOST_COUNTED: u64 = 1 << 26;

/// Elements of a vector, and vectors that a thread has in flight.
const VECTOR: u64 = 4;
const IN_FLIGHT: u64 = unified::IN_FLIGHT as u64;

/// A way through the elements of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub order: Order,
    /// Elements of the allocation.
    pub elements: u64,
    /// Threads of the grid, and of a block.
    pub threads: u64,
    pub block: u64,
}

/// The order of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// All threads side by side.
    Grid,
    /// The same by vectors, four in flight.
    Vectors,
    /// Each block in a slice of this many elements.
    Slices { slice: u64 },
    /// Each warp in segments of random pages.
    Random(Walks),
}

/// The random walks of a grid's warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Walks {
    /// Pages of the allocation.
    pub pages: u32,
    /// Elements of a page.
    pub page: u32,
    /// Segments that each warp visits.
    pub steps: u32,
}

impl Walks {
    /// The first elements of the segments that a warp visits, in their order.
    fn of(self, warp: u64) -> impl Iterator<Item = u64> {
        let mut state = WALK_SEED.wrapping_add(warp as u32).wrapping_mul(2_654_435_761);
        let mut draw = move |below: u64| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (u64::from(state) * below) >> 32
        };
        let segments = u64::from(self.page) / SEGMENT;
        (0..self.steps).map(move |_| {
            let page = draw(self.pages.into());
            (page * segments + draw(segments)) * SEGMENT
        })
    }
}

impl Way {
    /// Elements that the threads touch, each as often as it is touched.
    pub(super) fn touched(&self) -> u64 {
        match self.order {
            Order::Random(walks) => u64::from(walks.steps) * self.threads,
            _ => self.elements,
        }
    }

    /// Elements that are touched at all: of random walks through more than 8 GiB, as many as are to be expected.
    pub(super) fn distinct(&self) -> u64 {
        let Order::Random(walks) = self.order else { return self.elements };
        let segments = self.elements / SEGMENT;
        if segments > MOST_COUNTED {
            let draws = (self.touched() / SEGMENT) as f64;
            return ((1.0 - (-draws / segments as f64).exp()) * segments as f64) as u64 * SEGMENT;
        }
        self.visited(walks).iter().map(|bits| u64::from(bits.count_ones())).sum::<u64>() * SEGMENT
    }

    /// A bit for each segment that a walk visits.
    fn visited(&self, walks: Walks) -> Vec<u64> {
        let mut bits = vec![0_u64; (self.elements / SEGMENT).div_ceil(64) as usize];
        for warp in 0..self.threads / SEGMENT {
            for first in walks.of(warp) {
                let segment = first / SEGMENT;
                bits[(segment / 64) as usize] |= 1 << (segment % 64);
            }
        }
        bits
    }

    /// The threads' sums: an element for each thread of the grid, its additions in the kernel's order.
    pub(super) fn sums(self) -> Expected {
        Expected::exactly(move |first, _, sums: &mut [f32]| self.sum(first, sums))
    }

    /// The sums of some threads.
    fn sum(&self, first: u64, sums: &mut [f32]) {
        sums.fill(0.0);
        match self.order {
            Order::Grid => {
                let mut values = vec![0.0; sums.len()];
                let turns = self.elements.saturating_sub(first).div_ceil(self.threads);
                for turn in 0..turns {
                    let start = first + turn * self.threads;
                    let count = (self.elements - start).min(sums.len() as u64) as usize;
                    add(start, &mut sums[..count], &mut values);
                }
            }
            Order::Slices { slice } => {
                let mut values = vec![0.0; sums.len()];
                let mut done = 0;
                while done < sums.len() {
                    let thread = first + done as u64;
                    let (number, lane) = (thread / self.block, thread % self.block);
                    let here = ((self.block - lane) as usize).min(sums.len() - done);
                    let sums = &mut sums[done..done + here];
                    let end = self.elements.min((number + 1) * slice);
                    let mut start = number * slice + lane;
                    while start < end {
                        let count = (end - start).min(here as u64) as usize;
                        add(start, &mut sums[..count], &mut values);
                        start += self.block;
                    }
                    done += here;
                }
            }
            Order::Random(walks) => {
                let mut values = [0.0; SEGMENT as usize];
                for (number, sums) in (first / SEGMENT..).zip(sums.chunks_mut(SEGMENT as usize)) {
                    walks.of(number).for_each(|start| add(start, sums, &mut values));
                }
            }
            Order::Vectors => {
                let vectors = self.elements / VECTOR;
                for (thread, sum) in (first..).zip(sums) {
                    let start = thread / 32 * 32 * IN_FLIGHT + thread % 32;
                    let turns = (start..vectors).step_by((IN_FLIGHT * self.threads) as usize);
                    let starts = turns.flat_map(|start| (0..IN_FLIGHT).map(move |turn| start + turn * 32));
                    for vector in starts.filter(|vector| *vector < vectors) {
                        let mut parts = [0.0_f32; VECTOR as usize];
                        pattern::fill(vector * VECTOR, SEED, &mut parts);
                        *sum += (parts[0] + parts[1]) + (parts[2] + parts[3]);
                    }
                }
            }
        }
    }

    /// The contents after a writing kernel: elements that it does not visit stay as they were.
    pub(super) fn written(self) -> Expected {
        let visited = OnceLock::new();
        Expected::exactly(move |first, _, values: &mut [f32]| {
            for (index, value) in (first..).zip(values.iter_mut()) {
                *value = (index as u32 & 0xf_ffff) as f32;
            }
            if let Order::Random(walks) = self.order {
                let visited = visited.get_or_init(|| self.visited(walks));
                for (segment, values) in (first / SEGMENT..).zip(values.chunks_mut(SEGMENT as usize)) {
                    if visited[(segment / 64) as usize] >> (segment % 64) & 1 == 0 {
                        values.fill(super::UNWRITTEN);
                    }
                }
            }
        })
    }
}

/// Adds the pattern's values from `start` on, one to each sum.
fn add(start: u64, sums: &mut [f32], values: &mut [f32]) {
    let values = &mut values[..sums.len()];
    pattern::fill(start, SEED, values);
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += *value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every thread by itself, as the kernels' documentation has it.
    fn one_by_one(way: &Way) -> Vec<f32> {
        let value = |index: u64| pattern::value(index, SEED) as f32;
        let of = |thread: u64| -> f32 {
            let (block, lane) = (thread / way.block, thread % way.block);
            let mut sum = 0.0;
            match way.order {
                Order::Grid => {
                    (thread..way.elements)
                        .step_by(way.threads as usize)
                        .for_each(|index| sum += value(index));
                }
                Order::Slices { slice } => (lane..slice)
                    .step_by(way.block as usize)
                    .map(|offset| block * slice + offset)
                    .filter(|index| *index < way.elements)
                    .for_each(|index| sum += value(index)),
                Order::Random(walks) => {
                    walks.of(thread / 32).for_each(|start| sum += value(start + thread % 32));
                }
                Order::Vectors => {
                    let mut first = thread / 32 * 128 + thread % 32;
                    while first < way.elements / 4 {
                        for vector in
                            (0..4).map(|turn| first + 32 * turn).filter(|vector| vector * 4 < way.elements)
                        {
                            let [x, y, z, w] = [0, 1, 2, 3].map(|part| value(vector * 4 + part));
                            sum += (x + y) + (z + w);
                        }
                        first += 4 * way.threads;
                    }
                }
            }
            sum
        };
        (0..way.threads).map(of).collect()
    }

    fn ways() -> [Way; 5] {
        let walks = Walks { pages: 5, page: 1024, steps: 7 };
        let way = |order, elements, threads, block| Way { order, elements, threads, block };
        [
            way(Order::Grid, 100_000, 4096 + 96, 96),
            way(Order::Slices { slice: 700 }, 30_000, 44 * 96, 96),
            way(Order::Slices { slice: 64 }, 2600, 41 * 128, 128),
            way(Order::Random(walks), 5120, 64 * 96, 96),
            way(Order::Vectors, 99_996, 4096 + 96, 96),
        ]
    }

    #[test]
    fn sums_are_those_of_every_thread_by_itself() {
        for way in ways() {
            let expected = one_by_one(&way);
            let bytes: Vec<u8> = expected.iter().flat_map(|sum| sum.to_le_bytes()).collect();
            assert_eq!(way.sums().check_in_parallel(0, 1, &bytes), None, "{way:?}");
            let mut wrong = bytes;
            wrong[4 * 4000] ^= 1;
            let findings = way.sums().check_in_parallel(0, 1, &wrong).expect("one is wrong");
            assert_eq!((findings.count, findings.first.index), (1, 4000), "{way:?}");
        }
    }

    #[test]
    fn walks_stay_within_their_pages_and_leave_some_out() {
        let [.., random, _] = ways();
        let Order::Random(walks) = random.order else { unreachable!() };
        assert!((0..192).flat_map(|warp| walks.of(warp)).all(|first| first % 32 == 0 && first + 32 <= 5120));
        assert_eq!(random.touched(), 192 * 7 * 32);
        let few = Way { threads: 96, ..random };
        assert!((32..=672).contains(&few.distinct()) && few.distinct().is_multiple_of(32));
        assert_eq!(few.touched(), 672);
        // What is to be expected, about.
        let large = Way { elements: 1 << 32, threads: 1 << 19, ..random };
        let long = Walks { pages: 1 << 13, page: 1 << 19, steps: 1 << 13 };
        let share = Way { order: Order::Random(long), ..large }.distinct() as f64 / large.elements as f64;
        assert!((share - 0.632).abs() < 0.001, "{share}");
        // By hand: the first step of warp 0.
        let state = WALK_SEED.wrapping_mul(2_654_435_761).wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let page = (u64::from(state) * 5) >> 32;
        assert_eq!(walks.of(0).next().map(|first| first / 1024), Some(page));
    }

    #[test]
    fn what_is_not_written_stays_poisoned() {
        let [.., random, _] = ways();
        let few = Way { threads: 32, ..random };
        let mut values = vec![f32::from_bits(u32::MAX); 5120];
        let Order::Random(walks) = few.order else { unreachable!() };
        for first in walks.of(0) {
            (first..first + 32).for_each(|index| values[index as usize] = index as f32);
        }
        let bytes =
            |values: &[f32]| -> Vec<u8> { values.iter().flat_map(|value| value.to_le_bytes()).collect() };
        assert_eq!(few.written().check_in_parallel(0, 3, &bytes(&values)), None);
        let poisoned =
            values.iter().position(|value| value.is_nan()).expect("5120 elements are more than 7 segments");
        values[poisoned] = poisoned as f32;
        assert!(few.written().check_in_parallel(0, 3, &bytes(&values)).is_some());
        let all: Vec<f32> = (0..3_000_000_u32).map(|index| (index & 0xf_ffff) as f32).collect();
        let way = Way { order: Order::Grid, elements: all.len() as u64, threads: 128, block: 128 };
        assert_eq!(way.written().check_in_parallel(0, 1, &bytes(&all)), None);
    }
}
