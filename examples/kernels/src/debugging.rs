//! What is slow and helps: text from a kernel, and memory that a kernel allocates.
#![expect(unsafe_code, reason = "kernels over plain slices")]

use alloc::vec::Vec;

use cuda_std::{kernel, println, thread};

/// The first thread of each block says who it is.
///
/// # Safety
/// None is needed; only safe kernels are launched without the word.
#[kernel]
pub unsafe fn hello() {
    if thread::thread_idx_x() == 0 {
        println!("hello from block {} of {}", thread::block_idx_x(), thread::grid_dim_x());
    }
}

/// Thread `i` finds the primes up to `i` in a vector of its own, and writes how many there are.
///
/// # Safety
/// `counts` has an element for each thread.
#[kernel]
pub unsafe fn count_primes(counts: *mut u32) {
    let last = thread::index_1d();
    let mut primes: Vec<u32> = Vec::new();
    for number in 2..=last {
        if primes.iter().all(|prime| !number.is_multiple_of(*prime)) {
            primes.push(number);
        }
    }
    // SAFETY: promised by the caller.
    unsafe { *counts.add(last as usize) = primes.len() as u32 }
}
