//! # Preparing operands
//!
//! What tensor maps and tensor cores ask of a matrix that a program does not give: rows that begin at multiples of 16 bytes, and
//! f32 as two numbers of TF32. Both are one pass over memory, which a product of thousands of terms hides: 8192 x 8192 f32
//! take 0.2 ms, their product 9 ms.

use cuda_std::{kernel, thread};

/// The nearest number with 10 bits of fraction, ties away from zero, as `cvt.rna.tf32.f32` has it.
#[inline(always)]
fn nearest_tf32(x: f32) -> f32 {
    const HALF: u32 = 1 << 12;
    const KEPT: u32 = !0x1fff;
    f32::from_bits(x.to_bits().wrapping_add(HALF) & KEPT)
}

/// Splits each number in two of TF32: `high` to the first half of `parts`, `low` to the second, with `x = high + low` but for the
/// last of 24 bits. Not for infinities and numbers that round to them.
///
/// # Safety
/// `parts` points to `2 * x.len()` elements that nothing else accesses during the launch.
// PTX: contains ld.global.nc.b32
// PTX: contains 2x st.global.b32
// PTX: contains 2x and.b32
#[kernel(arch = "90a")]
pub unsafe fn split_tf32(x: &[f32], parts: *mut f32) {
    let stride = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    let mut index =
        thread::block_idx_x() as usize * thread::block_dim_x() as usize + thread::thread_idx_x() as usize;
    while index < x.len() {
        let high = nearest_tf32(x[index]);
        // SAFETY: promised by the caller; this thread alone has this index.
        unsafe {
            parts.add(index).write(high);
            parts.add(x.len() + index).write(nearest_tf32(x[index] - high));
        }
        index += stride;
    }
}

/// Copies rows of 16-bit elements to rows that are `to_pitch` apart, with zeros behind the last column; or back, if `to_pitch` is
/// the smaller.
///
/// # Safety
/// `from` has `rows * from_pitch` elements and `to` points to `rows * to_pitch`, which nothing else accesses during the launch.
// PTX: contains ld.global.nc.b16
// PTX: contains st.global.b16
#[kernel(arch = "90a", requires(from.len() == rows * from_pitch))]
pub unsafe fn repitch(from: &[u16], to: *mut u16, rows: u32, from_pitch: u32, to_pitch: u32) {
    let mut row = thread::block_idx_x();
    while row < rows {
        let mut column = thread::thread_idx_x();
        while column < to_pitch {
            let source = row as usize * from_pitch as usize + column as usize;
            // SAFETY: promised by the caller; this thread alone has this element.
            unsafe {
                let element = if column < from_pitch { *from.get_unchecked(source) } else { 0 };
                to.add(row as usize * to_pitch as usize + column as usize).write(element);
            }
            column += thread::block_dim_x();
        }
        row += thread::grid_dim_x();
    }
}
