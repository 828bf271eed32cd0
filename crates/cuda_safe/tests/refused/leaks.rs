#![no_std]
#![no_main]
#![forbid(unsafe_code)]

//! Values of a thread carried out of its code, where the block could branch on them.

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use cuda_safe::shape::Warps;
use cuda_safe::{Block, kernel};

#[kernel]
pub fn assignment(mut block: Block<Warps>) {
    let mut some = false;
    block.each(|thread| some = thread.x() < 3); //~ ERROR `&mut bool` would carry a value that differs between threads out into the block's code
    if some {
        block.barrier();
    }
}

#[kernel]
pub fn cell(mut block: Block<Warps>) {
    let some = Cell::new(false);
    block.each(|thread| some.set(thread.x() < 3)); //~ ERROR `core::cell::Cell<bool>` would carry a value that differs between threads out into the block's code
    if some.get() {
        block.barrier();
    }
}

#[kernel]
pub fn local_atomic(mut block: Block<Warps>) {
    let some = AtomicBool::new(false);
    block.each(|thread| some.store(thread.x() < 3, Relaxed)); //~ ERROR `AtomicBool` would carry a value that differs between threads out into the block's code
    if some.load(Relaxed) {
        block.barrier();
    }
}

/// Tells what it holds when it is dropped.
struct Tells<'a>(&'a Cell<bool>, bool);

impl Drop for Tells<'_> {
    fn drop(&mut self) {
        self.0.set(self.1);
    }
}

#[kernel]
pub fn drop_of_the_result(mut block: Block<Warps>) {
    let some = Cell::new(false);
    drop(block.each(|thread| Tells(&some, thread.x() < 3))); //~ ERROR `core::cell::Cell<bool>` would carry a value that differs between threads out into the block's code
    if some.get() {
        block.barrier();
    }
}

#[kernel]
pub fn captured_by_move(mut block: Block<Warps>) {
    let some = Cell::new(false);
    let told = &some;
    block.each(move |thread| told.set(thread.x() < 3)); //~ ERROR `core::cell::Cell<bool>` would carry a value that differs between threads out into the block's code
    if some.get() {
        block.barrier();
    }
}

/// Tells what it is when it is written out.
#[derive(Clone, Copy)]
struct Speaks(bool);

impl core::fmt::Display for Speaks {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(if self.0 { "some" } else { "" })
    }
}

#[kernel]
pub fn written_out(mut block: Block<Warps>) {
    use core::fmt::Write;
    let said = block.each(|thread| Speaks(thread.x() < 3));
    let _ = write!(Ears, "{said}"); //~ ERROR `PerThread<Speaks>` doesn't implement `Display`
}

struct Ears;

impl core::fmt::Write for Ears {
    fn write_str(&mut self, _: &str) -> core::fmt::Result {
        Ok(())
    }
}

#[kernel]
pub fn asked_of_the_shape(mut block: Block<Warps>) {
    use cuda_safe::shape::AlongX;
    if Warps::number() < 3 { //~ ERROR this function takes 1 argument but 0 arguments were supplied
        block.barrier();
    }
}

#[kernel]
pub fn asked_of_cuda_std(mut block: Block<Warps>) {
    if cuda_std::thread::thread_idx_x() < 3 { //~ ERROR cannot find module or crate `cuda_std` in this scope
        block.barrier();
    }
}

#[kernel]
pub fn asked_of_what_the_macro_calls(mut block: Block<Warps>) {
    if cuda_safe::__kernel::cuda_std::thread::thread_idx_x() < 3 { //~ ERROR cannot find `thread` in `cuda_std`
        block.barrier();
    }
}

#[kernel]
pub fn looked_into(mut block: Block<Warps>) {
    let some = block.each(|thread| thread.x() < 3);
    if some.0 { //~ ERROR field `0` of struct `PerThread` is private
        block.barrier();
    }
}
