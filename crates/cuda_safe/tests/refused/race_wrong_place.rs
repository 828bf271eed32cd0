#![no_std]
#![no_main]
#![forbid(unsafe_code)]

//! Writing where another thread writes: places of another space, exchanged indices, numbers instead of places.

use cuda_safe::names::{N, Nx, Ny};
use cuda_safe::place::Mine2;
use cuda_safe::shape::Plane;
use cuda_safe::{AlongRows, Each, EachThread, Extent, Out, Thread, kernel};

#[kernel]
pub fn place_of_another_space(thread: Thread, length: cuda_safe::Length<N>, y: Out<f32, EachThread>) {
    if let Some(i) = thread.index(length) {
        y.put(i, 1.0); //~ ERROR mismatched types: expected `Own`, found `Mine<N>`
    }
}

#[kernel]
pub fn number_instead_of_a_place(thread: Thread, y: Out<f32, Each<N>>) {
    y.put(thread.number(), 1.0); //~ ERROR mismatched types: expected `Mine<N>`, found `usize`
}

#[kernel]
pub fn exchanged(thread: Thread<Plane>, y: Out<f32, AlongRows<Ny, Nx>>, nx: Extent<Nx>, ny: Extent<Ny>) {
    if let Some(mine) = thread.position(ny, nx) {
        y.put(mine, 1.0); //~ ERROR mismatched types: expected `Mine2<Nx, Ny>`, found `Mine2<Ny, Nx>`
    }
}

#[kernel]
pub fn mirrored(thread: Thread<Plane>, y: Out<f32, AlongRows<N, N>>, n: Extent<N>) {
    if let Some(mine) = thread.position(n, n) {
        y.put((mine.y(), mine.x()), 1.0); //~ ERROR mismatched types: expected `Mine2<N, N>`, found `(Below<N>, Below<N>)`
    }
}

#[kernel]
pub fn made_up(thread: Thread<Plane>, y: Out<f32, AlongRows<N, N>>, n: Extent<N>) {
    if let Some(mine) = thread.position(n, n) {
        let other: Mine2<N, N> = Mine2::new(mine.y().get(), mine.x().get()); //~ ERROR associated function `new` is private
        y.put(other, 1.0);
    }
}
