//! A ring of stages in shared memory, filled by one thread and read by groups of others.
//!
//! Each stage has two barriers. *Full*: the producer announces a stage's bytes and arrives once; the phase ends when the
//! copy engine has written them. *Empty*: each group of consumers arrives once when it has read the stage. A barrier's
//! phases alternate in parity, and a thread that waits names the parity of its phase. Slot and parity
//! advance together in one place, here:
//!
//! ```text
//! use of the ring      0  1  2  3  4  5  6  7  8       (four stages)
//! slot                 0  1  2  3  0  1  2  3  0
//! consumer waits full  0  0  0  0  1  1  1  1  0       the phase that this use fills
//! producer waits empty 1  1  1  1  0  0  0  0  1       the phase in which the use before was read
//! ```
//!
//! For the first round the producer names the phase before the first, which counts as over.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

#[cfg(target_arch = "nvptx64")]
use super::cluster::map_to_rank;
use super::map::{Corner, Map};
use super::tile::SwizzledTile;
use crate::async_copy::{Barrier, fence_barrier_init};
#[cfg(target_arch = "nvptx64")]
use crate::async_copy::{arrive_expect_bytes, init_barrier, is_phase_over};
use crate::gpu_only;
use crate::shared;

/// `STAGES` stages of `BYTES` bytes each in shared memory, and two barriers for each.
#[derive(Clone, Copy, Debug)]
pub struct Ring<const STAGES: u32, const BYTES: u32> {
    stages: u32,
    /// The full barriers, then the empty ones.
    barriers: u32,
}

/// A slot and the parity of the phase that fills it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Position {
    slot: u32,
    parity: u32,
}

impl Position {
    /// The position, and moves on to the next.
    #[inline(always)]
    const fn take<const STAGES: u32>(&mut self) -> Self {
        let now = *self;
        self.slot += 1;
        if self.slot == STAGES {
            self.slot = 0;
            self.parity ^= 1;
        }
        now
    }
}

/// The end of a ring that fills stages. One thread has it.
#[derive(Debug)]
pub struct Producer<const STAGES: u32, const BYTES: u32> {
    ring: Ring<STAGES, BYTES>,
    next: Position,
}

/// The end of a ring that reads stages. All threads of a group have one each.
#[derive(Debug)]
pub struct Consumer<const STAGES: u32, const BYTES: u32> {
    ring: Ring<STAGES, BYTES>,
    next: Position,
    elected: bool,
    /// The first of the empty barriers at which the elected thread arrives.
    empty: u32,
}

/// A stage that nobody reads and whose bytes are announced: to be filled with [`load`](Self::load).
#[derive(Debug)]
#[must_use = "consumers wait for its bytes"]
pub struct Filling<const BYTES: u32> {
    stage: u32,
    full: u32,
}

/// A stage that is filled and may be read until it is [released](Self::release).
#[derive(Debug)]
#[must_use = "the producer waits until it is released"]
pub struct Stage<const BYTES: u32> {
    stage: u32,
    empty: u32,
    elected: bool,
}

impl<const STAGES: u32, const BYTES: u32> Ring<STAGES, BYTES> {
    /// Bytes of all stages.
    pub const BYTES: u32 = STAGES * BYTES;

    /// The ring with its stages from an address within shared memory on, and these barriers: two for each stage.
    ///
    /// # Safety
    /// `stages` is a multiple of 1024 and [`BYTES`](Self::BYTES) from there on are the ring's alone; `barriers` points to
    /// `2 * STAGES` barriers in shared memory, as [`shared_array!`](crate::shared_array) makes them.
    #[gpu_only]
    #[inline(always)]
    #[must_use]
    pub unsafe fn new(stages: u32, barriers: *const Barrier) -> Self {
        const {
            assert!(
                STAGES >= 1 && BYTES.is_multiple_of(1024) && BYTES < 1 << 20,
                "stages are multiples of 1024 bytes"
            )
        };
        Self { stages, barriers: shared::address(barriers) }
    }

    /// Initialises the barriers for that many groups of consumers.
    ///
    /// One thread does it, and then the block meets at [`sync_threads`](crate::thread::sync_threads) (the cluster at
    /// [`cluster_sync`](super::cluster_sync)).
    ///
    /// # Safety
    /// Nothing uses the ring yet. As many threads will be elected consumers: `groups`, times the blocks that release to this
    /// one.
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn init(self, groups: u32) {
        let mut slot = 0;
        while slot < STAGES {
            // SAFETY: the barriers are in shared memory, and nothing uses them yet.
            unsafe {
                init_barrier(self.full(slot), 1);
                init_barrier(self.empty(slot), groups);
            }
            slot += 1;
        }
        fence_barrier_init();
    }

    /// The filling end.
    ///
    /// # Safety
    /// The barriers are initialised and visible; one thread of the block takes this end, once.
    #[gpu_only]
    #[inline(always)]
    #[must_use]
    pub unsafe fn producer(self) -> Producer<STAGES, BYTES> {
        Producer { ring: self, next: Position::default() }
    }

    /// The reading end, for a thread of a group. The elected thread speaks for its group when a stage is released.
    ///
    /// # Safety
    /// The barriers are initialised and visible; each thread takes this end once, and of each group one is elected. All
    /// threads of a group wait for the same stages, and release them together.
    #[gpu_only]
    #[inline(always)]
    #[must_use]
    pub unsafe fn consumer(self, elected: bool) -> Consumer<STAGES, BYTES> {
        Consumer { ring: self, next: Position::default(), elected, empty: self.empty(0) }
    }

    /// The reading end of a ring that other blocks of the cluster fill too, by multicast: a stage is to be free in all blocks
    /// before one of them fills it. One thread of a group is elected for each such block, and speaks to that block,
    /// whose `rank` it names; stages are released by [`release_to_peer`](Stage::release_to_peer).
    ///
    /// # Safety
    /// As for [`consumer`](Self::consumer), in all blocks of the cluster, whose rings lie at the same addresses.
    #[gpu_only]
    #[inline(always)]
    #[must_use]
    pub unsafe fn consumer_among(self, elected: bool, rank: u32) -> Consumer<STAGES, BYTES> {
        Consumer { ring: self, next: Position::default(), elected, empty: map_to_rank(self.empty(0), rank) }
    }

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    const fn full(self, slot: u32) -> u32 {
        self.barriers + 8 * slot
    }

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    const fn empty(self, slot: u32) -> u32 {
        self.barriers + 8 * (STAGES + slot)
    }

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    const fn stage(self, slot: u32) -> u32 {
        self.stages + BYTES * slot
    }
}

impl<const STAGES: u32, const BYTES: u32> Producer<STAGES, BYTES> {
    /// Waits until the next stage has been read, announces its bytes and hands it out.
    #[gpu_only]
    #[inline(always)]
    pub fn fill(&mut self) -> Filling<BYTES> {
        let position = self.next.take::<STAGES>();
        // SAFETY: the barrier is initialised.
        unsafe { while !is_phase_over(self.ring.empty(position.slot), position.parity ^ 1) {} }
        self.announce(position.slot)
    }

    /// [`fill`](Self::fill), which ends the kernel with a trap if it waits for some hundred milliseconds or more: a kernel that
    /// hangs takes the whole device with it.
    ///
    /// This is for a thread that only fills. With a trap in a loop of the threads that multiply, ptxas gives up on running
    /// `wgmma` asynchronously.
    #[gpu_only]
    #[inline(always)]
    pub fn fill_or_trap(&mut self) -> Filling<BYTES> {
        const PATIENCE: u32 = 1 << 22;
        let position = self.next.take::<STAGES>();
        let mut tries = 0;
        // SAFETY: the barrier is initialised; a trap is defined.
        unsafe {
            while !is_phase_over(self.ring.empty(position.slot), position.parity ^ 1) {
                tries += 1;
                if tries == PATIENCE {
                    asm!("trap;", options(nostack, preserves_flags));
                }
            }
        }
        self.announce(position.slot)
    }

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    fn announce(&self, slot: u32) -> Filling<BYTES> {
        let full = self.ring.full(slot);
        // SAFETY: the barrier is initialised; one thread arrives for each phase, and announces less than 2^20 bytes.
        unsafe { arrive_expect_bytes(full, BYTES) };
        Filling { stage: self.ring.stage(slot), full }
    }
}

impl<const BYTES: u32> Filling<BYTES> {
    /// Starts to copy the map's box at a corner to the tile `offset` bytes into the stage
    /// (`cp.async.bulk.tensor`, sm_90). What lies outside the matrix becomes zeros.
    ///
    /// # Safety
    /// The map swizzles by 128 bytes and its box is `ROWS` rows of 128 bytes. `offset` is a multiple of 1024 and the tile ends
    /// within the stage. All loads of one filling together are `BYTES` bytes, no two to the same place.
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn load<const ROWS: u32>(&self, offset: u32, map: Map<'_>, at: impl Corner) {
        // SAFETY: consumers read the stage after the barrier's phase, which expects these bytes.
        unsafe { map.load(SwizzledTile::<ROWS>::at(self.stage + offset), at, self.full) }
    }

    /// The same for each block of the cluster whose bit is set in `ranks` (`.multicast::cluster`, sm_90).
    ///
    /// # Safety
    /// As for [`load`](Self::load); the rings of all these blocks lie at the same addresses and are at the same stage, which
    /// consumers of all of them have released.
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn load_multicast<const ROWS: u32>(
        &self,
        offset: u32,
        map: Map<'_>,
        at: impl Corner,
        ranks: u16,
    ) {
        // SAFETY: as above, in each block.
        unsafe { map.load_multicast(SwizzledTile::<ROWS>::at(self.stage + offset), at, self.full, ranks) }
    }
}

/// Bytes that lie in memory as they are to lie in the stage.
impl<const BYTES: u32> Filling<BYTES> {
    /// Starts to copy bytes of global memory to `offset` bytes into the stage
    /// (`cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes`, sm_90).
    ///
    /// # Safety
    /// `source` is to global memory; it, `offset` and `bytes` are multiples of 16, and the bytes end within the stage. All loads of
    /// one filling together are `BYTES` bytes, no two to the same place. Nothing writes the source meanwhile.
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn copy<T>(&self, offset: u32, source: *const T, bytes: u32) {
        // SAFETY: consumers read the stage after the barrier's phase, which expects these bytes.
        unsafe {
            asm!(
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{}], [{}], {}, [{}];",
                in(reg32) self.stage + offset, in(reg64) source, in(reg32) bytes, in(reg32) self.full,
                options(nostack, preserves_flags)
            );
        }
    }

    /// The same for each block of the cluster whose bit is set in `ranks` (`.multicast::cluster`, sm_90).
    ///
    /// # Safety
    /// As for [`copy`](Self::copy); the rings of all these blocks lie at the same addresses and are at the same stage, which
    /// consumers of all of them have released.
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn copy_multicast<T>(&self, offset: u32, source: *const T, bytes: u32, ranks: u16) {
        // SAFETY: as above, in each block.
        unsafe {
            asm!(
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [{}], [{}], {}, [{}], {};",
                in(reg32) self.stage + offset, in(reg64) source, in(reg32) bytes, in(reg32) self.full, in(reg16) ranks,
                options(nostack, preserves_flags)
            );
        }
    }
}

impl<const STAGES: u32, const BYTES: u32> Consumer<STAGES, BYTES> {
    /// Waits until the next stage is filled.
    #[gpu_only]
    #[inline(always)]
    pub fn wait(&mut self) -> Stage<BYTES> {
        let Position { slot, parity } = self.next.take::<STAGES>();
        // SAFETY: the barrier is initialised, and this stage's phase is its current one or the one before.
        unsafe { while !is_phase_over(self.ring.full(slot), parity) {} }
        Stage { stage: self.ring.stage(slot), empty: self.empty + 8 * slot, elected: self.elected }
    }
}

impl<const BYTES: u32> Stage<BYTES> {
    /// The address of what lies `offset` bytes into the stage.
    #[inline(always)]
    #[must_use]
    pub const fn address(&self, offset: u32) -> u32 {
        self.stage + offset
    }

    /// The tile `offset` bytes into the stage, a multiple of 1024.
    #[inline(always)]
    #[must_use]
    pub const fn tile<const ROWS: u32>(&self, offset: u32) -> SwizzledTile<ROWS> {
        SwizzledTile::at(self.stage + offset)
    }

    /// Gives the stage back to be filled (`mbarrier.arrive.shared`, of the elected thread alone).
    ///
    /// # Safety
    /// Nothing reads the stage any more in this thread's group; a `wgmma` that reads it is complete.
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn release(self) {
        // SAFETY: the barrier is initialised, and one thread of each group arrives.
        unsafe {
            asm!(
                "{{ .reg .pred %elected; setp.ne.u32 %elected, {}, 0;",
                "@%elected mbarrier.arrive.shared.b64 _, [{}]; }}",
                in(reg32) u32::from(self.elected), in(reg32) self.empty, options(nostack, preserves_flags)
            );
        }
    }

    /// Tells the block to which the elected thread speaks that the stage may be filled (`mbarrier.arrive.shared::cluster`), for
    /// stages of [`consumer_among`](Ring::consumer_among).
    ///
    /// The arrival is unqualified. With `.release.cluster`, which the reads of `wgmma` do not need, machine code has a fence
    /// of the whole GPU's memory at each stage, which cost a fifth of the speed on an H200.
    ///
    /// # Safety
    /// As for [`release`](Self::release).
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn release_to_peer(self) {
        // SAFETY: that block's barrier lies at the same address, and counts an arrival of each group of the cluster.
        unsafe {
            asm!(
                "{{ .reg .pred %elected; setp.ne.u32 %elected, {}, 0;",
                "@%elected mbarrier.arrive.shared::cluster.b64 _, [{}]; }}",
                in(reg32) u32::from(self.elected), in(reg32) self.empty, options(nostack, preserves_flags)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Position;

    #[test]
    fn parity_changes_with_each_round() {
        let mut position = Position::default();
        let uses: [(u32, u32); 9] = core::array::from_fn(|_| {
            let Position { slot, parity } = position.take::<4>();
            (slot, parity)
        });
        assert_eq!(uses, [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1), (1, 1), (2, 1), (3, 1), (0, 0)]);
    }
}
