//! Tensor maps: descriptions of arrays in device memory, by which the copy engine of Hopper and later devices moves
//! tiles.

use std::ffi::c_int;

use super::raw::{self, CUdeviceptr, CUtensorMap};
use super::{Check, Result};

/// The type of a tensor's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TensorElement {
    /// u8
    U8 = 0,
    /// u16
    U16 = 1,
    /// u32
    U32 = 2,
    /// i32
    I32 = 3,
    /// u64
    U64 = 4,
    /// i64
    I64 = 5,
    /// IEEE half precision.
    F16 = 6,
    /// f32
    F32 = 7,
    /// f64
    F64 = 8,
    /// bfloat16
    Bf16 = 9,
}

/// Swizzle of a tile's rows in shared memory against bank conflicts, by the span in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TensorSwizzle {
    /// No swizzle.
    #[default]
    None = 0,
    /// 32 bytes.
    Bytes32 = 1,
    /// 64 bytes.
    Bytes64 = 2,
    /// 128 bytes.
    Bytes128 = 3,
}

/// Bytes that a miss fetches into the L2 cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TensorPromotion {
    /// The default of any load.
    #[default]
    None = 0,
    /// 64 bytes.
    Bytes64 = 1,
    /// 128 bytes.
    Bytes128 = 2,
    /// 256 bytes.
    Bytes256 = 3,
}

/// A tensor of `RANK` dimensions (1 to 5), the fastest first, and the tile that one copy moves. Elements outside of the
/// tensor read as zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorMapConfig<const RANK: usize> {
    /// The type of the elements.
    pub element: TensorElement,
    /// Address of the tensor, a multiple of 16.
    pub address: CUdeviceptr,
    /// Elements in each dimension.
    pub sizes: [u64; RANK],
    /// Distance in bytes between elements in each dimension, multiples of 16. The first is ignored, since elements of
    /// the fastest dimension are contiguous.
    pub strides: [u64; RANK],
    /// Elements of the tile in each dimension, at most 256.
    pub tile: [u32; RANK],
    /// Layout of the tile in shared memory.
    pub swizzle: TensorSwizzle,
    /// Bytes that a miss fetches.
    pub promotion: TensorPromotion,
}

/// A tensor map, to be passed to a kernel by value (`__grid_constant__` in CUDA C++) or copied to device
/// memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct TensorMap(pub CUtensorMap);

impl TensorMap {
    /// Encodes the description.
    ///
    /// # Errors
    ///
    /// `CUDA_ERROR_INVALID_VALUE` where address, strides or tile break the engine's rules;
    /// `CUDA_ERROR_NOT_SUPPORTED` for a driver before CUDA 12.
    pub fn tiled<const RANK: usize>(config: &TensorMapConfig<RANK>) -> Result<TensorMap> {
        const {
            assert!(RANK >= 1 && RANK <= 5, "a tensor map has 1 to 5 dimensions");
        }
        const NO_INTERLEAVE: c_int = 0;
        const ZEROS: c_int = 0;
        let mut map = CUtensorMap { opaque: [0; 16] };
        // SAFETY: the arrays have as many elements as the rank says, and the map can be written. The address
        // is encoded, not followed.
        unsafe {
            raw::cuTensorMapEncodeTiled(
                &raw mut map,
                config.element as c_int,
                RANK as u32,
                std::ptr::with_exposed_provenance_mut(config.address as usize),
                config.sizes.as_ptr(),
                config.strides.as_ptr().wrapping_add(1),
                config.tile.as_ptr(),
                [1; RANK].as_ptr(),
                NO_INTERLEAVE,
                config.swizzle as c_int,
                config.promotion as c_int,
                ZEROS,
            )
        }
        .of("cuTensorMapEncodeTiled")?;
        Ok(TensorMap(map))
    }
}
