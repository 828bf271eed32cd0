#![no_std]
#![no_main]
#![forbid(unsafe_code)]

//! Reading a tile that other threads may still be writing.

use cuda_safe::shape::Fixed;
use cuda_safe::tile::PerPosition;
use cuda_safe::{Block, Tile, kernel};

#[kernel]
pub fn written(mut block: Block<Fixed<16, 16>>, tile: Tile<f32, PerPosition<16, 16>>) {
    let tile = block.write(tile, |thread, cells| cells.set(thread, 1.0));
    block.each(|thread| tile.row::<4>(thread, 0)); //~ ERROR a `Written` tile cannot be read: other threads may still be writing it
}

#[kernel]
pub fn fresh(mut block: Block<Fixed<16, 16>>, tile: Tile<f32, PerPosition<16, 16>>) {
    block.each(|thread| tile.row::<4>(thread, 0)); //~ ERROR a `Fresh` tile cannot be read: other threads may still be writing it
}
