//! Kernels whose launches are measured, and that no safe signature can state; see [`crate::launch`].
//!
//! Arrays as parameters and what a dependent launch promises are `cuda_std`'s, which a typed kernel does not take.

use core::cell::Cell;
use cuda_std::{dependent, kernel, thread};

/// A parameter of this many words.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Words<const WORDS: usize>(pub [u64; WORDS]);

/// Writes the last word of its parameters, 64, 512 or 4080 bytes: with the destination, the last is the most that all drivers
/// take.
///
/// # Safety
/// Nothing else accesses the destination during the launch.
// PTX launch_parameters_64, launch_parameters_512, launch_parameters_4080: contains ld.param.b64
// PTX launch_parameters_64, launch_parameters_512, launch_parameters_4080: contains st.global.b64
#[kernel(
    launch_parameters_64 = <8>,
    launch_parameters_512 = <64>,
    launch_parameters_4080 = <510>,
    requires(destination.len() == 1)
)]
pub unsafe fn launch_parameters<const WORDS: usize>(parameters: Words<WORDS>, destination: &[Cell<u64>]) {
    if thread::index_1d() == 0 {
        // SAFETY: the destination has a word, which one thread writes.
        unsafe { destination.get_unchecked(0).set(parameters.0[WORDS - 1]) }
    }
}

/// Lets the launch behind it start, and waits for the one ahead.
///
/// # Safety
/// None is needed: it touches no memory. The attribute asks for `unsafe`.
// PTX: contains griddepcontrol.launch_dependents
// PTX: contains griddepcontrol.wait
#[kernel(arch = "90a")]
pub unsafe fn launch_dependent() {
    dependent::launch_dependents();
    dependent::wait_for_predecessor();
}
