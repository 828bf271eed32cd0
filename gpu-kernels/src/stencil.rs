//! # Stencil: where the few numbers live that every thread needs
//!
//! The first derivative of a function on a regular grid, to the eighth order, from nine points:
//! `out[i] = sum over j = 1..=4 of c[j] * (in[i + j] - in[i - j])`. Neighbouring outputs share eight of their nine inputs,
//! so a block reads its elements once into shared memory, with a halo of [`RADIUS`] on either side, and takes
//! all nine points from there. DRAM sees each element once, plus 8 for each block: a quarter more with 32 threads a
//! block, a thirtieth with 256.
//!
//! The four coefficients are the same for all threads, and the question is how they come to them:
//!
//! - `stencil_constant` has them in constant memory, written by the host to [`STENCIL_COEFFICIENTS`]. All lanes ask for
//!   the same address, which is what that memory's cache serves at once; arithmetic instructions take such an operand
//!   without any load.
//! - `stencil_read_only` gets a pointer and loads them through the read-only path (`ld.global.nc`), by way of L1.
//!
//! On the card of the article, a K40c, that was 3.45 ms against 3.68 ms for 2^24 elements in blocks of 32. On an H200 the
//! two are level, and the size of the block decides: 32 threads a block are one warp, at most 32 of the
//! 64 warps that an SM could hold, and each waits at the barrier for its own loads. Blocks of 256 are five times as fast.
//!
//! # Launch
//! | kernel | parameters |
//! | --- | --- |
//! | `stencil_constant` | source, destination |
//! | `stencil_read_only` | source, destination, coefficients |
//!
//! The source is a slice of `n + 8` elements: `n`, with [`RADIUS`] more before and after them; the
//! destination has `n`, and `destination[i]` belongs to `source[i + 4]`. The coefficients are a slice of four, `c[1]` to
//! `c[4]`. Blocks have any whole number of warps, 32 to 1024 threads in x; the grid is `ceil(n / block)`, and the dynamic
//! shared memory `(block + 8) * 4` bytes.

use crate::position::grid_index;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{GpuFloat, address_space, kernel, thread};

/// Points on either side that a derivative is made of.
pub const RADIUS: usize = 4;

/// `c[1]` to `c[4]`, which the host writes before a launch of `stencil_constant`.
#[address_space(constant)]
#[unsafe(no_mangle)]
pub static mut STENCIL_COEFFICIENTS: [f32; RADIUS] = [0.0; RADIUS];

/// The stencil with coefficients from constant memory.
///
/// # Safety
/// `source` has at least `2 * RADIUS` elements, `destination` points to `2 * RADIUS` fewer, which nothing else touches during
/// the launch; the launch is as the module says.
// PTX: contains ld.global.nc.b32
// PTX: contains 8x ld.shared.b32
// PTX: contains ld.const or STENCIL_COEFFICIENTS
// PTX: contains 4x fma.rn.f32
// PTX: contains st.global.b32
#[kernel]
pub unsafe fn stencil_constant(source: &[f32], destination: *mut f32) {
    // SAFETY: the host does not write the coefficients during a launch; the rest is promised by the caller.
    unsafe { derive(source, destination, |nth| STENCIL_COEFFICIENTS[nth]) }
}

/// The stencil with coefficients through the read-only path.
///
/// # Safety
/// As for [`stencil_constant`], and there are [`RADIUS`] coefficients.
// PTX: contains 5x ld.global.nc.b32
// PTX: contains 8x ld.shared.b32
// PTX: contains 4x fma.rn.f32
// PTX: contains st.global.b32
// PTX: lacks ld.const
#[kernel]
pub unsafe fn stencil_read_only(source: &[f32], destination: *mut f32, coefficients: &[f32]) {
    // SAFETY: promised by the caller.
    unsafe { derive(source, destination, |nth| *coefficients.get_unchecked(nth)) }
}

/// One derivative a thread; `coefficient(nth)` is `c[nth + 1]`.
///
/// # Safety
/// As for [`stencil_constant`].
#[inline(always)]
unsafe fn derive(source: &[f32], destination: *mut f32, coefficient: impl Fn(usize) -> f32) {
    let tile = dynamic_shared_mem::<f32>();
    let block = thread::block_dim_x() as usize;
    let index = grid_index();
    let centre = thread::thread_idx_x() as usize + RADIUS;
    // SAFETY: the tile has an element for each thread and 2 * RADIUS more. What lies past the source's end is not loaded,
    // and no output within the destination needs it.
    unsafe {
        if let Some(&value) = source.get(index + RADIUS) {
            tile.add(centre).write(value);
        }
        if centre < 2 * RADIUS {
            if let Some(&value) = source.get(index) {
                tile.add(centre - RADIUS).write(value);
            }
            if let Some(&value) = source.get(index + RADIUS + block) {
                tile.add(centre + block).write(value);
            }
        }
        thread::sync_threads();
        if index + 2 * RADIUS < source.len() {
            let here = tile.add(centre);
            let mut sum = 0.0;
            for nth in 0..RADIUS {
                let difference = *here.add(nth + 1) - *here.sub(nth + 1);
                sum = GpuFloat::mul_add(coefficient(nth), difference, sum);
            }
            destination.add(index).write(sum);
        }
    }
}
