//! The product that example 10 compares with: one thread an element, in `f32`, without anything to go wrong.

use cuda_safe::names::{K, M, N};
use cuda_safe::shape::Plane;
use cuda_safe::{AlongRows, Extent, GpuFloat, Matrix, Out, Thread, kernel};

/// `C = A * B^T` for A of `m` rows of `k` and B of `n` rows of `k`, both bf16 by their bits.
#[kernel]
pub fn product_of_bf16(
    thread: Thread<Plane>,
    a: Matrix<u16, M, K>,
    b: Matrix<u16, N, K>,
    c: Out<f32, AlongRows<M, N>>,
    m: Extent<M>,
    n: Extent<N>,
    k: Extent<K>,
) {
    if let Some(mine) = thread.position(n, m) {
        let number = |bits: u16| f32::from_bits(u32::from(bits) << 16);
        let sum = a.row(mine.y()).fold_with(b.row(mine.x()), k, 0.0, |sum: f32, a, b| {
            GpuFloat::mul_add(number(a), number(b), sum)
        });
        c.put(mine, sum);
    }
}
