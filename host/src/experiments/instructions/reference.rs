//! What chains of instructions give: each class written down a second time, for a processor.

use super::{Loops, WARP};
use crate::{
    experiments::{Buffer, Contents, Place},
    verify::{Expected, Tolerance},
};
use cust::memory::bytemuck::Pod;
use gpu_kernels::unchecked::instructions::Operands;
use std::{
    fmt,
    sync::{Arc, OnceLock},
};

/// Lanes of a warp.
const LANES: usize = WARP as usize;

/// A class of instructions on values `V`, and what its chains begin with.
#[derive(Clone, Copy)]
pub(super) struct Reference<V: 'static> {
    /// The operands that a launch passes.
    pub a: V,
    pub b: V,
    /// The seed of a lane's chain: the same in all warps.
    pub seed: fn(lane: u32, chain: u32) -> V,
    pub step: Step<V>,
    pub accuracy: Accuracy,
}

/// A step of a chain.
#[derive(Clone, Copy)]
pub(super) enum Step<V: 'static> {
    /// Of each lane by itself.
    Lane(fn(Operands<V>) -> V),
    /// Of a warp, from the last results of its lanes.
    Warp(fn(&[V; LANES]) -> [V; LANES]),
}

/// How far a result may be from the reference.
#[derive(Clone, Copy)]
pub(super) enum Accuracy {
    /// Not at all.
    Exact,
    /// As far as this, as a number in single precision.
    Near(Tolerance),
}

/// A value in a register.
pub(super) trait Value: Pod + fmt::Debug + PartialEq + Send + Sync {
    /// The number in single precision with these bits.
    fn single(self) -> f32;
}

impl Value for u32 {
    fn single(self) -> f32 {
        f32::from_bits(self)
    }
}

impl Value for u64 {
    fn single(self) -> f32 {
        f64::from_bits(self) as f32
    }
}

impl<V: Value> Reference<V> {
    /// The seeds and the results of threads with so many chains, which take `per_round` steps together per round.
    pub(super) fn buffers(self, threads: u64, chains: usize, per_round: u32, loops: Loops) -> [Buffer; 2] {
        let period = (LANES * chains) as u64;
        let seed = move |number: u64| {
            let number = (number % period) as u32;
            (self.seed)(number / chains as u32, number % chains as u32)
        };
        let bytes = threads * (chains * size_of::<V>()) as u64;
        let still = Expected::exactly(move |first, _, seeds: &mut [V]| {
            for (number, value) in (first..).zip(seeds) {
                *value = seed(number);
            }
        });
        let seeds = Buffer { bytes, place: Place::Device, before: Contents::of(seed), after: still };
        let steps = u64::from(loops.all()) * u64::from(per_round) / chains as u64;
        // All warps end with the same, which is computed when it is first needed.
        let results = Arc::new(OnceLock::new());
        let result = move |number: u64| {
            let all = results.get_or_init(|| self.results(chains, steps));
            all[(number % period) as usize]
        };
        let after = match self.accuracy {
            Accuracy::Exact => Expected::exactly(move |first, _, values: &mut [V]| {
                for (number, value) in (first..).zip(values) {
                    *value = result(number);
                }
            }),
            Accuracy::Near(tolerance) => Expected::within(tolerance, move |first, _, values: &mut [f32]| {
                for (number, value) in (first..).zip(values) {
                    *value = result(number).single();
                }
            }),
        };
        [seeds, Buffer { bytes, place: Place::Device, before: Contents::Poison, after }]
    }

    /// What the chains of a warp end with, lane by lane.
    fn results(self, chains: usize, steps: u64) -> Vec<V> {
        let mut results = vec![V::zeroed(); LANES * chains];
        for chain in 0..chains {
            let mut last: [V; LANES] = std::array::from_fn(|lane| (self.seed)(lane as u32, chain as u32));
            let (mut before, mut a, mut b) = ([self.b; LANES], self.a, self.b);
            for _ in 0..steps {
                let next = match self.step {
                    Step::Lane(step) => std::array::from_fn(|lane| {
                        step(Operands { before: before[lane], last: last[lane], a, b })
                    }),
                    Step::Warp(step) => step(&last),
                };
                (before, last) = (last, next);
                (a, b) = (b, a);
            }
            for (lane, result) in last.into_iter().enumerate() {
                results[lane * chains + chain] = result;
            }
        }
        results
    }
}

/// A number in half precision, for those that are 0 or at least 2^-14 and have no more than ten bits behind the first.
fn half(number: f32) -> u32 {
    let bits = number.to_bits();
    let sign = bits >> 16 & 0x8000;
    if number == 0.0 { sign } else { sign | ((bits & 0x7fff_ffff) - (112 << 23)) >> 13 }
}

/// The same number in single precision.
fn from_half(half: u32) -> f32 {
    let (sign, rest) = ((half & 0x8000) << 16, half & 0x7fff);
    f32::from_bits(if rest == 0 { sign } else { sign | ((rest << 13) + (112 << 23)) })
}

/// Applies a function to both halves of registers.
pub(super) fn by_halves(of: Operands<u32>, function: fn(f32, f32, f32) -> f32) -> u32 {
    let each = |shift: u32| {
        let [last, a, b] = [of.last, of.a, of.b].map(|word| from_half(word >> shift & 0xffff));
        half(function(last, a, b)) << shift
    };
    each(0) | each(16)
}

/// Two numbers in half precision, as a register has them.
pub(super) fn halves(low: f32, high: f32) -> u32 {
    half(low) | half(high) << 16
}

/// The sum of the products of four signed bytes each, and of `b`.
pub(super) fn dot(of: Operands<u32>) -> u32 {
    let products = of.last.to_le_bytes().into_iter().zip(of.a.to_le_bytes());
    let products = products.map(|(one, other)| i32::from(one as i8) * i32::from(other as i8));
    products.fold(of.b as i32, i32::wrapping_add) as u32
}

/// Bits of `last`, from the one that `a` names on, as many as `b` says: in bytes of both, and none beyond bit 31.
pub(super) fn field(of: Operands<u32>) -> u32 {
    let (first, count) = (of.a & 0xff, of.b & 0xff);
    let bits = u64::from(of.last).checked_shr(first).unwrap_or(0);
    (bits & ((1_u64 << count.min(32)) - 1)) as u32
}

/// The mask of the lanes with the same value, for each lane.
pub(super) fn matches(last: &[u32; LANES]) -> [u32; LANES] {
    last.map(|value| (0..).zip(last).map(|(lane, other)| u32::from(*other == value) << lane).sum())
}

/// 32 votes on whether any lane's predicate is false, and whether the last one denies it.
pub(super) fn votes(last: &[u32; LANES]) -> [u32; LANES] {
    let mut predicates = last.map(|value| value != 0);
    for _ in 0..32 {
        predicates = [predicates.iter().any(|predicate| !predicate); LANES];
    }
    predicates.map(|predicate| u32::from(!predicate))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operands<V>(before: V, last: V, a: V, b: V) -> Operands<V> {
        Operands { before, last, a, b }
    }

    #[test]
    fn halves_are_those_of_ieee_754() {
        assert_eq!(
            [1.0, -2.0, 0.5, -0.0, 1.5, 65504.0].map(half),
            [0x3c00, 0xc000, 0x3800, 0x8000, 0x3e00, 0x7bff]
        );
        assert_eq!([0x3c00, 0xc000, 0x0000, 0x3555].map(from_half), [1.0, -2.0, 0.0, 0.333_251_95]);
        let of = operands(0, halves(0.25, -1.5), halves(-1.0, -1.0), halves(1.0, 1.0));
        assert_eq!(by_halves(of, f32::mul_add), halves(0.75, 2.5));
    }

    #[test]
    fn dots_fields_and_matches_are_those_of_the_manual() {
        // 1 * 2 - 1 * 3 + 127 * -128 + 0 + 5.
        assert_eq!(dot(operands(0, 0x007f_ff01, 0x7f80_0302, 5)) as i32, 2 - 3 - 16256 + 5);
        assert_eq!(field(operands(0, 0xdead_beef, 8, 12)), 0xdbe);
        assert_eq!(
            [field(operands(0, u32::MAX, 40, 4)), field(operands(0, u32::MAX, 4, 40))],
            [0, 0x0fff_ffff]
        );
        let mut lanes = [7; LANES];
        lanes[3] = 9;
        let masks = matches(&lanes);
        assert_eq!([masks[3], masks[4]], [8, !8]);
        assert_eq!([votes(&[1; LANES])[0], votes(&[0; LANES])[0], votes(&lanes)[31]], [0, 1, 0]);
    }

    #[test]
    fn a_chain_takes_its_steps_with_operands_in_turn() {
        let step = Step::Lane(|of: Operands<u32>| of.last * of.a + of.b);
        let seed = |lane, chain| lane + 10 * chain;
        let reference = Reference { a: 2, b: 3, seed, step, accuracy: Accuracy::Exact };
        // 1 -> 2 + 3 = 5 -> 15 + 2 = 17, and 11 -> 25 -> 77.
        assert_eq!(reference.results(2, 2)[2..4], [17, 77]);
        let step = Step::Lane(|of: Operands<u32>| of.before + of.last);
        let fibonacci = Reference { step, ..reference };
        // 3, 1, 4, 5, 9.
        assert_eq!(fibonacci.results(1, 3)[1], 9);
    }
}
