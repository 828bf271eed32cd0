//! Counts atomics in shared memory that threads of a block contest for.
//!
//! On NVIDIA's GPUs from 5.0 on, shared memory executes 32-bit integer atomics, exchanges and compare-and-swaps. Of anything else
//! ptxas makes a loop: it loads the word, computes, and swaps if the word is still the same. A program's own loops
//! around `atom.cas` do the same. In each round one of the threads that want a word succeeds, so the word where most of a
//! block's operations go bounds the block's time. For example, 256 threads that each add a float to one of two words, half and
//! half: 128 operations.

use crate::coalescing::Addresses;
use crate::exec::SiteInfo;
use crate::ptx::ScalarType;
use crate::ptx::op::Op;
use crate::ptx::op::memory::{Atomic, Memory};
use crate::ptx::op::words::Update;
use counters::LoopedAtomics;
use std::ops::AddAssign;

/// A way in which threads contest for a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Contest {
    /// By a loop that ptxas makes, on 32 bits.
    Word,
    /// The same on 64 bits.
    Double,
    /// By compare-and-swap.
    Swap,
}

impl Contest {
    /// Returns how threads contest in an instruction if its memory is shared.
    pub(super) fn of(op: &Op) -> Option<Self> {
        use ScalarType::{Bf16, Bf16x2, F16, F16x2, F32, F64};
        let Op::Memory(Memory::Atomic(Atomic { update, scalar, .. })) = op else { return None };
        match (update, scalar) {
            (Update::CompareAndSwap, _) => Some(Self::Swap),
            (Update::Exchange, _) => None,
            (_, F64) => Some(Self::Double),
            (_, F16 | F16x2 | Bf16 | Bf16x2 | F32) => Some(Self::Word),
            (_, scalar) => (scalar.size() == Some(8)).then_some(Self::Double),
        }
    }

    /// Returns the contests of a program, by site and ascending.
    pub(super) fn all(sites: &[SiteInfo]) -> Vec<(u32, Self)> {
        (0..).zip(sites).filter_map(|(number, site)| Some((number, Self::of(&site.op)?))).collect()
    }
}

/// Operations by kind, each on its busiest word, summed over blocks; and wavefronts of loops.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Contested {
    busiest: [u64; 3],
    wavefronts: u64,
}

impl Contested {
    pub(super) fn looped(&self) -> LoopedAtomics {
        let [operations, wide_operations, _] = self.busiest;
        LoopedAtomics { wavefronts: self.wavefronts, operations, wide_operations }
    }

    pub(super) fn swaps(&self) -> u64 {
        self.busiest[Contest::Swap as usize]
    }
}

impl AddAssign for Contested {
    fn add_assign(&mut self, other: Self) {
        self.wavefronts += other.wavefronts;
        self.busiest = std::array::from_fn(|kind| self.busiest[kind] + other.busiest[kind]);
    }
}

/// Operations of a block on each word of its shared memory.
#[derive(Default)]
pub(super) struct Contests {
    /// By kind, for each word of four bytes.
    words: Vec<[u32; 3]>,
    /// Words with operations.
    touched: Vec<usize>,
    /// Blocks that have ended.
    pub(super) sum: Contested,
}

impl Contests {
    /// Counts a request of shared memory.
    pub(super) fn note(&mut self, contest: Contest, (addresses, active): (&Addresses, u32), wavefronts: u32) {
        if contest != Contest::Swap {
            self.sum.wavefronts += u64::from(wavefronts);
        }
        for (lane, address) in addresses.iter().enumerate() {
            if active >> lane & 1 == 0 {
                continue;
            }
            let word = (address / 4) as usize;
            if word >= self.words.len() {
                self.words.resize((word + 1).next_power_of_two(), [0; 3]);
            }
            let operations = &mut self.words[word];
            if *operations == [0; 3] {
                self.touched.push(word);
            }
            operations[contest as usize] += 1;
        }
    }

    pub(super) fn end_block(&mut self) {
        let mut busiest = [0; 3];
        for word in self.touched.drain(..) {
            let operations = std::mem::take(&mut self.words[word]);
            busiest = std::array::from_fn(|kind| busiest[kind].max(operations[kind]));
        }
        self.sum += Contested { busiest: busiest.map(u64::from), wavefronts: 0 };
    }
}
