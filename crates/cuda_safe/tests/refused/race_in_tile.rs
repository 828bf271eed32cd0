#![no_std]
#![no_main]
#![forbid(unsafe_code)]

//! Writing another thread's cell of a tile, or a tile that others read.

use cuda_safe::shape::Fixed;
use cuda_safe::tile::PerPosition;
use cuda_safe::{Block, Full, Tile, kernel};

type Cells16<State> = Tile<f32, PerPosition<16, 16>, State>;

#[kernel]
pub fn cell_by_its_number(mut block: Block<Fixed<16, 16>>, tile: Tile<f32, PerPosition<16, 16>>) {
    block.write(tile, |thread, cells| cells.set(thread.x() * 16 + thread.y(), 1.0)); //~ ERROR mismatched types: expected `&Thread<Fixed<16, 16>>`, found `u32`
}

fn full(block: &mut Block<Fixed<16, 16>>, tile: Cells16<Full>) {
    block.write(tile, |thread, cells| cells.set(thread, 1.0)); //~ ERROR a `Full` tile cannot be written: other threads may still be reading or writing it
}

#[kernel] //~ ERROR mismatched types: expected `Tile<f32, PerPosition<16, 16>, Full>`, found `Tile<f32, PerPosition<16, 16>>`
pub fn full_from_the_start(_block: Block<Fixed<16, 16>>, tile: Tile<f32, PerPosition<16, 16>, Full>) {
    let _ = tile;
}
