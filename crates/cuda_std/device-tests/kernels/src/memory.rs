//! Shared, constant, global and managed memory, address spaces, the heap, sizes and clocks.
use core::mem::MaybeUninit;

use cuda_std::ptr::{
    AddressSpace, convert_generic_to_specific_address_space, convert_specific_address_space_to_generic,
    is_in_address_space,
};
use cuda_std::{address_space, cfg, externally_visible, kernel, mem, misc, shared, shared_array, thread};

#[address_space(shared)]
static mut TILE: [[MaybeUninit<u32>; 33]; 32] = [const { [MaybeUninit::uninit(); 33] }; 32];

#[address_space(shared)]
static mut WIDE: MaybeUninit<[u64; 32]> = MaybeUninit::uninit();

/// A static that the host reads before it writes it, too.
#[address_space(constant)]
#[unsafe(no_mangle)]
pub static mut COEFFICIENTS: [f32; 32] = [2.5; 32];

#[address_space(constant)]
#[unsafe(no_mangle)]
pub static mut CONSTANT_BYTES: [u8; 5] = [1, 2, 3, 4, 5];

#[address_space(constant)]
#[unsafe(no_mangle)]
pub static mut CONSTANT_WORDS: [u64; 3] = [0; 3];

#[address_space(global)]
#[unsafe(no_mangle)]
pub static mut COUNTERS: [u32; 64] = [7; 64];

#[address_space(managed)]
#[unsafe(no_mangle)]
pub static mut MANAGED: [u32; 64] = [9; 64];

/// Nothing here reads it; the host does.
#[externally_visible]
#[unsafe(no_mangle)]
pub static TABLE: [u64; 4] = [1, 1 << 20, 1 << 40, u64::MAX];

/// For a block of 256: two arrays at once, each read at another thread's place.
#[kernel]
pub unsafe fn shared_arrays(values: &[u32], results: *mut [u32; 2]) {
    let (single, double) = (shared_array![u32; 256], shared_array![u32; 256]);
    let thread = thread::thread_idx_x() as usize;
    *single.add(thread) = values[crate::place()];
    *double.add(thread) = values[crate::place()].wrapping_mul(2);
    thread::sync_threads();
    *results.add(crate::place()) = [*single.add(255 - thread), *double.add(thread ^ 85)];
}

/// For blocks of 32 x 32: each block's part transposed, and the first row's numbers joined in pairs.
#[kernel]
pub unsafe fn shared_statics(values: &[u32], results: *mut u32, pairs: *mut u64) {
    let (x, y) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let block = 1024 * thread::block_idx_x() as usize;
    TILE[y][x] = MaybeUninit::new(values[block + 32 * y + x]);
    thread::sync_threads();
    *results.add(block + 32 * y + x) = TILE[x][y].assume_init();
    if y == 0 {
        let pair = u64::from(TILE[0][x].assume_init()) << 32 | u64::from(TILE[0][31 - x].assume_init());
        (*(&raw mut WIDE).cast::<[u64; 32]>())[x] = pair;
    }
    thread::sync_threads();
    if y == 1 {
        *pairs.add(32 * thread::block_idx_x() as usize + x) =
            (*(&raw const WIDE).cast::<[u64; 32]>())[31 - x];
    }
}

/// Writes numbers to dynamic shared memory with all threads in turns, and reads them from the other end, in one block.
/// Then the sizes: dynamic, all.
#[kernel]
pub unsafe fn shared_dynamic(values: &[u32], results: *mut u32, sizes: *mut u32) {
    let tile = shared::dynamic_shared_mem::<u32>();
    let step = thread::block_dim_x() as usize;
    for place in (thread::thread_idx_x() as usize..values.len()).step_by(step) {
        *tile.add(place) = values[place];
    }
    thread::sync_threads();
    for place in (thread::thread_idx_x() as usize..values.len()).step_by(step) {
        *results.add(place) = *tile.add(values.len() - 1 - place);
    }
    if thread::first() {
        *sizes = mem::dynamic_smem_size();
        *sizes.add(1) = mem::total_smem_size();
        *sizes.add(2) = shared::address(tile) % 16;
    }
}

/// 32 threads copy the constants.
#[kernel]
pub unsafe fn constants(coefficients: *mut f32, bytes: *mut u8, words: *mut u64) {
    let thread = thread::thread_idx_x() as usize;
    *coefficients.add(thread) = COEFFICIENTS[thread];
    if thread < 5 {
        *bytes.add(thread) = CONSTANT_BYTES[thread];
    }
    if thread < 3 {
        *words.add(thread) = CONSTANT_WORDS[thread];
    }
}

/// 64 threads add their place.
#[kernel]
pub unsafe fn globals() {
    let thread = thread::thread_idx_x() as usize;
    COUNTERS[thread] += thread as u32;
    MANAGED[thread] += 2 * thread as u32;
}

/// The address of the managed static.
#[kernel]
pub unsafe fn managed_address(address: *mut u64) {
    *address = (&raw const MANAGED).expose_provenance() as u64;
}

/// Whether a pointer to global, shared, constant, local memory is in the global, shared, constant, local space: 16 answers.
/// Then for each whether it comes back from the specific address that it converts to.
#[kernel]
pub unsafe fn spaces(pointers: *mut *const u32, answers: *mut u32) {
    const SPACES: [AddressSpace; 4] =
        [AddressSpace::Global, AddressSpace::Shared, AddressSpace::Constant, AddressSpace::Local];
    let mut local = 5_u32;
    // Through memory, so that the compiler does not know the address space.
    pointers.write_volatile((&raw const COUNTERS).cast());
    pointers.add(1).write_volatile((&raw const TILE).cast());
    pointers.add(2).write_volatile((&raw const COEFFICIENTS).cast());
    pointers.add(3).write_volatile(&raw mut local);
    for (place, space) in SPACES.into_iter().enumerate() {
        let pointer = pointers.add(place).read_volatile();
        for (other, asked) in SPACES.into_iter().enumerate() {
            *answers.add(4 * place + other) = u32::from(is_in_address_space(pointer, asked));
        }
        let specific = convert_generic_to_specific_address_space(pointer, space);
        let generic = convert_specific_address_space_to_generic(specific, space);
        *answers.add(16 + place) = u32::from(generic == pointer);
    }
}

/// Each thread sums a vector of its own and allocates bytes of a large alignment. The results are the sum and the
/// address modulo the alignment.
#[kernel]
pub unsafe fn heap(counts: &[u32], results: *mut [u32; 2]) {
    use cuda_std::prelude::*;
    #[repr(align(256))]
    struct Aligned([u32; 64]);
    let numbers: Vec<u32> = (0..counts[crate::place()]).map(|number| number * 3).collect();
    let mut aligned = Box::new(Aligned([0; 64]));
    for (number, place) in numbers.iter().zip((0..64).cycle()) {
        aligned.0[place] += number;
    }
    let remainder = core::hint::black_box(&raw const *aligned).addr() % 256;
    *results.add(crate::place()) = [aligned.0.iter().sum(), remainder as u32];
}

/// `[thread][clock, global timer]`, eight times, with work between.
#[kernel]
pub unsafe fn clocks(readings: *mut [u64; 2]) {
    misc::profiler_counter(3);
    for turn in 0..8 {
        *readings.add(8 * crate::place() + turn) = [misc::clock(), misc::global_timer()];
        thread::nanosleep(100);
    }
}

fn both(table: &[f64; 8], place: usize, other: &mut f64) -> f64 {
    *other = table[place / 8 % 8];
    table[place % 8]
}

#[inline(never)]
fn one(table: &[f64; 8], place: usize) -> f64 {
    table[place % 8]
}

/// Reads tables of constants at indices unknown to the compiler. The tables: a constant, a copy of it that is read by
/// reference as well, an array that is filled here, a static.
#[kernel]
pub unsafe fn tables(places: &[u32], results: *mut [f64; 5]) {
    const CONSTANT: [f64; 8] = [1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5];
    static STATIC: [f64; 8] = [-1.0, -1.25, -1.5, -1.75, -2.0, -2.5, -3.0, -3.5];
    let place = places[crate::place()] as usize;
    let copy = CONSTANT;
    let mut filled = [0.0; 8];
    for (number, slot) in filled.iter_mut().enumerate() {
        *slot = number as f64 + f64::from(places[0]);
    }
    let mut other = 0.0;
    let near = both(&copy, place, &mut other);
    *results.add(crate::place()) = [
        CONSTANT[place % 8],
        near + other,
        one(&copy, place) + copy[place / 8 % 8],
        filled[place % 8],
        STATIC[place % 8],
    ];
}

/// The architecture of the PTX, and the lowest that the crate supports.
#[kernel]
pub unsafe fn architectures(results: *mut u32) {
    *results = cfg::architecture();
    *results.add(1) =
        u32::from(cfg::ComputeCapability::from_cuda_arch_env() == cfg::ComputeCapability::Compute75);
}
