//! # Stencil: where the few numbers live that every thread needs
//!
//! The first derivative of a function on a regular grid, to the eighth order, from nine points:
//! `out[i] = sum over j = 1..=4 of c[j] * (in[i + j] - in[i - j])`. Neighbouring outputs share eight of their nine inputs,
//! so a block reads its elements once into shared memory, with a halo of [`RADIUS`] on either side, and takes
//! all nine points from there. DRAM sees each element once, plus 8 for each block: a quarter more with 32 threads per
//! block, a thirtieth with 256.
//!
//! The four coefficients are the same for all threads, and the question is where they come from:
//!
//! - `stencil_constant` has them in constant memory, written by the host to [`STENCIL_COEFFICIENTS`]. All lanes ask for
//!   the same address, which is what that memory's cache serves at once; arithmetic instructions take such an operand
//!   without any load.
//! - `stencil_read_only` gets a pointer and loads them through the read-only path (`ld.global.nc`), by way of L1.
//!
//! On the card of the article, a K40c, that was 3.45 ms against 3.68 ms for 2^24 elements in blocks of 32. On an H200 the
//! two are level, and the size of the block decides: 32 threads per block are one warp, at most 32 of the
//! 64 warps that an SM could hold, and each waits at the barrier for its own loads. Blocks of 256 are five times as fast.
//!
//! # Launch
//! The source has [`RADIUS`] elements more than the destination on either side, and `destination[i]` belongs to
//! `source[i + 4]`. Blocks have any whole number of warps, 32 to 1024 threads in x; the grid is `ceil(n / block)`, and
//! the dynamic shared memory `(block + 8) * 4` bytes.

use cuda_safe::names::N;
use cuda_safe::shape::Warps;
use cuda_safe::tile::Halo;
use cuda_safe::{Block, Contained, Count, Each, GpuFloat, In, Out, Plus, Tile, constant, kernel};

/// Points on either side that a derivative is made of.
pub const RADIUS: usize = 4;

/// Elements that the source has more than the destination.
pub const HALO: usize = 2 * RADIUS;

constant! {
    /// `c[1]` to `c[4]`, which the host writes before a launch of `stencil_constant`.
    pub static STENCIL_COEFFICIENTS: [f32; RADIUS] = [0.0; RADIUS];
}

/// The stencil with coefficients from constant memory.
// PTX: contains ld.global.nc.b32
// PTX: contains 8x ld.shared.b32
// PTX: contains ld.const or STENCIL_COEFFICIENTS
// PTX: contains 4x fma.rn.f32
// PTX: contains st.global.b32
#[kernel]
pub fn stencil_constant(
    mut block: Block<Warps>,
    tile: Tile<f32, Halo<RADIUS>>,
    source: In<f32, Each<Plus<N, HALO>>>,
    destination: Out<f32, Each<N>>,
) {
    derive(&mut block, tile, source, destination, |nth| STENCIL_COEFFICIENTS.at(nth));
}

/// The stencil with coefficients through the read-only path.
// PTX: contains 5x ld.global.nc.b32
// PTX: contains 8x ld.shared.b32
// PTX: contains 4x fma.rn.f32
// PTX: contains st.global.b32
// PTX: lacks ld.const
#[kernel]
pub fn stencil_read_only(
    mut block: Block<Warps>,
    tile: Tile<f32, Halo<RADIUS>>,
    source: In<f32, Each<Plus<N, HALO>>>,
    destination: Out<f32, Each<N>>,
    coefficients: In<f32, Each<Count<RADIUS>>>,
) {
    derive(&mut block, tile, source, destination, |nth| coefficients.nth(nth));
}

/// One derivative per thread; `coefficient(nth)` is `c[nth + 1]`.
#[inline(always)]
fn derive(
    block: &mut Block<Warps>,
    tile: Tile<f32, Halo<RADIUS>>,
    source: In<f32, Each<Plus<N, HALO>>>,
    destination: Out<f32, Each<N>>,
    coefficient: impl Fn(usize) -> f32 + Contained,
) {
    // Past the source's end nothing is loaded, and no output within the destination needs it.
    let width = block.threads() as usize;
    let tile = block.write(tile, |thread, cells| {
        let index = thread.number();
        if let Some(value) = source.get(index + RADIUS) {
            cells.set(thread, value);
        }
        cells.set_halo(thread, || source.get(index), || source.get(index + RADIUS + width));
    });
    let tile = block.sync(tile);
    block.each(|thread| {
        if let Some(mine) = thread.index(source.inner()) {
            let mut sum = 0.0;
            for nth in 0..RADIUS {
                let (after, before) = tile.around(thread, nth + 1);
                sum = GpuFloat::mul_add(coefficient(nth), after - before, sum);
            }
            destination.put(mine, sum);
        }
    });
}
