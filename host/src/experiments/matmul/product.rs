//! The expected product, computed on the host.
//!
//! A and B hold whole numbers, so small that no sum of products leaves the 24 bits in which single precision is exact.
//! The order in which a kernel adds does not matter then, nor whether it fuses a multiplication with an addition, and
//! every element of C has one right value. In bf16, which has whole numbers up to 256, A and B are exact too, and an element
//! of C is the exact sum rounded once.
//!
//! # Sums of 14 bits
//! Tensor cores add products of FP8 in 14 bits, and cut off what lies below: a sum of random numbers is off by some 2^-13. Of
//! whole numbers nothing lies below as long as all partial sums are below 2^14. So such kernels get numbers for which
//! `largest^2 * k` is: 7 up to k = 334, 2 up to 4095, 1 up to 16383. They are verified exactly like the others.
//!
//! # Three products of TF32
//! Small whole numbers have no bits below the 11 of TF32, and would not show a kernel that left them out. So A and B hold
//! fractions of 24 bits from -1 to 1, and the host adds in double precision. An element of C may be off by
//! [`of_single`](Product::of_single): 2^-16 of the root mean square of all sums. Products in single precision stay
//! far below that (1.6e-6 or 2^-19 for cuBLAS at k = 8192), and TF32 alone, with an error of 2^-12, far above.
//!
//! # Stacks
//! A stack of matrices is one matrix after the other: A of `batch * m` rows, whose rows differ as those of one matrix do.
//!
//! # Repeated rows
//! The product of large matrices would take the host much longer than the device. So A has at most [`DISTINCT`] different
//! rows and B as many different columns, of random numbers, and a hash of its number says which one a row or column is:
//!
//! ```text
//! A[i][l] = rows[hash(i)][l]     B[l][j] = columns[hash(j)][l]     C[i][j] = (rows * columns)[hash(i)][hash(j)]
//! ```
//!
//! The host multiplies 256 rows by 256 columns, however many rows and columns C has, and still knows every element. What goes
//! wrong along K (a step left out, taken twice or from elsewhere, a swizzle undone for one operand) meets numbers without
//! structure, and changes nearly every sum of its tile. What goes wrong across C (a tile, a row or a column in the wrong
//! place, or not written) goes unseen only where the hashes agree: once in 256 for a single row, once in 2^64 for eight of
//! them. Up to 256 rows and columns all are different.

use crate::experiments::Matrices;
use std::{
    num::NonZeroUsize,
    ops::{AddAssign, Mul},
    sync::OnceLock,
    thread,
};

/// The largest number in A and B, where k allows it.
const LARGEST: u64 = 7;

/// The most rows of A, and columns of B, that differ.
const DISTINCT: usize = 256;

/// Rows of the product that are worked out together, so that a row of B serves them all.
const ROWS: usize = 8;

/// Rows of B that are gone through before the next rows of A: their part of B stays in the second-level cache.
const DEPTH: usize = 128;

/// Which matrix a number is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matrix {
    /// The left factor, `m` rows of `k`.
    A,
    /// The right factor.
    B,
    /// The initial C, `m` rows of `n`.
    C,
}

/// The order in which the elements of B lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// `k` rows of `n`.
    Rows,
    /// `n` rows of `k`: column by column.
    Columns,
}

/// How a kernel adds, which tells what A and B hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Addition {
    /// Exactly, as long as sums have at most this many bits.
    Bits(u32),
    /// With the error of single precision.
    Single,
}

impl Addition {
    /// In single precision, of whole numbers.
    pub(super) const EXACT: Addition = Addition::Bits(24);

    /// As the tensor cores add products of FP8.
    pub(super) const FAST: Addition = Addition::Bits(14);
}

/// What A and B hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbers {
    /// Whole numbers up to this magnitude.
    Whole(u64),
    /// Multiples of 2^-24 from -1 to 1.
    Fractions,
}

/// A product of matrices, or of stacks of matrices.
#[derive(Debug)]
pub(super) struct Product {
    m: usize,
    n: usize,
    k: usize,
    batch: usize,
    order: Order,
    numbers: Numbers,
    sums: OnceLock<Sums>,
}

/// The product's elements.
#[derive(Debug)]
pub(super) struct Sums {
    /// Of the different rows of A with the different columns of B.
    distinct: Vec<f32>,
    /// Where the different row begins that a row of A is, of all matrices of a stack.
    rows: Vec<usize>,
    /// The different column that a column of B is, of all matrices of a stack.
    columns: Vec<usize>,
    /// Rows and columns of one C.
    size: [usize; 2],
}

impl Sums {
    /// Hands the elements of C from `first` on to `each`, `count` of them.
    pub(super) fn from(&self, first: u64, count: usize, mut each: impl FnMut(usize, f32)) {
        let [height, width] = self.size;
        let (mut row, mut column) = (first as usize / width, first as usize % width);
        for nth in 0..count {
            let columns = &self.columns[row / height * width..];
            each(nth, self.distinct[self.rows[row] + columns[column]]);
            column += 1;
            if column == width {
                (row, column) = (row + 1, 0);
            }
        }
    }
}

impl Product {
    /// A times B, where A has `m` rows of `k` and B `n` columns of `k`, `batch` times. `None` where `k` products may add up
    /// to more than the kernel adds exactly, whatever the matrices hold but zeros.
    pub(super) fn new(
        Matrices { m, n, k }: Matrices,
        batch: u32,
        order: Order,
        addition: Addition,
    ) -> Option<Product> {
        let numbers = match addition {
            Addition::Single => Numbers::Fractions,
            Addition::Bits(bits) => {
                let fits = |&largest: &u64| largest * largest * u64::from(k) < 1 << bits;
                Numbers::Whole((1..=LARGEST).rev().find(fits)?)
            }
        };
        let [m, n, k, batch] = [m, n, k, batch].map(|size| size as usize);
        Some(Product { m, n, k, batch, order, numbers, sums: OnceLock::new() })
    }

    /// How far a sum may be off where it is not exact: 2^-16 of the root mean square of all sums, which is that of `k` products
    /// of numbers whose mean square is a third. See the module's head.
    pub(super) fn of_single(&self) -> f64 {
        (self.k as f64).sqrt() / 3.0 / 65_536.0
    }

    /// The number at `index` of the initial C, its rows one after the other.
    pub(super) fn initial(&self, index: u64) -> f32 {
        self.random(Matrix::C, index)
    }

    /// Hands the numbers of A or B from `first` on, as they lie in memory, to `each`, `count` of them.
    pub(super) fn factor(&self, matrix: Matrix, first: u64, count: usize, mut each: impl FnMut(usize, f32)) {
        let along_k = matrix == Matrix::A || self.order == Order::Columns;
        let lines = self.lines(matrix);
        let width = if along_k { self.k } else { self.n };
        let (mut row, mut column) = (first as usize / width, first as usize % width);
        for nth in 0..count {
            let (line, term) =
                if along_k { (row, column) } else { (row / self.k * self.n + column, row % self.k) };
            each(nth, self.random(matrix, (distinct(matrix, line, lines) * self.k + term) as u64));
            column += 1;
            if column == width {
                (row, column) = (row + 1, 0);
            }
        }
    }

    /// Rows of all A, or columns of all B.
    fn lines(&self, matrix: Matrix) -> usize {
        self.batch * if matrix == Matrix::A { self.m } else { self.n }
    }

    /// A number of a matrix, by its number among those of different rows or columns.
    fn random(&self, matrix: Matrix, index: u64) -> f32 {
        let mixed = mix(index ^ ((matrix as u64 + 1) << 60));
        let largest = match (matrix, self.numbers) {
            (Matrix::C, _) => 1000,
            (_, Numbers::Whole(largest)) => largest,
            (_, Numbers::Fractions) => return ((mixed >> 7) as i32 - (1 << 24)) as f32 / (1 << 24) as f32,
        };
        // The upper half of a product with 32 random bits is a random number below the other factor.
        let below = (u64::from(mixed) * (2 * largest + 1)) >> 32;
        (below as i64 - largest as i64) as f32
    }

    /// The elements of the product. The first call works them out, on all processors.
    pub(super) fn sums(&self) -> &Sums {
        self.sums.get_or_init(|| Sums {
            distinct: match self.numbers {
                Numbers::Whole(_) => self.distinct::<f32>(),
                Numbers::Fractions => self.distinct::<f64>(),
            },
            rows: (0..self.lines(Matrix::A))
                .map(|row| distinct(Matrix::A, row, self.lines(Matrix::A)) * self.width())
                .collect(),
            columns: (0..self.lines(Matrix::B))
                .map(|column| distinct(Matrix::B, column, self.lines(Matrix::B)))
                .collect(),
            size: [self.m, self.n],
        })
    }

    /// The different columns of B.
    fn width(&self) -> usize {
        self.lines(Matrix::B).min(DISTINCT)
    }

    /// The product of the different rows and columns, added in this type.
    ///
    /// The threads are its own: a task of a pool that is made to wait here could be what this waits for.
    fn distinct<T: Sum>(&self) -> Vec<f32> {
        let (height, width) = (self.lines(Matrix::A).min(DISTINCT), self.width());
        let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let mut sums = vec![T::default(); height * width];
        let mut b = vec![T::default(); self.k * width];
        let share = self.k.div_ceil(processors).max(1);
        thread::scope(|scope| {
            for (number, part) in b.chunks_mut(share * width).enumerate() {
                scope.spawn(move || {
                    for (row, values) in part.chunks_mut(width).enumerate() {
                        for (column, value) in values.iter_mut().enumerate() {
                            let index = column * self.k + number * share + row;
                            *value = self.random(Matrix::B, index as u64).into();
                        }
                    }
                });
            }
        });
        let share = height.div_ceil(processors).next_multiple_of(ROWS);
        thread::scope(|scope| {
            for (number, part) in sums.chunks_mut(share * width).enumerate() {
                let b = &b;
                scope.spawn(move || {
                    for (step, rows) in part.chunks_mut(ROWS * width).enumerate() {
                        self.multiply(number * share + step * ROWS, b, rows, width);
                    }
                });
            }
        });
        sums.into_iter().map(Sum::single).collect()
    }

    /// Adds up some rows of the product of different rows and columns, from `top` on.
    fn multiply<T: Sum>(&self, top: usize, b: &[T], sums: &mut [T], width: usize) {
        for first in (0..self.k).step_by(DEPTH) {
            for (row, sums) in sums.chunks_mut(width).enumerate() {
                for nth in first..(first + DEPTH).min(self.k) {
                    let factor: T = self.random(Matrix::A, ((top + row) * self.k + nth) as u64).into();
                    for (sum, &other) in sums.iter_mut().zip(&b[nth * width..][..width]) {
                        *sum += factor * other;
                    }
                }
            }
        }
    }
}

/// A type that the host adds in.
trait Sum: Copy + Default + From<f32> + Send + Sync + Mul<Output = Self> + AddAssign {
    /// The nearest number in single precision.
    fn single(self) -> f32;
}

impl Sum for f32 {
    fn single(self) -> f32 {
        self
    }
}

impl Sum for f64 {
    fn single(self) -> f32 {
        self as f32
    }
}

/// The number of the distinct row of A, or column of B, that repeats at this `line` of `lines`.
fn distinct(matrix: Matrix, line: usize, lines: usize) -> usize {
    if lines <= DISTINCT {
        return line;
    }
    mix(line as u64 ^ ((matrix as u64 + 5) << 60)) as usize % DISTINCT
}

/// Bits in which every bit of `index` has a part.
fn mix(index: u64) -> u32 {
    let mut bits = index.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (bits >> 32) as u32
}

/// An element after `launches` launches: `c = alpha * sum + beta * c` in single precision, the last
/// multiplication and the addition fused, and then `rounded` to C's type. With a `beta` of 0, `c` is not looked at and 0 is
/// added, which makes 0 of -0: so do all kernels.
pub(super) fn scaled(
    (alpha, beta): (f32, f32),
    sum: f32,
    before: f32,
    launches: u64,
    rounded: impl Fn(f32) -> f32,
) -> f32 {
    if launches == 0 {
        return before;
    }
    if beta == 0.0 {
        return rounded(alpha.mul_add(sum, 0.0));
    }
    let mut now = before;
    for _ in 0..launches {
        let next = rounded(alpha.mul_add(sum, beta * now));
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

    fn product(m: u32, n: u32, k: u32, order: Order) -> Product {
        Product::new(Matrices { m, n, k }, 1, order, Addition::EXACT).expect("a small product")
    }

    /// A matrix as it lies in memory.
    fn factor(product: &Product, matrix: Matrix, elements: usize) -> Vec<f32> {
        let mut values = vec![0.0; elements];
        product.factor(matrix, 0, elements, |nth, value| values[nth] = value);
        values
    }

    /// By the definition, in integers.
    fn defined(product: &Product, row: usize, column: usize) -> i64 {
        let Product { m, n, k, .. } = *product;
        let (a, b) = (factor(product, Matrix::A, m * k), factor(product, Matrix::B, k * n));
        let of_b = |nth: usize| match product.order {
            Order::Rows => b[nth * n + column],
            Order::Columns => b[column * k + nth],
        };
        (0..k).map(|nth| a[row * k + nth] as i64 * of_b(nth) as i64).sum()
    }

    #[test]
    fn sums_are_those_of_the_definition() {
        // One of everything, more products than are taken at a time, rows that are no multiple, repeated rows and columns.
        let sizes = [(1, 1, 1), (9, 14, 3), (3, 5, 131), (17, 2, 40), (2, 700, 2), (300, 3, 5)];
        for ((m, n, k), order) in
            sizes.into_iter().flat_map(|size| [(size, Order::Rows), (size, Order::Columns)])
        {
            let product = product(m, n, k, order);
            let mut sums = Vec::new();
            product.sums().from(0, (m * n) as usize, |_, sum| sums.push(sum));
            for index in (0..sums.len()).step_by(1 + sums.len() / 100) {
                let (row, column) = (index / n as usize, index % n as usize);
                let defined = defined(&product, row, column);
                assert_eq!(sums[index] as i64, defined, "{m} x {n} x {k} at {row}, {column}, {order:?}");
            }
        }
    }

    #[test]
    fn a_part_of_a_matrix_is_that_part_of_the_whole() {
        let product = product(300, 310, 7, Order::Columns);
        let mut sums = Vec::new();
        product.sums().from(0, 300 * 310, |_, sum| sums.push(sum));
        product.sums().from(12_345, 1000, |nth, sum| assert_eq!(sum, sums[12_345 + nth]));
        for (matrix, elements) in [(Matrix::A, 2100), (Matrix::B, 2170)] {
            let whole = factor(&product, matrix, elements);
            product.factor(matrix, 1003, 900, |nth, value| assert_eq!(value, whole[1003 + nth]));
        }
    }

    #[test]
    fn rows_differ_up_to_256_and_repeat_without_order_beyond() {
        let numbers = |lines| (0..lines).map(|line| distinct(Matrix::A, line, lines)).collect::<Vec<_>>();
        assert_eq!(numbers(256), (0..256).collect::<Vec<_>>());
        let many = numbers(4096);
        let mut counts = [0; 256];
        many.iter().for_each(|&number| counts[number] += 1);
        assert!(counts.iter().all(|&count| (1..48).contains(&count)), "{counts:?}");
        // No eight rows in a row are what any other eight are.
        let mut eights: Vec<&[usize]> = many.windows(8).collect();
        eights.sort_unstable();
        assert!(eights.windows(2).all(|pair| pair[0] != pair[1]));
        let columns: Vec<usize> = (0..4096).map(|line| distinct(Matrix::B, line, 4096)).collect();
        assert_ne!(many, columns);
    }

    #[test]
    fn numbers_are_small_and_all_of_them_occur() {
        let product = product(64, 64, 64, Order::Rows);
        for matrix in [Matrix::A, Matrix::B] {
            let mut counts = [0; 15];
            for index in 0..15_000 {
                counts[(product.random(matrix, index) + 7.0) as usize] += 1;
            }
            assert!(counts.iter().all(|count| (800..1200).contains(count)), "{matrix:?}: {counts:?}");
        }
        assert_ne!(factor(&product, Matrix::A, 64), factor(&product, Matrix::B, 64));
    }

    #[test]
    fn numbers_shrink_where_sums_would_not_be_exact() {
        let largest = |k, addition| {
            let product = Product::new(Matrices { m: 1, n: 1, k }, 1, Order::Rows, addition)?;
            match product.numbers {
                Numbers::Whole(largest) => Some(largest),
                Numbers::Fractions => None,
            }
        };
        assert_eq!(largest(342_392, Addition::EXACT), Some(7));
        assert_eq!(largest(342_393, Addition::EXACT), Some(6));
        assert_eq!(largest((1 << 24) - 1, Addition::EXACT), Some(1));
        assert_eq!(largest(1 << 24, Addition::EXACT), None);
        let fast = [334, 335, 4095, 4096, 16_383, 16_384].map(|k| largest(k, Addition::FAST));
        assert_eq!(fast, [Some(7), Some(6), Some(2), Some(1), Some(1), None]);
    }

    #[test]
    fn a_stack_is_one_matrix_after_the_other() {
        let (m, n, k, batch) = (40_usize, 30_usize, 5_usize, 9_usize);
        for order in [Order::Rows, Order::Columns] {
            let size = Matrices { m: 40, n: 30, k: 5 };
            let product = Product::new(size, 9, order, Addition::EXACT).expect("a small product");
            let (a, b) =
                (factor(&product, Matrix::A, batch * m * k), factor(&product, Matrix::B, batch * k * n));
            let mut sums = Vec::new();
            product.sums().from(0, batch * m * n, |_, sum| sums.push(sum));
            for index in (0..sums.len()).step_by(7) {
                let (matrix, row, column) = (index / (m * n), index / n % m, index % n);
                let of_b = |nth: usize| match order {
                    Order::Rows => b[(matrix * k + nth) * n + column],
                    Order::Columns => b[(matrix * n + column) * k + nth],
                };
                let defined: f32 = (0..k).map(|nth| a[(matrix * m + row) * k + nth] * of_b(nth)).sum();
                assert_eq!(sums[index], defined, "matrix {matrix} at {row}, {column}, {order:?}");
            }
        }
    }

    #[test]
    fn fractions_need_more_bits_than_tf32_has() {
        let size = Matrices { m: 64, n: 48, k: 300 };
        let product = Product::new(size, 1, Order::Columns, Addition::Single).expect("any product");
        let (a, b) = (factor(&product, Matrix::A, 64 * 300), factor(&product, Matrix::B, 48 * 300));
        assert!(a.iter().chain(&b).all(|number| (-1.0..1.0).contains(number)));
        let tf32 = |number: f32| f32::from_bits((number.to_bits() + (1 << 12)) & !0x1fff);
        let mean = a.iter().map(|number| number * number).sum::<f32>() / a.len() as f32;
        assert!((0.32..0.35).contains(&mean), "{mean}");
        let (mut single, mut short) = (0, 0);
        product.sums().from(0, 64 * 48, |index, sum| {
            let (row, column) = (&a[index / 48 * 300..][..300], &b[index % 48 * 300..][..300]);
            let far = |other: f32| f64::from((other - sum).abs()) > product.of_single();
            single += i32::from(far(row.iter().zip(column).map(|(&x, &y)| x * y).sum()));
            short += i32::from(far(row.iter().zip(column).map(|(&x, &y)| tf32(x) * tf32(y)).sum()));
        });
        // Sums in single precision are near enough, and nearly none of those of TF32 is.
        assert_eq!(single, 0);
        assert!(short > 64 * 48 * 9 / 10, "{short}");
    }

    #[test]
    fn factors_are_applied_as_often_as_there_were_launches() {
        let single = |alpha: f32, beta: f32, sum, before, launches| {
            scaled((alpha, beta), sum, before, launches, |number| number)
        };
        assert_eq!(single(1.0, 0.0, 5.0, f32::NAN, 3), 5.0);
        assert_eq!(single(2.0, 0.0, 5.0, f32::NAN, 1), 10.0);
        assert_eq!(single(1.0, 1.0, 5.0, 7.0, 3), 22.0);
        assert_eq!(single(1.0, -1.0, 5.0, 7.0, 2), 7.0);
        assert_eq!(single(0.5, 0.5, 8.0, 100.0, u64::MAX), 8.0);
        assert_eq!(single(1.0, 1.0, 0.0, 7.0, u64::MAX), 7.0);
        assert_eq!(single(1.0, 3.0, 5.0, 7.0, 0), 7.0);
        // A zero that is added makes 0 of -0.
        assert_eq!(single(-1.0, 0.0, 0.0, f32::NAN, 1).to_bits(), 0);
        // Multiplied, rounded, and only then multiplied and added in one.
        let (third, sum, before) = (1.0_f32 / 3.0, 10.0, 77.0);
        assert_eq!(single(third, third, sum, before, 1), third.mul_add(sum, third * before));
        // Rounded after each launch.
        let tens = |number: f32| (number / 10.0).trunc() * 10.0;
        assert_eq!(scaled((1.0, 1.0), 7.0, 10.0, 3, tens), 10.0);
    }
}
