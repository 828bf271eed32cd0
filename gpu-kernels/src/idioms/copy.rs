//! A copy, one element a thread, four times over; see the [module above](super).

use crate::position::grid_index;
use core::cell::Cell;
use cuda_std::kernel;

/// Copies with checked indexing: two checks beside the one that is meant.
///
/// # Safety
/// Nothing else touches the destination during the launch.
// PTX: contains ld.global.nc.b32
// PTX: contains 3x setp
// PTX: contains trap
// PTX: allows trap because the checks are what this kernel shows
#[kernel]
pub unsafe fn checked_copy(source: &[f32], destination: &[Cell<f32>], n: usize) {
    let index = grid_index();
    if index < n {
        destination[index].set(source[index]);
    }
}

/// Copies what both sides have.
///
/// # Safety
/// As for [`checked_copy`].
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
// PTX: lacks trap
#[kernel]
pub unsafe fn iterated_copy(source: &[f32], destination: &[Cell<f32>], n: usize) {
    let index = grid_index();
    // The length is what the slices say; `n` would be a third.
    let _ = n;
    if let (Some(value), Some(place)) = (source.get(index), destination.get(index)) {
        place.set(*value);
    }
}

/// Copies with checked indexing, after an assertion that makes the checks superfluous.
///
/// # Safety
/// As for [`checked_copy`].
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
// PTX: contains trap
// PTX: allows trap because the assertion is what this kernel shows
#[kernel]
pub unsafe fn asserted_copy(source: &[f32], destination: &[Cell<f32>], n: usize) {
    assert!(n <= source.len() && n <= destination.len());
    let index = grid_index();
    if index < n {
        destination[index].set(source[index]);
    }
}

/// Copies without checks, other than the one that is meant.
///
/// # Safety
/// As for [`checked_copy`], and both slices have `n` elements.
// PTX: contains ld.global.nc.b32
// PTX: contains st.global.b32
// PTX: lacks trap
#[kernel]
pub unsafe fn unchecked_copy(source: &[f32], destination: &[Cell<f32>], n: usize) {
    let index = grid_index();
    if index < n {
        // SAFETY: the index is below `n`, and both slices have that many elements.
        unsafe { destination.get_unchecked(index).set(*source.get_unchecked(index)) }
    }
}
