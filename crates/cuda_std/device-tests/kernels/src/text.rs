//! Text, and what ends a launch.
#![allow(
    clippy::print_literal,
    clippy::unnecessary_literal_unwrap,
    reason = "formatting and failing are tested"
)]

use cuda_std::prelude::*;
use cuda_std::io::{assert_eq, assert_ne};
use cuda_std::misc;

/// Integers and strings, which the default stack suffices for.
#[kernel]
pub unsafe fn print_numbers(values: &[u32]) {
    let value = values[crate::place()];
    println!("value {value} of 100% {:#x}", u64::from(value) << 40);
    print!("[{}|", "left");
    print!("{:>5}]", -7);
    println!();
}

/// Floats, for which the host raises the stack limit.
#[kernel]
pub unsafe fn print_floats(values: &[f32]) {
    let value = values[crate::place()];
    println!("float {value} {:.3} {:e}", f64::from(value) * 1e9, value);
}

/// Fails unless the number is 7, in one way or another.
#[kernel]
pub unsafe fn fails(number: u32, way: u32, values: &[u32], result: *mut u32) {
    match way {
        0 => assert_eq!(number, 7, "the number of way {way}"),
        1 => assert_ne!(number, 8),
        2 => core::assert!(number == 7, "not printed"),
        3 => {
            if number != 7 {
                panic!("not printed");
            }
        }
        4 => *result = values[number as usize],
        5 => {
            if number != 7 {
                misc::breakpoint();
            }
        }
        _ => *result = (number as usize).checked_sub(8).map_or(0, |_| None::<u32>.unwrap()),
    }
    *result = 1;
}
