//! The kernels of the numbered examples. Those of examples 1 to 6, 9 and 10 are safe; printing and allocating are for
//! unsafe kernels.
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;

use cuda_safe::names::{N, Nx, Ny};
use cuda_safe::shape::Tiles;
use cuda_safe::tile::Rows;
use cuda_safe::{AlongRows, Block, Each, Extent, In, Out, Thread, Tile, kernel};

pub mod affine;
pub mod debugging;
pub mod product;

/// `y = a x + y`, one element per thread.
#[kernel]
pub fn saxpy(thread: Thread, a: f32, x: In<f32, Each<N>>, y: Out<f32, Each<N>>) {
    if let Some(i) = thread.index(x) {
        y.update(i, |y| a * x.at(i) + y);
    }
}

/// Transposes a matrix through a tile of 32 x 32 in shared memory, whose unused 33rd column keeps the elements of a column in
/// different banks.
#[kernel]
pub fn transpose(
    mut block: Block<Tiles<32>>,
    tile: Tile<f32, Rows<32, 33>>,
    source: In<f32, AlongRows<Ny, Nx>>,
    destination: Out<f32, AlongRows<Nx, Ny>>,
    nx: Extent<Nx>,
    ny: Extent<Ny>,
) {
    let tile = block.write(tile, |thread, cells| {
        let (source, cells) = (source.from(thread.corner(), nx, ny), cells.from(thread));
        for step in thread.steps() {
            if let Some(value) = source.get(step) {
                cells.set(step, value);
            }
        }
    });
    let tile = block.sync(tile);
    block.each(|thread| {
        for turn in thread.turns() {
            if let Some((mine, cell)) = thread.turned(turn, nx, ny) {
                destination.put(mine, tile.at(cell));
            }
        }
    });
}
