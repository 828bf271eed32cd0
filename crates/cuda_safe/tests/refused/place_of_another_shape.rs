#![no_std]
#![no_main]
#![forbid(unsafe_code)]

//! Places that a thread of this kernel's shape does not have.

use cuda_safe::names::{N, Nx, Ny};
use cuda_safe::shape::{Fixed, Plane, Runs, Sliced, Square};
use cuda_safe::tile::{EachOf, PerPosition};
use cuda_safe::{AlongRows, Block, Each, Extent, In, Out, Thread, Tile, kernel};

#[kernel]
pub fn index_in_a_plane(thread: Thread<Plane>, x: In<f32, Each<N>>, y: Out<f32, Each<N>>) {
    if let Some(i) = thread.index(x) { //~ ERROR a thread of a `Plane` does not have one index
        y.put(i, 1.0);
    }
}

#[kernel]
pub fn index_among_runs(thread: Thread<Runs<4>>, x: In<f32, Each<N>>, y: Out<f32, Each<N>>) {
    if let Some(i) = thread.index(x) { //~ ERROR a thread of a `Runs<4>` does not have one index
        y.put(i, 1.0);
    }
}

#[kernel]
pub fn index_among_slices(block: Block<Sliced>, x: In<f32, Each<N>>) {
    for _ in block.grid_stride(x) {} //~ ERROR the method `grid_stride` exists for struct `Block<Sliced>`, but its trait bounds were not satisfied
}

#[kernel]
pub fn position_on_a_line(thread: Thread, y: Out<f32, AlongRows<Ny, Nx>>, nx: Extent<Nx>, ny: Extent<Ny>) {
    if let Some(mine) = thread.position(nx, ny) { //~ ERROR a thread of a `cuda_safe::shape::Line` does not have one position (x, y)
        y.put(mine, 1.0);
    }
}

#[kernel]
pub fn element_of_a_line(thread: Thread<Plane>, y: Out<f32, Each<N>>, n: Extent<N>) {
    if let Some(mine) = thread.position(n, n) {
        y.put(mine, 1.0); //~ ERROR mismatched types: expected `Mine<N>`, found `Mine2<N, N>`
    }
}

#[kernel]
pub fn layout_of_other_blocks(mut block: Block<Square>, tile: Tile<f32, PerPosition<16, 16>>) {
    block.write(tile, |thread, cells| cells.set(thread, 1.0)); //~ ERROR mismatched types: expected `&Thread<Fixed<16, 16>>`, found `&Thread<Square>`
}

#[kernel]
pub fn layout_of_larger_blocks(mut block: Block<Fixed<16, 16>>, tile: Tile<f32, PerPosition<32, 32>>) {
    block.write(tile, |thread, cells| cells.set(thread, 1.0)); //~ ERROR mismatched types: expected `32`, found `16`
}

#[kernel]
pub fn layout_without_cells_for_these(mut block: Block<Fixed<16, 16>>, tile: Tile<f32, EachOf<256>>) {
    block.write(tile, |thread, cells| cells.set(thread, 1.0)); //~ ERROR mismatched types: expected `&Thread<OneBlock<256>>`, found `&Thread<Fixed<16, 16>>`
}
