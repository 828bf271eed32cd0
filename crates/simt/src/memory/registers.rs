//! Reads and writes one lane of a register of any width.

use crate::registers::{Cell, Slot, Width};

/// Returns the low 64 bits of a lane.
///
/// # Safety
/// The slot is of this frame.
#[inline(always)]
pub(super) unsafe fn read_lane(slot: Slot, frame: *mut Cell, lane: usize) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        match slot.width {
            Width::Word => u64::from((*slot.words(frame))[lane]),
            Width::Double | Width::Quad => (*slot.doubles(frame))[lane],
            Width::Predicate => u64::from(*slot.predicate(frame) >> lane & 1),
        }
    }
}

/// Writes a lane, truncated to the register's width.
///
/// # Safety
/// The slot is of this frame.
#[inline(always)]
pub(super) unsafe fn write_lane(slot: Slot, frame: *mut Cell, lane: usize, value: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        match slot.width {
            Width::Word => (*slot.words(frame))[lane] = value as u32,
            Width::Double => (*slot.doubles(frame))[lane] = value,
            Width::Quad => write_lane_128(slot, frame, lane, u128::from(value)),
            Width::Predicate => {
                let bits = slot.predicate(frame);
                *bits = *bits & !(1 << lane) | (value as u32 & 1) << lane;
            }
        }
    }
}

/// Returns all bits of a lane of a 128-bit register.
///
/// # Safety
/// The slot is of this frame, and [`Width::Quad`].
pub(super) unsafe fn read_lane_128(slot: Slot, frame: *mut Cell, lane: usize) -> u128 {
    // SAFETY: the caller's promise.
    let (low, high) = unsafe { ((*slot.doubles(frame))[lane], (*slot.doubles(frame).add(1))[lane]) };
    u128::from(low) | u128::from(high) << 64
}

/// Writes a lane of a 128-bit register.
///
/// # Safety
/// The slot is of this frame, and [`Width::Quad`].
pub(super) unsafe fn write_lane_128(slot: Slot, frame: *mut Cell, lane: usize, value: u128) {
    // SAFETY: the caller's promise.
    unsafe {
        (*slot.doubles(frame))[lane] = value as u64;
        (*slot.doubles(frame).add(1))[lane] = (value >> 64) as u64;
    }
}
