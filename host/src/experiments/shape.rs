//! Blocks, threads and shared memory of a launch, and blocks as people write them.

use crate::device::DeviceInfo;
use anyhow::{Result, bail};
pub(crate) use cuda_launch::Shape;
use record::Extent;
use std::{fmt, str::FromStr};

/// The shape of work that is not a kernel launch.
pub(crate) const NO_LAUNCH: Shape = Shape::new([0; 3], [0; 3]);

/// The smallest grid of `block` threads per block that has at least `threads` threads, all along x.
///
/// # Errors
/// The device has no such block or no such grid.
pub(crate) fn covering(threads: u64, block: u32, device: &DeviceInfo) -> Result<Shape> {
    threads_fit(&Block::linear(block), device)?;
    let blocks = threads.div_ceil(u64::from(block));
    match u32::try_from(blocks) {
        Ok(grid) if grid <= device.max_grid => Ok(Shape::linear(grid, block)),
        _ => bail!(
            "{threads} threads in blocks of {block} are {blocks} blocks, and a grid of {} has at most {}: use \
             larger blocks or fewer bytes",
            device.plain_name(),
            device.max_grid,
        ),
    }
}

/// The smallest grid of blocks of `block[0]` by `block[1]` threads that has a thread for each of `columns` along x and
/// `rows` along y.
///
/// # Errors
/// The device has no such block or no such grid.
pub(crate) fn covering_2d(columns: u64, rows: u64, block: [u32; 2], device: &DeviceInfo) -> Result<Shape> {
    let block = Block { x: block[0], y: block[1] };
    threads_fit(&block, device)?;
    let blocks = [columns.div_ceil(u64::from(block.x)), rows.div_ceil(u64::from(block.y))];
    match blocks.map(u32::try_from) {
        [Ok(x), Ok(y)] if x <= device.max_grid && y <= device.max_grid_y => {
            Ok(Shape::new([x, y, 1], [block.x, block.y, 1]))
        }
        _ => bail!(
            "{columns} x {rows} threads in blocks of {}x{} are {} x {} blocks, and a grid of {} has at most {} x {}: \
             use larger blocks or a smaller matrix",
            block.x,
            block.y,
            blocks[0],
            blocks[1],
            device.plain_name(),
            device.max_grid,
            device.max_grid_y,
        ),
    }
}

/// Refuses a launch with more dynamic shared memory per block than the device has.
pub(super) fn shared_fits(shape: &Shape, device: &DeviceInfo) -> Result<()> {
    if shape.shared <= device.max_shared_per_block {
        return Ok(());
    }
    bail!(
        "a block of {} threads needs {} bytes of dynamic shared memory, and {} has {} per block: use smaller blocks or \
         tiles",
        Extent::from(shape.block),
        shape.shared,
        device.plain_name(),
        device.max_shared_per_block,
    )
}

/// Refuses a block that the device cannot launch.
fn threads_fit(block: &Block, device: &DeviceInfo) -> Result<()> {
    let threads = u64::from(block.x) * u64::from(block.y);
    if threads == 0 || threads > u64::from(device.max_threads_per_block) {
        let shape = if block.y == 1 { String::new() } else { format!(" ({block})") };
        bail!(
            "a block of {threads} threads{shape} cannot be launched: {} takes 1 to {} threads per block, as in --block 256",
            device.plain_name(),
            device.max_threads_per_block,
        );
    }
    Ok(())
}

/// Threads per block as the user writes them: `256`, or `16x16` in two dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// Threads along x, where neighbours in a warp are.
    pub x: u32,
    /// Threads along y.
    pub y: u32,
}

impl Block {
    /// The most threads that any device takes per block.
    const MOST: u32 = 1024;

    /// All threads along x.
    pub(crate) const fn linear(threads: u32) -> Block {
        Block { x: threads, y: 1 }
    }

    /// Threads in all.
    pub(crate) fn threads(self) -> u32 {
        self.x * self.y
    }
}

impl FromStr for Block {
    type Err = String;

    fn from_str(text: &str) -> Result<Block, String> {
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|&number| number > 0);
        let block = match text.split_once(['x', 'X', '×']) {
            Some((x, y)) => number(x).zip(number(y)),
            None => number(text).map(|x| (x, 1)),
        };
        let fits = |(x, y): &(u32, u32)| u64::from(*x) * u64::from(*y) <= u64::from(Block::MOST);
        match block {
            Some((x, y)) if fits(&(x, y)) => Ok(Block { x, y }),
            Some((x, y)) if y > 1 => Err(format!(
                "{x} times {y} threads are {}: a block has 1..={} in all, as in 16x16",
                u64::from(x) * u64::from(y),
                Block::MOST,
            )),
            _ => Err(format!(
                "it has to be a whole number in 1..={0}, or two with a product in that range, as in 16x16",
                Block::MOST
            )),
        }
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Extent::from([self.x, self.y, 1]), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::tests::{c870, h200};

    #[test]
    fn a_shape_covers_its_threads_and_keeps_to_the_device() {
        let shape = covering(1025, 256, &h200()).expect("it fits");
        assert_eq!(shape, Shape { grid: [5, 1, 1], block: [256, 1, 1], shared: 0 });
        let error = covering(1024, 2048, &h200()).expect_err("too many threads").to_string();
        assert!(error.contains("2048") && error.contains("1 to 1024"), "{error}");
        let error = covering(1 << 33, 1, &h200()).expect_err("too many blocks").to_string();
        assert!(error.contains("8589934592 blocks") && error.contains("2147483647"), "{error}");
    }

    #[test]
    fn a_shape_covers_columns_and_rows() {
        let shape = covering_2d(100, 33, [32, 8], &h200()).expect("it fits");
        assert_eq!(shape, Shape { grid: [4, 5, 1], block: [32, 8, 1], shared: 0 });
        let error = covering_2d(1, 1 << 20, [16, 1], &h200()).expect_err("too many rows").to_string();
        assert!(error.contains("1 x 1048576 blocks") && error.contains("2147483647 x 65535"), "{error}");
        let error = covering_2d(64, 64, [32, 32], &c870()).expect_err("too many threads").to_string();
        assert!(error.contains("1024 threads (32x32)") && error.contains("1 to 512"), "{error}");
    }

    #[test]
    fn shared_memory_has_a_limit() {
        let with = |shared| shared_fits(&Shape::linear(4, 256).with_shared(shared), &h200());
        assert!(with(65536).is_ok());
        let error = with(1 << 20).expect_err("too much").to_string();
        assert!(error.contains("1048576 bytes") && error.contains("232448"), "{error}");
    }

    #[test]
    fn blocks_have_one_dimension_or_two() {
        let of = |text: &str| text.parse::<Block>();
        assert_eq!(of("256"), Ok(Block::linear(256)));
        assert_eq!(of("32x8"), Ok(Block { x: 32, y: 8 }));
        assert_eq!(of("16 x 16").map(Block::threads), Ok(256));
        assert_eq!((of("32x8").map(|block| block.to_string()), of("64").map(|block| block.to_string())), {
            (Ok("32x8".to_string()), Ok("64".to_string()))
        });
        for (text, says) in [
            ("0", "1..=1024"),
            ("-1", "1..=1024"),
            ("2048", "1..=1024"),
            ("64x32", "64 times 32 threads are 2048"),
            ("16x", "as in 16x16"),
            ("4294967295x4294967295", "1..=1024"),
        ] {
            let error = of(text).expect_err(text);
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
