//! Tensor maps of a point's buffers: descriptions by which a kernel has the copy engine move boxes of a matrix.

use anyhow::{Context, Result};
use cuda_driver::ext::{
    self, TensorElement, TensorMapConfig, TensorMapError, TensorPromotion, TensorSwizzle,
};
use cuda_launch::IntoArgument as _;
use cuda_std::tensor::TensorMap;

/// A tensor map of a buffer that holds a matrix, its rows one after the other. Boxes are swizzled by 128 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MatrixMap {
    /// The number of the buffer.
    pub buffer: usize,
    /// The type of an element.
    pub element: TensorElement,
    /// Rows of the matrix, and elements of a row.
    pub size: [u32; 2],
    /// Rows of a box, and elements of its rows, which are 128 bytes at most.
    pub tile: [u32; 2],
    /// The number of such matrices that follow one another, in a map of three dimensions with boxes of one matrix; `None` of
    /// a map of two.
    pub stack: Option<u32>,
}

impl MatrixMap {
    /// The map of the matrix at an address.
    ///
    /// # Errors
    /// There is no such map, which the error explains.
    pub(super) fn placed(&self, address: u64) -> Result<TensorMap> {
        let [rows, columns] = self.size;
        let [down, across] = self.tile;
        let sizes = [columns.into(), rows.into()];
        let map = match self.stack {
            None => tiled(TensorMapConfig::contiguous(self.element, address, sizes, [across, down])),
            Some(matrices) => {
                let [width, height] = sizes;
                let (sizes, tile) = ([width, height, matrices.into()], [across, down, 1]);
                tiled(TensorMapConfig::contiguous(self.element, address, sizes, tile))
            }
        };
        let map = map.with_context(|| format!("buffer {} of {rows} rows of {columns}", self.buffer))?;
        Ok(map.into_argument())
    }
}

/// A map with boxes swizzled by 128 bytes. Misses in L2 fetch 256 bytes, this step's and the next one's of a row.
fn tiled<const RANK: usize>(config: TensorMapConfig<RANK>) -> Result<ext::TensorMap, TensorMapError> {
    let (swizzle, promotion) = (TensorSwizzle::Bytes128, TensorPromotion::Bytes256);
    ext::TensorMap::tiled(&TensorMapConfig { swizzle, promotion, ..config })
}
