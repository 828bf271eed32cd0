//! Facts about instructions that follow from their opcodes.

use super::Op;
use super::control::BarrierVerb;
use super::memory::{Access, CopyGroup, MbarrierVerb};
use super::words::{AddressSpace, Order};

/// Event that an instruction waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaits {
    /// Threads of its block or cluster.
    Threads,
    /// Asynchronous copies.
    Copies,
}

impl Op {
    /// Returns the space of the address that the instruction accesses; None if it is generic, or if there is none.
    pub fn space(&self) -> Option<AddressSpace> {
        match self {
            Self::Ld(access) | Self::Ldu(access) | Self::St(access) | Self::StAsync { access, .. } => {
                access.space
            }
            Self::Atomic(atomic) => atomic.space,
            Self::Mbarrier(mbarrier) => mbarrier.space,
            Self::Ldmatrix(load) => load.space,
            Self::StBulk { space } | Self::Advice { space, .. } | Self::CopyArrive { space, .. } => *space,
            _ => None,
        }
    }

    /// Returns true if the instruction loads a value from memory into a register.
    pub fn loads(&self) -> bool {
        match self {
            Self::Ld(_) | Self::Ldu(_) | Self::Ldmatrix(_) => true,
            Self::Atomic(atomic) => atomic.gives_back,
            _ => false,
        }
    }

    /// Returns true if the instruction writes memory, at once or later.
    pub fn stores(&self) -> bool {
        matches!(
            self,
            Self::St(_)
                | Self::StAsync { .. }
                | Self::StBulk { .. }
                | Self::Atomic(_)
                | Self::CpAsync(_)
                | Self::CpBulk(_)
                | Self::BulkTensor
                | Self::Mbarrier(_)
                | Self::CopyArrive { .. }
        )
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
        let strong = |access: &Access| access.mmio || access.order.is_some_and(|order| order != Order::Weak);
        match self {
            Self::Ld(access) | Self::Ldu(access) | Self::St(access) | Self::StAsync { access, .. } => {
                strong(access)
            }
            Self::Atomic(_) | Self::Mbarrier(_) => true,
            _ => false,
        }
    }

    /// Returns true if the access releases what precedes it, as a fence would.
    pub fn releases(&self) -> bool {
        let order = match self {
            Self::Ld(access) | Self::Ldu(access) | Self::St(access) | Self::StAsync { access, .. } => {
                access.order
            }
            Self::Atomic(atomic) => atomic.order,
            Self::Mbarrier(mbarrier) => mbarrier.order,
            Self::Fence(fence) => fence.order,
            Self::ClusterBarrier { order, .. } => *order,
            _ => None,
        };
        matches!(order, Some(Order::Release | Order::AcquireRelease))
    }

    /// Returns true if all lanes of a warp must execute the instruction together.
    pub fn is_aligned(&self) -> bool {
        matches!(
            self,
            Self::Barrier { aligned: true, .. }
                | Self::ClusterBarrier { aligned: true, .. }
                | Self::Mma(_)
                | Self::Ldmatrix(_)
        )
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
