//! Products of matrices by tensor cores: `mma.sync` of 16 x 16 by 16 x 8 in bf16, with sums in `f32`.
//!
//! A warp holds the operands in parts, two elements of bf16 in a register; lane `l` has (`g = l / 4`, `t = l % 4`, both elements
//! of a register next to each other, the first in the low half):
//!
//! ```text
//! A, 16 rows of 16     a0: row g, columns 2t and on      a1: row g + 8      a2, a3: the same, 8 columns further
//! B, 16 rows of 8      b0: rows 2t and on, column g      b1: 8 rows further
//! C and D, 16 of 8     c0, c1: row g, columns 2t and on  c2, c3: row g + 8
//! ```
//!
//! # Rounding
//! The manual leaves the order of the additions and their rounding open ("at least single precision"), and GPUs differ: they
//! align the products to the largest one and cut off what lies below. Here the 16 products, each exact in double precision,
//! and the sum before are added in double precision and rounded once, to nearest even. So results are equal to a GPU's
//! wherever its sums are exact, as those of whole numbers below 2^24 are, and may differ in the last bits elsewhere. NaNs are
//! the canonical one.
//!
//! Source: PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type".

use crate::decode::{Columns, DecodeError, Level};
use crate::ptx::op::matrix::Mma;
use crate::ptx::{Instruction, Operand, ScalarType};
use crate::registers::{Cell, Slot, Width};

use super::raw::Raw;

/// The NaN of a result.
const NAN: u32 = 0x7FFF_FFFF;

/// A decoded product.
#[derive(Clone, Debug)]
pub(crate) struct MatrixProduct {
    a: [Slot; 4],
    b: [Slot; 2],
    c: [Slot; 4],
    d: [Slot; 4],
    level: Level,
}

impl MatrixProduct {
    /// Returns the columns that it writes.
    pub(crate) fn results(&self) -> impl Iterator<Item = Slot> + use<> {
        self.d.into_iter()
    }

    /// Returns the columns that it reads.
    pub(crate) fn sources(&self) -> impl Iterator<Item = Slot> + use<> {
        self.a.into_iter().chain(self.b).chain(self.c)
    }

    /// Executes it for all lanes of a warp.
    ///
    /// # Safety
    /// The frame is that of a warp in the function for which it was decoded, and no other code uses it meanwhile.
    pub(crate) unsafe fn run(&self, frame: *mut Cell) {
        let (mut a, mut b) = ([[0.0; 16]; 16], [[0.0; 8]; 16]);
        let mut sums = [[0.0; 8]; 16];
        // SAFETY: the caller's promise; decoding gave words.
        let word = |slot: Slot, lane: usize| unsafe { u32::get(u32::column(frame, slot.cell, false), lane) };
        for lane in 0..32 {
            let (group, pair) = (lane / 4, lane % 4 * 2);
            for (nth, slot) in self.a.into_iter().enumerate() {
                let (row, column) = (group + nth % 2 * 8, pair + nth / 2 * 8);
                [a[row][column], a[row][column + 1]] = halves(word(slot, lane));
            }
            for (nth, slot) in self.b.into_iter().enumerate() {
                let row = pair + nth * 8;
                [b[row][group], b[row + 1][group]] = halves(word(slot, lane));
            }
            for (nth, slot) in self.c.into_iter().enumerate() {
                sums[group + nth / 2 * 8][pair + nth % 2] = f64::from(f32::from_bits(word(slot, lane)));
            }
        }
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this level is set only where the computer supports it.
            Level::Avx2 => unsafe { add_products_avx2(&a, &b, &mut sums) },
            _ => add_products(&a, &b, &mut sums),
        }
        let mut results = [[0_u32; 32]; 4];
        for (nth, results) in results.iter_mut().enumerate() {
            for (lane, result) in results.iter_mut().enumerate() {
                let sum = sums[lane / 4 + nth / 2 * 8][lane % 4 * 2 + nth % 2] as f32;
                *result = if sum.is_nan() { NAN } else { sum.to_bits() };
            }
        }
        for (slot, column) in self.d.into_iter().zip(&results) {
            // SAFETY: as above.
            unsafe { u32::store(column, frame, slot.cell, u32::MAX, false) };
        }
    }
}

/// Adds the products of a row and a column to each sum, one after another. Each is a call of a function unless the compiler may use FMA.
#[inline(always)]
fn add_products(a: &[[f64; 16]; 16], b: &[[f64; 8]; 16], sums: &mut [[f64; 8]; 16]) {
    for (row, sums) in a.iter().zip(sums) {
        for (x, of_b) in row.iter().zip(b) {
            for (sum, y) in sums.iter_mut().zip(of_b) {
                *sum = x.mul_add(*y, *sum);
            }
        }
    }
}

/// Does the same in vectors.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn add_products_avx2(a: &[[f64; 16]; 16], b: &[[f64; 8]; 16], sums: &mut [[f64; 8]; 16]) {
    add_products(a, b, sums);
}

/// The two bf16 of a register, the low one first.
fn halves(word: u32) -> [f64; 2] {
    [word << 16, word & 0xFFFF_0000].map(|bits| f64::from(f32::from_bits(bits)))
}

/// Decodes a product of matrices.
///
/// # Errors
/// It is one of other types or sizes, or has other operands.
pub(super) fn decode(
    instruction: &Instruction,
    op: &Mma,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<MatrixProduct, DecodeError> {
    use ScalarType::{B32, Bf16, F32};
    let Mma { rows, columns: width, depth, result, a, b, sums } = *op;
    if (rows, width, depth) != (16, 8, 16) || [result, a, b, sums] != [F32, Bf16, Bf16, F32] {
        return Err(DecodeError::unsupported(instruction));
    }
    let wrong = |what: &str| DecodeError::operands(instruction, what);
    let [d, a, b, c] = instruction.operands.as_slice() else { return Err(wrong("expected four lists")) };
    let word = |slot: Slot| match slot.width {
        Width::Word => Ok(slot),
        _ => Err(wrong("an element that is no 32-bit register")),
    };
    let mut read = |list: &Operand, scalar: ScalarType| -> Result<Vec<Slot>, DecodeError> {
        let Operand::Vector(list) = list else { return Err(wrong("expected registers in braces")) };
        list.iter().map(|element| word(columns.source(element, scalar)?)).collect()
    };
    let (a, b, c) = (read(a, B32)?, read(b, B32)?, read(c, F32)?);
    let Operand::Vector(d) = d else { return Err(wrong("expected registers in braces")) };
    let result = |element| word(columns.result(element, F32)?);
    let d = d.iter().map(result).collect::<Result<Vec<Slot>, DecodeError>>()?;
    match (a.try_into(), b.try_into(), c.try_into(), d.try_into()) {
        (Ok(a), Ok(b), Ok(c), Ok(d)) => Ok(MatrixProduct { a, b, c, d, level }),
        _ => Err(wrong("expected lists of 4, 4, 2 and 4 registers")),
    }
}
