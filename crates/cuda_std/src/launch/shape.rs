//! Blocks, threads and shared memory of a launch.

use core::fmt;

/// The blocks of a launch, the threads of each, and bytes of dynamic shared memory.
///
/// ```
/// use cuda_std::launch::Shape;
///
/// assert_eq!(Shape::covering([1000, 1], [256, 1]), Shape::new([4, 1, 1], [256, 1, 1]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Blocks in the grid, along x, y and z.
    pub grid: [u32; 3],
    /// Threads per block, along x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory per block. A kernel whose contract has a formula for it sets this itself.
    pub shared: u32,
}

impl Shape {
    /// A shape without dynamic shared memory.
    #[must_use]
    pub const fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self { grid, block, shared: 0 }
    }

    /// `blocks` of `threads` each, all along x.
    #[must_use]
    pub const fn linear(blocks: u32, threads: u32) -> Self {
        Self::new([blocks, 1, 1], [threads, 1, 1])
    }

    /// The smallest grid with a thread for each of `extent[0]` positions along x and `extent[1]` along y.
    ///
    /// A block without threads gives a grid without blocks, which no driver launches.
    #[must_use]
    pub const fn covering(extent: [u32; 2], block: [u32; 2]) -> Self {
        let mut grid = [0, 0, 1];
        let mut axis = 0;
        while axis < 2 {
            if block[axis] > 0 {
                grid[axis] = extent[axis].div_ceil(block[axis]);
            }
            axis += 1;
        }
        Self::new(grid, [block[0], block[1], 1])
    }

    /// The same with this much dynamic shared memory per block, in bytes.
    #[must_use]
    pub const fn with_shared(self, shared: u32) -> Self {
        Self { shared, ..self }
    }

    /// Threads per block.
    #[must_use]
    pub fn block_threads(&self) -> u64 {
        self.block.iter().map(|&threads| u64::from(threads)).product()
    }

    /// Blocks in the grid.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&blocks| u64::from(blocks)).product()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a grid of {} with blocks of {}", extent(self.grid), extent(self.block))?;
        if self.shared > 0 {
            write!(f, " and {} bytes of dynamic shared memory", self.shared)?;
        }
        Ok(())
    }
}

/// The numbers along the axes, as people write them.
pub(super) fn extent([x, y, z]: [u32; 3]) -> alloc::string::String {
    match (y, z) {
        (1, 1) => alloc::format!("{x}"),
        (_, 1) => alloc::format!("{x}x{y}"),
        _ => alloc::format!("{x}x{y}x{z}"),
    }
}

#[cfg(test)]
mod tests {
    use super::Shape;
    use alloc::string::ToString;

    #[test]
    fn a_grid_covers_both_extents() {
        assert_eq!(Shape::covering([100, 33], [32, 8]).grid, [4, 5, 1]);
        assert_eq!(Shape::covering([0, 1], [32, 8]).grid, [0, 1, 1]);
        assert_eq!(Shape::covering([8, 8], [0, 8]).grid, [0, 1, 1]);
        assert_eq!(Shape::covering([u32::MAX, 1], [2, 1]).grid, [1 << 31, 1, 1]);
    }

    #[test]
    fn shapes_are_said_as_people_write_them() {
        assert_eq!(Shape::linear(4, 256).to_string(), "a grid of 4 with blocks of 256");
        let shape = Shape::new([4, 5, 1], [32, 8, 1]).with_shared(64);
        assert_eq!(
            shape.to_string(),
            "a grid of 4x5 with blocks of 32x8 and 64 bytes of dynamic shared memory"
        );
    }
}
