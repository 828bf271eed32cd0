#![no_std]
#![no_main]
#![forbid(unsafe_code)]

//! Names that are not what `#[kernel]` takes them for.

use cuda_safe::names::N;
use cuda_safe::shape::{Line, Plane, Sliced};
use cuda_safe::tile::{EachOf, Layout};
use cuda_safe::{Block, Each, Extent, Out, PerBlock, Strided, kernel};

/// Another shape for each.
pub trait Other {
    type Shape: cuda_safe::shape::Shape;
}

impl Other for Plane {
    type Shape = Line;
}

type Thread<S> = cuda_safe::Thread<<S as Other>::Shape>;

#[kernel] //~ ERROR mismatched types: expected `Thread`, found `Thread<Plane>`
pub fn shape_that_the_host_does_not_check(thread: Thread<Plane>, y: Out<f32, Each<N>>) {
    let _ = (thread, y);
}

/// Another layout for each.
pub trait Larger {
    type Layout: Layout;
}

impl<const CELLS: u32> Larger for EachOf<CELLS> {
    type Layout = EachOf<1024>;
}

type Tile<T, L> = cuda_safe::Tile<T, <L as Larger>::Layout>;

#[kernel] //~ ERROR mismatched types: expected `1024`, found `1`
pub fn tile_of_another_size(block: Block<Plane>, tile: Tile<f32, EachOf<1>>) {
    let _ = (block, tile);
}

type Positive<S> = Extent<S>;

#[kernel]
pub fn stride_that_may_be_zero(thread: cuda_safe::Thread, y: Out<f32, Strided<N>>, n: Positive<N>) { //~ ERROR no parameter of the kernel is a `cuda_safe::Positive<N>`
    y.put(thread.own(), n.get() as f32);
}

#[kernel]
pub fn stride_by_the_name_of_a_positive(
    thread: cuda_safe::Thread,
    y: Out<f32, Strided<N>>, //~ ERROR no parameter of the kernel is a `cuda_safe::Positive<N>`
    n: Extent<cuda_safe::Positive<N>>,
) {
    y.put(thread.own(), n.get() as f32);
}

#[kernel]
pub fn two_slicings(block: Block<Sliced>, y: Out<f32, Each<N>>, one: PerBlock, other: PerBlock) { //~ ERROR a launch has one `PerBlock`, which `one` is already
    let _ = (block, y, one, other);
}

#[kernel]
pub fn runs_of_nothing(thread: cuda_safe::Thread<cuda_safe::shape::Runs<0>>, y: Out<f32, Each<N>>) { //~ ERROR evaluation panicked: no launch has this shape: `Runs` and `Unrolled` give a thread 1 to 65536 places
    let _ = (thread, y);
}

#[kernel]
pub fn tiles_that_warps_do_not_fit(block: Block<cuda_safe::shape::Tiles<40>>) { //~ ERROR evaluation panicked: no launch has this shape
    let _ = block;
}
