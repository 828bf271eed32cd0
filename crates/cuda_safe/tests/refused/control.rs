#![no_std]
#![no_main]
#![forbid(unsafe_code)]

//! The correct forms of what the other cases get wrong: this one must compile.

use cuda_safe::names::{N, Nx, Ny};
use cuda_safe::shape::{Fixed, Plane};
use cuda_safe::tile::PerPosition;
use cuda_safe::{
    AlongRows, Block, Checked, DownColumns, Each, Extent, In, Out, Positive, Strided, Thread, Tile, constant, kernel,
};

#[kernel]
pub fn transpose(
    thread: Thread<Plane>,
    source: In<f32, AlongRows<Ny, Nx>>,
    destination: Out<f32, DownColumns<Nx, Ny>>,
    nx: Extent<Nx>,
    ny: Extent<Ny>,
) {
    if let Some(mine) = thread.position(nx, ny) {
        destination.put(mine, source.at(mine));
    }
}

#[kernel]
pub fn through_tile(
    mut block: Block<Fixed<16, 16>>,
    tile: Tile<f32, PerPosition<16, 16>>,
    destination: Out<f32, AlongRows<Ny, Nx>>,
    nx: Extent<Nx>,
    ny: Extent<Ny>,
) {
    let tile = block.write(tile, |thread, cells| cells.set(thread, thread.x() as f32));
    let tile = block.sync(tile);
    let some = block.each(|thread| thread.x() < 3);
    if block.any(some) {
        block.barrier();
    }
    block.each(|thread| {
        if some.of(thread)
            && let Some(mine) = thread.position(nx, ny)
        {
            let [first] = tile.row::<1>(thread, 0);
            destination.put(mine, first);
        }
    });
}

#[kernel]
pub fn saxpy(thread: Thread, factor: f32, x: In<f32, Each<N>>, y: Out<f32, Each<N>>) {
    if let Some(i) = thread.index(x) {
        y.update(i, |y| y + factor * x.at(i));
    }
}

constant! {
    /// Factors, which the host writes.
    pub static FACTORS: [f32; 4] = [1.0; 4];
}

#[kernel]
pub fn strided(thread: Thread, x: &[f32], y: Checked<f32, Strided<N>>, stride: Positive<N>) {
    if let Some(x) = x.get(thread.number()) {
        y.try_put(thread.own(), x * FACTORS.at(3));
    }
}
