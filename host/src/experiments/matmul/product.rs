//! The expected product, computed on the host in whole numbers.
//!
//! A and B hold whole numbers, so small that no sum of products leaves the 24 bits in which single precision is exact.
//! The order in which a kernel adds does not matter then, nor whether it fuses a multiplication with an addition, and
//! every element of C has one right value.

use std::{num::NonZeroUsize, sync::OnceLock, thread};

/// The whole numbers up to which single precision has them all.
const EXACT: u64 = 1 << 24;

/// The most products in a sum that can be exact.
pub(super) const LONGEST: u64 = EXACT - 1;

/// The largest number in A and B, where k allows it.
const LARGEST: u64 = 7;

/// Rows of C that are worked out together, so that a row of B serves them all.
const ROWS: usize = 8;

/// Columns of C that are worked out together: their sums stay in the first-level cache.
const COLUMNS: usize = 512;

/// Rows of B that are gone through before the next columns: their part of B stays in the second-level cache.
const DEPTH: usize = 128;

/// Which matrix a number is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matrix {
    /// The left factor, `m` rows of `k`.
    A,
    /// The right factor, `k` rows of `n`.
    B,
    /// The initial C, `m` rows of `n`.
    C,
}

/// A product of matrices in rows, one after the other.
#[derive(Debug)]
pub(super) struct Product {
    m: usize,
    n: usize,
    k: usize,
    largest: u64,
    sums: OnceLock<Vec<f32>>,
}

impl Product {
    /// A times B, where A has `m` rows of `k` and B `k` rows of `n`. `None` where `k` products may add up to more
    /// than single precision has exactly, whatever the matrices hold but zeros.
    pub(super) fn new(m: u32, n: u32, k: u32) -> Option<Product> {
        let fits = |&largest: &u64| largest * largest * u64::from(k) < EXACT;
        let largest = (1..=LARGEST).rev().find(fits)?;
        Some(Product { m: m as usize, n: n as usize, k: k as usize, largest, sums: OnceLock::new() })
    }

    /// The number at `index` of a matrix, its rows one after the other.
    pub(super) fn number(&self, matrix: Matrix, index: u64) -> f32 {
        let largest = match matrix {
            Matrix::A | Matrix::B => self.largest,
            Matrix::C => 1000,
        };
        let mixed = mix(index ^ ((matrix as u64 + 1) << 60));
        // The upper half of a product with 32 random bits is a random number below the other factor.
        let below = (u64::from(mixed) * (2 * largest + 1)) >> 32;
        (below as i64 - largest as i64) as f32
    }

    /// Writes the numbers of a matrix from `first` on.
    pub(super) fn fill(&self, matrix: Matrix, first: u64, values: &mut [f32]) {
        for (offset, value) in values.iter_mut().enumerate() {
            *value = self.number(matrix, first + offset as u64);
        }
    }

    /// The elements of the product. The first call works them out, on all processors.
    ///
    /// The threads are its own: a task of a pool that is made to wait here could be what this waits for.
    pub(super) fn sums(&self) -> &[f32] {
        self.sums.get_or_init(|| {
            let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
            let mut sums = vec![0.0; self.m * self.n];
            let mut b = vec![0.0; self.k * self.n];
            let share = b.len().div_ceil(processors).max(1);
            thread::scope(|scope| {
                for (number, part) in b.chunks_mut(share).enumerate() {
                    scope.spawn(move || self.fill(Matrix::B, (number * share) as u64, part));
                }
            });
            let share = self.m.div_ceil(processors).next_multiple_of(ROWS);
            thread::scope(|scope| {
                for (number, part) in sums.chunks_mut(share * self.n).enumerate() {
                    let b = &b;
                    scope.spawn(move || {
                        for (step, rows) in part.chunks_mut(ROWS * self.n).enumerate() {
                            self.multiply(number * share + step * ROWS, b, rows);
                        }
                    });
                }
            });
            sums
        })
    }

    /// Adds up some rows of the product, from `top` on.
    fn multiply(&self, top: usize, b: &[f32], sums: &mut [f32]) {
        let (n, k) = (self.n, self.k);
        let height = sums.len() / n;
        let mut a = vec![0.0; height * k];
        self.fill(Matrix::A, (top * k) as u64, &mut a);
        for left in (0..n).step_by(COLUMNS) {
            let right = (left + COLUMNS).min(n);
            for first in (0..k).step_by(DEPTH) {
                for row in 0..height {
                    let sums = &mut sums[row * n + left..row * n + right];
                    for nth in first..(first + DEPTH).min(k) {
                        let factor = a[row * k + nth];
                        let row_of_b = &b[nth * n + left..nth * n + right];
                        for (sum, other) in sums.iter_mut().zip(row_of_b) {
                            *sum += factor * other;
                        }
                    }
                }
            }
        }
    }
}

/// Bits in which every bit of `index` has a part.
fn mix(index: u64) -> u32 {
    let mut bits = index.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (bits >> 32) as u32
}

/// An element after `launches` launches: `c = alpha * sum + beta * c` in single precision, the last
/// multiplication and the addition fused. With a `beta` of 0, `c` is not looked at.
pub(super) fn scaled(alpha: f32, beta: f32, sum: f32, before: f32, launches: u64) -> f32 {
    if launches == 0 {
        return before;
    }
    if beta == 0.0 {
        return alpha.mul_add(sum, 0.0);
    }
    let mut now = before;
    for _ in 0..launches {
        let next = alpha.mul_add(sum, beta * now);
        // It stays there.
        if next.to_bits() == now.to_bits() {
            break;
        }
        now = next;
    }
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the definition, in integers.
    fn defined(product: &Product, row: usize, column: usize) -> i64 {
        let number = |matrix, index: usize| product.number(matrix, index as u64) as i64;
        (0..product.k)
            .map(|nth| number(Matrix::A, row * product.k + nth) * number(Matrix::B, nth * product.n + column))
            .sum()
    }

    #[test]
    fn sums_are_those_of_the_definition() {
        // One of everything, more columns than are taken at a time, more products, rows that are no multiple.
        for (m, n, k) in [(1, 1, 1), (9, 514, 3), (3, 5, 131), (17, 2, 40), (1, 700, 2)] {
            let product = Product::new(m, n, k).expect("a small product");
            let sums = product.sums();
            assert_eq!(sums.len(), (m * n) as usize);
            for (index, sum) in sums.iter().enumerate() {
                let (row, column) = (index / n as usize, index % n as usize);
                assert_eq!(*sum as i64, defined(&product, row, column), "{m} x {n} x {k} at {row}, {column}");
            }
        }
    }

    #[test]
    fn numbers_are_small_and_all_of_them_occur() {
        let product = Product::new(64, 64, 64).expect("a small product");
        for matrix in [Matrix::A, Matrix::B] {
            let mut counts = [0; 15];
            for index in 0..15_000 {
                counts[(product.number(matrix, index) + 7.0) as usize] += 1;
            }
            assert!(counts.iter().all(|count| (800..1200).contains(count)), "{matrix:?}: {counts:?}");
        }
        let a: Vec<f32> = (0..64).map(|index| product.number(Matrix::A, index)).collect();
        let b: Vec<f32> = (0..64).map(|index| product.number(Matrix::B, index)).collect();
        assert_ne!(a, b);
    }

    #[test]
    fn numbers_shrink_where_sums_would_not_be_exact() {
        let largest = |k| Product::new(1, 1, k).map(|product| product.largest);
        assert_eq!(largest(342_392), Some(7));
        assert_eq!(largest(342_393), Some(6));
        assert_eq!(largest((1 << 24) - 1), Some(1));
        assert_eq!(largest(1 << 24), None);
    }

    #[test]
    fn factors_are_applied_as_often_as_there_were_launches() {
        assert_eq!(scaled(1.0, 0.0, 5.0, f32::NAN, 3), 5.0);
        assert_eq!(scaled(2.0, 0.0, 5.0, f32::NAN, 1), 10.0);
        assert_eq!(scaled(1.0, 1.0, 5.0, 7.0, 3), 22.0);
        assert_eq!(scaled(1.0, -1.0, 5.0, 7.0, 2), 7.0);
        assert_eq!(scaled(0.5, 0.5, 8.0, 100.0, u64::MAX), 8.0);
        assert_eq!(scaled(1.0, 1.0, 0.0, 7.0, u64::MAX), 7.0);
        assert_eq!(scaled(1.0, 3.0, 5.0, 7.0, 0), 7.0);
        // Multiplied, rounded, and only then multiplied and added in one.
        let (third, sum, before) = (1.0_f32 / 3.0, 10.0, 77.0);
        assert_eq!(scaled(third, third, sum, before, 1), third.mul_add(sum, third * before));
    }
}
