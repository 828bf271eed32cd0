//! What an instruction does to memory and to its warp, from which [`Op`](super::Op) answers questions about it.

use super::words::{AddressSpace, Order};

/// Effects of an instruction on memory and on its warp; none by default.
#[derive(Default)]
pub(super) struct Effects {
    /// Space of the address; None if it is generic, or if there is none.
    pub(super) space: Option<AddressSpace>,
    /// A value is loaded into a register.
    pub(super) loads: bool,
    /// Memory is written, at once or later.
    pub(super) stores: bool,
    /// The access takes part in synchronisation.
    pub(super) strong: bool,
    /// Order, if written.
    pub(super) order: Option<Order>,
    /// All lanes of a warp must execute the instruction together.
    pub(super) aligned: bool,
}
