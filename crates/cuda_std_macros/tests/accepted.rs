//! The macros in a crate that uses them, on the host.

use cuda_std::{address_space, externally_visible, gpu_only, kernel};

/// Adds one slice to another.
///
/// # Safety
/// `output` is as long as the slices.
#[kernel(launch_bounds(256))]
pub unsafe fn add<'a>(x: &'a [f32], y: &'a [f32], output: *mut f32) {
    for (place, (x, y)) in x.iter().zip(y).enumerate() {
        // SAFETY: promised by the caller.
        unsafe { *output.add(place) = x + y }
    }
}

#[address_space(constant)]
#[unsafe(no_mangle)]
static mut COEFFICIENTS: [f32; 2] = [1.5, 2.5];

#[externally_visible]
#[unsafe(no_mangle)]
fn exported_twice(value: u32) -> u32 {
    2 * value
}

#[gpu_only]
fn only_there(value: u32) -> u32 {
    this_is_not_even_a_function(value)
}

#[test]
fn a_kernel_is_an_ordinary_function_on_the_host() {
    let mut sums = [0.0; 2];
    // SAFETY: all three have two elements.
    unsafe { add(&[1.0, 2.0], &[0.5, 0.25], sums.as_mut_ptr()) };
    assert_eq!(sums, [1.5, 2.25]);
}

#[test]
fn statics_and_exports_are_ordinary_too() {
    // SAFETY: nothing writes it.
    assert_eq!(unsafe { COEFFICIENTS }, [1.5, 2.5]);
    assert_eq!(exported_twice(21), 42);
}

#[test]
#[should_panic(expected = "accepted::only_there is only on the GPU: it was called on the host")]
fn a_gpu_only_function_says_so() {
    only_there(1);
}
