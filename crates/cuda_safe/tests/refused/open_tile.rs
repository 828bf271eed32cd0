#![no_std]
#![no_main]
#![forbid(unsafe_code)]

//! A tile that threads change atomically, read or changed on the wrong side of a barrier.

use cuda_safe::shape::Warps;
use cuda_safe::spread::Spread;
use cuda_safe::{Block, Tile, kernel};

#[kernel]
pub fn open(mut block: Block<Warps>, tile: Tile<u32, Spread<256>>) {
    let tile = block.write(tile, |thread, cells| cells.fill(thread, 0));
    let tile = block.open(tile);
    block.each(|_| tile.get(0)); //~ ERROR a `Open` tile cannot be read: other threads may still be writing it
}

#[kernel]
pub fn unopened(mut block: Block<Warps>, tile: Tile<u32, Spread<256>>) {
    block.open(tile); //~ ERROR mismatched types
}
