//! # Storage: where a variable lives
//!
//! One small kernel for each place where a variable can be. The instruction that reaches it names the place:
//!
//! | kernel | the variable | who sees it, and how long | instruction |
//! | --- | --- | --- | --- |
//! | `storage_global` | [`STORAGE_GLOBAL`], a marked `static mut` | all threads and, by name, the host; as long as the module | `ld.global`, `st.global` |
//! | `storage_shared_static` | an array of a size that the compiler knows | the threads of a block, while it runs | `ld.shared`, `st.shared` |
//! | `storage_shared_dynamic` | an array whose size the launch says | the same | the same |
//! | `storage_constant` | [`STORAGE_CONSTANT`], a marked `static mut` | all threads read it, the host writes it by name; as long as the module | `ld.const` |
//! | `storage_local` | an array that one thread indexes with what it only knows when it runs | that thread | `ld.local`, `st.local` |
//! | `storage_managed` | [`STORAGE_MANAGED`], a marked `static mut` | all threads, and the host by its address; as long as the module | `ld.global`, `st.global` |
//!
//! The last but one is where no Rust variable wants to be. A `let` lives in a register, which has no address; an array
//! whose indices the compiler knows does too, an element a register. Only an index that it does not know makes it an array in
//! memory: device memory, a thread's own, slow where L1 does not have it.
//!
//! A host that is to write a variable by its name must find it, and the compiler must not believe to know what is in it: such
//! statics are `static mut` and `no_mangle`.
//!
//! # Launch
//! One block of [`LENGTH`] threads in x for all of them. With `i` the thread:
//!
//! | kernel | parameters | dynamic shared bytes | effect |
//! | --- | --- | --- | --- |
//! | `storage_global` | - | 0 | `STORAGE_GLOBAL[i] += 2` |
//! | `storage_shared_static` | source, destination | 0 | `destination[i] = source[255 - i]` |
//! | `storage_shared_dynamic` | source, destination | `256 * 4` | the same |
//! | `storage_constant` | source, destination | 0 | `destination[i] = source[i] * STORAGE_CONSTANT[i % 4]` |
//! | `storage_local` | source, destination | 0 | `destination[i]`: how many of the elements of thread `i`'s warp are the same as `source[i]`, as `u32` modulo 16 |
//! | `storage_managed` | - | 0 | `STORAGE_MANAGED[i] += 2` |
//!
//! Sources are slices of 256 `f32` (not negative for `storage_local`), destinations have as many.

use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{address_space, kernel, shared_array, thread};

/// Threads of the block, and elements of each array.
pub const LENGTH: usize = 256;

/// Elements of a thread's own array in `storage_local`.
pub const OWN: usize = 16;

/// A variable in device memory, which the host reads and writes by its name.
#[address_space(global)]
#[unsafe(no_mangle)]
pub static mut STORAGE_GLOBAL: [f32; LENGTH] = [0.0; LENGTH];

/// A variable in constant memory, which the host writes by its name.
#[address_space(constant)]
#[unsafe(no_mangle)]
pub static mut STORAGE_CONSTANT: [f32; 4] = [1.0, 2.0, 3.0, 4.0];

/// A variable in managed memory, which the host touches where it lies.
#[address_space(managed)]
#[unsafe(no_mangle)]
pub static mut STORAGE_MANAGED: [f32; LENGTH] = [0.0; LENGTH];

/// Adds 2 to each element of a device global.
///
/// # Safety
/// One block of [`LENGTH`] threads, while nothing else touches the variable.
// PTX: contains ld.global.b32
// PTX: contains st.global.b32
#[kernel]
pub unsafe fn storage_global() {
    let index = thread::thread_idx_x() as usize;
    // SAFETY: promised by the caller; each thread has its own element.
    unsafe { *(&raw mut STORAGE_GLOBAL).cast::<f32>().add(index) += 2.0 }
}

/// Turns an array round in shared memory of a known size.
///
/// # Safety
/// One block of [`LENGTH`] threads; `source` has as many elements and `destination` points to as many.
// PTX: contains st.shared.b32
// PTX: contains ld.shared.b32
// PTX: contains bar.sync or barrier.sync
#[kernel]
pub unsafe fn storage_shared_static(source: &[f32], destination: *mut f32) {
    let array = shared_array![f32; LENGTH];
    // SAFETY: promised by the caller, and the array has an element for each thread.
    unsafe { turn_round(array, source, destination) }
}

/// Turns an array round in shared memory of the launch's size.
///
/// # Safety
/// As for [`storage_shared_static`], with `LENGTH * 4` bytes of dynamic shared memory.
// PTX: contains st.shared.b32
// PTX: contains ld.shared.b32
// PTX: contains bar.sync or barrier.sync
#[kernel]
pub unsafe fn storage_shared_dynamic(source: &[f32], destination: *mut f32) {
    // SAFETY: promised by the caller.
    unsafe { turn_round(dynamic_shared_mem(), source, destination) }
}

/// Each thread puts its element into the array and takes that of the thread opposite.
///
/// # Safety
/// As for [`storage_shared_static`], and `array` points to [`LENGTH`] elements of shared memory.
#[inline(always)]
unsafe fn turn_round(array: *mut f32, source: &[f32], destination: *mut f32) {
    let index = thread::thread_idx_x() as usize;
    // SAFETY: promised by the caller; the barrier stands between writing and reading.
    unsafe {
        array.add(index).write(*source.get_unchecked(index));
        thread::sync_threads();
        destination.add(index).write(*array.add(LENGTH - 1 - index));
    }
}

/// Multiplies each element by one of four constants. Neighbouring lanes read different ones, in four requests: constant
/// memory serves one address at a time, see [`constant`](crate::constant).
///
/// # Safety
/// As for [`storage_shared_static`].
// PTX: contains ld.const.b32
#[kernel]
pub unsafe fn storage_constant(source: &[f32], destination: *mut f32) {
    let index = thread::thread_idx_x() as usize;
    // SAFETY: promised by the caller; nothing writes the constant during a launch.
    unsafe { destination.add(index).write(*source.get_unchecked(index) * STORAGE_CONSTANT[index % 4]) }
}

/// Each thread counts the elements of its warp by their values, in an array of its own, and stores how many are as its own
/// is.
///
/// # Safety
/// As for [`storage_shared_static`].
// PTX: contains st.local
// PTX: contains ld.local
// PTX: allows local because an array in local memory is what this kernel shows
#[kernel]
pub unsafe fn storage_local(source: &[f32], destination: *mut f32) {
    let index = thread::thread_idx_x() as usize;
    let first = index / 32 * 32;
    let mut counts = [0.0_f32; OWN];
    // SAFETY: promised by the caller: the elements of a warp are within the source.
    unsafe {
        let kind = |nth: usize| *source.get_unchecked(nth) as u32 as usize % OWN;
        for nth in first..first + 32 {
            counts[kind(nth)] += 1.0;
        }
        destination.add(index).write(counts[kind(index)]);
    }
}

/// Adds 2 to each element of a managed variable.
///
/// # Safety
/// As for [`storage_global`]: the host too leaves the variable alone.
// PTX: contains ld.global.b32
// PTX: contains st.global.b32
#[kernel]
pub unsafe fn storage_managed() {
    let index = thread::thread_idx_x() as usize;
    // SAFETY: promised by the caller; each thread has its own element.
    unsafe { *(&raw mut STORAGE_MANAGED).cast::<f32>().add(index) += 2.0 }
}
