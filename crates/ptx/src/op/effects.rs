//! What an instruction does to memory and to its warp, from which [`Op`](super::Op) answers questions about it.

use super::words::{AddressSpace, Order};

/// Event that an instruction waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaits {
    /// Threads of its block or cluster.
    Threads,
    /// Asynchronous copies.
    Copies,
}

/// Effects of an instruction on memory and on its warp; none by default.
#[derive(Default)]
pub(super) struct Effects {
    /// Space of the address; None if it is generic, or if there is none.
    pub(super) space: Option<AddressSpace>,
    /// A value is loaded into a register.
    pub(super) loads: bool,
    /// Memory is written, at once or later.
    pub(super) stores: bool,
    /// Memory is read, changed and written in one step.
    pub(super) atomic: bool,
    /// The access takes part in synchronisation.
    pub(super) strong: bool,
    /// Order, if written.
    pub(super) order: Option<Order>,
    /// An asynchronous copy begins.
    pub(super) starts_copy: bool,
    /// Event that it waits for.
    pub(super) awaits: Option<Awaits>,
    /// It is a barrier of threads, at which they wait or arrive.
    pub(super) barrier: bool,
    /// All lanes of a warp must execute the instruction together.
    pub(super) aligned: bool,
    /// Lanes of a warp exchange values or meet, whether or not all of them must.
    pub(super) meets: bool,
    /// The results follow from the operands, and there is no other effect.
    pub(super) computes: bool,
}
