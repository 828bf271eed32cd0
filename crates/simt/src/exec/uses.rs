//! Which columns each instruction reads and writes.

use std::collections::HashSet;
use std::ops::Range;

use crate::registers::Slot;

/// For each of a row of instructions, by index.
#[derive(Debug, Default)]
pub(super) struct Uses {
    slots: Vec<Slot>,
    /// Where those of an instruction begin, first what it reads; where its results begin.
    starts: Vec<(u32, u32)>,
    /// The columns that memory is addressed by.
    addresses: Vec<Option<Slot>>,
}

/// Of one instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct Use {
    /// Columns read, the guard's included.
    pub(super) sources: Vec<Slot>,
    /// Columns written.
    pub(super) results: Vec<Slot>,
    /// Of the sources, the one that memory is addressed by.
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

    /// What the instruction of this index reads.
    pub(super) fn sources(&self, index: usize) -> &[Slot] {
        let (start, results) = self.starts[index];
        &self.slots[start as usize..results as usize]
    }

    /// What the instruction of this index writes.
    pub(super) fn results(&self, index: usize) -> &[Slot] {
        &self.slots[self.starts[index].1 as usize..self.end(index)]
    }

    /// Whether the instruction of this index reads one of these columns.
    pub(super) fn reads(&self, index: usize, cells: &HashSet<u32>) -> bool {
        self.sources(index).iter().any(|slot| cells.contains(&slot.cell))
    }

    /// Columns that the results of some instructions among these can get into, from turn to turn where they are a loop.
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

    /// What the instruction of this index addresses memory by.
    pub(super) fn address(&self, index: usize) -> Option<Slot> {
        self.addresses[index]
    }
}
