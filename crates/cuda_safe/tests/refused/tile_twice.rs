#![no_std]
#![no_main]
#![forbid(unsafe_code)]

//! A tile used after its phase, or under two names.

use cuda_safe::shape::{Fixed, Warps};
use cuda_safe::tile::{EachThreads, PerPosition};
use cuda_safe::{Block, Tile, kernel};

#[kernel]
pub fn past_its_phase(mut block: Block<Fixed<16, 16>>, tile: Tile<f32, PerPosition<16, 16>>) {
    let written = block.write(tile, |thread, cells| cells.set(thread, 1.0));
    let full = block.sync(written);
    let fresh = block.sync(full);
    block.write(fresh, |thread, cells| { //~ ERROR borrow of moved value: `full`
        let [one] = full.row::<1>(thread, 0);
        cells.set(thread, one);
    });
}

#[kernel]
pub fn cloned(mut block: Block<Fixed<16, 16>>, tile: Tile<f32, PerPosition<16, 16>>) {
    let again = tile.clone(); //~ ERROR no method named `clone` found for struct `Tile<T, L, State>` in the current scope
    block.write(tile, |thread, cells| cells.set(thread, 1.0));
    let _ = again;
}

#[kernel]
pub fn written_twice(mut block: Block<Fixed<16, 16>>, tile: Tile<f32, PerPosition<16, 16>>) {
    block.write(tile, |thread, cells| cells.set(thread, 1.0));
    block.write(tile, |thread, cells| cells.set(thread, 2.0)); //~ ERROR use of moved value: `tile`
}

#[kernel]
pub fn swapped(
    mut block: Block<Fixed<16, 16>>,
    mut one: Tile<f32, PerPosition<16, 16>>,
    mut other: Tile<f32, PerPosition<16, 16>>,
) {
    block.each(|thread| { //~ ERROR `&mut Tile<f32, PerPosition<16, 16>>` would carry a value that differs between threads out into the block's code
        if thread.x() < 3 {
            core::mem::swap(&mut one, &mut other);
        }
    });
}

#[kernel]
pub fn moved_into_a_thread(mut block: Block<Fixed<16, 16>>, tile: Tile<f32, PerPosition<16, 16>>) {
    block.each(move |_| tile); //~ ERROR cannot move out of `tile`, a captured variable in an `Fn` closure
}

#[kernel]
pub fn borrowed_by_threads(mut block: Block<Fixed<16, 16>>, tile: Tile<f32, PerPosition<16, 16>>) {
    let written = block.write(tile, |thread, cells| cells.set(thread, 1.0));
    let full = block.sync(written);
    let seen = block.each(|_| &full);
    let fresh = block.sync(full); //~ ERROR cannot move out of `full` because it is borrowed
    block.write(fresh, |thread, cells| cells.set(thread, seen.of(thread).row::<1>(thread, 0)[0]));
}

#[kernel]
pub fn cells_kept(mut block: Block<Fixed<16, 16>>, tile: Tile<f32, PerPosition<16, 16>>) {
    let mut kept = None;
    let tile = block.write(tile, |_, cells| kept = Some(cells)); //~ ERROR `&mut Option<Cells<'_, f32, PerPosition<16, 16>>>` would carry a value that differs between threads out into the block's code
    let _ = (tile, kept);
}

#[kernel]
pub fn turned_without_a_barrier(mut block: Block<Fixed<16, 16>>, tile: Tile<f32, PerPosition<16, 16>>) {
    use cuda_safe::tile::Turn;
    let written = block.write(tile, |thread, cells| cells.set(thread, 1.0));
    let full = written.turn(); //~ ERROR this method takes 1 argument but 0 arguments were supplied
    let _ = full;
}

#[kernel]
pub fn halves_read_by_another_warp(mut block: Block<Warps>, tile: Tile<f32, EachThreads>) {
    let values = block.each(|_| 1.0);
    let tile = block.write(tile, |thread, cells| cells.set(thread, 1.0));
    let full = block.sync(tile);
    let (tile, values) = block.halve(full, values, 64, |a, b| a + b);
    block.halve_warps(tile, values, 16, |a, b| a + b); //~ ERROR mismatched types: expected `Tile<f32, EachThreads, Written>`, found `Tile<f32, EachThreads, Halved>`
}
