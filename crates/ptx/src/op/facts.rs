//! Facts about instructions that follow from their opcodes.

use super::control::{self, BarrierVerb};
use super::effects::{Awaits, Effects};
use super::words::{AddressSpace, Order};
use super::{Op, arithmetic, matrix};

impl Op {
    fn effects(&self) -> Effects {
        match self {
            Self::Memory(memory) => memory.effects(),
            Self::Copy(copying) => copying.effects(),
            Self::Wgmma(wgmma) => wgmma.effects(),
            Self::Other { collective } => Effects { meets: *collective, ..Effects::default() },
            op => {
                let rest = || control::effects(op).or_else(|| matrix::effects(op));
                arithmetic::effects(op).or_else(rest).unwrap_or_default()
            }
        }
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

    /// Returns true for `atom` and `red`, which read, change and write memory in one step.
    pub fn is_atomic(&self) -> bool {
        self.effects().atomic
    }

    /// Returns true if the instruction starts an asynchronous copy.
    pub fn starts_copy(&self) -> bool {
        self.effects().starts_copy
    }

    /// Returns what the instruction waits for, if anything.
    pub fn awaits(&self) -> Option<Awaits> {
        self.effects().awaits
    }

    /// Returns true if the access takes part in synchronisation: its order is stronger than weak. An atomic without a
    /// written order is relaxed.
    pub fn is_strong(&self) -> bool {
        self.effects().strong
    }

    /// Returns true if the access releases what precedes it, as a fence would.
    pub fn releases(&self) -> bool {
        matches!(self.effects().order, Some(Order::Release | Order::AcquireRelease))
    }

    /// Returns true if all lanes of a warp must execute the instruction together.
    pub fn is_aligned(&self) -> bool {
        self.effects().aligned
    }

    /// Returns true if the result or the effect depends on which lanes of the warp execute the instruction together: what is
    /// aligned, barriers, and exchanges between lanes. A compiler must not copy it to paths that diverge: LLVM's `convergent`.
    pub fn is_collective(&self) -> bool {
        let effects = self.effects();
        effects.aligned || effects.barrier || effects.meets
    }

    /// Returns true for a barrier of the block or the cluster, at which a thread waits or arrives.
    pub fn is_barrier(&self) -> bool {
        self.effects().barrier
    }

    /// Returns true for a barrier at which a thread waits for its block.
    pub fn is_block_barrier(&self) -> bool {
        matches!(self, Self::Barrier { verb: BarrierVerb::Sync | BarrierVerb::Reduce(_), .. })
    }

    /// Returns true if the results follow from the operands alone, and there is no other effect. Operands may be special
    /// registers, which differ from lane to lane and change.
    pub fn computes(&self) -> bool {
        self.effects().computes
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
