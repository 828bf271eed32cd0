#![no_std]
#![no_main]
#![forbid(unsafe_code)]

//! Parameters of types that cannot cross from the host, or that nothing says the size of.

use core::cell::Cell;
use cuda_safe::names::{N, Nx, Ny};
use cuda_safe::shape::Plane;
use cuda_safe::{AlongRows, Each, Extent, In, Out, Strided, Thread, kernel};

/// Has padding, and a `bool` of which most bits are none.
#[derive(Clone, Copy)]
pub struct Settings {
    pub factor: f32,
    pub doubled: bool,
}

#[kernel]
pub fn no_plain_value(thread: Thread, settings: Settings) { //~ ERROR `Settings` is not plain bits, as a kernel's values and the elements of its arrays and tiles are
    let _ = (thread, settings);
}

#[kernel]
pub fn truth(thread: Thread, doubled: bool) { //~ ERROR `bool` is not plain bits, as a kernel's values and the elements of its arrays and tiles are
    let _ = (thread, doubled);
}

#[kernel]
pub fn array_of_no_plain_values(thread: Thread, x: In<Settings, Each<N>>) { //~ ERROR `Settings` is not plain bits, as a kernel's values and the elements of its arrays and tiles are
    let _ = (thread, x);
}

#[kernel]
pub fn array_behind_another_name(thread: Thread, x: Source) { //~ ERROR `In<f32, Each<N>>` is not plain bits, as a kernel's values and the elements of its arrays and tiles are
    let _ = (thread, x);
}

type Source = In<f32, Each<N>>;

#[kernel]
pub fn no_number_of_columns(thread: Thread<Plane>, y: Out<f32, AlongRows<Ny, Nx>>, ny: Extent<Ny>) { //~ ERROR no parameter of the kernel is the number `Nx`
    let _ = (thread, y, ny);
}

#[kernel]
pub fn no_stride(thread: Thread, y: Out<f32, Strided<N>>) { //~ ERROR no parameter of the kernel is a `Positive<N>`
    let _ = (thread, y);
}

#[kernel]
pub fn slice_that_all_write(thread: Thread, y: &[Cell<f32>]) { //~ ERROR `core::cell::Cell<f32>` is not plain bits, as a kernel's values and the elements of its arrays and tiles are
    let _ = (thread, y);
}

#[kernel]
pub fn two_lengths_of_one_name(thread: Thread, one: Extent<N>, other: Extent<N>) { //~ ERROR a launch has one number of each name: `one` is `N` already. Give `other` a name of its own, with `enum Other {}`
    let _ = (thread, one, other);
}
