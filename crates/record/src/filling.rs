//! Detects launches with too few blocks to fill the card.

use crate::{Extent, Record};
use std::fmt;

/// A launch that leaves more than 5% of the multiprocessors without a block. With fewer, it is no lack that a time shows: a kernel
/// whose blocks go from tile to tile leaves some out on purpose, where the others have equally many tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfilled {
    /// Blocks of the launch.
    pub blocks: u64,
    /// Multiprocessors of the card.
    pub multiprocessors: u32,
}

impl Unfilled {
    /// Checks a grid on a card with `multiprocessors`; `None` where 95% of them have a block, and without a grid.
    pub fn of(grid: Option<Extent>, multiprocessors: u32) -> Option<Unfilled> {
        let blocks = grid?.count();
        (blocks * 20 < u64::from(multiprocessors) * 19).then_some(Unfilled { blocks, multiprocessors })
    }
}

impl Record {
    /// Detects a launch that leaves more than 5% of the multiprocessors without a block. `None` for any other, and where no
    /// kernel ran.
    ///
    /// Such a row measures its lack of blocks, not its kernel, so it is neither the best nor the worst of its experiment. The
    /// time of single operations takes no more than one thread, so such rows are never unfilled.
    pub fn unfilled(&self) -> Option<Unfilled> {
        if self.measure().is_time() {
            return None;
        }
        Unfilled::of(self.parameters.grid, self.device.multiprocessors)
    }
}

impl fmt::Display for Unfilled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.blocks == 1 { "" } else { "s" };
        write!(f, "{} block{plural} on {} SMs", self.blocks, self.multiprocessors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_filled_by_a_block_for_each_multiprocessor() {
        let of = |x, y| Unfilled::of(Some(Extent([x, y, 1])), 132).map(|unfilled| unfilled.to_string());
        assert_eq!(of(2, 2).as_deref(), Some("4 blocks on 132 SMs"));
        assert_eq!(of(1, 1).as_deref(), Some("1 block on 132 SMs"));
        assert_eq!(of(12, 11), None);
        assert_eq!(of(25, 5).as_deref(), Some("125 blocks on 132 SMs"));
        assert_eq!(of(126, 1), None);
        assert_eq!(Unfilled::of(None, 132), None);
    }
}
