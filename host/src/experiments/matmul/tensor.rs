//! The products on tensor cores, which run on GPUs of compute capability 9.0. The kernels are in gpu-kernels'
//! `unchecked/tensor`.

use super::{
    product::{Matrix, Order},
    task::{Form, Task, Terms},
};
use crate::{
    device::DeviceInfo,
    experiments::{
        Buffer, Buffers, Contents, KernelInfo, Matrices, MatrixMap, Place, Point, Request, Shape, Work,
        Written, covering_2d,
    },
    kernels::own,
    sizes::Bytes,
    verify::Expected,
};
use anyhow::{Result, bail};
use cuda_launch::{PointerMut, Slice};
use cuda_std::{tensor::TensorMap, vector::F32x4};
use gpu_kernels::unchecked::tensor::{
    even::{self, matmul_even},
    medium::{self, matmul_medium},
    mma::{self, matmul_mma},
    multicast::matmul_multicast,
    overlapped::{self, matmul_batched, matmul_overlapped, matmul_rows_of_b},
    persistent::matmul_persistent,
    pipeline,
    prepare::split_tf32,
    promoted::{TF32_SHARED, TF32_SIDE, matmul_3xtf32, matmul_e4m3_promoted, matmul_e5m2_promoted},
    ring::matmul_ring,
    scaled::{matmul_e4m3, matmul_e5m2, matmul_to_f32},
    small::{self, matmul_between, matmul_small},
    staggered::{self, matmul_staggered},
    stored::matmul_stored,
    warpgroup::{self, matmul_wgmma},
    wide::{self, matmul_wide},
};

/// Bytes of a row of a box: what the swizzle spans.
const DEPTH: u64 = 128;

/// A kernel, and how it is launched.
#[derive(Clone, Copy)]
pub(super) struct Rung {
    pub info: KernelInfo,
    form: Form,
    /// Rows and columns of C that a block computes at a time.
    tile: [u32; 2],
    /// Threads of a block.
    threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    shared: u32,
    grid: Grid,
    /// Tiles, down and across, that the blocks of a cluster compute together, where their loads serve all of them.
    shared_by: [u32; 2],
    /// The tensor maps that it takes, of A, B and C in this order, by the rows of their boxes.
    boxes: &'static [u32],
    scale: Scale,
    /// Whether it multiplies stacks of matrices, by maps of three dimensions.
    batched: bool,
    /// Whether it waits for the kernel ahead before it loads or stores, so that its launches may overlap: then it has two rows.
    overlaps: bool,
    work: fn(Call) -> Work,
}

/// The blocks of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grid {
    /// One for each tile, in columns and rows, and as many more as complete the clusters.
    Plane,
    /// One for each tile, in bands of `group` rows of tiles.
    Tiles,
    /// One for each multiprocessor, or each tile where those are fewer; each computes tile after tile.
    Persistent,
    /// The same, which share the tiles that do not come out even, by way of memory.
    Sharing,
}

/// Which of alpha and beta a kernel takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    None,
    Alpha,
    Both,
}

/// What a launch passes besides matrices.
#[derive(Clone, Copy)]
struct Call {
    size: Matrices,
    /// Alpha and beta.
    scale: (f32, f32),
    /// Matrices of a stack.
    batch: u32,
    /// Rows of tiles of a band.
    group: u32,
    multiprocessors: u32,
}

/// The arguments of a kernel that takes A, B and C as slices.
fn slices<'a, T: Copy + 'static, C: Written<'a>>(
    buffers: &'a Buffers,
    Call { size: Matrices { m, n, k }, .. }: Call,
) -> (Slice<'a, T>, Slice<'a, T>, C, u32, u32, u32) {
    (buffers.read(0), buffers.read(1), buffers.write(2), m, n, k)
}

/// Those of one that takes maps of A and B, and C.
fn two_maps<'a, C: Written<'a>>(
    buffers: &'a Buffers,
    Call { size: Matrices { m, n, k }, group, .. }: Call,
) -> (TensorMap, TensorMap, C, u32, u32, u32, u32) {
    (buffers.read_map(0), buffers.read_map(1), buffers.write(2), m, n, k, group)
}

/// The same without the rows of a band.
fn two_maps_one_wave<'a, C: Written<'a>>(
    buffers: &'a Buffers,
    Call { size: Matrices { m, n, k }, .. }: Call,
) -> (TensorMap, TensorMap, C, u32, u32, u32) {
    (buffers.read_map(0), buffers.read_map(1), buffers.write(2), m, n, k)
}

/// Those of one that takes maps of A and B, C, alpha and beta.
fn two_maps_scaled<'a, C: Written<'a>>(
    buffers: &'a Buffers,
    Call { size: Matrices { m, n, k }, scale: (alpha, beta), group, .. }: Call,
) -> (TensorMap, TensorMap, C, u32, u32, u32, f32, f32, u32) {
    (buffers.read_map(0), buffers.read_map(1), buffers.write(2), m, n, k, alpha, beta, group)
}

/// The maps of A, B and C.
fn maps(buffers: &Buffers) -> [TensorMap; 3] {
    [buffers.read_map(0), buffers.read_map(1), buffers.write_map(2)]
}

/// The arguments of a kernel that takes these maps.
fn three_maps(
    buffers: &Buffers,
    Call { size: Matrices { m, n, k }, group, .. }: Call,
) -> (TensorMap, TensorMap, TensorMap, u32, u32, u32, u32) {
    let [a, b, c] = maps(buffers);
    (a, b, c, m, n, k, group)
}

/// The same with the buffers behind C: sums that blocks hand over, and words that say that they are there.
fn three_maps_sharing(
    buffers: &Buffers,
    Call { size: Matrices { m, n, k }, group, .. }: Call,
) -> (TensorMap, TensorMap, TensorMap, PointerMut<'_, F32x4>, PointerMut<'_, u32>, u32, u32, u32, u32) {
    let [a, b, c] = maps(buffers);
    (a, b, c, buffers.write(3), buffers.write(4), m, n, k, group)
}

/// The same with alpha.
fn three_maps_alpha(
    buffers: &Buffers,
    Call { size: Matrices { m, n, k }, scale: (alpha, _), group, .. }: Call,
) -> (TensorMap, TensorMap, TensorMap, u32, u32, u32, f32, u32) {
    let [a, b, c] = maps(buffers);
    (a, b, c, m, n, k, alpha, group)
}

/// Those of one that takes maps of stacks, and the number of matrices of a stack.
fn three_stacks(
    buffers: &Buffers,
    Call { size: Matrices { m, n, k }, batch, group, .. }: Call,
) -> (TensorMap, TensorMap, TensorMap, u32, u32, u32, u32, u32) {
    let [a, b, c] = maps(buffers);
    (a, b, c, m, n, k, batch, group)
}

/// Splits A and B, and multiplies their parts.
fn multiply_3xtf32(call: Call) -> Work {
    let shape = Shape::new([8 * call.multiprocessors, 1, 1], [256, 1, 1]);
    Work::kernel::<matmul_3xtf32>(move |buffers| two_maps_scaled(buffers, call))
        .behind::<split_tf32>(shape, |buffers| (buffers.read(0), buffers.write(3)))
        .behind::<split_tf32>(shape, |buffers| (buffers.read(1), buffers.write(4)))
}

/// What `matmul_overlapped` has, and most of the others: a rung says where it differs.
const USUAL: Rung = Rung {
    info: KernelInfo::of::<matmul_overlapped>(),
    form: Form::BF16,
    tile: [overlapped::ROWS, overlapped::COLUMNS],
    threads: overlapped::THREADS,
    shared: overlapped::SHARED,
    grid: Grid::Persistent,
    shared_by: [1, 1],
    boxes: &[128, 128, 64],
    scale: Scale::None,
    batched: false,
    overlaps: false,
    work: |call| Work::kernel::<matmul_overlapped>(move |buffers| three_maps(buffers, call)),
};

/// A rung by its kernel, the function that gives its arguments, and where it differs from the usual ones.
macro_rules! rung {
    ($kernel:ty, $arguments:ident $(, $field:ident: $value:expr)*) => {
        Rung {
            work: |call| Work::kernel::<$kernel>(move |buffers| $arguments(buffers, call)),
            ..rung!($kernel $(, $field: $value)*)
        }
    };
    ($kernel:ty $(, $field:ident: $value:expr)*) => {
        Rung {
            info: KernelInfo::of::<$kernel>(),
            $($field: $value,)*
            ..USUAL
        }
    };
}

/// The ladder, and further uses of its last step. A new rung is a line here and a function in gpu-kernels.
#[rustfmt::skip]
pub(super) const RUNGS: [Rung; 21] = [
    rung!(matmul_mma, slices, tile: [mma::SIDE; 2], threads: mma::THREADS, shared: mma::SHARED, grid: Grid::Plane, boxes: &[]),
    rung!(matmul_wgmma, two_maps, tile: [warpgroup::ROWS, warpgroup::COLUMNS], threads: 128, shared: warpgroup::SHARED, grid: Grid::Tiles, boxes: &[64, 256]),
    rung!(matmul_ring, two_maps, shared: pipeline::SHARED, grid: Grid::Tiles, boxes: &[128, 128]),
    rung!(matmul_persistent, two_maps, shared: pipeline::SHARED, boxes: &[128, 128]),
    rung!(matmul_stored, three_maps),
    rung!(matmul_overlapped, three_maps),
    rung!(matmul_multicast, three_maps, shared_by: [2, 1]),
    rung!(matmul_wide, three_maps, tile: [wide::ROWS, wide::COLUMNS], shared: wide::SHARED, boxes: &[128, 192, 64], shared_by: [1, 2]),
    rung!(matmul_staggered, two_maps, tile: [staggered::ROWS, staggered::COLUMNS], shared: staggered::SHARED, boxes: &[128, 160], shared_by: [1, 2]),
    rung!(matmul_even, three_maps_sharing, grid: Grid::Sharing),
    rung!(matmul_small, two_maps_one_wave, tile: [small::ROWS, small::COLUMNS], threads: small::THREADS, shared: small::SHARED, grid: Grid::Plane, boxes: &[128, 64], overlaps: true),
    rung!(matmul_between, two_maps_one_wave, tile: [small::ROWS, small::COLUMNS_BETWEEN], threads: small::THREADS, shared: small::SHARED_BETWEEN, grid: Grid::Plane, boxes: &[128, 144], overlaps: true),
    rung!(matmul_medium, two_maps_one_wave, tile: [medium::ROWS, medium::COLUMNS], threads: medium::THREADS, shared: medium::SHARED, grid: Grid::Plane, boxes: &[256, 128], overlaps: true),
    rung!(matmul_rows_of_b, three_maps, form: Form::BF16_ROWS, boxes: &[128, 64, 64]),
    rung!(matmul_to_f32, two_maps_scaled, form: Form::BF16_TO_F32, shared: pipeline::SHARED, boxes: &[128, 128], scale: Scale::Both),
    rung!(matmul_e4m3, three_maps_alpha, form: Form::E4M3_FAST, scale: Scale::Alpha),
    rung!(matmul_e5m2, three_maps_alpha, form: Form::E5M2_FAST, scale: Scale::Alpha),
    rung!(matmul_e4m3_promoted, three_maps_alpha, form: Form::E4M3, scale: Scale::Alpha),
    rung!(matmul_e5m2_promoted, three_maps_alpha, form: Form::E5M2, scale: Scale::Alpha),
    rung!(matmul_3xtf32, form: Form::THREE_TF32, tile: [TF32_SIDE; 2], shared: TF32_SHARED, boxes: &[128, 128], scale: Scale::Alpha, work: multiply_3xtf32),
    rung!(matmul_batched, three_stacks, batched: true),
];

/// The bytes of which a row of A, B and C has a multiple: the copy engine's and the vectors' unit.
const UNIT: u64 = 16;

/// The largest size and one more: coordinates of boxes are signed.
const SIZES: u32 = 1 << 31;

impl Rung {
    /// Whether it is one of the run's. Stacks are multiplied by request alone.
    fn is_wanted(&self, request: &Request, terms: Terms) -> bool {
        let is_one = !self.batched || terms.batch.is_some() || request.names(self.info.name);
        is_one && request.wants(self.info.name)
    }

    /// The reason why the device cannot run the kernel, as a clause.
    fn why_not_on(&self, device: &DeviceInfo) -> Option<String> {
        own::why_not(self.info.name, device).or_else(|| {
            (self.shared > device.max_shared_per_block).then(|| {
                format!(
                    "{} of shared memory per block are needed, and {} has {}",
                    Bytes(self.shared.into()),
                    device.plain_name(),
                    Bytes(device.max_shared_per_block.into()),
                )
            })
        })
    }

    /// The reason why the kernel cannot compute a product, as a clause.
    fn why_not_of(&self, size: Matrices, Terms { scale: (alpha, beta), batch }: Terms) -> Option<String> {
        if !self.batched && batch.is_some() {
            return Some("--batch: a launch of it multiplies one matrix by one".to_string());
        }
        match self.scale {
            Scale::None if (alpha, beta) != (1.0, 0.0) => {
                return Some("C = A B^T has neither --alpha nor --beta".to_string());
            }
            Scale::Alpha if self.form.splits() && beta != 0.0 => {
                return Some("--beta: the errors of all launches would add up in C".to_string());
            }
            Scale::Alpha if beta != 0.0 => return Some("C = alpha A B^T has no --beta".to_string()),
            _ => {}
        }
        let [along_n, along_k] =
            [self.form.bytes_along_n(), self.form.factors.bytes()].map(|bytes| (UNIT / bytes) as u32);
        let Matrices { m, n, k } = size;
        if let Some(large) = [m, n, k].into_iter().find(|&size| size >= SIZES) {
            return Some(format!("--size {size}: {large} is not below 2^31"));
        }
        let (name, size_of_it, unit) = [("N", n, along_n), ("K", k, along_k)]
            .into_iter()
            .find(|(_, size, unit)| !size.is_multiple_of(*unit))?;
        Some(format!(
            "--size {size}: {name} = {size_of_it} is not a multiple of {unit}, and rows have to begin at multiples of {UNIT} bytes"
        ))
    }

    /// The points of a product: one, or one of plain launches and one of overlapping ones.
    fn points(&self, task: &Task, device: &DeviceInfo) -> Result<Vec<Point>> {
        let mut points = vec![self.point(task, device)?];
        if self.overlaps {
            let point = self.point(task, device)?;
            let mut parameters = point.parameters;
            parameters.more.insert("launches".to_string(), "overlapping".into());
            points.push(Point { parameters, work: point.work.overlapping(), ..point });
        }
        Ok(points)
    }

    /// The point of a product by plain launches.
    fn point(&self, task: &Task, device: &DeviceInfo) -> Result<Point> {
        let Matrices { m, n, k } = task.matrices;
        let [rows, columns] = self.tile;
        let batch = task.terms.batch.unwrap_or(1);
        let tiles = u64::from(m.div_ceil(rows)) * u64::from(n.div_ceil(columns)) * u64::from(batch);
        let cluster = self.info.cluster();
        let blocks: u32 = cluster.iter().product();
        let grid = match self.grid {
            Grid::Plane => {
                let across = n.div_ceil(columns).next_multiple_of(cluster[0]);
                let down = m.div_ceil(rows).next_multiple_of(cluster[1]);
                covering_2d(across.into(), down.into(), [1, 1], device)?.grid
            }
            Grid::Tiles => covering_2d(tiles.next_multiple_of(blocks.into()), 1, [1, 1], device)?.grid,
            Grid::Persistent | Grid::Sharing => {
                let most = u64::from((device.multiprocessors / blocks).max(1));
                let [down, across] = self.shared_by;
                let [down, across] = [m.div_ceil(rows * down), n.div_ceil(columns * across)];
                let tiles = u64::from(down) * u64::from(across) * u64::from(batch);
                let waves = tiles.div_ceil(most);
                // Where the tiles can be divided evenly among fewer clusters in as many waves, those are enough.
                let evenly = self.grid == Grid::Persistent && tiles.is_multiple_of(waves);
                let clusters = if evenly { tiles / waves } else { most.min(tiles) };
                [clusters as u32 * blocks, 1, 1]
            }
        };
        let shape = Shape::new(grid, [self.threads, 1, 1]).with_shared(self.shared);
        let loads = [rows * self.shared_by[0], columns * self.shared_by[1]];
        let call = Call {
            size: task.matrices,
            scale: task.terms.scale,
            batch,
            group: group(m.max(n), blocks),
            multiprocessors: device.multiprocessors,
        };
        let more = (blocks > 1).then_some(("cluster", blocks));
        let of = |(matrix, &down): (Matrix, &u32)| {
            let (element, size) = match (matrix, self.form.order) {
                (Matrix::A, _) => (self.form.factors, [m, k]),
                (Matrix::B, Order::Columns) => (self.form.factors, [n, k]),
                (Matrix::B, Order::Rows) => (self.form.factors, [k, n]),
                (Matrix::C, _) => (self.form.result, [m, n]),
            };
            let tile = [down, (DEPTH / element.bytes()) as u32];
            // The parts of split matrices come behind C.
            let (buffer, stack) = match (self.form.splits(), self.batched) {
                (true, _) => (matrix as usize + 3, Some(2)),
                (false, batched) => (matrix as usize, batched.then_some(batch)),
            };
            MatrixMap { buffer, element: element.of_tensor(), size, tile, stack }
        };
        let maps = [Matrix::A, Matrix::B, Matrix::C].into_iter().zip(self.boxes).map(of).collect();
        let mut point = task.point(shape, loads, (self.work)(call), more)?;
        if self.grid == Grid::Sharing {
            point.buffers.extend(to_share(shape.grid[0]));
        }
        Ok(Point { maps, ..point })
    }
}

/// The memory in which `blocks` hand sums over: the sums, which show in C if they are wrong, and two words per block, which
/// are 0 before and after a launch.
fn to_share(blocks: u32) -> [Buffer; 2] {
    let nothing = |_, _, words: &mut [u32]| words.fill(0);
    let sums = Buffer {
        bytes: u64::from(blocks) * u64::from(even::HANDED_OVER),
        place: Place::Device,
        before: Contents::Poison,
        after: Expected::Computed(Box::new(|_, _, _| None)),
    };
    let words = Buffer {
        bytes: u64::from(blocks) * 8,
        place: Place::Device,
        before: Contents::of(|_| 0_u32),
        after: Expected::exactly(nothing),
    };
    [sums, words]
}

/// Rows of tiles of a band, whose operands L2 holds: as many as measured best on an H200. Clusters of two have taller tiles.
fn group(longest: u32, blocks: u32) -> u32 {
    match longest {
        _ if blocks > 1 => 8,
        0..=4096 => 16,
        4097..=8192 => 12,
        _ => 8,
    }
}

/// The points of the rungs that are wanted and possible: size by size, for each the ladder.
///
/// # Errors
/// A kernel that the user names cannot run on the device or compute a product, or a product cannot be computed at all.
pub(super) fn points(
    request: &Request,
    sizes: &[Matrices],
    terms: Terms,
    device: &DeviceInfo,
) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    for &size in sizes {
        let mut tasks: Vec<Task> = Vec::new();
        for rung in RUNGS.iter().filter(|rung| rung.is_wanted(request, terms)) {
            let why_not = rung.why_not_on(device).or_else(|| rung.why_not_of(size, terms));
            match why_not {
                Some(reason) if request.names(rung.info.name) => {
                    bail!("{} cannot be launched: {reason}", rung.info.name)
                }
                Some(_) => continue,
                None => {}
            }
            let known = tasks.iter().position(|task| task.form == rung.form);
            let known = match known {
                Some(known) => known,
                None => {
                    tasks.push(Task::new(size, terms, rung.form, device)?);
                    tasks.len() - 1
                }
            };
            points.extend(rung.points(&tasks[known], device)?);
        }
    }
    Ok(points)
}

/// Notes on the rungs that are left out: those with the same reason in one.
pub(super) fn notes(request: &Request, sizes: &[Matrices], terms: Terms, device: &DeviceInfo) -> Vec<String> {
    let mut left_out: Vec<(String, Vec<&str>)> = Vec::new();
    let wanted = |rung: &&Rung| rung.is_wanted(request, terms) && !request.names(rung.info.name);
    for rung in RUNGS.iter().filter(wanted) {
        let reasons = match rung.why_not_on(device) {
            Some(reason) => vec![reason],
            None => sizes.iter().filter_map(|&size| rung.why_not_of(size, terms)).collect(),
        };
        for reason in reasons {
            match left_out.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, names)) if names.contains(&rung.info.name) => {}
                Some((_, names)) => names.push(rung.info.name),
                None => left_out.push((reason, vec![rung.info.name])),
            }
        }
    }
    let note = |(reason, names): (String, Vec<&str>)| match &names[..] {
        [rest @ .., last] if !rest.is_empty() => {
            format!("{} and {last} are left out: {reason}", rest.join(", "))
        }
        _ => format!("{} is left out: {reason}", names.concat()),
    };
    left_out.into_iter().map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        device::tests::h200,
        experiments::{matmul::Element, tests::naming},
    };

    /// The first point of a kernel for a product, which is of plain launches.
    fn point(kernel: &str, m: u32, n: u32, k: u32) -> Point {
        let points = points(&naming(&[kernel]), &[Matrices { m, n, k }], Terms::PLAIN, &h200());
        points.expect("it can run").into_iter().next().expect("a point")
    }

    #[test]
    fn blocks_are_one_for_each_tile_or_one_for_each_multiprocessor() {
        let grid = |kernel, m, n| point(kernel, m, n, 64).shape.grid;
        // 129 rows are two tiles of 128, three of 64; 264 columns are three tiles of 128, two of 256.
        assert_eq!(grid("matmul_mma", 129, 264), [3, 2, 1]);
        assert_eq!(grid("matmul_wgmma", 129, 264), [6, 1, 1]);
        assert_eq!(grid("matmul_overlapped", 129, 264), [4, 1, 1]);
        // 512 tiles are four waves of 128; 544 are no five equal ones.
        assert_eq!(grid("matmul_overlapped", 4096, 4224), [132, 1, 1]);
        assert_eq!(grid("matmul_overlapped", 4096, 4096), [128, 1, 1]);
        // Blocks that share tiles need not come out even.
        assert_eq!(grid("matmul_even", 4096, 4096), [132, 1, 1]);
        assert_eq!(grid("matmul_even", 129, 264), [4, 1, 1]);
        // 260 rows are two clusters' tiles of 256.
        assert_eq!(grid("matmul_multicast", 260, 264), [8, 1, 1]);
        assert_eq!(grid("matmul_multicast", 4096, 4096), [128, 1, 1]);
        assert_eq!(grid("matmul_multicast", 16384, 16384), [132, 1, 1]);
        // 264 columns are one cluster's tile of 384.
        assert_eq!(grid("matmul_wide", 260, 264), [4, 1, 1]);
        assert_eq!(grid("matmul_small", 257, 264), [5, 3, 1]);
        assert_eq!(grid("matmul_medium", 257, 264), [3, 2, 1]);
        // 1536 are twelve rows and eleven columns of tiles of 128 x 144; 328 columns are two clusters' tiles of 320.
        assert_eq!(grid("matmul_between", 1536, 1536), [11, 12, 1]);
        assert_eq!(grid("matmul_staggered", 260, 328), [8, 1, 1]);
        for rung in &RUNGS {
            let point = point(rung.info.name, 8192, 8192, 64);
            let mut clusters = point.shape.grid.into_iter().zip(rung.info.cluster());
            assert!(clusters.all(|(blocks, of)| blocks.is_multiple_of(of)), "{}", rung.info.name);
            assert_eq!(point.shape.shared, rung.shared);
        }
    }

    #[test]
    fn maps_are_of_the_matrices_with_boxes_of_128_bytes() {
        let maps = point("matmul_overlapped", 200, 328, 72).maps;
        let sizes: Vec<_> = maps.iter().map(|map| (map.buffer, map.size, map.tile)).collect();
        assert_eq!(sizes, [(0, [200, 72], [128, 64]), (1, [328, 72], [128, 64]), (2, [200, 328], [64, 64])]);
        assert!(point("matmul_mma", 200, 328, 72).maps.is_empty());
        // FP8 has 128 elements in as many bytes, and moves as bytes.
        let maps = point("matmul_e4m3_promoted", 200, 328, 80).maps;
        let of = maps.iter().map(|map| (map.element, map.size, map.tile));
        let (bytes, bf16) = (Element::E4m3.of_tensor(), Element::Bf16.of_tensor());
        assert_eq!(
            of.collect::<Vec<_>>(),
            [(bytes, [200, 80], [128, 128]), (bytes, [328, 80], [128, 128]), (bf16, [200, 328], [64, 64])]
        );
    }

    #[test]
    fn blocks_that_share_have_memory_to_hand_over() {
        let point = point("matmul_even", 512, 1024, 64);
        let bytes: Vec<_> = point.buffers.iter().map(|buffer| buffer.bytes).collect();
        // 16 tiles of 128 x 256 are 16 blocks, each with its sums in f32 and a word for each half.
        assert_eq!(bytes, [65_536, 131_072, 1_048_576, 16 * 131_072, 16 * 8]);
        let mut words = [0_u32; 32];
        let check = |words: &[u32]| {
            let found = point.buffers[4].after.check(0, 1, cust::memory::bytemuck::cast_slice(words));
            found.map(|findings| findings.count)
        };
        assert_eq!(check(&words), None);
        words[3] = 1;
        assert_eq!(check(&words), Some(1), "a word that was not taken back");
    }

    #[test]
    fn loads_are_those_of_the_tiles() {
        let read = |kernel| point(kernel, 256, 512, 64).bytes.read;
        // A has 32 KiB and B 64 KiB. A is loaded for each column of tiles, B for each row.
        assert_eq!(read("matmul_mma"), (4 * 32 + 2 * 64) << 10);
        assert_eq!(read("matmul_wgmma"), (2 * 32 + 4 * 64) << 10);
        assert_eq!(read("matmul_overlapped"), (2 * 32 + 2 * 64) << 10);
        assert_eq!(read("matmul_small"), (8 * 32 + 2 * 64) << 10);
        assert_eq!(read("matmul_medium"), (4 * 32 + 64) << 10);
        // Two tiles across of 320 columns, of which B has 512.
        assert_eq!(read("matmul_staggered"), (2 * 32 + 64) << 10);
        // Half as many bytes of FP8.
        assert_eq!(read("matmul_e5m2_promoted"), (2 * 16 + 2 * 32) << 10);
    }

    #[test]
    fn a_unit_of_n_is_of_the_result_and_of_k_is_of_the_factors() {
        let refusal = |kernel, n, k| {
            let points = points(&naming(&[kernel]), &[Matrices { m: 1, n, k }], Terms::PLAIN, &h200());
            points.err().map(|error| error.to_string())
        };
        for (kernel, of_n, of_k) in [
            ("matmul_overlapped", 8, 8),
            ("matmul_rows_of_b", 8, 8),
            ("matmul_to_f32", 4, 8),
            ("matmul_e4m3_promoted", 8, 16),
            ("matmul_e5m2_promoted", 8, 16),
        ] {
            assert_eq!(refusal(kernel, of_n, of_k), None, "{kernel}");
            let [n, k] = [(of_n / 2, of_k), (of_n, of_k / 2)].map(|(n, k)| refusal(kernel, n, k));
            let says = |name, half, unit| format!("{name} = {half} is not a multiple of {unit}, and rows");
            assert!(n.is_some_and(|error| error.contains(&says("N", of_n / 2, of_n))), "{kernel}");
            assert!(k.is_some_and(|error| error.contains(&says("K", of_k / 2, of_k))), "{kernel}");
        }
    }

    #[test]
    fn stacks_and_parts_have_maps_of_three_dimensions() {
        let size = Matrices { m: 200, n: 328, k: 72 };
        let terms = Terms { batch: Some(5), ..Terms::PLAIN };
        let points = points(&naming(&["matmul_batched"]), &[size], terms, &h200()).expect("it can run");
        let [point] = <[Point; 1]>::try_from(points).ok().expect("one point");
        assert!(point.maps.iter().all(|map| map.stack == Some(5)));
        assert_eq!(point.parameters.more.get("batch"), Some(&5.into()));
        // Two tiles by two of each of five, and five times the operations.
        assert_eq!((point.shape.grid, point.flops), ([20, 1, 1], Some(5 * 2 * 200 * 328 * 72)));
        let bytes: Vec<_> = point.buffers.iter().map(|buffer| buffer.bytes).collect();
        assert_eq!(bytes, [200 * 72, 328 * 72, 200 * 328].map(|elements| 5 * 2 * elements));

        let point = self::point("matmul_3xtf32", 200, 328, 72);
        let maps: Vec<_> = point.maps.iter().map(|map| (map.buffer, map.size, map.tile, map.stack)).collect();
        assert_eq!(maps, [(3, [200, 72], [128, 32], Some(2)), (4, [328, 72], [128, 32], Some(2))]);
        let bytes: Vec<_> = point.buffers.iter().map(|buffer| buffer.bytes / 4).collect();
        assert_eq!(bytes, [200 * 72, 328 * 72, 200 * 328, 2 * 200 * 72, 2 * 328 * 72]);
    }

    #[test]
    fn factors_are_taken_where_the_kernel_has_them() {
        let refusal = |kernel, scale| {
            let terms = Terms { scale, batch: None };
            let size = Matrices { m: 64, n: 64, k: 64 };
            points(&naming(&[kernel]), &[size], terms, &h200()).err().map(|error| error.to_string())
        };
        for kernel in ["matmul_e4m3", "matmul_e5m2_promoted", "matmul_3xtf32", "matmul_to_f32"] {
            assert_eq!(refusal(kernel, (-1.5, 0.0)), None, "{kernel}");
        }
        assert_eq!(refusal("matmul_to_f32", (1.0, 2.0)), None);
        for (kernel, scale, why) in [
            ("matmul_overlapped", (2.0, 0.0), "C = A B^T has neither --alpha nor --beta"),
            ("matmul_e4m3_promoted", (1.0, 2.0), "C = alpha A B^T has no --beta"),
            ("matmul_3xtf32", (1.0, 2.0), "--beta: the errors of all launches would add up in C"),
        ] {
            assert_eq!(refusal(kernel, scale), Some(format!("{kernel} cannot be launched: {why}")));
        }
    }

    #[test]
    fn sums_of_14_bits_are_refused_where_they_are_not_exact() {
        let request = naming(&["matmul_e4m3"]);
        let of = |k| points(&request, &[Matrices { m: 64, n: 64, k }], Terms::PLAIN, &h200());
        assert!(of(16_368).is_ok());
        let error = of(16_384).err().expect("2^14 ones").to_string();
        assert!(error.contains("can reach 2^14") && error.ends_with("k goes up to 16383"), "{error}");
    }

    #[test]
    fn sizes_are_below_the_range_of_signed_coordinates() {
        let points =
            points(&naming(&["matmul_wgmma"]), &[Matrices { m: 1 << 31, n: 8, k: 8 }], Terms::PLAIN, &h200());
        let error = points.err().expect("too large").to_string();
        assert!(error.ends_with("--size 2147483648x8x8: 2147483648 is not below 2^31"), "{error}");
    }
}
