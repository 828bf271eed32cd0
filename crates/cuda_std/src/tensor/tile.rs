//! Tiles in shared memory in the 128-byte swizzle, and what tells a tensor core where one lies.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use crate::gpu_only;
use crate::shared;

/// The start of the launch's dynamic shared memory, rounded up to 1024 bytes, as an address within shared memory.
///
/// Dynamic shared memory itself is aligned to 16 bytes; a launch gives 1024 bytes more than the tiles need.
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn aligned_dynamic_shared() -> u32 {
    (shared::address(shared::dynamic_shared_mem::<u8>()) + 1023) & !1023
}

/// A tile of `ROWS` rows of 128 bytes in shared memory, such as 64 bf16, in the 128-byte swizzle.
///
/// Eight rows are 1024 bytes, in which the 16-byte unit `u` of row `r` lies at `128 r + 16 (u ^ (r % 8))`. This is
/// how a tensor map with a swizzle of 128 bytes writes a box, and what `wgmma` reads without bank conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwizzledTile<const ROWS: u32> {
    address: u32,
}

impl<const ROWS: u32> SwizzledTile<ROWS> {
    /// Bytes of the tile.
    pub const BYTES: u32 = ROWS * 128;

    /// The tile at an address within shared memory, a multiple of 1024.
    #[inline(always)]
    #[must_use]
    pub const fn at(address: u32) -> Self {
        const {
            assert!(
                ROWS.is_multiple_of(8) && ROWS <= 256,
                "a swizzled tile has a multiple of 8 rows, at most 256"
            );
        };
        Self { address }
    }

    /// The tile's address within shared memory.
    #[inline(always)]
    #[must_use]
    pub const fn address(self) -> u32 {
        self.address
    }

    /// The address of 16 bytes: `unit` 0 to 7 of a row.
    #[inline(always)]
    #[must_use]
    pub const fn unit(self, row: u32, unit: u32) -> u32 {
        self.address + row * 128 + ((unit ^ (row % 8)) << 4)
    }

    /// Reads 16 bytes: `unit` 0 to 7 of a row (`ld.shared.v4.b32`).
    ///
    /// # Safety
    /// The tile has the row; the bytes are initialised, and the calling thread sees the writes.
    #[gpu_only]
    #[inline(always)]
    #[must_use]
    pub unsafe fn read_unit(self, row: u32, unit: u32) -> [u32; 4] {
        let (a, b, c, d);
        // SAFETY: promised by the caller; the address is a multiple of 16.
        unsafe {
            asm!(
                "ld.shared.v4.b32 {{{}, {}, {}, {}}}, [{}];",
                out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg32) self.unit(row, unit),
                options(nostack, preserves_flags)
            );
        }
        [a, b, c, d]
    }

    /// The descriptor by which `wgmma` finds the tile, with its rows along K (*K-major*).
    #[inline(always)]
    #[must_use]
    pub const fn descriptor(self) -> Descriptor {
        Descriptor::of(self.address, 1)
    }

    /// The bits of the descriptors of the four instructions that go through 128 bytes of K.
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    pub(super) const fn descriptors(self) -> [u64; 4] {
        let tile = self.descriptor();
        [tile.bits(), tile.step(1).bits(), tile.step(2).bits(), tile.step(3).bits()]
    }
}

/// A tile of 64 rows along K and `COLUMNS` columns of bf16 (*MN-major*), as tiles of 64 columns, one after the other: each 64
/// rows of 128 bytes in the 128-byte swizzle, which is what a box of 64 x 64 of a matrix of K rows is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransposedTile<const COLUMNS: u32> {
    address: u32,
}

impl<const COLUMNS: u32> TransposedTile<COLUMNS> {
    /// Bytes of the tile.
    pub const BYTES: u32 = COLUMNS * 128;

    /// The tile at an address within shared memory, a multiple of 1024.
    #[inline(always)]
    #[must_use]
    pub const fn at(address: u32) -> Self {
        const {
            assert!(
                COLUMNS.is_multiple_of(64) && COLUMNS <= 256,
                "a transposed tile has a multiple of 64 columns, at most 256"
            );
        };
        Self { address }
    }

    /// The bits of the descriptors of the four instructions that go through 64 rows: 16 rows each.
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    pub(super) fn descriptors(self) -> [u64; 4] {
        const COLUMNS_64: u32 = SwizzledTile::<64>::BYTES;
        const ROWS_16: u32 = 16 * 128;
        let part = |nth: u32| Descriptor::of(self.address + nth * ROWS_16, COLUMNS_64 / 16).bits();
        [part(0), part(1), part(2), part(3)]
    }
}

/// A matrix descriptor of `wgmma` for rows of 128 bytes in the 128-byte swizzle.
///
/// | bits | what |
/// | --- | --- |
/// | 0 to 13 | the address within shared memory / 16 |
/// | 16 to 29 | the leading dimension's byte offset / 16: with rows along K not used, 1 by convention; else from 64 columns to the next 64 |
/// | 32 to 45 | the byte offset from eight rows to the next eight, 1024 / 16 |
/// | 62 to 63 | the swizzle: 1 for 128 bytes |
///
/// Source: PTX ISA, "Matrix Descriptor Format" under `wgmma`. In a cluster bits 24 and up of a shared address hold the block's
/// rank; the 14 bits leave it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor(u64);

impl Descriptor {
    const fn of(address: u32, leading: u32) -> Self {
        const SWIZZLE_128: u64 = 1 << 62;
        const EIGHT_ROWS: u64 = (1024 / 16) << 32;
        Self(SWIZZLE_128 | EIGHT_ROWS | (leading as u64) << 16 | ((address >> 4) & 0x3fff) as u64)
    }

    /// The descriptor of the same rows from a column on, counted in steps of 32 bytes: 16 bf16, the depth of one `wgmma`.
    #[inline(always)]
    #[must_use]
    pub const fn step(self, steps: u64) -> Self {
        Self(self.0 + 2 * steps)
    }

    /// The bits.
    #[inline(always)]
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_rows_of_one_column_lie_in_eight_different_units() {
        let tile = SwizzledTile::<64>::at(2048);
        for unit in 0..8 {
            let mut banks: [u32; 8] = core::array::from_fn(|row| tile.unit(row as u32, unit) % 128 / 16);
            banks.sort_unstable();
            assert_eq!(banks, [0, 1, 2, 3, 4, 5, 6, 7]);
        }
        assert_eq!(tile.unit(0, 3), 2048 + 48);
        assert_eq!(tile.unit(9, 3), 2048 + 9 * 128 + 32);
        assert_eq!(SwizzledTile::<64>::BYTES, 8192);
    }

    #[test]
    fn a_descriptor_holds_address_distance_and_swizzle() {
        let bits = SwizzledTile::<128>::at(0x1_2400).descriptor().bits();
        assert_eq!(bits & 0x3fff, 0x1240);
        assert_eq!((bits >> 32) & 0x3fff, 64);
        assert_eq!(bits >> 62, 1);
        // The rank of a block in a cluster is left out.
        assert_eq!(SwizzledTile::<128>::at(0x0301_2400).descriptor().bits(), bits);
        assert_eq!(SwizzledTile::<128>::at(0x1_2400).descriptor().step(3).bits(), bits + 6);
    }
}
