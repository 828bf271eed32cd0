//! Delivers what a copy engine moves: to one place, or to the same place in several blocks of a cluster, and counted there.
//!
//! A copy with *multicast* reads its source once, and writes it to the same place in several blocks of the cluster, where
//! the barrier at the same place counts it. For example, `blocks` 0b101, a destination at 0x400 and a barrier at 0x40:
//! the bytes go to 0x400 in the blocks of rank 0 and 2, and count at 0x40 in both.

use crate::memory::access::Environment;
use crate::memory::barrier::Transactions;
use crate::memory::lanes;
use crate::memory::lookup::AccessFault;
use crate::memory::registers::read_lane;
use crate::observe::Observer;
use crate::registers::{Cell, Slot};

/// The receivers of a copy.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivery {
    /// Blocks of the cluster that receive the data; `None` if only the addressed one does.
    pub(super) blocks: Option<Slot>,
    /// The barrier that counts the bytes.
    pub(super) transactions: Option<Transactions>,
}

impl Delivery {
    /// Returns the addresses to which a lane's data go, of which the operand names `own`.
    ///
    /// # Safety
    /// The slots are of this frame.
    pub(super) unsafe fn places<O: Observer>(
        &self,
        own: u64,
        lane: usize,
        frame: *mut Cell,
        environment: &Environment<'_, O>,
    ) -> Result<Vec<u64>, AccessFault> {
        let Some(blocks) = self.blocks else { return Ok(vec![own]) };
        // SAFETY: the caller's promise.
        let blocks = unsafe { read_lane(blocks, frame, lane) } as u32 & 0xFFFF;
        let cluster = &environment.cluster;
        if blocks == 0 || blocks >> cluster.size() != 0 {
            let what = format!("a multicast to the blocks {blocks:#x} of {}", cluster.name());
            return Err(AccessFault::illegal(lane, what));
        }
        let ranks = (0..u32::BITS).filter(|rank| blocks >> rank & 1 != 0);
        Ok(ranks.map(|rank| cluster.address(rank, own)).collect())
    }

    /// Counts the bytes of each lane at its barriers.
    ///
    /// # Safety
    /// See [`MemoryInstruction::execute`](super::MemoryInstruction::execute).
    pub(super) unsafe fn count<O: Observer>(
        &self,
        frame: *mut Cell,
        mask: u32,
        environment: &mut Environment<'_, O>,
        bytes: impl Fn(usize) -> u64,
    ) -> Result<(), AccessFault> {
        let Some(transactions) = &self.transactions else { return Ok(()) };
        let Some(blocks) = self.blocks else {
            // SAFETY: the caller's promise.
            return unsafe { transactions.complete(frame, mask, environment, bytes) };
        };
        for rank in 0..environment.cluster.size() {
            // SAFETY: the slots are of this frame.
            let is_named = |lane: &usize| unsafe { read_lane(blocks, frame, *lane) } >> rank & 1 != 0;
            let lanes = lanes::each(mask).filter(is_named).fold(0, |lanes, lane| lanes | 1 << lane);
            if lanes != 0 {
                // SAFETY: the caller's promise.
                unsafe { transactions.complete_at(rank, frame, lanes, environment, &bytes)? };
            }
        }
        Ok(())
    }
}
