//! `transpose`: one side of the work is always strided. The kernels and what to expect of them are in gpu-kernels'
//! `transpose.rs` and the files below it.

use super::{
    Block, Buffer, BytesMoved, Contents, Experiment, KernelInfo, Place, Point, Precision, Request, Scale,
    Shape, Work, articles, copy, covering_2d, findings,
};
use crate::{device::DeviceInfo, verify::Expected};
use anyhow::{Result, anyhow, bail};
use gpu_kernels::{
    transpose::{
        UNROLLED, copy_col, copy_row, diagonal_col, diagonal_row, naive_col, naive_row,
        tiles::{
            PADDED, THREADS, TILE, WIDE, WIDE_PADDED, tile, tile_dynamic, tile_padded, tile_padded_unrolled,
        },
        unroll4_col, unroll4_row,
    },
    unchecked::vectors::{SIDE, tile_vector, tile_vector_down},
};
use pattern::{Element, SEED};
use record::{Parameters, Record};
use report::{Article, Picture};

/// Copies and transposes of a matrix of `ny` rows and `nx` columns.
pub(super) struct Transpose;

/// A kernel, which takes source, destination, nx and ny, and the padding of a tile whose shape is the block's.
struct Kernel {
    info: KernelInfo,
    threads: Threads,
    turns: Turns,
    /// Words of static shared memory.
    words: u32,
    work: fn(Matrix, u32) -> Work,
}

/// How a kernel's blocks lie on the matrix.
#[derive(Clone, Copy)]
enum Threads {
    /// One thread for n columns of a row.
    AlongRows(usize),
    /// One thread for n rows of a column: x runs down the columns.
    DownColumns(usize),
    /// A block of [`THREADS`] in any shape for a tile of these columns and rows.
    Tile(u32, u32),
    /// The same, with the grid's x down the columns of tiles.
    TileDown(u32, u32),
    /// One thread for each element, and a tile of the block's shape in dynamic shared memory.
    TileOfBlock,
}

/// Whether a kernel copies or transposes the matrix.
#[derive(Clone, Copy)]
enum Turns {
    Copied,
    Transposed,
}

use Threads::{AlongRows, DownColumns, Tile, TileDown, TileOfBlock};
use Turns::{Copied, Transposed};

macro_rules! kernel {
    ($kernel:ty, $threads:expr, $turns:expr, $words:expr) => {
        kernel!($kernel, $threads, $turns, $words, |Matrix { nx, ny }, _| {
            Work::kernel::<$kernel>(move |buffers| (buffers.read(0), buffers.write(1), nx, ny))
        })
    };
    ($kernel:ty, $threads:expr, $turns:expr, $words:expr, $work:expr) => {
        Kernel {
            info: KernelInfo::of::<$kernel>(),
            threads: $threads,
            turns: $turns,
            words: $words,
            work: $work,
        }
    };
}

/// The kernels. A new one is a line here and a function in gpu-kernels' `transpose.rs`.
const KERNELS: [Kernel; 14] = [
    kernel!(copy_row, AlongRows(1), Copied, 0),
    kernel!(copy_col, DownColumns(1), Copied, 0),
    kernel!(naive_row, AlongRows(1), Transposed, 0),
    kernel!(naive_col, DownColumns(1), Transposed, 0),
    kernel!(unroll4_row, AlongRows(UNROLLED), Transposed, 0),
    kernel!(unroll4_col, DownColumns(UNROLLED), Transposed, 0),
    kernel!(diagonal_row, AlongRows(1), Transposed, 0),
    kernel!(diagonal_col, DownColumns(1), Transposed, 0),
    kernel!(tile, Tile(TILE, TILE), Transposed, TILE * TILE),
    kernel!(tile_padded, Tile(TILE, TILE), Transposed, TILE * PADDED),
    kernel!(tile_padded_unrolled, Tile(WIDE, TILE), Transposed, TILE * WIDE_PADDED),
    kernel!(tile_dynamic, TileOfBlock, Transposed, 0, |Matrix { nx, ny }, padding| {
        Work::kernel::<tile_dynamic>(move |buffers| (buffers.read(0), buffers.write(1), nx, ny, padding))
    }),
    kernel!(tile_vector, Tile(SIDE, SIDE), Transposed, SIDE * SIDE),
    kernel!(tile_vector_down, TileDown(SIDE, SIDE), Transposed, SIDE * SIDE),
];

/// The article's block.
const BLOCK: Block = Block { x: 16, y: 16 };

/// The block of tiles, where each of a block's warps is a row.
const TILE_BLOCK: Block = Block { x: 32, y: 8 };

/// Unused words at the end of each row of a tile as the block is: with conflicts, and without.
const PADDINGS: [u32; 2] = [0, 1];

/// Columns and rows of the article's matrix, and of one far beyond L2.
const ARTICLE: (u32, u32) = (2048, 2048);
const BEYOND_L2: (u32, u32) = (16384, 16384);

/// Neither square nor whole tiles: with rows that vectors fit into, and without.
const SMALL: [(u32, u32); 2] = [(132, 68), (67, 45)];

impl Kernel {
    /// Whether it can be launched with this block.
    fn takes(&self, block: Block) -> bool {
        !self.has_tiles_of_its_own() || block.threads() == THREADS
    }

    /// Whether its tiles have a size that is not the block's.
    fn has_tiles_of_its_own(&self) -> bool {
        matches!(self.threads, Tile(..) | TileDown(..))
    }

    /// Whether a block of the device has shared memory enough for it.
    fn fits(&self, device: &DeviceInfo) -> bool {
        /// The first compute capability whose parameters are not in shared memory as well.
        const PARAMETERS_APART: u32 = 20;
        let parameters = if device.compute() < PARAMETERS_APART { 64 } else { 0 };
        self.shared() + parameters <= device.max_shared_per_block
    }

    /// Bytes of static shared memory.
    fn shared(&self) -> u32 {
        4 * self.words
    }

    /// The blocks that the request asks for, of those that the kernel takes.
    fn blocks(&self, request: &Request) -> Vec<Block> {
        if request.choices.block.is_empty() {
            return vec![if self.has_tiles_of_its_own() { TILE_BLOCK } else { BLOCK }];
        }
        request.choices.block.iter().copied().filter(|block| self.takes(*block)).collect()
    }

    fn shape(&self, block: Block, matrix: Matrix, device: &DeviceInfo) -> Result<Shape> {
        let (nx, ny) = (u64::from(matrix.nx), u64::from(matrix.ny));
        let Block { x, y } = block;
        match self.threads {
            AlongRows(each) => covering_2d(nx.div_ceil(each as u64), ny, [x, y], device),
            DownColumns(each) => covering_2d(ny.div_ceil(each as u64), nx, [x, y], device),
            Tile(columns, rows) => covering_2d(
                nx.div_ceil(columns.into()) * u64::from(x),
                ny.div_ceil(rows.into()) * u64::from(y),
                [x, y],
                device,
            ),
            TileDown(columns, rows) => covering_2d(
                ny.div_ceil(rows.into()) * u64::from(x),
                nx.div_ceil(columns.into()) * u64::from(y),
                [x, y],
                device,
            ),
            TileOfBlock => covering_2d(nx, ny, [x, y], device),
        }
    }
}

/// `ny` rows of `nx` elements.
#[derive(Clone, Copy)]
struct Matrix {
    nx: u32,
    ny: u32,
}

impl Matrix {
    fn elements(self) -> u64 {
        u64::from(self.nx) * u64::from(self.ny)
    }

    /// # Errors
    /// The matrix exceeds the address space.
    fn bytes(self) -> Result<u64> {
        let Matrix { nx, ny } = self;
        let bytes = self.elements().checked_mul(4).filter(|&bytes| i64::try_from(bytes).is_ok());
        bytes.ok_or_else(|| {
            anyhow!("a matrix of {ny} rows of {nx} elements does not fit in 64 bits of address: use a smaller --nx or --ny")
        })
    }
}

impl Experiment for Transpose {
    fn name(&self) -> &'static str {
        "transpose"
    }

    fn summary(&self) -> &'static str {
        "destination[x][y] = source[y][x]: either its reads or its writes are strided"
    }

    fn reading(&self) -> &'static str {
        "copy_row and copy_col copy without transposing: the upper and the lower bound. In row kernels lanes load along \
         rows and store down columns; in col kernels they load down columns and store along rows. Tiles transpose in \
         shared memory, so that both sides go along rows; vectors also move 16 bytes per lane on both sides."
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::CHAPTER_4, articles::CHAPTER_5]
    }

    fn picture(&self) -> Picture {
        Picture::Bars { by: &["padding", "block", "nx", "ny"] }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::transpose::transpose
    }

    fn options(&self) -> &'static [&'static str] {
        &["nx", "ny", "block"]
    }

    fn two_dimensional(&self) -> bool {
        true
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        KERNELS.iter().map(|kernel| kernel.info).collect()
    }

    fn notes(&self, request: &Request, device: &DeviceInfo) -> Vec<String> {
        let mut notes = Vec::new();
        let too_large: Vec<&str> = KERNELS
            .iter()
            .filter(|kernel| request.wants(kernel.info.name) && !kernel.fits(device))
            .map(|kernel| kernel.info.name)
            .collect();
        if !too_large.is_empty() {
            notes.push(format!(
                "{} has {} bytes of shared memory per block, which is too little for {}: left out",
                device.plain_name(),
                device.max_shared_per_block,
                too_large.join(", "),
            ));
        }
        let refused = |block: &&Block| block.threads() != THREADS;
        let refused: Vec<String> =
            request.choices.block.iter().filter(refused).map(Block::to_string).collect();
        let without: Vec<&str> = KERNELS
            .iter()
            .filter(|kernel| request.wants(kernel.info.name) && kernel.has_tiles_of_its_own())
            .map(|kernel| kernel.info.name)
            .collect();
        if !refused.is_empty() && !without.is_empty() {
            notes.push(format!(
                "{} need blocks of {THREADS} threads: left out with --block {}",
                without.join(", "),
                refused.join(","),
            ));
        }
        notes
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        let mut points = Vec::new();
        for matrix in matrices(request) {
            let bytes = matrix.bytes()?;
            for kernel in KERNELS.iter().filter(|kernel| request.wants(kernel.info.name)) {
                if !kernel.fits(device) {
                    if request.names(kernel.info.name) {
                        bail!(
                            "{} needs {} bytes of shared memory per block, and {} has {}, parameters included",
                            kernel.info.name,
                            kernel.shared(),
                            device.plain_name(),
                            device.max_shared_per_block,
                        );
                    }
                    continue;
                }
                let blocks = kernel.blocks(request);
                if blocks.is_empty() && request.names(kernel.info.name) {
                    bail!(
                        "{} takes blocks of {THREADS} threads in any shape, as in --block 16x16 or 32x8",
                        kernel.info.name,
                    );
                }
                let paddings = if matches!(kernel.threads, TileOfBlock) { &PADDINGS[..] } else { &[0] };
                for block in blocks {
                    for &padding in paddings {
                        let shape = kernel.shape(block, matrix, device)?;
                        points.push(point(kernel, matrix, bytes, shape, padding));
                    }
                }
            }
        }
        Ok(points)
    }
}

/// The matrices that the request asks for.
fn matrices(request: &Request) -> Vec<Matrix> {
    let sizes = match (request.choices.nx, request.choices.ny) {
        (Some(nx), Some(ny)) => vec![(nx, ny)],
        (Some(side), None) | (None, Some(side)) => vec![(side, side)],
        (None, None) => match request.scale {
            Scale::Small => SMALL.to_vec(),
            Scale::Quick => vec![ARTICLE],
            Scale::Full => vec![ARTICLE, BEYOND_L2],
        },
    };
    sizes.into_iter().map(|(nx, ny)| Matrix { nx, ny }).collect()
}

fn point(kernel: &Kernel, matrix: Matrix, bytes: u64, shape: Shape, padding: u32) -> Point {
    let (Matrix { nx, ny }, elements) = (matrix, matrix.elements());
    let point = Point::new(Transpose.name(), shape, (kernel.work)(matrix, padding));
    let parameters = Parameters { bytes, elements, ..point.parameters.clone() }.with("nx", nx).with("ny", ny);
    let place = Place::Device;
    Point {
        parameters: if matches!(kernel.threads, TileOfBlock) {
            parameters.with("padding", padding)
        } else {
            parameters
        },
        bytes: BytesMoved { read: bytes, written: bytes, footprint: 2 * bytes },
        buffers: vec![
            Buffer { bytes, place, before: Contents::Pattern(Precision::F32), after: copy::pattern() },
            Buffer {
                bytes,
                place,
                before: Contents::Poison,
                after: match kernel.turns {
                    Copied => copy::pattern(),
                    Transposed => transposed(matrix),
                },
            },
        ],
        ..point
    }
}

/// The transpose of the source: `nx` rows of `ny` elements.
fn transposed(Matrix { nx, ny }: Matrix) -> Expected {
    let (nx, ny) = (u64::from(nx), u64::from(ny));
    Expected::exactly(move |first, _, values: &mut [f32]| {
        let (mut row, mut column, mut rest) = (first / ny, first % ny, values);
        while !rest.is_empty() {
            let (run, after) = rest.split_at_mut(rest.len().min((ny - column) as usize));
            f32::fill_by(column * nx + row, nx, SEED, run);
            (row, column, rest) = (row + 1, 0, after);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        device::tests::{c870, h200},
        experiments::{
            Choices,
            tests::{naming, request},
        },
    };

    fn chosen(choices: Choices) -> Request {
        Request { choices, ..request() }
    }

    fn grid(points: &[Point], kernel: &str) -> [u32; 3] {
        points
            .iter()
            .find(|point| point.kernel == kernel)
            .map(|point| point.shape.grid)
            .expect("it is planned")
    }

    #[test]
    fn grids_cover_the_matrix_the_way_each_kernel_walks() {
        let choices = Choices { nx: Some(100), ny: Some(33), ..Choices::default() };
        let points = Transpose.points(&chosen(choices), &h200()).expect("it is a valid request");
        // One of each, and another of the tile that has its padding as a parameter.
        assert_eq!(points.len(), KERNELS.len() + 1);
        for (kernel, expected) in [
            ("copy_row", [7, 3, 1]),
            ("naive_col", [3, 7, 1]),
            ("unroll4_row", [2, 3, 1]),
            ("unroll4_col", [1, 7, 1]),
            ("diagonal_col", [3, 7, 1]),
            ("tile", [4, 2, 1]),
            ("tile_padded_unrolled", [2, 2, 1]),
            ("tile_dynamic", [7, 3, 1]),
            ("tile_vector", [2, 1, 1]),
            ("tile_vector_down", [1, 2, 1]),
        ] {
            assert_eq!(grid(&points, kernel), expected, "{kernel}");
        }
        let dynamic: Vec<_> = points.iter().filter(|point| point.kernel == "tile_dynamic").collect();
        assert_eq!(
            dynamic.iter().map(|point| point.shape.shared).collect::<Vec<_>>(),
            [16 * 16 * 4, 16 * 17 * 4]
        );
        assert_eq!(dynamic[1].parameters.more["padding"], 1);
        for point in &points {
            assert_eq!(point.bytes, BytesMoved { read: 13200, written: 13200, footprint: 26400 });
            let tiles = point.kernel.starts_with("tile") && point.kernel != "tile_dynamic";
            assert_eq!(point.shape.block, if tiles { [32, 8, 1] } else { [16, 16, 1] }, "{}", point.kernel);
        }
    }

    #[test]
    fn sizes_follow_the_device_and_the_scale() {
        let sizes = |scale, device: &DeviceInfo| {
            let request = Request { scale, kernels: vec!["tile".to_string()], ..request() };
            let points = Transpose.points(&request, device).expect("it is a valid request");
            points.iter().map(|point| point.parameters.elements).collect::<Vec<_>>()
        };
        assert_eq!(sizes(Scale::Quick, &h200()), [1 << 22]);
        assert_eq!(sizes(Scale::Quick, &c870()), [1 << 22]);
        assert_eq!(sizes(Scale::Full, &h200()), [1 << 22, 1 << 28]);
        assert_eq!(sizes(Scale::Small, &h200()), [132 * 68, 67 * 45]);
        let side = chosen(Choices { ny: Some(50), ..Choices::default() });
        assert_eq!(Transpose.points(&side, &h200()).expect("a square")[0].parameters.elements, 2500);
    }

    #[test]
    fn tiles_refuse_blocks_of_other_than_256_threads() {
        let blocks = |blocks: &[&str], kernels: &[&str]| Request {
            kernels: naming(kernels).kernels,
            named: naming(kernels).named,
            ..chosen(Choices {
                block: blocks.iter().map(|block| block.parse().expect("a block")).collect(),
                nx: Some(64),
                ..Choices::default()
            })
        };
        let request = blocks(&["16x16", "64x2"], &[]);
        let points = Transpose.points(&request, &h200()).expect("some take it");
        assert_eq!(points.len(), 15 + 10);
        let [note] = &Transpose.notes(&request, &h200())[..] else { panic!("one note") };
        assert!(note.starts_with("tile, tile_padded, "), "{note}");
        assert!(note.ends_with(" need blocks of 256 threads: left out with --block 64x2"), "{note}");

        let error = Transpose.points(&blocks(&["64x2"], &["tile_padded"]), &h200()).err().expect("refused");
        assert_eq!(
            error.to_string(),
            "tile_padded takes blocks of 256 threads in any shape, as in --block 16x16 or 32x8"
        );
        assert!(Transpose.notes(&blocks(&["64x2"], &["copy_row"]), &h200()).is_empty());
        let error = Transpose.points(&blocks(&["32x32"], &["copy_row"]), &c870()).err().expect("refused");
        assert!(error.to_string().contains("1024 threads (32x32)"), "{error}");
    }

    #[test]
    fn tiles_that_do_not_fit_into_a_block_s_memory_are_left_out_or_refused() {
        let points = Transpose.points(&request(), &c870()).expect("some fit");
        assert_eq!(points.len(), 15 - 2);
        let [note] = &Transpose.notes(&request(), &c870())[..] else { panic!("one note") };
        assert!(
            note.contains("16384 bytes of shared memory per block, which is too little for tile_vector, "),
            "{note}"
        );
        let named = naming(&["tile_vector"]);
        let error = Transpose.points(&named, &c870()).err().expect("refused").to_string();
        assert!(error.contains("tile_vector needs 16384 bytes of shared memory per block"), "{error}");
    }

    #[test]
    fn matrices_beyond_what_there_is_are_refused() {
        let choices = Choices { nx: Some(1 << 31), ..Choices::default() };
        let error = Transpose.points(&chosen(choices), &h200()).err().expect("2^64 bytes").to_string();
        assert!(error.contains("2147483648 rows of 2147483648 elements does not fit"), "{error}");
        let choices = Choices { nx: Some(1), ny: Some(1 << 30), ..Choices::default() };
        let error = Transpose.points(&chosen(choices), &h200()).err().expect("too many blocks").to_string();
        assert!(error.contains("1 x 67108864 blocks") && error.contains("smaller matrix"), "{error}");
    }

    #[test]
    fn what_must_come_out_is_the_transpose() {
        let (nx, ny) = (5_u64, 3_u64);
        let source: Vec<f32> =
            (0..nx * ny).map(|index| f32::from_value(pattern::value(index, SEED))).collect();
        let mut bytes = Vec::new();
        for row in 0..nx {
            for column in 0..ny {
                bytes.extend(source[(column * nx + row) as usize].to_le_bytes());
            }
        }
        let rule = transposed(Matrix { nx: 5, ny: 3 });
        assert_eq!(rule.check(0, 1, &bytes), None);
        assert_eq!(rule.check(7, 1, &bytes[28..]), None);
        assert!(copy::pattern().check(0, 1, &bytes).is_some());
        bytes.swap(4, 8);
        bytes.swap(5, 9);
        bytes.swap(6, 10);
        bytes.swap(7, 11);
        assert_eq!(rule.check(0, 1, &bytes).map(|found| (found.count, found.first.index)), Some((2, 1)));
    }
}
