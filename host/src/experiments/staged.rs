//! `async`: copies that run beside the threads, by what carries the bytes and by how many are in flight. The kernels and what
//! to expect of them are in gpu-kernels' `unchecked/staged.rs`.

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, MatrixMap, Place, Point, Precision, Request, Scale,
    Work, articles, check_size, copy, covering, findings,
};
use crate::{device::DeviceInfo, kernels::own, verify::Expected};
use anyhow::{Result, bail};
use cuda_driver::ext::TensorElement;
use gpu_kernels::unchecked::staged::{ROW, async_bulk, async_copy, async_plain, async_tensor};
use pattern::SEED;
use rayon::prelude::*;
use record::{Parameters, Record};
use report::{Article, Picture};

/// Loads, `cp.async`, bulk copies and copies by tensor map into a ring of stages.
pub(super) struct Async;

/// A kernel, and its work with that many stages of a source of that many vectors.
pub(super) struct Kernel {
    pub(super) info: KernelInfo,
    work: fn(u32, usize) -> Work,
}

/// The kernels, in the order of the table.
pub(super) const KERNELS: [Kernel; 4] = [
    Kernel {
        info: KernelInfo::of::<async_plain>(),
        work: |stages, _| Work::kernel::<async_plain>(move |on| (on.read(0), on.write(1), stages)),
    },
    Kernel {
        info: KernelInfo::of::<async_copy>(),
        work: |stages, _| Work::kernel::<async_copy>(move |on| (on.read(0), on.write(1), stages)),
    },
    Kernel {
        info: KernelInfo::of::<async_bulk>(),
        work: |stages, _| Work::kernel::<async_bulk>(move |on| (on.read(0), on.write(1), stages)),
    },
    Kernel {
        info: KernelInfo::of::<async_tensor>(),
        work: |stages, vectors| {
            Work::kernel::<async_tensor>(move |on| (on.read_map(0), on.write(1), stages, vectors))
        },
    },
];

/// Stages of a ring.
const STAGES: [u32; 4] = [1, 2, 4, 8];

/// Threads of a block, each with a vector of a stage.
const BLOCKS: [u32; 4] = [128, 256, 512, 1024];

/// The block of a quick run: stages of 4 KiB.
const QUICK: [u32; 1] = [256];

/// Blocks in a check.
const SMALL_GRID: u32 = 2;

/// Bytes that a source has a whole number of: those of the largest stage.
pub(super) const UNIT: u64 = VECTOR * BLOCKS[BLOCKS.len() - 1] as u64;

/// Bytes of a vector, and of one of its words.
const VECTOR: u64 = 16;
const WORD: u64 = 4;

/// Sums that one processor checks at a time.
const PIECE: usize = 128;

/// Words of a vector.
const WORDS: u64 = VECTOR / WORD;

impl Experiment for Async {
    fn name(&self) -> &'static str {
        "async"
    }

    fn summary(&self) -> &'static str {
        "sums through rings of stages in shared memory, filled by loads, cp.async, bulk copies and tensor maps"
    }

    fn reading(&self) -> &'static str {
        "A launch has one block per multiprocessor, so stages times stage_bytes are in flight on each. Bandwidth grows with \
         them until they cover latency times bandwidth (Little's law). The kernels differ in what carries the bytes."
    }

    fn module(&self) -> &'static str {
        "unchecked/staged"
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::DISSECTING_HOPPER]
    }

    fn picture(&self) -> Picture {
        Picture::Curve { over: "stages", by: &["stage_bytes"], sectors: false }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::staged::staged
    }

    fn options(&self) -> &'static [&'static str] {
        &["bytes", "block"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        KERNELS.iter().map(|kernel| kernel.info).collect()
    }

    fn unit(&self, _: &Request) -> u64 {
        UNIT
    }

    fn modelled_bytes(&self, beyond_l2: u64) -> u64 {
        beyond_l2.min(8 << 20)
    }

    fn notes(&self, request: &Request, device: &DeviceInfo) -> Vec<String> {
        own::left_out(
            KERNELS.iter().map(|kernel| kernel.info.name).filter(|name| request.wants(name)),
            device,
        )
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        check_size(&[self], request)?;
        let blocks = match (&request.choices.block[..], request.scale) {
            ([], Scale::Full) => BLOCKS.to_vec(),
            ([], _) => QUICK.to_vec(),
            _ if BLOCKS.contains(&request.block) => vec![request.block],
            _ => bail!(
                "async takes blocks of 128, 256, 512 or 1024 threads, whose vectors are a stage of 2 to 16 KiB, and not of {}",
                request.block
            ),
        };
        let mut points = Vec::new();
        for kernel in KERNELS.iter().filter(|kernel| request.wants(kernel.info.name)) {
            if !own::runs(kernel.info.name, device, request.names(kernel.info.name))? {
                continue;
            }
            for &block in &blocks {
                for stages in STAGES {
                    let ring = Ring { stages, block, blocks: 1 };
                    let point = point(Async.name(), kernel, &ring, request, device)?;
                    let parameters =
                        point.parameters.with("stages", stages).with("stage_bytes", ring.stage_bytes());
                    points.push(Point { parameters, ..point });
                }
            }
        }
        Ok(points)
    }
}

/// A ring: its stages, the threads of its block, each with a vector of a stage, and the blocks of a multiprocessor.
pub(super) struct Ring {
    pub(super) stages: u32,
    pub(super) block: u32,
    pub(super) blocks: u32,
}

impl Ring {
    fn stage_bytes(&self) -> u64 {
        u64::from(self.block) * VECTOR
    }
}

/// The point of a kernel with such rings.
pub(super) fn point(
    experiment: &'static str,
    kernel: &Kernel,
    ring: &Ring,
    request: &Request,
    device: &DeviceInfo,
) -> Result<Point> {
    let (bytes, &Ring { stages, block, blocks }) = (request.bytes, ring);
    let grid = if request.scale == Scale::Small { SMALL_GRID } else { device.multiprocessors * blocks };
    let threads = u64::from(grid) * u64::from(block);
    let stage_bytes = ring.stage_bytes();
    let sums = Sums { grid: grid.into(), block: block.into(), stages: bytes / stage_bytes };
    let point = Point::new(
        experiment,
        covering(threads, block, device)?,
        (kernel.work)(stages, (bytes / VECTOR) as usize),
    );
    let map = MatrixMap {
        buffer: 0,
        element: TensorElement::U32,
        size: [(bytes / u64::from(ROW)) as u32, ROW / WORD as u32],
        tile: [(stage_bytes / u64::from(ROW)) as u32, ROW / WORD as u32],
        stack: None,
    };
    let place = Place::Device;
    Ok(Point {
        parameters: Parameters { bytes, elements: bytes / VECTOR, ..point.parameters }
            .with("in_flight", u64::from(stages * blocks) * stage_bytes),
        bytes: BytesMoved { read: bytes, written: threads * WORD, footprint: bytes + threads * WORD },
        buffers: vec![
            Buffer { bytes, place, before: Contents::Pattern(Precision::F32), after: copy::pattern() },
            Buffer {
                bytes: threads * WORD,
                place,
                before: Contents::Poison,
                after: Expected::exactly(move |first, _, values: &mut [u32]| {
                    // All of the source is added up for a few sums: by all processors.
                    values.par_chunks_mut(PIECE).enumerate().for_each(|(nth, piece)| {
                        sums.of(first + (nth * PIECE) as u64, piece);
                    });
                }),
            },
        ],
        maps: if kernel.info.name == KERNELS[3].info.name { vec![map] } else { Vec::new() },
        ..point
    })
}

/// What the threads add up: the kernels' walk, written down a second time to check them against.
#[derive(Clone, Copy)]
struct Sums {
    grid: u64,
    block: u64,
    /// Stages of the source.
    stages: u64,
}

impl Sums {
    /// The sums of the threads from `first` on.
    fn of(self, first: u64, sums: &mut [u32]) {
        sums.fill(0);
        let end = first + sums.len() as u64;
        for block in first / self.block..end.div_ceil(self.block) {
            // These threads of the block, whose vectors lie opposite.
            let start = block * self.block;
            let (low, high) = (first.max(start) - start, end.min(start + self.block) - start);
            let sums = &mut sums[(start + low - first) as usize..(start + high - first) as usize];
            let mut words = vec![0.0_f32; sums.len() * WORDS as usize];
            for stage in (block..self.stages).step_by(self.grid as usize) {
                pattern::fill((stage * self.block + self.block - high) * WORDS, SEED, &mut words);
                for (sum, vector) in sums.iter_mut().rev().zip(words.chunks_exact(WORDS as usize)) {
                    *sum = vector.iter().fold(*sum, |sum, word| sum.wrapping_add(word.to_bits()));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        device::tests::{c870, h200},
        experiments,
    };

    #[test]
    fn bytes_in_flight_are_stages_times_the_block_s_vectors() {
        let request = Request { scale: Scale::Full, ..experiments::tests::request() };
        let points = Async.points(&request, &h200()).expect("it is a valid request");
        assert_eq!(points.len(), 4 * 4 * 4);
        let of =
            |point: &Point, name: &str| point.parameters.more.get(name).and_then(serde_json::Value::as_u64);
        for point in &points {
            let (stages, block) = (of(point, "stages").expect("stages"), u64::from(point.shape.block[0]));
            assert_eq!(of(point, "in_flight"), Some(stages * block * 16));
            assert_eq!((point.shape.grid, point.bytes.read), ([132, 1, 1], 1 << 20));
            // Loads pass through two stages, the others stay in the ring.
            let shared = match point.kernel {
                "async_plain" => 2 * block * 16,
                "async_tensor" => stages * block * 16 + 1024,
                _ => stages * block * 16,
            };
            assert_eq!(u64::from(point.shape.shared), shared, "{}", point.kernel);
            assert_eq!(point.maps.len(), usize::from(point.kernel == "async_tensor"));
        }
        assert_eq!(points.last().map(|point| point.maps[0].tile), Some([128, 32]));
    }

    #[test]
    fn what_a_device_cannot_run_is_left_out_by_name() {
        let request = experiments::tests::request();
        let simulated = DeviceInfo { card: c870().card, ..h200() };
        let points = Async.points(&request, &simulated).expect("four kernels");
        assert_eq!((points.len(), points[15].kernel), (16, "async_tensor"));
        assert_eq!(Async.notes(&request, &simulated), Vec::<String>::new());
        assert_eq!(Async.points(&request, &c870()).map(|points| points.len()).ok(), Some(0));
        let notes = Async.notes(&request, &c870());
        let all = "async_plain, async_copy, async_bulk and async_tensor are left out: ";
        assert!(notes.len() == 1 && notes[0].starts_with(all), "{notes:?}");
        let named = experiments::tests::naming(&["async_tensor"]);
        let error = Async.points(&named, &c870()).err().expect("it cannot run").to_string();
        assert!(error.starts_with("async_tensor cannot be launched: "), "{error}");
    }

    #[test]
    fn a_thread_sums_the_vectors_of_the_thread_opposite() {
        // Three stages of two threads, dealt to two blocks: block 0 has stages 0 and 2.
        let sums = Sums { grid: 2, block: 2, stages: 3 };
        let vector = |nth: u64| {
            (0..4).fold(0_u32, |sum, word| {
                sum.wrapping_add((pattern::value(nth * 4 + word, SEED) as f32).to_bits())
            })
        };
        let mut found = [0; 4];
        sums.of(0, &mut found);
        let add = u32::wrapping_add;
        assert_eq!(found, [add(vector(1), vector(5)), add(vector(0), vector(4)), vector(3), vector(2)]);
        let mut part = [0; 2];
        sums.of(1, &mut part);
        assert_eq!(part, found[1..3]);
    }

    #[test]
    fn stages_of_other_sizes_are_refused() {
        let mut request = Request { block: 96, ..experiments::tests::request() };
        request.choices.block = vec![experiments::Block::linear(96)];
        let error = Async.points(&request, &h200()).err().expect("no such stage").to_string();
        assert!(error.contains("128, 256, 512 or 1024 threads") && error.ends_with("96"), "{error}");
    }
}
