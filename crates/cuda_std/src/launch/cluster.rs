//! Clusters of blocks, as a launch has them.

use alloc::format;
use alloc::string::String;
use core::fmt;

use super::{Refusal, Shape};

/// The blocks of a cluster along x, y and z: 1 to 8 together.
///
/// The blocks of a cluster run at the same time, on multiprocessors that reach each other's shared memory
/// (compute capability 9.0). A grid consists of whole clusters, so each of its extents is a multiple of theirs.
///
/// ```
/// use cuda_std::launch::{Cluster, Shape};
///
/// let pairs = Cluster::new([2, 1, 1]);
/// assert!(pairs.check("kernel", &Shape::linear(64, 128)).is_ok());
/// let error = pairs.check("kernel", &Shape::linear(63, 128)).unwrap_err();
/// assert!(error.to_string().ends_with("the nearest larger grid is 64"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cluster([u32; 3]);

impl Cluster {
    /// The most blocks that a cluster has on every device with clusters.
    pub const MOST_BLOCKS: u32 = 8;

    /// A cluster of so many blocks along x, y and z.
    ///
    /// # Panics
    /// It has no block, or more than [`MOST_BLOCKS`](Self::MOST_BLOCKS). For a constant, this is an error of the compiler.
    #[must_use]
    pub const fn new(blocks: [u32; 3]) -> Self {
        let [x, y, z] = blocks;
        let most = Self::MOST_BLOCKS;
        assert!(
            x >= 1 && y >= 1 && z >= 1 && x <= most && y <= most && z <= most && x * y * z <= most,
            "a cluster has 1 to 8 blocks"
        );
        Self(blocks)
    }

    /// The blocks along x, y and z.
    #[must_use]
    pub const fn blocks(self) -> [u32; 3] {
        self.0
    }

    /// The rule of a launch in words.
    #[must_use]
    pub fn clause(self) -> String {
        format!("a grid that is a multiple of the cluster of {self} blocks along each axis")
    }

    /// Checks a grid.
    ///
    /// # Errors
    /// The grid is no multiple of the cluster.
    pub fn check(self, kernel: &'static str, shape: &Shape) -> Result<(), Refusal> {
        let fits = shape.grid.iter().zip(self.0).all(|(grid, cluster)| grid.is_multiple_of(cluster));
        if fits { Ok(()) } else { Err(Refusal::Cluster { kernel, cluster: self, found: *shape }) }
    }

    /// The smallest grid of whole clusters that holds this one.
    pub(super) fn grid_around(self, grid: [u32; 3]) -> [u32; 3] {
        core::array::from_fn(|axis| grid[axis].div_ceil(self.0[axis]).saturating_mul(self.0[axis]))
    }
}

impl fmt::Display for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::shape::extent(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_grid_is_a_multiple_along_each_axis() {
        let cluster = Cluster::new([2, 4, 1]);
        assert_eq!(cluster.check("k", &Shape::new([6, 8, 3], [32, 1, 1])), Ok(()));
        let error = cluster.check("k", &Shape::new([6, 7, 3], [32, 1, 1])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the kernel `k` runs in clusters of 2x4 blocks, of which the grid must be a multiple along each axis, and the launch has \
             a grid of 6x7x3 with blocks of 32; the nearest larger grid is 6x8x3"
        );
    }

    #[test]
    #[should_panic(expected = "a cluster has 1 to 8 blocks")]
    fn a_cluster_without_blocks_is_refused() {
        let _ = Cluster::new([2, 0, 1]);
    }

    #[test]
    #[should_panic(expected = "a cluster has 1 to 8 blocks")]
    fn a_cluster_of_more_blocks_than_any_device_has_is_refused() {
        let _ = Cluster::new([1 << 16, 1 << 16, 1]);
    }
}
