//! # Fragments in registers
//!
//! `mma.sync` multiplies 16 x 16 by 16 x 8 for one warp, from registers: each lane holds parts of both operands
//! (*fragments*), in the order that `ldmatrix` loads them. Eight warps have 64 x 32 of a block's 128 x 128 each, four by four
//! products, so that a fragment of A serves four and one of B serves four.
//!
//! The block's tiles come by `cp.async`: each thread copies four units of 16 bytes a step, two steps ahead, without registers
//! in between; what lies beyond A and B is filled with zeros. A row of a tile has four units. `ldmatrix` reads one unit of
//! each of eight rows at a time, so unit `u` of row `r` lies at `u ^ (r / 2 % 4)`: those eight units are then in all 32
//! banks.

use cuda_std::async_copy::{commit_group, copy_to_shared_or_zero, wait_all, wait_group};
use cuda_std::tensor::{load_matrices, mma_m16n8k16, pack_bf16};
use cuda_std::vector::U32x4;
use cuda_std::{kernel, shared, shared_array, thread, unroll, warp};

/// Rows and columns of C that a block computes.
pub const SIDE: u32 = 128;
/// Columns of A and B that are multiplied at a time.
pub const DEPTH: u32 = 32;
const STAGES: u32 = 3;
/// Bf16 of a unit.
const UNIT: u32 = 8;
/// Units of a row of a tile, and of a tile.
const UNITS: u32 = DEPTH / UNIT;
const TILE: u32 = SIDE * UNITS;

/// Where a unit of a row lies in a tile.
#[inline(always)]
fn place(row: u32, unit: u32) -> u32 {
    row * UNITS + (unit ^ (row / 2 % UNITS))
}

/// `C = A * B^T`, 128 x 128 of C a block.
///
/// # Safety
/// `a` is `m` rows of `k` and `b` `n` rows of `k`, eight bf16 a vector; `c` has `m` rows of `n`, two bf16 a word, and nothing else
/// accesses it during the launch. `k` and `n` are multiples of 8; sizes are below 2^31.
// PTX: contains 32x mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// PTX: contains 12x ldmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: contains 4x cp.async.ca.shared.global
#[kernel(
    arch = "90a",
    launch_bounds(256, 2),
    requires(block.count() == 256, 8 * a.len() == m * k, 8 * b.len() == n * k, n % 8 == 0)
)]
pub unsafe fn matmul_mma(a: &[U32x4], b: &[U32x4], c: *mut u32, m: u32, n: u32, k: u32) {
    let tiles = shared_array![U32x4; (STAGES * 2 * TILE) as usize];
    let (thread, lane) = (thread::thread_idx_x(), warp::lane_id());
    let (y, x) = (thread::block_idx_y() * SIDE, thread::block_idx_x() * SIDE);
    // The warp's part of the tile.
    let (top, left) = (thread / 128 * 64, thread / 32 % 4 * 32);
    let steps = k.div_ceil(DEPTH);

    // Two units of each tile. Beyond the matrix nothing is read.
    let copy = |matrix: &[U32x4], first: u32, rows: u32, step: u32, tile: u32| {
        unroll!(nth in [0 1] {
            let (row, unit) = (thread / UNITS + nth as u32 * 64, thread % UNITS);
            let column = step * UNITS + unit;
            let is_there = first + row < rows && column < k / UNIT;
            let from = (first + row) as usize * (k / UNIT) as usize + column as usize;
            // SAFETY: the place is within the tiles; the source is read only if the matrix has it.
            unsafe {
                let to = tiles.add((tile * TILE + place(row, unit)) as usize);
                copy_to_shared_or_zero(to, matrix.as_ptr().wrapping_add(from), is_there);
            }
        });
    };
    let load = |step: u32| {
        if step < steps {
            let tile = step % STAGES * 2;
            copy(a, y, m, step, tile);
            copy(b, x, n, step, tile + 1);
        }
        // Without copies an empty group, so that groups are counted by steps.
        commit_group();
    };
    load(0);
    load(1);
    // SAFETY: zeros are f32s.
    let mut sums: [[[f32; 4]; 4]; 4] = unsafe { core::mem::zeroed() };
    for step in 0..steps {
        wait_group::<1>();
        thread::sync_threads();
        // Into the stage that all have read in the step before.
        load(step + 2);
        let tile = shared::address(tiles) + step % STAGES * (2 * TILE * 16);
        // SAFETY: all lanes are here; the addresses are of units of the stage, which is loaded.
        unsafe {
            unroll!(half in [0 1] {
                let unit = half as u32 * 2;
                let rows_of_a = |nth: u32| tile + 16 * place(top + nth * 16 + lane % 16, unit + lane / 16);
                let rows_of_b =
                    |nth: u32| tile + 16 * (TILE + place(left + nth * 16 + lane / 16 * 8 + lane % 8, unit + lane / 8 % 2));
                let b = [load_matrices(rows_of_b(0)), load_matrices(rows_of_b(1))];
                unroll!(i in [0 1 2 3] {
                    let a = load_matrices(rows_of_a(i as u32));
                    unroll!(j in [0 1 2 3] {
                        mma_m16n8k16(&mut sums[i][j], a, [b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]]);
                    });
                });
            });
        }
    }
    wait_all();
    unroll!(i in [0 1 2 3] {
        unroll!(j in [0 1 2 3] {
            let row = y + top + i as u32 * 16 + lane / 4;
            let column = x + left + j as u32 * 8 + lane % 4 * 2;
            let [one, two, three, four] = sums[i][j];
            // SAFETY: a place is written only if C has it, and this lane alone has it.
            let put = |row: u32, word: u32| unsafe {
                if row < m && column < n {
                    c.add((row as usize * n as usize + column as usize) / 2).write(word);
                }
            };
            put(row, pack_bf16(one, two));
            put(row + 8, pack_bf16(three, four));
        });
    });
}
