#![no_std]
#![no_main]
#![forbid(unsafe_code)]

//! Values that belong to one thread, taken out of its code.

use core::cell::OnceCell;
use cuda_safe::names::{Nx, Ny};
use cuda_safe::place::Mine2;
use cuda_safe::shape::{Fixed, Plane};
use cuda_safe::tile::PerPosition;
use cuda_safe::{AlongRows, Block, Extent, Out, Thread, Tile, kernel};

#[kernel]
pub fn thread(mut block: Block<Fixed<16, 16>>) {
    let thread = block.each(|thread| thread); //~ ERROR lifetime may not live long enough
    let _ = thread;
}

#[kernel]
pub fn place_through_shared_memory( 
    mut block: Block<Fixed<16, 16>>,
    tile: Tile<Mine2<Nx, Ny>, PerPosition<16, 16>>, //~ ERROR `Mine2<Nx, Ny>` is not plain bits, as a kernel's values and the elements of its arrays and tiles are
    nx: Extent<Nx>,
    ny: Extent<Ny>,
) {
    let _ = (block, tile, nx, ny);
}

#[kernel]
pub fn place_through_global_memory(
    thread: Thread<Plane>,
    y: Out<Mine2<Nx, Ny>, AlongRows<Ny, Nx>>, //~ ERROR `Mine2<Nx, Ny>` is not plain bits, as a kernel's values and the elements of its arrays and tiles are
    nx: Extent<Nx>,
    ny: Extent<Ny>,
) {
    let _ = (thread, y, nx, ny);
}

static KEPT: OnceCell<Mine2<Nx, Ny>> = OnceCell::new(); //~ ERROR `OnceCell<Mine2<Nx, Ny>>` cannot be shared between threads safely
