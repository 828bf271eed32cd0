//! A product of matrices as libraries know it, for those that compute the same on a point's buffers.

use super::{Element, Matrices, types};
use anyhow::{Context, Result};

/// `C = A B`, or `C = A B^T`, of matrices in rows: A of m rows of k, C of m rows of n. Sums are in f32. The point's first three
/// buffers are A, B and C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gemm {
    /// The sizes.
    pub matrices: Matrices,
    /// The type of the elements of A and B.
    pub factors: Element,
    /// The type of the elements of C.
    pub result: Element,
    /// Whether B lies as n rows of k, and not as k rows of n.
    pub transposed: bool,
    /// Whether sums are left to the tensor cores, which keep 14 bits of those of FP8.
    pub fast: bool,
    /// The number of such products: their matrices follow one another.
    pub batch: u32,
}

impl Gemm {
    /// The types of the elements, as records name them.
    pub(crate) fn types(self) -> String {
        types(self.factors, self.result)
    }

    /// Bytes of all A, all B and all C.
    pub(crate) fn bytes(self) -> [u64; 3] {
        let Matrices { m, n, k } = self.matrices;
        [(m, k, self.factors), (k, n, self.factors), (m, n, self.result)].map(|(rows, columns, element)| {
            u64::from(self.batch) * u64::from(rows) * u64::from(columns) * element.bytes()
        })
    }

    /// Elements from one A, B or C to the next.
    pub(crate) fn strides(self) -> [i64; 3] {
        let Matrices { m, n, k } = self.matrices;
        [(m, k), (k, n), (m, n)].map(|(rows, columns)| i64::from(rows) * i64::from(columns))
    }

    /// M, N and K as libraries take them.
    ///
    /// # Errors
    /// One is larger than libraries take.
    pub(crate) fn sizes(self) -> Result<[i32; 3]> {
        let Matrices { m, n, k } = self.matrices;
        let size = |size: u32| {
            i32::try_from(size).with_context(|| {
                format!("--size {}: a library takes sizes up to {}", self.matrices, i32::MAX)
            })
        };
        Ok([size(m)?, size(n)?, size(k)?])
    }
}
