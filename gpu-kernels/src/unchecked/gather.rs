//! A scatter with plain stores; see [`crate::gather`].
//!
//! It is unsafe because no two threads may write one element, which follows from the values of the indices, and no type carries
//! values.

use super::position::grid_index;
use core::cell::Cell;
use cuda_std::kernel;

/// `destination[indices[i]] = source[i]`.
///
/// # Safety
/// The indices are a permutation of `0..n`, all three slices have `n` elements, and nothing else accesses the destination
/// during the launch.
// PTX: contains 2x ld.global.nc.b32
// PTX: contains st.global.b32
// PTX: lacks trap
#[kernel(requires(source.len() == indices.len(), destination.len() == indices.len()))]
pub unsafe fn scatter_unchecked(indices: &[u32], source: &[u32], destination: &[Cell<u32>]) {
    let i = grid_index();
    if i < indices.len() {
        // SAFETY: the slices have one length, and each index is below it.
        unsafe {
            destination.get_unchecked(*indices.get_unchecked(i) as usize).set(*source.get_unchecked(i));
        }
    }
}
