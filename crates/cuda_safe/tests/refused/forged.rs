#![no_std]
#![no_main]
#![forbid(unsafe_code)]

//! Threads, blocks, places and lengths made by hand.

use cuda_safe::names::{N, Nx, Ny};
use cuda_safe::place::{Mine, Own};
use cuda_safe::shape::{Plane, Warps};
use cuda_safe::{Below, Block, Each, EachThread, Extent, Matrix, Out, Thread, kernel};

#[kernel]
pub fn place(_thread: Thread, y: Out<f32, Each<N>>) {
    y.put(Mine::new(3), 1.0); //~ ERROR associated function `new` is private
}

#[kernel]
pub fn number(_thread: Thread, y: Out<f32, EachThread>) {
    y.put(Own::new(3), 1.0); //~ ERROR associated function `new` is private
}

#[kernel]
pub fn place_by_its_parts(_thread: Thread, y: Out<f32, Each<N>>) {
    y.put(Mine(3, core::marker::PhantomData), 1.0); //~ ERROR cannot initialize a tuple struct which contains private fields
}

#[kernel]
pub fn thread(mut block: Block<Warps>) {
    let thread: Thread<Warps> = Thread::new(); //~ ERROR associated function `new` is private
    if thread.x() < 3 {
        block.barrier();
    }
}

#[kernel]
pub fn length(_thread: Thread, y: Out<f32, Each<N>>) {
    let long: Extent<N> = Extent::new(1000); //~ ERROR associated function `new` is private
    let _ = (long, y);
}

#[kernel]
pub fn exchanged_extents(thread: Thread<Plane>, source: Matrix<f32, Ny, Nx>, nx: Extent<Nx>, ny: Extent<Ny>) {
    if let Some(mine) = thread.position(nx, ny) {
        source.at(mine.x(), mine.y()); //~ ERROR arguments to this method are incorrect
    }
}

#[kernel]
pub fn index_by_hand(_thread: Thread<Plane>, source: Matrix<f32, Ny, Nx>, nx: Extent<Nx>, ny: Extent<Ny>) {
    let column: Below<Nx> = nx.get() - 1; //~ ERROR mismatched types: expected `Below<Nx>`, found `u32`
    let _ = (source, column, ny);
}
