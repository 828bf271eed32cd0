//! # Stencil: halos, and coefficients that every thread needs
//!
//! A stencil computes each output from neighbouring inputs, so neighbouring threads share most of their reads. Here it is
//! the first derivative of a function on a regular grid, to the eighth order, from nine points:
//! `out[i] = sum over j = 1..=4 of c[j] * (in[i + j] - in[i - j])`.
//!
//! Neighbouring outputs share eight of their nine inputs. A block therefore reads its elements once into shared memory, with
//! a halo of [`RADIUS`] elements on either side, and takes all nine points from there. DRAM reads each element once, plus 8
//! per block: a quarter more with 32 threads per block, a thirtieth more with 256.
//!
//! All threads use the same four coefficients. Two kernels compare where to keep them:
//!
//! - `stencil_constant` reads them from constant memory, from [`STENCIL_COEFFICIENTS`], which the host writes. All lanes ask
//!   for the same address, which the constant cache serves at once; arithmetic instructions take such an operand without a
//!   load.
//! - `stencil_read_only` gets a pointer and loads them through the read-only path (`ld.global.nc`), by way of L1.
//!
//! On a K40c, the card of the article, they took 3.45 ms and 3.68 ms for 2^24 elements in blocks of 32. On an H200 the two
//! are level, and the block size decides. A block of 32 threads is one warp, of which an SM holds at most 32 where it could
//! hold 64 warps, and each waits at the barrier for its own loads. Blocks of 256 are five times as fast.
//!
//! Both reach half the bandwidth of a copy: they are bound by the instructions per element, not by memory. These steps lead
//! on from there, on an H200 with 2^27 elements, as shares of the driver's copy:
//!
//! - One element per thread through a tile, as above: 53%. Without the tile, with all eight points by way of L1: 58%. The
//!   loads of neighbouring threads hit L1, and there is no barrier.
//! - Four results per thread from a tile that is filled by vectors: 86%. Two by way of L1, from five vectors of two: 87%.
//! - Four results per thread from three vectors of four, by way of L1: 101%. This is `stencil_vector`. Three threads load each
//!   element, and only the first of them fetches it from DRAM.
//! - These gain nothing more: neighbours' vectors by shuffle 100%, a tile of vectors 97%, two or four vectors in flight 97%,
//!   eight consecutive results 93%, persistent blocks 91%.
//!
//! # Launch
//! The source has [`RADIUS`] more elements than the destination on either side, and `destination[i]` belongs to
//! `source[i + 4]`. Blocks have any whole number of warps, 32 to 1024 threads in x. The grid is `ceil(n / block)`, and
//! the dynamic shared memory `(block + 8) * 4` bytes. `stencil_vector` takes both arrays as vectors of four: its source has two
//! more than its destination, its blocks have any size, and each thread computes one vector of results.

use cuda_safe::names::N;
use cuda_safe::shape::Warps;
use cuda_safe::tile::Halo;
use cuda_safe::vector::F32x4;
use cuda_safe::{
    Block, Contained, Count, Each, Full, GpuFloat, In, Out, Plus, Thread, Tile, constant, kernel,
};

/// Points on either side that a derivative uses.
pub const RADIUS: usize = 4;

/// Elements by which the source is longer than the destination.
pub const HALO: usize = 2 * RADIUS;

/// Elements of a vector.
const VECTOR: usize = 4;

/// Vectors by which the source of `stencil_vector` is longer than its destination.
pub const HALO_VECTORS: usize = HALO / VECTOR;

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

/// Computes one derivative per thread; `coefficient(nth)` is `c[nth + 1]`.
///
/// The tile begins with the first element that the block needs, so that loads begin at a line, as the source does. The
/// [`HALO`] further elements come last. Blocks that lie entirely within the result compare no index. Nothing is loaded past
/// the source's end, and no output within the destination needs it.
#[inline(always)]
fn derive(
    block: &mut Block<Warps>,
    tile: Tile<f32, Halo<RADIUS>>,
    source: In<f32, Each<Plus<N, HALO>>>,
    destination: Out<f32, Each<N>>,
    coefficient: impl Fn(usize) -> f32 + Contained,
) {
    let load = || core::array::from_fn::<f32, RADIUS, _>(&coefficient);
    let sum = |thread: &Thread<Warps>, tile: &Tile<f32, Halo<RADIUS>, Full>, coefficients: [f32; RADIUS]| {
        (0..RADIUS).fold(0.0, |sum, nth| {
            let (after, before) = tile.around(thread, nth + 1);
            GpuFloat::mul_add(coefficients[nth], after - before, sum)
        })
    };
    // Both loads come before the first store, because it waits for its load. The coefficients come before the barrier, so that
    // their loads and those of the tile are in flight together.
    if let Some(inside) = block.inside(source.inner()) {
        let tile = block.write(tile, |thread, cells| {
            let own = source.behind(inside.index(thread), 0);
            let behind = source.behind_inside(thread, inside);
            cells.set(thread, own);
            cells.set_behind(thread, behind);
        });
        let coefficients = load();
        let tile = block.sync(tile);
        block.each(|thread| destination.put(inside.index(thread), sum(thread, &tile, coefficients)));
    } else {
        let tile = block.write(tile, |thread, cells| {
            let (own, behind) = (source.get(thread.number()), source.behind_block(thread));
            if let Some(own) = own {
                cells.set(thread, own);
            }
            cells.set_behind(thread, behind);
        });
        let tile = block.sync(tile);
        block.each(|thread| {
            if let Some(mine) = thread.index(source.inner()) {
                destination.put(mine, sum(thread, &tile, load()));
            }
        });
    }
}

/// The stencil by vectors: four results per thread, from three neighbouring vectors of the source.
// PTX: contains 3x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains 12x fma.rn.f32
// PTX: contains st.global.v4.b32 or st.global.v2.b64
// PTX: lacks shared or bar
#[kernel]
pub fn stencil_vector(
    thread: Thread,
    source: In<F32x4, Each<Plus<N, HALO_VECTORS>>>,
    destination: Out<F32x4, Each<N>>,
) {
    if let Some(mine) = thread.index(source.inner()) {
        let [before, here, after] = [0, 1, 2].map(|nth| source.behind(mine, nth).to_array());
        let mut points = [0.0; 3 * VECTOR];
        points[..VECTOR].copy_from_slice(&before);
        points[VECTOR..2 * VECTOR].copy_from_slice(&here);
        points[2 * VECTOR..].copy_from_slice(&after);
        destination.put(mine, F32x4::from_array([0, 1, 2, 3].map(|nth| nine_points(&points, RADIUS + nth))));
    }
}

/// Computes the derivative at one of the points.
#[inline(always)]
fn nine_points(points: &[f32; 3 * VECTOR], centre: usize) -> f32 {
    let mut sum = 0.0;
    for nth in 0..RADIUS {
        let difference = points[centre + nth + 1] - points[centre - nth - 1];
        sum = GpuFloat::mul_add(STENCIL_COEFFICIENTS.at(nth), difference, sum);
    }
    sum
}
