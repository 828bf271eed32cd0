//! # Clusters: the shared memory of other blocks
//!
//! From compute capability 9.0 on, blocks can run as a *cluster*: at the same time, on multiprocessors of one group (GPC), which a
//! network of its own connects. Each block reaches the shared memory of the others: *distributed shared memory*. `mapa` turns an
//! address of the own block into that of another, by its rank, and `ld.shared::cluster` reads it. The way there is longer than to
//! one's own shared memory and shorter than to L2.
//!
//! - `cluster_chase`: one thread per block follows a chain of words in its neighbour's shared memory. Each load waits for the
//!   one before, so the time per load is the latency.
//! - `cluster_read`: all threads read their neighbour's tile again and again, with several vectors in flight each. Each
//!   multiprocessor has a port to the network, through which an H200's take some 16 bytes a clock, an eighth of what they read of
//!   their own. The vectors differ within a round and from round to round ([`vector`]), or the assembler would load once for all
//!   of them.
//! - `cluster_chase_own`, `cluster_read_own`: the same from the own block by `ld.shared`, to compare with.
//!
//! In a cluster of one block the neighbour is the block itself, reached by the cluster's instruction.
//!
//! The blocks of a cluster are on one GPC, so large clusters do not fit everywhere: an H200's 132 multiprocessors have room for 30 clusters
//! of four and 15 of eight with one block each, and for seven of sixteen. Blocks beyond these share multiprocessors, ports
//! included, although others idle.
//!
//! The copy engine writes into other blocks too. Where the blocks of a cluster need the same bytes, each can load a part of them
//! and have it written to all, by a bulk copy with *multicast*: L2 is read once per cluster in place of once per block.
//!
//! - `cluster_each`: each block loads all bytes of its cluster, through a ring of four stages.
//! - `cluster_multicast`: each block loads its part of each stage for all blocks. A stage may be filled when all blocks have
//!   released it, so the slowest holds the others up.
//!
//! # Launch
//! All in clusters of 1, 2, 4, 8 or 16 blocks, of which the grid is a multiple. `own` is the block's number.
//!
//! | kernel | parameters | block | effect |
//! | --- | --- | --- | --- |
//! | `cluster_chase`, `_own` | ends, steps | 32 | `ends[own]`: where the chain of the neighbour ends |
//! | `cluster_read`, `_own` | sums, rounds | 1024 | each thread's sum of `2 rounds` vectors of the neighbour's tile; `rounds` is a multiple of 4 |
//! | `cluster_each`, `_multicast` | source, sums | 288 | the sums of the first 256 threads: each adds up two vectors of every stage of its cluster |
//!
//! The source is vectors of four `u32`, a whole number of stages of [`STAGE`] bytes, which clusters take round-robin. The last two
//! kernels have [`SHARED`] bytes of dynamic shared memory.
//!
//! # Why unsafe
//! A block's tiles are its own in `cuda_safe`. Reading another block's needs a barrier of the cluster before, and another before
//! either ends; no type here knows of more than one block.

use core::cell::Cell;
use cuda_std::async_copy::Barrier;
use cuda_std::shared::{self, load_vector, load_word};
use cuda_std::tensor::{
    Ring, aligned_dynamic_shared, cluster_rank, cluster_size, cluster_start, cluster_sync,
    load_vector_of_cluster, load_word_of_cluster, map_to_rank,
};
use cuda_std::vector::U32x4;
use cuda_std::{kernel, shared_array, thread, unroll, warp};

/// Words of the chain: 4 KiB.
pub const CHAIN: u32 = 1024;

/// Words from one link of a block's chain to the next. It is odd, so the chain passes through all words, and differs among
/// neighbours, so that each ends where its own links lead.
#[inline(always)]
#[must_use]
pub const fn link(block: u32) -> u32 {
    37 + 2 * (block % 64)
}

/// The vector that a thread reads as one of eight, with `left` eights to go. The lanes of a warp read adjacent ones.
#[inline(always)]
#[must_use]
pub const fn vector(thread: u32, nth: u32, left: u32) -> u32 {
    (thread + nth % VECTORS_EACH * READERS) ^ ((nth ^ left) % 32 * 32)
}

/// Threads of `cluster_read`.
pub const READERS: u32 = 1024;

/// Vectors of a tile that each of them reads.
pub const VECTORS_EACH: u32 = 2;

/// Vectors of a tile.
const TILE: u32 = READERS * VECTORS_EACH;

/// Bytes of a stage of the ring, and of all.
pub const STAGE: u32 = 8 << 10;
const STAGES: u32 = 4;

/// Dynamic shared memory of the kernels with a ring.
pub const SHARED: u32 = STAGES * STAGE + 1024;

/// Threads that add up, in front of the warp of which one loads.
pub const CONSUMERS: u32 = 256;

/// Threads of a block with a ring.
pub const THREADS: u32 = CONSUMERS + 32;

/// Follows a chain through the shared memory of the neighbour, or of the own block.
///
/// # Safety
/// Nothing else accesses the ends during the launch.
// PTX cluster_chase: contains ld.shared::cluster.b32
// PTX cluster_chase: contains mapa.shared::cluster.u32
// PTX cluster_chase_own: lacks ld.shared::cluster
#[kernel(
    cluster_chase = <true>,
    cluster_chase_own = <false>,
    arch = "90a",
    requires(block.count() == 32, ends.len() == grid.count())
)]
pub unsafe fn cluster_chase<const NEIGHBOURS: bool>(ends: &[Cell<u32>], steps: u32) {
    let chain = shared_array![u32; CHAIN as usize];
    let lane = thread::thread_idx_x();
    // SAFETY: a word is a byte offset below the chain's length. All blocks have written theirs before anyone reads, and none ends
    // before all have read.
    unsafe {
        let link = link(thread::block_idx_x());
        for word in (lane..CHAIN).step_by(32) {
            chain.add(word as usize).write((word + link) % CHAIN * 4);
        }
        cluster_sync();
        let start = shared::address(chain);
        let start = if NEIGHBOURS { map_to_rank(start, neighbour()) } else { start };
        let mut at = 0;
        for _ in 0..steps {
            at = if NEIGHBOURS { load_word_of_cluster(start + at) } else { load_word(start + at) };
        }
        if lane == 0 {
            ends.get_unchecked(thread::block_idx_x() as usize).set(at);
        }
        cluster_sync();
    }
}

/// Reads the tile of the neighbour, or of the own block, again and again.
///
/// # Safety
/// Nothing else accesses the sums during the launch.
// PTX cluster_read: contains 8x ld.shared::cluster.v4.b32
// PTX cluster_read_own: contains 8x ld.shared.v4.b32
// PTX cluster_read_own: lacks ld.shared::cluster
#[kernel(
    cluster_read = <true>,
    cluster_read_own = <false>,
    arch = "90a",
    launch_bounds(1024),
    requires(block.count() == 1024, sums.len() == threads.count(), rounds % 4 == 0)
)]
pub unsafe fn cluster_read<const NEIGHBOURS: bool>(sums: &[Cell<u32>], rounds: u32) {
    let tile = shared_array![U32x4; TILE as usize];
    let own = thread::thread_idx_x();
    // SAFETY: the vectors are within the tile. All blocks have written theirs before anyone reads, and none ends before all have
    // read.
    unsafe {
        for vector in [own, own + READERS] {
            let word = (thread::block_idx_x() * TILE + vector).wrapping_mul(4);
            let words = [0, 1, 2, 3].map(|nth| value(word + nth));
            tile.add(vector as usize).write(U32x4::from_array(words));
        }
        cluster_sync();
        let start = shared::address(tile);
        let start = if NEIGHBOURS { map_to_rank(start, neighbour()) } else { start };
        let load = |vector: u32| {
            let address = start + vector * 16;
            if NEIGHBOURS { load_vector_of_cluster(address) } else { load_vector(address) }
        };
        let mut sum = 0_u32;
        for left in (0..rounds / 4).rev() {
            let mut vectors = [U32x4::new(0, 0, 0, 0); 8];
            unroll!(nth in [0 1 2 3 4 5 6 7] {
                vectors[nth] = load(vector(own, nth as u32, left));
            });
            unroll!(nth in [0 1 2 3 4 5 6 7] {
                sum = sum.wrapping_add(words(vectors[nth]));
            });
        }
        sums.get_unchecked(thread::index_1d() as usize).set(sum);
        cluster_sync();
    }
}

/// The word of a tile with this number among those of all blocks.
#[inline(always)]
#[must_use]
pub const fn value(number: u32) -> u32 {
    (number ^ number >> 15).wrapping_mul(2_654_435_761)
}

/// The rank of the next block of the cluster.
#[inline(always)]
fn neighbour() -> u32 {
    let next = cluster_rank() + 1;
    if next == cluster_size() { 0 } else { next }
}

#[inline(always)]
fn words(vector: U32x4) -> u32 {
    vector.x.wrapping_add(vector.y).wrapping_add(vector.z.wrapping_add(vector.w))
}

/// Adds up the cluster's stages, which each block loads by itself, or each a part of for all.
///
/// # Safety
/// Nothing else accesses the sums during the launch.
// PTX cluster_each: contains cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
// PTX cluster_each: lacks multicast
// PTX cluster_multicast: contains cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
// PTX cluster_each, cluster_multicast: allows trap because a loader that waits for ever would take the device with it
#[kernel(
    cluster_each = <false>,
    cluster_multicast = <true>,
    arch = "90a",
    requires(
        block.count() == 288,
        source.len() % 512 == 0,
        sums.len() == grid.count() * 256
    ),
    shared = 33792
)]
pub unsafe fn cluster_sum<const MULTICAST: bool>(source: &[U32x4], sums: &[Cell<u32>]) {
    const VECTORS: u32 = STAGE / 16;
    let (own, size, rank) = (thread::thread_idx_x(), cluster_size(), cluster_rank());
    let (cluster, clusters) = (thread::block_idx_x() / size, thread::grid_dim_x() / size);
    let stages = (source.len() / VECTORS as usize) as u32;
    // SAFETY: the launch has the ring's shared memory. One thread of each block fills, and of each of eight warps of each block one
    // thread releases to each block. A stage is within the source. No block ends before all have received.
    unsafe {
        let barriers = shared_array![Barrier; 2 * STAGES as usize];
        let ring = Ring::<STAGES, STAGE>::new(aligned_dynamic_shared(), barriers);
        if own == 0 {
            ring.init(CONSUMERS / 32 * if MULTICAST { size } else { 1 });
        }
        cluster_start();
        let mine = (cluster..stages).step_by(clusters as usize);
        if own >= CONSUMERS {
            if own == CONSUMERS {
                let mut ring = ring.producer();
                for stage in mine {
                    let from = source.as_ptr().add(stage as usize * VECTORS as usize);
                    let filling = ring.fill_or_trap();
                    if MULTICAST {
                        let part = STAGE / size;
                        let from = from.cast::<u8>().add((rank * part) as usize);
                        filling.copy_multicast(rank * part, from, part, ((1 << size) - 1) as u16);
                    } else {
                        filling.copy(0, from, STAGE);
                    }
                }
            }
        } else {
            let lane = own % 32;
            let mut ring = if MULTICAST {
                ring.consumer_among(lane < size, lane % size)
            } else {
                ring.consumer(lane == 0)
            };
            let mut sum = 0_u32;
            for _ in mine {
                let stage = ring.wait();
                let near = load_vector(stage.address(own * 16));
                let far = load_vector(stage.address((own + CONSUMERS) * 16));
                sum = sum.wrapping_add(words(near)).wrapping_add(words(far));
                warp::sync_warp(u32::MAX);
                if MULTICAST {
                    stage.release_to_peer();
                } else {
                    stage.release();
                }
            }
            sums.get_unchecked((thread::block_idx_x() * CONSUMERS + own) as usize).set(sum);
        }
        cluster_sync();
    }
}
