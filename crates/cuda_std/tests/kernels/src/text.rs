//! Printing and assertions.
use cuda_std::io::{assert_eq, assert_ne};
use cuda_std::prelude::*;

#[kernel]
pub unsafe fn printing(value: u32) {
    println!("100% of {value}");
    print!("no newline");
    println!();
}

#[kernel]
pub unsafe fn asserting(left: u32, right: f32) {
    assert_eq!(left, 7);
    assert_ne!(right, 1.0, "the right side of {left}");
}
