//! Permutations of indices, computed for each index by itself.
//!
//! A permutation of `2^k` numbers is made of steps that can each be undone: a product with an odd number modulo `2^k`, and an
//! exclusive or with the upper bits shifted down by at least half of `k`. For a count that is no power of two, numbers that
//! come out too large go through it again, until one is small enough (cycle walking), which keeps it a permutation.

/// Rounds of the steps: enough that neighbours are nowhere near one another.
const FACTORS: [u64; 4] =
    [0x9E37_79B9_7F4A_7C15, 0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB, 0xD6E8_FEB8_6659_FD93];

/// A random permutation of the blocks of an array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Permutation {
    /// Elements per block, which stay together and in order.
    block: u64,
    /// Blocks.
    blocks: u64,
    /// The binary logarithm of the next power of two.
    bits: u32,
}

impl Permutation {
    /// A permutation of `elements` elements, a whole number of blocks.
    pub(super) fn of_blocks(elements: u64, block: u64) -> Permutation {
        let blocks = elements / block;
        Permutation { block, blocks, bits: blocks.next_power_of_two().trailing_zeros().max(1) }
    }

    /// The index at which the element is.
    pub(super) fn to(self, index: u64) -> u64 {
        self.walk(index, Permutation::mix)
    }

    /// The index that leads to this one.
    pub(super) fn from(self, index: u64) -> u64 {
        self.walk(index, Permutation::unmix)
    }

    fn walk(self, index: u64, step: fn(Permutation, u64) -> u64) -> u64 {
        let mut block = step(self, index / self.block);
        while block >= self.blocks {
            block = step(self, block);
        }
        block * self.block + index % self.block
    }

    fn mix(self, number: u64) -> u64 {
        FACTORS.iter().fold(number, |number, factor| self.fold(self.low(number.wrapping_mul(*factor))))
    }

    fn unmix(self, number: u64) -> u64 {
        let undo = |number, factor: &u64| self.low(self.fold(number).wrapping_mul(inverse(*factor)));
        FACTORS.iter().rev().fold(number, undo)
    }

    /// Joins the upper half into the lower one. Done twice, it is undone.
    fn fold(self, number: u64) -> u64 {
        number ^ number >> self.bits.div_ceil(2)
    }

    fn low(self, number: u64) -> u64 {
        number & (u64::MAX >> (64 - self.bits))
    }
}

/// The number whose product with an odd number is 1 modulo 2^64, by Newton's iteration, which doubles the right bits.
const fn inverse(factor: u64) -> u64 {
    let mut inverse = factor;
    let mut turn = 0;
    while turn < 5 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(factor.wrapping_mul(inverse)));
        turn += 1;
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_is_reached_once_and_leads_back() {
        for (elements, block) in [(1, 1), (2, 1), (1024, 1), (1000, 1), (4096, 8), (5 * 1024, 1024), (96, 32)]
        {
            let permutation = Permutation::of_blocks(elements, block);
            let mut reached = vec![false; elements as usize];
            for index in 0..elements {
                let to = permutation.to(index);
                assert!(
                    !std::mem::replace(&mut reached[to as usize], true),
                    "{elements}/{block}: {to} twice"
                );
                assert_eq!(permutation.from(to), index, "{elements}/{block}");
                assert_eq!(to % block, index % block, "a block stays in order");
            }
        }
    }

    #[test]
    fn neighbours_are_far_apart() {
        let permutation = Permutation::of_blocks(1 << 20, 1);
        let near = (0..(1 << 20) - 1).filter(|&i| permutation.to(i).abs_diff(permutation.to(i + 1)) < 1024);
        // Of random neighbours one in 512 is.
        assert!(near.count() < (1 << 20) / 256);
    }
}
