//! Tensor maps on the device: boxes of a matrix, moved by the copy engine.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
use core::marker::PhantomData;

use super::tile::SwizzledTile;
use crate::{GridConstant, gpu_only};

/// A tensor map: what the host made with `cuTensorMapEncodeTiled` (`cuda_driver::ext::TensorMap`).
///
/// A kernel takes `GridConstant<TensorMap>`, whose bytes are among its parameters and are ready for use
/// ([`GridConstant::map`]), or `&TensorMap`, whose 128 bytes the host copies to device memory, and which cost a fence in each thread
/// that uses them ([`acquire`](Self::acquire)).
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct TensorMap([u64; 16]);

/// A tensor map that the calling thread may use.
#[derive(Clone, Copy, Debug)]
pub struct Map<'a> {
    address: u64,
    map: PhantomData<&'a TensorMap>,
}

impl TensorMap {
    /// Makes the map that the host wrote visible to the calling thread's copies, if `elected`
    /// (`fence.proxy.tensormap::generic.acquire.gpu`, sm_90, PTX 8.3).
    ///
    /// The other threads get the same handle, which they must not use.
    #[gpu_only]
    #[inline(always)]
    #[must_use]
    pub fn acquire(&self, elected: bool) -> Map<'_> {
        let address = core::ptr::from_ref(self).expose_provenance() as u64;
        // SAFETY: orders accesses.
        unsafe {
            asm!(
                "{{ .reg .pred %elected; setp.ne.u32 %elected, {}, 0;",
                "@%elected fence.proxy.tensormap::generic.acquire.gpu [{}], 128; }}",
                in(reg32) u32::from(elected), in(reg64) address, options(nostack, preserves_flags)
            );
        }
        Map { address, map: PhantomData }
    }
}

impl Map<'_> {
    /// Starts to copy the box at column `x` and row `y` into shared memory; its bytes count for the barrier
    /// (`cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes`, sm_90).
    ///
    /// # Safety
    /// The map is of a matrix, swizzles by 128 bytes, and its box is as large as the tile. The barrier, at an address
    /// within shared memory, is initialised and expects the bytes. Until its phase is over, nothing accesses the tile and nothing
    /// writes the matrix.
    #[gpu_only]
    #[inline(always)]
    pub(super) unsafe fn load<const ROWS: u32>(
        self,
        to: SwizzledTile<ROWS>,
        (x, y): (u32, u32),
        barrier: u32,
    ) {
        // SAFETY: promised by the caller.
        unsafe {
            asm!(
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [{}], [{}, {{{}, {}}}], [{}];",
                in(reg32) to.address(), in(reg64) self.address, in(reg32) x, in(reg32) y, in(reg32) barrier,
                options(nostack, preserves_flags)
            );
        }
    }

    /// The same into each block of the cluster whose bit is set in `ranks`, at the same place, counted at each one's own
    /// barrier (`.multicast::cluster`, sm_90).
    ///
    /// # Safety
    /// As for [`load`](Self::load), in each of the blocks.
    #[gpu_only]
    #[inline(always)]
    pub(super) unsafe fn load_multicast<const ROWS: u32>(
        self,
        to: SwizzledTile<ROWS>,
        (x, y): (u32, u32),
        barrier: u32,
        ranks: u16,
    ) {
        // SAFETY: promised by the caller.
        unsafe {
            asm!(
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [{}], [{}, {{{}, {}}}], [{}], {};",
                in(reg32) to.address(), in(reg64) self.address, in(reg32) x, in(reg32) y, in(reg32) barrier,
                in(reg16) ranks, options(nostack, preserves_flags)
            );
        }
    }

    /// Starts to copy a tile from shared memory to the box at column `x` and row `y`, as one group, if `elected`. What lies
    /// outside the matrix is not written (`cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group` and
    /// `cp.async.bulk.commit_group`, sm_90).
    ///
    /// The thread waits for its groups with [`bulk_wait_group_read`](crate::async_copy::bulk_wait_group_read), after which the
    /// tile may be written again, and before its end with [`bulk_wait_group`](crate::async_copy::bulk_wait_group).
    ///
    /// # Safety
    /// The map is of a matrix, swizzles by 128 bytes, and its box is as large as the tile. Each thread that wrote the tile called
    /// [`fence_async_proxy`](crate::async_copy::fence_async_proxy) before a barrier that this thread was at too. Nothing
    /// writes the tile until the group has been read, and nothing accesses the box until the group is complete.
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn store<const ROWS: u32>(self, from: SwizzledTile<ROWS>, (x, y): (u32, u32), elected: bool) {
        // SAFETY: promised by the caller.
        unsafe {
            asm!(
                "{{ .reg .pred %elected; setp.ne.u32 %elected, {}, 0;",
                "@%elected cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [{}, {{{}, {}}}], [{}];",
                "@%elected cp.async.bulk.commit_group; }}",
                in(reg32) u32::from(elected), in(reg64) self.address, in(reg32) x, in(reg32) y,
                in(reg32) from.address(), options(nostack, preserves_flags)
            );
        }
    }
}

/// Maps among a kernel's parameters.
impl<'a> GridConstant<'a, TensorMap> {
    /// The map, ready for use: the launch made it visible.
    #[gpu_only]
    #[inline(always)]
    #[must_use]
    pub fn map(self) -> Map<'a> {
        let address = core::ptr::from_ref(self.get()).expose_provenance() as u64;
        Map { address, map: PhantomData }
    }
}

/// Maps on the host.
impl TensorMap {
    /// A map of the bytes that the driver encoded.
    #[must_use]
    pub const fn from_words(words: [u64; 16]) -> Self {
        Self(words)
    }
}
