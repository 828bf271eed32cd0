//! # Transpose: one side of the work is always strided
//!
//! A transpose reads every element once and writes it once, as a copy does. But neighbours in a row of the source are a whole
//! row apart in the destination. If the lanes of a warp read neighbours, each writes to another row: 32 sectors per request
//! instead of 4, with an eighth of each used.
//!
//! The matrix has `ny` rows of `nx` elements, its transpose `nx` rows of `ny`. In the kernels named `row` the lanes run
//! along the source's rows; in those named `col` they run down its columns:
//!
//! - `copy_row`, `copy_col`: copies in either order, without a transpose. They are the upper and the lower bound.
//! - `naive_row` loads along rows and stores down columns; `naive_col` loads down columns and stores along rows. `naive_col`
//!   is the faster one. A load that uses an eighth of a sector leaves the rest in L1, where the neighbouring warps of the
//!   block find it. Stores bypass L1, and each part of a sector is a transaction of its own.
//! - `unroll4_row`, `unroll4_col`: four elements per thread. `unroll4_col` issues all four loads before the first store, so
//!   four times the bytes are in flight, which helps a kernel that waits for its loads. `unroll4_row` waits for its stores and
//!   gains nothing.
//! - `diagonal_row`, `diagonal_col`: the naive kernels with blocks in diagonal order. Cards before Fermi divided memory into
//!   partitions of 256 bytes, and blocks that worked down a column all used the same one (*partition camping*). Later
//!   cards hash addresses over their channels, so only the cost of computing the order is left.
//!
//! The remedy is to transpose in shared memory, which has no sectors: see [`tiles`]. The fastest kernels also move 16 bytes
//! per lane on both sides: see [`vectors`](crate::unchecked::vectors).
//!
//! # How to read a signature
//! All eight kernels do the same: a thread reads the element at its position and writes it. The types tell them apart.
//! `In<f32, DownColumns<Ny, Nx>>` is a matrix of `Ny` rows and `Nx` columns that neighbouring threads read down a column.
//! `Out<f32, AlongRows<Nx, Ny>>` has `Nx` rows and `Ny` columns, and neighbouring threads write it along a row. The
//! [`shape`](cuda_safe::shape) of the first parameter says which thread has which position.
//!
//! # Launch
//! `nx` and `ny` are any, blocks have any shape of up to 1024 threads. With blocks of `bx` by `by` threads the grid is
//!
//! | kernel | grid |
//! | --- | --- |
//! | `copy_row`, `naive_row`, `diagonal_row` | `ceil(nx / bx)` by `ceil(ny / by)` |
//! | `copy_col`, `naive_col`, `diagonal_col` | `ceil(ny / bx)` by `ceil(nx / by)` |
//! | `unroll4_row` | `ceil(nx / (4 bx))` by `ceil(ny / by)` |
//! | `unroll4_col` | `ceil(ny / (4 bx))` by `ceil(nx / by)` |
//!
//! because lanes are neighbours along x, which runs along a row of `nx` or down a column of `ny`.

pub mod tiles;

use cuda_safe::names::{Nx, Ny};
use cuda_safe::shape::{Diagonal, Plane, Unrolled};
use cuda_safe::{AlongRows, DownColumns, Extent, In, InOrder, Out, Thread, kernel};

/// Elements that a thread of `unroll4_row` and `unroll4_col` moves.
pub const UNROLLED: usize = 4;

/// Copies along the rows: the upper bound of a transpose with one element per thread.
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
// PTX: lacks div or rem
#[kernel]
pub fn copy_row(
    thread: Thread<Plane>,
    source: In<f32, AlongRows<Ny, Nx>>,
    destination: Out<f32, AlongRows<Ny, Nx>>,
    nx: Extent<Nx>,
    ny: Extent<Ny>,
) {
    if let Some(mine) = thread.position(nx, ny) {
        destination.put(mine, source.at(mine));
    }
}

/// Copies down the columns: both sides are strided, which is the lower bound.
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
// PTX: lacks div or rem
#[kernel]
pub fn copy_col(
    thread: Thread<Plane>,
    source: In<f32, DownColumns<Ny, Nx>>,
    destination: Out<f32, DownColumns<Ny, Nx>>,
    nx: Extent<Nx>,
    ny: Extent<Ny>,
) {
    if let Some(mine) = thread.position(ny, nx) {
        destination.put(mine, source.at(mine));
    }
}

/// Transposes, loading along rows and storing down columns.
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
// PTX: lacks div or rem
#[kernel]
pub fn naive_row(
    thread: Thread<Plane>,
    source: In<f32, AlongRows<Ny, Nx>>,
    destination: Out<f32, DownColumns<Nx, Ny>>,
    nx: Extent<Nx>,
    ny: Extent<Ny>,
) {
    if let Some(mine) = thread.position(nx, ny) {
        destination.put(mine, source.at(mine));
    }
}

/// Transposes, loading down columns and storing along rows.
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
// PTX: lacks div or rem
#[kernel]
pub fn naive_col(
    thread: Thread<Plane>,
    source: In<f32, DownColumns<Ny, Nx>>,
    destination: Out<f32, AlongRows<Nx, Ny>>,
    nx: Extent<Nx>,
    ny: Extent<Ny>,
) {
    if let Some(mine) = thread.position(ny, nx) {
        destination.put(mine, source.at(mine));
    }
}

/// [`naive_row()`] with [`UNROLLED`] elements per thread, a block's width apart along the row. `InOrder` keeps each load
/// directly before its store: loads that are issued together do not help a kernel that waits for its stores, and cost it
/// 6%.
// PTX: contains 4x ld.global.b32
// PTX: contains 4x st.global.b32
// PTX: lacks div or rem
#[kernel]
pub fn unroll4_row(
    thread: Thread<Unrolled<UNROLLED>>,
    source: InOrder<f32, AlongRows<Ny, Nx>>,
    destination: Out<f32, DownColumns<Nx, Ny>>,
    nx: Extent<Nx>,
    ny: Extent<Ny>,
) {
    match thread.run(nx, ny) {
        Ok(run) => destination.put_each(run, |nth| source.nth(run, nth)),
        Err(rest) => rest.for_each(|mine| destination.put(mine, source.at(mine))),
    }
}

/// [`naive_col()`] with [`UNROLLED`] elements per thread, a block's width apart down the column.
// PTX: contains 4x ld.global.nc.b32
// PTX: contains 4x st.global.b32
// PTX: lacks div or rem
#[kernel]
pub fn unroll4_col(
    thread: Thread<Unrolled<UNROLLED>>,
    source: In<f32, DownColumns<Ny, Nx>>,
    destination: Out<f32, AlongRows<Nx, Ny>>,
    nx: Extent<Nx>,
    ny: Extent<Ny>,
) {
    match thread.run(ny, nx) {
        Ok(run) => destination.put_run(run, source.run(run)),
        Err(rest) => rest.for_each(|mine| destination.put(mine, source.at(mine))),
    }
}

/// [`naive_row()`] with blocks in diagonal order.
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
#[kernel]
pub fn diagonal_row(
    thread: Thread<Diagonal<true>>,
    source: In<f32, AlongRows<Ny, Nx>>,
    destination: Out<f32, DownColumns<Nx, Ny>>,
    nx: Extent<Nx>,
    ny: Extent<Ny>,
) {
    if let Some(mine) = thread.position(nx, ny) {
        destination.put(mine, source.at(mine));
    }
}

/// [`naive_col()`] with blocks in diagonal order. The order is computed without a division, which is 4% faster here. For
/// `diagonal_row`, which waits for its stores, that would be up to 3% slower (H200).
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
#[kernel]
pub fn diagonal_col(
    thread: Thread<Diagonal<false>>,
    source: In<f32, DownColumns<Ny, Nx>>,
    destination: Out<f32, AlongRows<Nx, Ny>>,
    nx: Extent<Nx>,
    ny: Extent<Ny>,
) {
    if let Some(mine) = thread.position(ny, nx) {
        destination.put(mine, source.at(mine));
    }
}
