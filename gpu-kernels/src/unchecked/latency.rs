//! # Latency: how long a load takes
//!
//! A load whose address is the result of the load before it cannot begin earlier. So a chain of such loads takes the sum of
//! their latencies, and one thread that follows it measures them. The chain here is a random cycle through all slots of an
//! array: hardware cannot guess the next address, and each slot is visited once before the first one comes again.
//!
//! The size of the array decides where its loads hit. On an H200 a load takes 32 clock cycles in L1, and 250 to 310 in L2, depending
//! on the slice that has the line. In DRAM it takes about 540 or 730, depending on the half of L2 that it misses. The TLB adds 10 cycles
//! beyond 256 MiB; its last level reaches 64 GiB, and in an array of 96 GiB it adds 45 on average. Shared memory takes 23 cycles, constant
//! memory a little more while its cache of 2 KiB holds the table.
//!
//! Slots farther apart than lines leave lines out. If a cache chose a line's place by some bits of its address alone, lines at a
//! power of two of bytes from each other would push each other out. L1 of an H200 does not: 512 lines 4 KiB apart hit as 512
//! neighbours do, and only the number of lines counts (`coalesce run latency --full`, or `--range` for strides in words of 8 bytes).
//!
//! - `chase_cached`: through global memory and L1 (`ld.global.ca`).
//! - `chase_l2`: past L1 (`ld.global.cg`).
//! - `chase_shared`, `chase_constant`: the same chain in shared and in constant memory.
//! - `chase_each`: past L1, with the clock read around each load. Its loads take a few cycles longer, but each has a figure of
//!   its own: their distribution shows the halves of L2 as two modes.
//!
//! The kernels are unsafe because an address that is loaded is data: no type proves that it is in the array. A comparison would
//! prove it, and would be a part of the latency.
//!
//! # Launch
//! One block of [`THREADS`] threads, of which the first follows the chain. `state` has two words: the byte of the chain at which
//! it stands, which the next launch continues from, and the clock cycles of the last `steps` loads, which `warm` loads
//! precede. Both numbers are multiples of [`UNROLLED`].
//!
//! | kernel | a slot of the chain |
//! | --- | --- |
//! | `chase_cached`, `chase_l2`, `chase_each` | a `u64`: the address of the next |
//! | `chase_shared`, `chase_constant` | a `u32`: the byte of the next, from the chain's start |
//!
//! `chase_each` has no `warm`; it writes the address that each load found to `visited`, and its clock cycles to `cycles`.

use core::ptr::with_exposed_provenance;
use cuda_safe::constant;
use cuda_safe::unroll::repeat;
use cuda_std::access::{load_cached_all, load_cached_global};
use cuda_std::misc::{clock, timed_load};
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{kernel, thread};

/// Loads per iteration of the loops.
pub const UNROLLED: u32 = 16;

/// Threads of the block. They fill shared memory together, and the first follows the chain.
pub const THREADS: u32 = 32;

/// Slots of [`CHASE_TABLE`].
pub const TABLE: usize = 8192;

constant! {
    /// The chain of `chase_constant`, which the host writes before a launch.
    pub static CHASE_TABLE: [u32; TABLE] = [0; TABLE];
}

/// Follows a chain through L1.
///
/// # Safety
/// Each slot that is reached from the state has the address of another slot of the chain, and nothing else accesses the state's
/// two words.
// PTX: contains 32x ld.global.ca.b64
// PTX: contains %clock64
#[kernel(requires(grid.count() == 1, block.count() == 32))]
pub unsafe fn chase_cached(chain: &[u64], state: *mut u64, warm: u32, steps: u32) {
    if thread::thread_idx_x() != 0 {
        return;
    }
    // SAFETY: promised by the caller.
    unsafe { chase(chain, state, [warm, steps], |at| load_cached_all(at)) }
}

/// Follows a chain past L1.
///
/// # Safety
/// As for [`chase_cached()`].
// PTX: contains 32x ld.global.cg.b64
// PTX: contains %clock64
#[kernel(requires(grid.count() == 1, block.count() == 32))]
pub unsafe fn chase_l2(chain: &[u64], state: *mut u64, warm: u32, steps: u32) {
    if thread::thread_idx_x() != 0 {
        return;
    }
    // SAFETY: promised by the caller.
    unsafe { chase(chain, state, [warm, steps], |at| load_cached_global(at)) }
}

/// Follows a chain in shared memory.
///
/// # Safety
/// Each slot that is reached from the state has the byte of another slot of the chain, and nothing else accesses the state's
/// two words.
// PTX: contains 32x ld.shared.b32
// PTX: contains %clock64
#[kernel(shared = chain.len() * 4, requires(grid.count() == 1, block.count() == 32))]
pub unsafe fn chase_shared(chain: &[u32], state: *mut u64, warm: u32, steps: u32) {
    let tile = dynamic_shared_mem::<u32>();
    let mut slot = thread::thread_idx_x() as usize;
    while slot < chain.len() {
        // SAFETY: the launch has shared memory for the whole chain, and each slot is one thread's.
        unsafe { tile.add(slot).write(chain[slot]) };
        slot += THREADS as usize;
    }
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        // SAFETY: promised by the caller.
        unsafe { walk_bytes(tile, state, [warm, steps]) }
    }
}

/// Follows a chain in constant memory.
///
/// # Safety
/// As for [`chase_shared()`], with the chain in [`CHASE_TABLE`].
// PTX: contains 32x ld.const.b32
// PTX: contains %clock64
#[kernel(requires(grid.count() == 1, block.count() == 32))]
pub unsafe fn chase_constant(state: *mut u64, warm: u32, steps: u32) {
    if thread::thread_idx_x() != 0 {
        return;
    }
    // SAFETY: promised by the caller.
    unsafe { walk_bytes(CHASE_TABLE.as_ptr().cast::<u32>(), state, [warm, steps]) }
}

/// Follows a chain past L1 and times each load by itself.
///
/// # Safety
/// As for [`chase_cached()`]; `visited` and `cycles` have `steps` elements that nothing else accesses.
// PTX: contains ld.global.cg.u64
// PTX: contains %clock64
#[kernel(requires(grid.count() == 1, block.count() == 32))]
pub unsafe fn chase_each(chain: &[u64], state: *mut u64, visited: *mut u64, cycles: *mut u32, steps: u32) {
    if thread::thread_idx_x() != 0 {
        return;
    }
    let first = chain.as_ptr();
    // SAFETY: promised by the caller.
    unsafe {
        let mut at = first.byte_add(*state as usize);
        let mut sum = 0;
        for step in 0..steps as usize {
            let (next, took) = timed_load(at, visited.add(step));
            cycles.add(step).write(took);
            sum += u64::from(took);
            at = with_exposed_provenance(next as usize);
        }
        *state = at.addr() as u64 - first.addr() as u64;
        *state.add(1) = sum;
    }
}

/// Follows addresses, `warm` of them before the clock starts.
///
/// # Safety
/// As for [`chase_cached()`].
#[inline(always)]
unsafe fn chase(chain: &[u64], state: *mut u64, [warm, steps]: [u32; 2], load: impl Fn(*const u64) -> u64) {
    let first = chain.as_ptr();
    // SAFETY: promised by the caller.
    let start = unsafe { first.byte_add(*state as usize) };
    let next = |at| with_exposed_provenance(load(at) as usize);
    let (at, cycles) = timed(start, [warm, steps], next);
    // SAFETY: promised by the caller.
    unsafe {
        *state = at.addr() as u64 - first.addr() as u64;
        *state.add(1) = cycles;
    }
}

/// Follows bytes from `first` on.
///
/// # Safety
/// As for [`chase_shared()`], with the chain at `first`.
#[inline(always)]
unsafe fn walk_bytes(first: *const u32, state: *mut u64, steps: [u32; 2]) {
    // SAFETY: promised by the caller.
    unsafe {
        let (at, cycles) = timed(*state as u32, steps, |at| *first.byte_add(at as usize));
        *state = u64::from(at);
        *state.add(1) = cycles;
    }
}

/// Takes `warm` steps, then `steps` more, and says how many clock cycles these took.
#[inline(always)]
fn timed<At: Copy>(start: At, [warm, steps]: [u32; 2], next: impl Fn(At) -> At) -> (At, u64) {
    let walk = |mut at: At, mut left: u32| {
        while left >= UNROLLED {
            at = repeat::<UNROLLED, _>(at, |at, _| next(at));
            left -= UNROLLED;
        }
        at
    };
    let at = walk(start, warm);
    let begin = clock();
    let at = walk(at, steps);
    (at, clock() - begin)
}
