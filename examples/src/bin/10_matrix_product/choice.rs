//! Which kernel multiplies matrices of which size.
//!
//! A multiprocessor computes one tile of C at a time, so all of them together compute C in *waves* of tiles, and a wave takes as long
//! if it is not full. The kernels differ in their tile, in the share of the tensor cores' rate that they reach while they multiply it,
//! and in what a launch costs besides. So the time of a product is about
//!
//! ```text
//! start + waves * steps * time of a step      steps: K / 64; a step: rows * columns * 64 multiplications at that share of the rate
//! ```
//!
//! and the kernel with the least is taken. 1536 x 1536 are 132 tiles of 128 x 144, one wave on an H200; as tiles of 256 x 128 they are
//! 72, also one wave, of blocks with nearly twice as much to do.
//!
//! The numbers in [`Kernel::tile`] are from an H200, as `coalesce compare matmul --library cublas,cublaslt` measured it (docs/products.md).
//! Over 19 sizes from 512 to 16384 the kernel that is taken was within 0.4% of the fastest by plain launches. The smaller three are
//! launched overlapping here, which is faster still.

use gpu_kernels::unchecked::tensor::{medium, overlapped, small, staggered, wide};

use crate::matrix::Size;

/// A kernel for `C = A * B^T` in bf16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    Small,
    Between,
    Medium,
    Overlapped,
    Multicast,
    Staggered,
    Wide,
}

/// How a kernel divides C, and how fast it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tile {
    pub(crate) rows: u32,
    pub(crate) columns: u32,
    /// Blocks of a cluster, whose tiles lie below and beside one another.
    pub(crate) cluster: [u32; 2],
    /// The rate at which it multiplies, relative to `matmul_overlapped`.
    rate: f64,
    /// What a launch takes besides, in microseconds.
    start: f64,
}

impl Kernel {
    pub(crate) const ALL: [Kernel; 7] = [
        Kernel::Small,
        Kernel::Between,
        Kernel::Medium,
        Kernel::Overlapped,
        Kernel::Multicast,
        Kernel::Staggered,
        Kernel::Wide,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Kernel::Small => "matmul_small",
            Kernel::Between => "matmul_between",
            Kernel::Medium => "matmul_medium",
            Kernel::Overlapped => "matmul_overlapped",
            Kernel::Multicast => "matmul_multicast",
            Kernel::Staggered => "matmul_staggered",
            Kernel::Wide => "matmul_wide",
        }
    }

    pub(crate) const fn tile(self) -> Tile {
        let ([rows, columns], cluster, rate, start) = match self {
            Kernel::Small => ([small::ROWS, small::COLUMNS], [1, 1], 0.56, 2.1),
            Kernel::Between => ([small::ROWS, small::COLUMNS_BETWEEN], [1, 1], 0.81, 1.8),
            Kernel::Medium => ([medium::ROWS, medium::COLUMNS], [1, 1], 0.97, 3.1),
            Kernel::Overlapped => ([overlapped::ROWS, overlapped::COLUMNS], [1, 1], 1.0, 4.2),
            // In bursts as fast as the one before; under load 1% faster, and the next but one 3% at 16384.
            Kernel::Multicast => ([overlapped::ROWS, overlapped::COLUMNS], [2, 1], 1.001, 4.8),
            Kernel::Staggered => ([staggered::ROWS, staggered::COLUMNS], [1, 2], 0.98, 5.4),
            Kernel::Wide => ([wide::ROWS, wide::COLUMNS], [1, 2], 1.0025, 5.6),
        };
        Tile { rows, columns, cluster, rate, start }
    }

    /// The kernel for a product on a GPU of so many multiprocessors.
    pub(crate) fn of(size: Size, multiprocessors: u32) -> Self {
        let time = |kernel: &Self| kernel.tile().microseconds(size, multiprocessors);
        let fastest = Self::ALL.into_iter().min_by(|one, other| time(one).total_cmp(&time(other)));
        fastest.unwrap_or(Kernel::Overlapped)
    }
}

impl Tile {
    /// Rows and columns of tiles that cover C, whole clusters in both directions.
    pub(crate) const fn cover(self, size: Size) -> [u32; 2] {
        let [down, across] = self.cluster;
        [
            size.m.div_ceil(self.rows).next_multiple_of(down),
            size.n.div_ceil(self.columns).next_multiple_of(across),
        ]
    }

    /// Blocks that go from tile to tile: one for each multiprocessor, or fewer where those fill as many waves evenly.
    pub(crate) fn persistent(self, size: Size, multiprocessors: u32) -> u32 {
        let blocks: u32 = self.cluster.iter().product();
        let (clusters, tiles) = ((multiprocessors / blocks).max(1), self.tiles(size) / blocks);
        let waves = tiles.div_ceil(clusters);
        blocks * if tiles.is_multiple_of(waves) { tiles / waves } else { clusters }
    }

    fn tiles(self, size: Size) -> u32 {
        self.cover(size).iter().product()
    }

    fn microseconds(self, size: Size, multiprocessors: u32) -> f64 {
        /// Multiplications of a multiprocessor in a microsecond: 2048 a clock, at 1980 MHz.
        const RATE: f64 = 2048.0 * 1980.0;
        let waves = self.tiles(size).div_ceil(multiprocessors);
        let step = f64::from(self.rows * self.columns * 64) / (RATE * self.rate);
        self.start + f64::from(waves) * f64::from(size.k.div_ceil(64)) * step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_h200_multiplies_by_the_kernel_that_was_fastest() {
        let of = |m, n, k| Kernel::of(Size { m, n, k }, 132);
        let cube = |side| of(side, side, side);
        for (side, kernel) in [
            (512, Kernel::Small),
            (1024, Kernel::Small),
            (1280, Kernel::Between),
            (1536, Kernel::Between),
            (1792, Kernel::Medium),
            (2048, Kernel::Medium),
            (2560, Kernel::Between),
            (3072, Kernel::Staggered),
            (3584, Kernel::Overlapped),
            (4096, Kernel::Overlapped),
            (5120, Kernel::Staggered),
            (6144, Kernel::Overlapped),
            (8192, Kernel::Multicast),
            (16384, Kernel::Wide),
        ] {
            assert_eq!(cube(side), kernel, "{side}");
        }
        assert_eq!(of(1024, 2048, 1024), Kernel::Between);
        assert_eq!(of(1024, 1024, 4096), Kernel::Small);
    }

    #[test]
    fn clusters_are_whole_and_waves_even() {
        let size = Size { m: 260, n: 328, k: 64 };
        assert_eq!(Kernel::Small.tile().cover(size), [3, 6]);
        assert_eq!(Kernel::Medium.tile().cover(size), [2, 3]);
        assert_eq!(Kernel::Wide.tile().cover(size), [2, 2]);
        // Four waves of 64 clusters, and more than seven of 66.
        assert_eq!(Kernel::Multicast.tile().persistent(Size::cube(4096), 132), 128);
        assert_eq!(Kernel::Multicast.tile().persistent(Size::cube(5120), 132), 132);
        assert_eq!(Kernel::Overlapped.tile().persistent(size, 132), 6);
    }
}
