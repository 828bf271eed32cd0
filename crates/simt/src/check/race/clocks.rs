//! Vector clocks of a block's warps, and of the lanes within a warp.
//!
//! A warp's clock counts what other warps can learn about: it advances at each barrier, fence and strong write to
//! shared memory. `known[a][b]` is the greatest clock of warp `b` whose accesses happen before whatever warp `a` does
//! next. An access of warp `b` stamped with clock `c` happens before the next access of warp `a` if `known[a][b] >= c`.
//! The parent module has an example.
//!
//! Within a warp, lanes are ordered by warp barriers, which a warp counts in `count`. Mostly all lanes take part, so
//! one number suffices: an access stamped with `sync < all` happens before all that any lane does next. After a barrier
//! of some lanes only, `pairs[a][b]` holds the same number for each pair of lanes. For example, lanes 0 and 1
//! synchronise first, then all:
//!
//! ```text
//! start               count 0, all 0               accesses are stamped with 0
//! bar.warp.sync 0x3   count 1, pairs[0][1] = 1     0 < 1: lane 1's earlier accesses precede lane 0's next one;
//!                              pairs[0][2] = 0     lane 2's do not
//! bar.warp.sync -1    count 2, all 2, no pairs     all accesses stamped with 0 or 1 precede all that follows
//! ```

use std::sync::Arc;

use super::known::Known;
use crate::coalescing::LANES;

/// The vector clocks of a block's warps; by default of none.
#[derive(Debug, Default)]
pub(in super::super) struct Clocks {
    block: u32,
    warps: usize,
    /// Row by row, what this warp knows of that one; in its own column the warp's clock.
    known: Vec<u32>,
    within: Vec<Within>,
    /// Each warp's row at its last fence.
    fenced: Vec<Option<Arc<[u32]>>>,
    /// What each warp acquired through global memory.
    pub(super) taken: Vec<Known>,
}

/// Happens-before between the lanes of one warp.
#[derive(Debug)]
struct Within {
    /// Lanes of the warp, a bit each.
    lanes: u32,
    /// Number of warp barriers and fences so far, of any lanes.
    count: u32,
    /// Accesses stamped below this number happen before everything that any lane does next.
    all: u32,
    /// The same number for each lane (row) of each other lane (column), if only some lanes have synchronised since.
    pairs: Option<Box<[Row; LANES]>>,
    /// Each lane's row at its last fence; all 0 for lanes without one.
    fenced: Option<Box<[Row; LANES]>>,
}

/// For each lane of a warp, the number below which one lane knows its accesses.
pub(super) type Row = [u32; LANES];

impl Clocks {
    /// Starts the clocks of a block of `threads`, which nothing orders yet, in the memory of an earlier one.
    pub(in super::super) fn restart(&mut self, block: u64, threads: u32) {
        let warps = threads.div_ceil(LANES as u32) as usize;
        (self.block, self.warps) = (block as u32, warps);
        self.known.clear();
        self.known.resize(warps * warps, 0);
        (0..warps).for_each(|warp| self.known[warp * warps + warp] = 1);
        self.within.clear();
        self.within.extend((0..warps).map(|warp| {
            let lanes = threads - warp as u32 * 32;
            let lanes = if lanes >= 32 { u32::MAX } else { (1 << lanes) - 1 };
            Within { lanes, count: 0, all: 0, pairs: None, fenced: None }
        }));
        self.fenced.clear();
        self.fenced.resize(warps, None);
        self.taken.clear();
        self.taken.resize(warps, Known::default());
    }

    pub(super) fn block(&self) -> u32 {
        self.block
    }

    /// Returns the number of warps.
    pub(super) fn warps(&self) -> usize {
        self.warps
    }

    pub(super) fn clock(&self, warp: u32) -> u32 {
        self.known[warp as usize * (self.warps + 1)]
    }

    pub(super) fn sync(&self, warp: u32) -> u32 {
        self.within[warp as usize].count
    }

    /// Returns n such that all accesses of the warp stamped below n happen before all that its lanes do next.
    pub(super) fn settled(&self, warp: u32) -> u32 {
        self.within[warp as usize].all
    }

    /// Returns true if the accesses of `other` up to `clock` happen before what `warp` does next.
    pub(super) fn knows(&self, warp: u32, other: u32, clock: u32) -> bool {
        self.known[warp as usize * self.warps + other as usize] >= clock
    }

    /// Returns one of the lanes `others`, whose accesses are stamped `sync`, that is not ordered before `lane`'s next
    /// access.
    pub(super) fn unordered_lane(&self, warp: u32, lane: usize, others: u32, sync: u32) -> Option<u32> {
        let within = &self.within[warp as usize];
        if sync < within.all {
            return None;
        }
        let others = others & !(1 << lane);
        match &within.pairs {
            None => (others != 0).then(|| others.trailing_zeros()),
            Some(pairs) => {
                super::lanes(others).find(|other| pairs[lane][*other] <= sync).map(|lane| lane as u32)
            }
        }
    }

    fn row(&mut self, warp: u32) -> &mut [u32] {
        &mut self.known[warp as usize * self.warps..][..self.warps]
    }

    pub(super) fn advance(&mut self, warp: u32) {
        self.known[warp as usize * (self.warps + 1)] += 1;
    }

    /// Joins `clocks` into the warp's row.
    pub(super) fn learn(&mut self, warp: u32, clocks: &[u32]) {
        self.row(warp).iter_mut().zip(clocks).for_each(|(known, clock)| *known = (*known).max(*clock));
    }

    /// Joins the warp's row into the clocks that a word releases.
    pub(super) fn hand_on(&self, warp: u32, clocks: &mut [u32]) {
        let row = &self.known[warp as usize * self.warps..][..self.warps];
        clocks.iter_mut().zip(row).for_each(|(known, clock)| *known = (*known).max(*clock));
    }

    /// Orders these warps at a barrier of all their lanes.
    pub(in super::super) fn barrier(&mut self, warps: u64) {
        let waited: Vec<u32> =
            (0..self.warps as u32).filter(|warp| *warp >= 64 || warps >> warp & 1 != 0).collect();
        let mut together = vec![0; self.warps];
        let mut taken = Known::default();
        for warp in &waited {
            together.iter_mut().zip(self.row(*warp)).for_each(|(known, clock)| *known = (*known).max(*clock));
            taken = taken.joined(&self.taken[*warp as usize]);
        }
        for warp in waited {
            self.row(warp).copy_from_slice(&together);
            self.advance(warp);
            self.taken[warp as usize] = taken.clone();
            self.warp_barrier(warp, u32::MAX);
        }
    }

    /// Orders these lanes at a warp barrier.
    pub(in super::super) fn warp_barrier(&mut self, warp: u32, lanes: u32) {
        let within = &mut self.within[warp as usize];
        within.count += 1;
        if lanes & within.lanes == within.lanes {
            within.all = within.count;
            within.pairs = None;
            return;
        }
        let pairs = within.pairs.get_or_insert_with(|| Box::new([[within.all; LANES]; LANES]));
        let mut together = [0; LANES];
        for lane in super::lanes(lanes) {
            join(&mut together, &pairs[lane]);
        }
        for lane in super::lanes(lanes) {
            together[lane] = within.count;
        }
        for lane in super::lanes(lanes) {
            pairs[lane] = together;
        }
    }

    /// Records a fence. The warp's later strong writes to global memory release what it knows now. Lanes count fences
    /// as they count barriers, so a lane releases what precedes its fence.
    pub(in super::super) fn fence(&mut self, warp: u32, lanes: u32) {
        let within = &mut self.within[warp as usize];
        within.count += 1;
        let pairs = within.pairs.get_or_insert_with(|| Box::new([[within.all; LANES]; LANES]));
        let fenced = within.fenced.get_or_insert_default();
        for lane in super::lanes(lanes & within.lanes) {
            pairs[lane][lane] = within.count;
            fenced[lane] = pairs[lane];
        }
        let row: Arc<[u32]> = (&*self.row(warp)).into();
        self.fenced[warp as usize] = Some(row);
        self.advance(warp);
    }

    /// Returns what the fenced lanes among `lanes` release to other lanes of their warp; None if no lane of the warp
    /// has fenced.
    pub(super) fn fenced_lanes(&self, warp: u32, lanes: u32) -> Option<Row> {
        let fenced = self.within[warp as usize].fenced.as_ref()?;
        let mut together = [0; LANES];
        super::lanes(lanes).for_each(|lane| join(&mut together, &fenced[lane]));
        Some(together)
    }

    /// Joins what lanes of the warp have released into these lanes' rows.
    pub(super) fn learn_lanes(&mut self, warp: u32, lanes: u32, row: &Row) {
        let within = &mut self.within[warp as usize];
        let pairs = within.pairs.get_or_insert_with(|| Box::new([[within.all; LANES]; LANES]));
        super::lanes(lanes).for_each(|lane| join(&mut pairs[lane], row));
    }

    /// Returns true if a lane of the warp has fenced; without a fence, lanes release nothing.
    pub(super) fn has_fenced_lanes(&self, warp: u32) -> bool {
        self.within[warp as usize].fenced.is_some()
    }

    pub(super) fn fenced(&self, warp: u32) -> Option<&Arc<[u32]>> {
        self.fenced[warp as usize].as_ref()
    }
}

/// Sets each entry to the greater of the two rows.
pub(super) fn join(known: &mut Row, more: &Row) {
    known.iter_mut().zip(more).for_each(|(known, more)| *known = (*known).max(*more));
}
