#![no_std]
#![no_main]
#![forbid(unsafe_code)]

//! Parameters that no safe kernel can have.

use cuda_safe::names::N;
use cuda_safe::{Each, In, Out, Thread, kernel};

#[kernel]
pub fn slice_for_all(thread: Thread, y: &mut [f32]) { //~ ERROR all threads of a launch would have this `&mut [..]`: say which element belongs to which thread, as in `y: Out<f32, Each<N>>`
    let _ = (thread, y);
}

#[kernel]
pub fn pointer(thread: Thread, y: *mut f32) { //~ ERROR a safe kernel takes no pointers and no references but slices: take `y` as `In<..>`, `Out<..>` or `Sum<..>`, or make the kernel an `unsafe fn`
    let _ = (thread, y);
}

#[kernel]
pub fn reference(thread: Thread, y: &f32) { //~ ERROR a safe kernel takes no pointers and no references but slices: take `y` as `In<..>`, `Out<..>` or `Sum<..>`, or make the kernel an `unsafe fn`
    let _ = (thread, y);
}

#[kernel]
pub fn two_threads(thread: Thread, other: Thread) { //~ ERROR a safe kernel has one `Thread` or `Block`, which is its first parameter
    let _ = (thread, other);
}

#[kernel]
pub fn no_thread(x: In<f32, Each<N>>, y: Out<f32, Each<N>>) { //~ ERROR a safe kernel's first parameter is the `Thread` or the `Block` whose code it is, as in `fn no_thread(thread: Thread, ..)`; a kernel without one must be an `unsafe fn`, because any launch may pass it anything
    let _ = (x, y);
}

#[kernel]
pub fn thread_behind(x: In<f32, Each<N>>, thread: Thread) { //~ ERROR a safe kernel's first parameter is the `Thread` or the `Block` whose code it is, as in `fn thread_behind(thread: Thread, ..)`; a kernel without one must be an `unsafe fn`, because any launch may pass it anything
    let _ = (x, thread);
}
