//! # Fragments in registers
//!
//! `mma.sync` multiplies 16 x 16 by 16 x 8 for one warp, from registers: each lane holds parts of both operands
//! (*fragments*), in the order that `ldmatrix` loads them. Four warps have 64 x 64 of a block's 128 x 128 each, four by
//! eight products, so that a fragment of A serves eight and one of B serves four. Shared memory is the limit of this kernel:
//! with 64 x 32 for each of eight warps they would load half as much again for the same products.
//!
//! The block's tiles come by `cp.async`: each thread copies eight units of 16 bytes a step, three steps ahead, without
//! registers in between; what lies beyond A and B is filled with zeros. The copies go past L1, which would only pass the
//! units through and slow down `ldmatrix` meanwhile. A row of a tile has four units. `ldmatrix` reads one unit of each of
//! eight rows at a time, so unit `u` of row `r` lies at `u ^ (r / 2 % 4)`: those eight units are then in all 32 banks.
//!
//! A warp loads the next fragments while the tensor cores have these: two sets of them take turns in registers.
//!
//! # What was tried
//! TFLOP/s at 4096 x 4096 x 4096 on an H200, interleaved in one run; cuBLAS, by `wgmma`, had 870:
//!
//! | form | TFLOP/s |
//! | --- | --- |
//! | eight warps of 64 x 32, three stages, through L1 | 308 |
//! | the same past L1; four stages | 340; 342 |
//! | eight warps of 64 x 64 for 128 x 256 of C, steps of 32; of 64 | 399; 388 |
//! | four warps of 64 x 96 for 128 x 192: registers spill | 267 |
//! | four warps of 64 x 64, one set of fragments | 404 |
//! | `matmul_mma`: two sets | 424 |
//! | the same through L1 | 349 |
//! | the same with three stages; five: a remainder for each step, where four take the last bits | 351; 379 |
//! | the same in bands of 8 rows of blocks | 423 |
//! | `mma.sync` alone, the same number of them on registers that nothing loads | 492 |

use cuda_std::async_copy::{commit_group, copy_to_shared_past_l1_or_zero, wait_all, wait_group};
use cuda_std::tensor::{load_matrices, mma_m16n8k16, pack_bf16};
use cuda_std::vector::U32x4;
use cuda_std::{kernel, shared, thread, unroll, warp};

/// Rows and columns of C that a block computes.
pub const SIDE: u32 = 128;
/// Columns of A and B that are multiplied at a time.
pub const DEPTH: u32 = 32;
/// Threads of a block.
pub const THREADS: u32 = 128;
/// A power of two, so that the stage of a step needs no division.
const STAGES: u32 = 4;
/// Bf16 of a unit.
const UNIT: u32 = 8;
/// Units of a row of a tile, and of a tile.
const UNITS: u32 = DEPTH / UNIT;
const TILE: u32 = SIDE * UNITS;
/// Dynamic shared memory of a launch.
pub const SHARED: u32 = STAGES * 2 * TILE * size_of::<U32x4>() as u32;

/// The swizzle of a row: what its units' numbers are combined with.
#[inline(always)]
fn swizzle(row: u32) -> u32 {
    row / 2 % UNITS
}

/// Two matrices of `k / 8` units a row, of which a block multiplies 128 rows each.
#[derive(Clone, Copy)]
struct Operands<'a> {
    matrices: [&'a [U32x4]; 2],
    /// The first of the 128 rows of each, and the rows of each matrix.
    first: [u32; 2],
    rows: [u32; 2],
    /// Units of a row.
    pitch: u32,
    stages: *mut U32x4,
}

impl Operands<'_> {
    /// Starts to copy the tiles of a step into its stage: four units of each by each thread, zeros for what the matrices do not
    /// have. A step beyond K is a group without copies, so that groups are counted by steps.
    ///
    /// # Safety
    /// The stages are there, and nobody reads this one.
    #[inline(always)]
    unsafe fn load(self, step: u32) {
        let thread = thread::thread_idx_x();
        let unit = thread % UNITS;
        let column = step * UNITS + unit;
        if step * UNITS < self.pitch {
            unroll!(nth in [0 1] {
                unroll!(part in [0 1 2 3] {
                    let row = thread / UNITS + part as u32 * (THREADS / UNITS);
                    let (matrix, of_matrix) = (self.matrices[nth], self.first[nth] + row);
                    let is_there = of_matrix < self.rows[nth] && column < self.pitch;
                    let from = of_matrix as usize * self.pitch as usize + column as usize;
                    let to = (step % STAGES * 2 + nth as u32) * TILE + row * UNITS + (unit ^ swizzle(row));
                    // SAFETY: the place is within the stages; the source is read only if the matrix has it.
                    unsafe {
                        let from = matrix.as_ptr().wrapping_add(from);
                        copy_to_shared_past_l1_or_zero(self.stages.add(to as usize), from, is_there);
                    }
                });
            });
        }
        commit_group();
    }
}

/// What a warp multiplies at a time: 64 x 16 of A and 16 x 64 of B.
#[derive(Clone, Copy)]
struct Fragments {
    a: [[u32; 4]; 4],
    b: [[u32; 4]; 4],
}

impl Fragments {
    /// Loads the `half` of a stage, from these addresses of the lane's first unit in it and with the rows' swizzles in them.
    ///
    /// # Safety
    /// All lanes of the warp call this; the stage is loaded.
    #[inline(always)]
    unsafe fn load(&mut self, stage: u32, half: u32, lane: Lane) {
        const SIXTEEN_ROWS: u32 = 16 * UNITS * size_of::<U32x4>() as u32;
        unroll!(nth in [0 1 2 3] {
            let down = stage + nth as u32 * SIXTEEN_ROWS;
            // SAFETY: promised by the caller: units of the stage.
            unsafe {
                self.a[nth] = load_matrices(down + lane.row_of_a + 16 * (lane.unit_of_a ^ (2 * half)));
                self.b[nth] = load_matrices(down + lane.row_of_b + 16 * (lane.unit_of_b ^ (2 * half)));
            }
        });
    }

    /// Multiplies.
    ///
    /// # Safety
    /// All lanes of the warp call this.
    #[inline(always)]
    unsafe fn multiply(&self, sums: &mut [[[f32; 4]; 8]; 4]) {
        unroll!(i in [0 1 2 3] {
            unroll!(j in [0 1 2 3 4 5 6 7] {
                let b = [self.b[j / 2][j % 2 * 2], self.b[j / 2][j % 2 * 2 + 1]];
                // SAFETY: promised by the caller.
                unsafe { mma_m16n8k16(&mut sums[i][j], self.a[i], b) };
            });
        });
    }
}

/// The rows whose units a lane gives to `ldmatrix`: where they begin in a stage, in bytes, and its unit in them, swizzled.
#[derive(Clone, Copy)]
struct Lane {
    row_of_a: u32,
    unit_of_a: u32,
    row_of_b: u32,
    unit_of_b: u32,
}

impl Lane {
    /// Those of a warp that begins at this row of A and of B. The four 8 x 8 of A are two of rows by two of columns, those of B
    /// two of columns by two of rows, as B's columns are the rows in memory.
    #[inline(always)]
    fn of(lane: u32, (top, left): (u32, u32)) -> Self {
        const ROW: u32 = UNITS * size_of::<U32x4>() as u32;
        let (a, b) = (top + lane % 16, left + lane / 16 * 8 + lane % 8);
        Self {
            row_of_a: a * ROW,
            unit_of_a: (lane / 16) ^ swizzle(a),
            row_of_b: (SIDE + b) * ROW,
            unit_of_b: (lane / 8 % 2) ^ swizzle(b),
        }
    }
}

/// `C = A * B^T`, 128 x 128 of C a block.
///
/// # Safety
/// `a` is `m` rows of `k` and `b` `n` rows of `k`, eight bf16 a vector; `c` has `m` rows of `n`, two bf16 a word, and nothing else
/// accesses it during the launch. `k` and `n` are multiples of 8, none is 0; sizes are below 2^31. Blocks have [`SHARED`] bytes of
/// dynamic shared memory.
// PTX: contains 64x mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// PTX: contains 24x ldmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: contains 32x cp.async.cg.shared.global
#[kernel(
    arch = "90a",
    launch_bounds(128, 2),
    requires(block.count() == 128, 8 * a.len() == m * k, 8 * b.len() == n * k, n % 8 == 0)
)]
pub unsafe fn matmul_mma(a: &[U32x4], b: &[U32x4], c: *mut u32, m: u32, n: u32, k: u32) {
    let (warp, lane) = (thread::thread_idx_x() / 32, warp::lane_id());
    let (y, x) = (thread::block_idx_y() * SIDE, thread::block_idx_x() * SIDE);
    // The warp's part of the tile.
    let (top, left) = (warp / 2 * 64, warp % 2 * 64);
    let steps = k.div_ceil(DEPTH);
    let stages = shared::dynamic_shared_mem::<U32x4>();
    let operands = Operands { matrices: [a, b], first: [y, x], rows: [m, n], pitch: k / UNIT, stages };
    let stage = |step: u32| shared::address(stages) + step % STAGES * (2 * TILE * size_of::<U32x4>() as u32);
    let of_warp = Lane::of(lane, (top, left));
    // SAFETY: the launch has the shared memory. A step's stage is loaded when all but the two newest groups are complete and
    // all threads have met; and when they have met, all have read the stage of the step before, which is filled next. All lanes
    // go through all of this together. Zeros are numbers.
    unsafe {
        unroll!(step in [0 1 2] { operands.load(step as u32); });
        let mut sums: [[[f32; 4]; 8]; 4] = core::mem::zeroed();
        let (mut even, mut odd): (Fragments, Fragments) = core::mem::zeroed();
        wait_group::<2>();
        thread::sync_threads();
        even.load(stage(0), 0, of_warp);
        for step in 0..steps {
            odd.load(stage(step), 1, of_warp);
            operands.load(step + STAGES - 1);
            even.multiply(&mut sums);
            wait_group::<2>();
            thread::sync_threads();
            // Of the last step again, where there is no next one.
            let next = if step + 1 < steps { step + 1 } else { step };
            even.load(stage(next), 0, of_warp);
            odd.multiply(&mut sums);
        }
        wait_all();
        unroll!(i in [0 1 2 3] {
            unroll!(j in [0 1 2 3 4 5 6 7] {
                let row = y + top + i as u32 * 16 + lane / 4;
                let column = x + left + j as u32 * 8 + lane % 4 * 2;
                let [one, two, three, four] = sums[i][j];
                // A place is written only if C has it, and this lane alone has it.
                let put = |row: u32, word: u32| {
                    if row < m && column < n {
                        c.add((row as usize * n as usize + column as usize) / 2).write(word);
                    }
                };
                put(row, pack_bf16(one, two));
                put(row + 8, pack_bf16(three, four));
            });
        });
    }
}
