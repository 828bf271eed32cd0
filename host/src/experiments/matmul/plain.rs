//! The products in single precision, which every device runs. The kernels are in gpu-kernels' `matmul.rs` and
//! `unchecked/register.rs`.

use super::task::{Task, readable};
use crate::{
    device::DeviceInfo,
    experiments::{KernelInfo, Matrices, Point, Request, Shape, Work, covering, covering_2d},
    sizes::Bytes,
};
use anyhow::{Result, bail};
use gpu_kernels::{
    matmul::{matmul_naive, matmul_tiled_16, matmul_tiled_32, matmul_tiled_dynamic},
    unchecked::register::{
        self, matmul_register,
        wide::{self, matmul_register_wide},
    },
};

/// Bytes of an element.
const SIZE: u64 = 4;

/// How a kernel divides C among its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Division {
    /// One element per thread, in blocks of any shape.
    Elements,
    /// Tiles of this width, one element per thread.
    Tiles(u32),
    /// The same in dynamic shared memory, with a width that the launch says.
    Dynamic,
    /// Tiles of `rows` by `columns` for a block of `threads`, with `shared` bytes of shared memory.
    Blocks { rows: u32, columns: u32, threads: u32, shared: u32 },
}

/// A kernel, which takes A, B, C, their sizes, alpha and beta.
pub(super) struct Kernel {
    pub info: KernelInfo,
    division: Division,
    work: fn(Matrices, (f32, f32)) -> Work,
}

macro_rules! kernel {
    ($kernel:ty, $division:expr) => {
        Kernel {
            info: KernelInfo::of::<$kernel>(),
            division: $division,
            work: |Matrices { m, n, k }, (alpha, beta)| {
                Work::kernel::<$kernel>(move |buffers| {
                    (buffers.read(0), buffers.read(1), buffers.write(2), m, n, k, alpha, beta)
                })
            },
        }
    };
}

/// The kernels. A new one is a line here and a function in gpu-kernels' `matmul.rs`.
#[rustfmt::skip]
pub(super) const KERNELS: [Kernel; 6] = [
    kernel!(matmul_naive, Division::Elements),
    kernel!(matmul_tiled_16, Division::Tiles(16)),
    kernel!(matmul_tiled_32, Division::Tiles(32)),
    kernel!(matmul_tiled_dynamic, Division::Dynamic),
    kernel!(matmul_register, Division::Blocks { rows: register::SIDE, columns: register::SIDE, threads: 256, shared: register::SHARED }),
    kernel!(matmul_register_wide, Division::Blocks { rows: wide::ROWS, columns: wide::COLUMNS, threads: wide::THREADS, shared: wide::SHARED }),
];

/// The widths of dynamic tiles in a run that names none.
const TILES: [u32; 2] = [16, 32];

/// The block of `matmul_naive` in a run that names none.
const BLOCK: [u32; 2] = [16, 16];

/// The points of a product: one or more for each kernel that is wanted and fits.
///
/// # Errors
/// A kernel that the user names does not fit the device, or the product cannot be computed.
pub(super) fn points(task: &Task, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    for kernel in KERNELS.iter().filter(|kernel| request.wants(kernel.info.name)) {
        if !is_possible(kernel, request, device) {
            continue;
        }
        for (shape, shared) in shapes(task.matrices, kernel.division, request, device)? {
            let tile = (kernel.division == Division::Dynamic).then_some(("tile", shared[0]));
            let work = (kernel.work)(task.matrices, task.terms.scale);
            points.push(task.point(shape, shared, work, tile)?);
        }
    }
    Ok(points)
}

/// Notes on the kernels that are left out.
pub(super) fn notes(request: &Request, device: &DeviceInfo) -> Vec<String> {
    let left_out = KERNELS
        .iter()
        .filter(|kernel| request.wants(kernel.info.name) && !is_possible(kernel, request, device));
    let reason = |kernel: &Kernel| {
        let needs = match kernel.division {
            Division::Blocks { .. } => {
                format!("shared memory per block than the {}", Bytes(device.max_shared_per_block.into()))
            }
            _ => format!("threads per block than the {}", device.max_threads_per_block),
        };
        format!("{} is left out: its tiles need more {needs} of {}", kernel.info.name, device.plain_name())
    };
    left_out.map(reason).collect()
}

/// Whether a kernel is to be launched. What the user names is, and if it cannot be, says why; what comes with the others
/// is left out on a device that it does not fit.
fn is_possible(kernel: &Kernel, request: &Request, device: &DeviceInfo) -> bool {
    match kernel.division {
        Division::Tiles(width) => request.names(kernel.info.name) || tile_fits(width, device).is_ok(),
        Division::Blocks { shared, .. } => {
            request.names(kernel.info.name) || shared <= device.max_shared_per_block
        }
        _ => true,
    }
}

/// The launches of a kernel, and how many rows and columns of C share what a block loads: of an element, one.
fn shapes(
    Matrices { m, n, .. }: Matrices,
    division: Division,
    request: &Request,
    device: &DeviceInfo,
) -> Result<Vec<(Shape, [u32; 2])>> {
    let (columns, rows) = (u64::from(n), u64::from(m));
    match division {
        Division::Elements => {
            let chosen = request.choices.block.iter().map(|block| [block.x, block.y]).collect();
            let blocks: Vec<_> = if request.choices.block.is_empty() { vec![BLOCK] } else { chosen };
            blocks.into_iter().map(|block| Ok((covering_2d(columns, rows, block, device)?, [1; 2]))).collect()
        }
        Division::Tiles(width) => {
            tile_fits(width, device)?;
            Ok(vec![(covering_2d(columns, rows, [width; 2], device)?, [width; 2])])
        }
        Division::Dynamic => {
            let chosen = request.choices.tile.clone();
            let usual = TILES.into_iter().filter(|&width| tile_fits(width, device).is_ok());
            let widths = if chosen.is_empty() { usual.collect() } else { chosen };
            let shape = |&width: &u32| {
                tile_fits(width, device)?;
                Ok((covering_2d(columns, rows, [width; 2], device)?, [width; 2]))
            };
            widths.iter().map(shape).collect()
        }
        Division::Blocks { rows: down, columns: across, threads, shared } => {
            blocks_fit([down, across], shared, device)?;
            let [x, y] = [columns.div_ceil(across.into()), rows.div_ceil(down.into())];
            let grid = covering_2d(x, y, [1, 1], device)?.grid;
            let block = covering(1, threads, device)?.block;
            Ok(vec![(Shape::new(grid, block), [down, across])])
        }
    }
}

/// Bytes of a block's two tiles: the kernel's contract has them too, but `tile_fits` says what would fit.
fn tile_bytes(width: u32) -> u128 {
    2 * u128::from(width) * u128::from(width) * u128::from(SIZE)
}

/// Refuses a tile that the device cannot launch.
fn tile_fits(width: u32, device: &DeviceInfo) -> Result<()> {
    let threads = u64::from(width) * u64::from(width);
    let (most, shared) = (u64::from(device.max_threads_per_block), u64::from(device.max_shared_per_block));
    if threads <= most && tile_bytes(width) <= shared.into() {
        return Ok(());
    }
    let widest = most.min(shared / (2 * SIZE)).isqrt();
    bail!(
        "tiles of {width} x {width} cannot be launched: a block would have {threads} threads and {} of shared memory for \
         its two tiles, and {} has at most {most} threads and {} for a block. The widest tile is {widest}",
        readable(tile_bytes(width)),
        device.plain_name(),
        Bytes(shared),
    )
}

/// Refuses blocks whose tiles are larger than the shared memory that the device gives a block.
fn blocks_fit([rows, columns]: [u32; 2], shared: u32, device: &DeviceInfo) -> Result<()> {
    if shared <= device.max_shared_per_block {
        return Ok(());
    }
    bail!(
        "blocks for {rows} x {columns} of C cannot be launched: their tiles need {} of shared memory, and {} has {} for a block",
        Bytes(shared.into()),
        device.plain_name(),
        Bytes(device.max_shared_per_block.into()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::tests::{c870, h200};

    #[test]
    fn a_tile_that_cannot_launch_says_why() {
        let error = tile_fits(1024, &h200()).expect_err("a million threads").to_string();
        assert_eq!(
            error,
            "tiles of 1024 x 1024 cannot be launched: a block would have 1048576 threads and 8 MiB of shared memory for \
             its two tiles, and NVIDIA H200 has at most 1024 threads and 227 KiB for a block. The widest tile is 32"
        );
        assert!(tile_fits(32, &h200()).is_ok() && tile_fits(33, &h200()).is_err());
        let error = tile_fits(32, &c870()).expect_err("512 threads a block").to_string();
        assert!(error.ends_with("The widest tile is 22"), "{error}");
        assert!(tile_fits(u32::MAX, &h200()).is_err());
    }
}
