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

/// Where a box begins in a matrix, (column, row), or in a stack of matrices, (column, row, matrix).
pub trait Corner: Copy {
    /// See [`Filling::load`](super::Filling::load).
    #[doc(hidden)]
    unsafe fn load(self, map: Map<'_>, to: u32, barrier: u32);
    /// See [`Filling::load_multicast`](super::Filling::load_multicast).
    #[doc(hidden)]
    unsafe fn load_multicast(self, map: Map<'_>, to: u32, barrier: u32, ranks: u16);
    /// See [`Map::store`].
    #[doc(hidden)]
    unsafe fn store(self, map: Map<'_>, from: u32, elected: bool);
}

macro_rules! corner {
    ($corner:ty, $dimensions:literal, $places:literal, $($index:tt)*) => {
        impl Corner for $corner {
            #[gpu_only]
            #[inline(always)]
            unsafe fn load(self, map: Map<'_>, to: u32, barrier: u32) {
                // SAFETY: promised by the caller.
                unsafe {
                    asm!(
                        concat!(
                            "cp.async.bulk.tensor.", $dimensions,
                            ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [{}], [{}, {{",
                            $places, "}}], [{}];"
                        ),
                        in(reg32) to, in(reg64) map.address, $(in(reg32) self.$index,)* in(reg32) barrier,
                        options(nostack, preserves_flags)
                    );
                }
            }

            #[gpu_only]
            #[inline(always)]
            unsafe fn load_multicast(self, map: Map<'_>, to: u32, barrier: u32, ranks: u16) {
                // SAFETY: promised by the caller.
                unsafe {
                    asm!(
                        concat!(
                            "cp.async.bulk.tensor.", $dimensions,
                            ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [{}], [{}, {{",
                            $places, "}}], [{}], {};"
                        ),
                        in(reg32) to, in(reg64) map.address, $(in(reg32) self.$index,)* in(reg32) barrier, in(reg16) ranks,
                        options(nostack, preserves_flags)
                    );
                }
            }

            #[gpu_only]
            #[inline(always)]
            unsafe fn store(self, map: Map<'_>, from: u32, elected: bool) {
                // SAFETY: promised by the caller.
                unsafe {
                    asm!(
                        "{{ .reg .pred %elected; setp.ne.u32 %elected, {}, 0;",
                        concat!(
                            "@%elected cp.async.bulk.tensor.", $dimensions,
                            ".global.shared::cta.tile.bulk_group [{}, {{", $places, "}}], [{}];"
                        ),
                        "@%elected cp.async.bulk.commit_group; }}",
                        in(reg32) u32::from(elected), in(reg64) map.address, $(in(reg32) self.$index,)* in(reg32) from,
                        options(nostack, preserves_flags)
                    );
                }
            }
        }
    };
}

corner!((u32, u32), "2d", "{}, {}", 0 1);
corner!((u32, u32, u32), "3d", "{}, {}, {}", 0 1 2);

impl Map<'_> {
    /// Starts to copy the box at a corner into shared memory; its bytes count for the barrier
    /// (`cp.async.bulk.tensor.shared::cluster.global.tile.mbarrier::complete_tx::bytes`, sm_90).
    ///
    /// # Safety
    /// The map is of as many dimensions as the corner has, swizzles by 128 bytes, and its box is as large as the tile. The corner is
    /// at a multiple of 16 bytes of a row: an H200 ends the launch otherwise. The barrier, at an address within shared memory, is
    /// initialised and expects the bytes. Until its phase is over, nothing accesses the tile and nothing writes the matrix.
    #[inline(always)]
    pub unsafe fn load<const ROWS: u32>(self, to: SwizzledTile<ROWS>, at: impl Corner, barrier: u32) {
        // SAFETY: promised by the caller.
        unsafe { at.load(self, to.address(), barrier) }
    }

    /// The same into each block of the cluster whose bit is set in `ranks`, at the same place, counted at each one's own
    /// barrier (`.multicast::cluster`, sm_90).
    ///
    /// # Safety
    /// As for [`load`](Self::load), in each of the blocks.
    #[inline(always)]
    pub(super) unsafe fn load_multicast<const ROWS: u32>(
        self,
        to: SwizzledTile<ROWS>,
        at: impl Corner,
        barrier: u32,
        ranks: u16,
    ) {
        // SAFETY: promised by the caller.
        unsafe { at.load_multicast(self, to.address(), barrier, ranks) }
    }

    /// Starts to copy a tile from shared memory to the box at a corner, as one group, if `elected`. What lies
    /// outside the matrix is not written, but for the rest of a row's last 16 bytes where only some of them are inside
    /// (`cp.async.bulk.tensor.global.shared::cta.tile.bulk_group` and `cp.async.bulk.commit_group`, sm_90).
    ///
    /// The thread waits for its groups with [`bulk_wait_group_read`](crate::async_copy::bulk_wait_group_read), after which the
    /// tile may be written again, and before its end with [`bulk_wait_group`](crate::async_copy::bulk_wait_group).
    ///
    /// # Safety
    /// The map is of as many dimensions as the corner has, swizzles by 128 bytes, and its box is as large as the tile. The corner is
    /// at a multiple of 16 bytes of a row. Each thread that wrote the tile called
    /// [`fence_async_proxy`](crate::async_copy::fence_async_proxy) before a barrier that this thread was at too. Nothing writes the
    /// tile until the group has been read, and nothing accesses the box until the group is complete.
    #[inline(always)]
    pub unsafe fn store<const ROWS: u32>(self, from: SwizzledTile<ROWS>, at: impl Corner, elected: bool) {
        // SAFETY: promised by the caller.
        unsafe { at.store(self, from.address(), elected) }
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

    /// Starts to fetch the map for the copy engine, which the first copy by it would otherwise wait for: about a thousand cycles
    /// (`prefetch.tensormap`, sm_90).
    #[gpu_only]
    #[inline(always)]
    pub fn prefetch(self) {
        let Map { address, .. } = self.map();
        // SAFETY: a hint.
        unsafe { asm!("prefetch.tensormap [{}];", in(reg64) address, options(nostack, preserves_flags)) }
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
