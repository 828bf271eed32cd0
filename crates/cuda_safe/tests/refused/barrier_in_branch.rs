#![no_std]
#![no_main]
#![forbid(unsafe_code)]

//! A barrier that some threads reach and some do not: the decision is a thread's.

use cuda_safe::shape::Warps;
use cuda_safe::{Block, kernel};

#[kernel]
pub fn branch(mut block: Block<Warps>) {
    let some = block.each(|thread| thread.x() < 3);
    if some { //~ ERROR mismatched types: expected `bool`, found `PerThread<bool>`
        block.barrier();
    }
}

#[kernel]
pub fn loop_of_a_thread(mut block: Block<Warps>) {
    let turns = block.each(|thread| thread.x());
    for _ in 0..turns { //~ ERROR mismatched types: expected integer, found `PerThread<u32>`
        block.barrier();
    }
}

#[kernel]
pub fn compared(mut block: Block<Warps>) {
    let x = block.each(|thread| thread.x());
    if x < 3 { //~ ERROR binary operation `<` cannot be applied to type `PerThread<u32>`
        block.barrier();
    }
}

#[kernel]
pub fn index_of_a_thread(mut block: Block<Warps>) {
    let chosen = block.each(|thread| thread.x() as usize);
    if [true, false][chosen] { //~ ERROR the type `[bool]` cannot be indexed by `PerThread<usize>`
        block.barrier();
    }
}
