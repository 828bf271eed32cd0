//! Estimates which hits of a block in L1 would miss beside what its other warps load and store.
//!
//! The [clock](super::group) of a warp tells how much that warp has brought in since it loaded a sector. Where the warps of a block go
//! through data of their own, L1 receives as much of each of them meanwhile; and what a block stores takes places too: on an H100, stores of
//! 64, 160 and 200 KiB between two loads of 100 KiB left 100%, 54% and 8% of these in L1, and loads from elsewhere exactly as much
//! (`st.cs`, atomics and `ld.cg` left all). How much that is, is known when the block ends: all sectors that it brought in or
//! stored, over the clock of the warp that has come farthest. So hits are counted by their distance, in halves of the share, and those
//! beyond the share over that factor are *spilled*.
//!
//! For example, each of 8 warps loads 512 sectors of its own twice, and L1 has 1024 for the block. To each warp's clock, the second
//! time is at most 512 behind the first: all hit. But the block brings in eight times as much, so that all that lie more than 128 behind
//! are lost, which are three quarters.
//!
//! Simulated over Nsight Compute's sectors of loads that miss L1, without this and with it: `rms_norm` 0.53 and 1.03, `group_norm` 0.65 and
//! 0.72, `softmax_gradient` 0.53 and 0.57: of two warps that share the ends of their rows, the clocks say too little.

/// Classes of distances: from a half to the whole of the share, from a fourth to a half, and so on. Nearer hits are not counted.
const CLASSES: u32 = 5;

/// Bits of a class in [`Far`].
const CLASS_BITS: u32 = 12;

/// Hits of one request by class, 12 bits each: its lanes have at most 32 groups, of 32 sectors and one of 31.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Far(u64);

/// Returns true if a distance is in a class, or beyond the share.
#[inline(always)]
pub(super) fn is_far(distance: u32, share: u32) -> bool {
    distance >= (share >> CLASSES).max(1)
}

impl Far {
    /// Counts hits at a distance below the share.
    pub(super) fn note(&mut self, distance: u32, share: u32, sectors: u32) {
        let class = (share / distance).ilog2().min(CLASSES - 1);
        self.0 += u64::from(sectors) << (class * CLASS_BITS);
    }

    #[inline(always)]
    pub(super) fn any(self) -> bool {
        self.0 != 0
    }
}

/// Sectors of a block: those that hit far behind, and those that it brought in or stored.
#[derive(Debug, Default)]
pub(super) struct Spilled {
    far: [u64; CLASSES as usize],
    pub(super) brought: u64,
}

impl Spilled {
    #[cold]
    pub(super) fn note(&mut self, far: Far) {
        for (class, sectors) in (0..).zip(&mut self.far) {
            *sectors += far.0 >> (class * CLASS_BITS) & ((1 << CLASS_BITS) - 1);
        }
    }

    /// Ends the block, whose warp that came farthest is at this clock. Returns how many hits are spilled.
    pub(super) fn end_block(&mut self, clock: u32) -> u64 {
        let Self { far, brought } = std::mem::take(self);
        if far == [0; CLASSES as usize] {
            return 0;
        }
        let factor = brought as f64 / f64::from(clock.max(1));
        let of_class = |(class, &sectors): (i32, &u64)| {
            // Of a share of 1, a class reaches from half of this to this.
            let to = 0.5_f64.powi(class);
            sectors as f64 * ((to - 1.0 / factor.max(1.0)) / (to / 2.0)).clamp(0.0, 1.0)
        };
        (0..).zip(&far).map(of_class).sum::<f64>() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_beyond_what_all_warps_bring_in_are_spilled() {
        let spilled = |distances: &[u32], brought: u64, clock: u32| {
            let mut far = Far::default();
            distances.iter().filter(|at| is_far(**at, 1024)).for_each(|at| far.note(*at, 1024, 4));
            let mut block = Spilled { brought, ..Spilled::default() };
            block.note(far);
            block.end_block(clock)
        };
        // A warp alone has the whole share.
        assert_eq!(spilled(&[600, 300, 100], 700, 700), 0);
        // Two: what lies more than half of it behind is lost.
        assert_eq!(spilled(&[600, 300, 100], 1400, 700), 4);
        // Three quarters of those between an eighth and a half, of eight warps.
        assert_eq!(spilled(&[400, 300, 200, 100, 30, 10], 5600, 700), 12);
        // Of a class that the limit divides, a part.
        assert_eq!(spilled(&[600; 100], 1000, 750), 200);
    }
}
