#![no_std]
#![no_main]
#![forbid(unsafe_code)]

//! A barrier in the code of a thread.

use cuda_safe::shape::Warps;
use cuda_safe::tile::EachWarps;
use cuda_safe::{Block, Thread, Tile, kernel};

#[kernel]
pub fn in_a_closure(mut block: Block<Warps>) {
    block.each(|thread| { //~ ERROR `&mut Block<Warps>` would carry a value that differs between threads out into the block's code
        if thread.x() < 3 {
            block.barrier();
        }
    });
}

#[kernel]
pub fn through_a_reference(mut block: Block<Warps>, mut other: Tile<f32, EachWarps>) {
    let kept = &mut block;
    let again = &mut other;
    kept.each(|_| core::mem::drop(&again)); //~ ERROR `&mut Tile<f32, EachWarps>` would carry a value that differs between threads out into the block's code
}

#[kernel]
pub fn without_a_block(thread: Thread) {
    thread.barrier(); //~ ERROR no method named `barrier` found for struct `Thread<S>` in the current scope
}
