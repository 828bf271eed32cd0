//! Whether a launch has blocks enough for its card.

use crate::Record;
use std::fmt;

/// A launch that leaves multiprocessors without a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfilled {
    /// Blocks of the launch.
    pub blocks: u64,
    /// Multiprocessors of the card.
    pub multiprocessors: u32,
}

impl Record {
    /// Says how far the launch is from giving each multiprocessor a block; `None` for one that does, and where no kernel ran.
    ///
    /// Such a row measures how few blocks it has, not what its kernel can do: it is neither the best nor the worst of its experiment.
    pub fn unfilled(&self) -> Option<Unfilled> {
        let (blocks, multiprocessors) = (self.parameters.grid?.count(), self.device.multiprocessors);
        (blocks < multiprocessors.into()).then_some(Unfilled { blocks, multiprocessors })
    }
}

impl fmt::Display for Unfilled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.blocks == 1 { "" } else { "s" };
        write!(f, "{} block{plural} on {} SMs", self.blocks, self.multiprocessors)
    }
}
