//! # Atomics: what it costs to meet at an address
//!
//! An atomic operation reads, changes and writes a number so that no other thread comes between. Atomics of global memory
//! are executed in L2, by the slice that has the address; those of shared memory in the SM. Every thread here does the
//! same number of operations, on one of `addresses` counters: thread `i` on the one with the number `i % addresses`. With one
//! address, all operations wait for one another. With one per thread, none does, and the rate is that of the units.
//!
//! - `atomics_global_add_*`: reductions (`red`), which give nothing back. Lanes of a warp with one address are joined on the
//!   way.
//! - `atomics_global_fetch_u32`: the same with the old value as a result (`atom`), for which the thread waits.
//! - `atomics_global_cas_*`: a loop of compare-and-swap, as one writes any operation that the hardware lacks. Of all threads
//!   that try at a time one succeeds, so contention costs twice: each operation waits, and most are in vain.
//! - `atomics_global_match_u32`: lanes with the same address find one another (`match.any`), and one of them adds for all.
//! - `atomics_global_redux_u32`, `atomics_global_tree_f32`: where all lanes of a warp have one address, they add up first, by
//!   `redux.add` or, in floating point, by five shuffles. Here warp `i` has the address `i % addresses`.
//! - `atomics_shared_*`: the same in shared memory, with counters of each block's own.
//!
//! An operation counts once for each thread that asks for it, however few atomics of memory it became.
//!
//! # Exact sums
//! All operations add 1, so the order does not matter. `f32` is exact up to 2^24, where adding 1 no longer changes it: the
//! expected value stops there too.
//!
//! # Launch
//! Blocks and grids are one-dimensional; blocks are whole warps. `addresses` is a power of two. A thread does `repeats`
//! operations. Counters of global memory accumulate over launches; those of shared memory begin at 0, and thread `i` of a
//! block writes the counter `i`, or 0 where there is none.

use cuda_safe::atomic::{Atomic, InSpace, Memory};
use cuda_safe::integer::opaque;
use cuda_safe::names::N;
use cuda_safe::shape::{AlongX, Warps};
use cuda_safe::spread::Spread;
use cuda_safe::unroll::repeat;
use cuda_safe::{
    Atomics, Bits, Block, EachThread, Lanes, Out, PerThread, Thread, Tile, Votes, Width, kernel,
};

/// Counters of a block in shared memory.
pub const SHARED: usize = 1024;

/// A number that counts.
pub trait Counter: Bits + InSpace + PartialEq {
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;

    /// One more.
    fn next(self) -> Self;
}

macro_rules! counters {
    ($($type:ty, $zero:literal, $one:literal, |$value:ident| $next:expr;)*) => {$(
        impl Counter for $type {
            const ZERO: Self = $zero;
            const ONE: Self = $one;

            #[inline(always)]
            fn next(self) -> Self {
                let $value = self;
                $next
            }
        }
    )*};
}

counters! {
    u32, 0, 1, |value| value.wrapping_add(1);
    u64, 0, 1, |value| value.wrapping_add(1);
    f32, 0.0, 1.0, |value| value + 1.0;
}

/// Adds in global memory.
// PTX atomics_global_add_u32: contains red.relaxed.gpu.global.add.u32
// PTX atomics_global_add_u64: contains red.relaxed.gpu.global.add.u64
// PTX atomics_global_add_f32: contains red.relaxed.gpu.global.add.f32
// PTX atomics_global_add_u32, atomics_global_add_u64, atomics_global_add_f32: lacks atom
#[kernel(
    atomics_global_add_u32 = <u32>, atomics_global_add_u64 = <u64>, atomics_global_add_f32 = <f32>,
    requires(addresses.is_power_of_two() && counters.len() >= addresses)
)]
pub fn global_add<T: Counter>(thread: Thread, counters: Atomics<T, N>, addresses: u32, repeats: u32) {
    if let Some(counter) = counters.at(thread.number() & (addresses as usize - 1)) {
        (0..repeats).for_each(|_| counter.add(T::ONE));
    }
}

/// Adds in global memory, and sums up the old values.
// PTX: contains atom.relaxed.gpu.global.add.u32
// PTX: lacks red.
#[kernel(requires(addresses.is_power_of_two() && counters.len() >= addresses))]
pub fn atomics_global_fetch_u32(
    thread: Thread,
    counters: Atomics<u32, N>,
    results: Out<u32, EachThread>,
    addresses: u32,
    repeats: u32,
) {
    if let Some(counter) = counters.at(thread.number() & (addresses as usize - 1)) {
        let sum = (0..repeats).fold(0_u32, |sum, _| sum.wrapping_add(counter.fetch_add(&thread, 1)));
        results.put(thread.own(), sum);
    }
}

/// Adds in global memory by compare-and-swap.
// PTX atomics_global_cas_u32: contains atom.relaxed.gpu.global.cas.b32
// PTX atomics_global_cas_u64: contains atom.relaxed.gpu.global.cas.b64
// PTX atomics_global_cas_u32, atomics_global_cas_u64: lacks red.
#[kernel(
    atomics_global_cas_u32 = <u32>, atomics_global_cas_u64 = <u64>,
    requires(addresses.is_power_of_two() && counters.len() >= addresses)
)]
pub fn global_cas<T: Counter>(thread: Thread, counters: Atomics<T, N>, addresses: u32, repeats: u32) {
    if let Some(counter) = counters.at(thread.number() & (addresses as usize - 1)) {
        add_all_by_swaps(&thread, counter, repeats);
    }
}

/// Adds in global memory, once for all lanes of a warp with the same address.
// PTX: contains match.any.sync.b32
// PTX: contains red.relaxed.gpu.global.add.u32
#[kernel(requires(addresses.is_power_of_two() && counters.len() >= addresses))]
pub fn atomics_global_match_u32(
    mut block: Block<Warps>,
    counters: Atomics<u32, N>,
    addresses: u32,
    repeats: u32,
) {
    let index = block.each(|thread| thread.number() as u32 & (addresses - 1));
    for _ in 0..repeats {
        let peers = block.match_any(index);
        block.map(index.zip(peers), |thread, (index, peers)| {
            if thread.lane() == peers.trailing_zeros()
                && let Some(counter) = counters.at(index as usize)
            {
                counter.add(peers.count_ones());
            }
        });
    }
}

/// Adds in global memory, once per warp, what the lanes have added up by one instruction.
// PTX: contains red.relaxed.gpu.global.add.u32
#[kernel(requires(addresses.is_power_of_two() && counters.len() >= addresses))]
pub fn atomics_global_redux_u32(
    mut block: Block<Warps>,
    counters: Atomics<u32, N>,
    addresses: u32,
    repeats: u32,
) {
    for _ in 0..repeats {
        // The value is not known to the compiler, which would else multiply it.
        let ones = block.each(|_| opaque(1));
        let sums = block.sum(ones);
        add_per_warp(&mut block, counters, addresses, sums);
    }
}

/// Adds in global memory, once per warp, what the lanes have added up by shuffles.
// PTX: contains 5x shfl.sync.bfly.b32
// PTX: contains red.relaxed.gpu.global.add.f32
#[kernel(requires(addresses.is_power_of_two() && counters.len() >= addresses))]
pub fn atomics_global_tree_f32(
    mut block: Block<Warps>,
    counters: Atomics<f32, N>,
    addresses: u32,
    repeats: u32,
) {
    for _ in 0..repeats {
        let ones = block.each(|_| f32::from_bits(opaque(1.0_f32.to_bits())));
        let sums = repeat::<5, _>(ones, |sums, nth| {
            let others = block.shuffle_xor(sums, 16 >> nth, Width::WARP);
            block.map(sums.zip(others), |_, (sum, other)| sum + other)
        });
        add_per_warp(&mut block, counters, addresses, sums);
    }
}

/// Adds each warp's sum to the warp's counter.
#[inline(always)]
fn add_per_warp<T: Counter>(
    block: &mut Block<Warps>,
    counters: Atomics<T, N>,
    addresses: u32,
    sums: PerThread<T>,
) {
    block.each(|thread| {
        if thread.lane() == 0
            && let Some(counter) = counters.at((thread.number() / 32) & (addresses as usize - 1))
        {
            counter.add(sums.of(thread));
        }
    });
}

/// Adds in shared memory.
// PTX atomics_shared_add_u32: contains red.relaxed.cta.shared.add.u32
// PTX atomics_shared_add_u64: contains red.relaxed.cta.shared.add.u64
// PTX atomics_shared_add_f32: contains red.relaxed.cta.shared.add.f32
#[kernel(
    atomics_shared_add_u32 = <u32>, atomics_shared_add_u64 = <u64>, atomics_shared_add_f32 = <f32>,
    requires(addresses.is_power_of_two() && addresses <= 1024)
)]
pub fn shared_add<T: Counter>(
    mut block: Block<Warps>,
    tile: Tile<T, Spread<SHARED>>,
    results: Out<T, EachThread>,
    addresses: u32,
    repeats: u32,
) {
    let tile = block.write(tile, |thread, cells| cells.fill(thread, T::ZERO));
    let tile = block.open(tile);
    block.each(|thread| {
        if let Some(counter) = tile.at((thread.x() & (addresses - 1)) as usize) {
            (0..repeats).for_each(|_| counter.add(T::ONE));
        }
    });
    let tile = block.sync(tile);
    block.each(|thread| results.put(thread.own(), tile.get(thread.x() as usize).unwrap_or(T::ZERO)));
}

/// Adds in shared memory, and uses each old value.
// PTX: contains atom.relaxed.cta.shared.add.u32
// PTX: lacks red.
#[kernel(requires(addresses.is_power_of_two() && addresses <= 1024))]
pub fn atomics_shared_fetch_u32(
    mut block: Block<Warps>,
    tile: Tile<u32, Spread<SHARED>>,
    results: Out<u32, EachThread>,
    addresses: u32,
    repeats: u32,
) {
    let tile = block.write(tile, |thread, cells| cells.fill(thread, 0));
    let tile = block.open(tile);
    let sums = block.each(|thread| {
        let Some(counter) = tile.at((thread.x() & (addresses - 1)) as usize) else { return 0 };
        (0..repeats).fold(0_u32, |sum, _| sum.wrapping_add(counter.fetch_add(thread, 1)))
    });
    let tile = block.sync(tile);
    block.each(|thread| {
        let count = tile.get(thread.x() as usize).unwrap_or(0);
        // Old values are sums of fewer than 2^31 ones, so that what is added here is 0; but only who knows them knows that.
        results.put(thread.own(), count.wrapping_add(sums.of(thread) >> 31));
    });
}

/// Adds in shared memory by compare-and-swap.
// PTX atomics_shared_cas_u32: contains atom.relaxed.cta.shared.cas.b32
// PTX atomics_shared_cas_u64: contains atom.relaxed.cta.shared.cas.b64
#[kernel(
    atomics_shared_cas_u32 = <u32>, atomics_shared_cas_u64 = <u64>,
    requires(addresses.is_power_of_two() && addresses <= 1024)
)]
pub fn shared_cas<T: Counter>(
    mut block: Block<Warps>,
    tile: Tile<T, Spread<SHARED>>,
    results: Out<T, EachThread>,
    addresses: u32,
    repeats: u32,
) {
    let tile = block.write(tile, |thread, cells| cells.fill(thread, T::ZERO));
    let tile = block.open(tile);
    block.each(|thread| {
        if let Some(counter) = tile.at((thread.x() & (addresses - 1)) as usize) {
            add_all_by_swaps(thread, counter, repeats);
        }
    });
    let tile = block.sync(tile);
    block.each(|thread| results.put(thread.own(), tile.get(thread.x() as usize).unwrap_or(T::ZERO)));
}

/// Adds in shared memory, once for all lanes of a warp with the same address.
// PTX: contains match.any.sync.b32
// PTX: contains red.relaxed.cta.shared.add.u32
#[kernel(requires(addresses.is_power_of_two() && addresses <= 1024))]
pub fn atomics_shared_match_u32(
    mut block: Block<Warps>,
    tile: Tile<u32, Spread<SHARED>>,
    results: Out<u32, EachThread>,
    addresses: u32,
    repeats: u32,
) {
    let tile = block.write(tile, |thread, cells| cells.fill(thread, 0));
    let tile = block.open(tile);
    let index = block.each(|thread| thread.x() & (addresses - 1));
    for _ in 0..repeats {
        let peers = block.match_any(index);
        block.map(index.zip(peers), |thread, (index, peers)| {
            if thread.lane() == peers.trailing_zeros()
                && let Some(counter) = tile.at(index as usize)
            {
                counter.add(peers.count_ones());
            }
        });
    }
    let tile = block.sync(tile);
    block.each(|thread| results.put(thread.own(), tile.get(thread.x() as usize).unwrap_or(0)));
}

/// Adds one by compare-and-swap, so many times.
///
/// The compiler does not know how many are left, and keeps one loop. Unrolled, lanes that are done with different copies of it
/// would not meet again, and each copy would take the memory's time by itself.
#[inline(always)]
fn add_all_by_swaps<S: AlongX, T: Counter, M: Memory>(
    thread: &Thread<S>,
    counter: Atomic<'_, T, M>,
    repeats: u32,
) {
    let mut left = repeats;
    while left > 0 {
        add_by_swaps(thread, counter);
        left = opaque(left) - 1;
    }
}

/// Adds one by compare-and-swap.
#[inline(always)]
fn add_by_swaps<S: AlongX, T: Counter, M: Memory>(thread: &Thread<S>, counter: Atomic<'_, T, M>) {
    let mut old = counter.load(thread);
    loop {
        let found = counter.swap_if(thread, old, old.next());
        if found == old {
            return;
        }
        old = found;
    }
}
