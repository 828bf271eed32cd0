//! Who of a block knows what of whom: vector clocks of its warps, and of the lanes within a warp.

use std::sync::Arc;

use super::order::Known;
use crate::coalescing::LANES;

/// The clocks of a block's warps.
///
/// A warp's own clock moves on whenever others may learn of what it has done so far. It knows of each warp up to which
/// of its clocks everything lies before whatever it does next.
#[derive(Debug)]
pub(in super::super) struct Clocks {
    block: u32,
    warps: usize,
    /// Row by row: what this warp knows of that one; in its own column the warp's clock.
    known: Vec<u32>,
    within: Vec<Within>,
    /// What each warp knew at its last fence.
    fenced: Vec<Option<Arc<[u32]>>>,
    /// What each warp took over through global memory.
    pub(super) taken: Vec<Known>,
}

/// How far the lanes of a warp know of each other. They count warp barriers, all of the warp together.
#[derive(Debug)]
struct Within {
    /// Lanes that the warp has.
    lanes: u32,
    /// Warp barriers and fences so far, of whichever lanes.
    count: u32,
    /// What lies before the barrier of this number lies before everything, for all lanes.
    all: u32,
    /// The same for each lane of each other lane, if some lanes had a barrier of their own since.
    pairs: Option<Box<[Row; LANES]>>,
    /// What each lane knew at its last fence; all 0 for those that had none.
    fenced: Option<Box<[Row; LANES]>>,
}

/// What a lane knows of each lane of its warp: what that one did before the barrier or fence of this number.
pub(super) type Row = [u32; LANES];

impl Clocks {
    /// Of a block with so many threads, all of which know nothing of each other.
    pub(in super::super) fn new(block: u64, threads: u32) -> Self {
        let warps = threads.div_ceil(LANES as u32) as usize;
        let mut known = vec![0; warps * warps];
        (0..warps).for_each(|warp| known[warp * warps + warp] = 1);
        let within = |warp| {
            let lanes = threads - warp as u32 * 32;
            Within {
                lanes: if lanes >= 32 { u32::MAX } else { (1 << lanes) - 1 },
                count: 0,
                all: 0,
                pairs: None,
                fenced: None,
            }
        };
        Self {
            block: block as u32,
            warps,
            known,
            within: (0..warps).map(within).collect(),
            fenced: vec![None; warps],
            taken: vec![Known::default(); warps],
        }
    }

    pub(super) fn block(&self) -> u32 {
        self.block
    }

    pub(super) fn clock(&self, warp: u32) -> u32 {
        self.known[warp as usize * (self.warps + 1)]
    }

    pub(super) fn sync(&self, warp: u32) -> u32 {
        self.within[warp as usize].count
    }

    /// What a warp's lanes did before so many of its barriers lies before all that any of them does next.
    pub(super) fn settled(&self, warp: u32) -> u32 {
        self.within[warp as usize].all
    }

    /// Whether all that a warp did up to this clock of its own lies before what another does next.
    pub(super) fn knows(&self, warp: u32, other: u32, clock: u32) -> bool {
        self.known[warp as usize * self.warps + other as usize] >= clock
    }

    /// Of lanes that did something after so many of their warp's barriers: one that a lane does not know of.
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

    /// The warp learns what these clocks stand for.
    pub(super) fn learn(&mut self, warp: u32, clocks: &[u32]) {
        self.row(warp).iter_mut().zip(clocks).for_each(|(known, clock)| *known = (*known).max(*clock));
    }

    /// Adds what the warp knows to what is handed on.
    pub(super) fn hand_on(&mut self, warp: u32, clocks: &mut Box<[u32]>) {
        let row = self.row(warp);
        if clocks.is_empty() {
            *clocks = row.into();
        } else {
            clocks.iter_mut().zip(row).for_each(|(known, clock)| *known = (*known).max(*clock));
        }
    }

    /// These warps have waited for each other, with all their lanes.
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

    /// These lanes of a warp have waited for each other.
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

    /// A warp's fence: what it hands on through global memory from now on is what it knows now. Its lanes count fences as
    /// they count barriers, so that what one of them hands to another is what lies before the fence.
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

    /// What the lanes that had a fence hand on to others of their warp, joined; none: no lane of the warp had one.
    pub(super) fn fenced_lanes(&self, warp: u32, lanes: u32) -> Option<Row> {
        let fenced = self.within[warp as usize].fenced.as_ref()?;
        let mut together = [0; LANES];
        super::lanes(lanes).for_each(|lane| join(&mut together, &fenced[lane]));
        Some(together)
    }

    /// Lanes of a warp learn what others of it have handed on.
    pub(super) fn learn_lanes(&mut self, warp: u32, lanes: u32, row: &Row) {
        let within = &mut self.within[warp as usize];
        let pairs = within.pairs.get_or_insert_with(|| Box::new([[within.all; LANES]; LANES]));
        super::lanes(lanes).for_each(|lane| join(&mut pairs[lane], row));
    }

    /// Whether a lane of the warp has had a fence, without which its lanes hand nothing on.
    pub(super) fn has_fenced_lanes(&self, warp: u32) -> bool {
        self.within[warp as usize].fenced.is_some()
    }

    pub(super) fn fenced(&self, warp: u32) -> Option<&Arc<[u32]>> {
        self.fenced[warp as usize].as_ref()
    }
}

/// Adds what another row knows.
pub(super) fn join(known: &mut Row, more: &Row) {
    known.iter_mut().zip(more).for_each(|(known, more)| *known = (*known).max(*more));
}
