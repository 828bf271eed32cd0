//! Permutations of indices, computed for each index by itself.
//!
//! A permutation of `2^k` numbers is made of steps that can each be undone: a product with an odd number modulo `2^k`, and an
//! exclusive or with the upper bits shifted down by at least half of `k`. For a count that is no power of two, numbers that
//! come out too large go through it again, until one is small enough (cycle walking), which keeps it a permutation.

use pattern::wide;

/// Factors of the rounds: enough of them that neighbours are nowhere near one another.
const FACTORS: [u32; 4] = [0x7F4A_7C15, 0x1CE4_E5B9, 0x1331_11EB, 0x6659_FD93];

/// The factors that undo them.
const INVERSES: [u32; 4] =
    [inverse(FACTORS[0]), inverse(FACTORS[1]), inverse(FACTORS[2]), inverse(FACTORS[3])];

/// A random permutation of the blocks of an array of up to 2^32 elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Permutation {
    /// The binary logarithm of the elements per block, which stay together and in order.
    block: u32,
    /// The last block.
    last: u32,
    /// The binary logarithm of the next power of two of the number of blocks.
    bits: u32,
}

impl Permutation {
    /// A permutation of `elements` elements, a whole number of blocks of `block`, which is a power of two.
    pub(super) fn of_blocks(elements: u64, block: u64) -> Permutation {
        debug_assert!(block.is_power_of_two() && elements.is_multiple_of(block));
        let blocks = elements / block;
        Permutation {
            block: block.trailing_zeros(),
            last: (blocks - 1) as u32,
            bits: blocks.next_power_of_two().trailing_zeros().max(1),
        }
    }

    /// Replaces each index by that at which its element is.
    pub(super) fn to(self, indices: &mut [u32]) {
        wide(map_all, (indices, self, Permutation::mix));
    }

    /// Replaces each index by that whose element is there.
    pub(super) fn from(self, indices: &mut [u32]) {
        wide(map_all, (indices, self, Permutation::unmix));
    }

    #[inline(always)]
    fn mix(self, number: u32) -> u32 {
        FACTORS.iter().fold(number, |number, factor| self.fold(self.low(number.wrapping_mul(*factor))))
    }

    #[inline(always)]
    fn unmix(self, number: u32) -> u32 {
        let undo = |number, inverse: &u32| self.low(self.fold(number).wrapping_mul(*inverse));
        INVERSES.iter().rev().fold(number, undo)
    }

    /// Joins the upper half into the lower one. Done twice, it is undone.
    #[inline(always)]
    fn fold(self, number: u32) -> u32 {
        number ^ number >> self.bits.div_ceil(2)
    }

    #[inline(always)]
    fn low(self, number: u32) -> u32 {
        number & (u32::MAX >> (u32::BITS - self.bits))
    }
}

/// Takes the block of each index through a step until it is small enough.
#[inline(always)]
fn map_all((indices, by, step): (&mut [u32], Permutation, impl Fn(Permutation, u32) -> u32)) {
    let once = |index: u32| step(by, index >> by.block) << by.block | index & !(u32::MAX << by.block);
    // In the first round nothing depends on what comes out, so that it is arithmetic on lanes.
    indices.iter_mut().for_each(|index| *index = once(*index));
    if by.last < by.low(u32::MAX) {
        for index in indices {
            while *index >> by.block > by.last {
                *index = once(*index);
            }
        }
    }
}

/// The number whose product with an odd number is 1 modulo 2^32, by Newton's iteration, which doubles the right bits.
const fn inverse(factor: u32) -> u32 {
    let mut inverse = factor;
    let mut turn = 0;
    while turn < 4 {
        inverse = inverse.wrapping_mul(2_u32.wrapping_sub(factor.wrapping_mul(inverse)));
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
            let indices: Vec<u32> = (0..elements as u32).collect();
            let mut there = indices.clone();
            permutation.to(&mut there);
            for (&index, &to) in indices.iter().zip(&there) {
                assert!(
                    !std::mem::replace(&mut reached[to as usize], true),
                    "{elements}/{block}: {to} twice"
                );
                assert_eq!(to % block as u32, index % block as u32, "a block stays in order");
            }
            permutation.from(&mut there);
            assert_eq!(there, indices, "{elements}/{block}");
        }
    }

    #[test]
    fn neighbours_are_far_apart() {
        let mut indices: Vec<u32> = (0..1 << 20).collect();
        Permutation::of_blocks(1 << 20, 1).to(&mut indices);
        let near = indices.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 1024);
        // Of random neighbours one in 512 is.
        assert!(near.count() < (1 << 20) / 256);
    }
}
