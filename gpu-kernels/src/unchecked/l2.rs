//! # L2: what stays, what is fetched, and what a store costs
//!
//! All traffic with memory passes through L2. Three things decide how well it serves.
//!
//! **What stays.** A kernel that reads a table again and again beside a stream of data that it reads once needs the table to stay.
//! Left alone, L2 keeps what was used last, and the stream pushes the table out. `l2_plain` reads both alike: for each vector
//! of the stream one of the table. `l2_evict_first` marks the stream's lines as the first to leave (`createpolicy`
//! with `L2::evict_first`, passed to each load), and `l2_evict_last` also the table's as the last to leave. The driver offers the
//! same without a change of the kernel: a part of L2 is set aside, and an *access policy window* of a launch has the table
//! persist there. If the table stays, DRAM delivers the stream alone, and the rate approaches twice that of DRAM.
//!
//! **What is fetched.** L2 keeps sectors of 32 bytes and asks DRAM for more than one at a time. `l2_fetch` uses one sector of every
//! 32, 64, 128 or 256 bytes. While the rate of sectors falls as the distance grows, DRAM moves the bytes between them too; from
//! the distance on at which it no longer falls, they are left out. `l2_fetch_128` and `l2_fetch_256` ask for that many bytes by
//! their instruction (`ld.global.L2::128B`), which is for data of which neighbours are used soon.
//!
//! **What a store costs.** A store of a whole sector replaces it. A store of a part leaves L2 with a sector of which it knows only
//! some bytes; it keeps a mask of them, and when the sector leaves, the others must be read from DRAM first or be written under
//! a mask. `l2_store` writes some words of each 32 bytes or of each 128.
//!
//! # Launch
//! All are one-dimensional, of any blocks.
//!
//! | kernel | parameters | grid |
//! | --- | --- | --- |
//! | `l2_plain`, `l2_evict_first`, `l2_evict_last` | stream, table, sums | any; thread `t` adds up vectors `t`, `t + threads`, .. of the stream, and vectors of the same numbers of the table, modulo its length |
//! | `l2_fetch`, `_128`, `_256` | source, sums, distance | any; thread `t` adds up the words `t * distance`, `(t + threads) * distance`, .. |
//! | `l2_store` | destination, used, pitch | a thread for each word written, or more: word `t` goes to `t / used * pitch + t % used`, and has the value `t` |
//!
//! Distances and pitches are in words. `used` and `pitch` are powers of two, and the stream is a whole number of vectors per
//! thread.
//!
//! # Why unsafe
//! Policies are attributes of single loads, by `cuda_std`; and that the words of `l2_store` are different ones follows from a
//! formula that no shape of `cuda_safe` has.

use super::position::grid_index;
use core::cell::Cell;
use core::hint::assert_unchecked;
use cuda_std::access::{CachePolicy, load_l2_128, load_l2_256, load_no_allocate, load_with_policy};
use cuda_std::vector::U32x4;
use cuda_std::{kernel, thread};

/// Adds up a stream and a table beside it.
///
/// # Safety
/// Nothing else accesses the sums during the launch.
// PTX l2_plain: contains 2x ld.global.L1::no_allocate.v4.b32
// PTX l2_plain: lacks createpolicy
// PTX l2_evict_first: contains createpolicy.fractional.L2::evict_first
// PTX l2_evict_first: contains ld.global.L1::no_allocate.L2::cache_hint.v4.b32
// PTX l2_evict_last: contains createpolicy.fractional.L2::evict_last
// PTX l2_evict_last: contains 2x ld.global.L1::no_allocate.L2::cache_hint.v4.b32
#[kernel(
    l2_plain = <false, false>,
    l2_evict_first = <true, false>,
    l2_evict_last = <true, true>,
    arch = "90a",
    requires(table.len() > 0, sums.len() == threads.count(), stream.len() % threads.count() == 0)
)]
pub unsafe fn l2_beside<const FIRST: bool, const LAST: bool>(
    stream: &[U32x4],
    table: &[U32x4],
    sums: &[Cell<u32>],
) {
    let (first, last) = (CachePolicy::evict_first(), CachePolicy::evict_last());
    let (threads, own) = (thread::grid_dim_x() as usize * thread::block_dim_x() as usize, grid_index());
    let mut sum = 0_u32;
    // SAFETY: the table has a vector; both indices are below their lengths; there is a sum for each thread.
    unsafe {
        assert_unchecked(!table.is_empty());
        let (mut at, step) = (own % table.len(), threads % table.len());
        let mut nth = own;
        while nth < stream.len() {
            let (near, far) = (stream.as_ptr().add(nth), table.as_ptr().add(at));
            let near = if FIRST { load_with_policy(near, first) } else { load_no_allocate(near) };
            let far = if LAST { load_with_policy(far, last) } else { load_no_allocate(far) };
            sum = sum.wrapping_add(words(near)).wrapping_add(words(far).rotate_left(1));
            nth += threads;
            at += step;
            at = if at >= table.len() { at - table.len() } else { at };
        }
        sums.get_unchecked(own).set(sum);
    }
}

#[inline(always)]
fn words(vector: U32x4) -> u32 {
    vector.x.wrapping_add(vector.y).wrapping_add(vector.z.wrapping_add(vector.w))
}

/// Adds up one word of every `distance`.
///
/// # Safety
/// Nothing else accesses the sums during the launch.
// PTX l2_fetch: contains ld.global.L1::no_allocate.b32
// PTX l2_fetch_128: contains ld.global.L2::128B.b32
// PTX l2_fetch_256: contains ld.global.L2::256B.b32
#[kernel(
    l2_fetch = <32>,
    l2_fetch_128 = <128>,
    l2_fetch_256 = <256>,
    arch = "90a",
    requires(distance > 0, sums.len() == threads.count(), source.len() % distance == 0)
)]
pub unsafe fn l2_fetch<const BYTES: u32>(source: &[u32], sums: &[Cell<u32>], distance: u32) {
    let (threads, own) = (thread::grid_dim_x() as usize * thread::block_dim_x() as usize, grid_index());
    let mut sum = 0_u32;
    // SAFETY: the index is below the length; there is a sum for each thread.
    unsafe {
        let mut at = own * distance as usize;
        while at < source.len() {
            let word = source.as_ptr().add(at);
            sum = sum.wrapping_add(match BYTES {
                128 => load_l2_128(word),
                256 => load_l2_256(word),
                _ => load_no_allocate(word),
            });
            at += threads * distance as usize;
        }
        sums.get_unchecked(own).set(sum);
    }
}

/// Writes `used` words of every `pitch`.
///
/// # Safety
/// Nothing else accesses the destination during the launch.
// PTX: contains st.global.b32
#[kernel(requires(
    used.is_power_of_two(),
    pitch.is_power_of_two(),
    used <= pitch,
    destination.len() % pitch == 0
))]
pub unsafe fn l2_store(destination: &[Cell<u32>], used: u32, pitch: u32) {
    let own = thread::index_1d();
    let place = (own >> used.trailing_zeros()) as usize * pitch as usize + (own & (used - 1)) as usize;
    if place < destination.len() {
        // SAFETY: the place is in the destination, and no other thread's.
        unsafe { destination.get_unchecked(place).set(own) }
    }
}
