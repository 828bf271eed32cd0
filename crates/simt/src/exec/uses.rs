//! The columns that each instruction reads and writes.

use std::collections::HashSet;
use std::ops::Range;

use crate::registers::Slot;

/// Columns read and written by each instruction of a program, by index.
#[derive(Debug, Default)]
pub(super) struct Uses {
    slots: Vec<Slot>,
    /// For each instruction, the start of its sources and the start of its results among the slots.
    starts: Vec<(u32, u32)>,
    /// For each instruction, the column that holds the memory address.
    addresses: Vec<Option<Slot>>,
}

/// Columns read and written by one instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct Use {
    /// Columns read, the guard's included.
    pub(super) sources: Vec<Slot>,
    /// Columns written.
    pub(super) results: Vec<Slot>,
    /// Column among the sources that holds the memory address.
    pub(super) address: Option<Slot>,
}

impl Uses {
    pub(super) fn push(&mut self, one: &Use) {
        let start = self.slots.len() as u32;
        self.slots.extend(&one.sources);
        self.starts.push((start, self.slots.len() as u32));
        self.slots.extend(&one.results);
        self.addresses.push(one.address);
    }

    fn end(&self, index: usize) -> usize {
        self.starts.get(index + 1).map_or(self.slots.len(), |(start, _)| *start as usize)
    }

    /// Returns the columns that this instruction reads.
    pub(super) fn sources(&self, index: usize) -> &[Slot] {
        let (start, results) = self.starts[index];
        &self.slots[start as usize..results as usize]
    }

    /// Returns the columns that this instruction writes.
    pub(super) fn results(&self, index: usize) -> &[Slot] {
        &self.slots[self.starts[index].1 as usize..self.end(index)]
    }

    /// Returns true if this instruction reads one of these columns.
    pub(super) fn reads(&self, index: usize, cells: &HashSet<u32>) -> bool {
        self.sources(index).iter().any(|slot| cells.contains(&slot.cell))
    }

    /// Returns the columns that depend on results of the source instructions in a range, over all iterations if it is a
    /// loop.
    pub(super) fn depending(&self, range: Range<usize>, is_source: impl Fn(usize) -> bool) -> HashSet<u32> {
        let mut depending: HashSet<u32> = HashSet::new();
        loop {
            let known = depending.len();
            for at in range.clone() {
                if is_source(at) || self.reads(at, &depending) {
                    depending.extend(self.results(at).iter().map(|slot| slot.cell));
                }
            }
            if depending.len() == known {
                return depending;
            }
        }
    }

    /// Returns the column that holds this instruction's memory address.
    pub(super) fn address(&self, index: usize) -> Option<Slot> {
        self.addresses[index]
    }
}
