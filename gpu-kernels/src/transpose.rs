//! # Transpose: one side of the work is always across the grain
//!
//! A transpose reads every element once and writes it once, as a copy does. But elements that are neighbours in the
//! source are a whole row apart in the destination: if the lanes of a warp read neighbours, each of them writes to
//! another row, 32 sectors a request instead of 4, with an eighth of each used.
//!
//! The matrix has `ny` rows of `nx` elements, its transpose `nx` rows of `ny`. In the kernels named `row` the lanes run
//! along the source's rows; in those named `col` they run down its columns:
//!
//! - `copy_row`, `copy_col`: no transpose, only the two ways of walking; what is above all others and what is below.
//! - `naive_row` loads along rows and stores down columns; `naive_col` the other way round. `col` is the better one.
//!   A load that uses an eighth of a sector leaves the rest in L1, where the neighbouring warps of the block find it;
//!   stores go past L1, and every part of a sector is a transaction of its own.
//! - `unroll4_row`, `unroll4_col`: four elements a thread, loaded before the first is stored: four times the bytes in
//!   flight. That helps who waits for loads (`col`), and not who waits for stores (`row`).
//! - `diagonal_row`, `diagonal_col`: the same again with blocks dealt out along diagonals. Cards before Fermi cut memory
//!   in partitions of 256 bytes, and blocks that worked down a column all met in one of them ("partition camping").
//!   Since then a hash spreads addresses, and what is left is the price of computing the order.
//!
//! What helps is to do the turn in shared memory, which has no sectors: [`tiles`]; and to move 16 bytes a lane on
//! both sides of it: [`vectors`].
//!
//! # Launch
//! All take `(source, destination, nx, ny)`; the source is a slice, that is a pointer and a 64-bit length, of `nx * ny`
//! elements. `nx` and `ny` are any, at most 2^31; blocks have any shape of up to 1024 threads, and no dynamic shared
//! memory. With blocks of `bx` by `by` threads the grid is
//!
//! | kernel | grid |
//! | --- | --- |
//! | `copy_row`, `naive_row`, `diagonal_row` | `ceil(nx / bx)` by `ceil(ny / by)` |
//! | `copy_col`, `naive_col`, `diagonal_col` | `ceil(ny / bx)` by `ceil(nx / by)` |
//! | `unroll4_row` | `ceil(nx / (4 bx))` by `ceil(ny / by)` |
//! | `unroll4_col` | `ceil(ny / (4 bx))` by `ceil(nx / by)` |
//!
//! since x, along which lanes are neighbours, runs along a row of `nx` or down a column of `ny`.

pub mod tiles;
pub mod vectors;

use crate::position::{element, grid_position};
use cuda_std::{kernel, thread};

/// Elements that a thread of `unroll4_row` and `unroll4_col` moves.
pub const UNROLLED: u32 = 4;

/// Copies along the rows: what a transpose could reach at best with one element a thread.
///
/// # Safety
/// `source` has `nx * ny` elements, and `destination` points to as many that nothing else touches during the launch.
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
// PTX: lacks div or rem
#[kernel]
pub unsafe fn copy_row(source: &[f32], destination: *mut f32, nx: u32, ny: u32) {
    let (column, row) = grid_position();
    if column < nx && row < ny {
        let here = element(row, nx, column);
        // SAFETY: row and column are within the matrix, and this thread's alone.
        unsafe { destination.add(here).write(*source.get_unchecked(here)) }
    }
}

/// Copies down the columns: both sides across the grain, the worst of all.
///
/// # Safety
/// As for [`copy_row`].
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
// PTX: lacks div or rem
#[kernel]
pub unsafe fn copy_col(source: &[f32], destination: *mut f32, nx: u32, ny: u32) {
    let (row, column) = grid_position();
    if row < ny && column < nx {
        let here = element(row, nx, column);
        // SAFETY: row and column are within the matrix, and this thread's alone.
        unsafe { destination.add(here).write(*source.get_unchecked(here)) }
    }
}

/// Transposes, loading along rows and storing down columns.
///
/// # Safety
/// As for [`copy_row`].
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
// PTX: lacks div or rem
#[kernel]
pub unsafe fn naive_row(source: &[f32], destination: *mut f32, nx: u32, ny: u32) {
    let (column, row) = grid_position();
    // SAFETY: promised by the caller.
    unsafe { turn(source, destination, nx, ny, column, row) }
}

/// Transposes, loading down columns and storing along rows.
///
/// # Safety
/// As for [`copy_row`].
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
// PTX: lacks div or rem
#[kernel]
pub unsafe fn naive_col(source: &[f32], destination: *mut f32, nx: u32, ny: u32) {
    let (row, column) = grid_position();
    // SAFETY: promised by the caller.
    unsafe { turn(source, destination, nx, ny, column, row) }
}

/// Moves one element to its place in the transpose, if the matrix has it.
///
/// # Safety
/// As for [`copy_row`], and no other thread has the same column and row.
#[inline(always)]
unsafe fn turn(source: &[f32], destination: *mut f32, nx: u32, ny: u32, column: u32, row: u32) {
    if column < nx && row < ny {
        // SAFETY: row and column are within the matrix; the rest is promised by the caller.
        unsafe {
            let value = *source.get_unchecked(element(row, nx, column));
            destination.add(element(column, ny, row)).write(value);
        }
    }
}

/// [`naive_row`] with [`UNROLLED`] elements a thread, a block's width apart along the row.
///
/// # Safety
/// As for [`copy_row`].
// PTX: contains 4x ld.global.nc.b32
// PTX: contains 4x st.global.b32
// PTX: lacks div or rem
#[kernel]
pub unsafe fn unroll4_row(source: &[f32], destination: *mut f32, nx: u32, ny: u32) {
    let (first, row) = unrolled_position();
    let apart = thread::block_dim_x();
    if first + (UNROLLED - 1) * apart < nx && row < ny {
        let from = element(row, nx, first);
        let to = element(first, ny, row);
        // SAFETY: the last of the four columns is within the matrix, and so are those before it; all four elements are
        // this thread's alone.
        unsafe {
            let in_flight: [f32; UNROLLED as usize] =
                core::array::from_fn(|turn| *source.get_unchecked(from + turn * apart as usize));
            for (turn, value) in in_flight.into_iter().enumerate() {
                destination.add(to + turn * element(apart, ny, 0)).write(value);
            }
        }
    } else {
        let mut column = first;
        while column < nx && row < ny {
            // SAFETY: promised by the caller.
            unsafe { turn(source, destination, nx, ny, column, row) }
            column += apart;
        }
    }
}

/// [`naive_col`] with [`UNROLLED`] elements a thread, a block's width apart down the column.
///
/// # Safety
/// As for [`copy_row`].
// PTX: contains 4x ld.global.nc.b32
// PTX: contains 4x st.global.b32
// PTX: lacks div or rem
#[kernel]
pub unsafe fn unroll4_col(source: &[f32], destination: *mut f32, nx: u32, ny: u32) {
    let (first, column) = unrolled_position();
    let apart = thread::block_dim_x();
    if first + (UNROLLED - 1) * apart < ny && column < nx {
        let from = element(first, nx, column);
        let to = element(column, ny, first);
        // SAFETY: the last of the four rows is within the matrix, and so are those before it; all four elements are
        // this thread's alone.
        unsafe {
            let in_flight: [f32; UNROLLED as usize] =
                core::array::from_fn(|turn| *source.get_unchecked(from + turn * element(apart, nx, 0)));
            for (turn, value) in in_flight.into_iter().enumerate() {
                destination.add(to + turn * apart as usize).write(value);
            }
        }
    } else {
        let mut row = first;
        while row < ny && column < nx {
            // SAFETY: promised by the caller.
            unsafe { turn(source, destination, nx, ny, column, row) }
            row += apart;
        }
    }
}

/// The place of a thread's first element along x, where a block spans [`UNROLLED`] times its width, and its place along y.
#[inline(always)]
fn unrolled_position() -> (u32, u32) {
    let (_, y) = grid_position();
    (thread::block_idx_x() * thread::block_dim_x() * UNROLLED + thread::thread_idx_x(), y)
}

/// [`naive_row`] with blocks in diagonal order.
///
/// # Safety
/// As for [`copy_row`].
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
#[kernel]
pub unsafe fn diagonal_row(source: &[f32], destination: *mut f32, nx: u32, ny: u32) {
    let (column, row) = diagonal_position();
    // SAFETY: promised by the caller; the diagonal order gives no place to two blocks.
    unsafe { turn(source, destination, nx, ny, column, row) }
}

/// [`naive_col`] with blocks in diagonal order.
///
/// # Safety
/// As for [`copy_row`].
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
#[kernel]
pub unsafe fn diagonal_col(source: &[f32], destination: *mut f32, nx: u32, ny: u32) {
    let (row, column) = diagonal_position();
    // SAFETY: promised by the caller; the diagonal order gives no place to two blocks.
    unsafe { turn(source, destination, nx, ny, column, row) }
}

/// This thread's place along x and y when blocks are dealt out along diagonals.
///
/// In a square grid, block (bx, by) has place (bx + by, bx), modulo the grid's width: blocks that run at the same time are
/// in different rows and in different columns. In any other grid the blocks are counted through first, so that
/// no place is given twice.
#[inline(always)]
fn diagonal_position() -> (u32, u32) {
    let (width, height) = (thread::grid_dim_x(), thread::grid_dim_y());
    let (x, y) = if width == height {
        (thread::block_idx_x() + thread::block_idx_y(), thread::block_idx_x())
    } else {
        let nth = thread::block_idx_y() * width + thread::block_idx_x();
        (nth / height + nth % height, nth % height)
    };
    (
        x % width * thread::block_dim_x() + thread::thread_idx_x(),
        y * thread::block_dim_y() + thread::thread_idx_y(),
    )
}
