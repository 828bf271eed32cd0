//! `constant`: what it costs if the lanes of a warp ask constant memory for different words. The kernels and what to
//! expect of them are in gpu-kernels' `constant.rs`.

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, Place, Point, Request, Scale, Symbol, Work,
    articles, covering, findings,
};
use crate::{
    device::{Backend, DeviceInfo},
    verify::Expected,
};
use anyhow::{Result, bail};
use cust::memory::bytemuck;
use gpu_kernels::constant::{CONSTANT_TABLE, PERIOD, TABLE, constant_broadcast, read_only_broadcast};
use record::{Parameters, Record};
use report::{Article, Picture};

/// One address for the warp, or several.
pub(super) struct Constant;

/// The table in constant memory.
const CONSTANT: KernelInfo = KernelInfo::of::<constant_broadcast>();

/// The table in global memory, by the read-only path.
const READ_ONLY: KernelInfo = KernelInfo::of::<read_only_broadcast>();

/// Steps of the walk: once through the table.
const STEPS: u32 = PERIOD as u32;

/// How many different words a request asks for.
const DISTINCT: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// Lanes of a warp.
const LANES: usize = 32;

/// Bytes of a word.
const SIZE: u64 = 4;

/// Threads for each SM on a simulated card, and on a GPU: some, and as many as there is room for.
const QUICK_THREADS: u64 = 512;
const THREADS: u64 = 2048;

/// Blocks in a check.
const SMALL_BLOCKS: u64 = 2;

impl Experiment for Constant {
    fn name(&self) -> &'static str {
        "constant"
    }

    fn summary(&self) -> &'static str {
        "lanes that read 1 to 32 different words of constant memory, against the read-only path"
    }

    fn reading(&self) -> &'static str {
        "GB/s count the words that lanes receive, nearly all of them from a cache. Constant memory serves one address at \
         a time, so twice as many addresses halve the rate. The read-only path serves all words of a line together."
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::CHAPTER_5]
    }

    fn picture(&self) -> Picture {
        Picture::Curve { over: "distinct", by: &[], sectors: false }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::constant::constant
    }

    fn options(&self) -> &'static [&'static str] {
        &["width", "block"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        vec![CONSTANT, READ_ONLY]
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        let widths = distinct(request)?;
        let threads = match (request.scale, device.backend()) {
            (Scale::Small, _) => SMALL_BLOCKS * u64::from(request.block),
            (Scale::Quick, Backend::Modelled) => u64::from(device.multiprocessors) * QUICK_THREADS,
            (Scale::Quick, Backend::Measured) | (Scale::Full, _) => {
                u64::from(device.multiprocessors) * THREADS
            }
        };
        let mut points = Vec::new();
        for kernel in self.kernels().into_iter().filter(|kernel| request.wants(kernel.name)) {
            for &distinct in &widths {
                points.push(point(kernel.name == CONSTANT.name, distinct, threads, request.block, device)?);
            }
        }
        Ok(points)
    }
}

/// How many different words lanes are to ask for.
fn distinct(request: &Request) -> Result<Vec<u32>> {
    let chosen = &request.choices.width;
    match chosen.iter().find(|width| !DISTINCT.contains(width)) {
        Some(width) => {
            bail!("--width {width}: a request of this experiment reads 1, 2, 4, 8, 16 or 32 different words")
        }
        None if chosen.is_empty() => Ok(DISTINCT.to_vec()),
        None => Ok(chosen.clone()),
    }
}

fn point(
    in_constant_memory: bool,
    distinct: u32,
    threads: u64,
    block: u32,
    device: &DeviceInfo,
) -> Result<Point> {
    let shape = covering(threads, block, device)?;
    // Each thread that there is writes its word.
    let threads = u64::from(shape.grid[0]) * u64::from(block);
    let (mut buffers, mut symbols) = (Vec::new(), Vec::new());
    let work = if in_constant_memory {
        symbols.push(Symbol { name: CONSTANT_TABLE.name(), bytes: bytemuck::cast_slice(&table()).to_vec() });
        Work::kernel::<constant_broadcast>(move |buffers| (buffers.write(0), distinct, STEPS))
    } else {
        let (before, after) = (table(), table());
        buffers.push(Buffer {
            bytes: TABLE as u64 * SIZE,
            place: Place::Device,
            before: Contents::of(move |index| before[index as usize]),
            after: Expected::exactly(move |first, _, words: &mut [u32]| {
                words.copy_from_slice(&after[first as usize..][..words.len()]);
            }),
        });
        Work::kernel::<read_only_broadcast>(move |buffers| {
            (buffers.read(0), buffers.write(1), distinct, STEPS)
        })
    };
    buffers.push(Buffer {
        bytes: threads * SIZE,
        place: Place::Device,
        before: Contents::Poison,
        after: sums(distinct, block),
    });
    let point = Point::new(Constant.name(), shape, work);
    Ok(Point {
        parameters: Parameters { bytes: threads * SIZE, elements: threads, ..point.parameters }
            .with("distinct", distinct),
        bytes: BytesMoved {
            read: threads * u64::from(STEPS) * SIZE,
            written: threads * SIZE,
            footprint: (threads * SIZE).next_multiple_of(32) + (TABLE as u64 * SIZE).next_multiple_of(32),
        },
        symbols,
        buffers,
        ..point
    })
}

/// The words of the table, all different.
fn table() -> [u32; TABLE] {
    std::array::from_fn(|index| (index as u32 + 1).wrapping_mul(2_654_435_761))
}

/// The expected sum of each thread.
fn sums(distinct: u32, block: u32) -> Expected {
    let of_lanes = sums_of_lanes(distinct);
    Expected::exactly(move |first, _, values: &mut [u32]| {
        for (offset, value) in values.iter_mut().enumerate() {
            let thread = (first + offset as u64) % u64::from(block);
            *value = of_lanes[thread as usize % LANES];
        }
    })
}

/// The sums by lane, step by step: the kernels' walk, written down a second time to check them against.
fn sums_of_lanes(distinct: u32) -> [u32; LANES] {
    let table = table();
    std::array::from_fn(|lane| {
        let word = |step: u32| table[step as usize % PERIOD + lane % distinct as usize];
        (0..STEPS).map(word).fold(0, u32::wrapping_add)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::tests::h200, experiments};
    use std::collections::BTreeSet;

    #[test]
    fn lanes_with_the_same_word_have_the_same_sum_and_others_do_not() {
        for distinct in DISTINCT {
            let sums = sums_of_lanes(distinct);
            for lane in 0..LANES {
                assert_eq!(sums[lane], sums[lane % distinct as usize], "{distinct}, lane {lane}");
            }
            assert_eq!(sums.iter().collect::<BTreeSet<_>>().len(), distinct as usize);
        }
        // Once through the table, each word counts once.
        let once = table()[..PERIOD].iter().copied().fold(0, u32::wrapping_add);
        assert_eq!(sums_of_lanes(1)[5], once);
    }

    #[test]
    fn words_of_the_table_differ() {
        assert_eq!(table().iter().collect::<BTreeSet<_>>().len(), TABLE);
    }

    #[test]
    fn lanes_are_counted_in_each_block() {
        // Blocks of 40: the second warp of each has 8 lanes.
        let (expected, of_lanes) = (sums(32, 40), sums_of_lanes(32));
        let right: Vec<u32> = (0..80).map(|thread: usize| of_lanes[thread % 40 % 32]).collect();
        assert_eq!(expected.check(0, 1, bytemuck::cast_slice(&right)), None);
        let wrong: Vec<u32> = (0..80).map(|thread: usize| of_lanes[thread % 32]).collect();
        assert_eq!(
            expected.check(0, 1, bytemuck::cast_slice(&wrong)).map(|findings| findings.count),
            Some(40)
        );
    }

    #[test]
    fn each_thread_there_is_has_a_word() {
        let request = Request { block: 192, ..experiments::tests::request() };
        let points = Constant.points(&request, &h200()).expect("it is a valid request");
        assert_eq!(points.len(), 12);
        for point in &points {
            let threads = u64::from(point.shape.grid[0]) * 192;
            assert!((132 * 2048..132 * 2048 + 192).contains(&threads));
            assert_eq!(point.buffers.last().map(|buffer| buffer.bytes), Some(threads * 4));
            assert_eq!(point.bytes.read, threads * 4096);
        }
    }

    #[test]
    fn a_number_of_words_that_is_no_power_of_two_is_refused() {
        let with = |width: &[u32]| {
            let choices = experiments::Choices { width: width.to_vec(), ..Default::default() };
            distinct(&Request { choices, ..experiments::tests::request() })
        };
        assert_eq!(with(&[4, 1]).ok(), Some(vec![4, 1]));
        for width in [3, 64] {
            let error = with(&[2, width]).expect_err("no power of two up to 32").to_string();
            assert!(error.starts_with(&format!("--width {width}: ")) && error.contains("32"), "{error}");
        }
    }
}
