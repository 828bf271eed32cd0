//! Tensor maps: descriptions of arrays in device memory, by which the copy engine of Hopper and later devices moves
//! tiles.
//!
//! The engine has rules, and the driver answers whichever is broken with the same
//! `CUDA_ERROR_INVALID_VALUE`. [`TensorMap::tiled`] checks them first and names the one that is broken.
//!
//! ```no_run
//! use cuda_driver::ext::{TensorElement, TensorMap, TensorMapConfig, TensorSwizzle};
//!
//! # fn map(address: u64) -> Result<TensorMap, cuda_driver::ext::TensorMapError> {
//! // Boxes of 128 rows of 64 elements from a matrix of 4096 rows of 1000 bf16.
//! let config = TensorMapConfig::contiguous(TensorElement::Bf16, address, [1000, 4096], [64, 128]);
//! let map = TensorMap::tiled(&TensorMapConfig { swizzle: TensorSwizzle::Bytes128, ..config })?;
//! # Ok(map)
//! # }
//! ```

use std::ffi::c_int;
use std::fmt;

use super::raw::{self, CUdeviceptr, CUtensorMap};
use super::{Check, Error};

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

impl TensorElement {
    /// Bytes of an element.
    pub fn bytes(self) -> u64 {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }
}

/// Swizzle of a tile's rows in shared memory against bank conflicts, by the span in bytes: the 16-byte units within a span
/// are permuted by the row's number. A row of the tile is no longer than the span.
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
///
/// Kernels have rules to keep, too, of which an H200 punishes each as an illegal instruction: a tile begins at a multiple of 16
/// bytes of its row, and a copy to the tensor begins at no negative coordinate.
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

impl<const RANK: usize> TensorMapConfig<RANK> {
    /// A tensor without gaps between its rows, neither swizzled nor promoted.
    pub fn contiguous(
        element: TensorElement,
        address: CUdeviceptr,
        sizes: [u64; RANK],
        tile: [u32; RANK],
    ) -> Self {
        let mut strides = [element.bytes(); RANK];
        for dimension in 1..RANK {
            strides[dimension] = strides[dimension - 1].saturating_mul(sizes[dimension - 1]);
        }
        TensorMapConfig {
            element,
            address,
            sizes,
            strides,
            tile,
            swizzle: TensorSwizzle::None,
            promotion: TensorPromotion::None,
        }
    }

    /// Checks the copy engine's rules.
    fn check(&self) -> Result<(), TensorMapError> {
        use TensorMapError::*;
        if !self.address.is_multiple_of(16) {
            return Err(Address { address: self.address });
        }
        for dimension in 0..RANK {
            let (size, tile) = (self.sizes[dimension], self.tile[dimension]);
            if size == 0 || size > 1 << 32 {
                return Err(Size { dimension, size });
            }
            if tile == 0 || tile > 256 {
                return Err(Tile { dimension, tile });
            }
        }
        for (dimension, &stride) in self.strides.iter().enumerate().skip(1) {
            if !stride.is_multiple_of(16) || stride >= 1 << 40 {
                return Err(Stride { dimension, stride });
            }
        }
        let row = u64::from(self.tile[0]) * self.element.bytes();
        if !row.is_multiple_of(16) {
            return Err(Row { row, element: self.element });
        }
        let span = match self.swizzle {
            TensorSwizzle::None => u64::MAX,
            TensorSwizzle::Bytes32 => 32,
            TensorSwizzle::Bytes64 => 64,
            TensorSwizzle::Bytes128 => 128,
        };
        if row > span {
            return Err(Span { row, span });
        }
        Ok(())
    }
}

/// A description that makes no tensor map. Dimensions count from 0, the fastest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TensorMapError {
    /// The address is not a multiple of 16.
    Address {
        /// The address.
        address: CUdeviceptr,
    },
    /// A dimension has no elements, or more than 2^32.
    Size {
        /// The dimension.
        dimension: usize,
        /// Its elements.
        size: u64,
    },
    /// A stride is not a multiple of 16 bytes, or is 2^40 bytes or more.
    Stride {
        /// The dimension whose elements are that far apart.
        dimension: usize,
        /// Bytes.
        stride: u64,
    },
    /// The tile has no elements in a dimension, or more than 256.
    Tile {
        /// The dimension.
        dimension: usize,
        /// The tile's elements.
        tile: u32,
    },
    /// A row of the tile is not a multiple of 16 bytes.
    Row {
        /// Bytes.
        row: u64,
        /// The type of the elements.
        element: TensorElement,
    },
    /// A row of the tile is longer than the span of the swizzle.
    Span {
        /// Bytes of the row.
        row: u64,
        /// Bytes of the span.
        span: u64,
    },
    /// The driver refused it.
    Driver(Error),
}

impl fmt::Display for TensorMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Driver(error) = self {
            return write!(f, "the driver made no tensor map: {error}");
        }
        f.write_str("there is no such tensor map: ")?;
        match *self {
            Self::Address { address } => write!(
                f,
                "the tensor's address {address:#x} is not a multiple of 16. Begin at an allocation's start, or at a \
                 row that lies on 16 bytes"
            ),
            Self::Size { dimension, size } => {
                write!(f, "dimension {dimension} has {size} elements; it can have 1 to 2^32")
            }
            Self::Stride { dimension, stride } => write!(
                f,
                "elements of dimension {dimension} are {stride} bytes apart, which must be a multiple of 16 below \
                 2^40. Pad the rows"
            ),
            Self::Tile { dimension, tile } => {
                write!(f, "the tile has {tile} elements in dimension {dimension}; it can have 1 to 256")
            }
            Self::Row { row, element } => write!(
                f,
                "a row of the tile is {row} bytes, which must be a multiple of 16: a multiple of {} elements of type \
                 {element:?}",
                16 / element.bytes()
            ),
            Self::Span { row, span } => write!(
                f,
                "a row of the tile is {row} bytes, and a swizzle of {span} bytes takes at most {span}. Make the tile \
                 narrower, or take a wider swizzle"
            ),
            Self::Driver(_) => Ok(()),
        }
    }
}

impl std::error::Error for TensorMapError {}

/// A tensor map, to be passed to a kernel by value (`cuda_std::GridConstant`, `__grid_constant__` in CUDA C++) or copied to
/// device memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct TensorMap(pub CUtensorMap);

impl TensorMap {
    /// Encodes the description.
    ///
    /// # Errors
    ///
    /// The rule of the copy engine that the description breaks, or the driver's own error:
    /// `CUDA_ERROR_NOT_SUPPORTED` for a driver before CUDA 12.
    pub fn tiled<const RANK: usize>(config: &TensorMapConfig<RANK>) -> Result<TensorMap, TensorMapError> {
        const {
            assert!(RANK >= 1 && RANK <= 5, "a tensor map has 1 to 5 dimensions");
        }
        config.check()?;
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
        .of("cuTensorMapEncodeTiled")
        .map_err(TensorMapError::Driver)?;
        Ok(TensorMap(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> TensorMapConfig<2> {
        let config = TensorMapConfig::contiguous(TensorElement::Bf16, 0x1000, [1000, 300], [64, 128]);
        TensorMapConfig { swizzle: TensorSwizzle::Bytes128, ..config }
    }

    #[test]
    fn rows_without_gaps_are_as_far_apart_as_they_are_long() {
        assert_eq!(config().strides, [2, 2000]);
        let cube = TensorMapConfig::contiguous(TensorElement::F32, 0, [8, 4, 2], [8, 4, 2]);
        assert_eq!(cube.strides, [4, 32, 128]);
        assert_eq!(config().check(), Ok(()));
    }

    #[test]
    fn a_broken_rule_is_named() {
        use TensorMapError::*;
        let cases = [
            (TensorMapConfig { address: 0x1008, ..config() }, Address { address: 0x1008 }),
            (TensorMapConfig { sizes: [1000, 0], ..config() }, Size { dimension: 1, size: 0 }),
            (TensorMapConfig { strides: [2, 2004], ..config() }, Stride { dimension: 1, stride: 2004 }),
            (TensorMapConfig { tile: [64, 257], ..config() }, Tile { dimension: 1, tile: 257 }),
            (TensorMapConfig { tile: [4, 8], ..config() }, Row { row: 8, element: TensorElement::Bf16 }),
            (TensorMapConfig { tile: [72, 8], ..config() }, Span { row: 144, span: 128 }),
        ];
        for (config, error) in cases {
            assert_eq!(TensorMap::tiled(&config), Err(error));
            assert!(error.to_string().starts_with("there is no such tensor map: "), "{error}");
        }
        assert_eq!(
            Span { row: 144, span: 128 }.to_string(),
            "there is no such tensor map: a row of the tile is 144 bytes, and a swizzle of 128 bytes takes at most 128. Make \
             the tile narrower, or take a wider swizzle"
        );
    }
}
