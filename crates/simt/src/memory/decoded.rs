//! What decoding a memory instruction gives: its operation, and its registers by use.

use crate::registers::Slot;

/// The registers of an instruction, by use.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    pub(super) results: Vec<Slot>,
    pub(super) sources: Vec<Slot>,
    pub(super) addresses: Vec<Slot>,
}

/// An instruction during decoding.
pub(super) struct Decoded<T> {
    pub(super) operation: T,
    pub(super) registers: Lists,
}

impl<T> Decoded<T> {
    pub(super) fn new(operation: T) -> Self {
        Self { operation, registers: Lists::default() }
    }

    pub(super) fn map<U>(self, operation: impl FnOnce(T) -> U) -> Decoded<U> {
        Decoded { operation: operation(self.operation), registers: self.registers }
    }

    pub(super) fn results(mut self, slots: &[Slot]) -> Self {
        self.registers.results.extend_from_slice(slots);
        self
    }

    pub(super) fn sources(mut self, slots: &[Slot]) -> Self {
        self.registers.sources.extend_from_slice(slots);
        self
    }

    pub(super) fn address(mut self, slot: Slot) -> Self {
        self.registers.addresses.push(slot);
        self
    }

    pub(super) fn addresses(mut self, slots: &[Slot]) -> Self {
        self.registers.addresses.extend_from_slice(slots);
        self
    }
}
