//! A random cycle through the slots of an array, as the kernels follow it, and what they must leave behind.

use super::Contents;
use crate::verify::Expected;
use cust::memory::bytemuck;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// One cycle through all slots, in random order.
pub(super) struct Chain {
    /// Bytes from slot to slot.
    step: u64,
    /// The slots in the order in which they are visited, from the first.
    order: Vec<u32>,
    /// The slot after each.
    next: Vec<u32>,
}

impl Chain {
    /// A cycle through `slots` slots, `step` bytes apart. It begins at the first.
    pub(super) fn new(slots: u32, step: u64) -> Chain {
        let mut order: Vec<u32> = (0..slots).collect();
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        // Fisher and Yates, with the first slot left where it is; xorshift64* by Marsaglia and Vigna.
        for place in (2..order.len()).rev() {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            let random = state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
            order.swap(place, 1 + ((random * place as u64) >> 32) as usize);
        }
        let mut next = vec![0; order.len()];
        for (place, slot) in order.iter().enumerate() {
            next[*slot as usize] = order[(place + 1) % order.len()];
        }
        Chain { step, order, next }
    }

    /// The byte of the slot that is visited after this many loads.
    fn byte_after(&self, loads: u64) -> u64 {
        u64::from(self.order[(loads % self.order.len() as u64) as usize]) * self.step
    }

    /// The byte of the next slot, for each slot.
    pub(super) fn next_words(&self) -> Vec<u32> {
        self.next.iter().map(|slot| slot * self.step as u32).collect()
    }

    /// Slots one after another that hold the byte of the next.
    pub(super) fn words(self: &Arc<Self>) -> Contents {
        let chain = Arc::clone(self);
        Contents::of(move |index| chain.next[index as usize] * chain.step as u32)
    }

    /// The same after all launches.
    pub(super) fn still_words(self: &Arc<Self>) -> Expected {
        let chain = Arc::clone(self);
        Expected::exactly(move |first, _, words: &mut [u32]| {
            for (word, slot) in words.iter_mut().zip(&chain.next[first as usize..]) {
                *word = slot * chain.step as u32;
            }
        })
    }

    /// The state after launches of `loads` loads each: the right slot, and some number of cycles.
    pub(super) fn position_after(self: &Arc<Self>, loads: u64) -> Expected {
        let chain = Arc::clone(self);
        let position = Expected::exactly(move |_, launches, words: &mut [u64]| {
            words[0] = chain.byte_after(launches * loads);
        });
        let counted = timed_words();
        Expected::Computed(Box::new(move |_, launches, bytes| {
            let at = position.check(0, launches, &bytes[..8]);
            // A clock that did not run, or no store: nothing that a sum of cycles is.
            at.or_else(|| {
                counted.check(1, launches, bytemuck::cast_slice(&[u32::from(is_count(&bytes[8..]))]))
            })
        }))
    }
}

/// Whether bytes of a counter were written and counted something.
fn is_count(bytes: &[u8]) -> bool {
    bytes.iter().any(|byte| *byte != 0) && bytes.iter().any(|byte| *byte != u8::MAX)
}

fn timed_words() -> Expected {
    Expected::exactly(|_, _, words: &mut [u32]| words.fill(1))
}

/// Clock cycles, one count per word: each is some count.
pub(in crate::experiments) fn timed() -> Expected {
    let counted = timed_words();
    Expected::Computed(Box::new(move |start, launches, bytes| {
        let counts: Vec<u32> = bytes.chunks(4).map(|word| u32::from(is_count(word))).collect();
        counted.check(start / 4, launches, bytemuck::cast_slice(&counts))
    }))
}

/// A chain of addresses, whose array's place is known once it is filled.
pub(super) struct Placed {
    chain: Arc<Chain>,
    address: Arc<AtomicU64>,
}

impl Placed {
    /// A chain that is not yet in memory.
    pub(super) fn new(chain: &Arc<Chain>) -> Placed {
        Placed { chain: Arc::clone(chain), address: Arc::default() }
    }

    /// Slots that hold the address of the next, and zeros between them.
    pub(super) fn addresses(&self) -> Contents {
        let (chain, place) = (Arc::clone(&self.chain), Arc::clone(&self.address));
        Contents::Addressed(Box::new(move |address, start, bytes| {
            place.store(address, Ordering::Relaxed);
            link(&chain, address, start, bytemuck::cast_slice_mut(bytes));
        }))
    }

    /// The same after all launches.
    pub(super) fn still(&self) -> Expected {
        let (chain, place) = (Arc::clone(&self.chain), Arc::clone(&self.address));
        Expected::exactly(move |first, _, words: &mut [u64]| {
            link(&chain, place.load(Ordering::Relaxed), 8 * first, words);
        })
    }

    /// The addresses that the last launch found, `loads` of them.
    pub(super) fn visited(&self, loads: u64) -> Expected {
        let (chain, place) = (Arc::clone(&self.chain), Arc::clone(&self.address));
        Expected::exactly(move |first, launches, words: &mut [u64]| {
            let address = place.load(Ordering::Relaxed);
            for (index, word) in (first + 1..).zip(words) {
                *word = address + chain.byte_after((launches - 1) * loads + index);
            }
        })
    }
}

/// Writes the words of the array from the byte `start` on.
fn link(chain: &Chain, address: u64, start: u64, words: &mut [u64]) {
    words.fill(0);
    let first = start.div_ceil(chain.step);
    for (slot, next) in (first..).zip(chain.next.iter().skip(first as usize)) {
        let word = (slot * chain.step - start) / 8;
        match words.get_mut(word as usize) {
            Some(word) => *word = address + u64::from(*next) * chain.step,
            None => break,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_visits_each_slot_once() {
        for slots in [2, 3, 64, 1000] {
            let chain = Chain::new(slots, 128);
            let mut seen = vec![false; slots as usize];
            let mut at = 0;
            for load in 0..u64::from(slots) {
                assert_eq!(chain.byte_after(load), u64::from(at) * 128);
                assert!(!std::mem::replace(&mut seen[at as usize], true), "slot {at} of {slots} comes again");
                at = chain.next[at as usize];
            }
            assert_eq!(at, 0);
        }
        // No pattern that a prefetcher would find: few neighbours follow each other.
        let chain = Chain::new(1000, 128);
        let near = (0..1000).filter(|slot: &i64| (i64::from(chain.next[*slot as usize]) - slot).abs() <= 2);
        assert!(near.count() < 20);
    }

    #[test]
    fn a_wrong_end_and_a_clock_that_stands_are_found() {
        let chain = Arc::new(Chain::new(64, 128));
        let expected = chain.position_after(100);
        let state =
            |byte: u64, cycles: u64| expected.check(0, 3, bytemuck::cast_slice(&[byte, cycles])).is_none();
        assert!(state(chain.byte_after(300), 70_000));
        assert!(!state(chain.byte_after(299), 70_000));
        assert!(!state(chain.byte_after(300), 0) && !state(chain.byte_after(300), u64::MAX));
    }

    #[test]
    fn addresses_are_those_of_the_array() {
        let chain = Arc::new(Chain::new(8, 128));
        let placed = Placed::new(&chain);
        let mut words = vec![1_u64; 128];
        let Contents::Addressed(fill) = placed.addresses() else { panic!("addresses") };
        for (nth, half) in words.chunks_mut(64).enumerate() {
            fill(0x1000, nth as u64 * 512, bytemuck::cast_slice_mut(half));
        }
        assert_eq!(words[16 * 3], 0x1000 + u64::from(chain.next[3]) * 128);
        assert_eq!(words.iter().filter(|word| **word != 0).count(), 8);
        assert_eq!(placed.still().check(0, 1, bytemuck::cast_slice(&words)), None);
        let visited: Vec<u64> = (1..=4).map(|load| 0x1000 + chain.byte_after(4 + load)).collect();
        assert_eq!(placed.visited(4).check(0, 2, bytemuck::cast_slice(&visited)), None);
        assert!(placed.visited(4).check(0, 1, bytemuck::cast_slice(&visited)).is_some());
    }
}
