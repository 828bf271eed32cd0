//! Facts about instructions that follow from their opcodes.

use super::control::BarrierVerb;
use super::effects::Effects;
use super::memory::{self, CopyGroup, MbarrierVerb};
use super::words::{AddressSpace, Order};
use super::{Op, matrix};

/// Event that an instruction waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaits {
    /// Threads of its block or cluster.
    Threads,
    /// Asynchronous copies.
    Copies,
}

impl Op {
    fn effects(&self) -> Effects {
        memory::effects(self).or_else(|| matrix::effects(self)).unwrap_or_default()
    }

    /// Returns the space of the address that the instruction accesses; None if it is generic, or if there is none.
    pub fn space(&self) -> Option<AddressSpace> {
        self.effects().space
    }

    /// Returns true if the instruction loads a value from memory into a register.
    pub fn loads(&self) -> bool {
        self.effects().loads
    }

    /// Returns true if the instruction writes memory, at once or later.
    pub fn stores(&self) -> bool {
        self.effects().stores
    }

    /// Returns true if the instruction starts an asynchronous copy.
    pub fn starts_copy(&self) -> bool {
        matches!(self, Self::CpAsync(_) | Self::CpBulk(_) | Self::BulkTensor)
    }

    /// Returns what the instruction waits for, if anything.
    pub fn awaits(&self) -> Option<Awaits> {
        match self {
            Self::Barrier { .. } | Self::ClusterBarrier { .. } => Some(Awaits::Threads),
            Self::CopyGroup { group: CopyGroup::Wait | CopyGroup::WaitAll, .. } => Some(Awaits::Copies),
            Self::Mbarrier(mbarrier)
                if matches!(mbarrier.verb, MbarrierVerb::TestWait | MbarrierVerb::TryWait) =>
            {
                Some(Awaits::Copies)
            }
            _ => None,
        }
    }

    /// Returns true if the access takes part in synchronisation: its order is stronger than weak. An atomic without a
    /// written order is relaxed.
    pub fn is_strong(&self) -> bool {
        self.effects().strong
    }

    /// Returns true if the access releases what precedes it, as a fence would.
    pub fn releases(&self) -> bool {
        let order = match self {
            Self::ClusterBarrier { order, .. } => *order,
            _ => self.effects().order,
        };
        matches!(order, Some(Order::Release | Order::AcquireRelease))
    }

    /// Returns true if all lanes of a warp must execute the instruction together.
    pub fn is_aligned(&self) -> bool {
        match self {
            Self::Barrier { aligned, .. } | Self::ClusterBarrier { aligned, .. } => *aligned,
            _ => self.effects().aligned,
        }
    }

    /// Returns true for a barrier at which a thread waits for its block.
    pub fn is_block_barrier(&self) -> bool {
        matches!(self, Self::Barrier { verb: BarrierVerb::Sync | BarrierVerb::Reduce(_), .. })
    }

    /// Returns true if the instruction may end the kernel with an error by itself: `trap`, or an access.
    pub fn may_trap(&self) -> bool {
        matches!(self, Self::Trap | Self::Brkpt | Self::Call) || self.loads() || self.stores()
    }

    /// Returns true if execution may go on elsewhere than behind the instruction.
    pub fn is_control(&self) -> bool {
        matches!(self, Self::Bra | Self::Brx | Self::Call | Self::Ret | Self::Exit | Self::Trap)
    }
}
