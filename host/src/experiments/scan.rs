//! `scan`: prefix sums within blocks and of the whole array. The kernels and what to expect of them are in gpu-kernels'
//! `scan.rs`.

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, Place, Point, Request, Scale, Shape, Work,
    articles, check_size, covering, findings,
};
use crate::{device::DeviceInfo, verify::Expected};
use anyhow::{Result, bail};
use cuda_launch::{Slice, SliceMut};
use gpu_kernels::scan::{
    PER_BLOCK, THREADS, scan_apply, scan_blelloch, scan_clear, scan_hillis_steele, scan_lookback,
    scan_offsets, scan_shuffle, scan_sums,
};
use record::{Parameters, Record};
use report::{Article, Picture};

/// Sums of all elements up to each.
pub(super) struct Scan;

/// Bytes of an element, and of the vectors of which the array is a whole number.
const SIZE: u64 = 4;
const UNIT: u64 = 16;

/// Bytes in a check: two blocks and some of a third one of the scans of the whole array.
const SMALL: u64 = 9004 * SIZE;

/// Threads of the one block that scans the sums of the others.
const OFFSETS_BLOCK: u32 = 1024;

/// The scans of each block's own elements.
const OF_BLOCKS: [(KernelInfo, fn() -> Work); 3] =
    [of_blocks::<scan_hillis_steele>(), of_blocks::<scan_blelloch>(), of_blocks::<scan_shuffle>()];

/// The scans of the whole array, and the kernels that they launch before.
const WHOLE: [KernelInfo; 2] = [KernelInfo::of::<scan_apply>(), KernelInfo::of::<scan_lookback>()];
const BEFORE: [KernelInfo; 3] =
    [KernelInfo::of::<scan_sums>(), KernelInfo::of::<scan_offsets>(), KernelInfo::of::<scan_clear>()];

const fn of_blocks<K>() -> (KernelInfo, fn() -> Work)
where
    K: for<'a> cuda_launch::Kernel<Arguments<'a> = (Slice<'a, u32>, SliceMut<'a, u32>)>,
{
    (KernelInfo::of::<K>(), || Work::kernel::<K>(|buffers| (buffers.read(0), buffers.write(1))))
}

impl Experiment for Scan {
    fn name(&self) -> &'static str {
        "scan"
    }

    fn summary(&self) -> &'static str {
        "prefix sums: of blocks in three ways, of the array by three kernels and in a single pass"
    }

    fn reading(&self) -> &'static str {
        "GB/s count each element read once and written once, as in a copy. The first three kernels scan each block's \
         elements by themselves. scan_apply, with the two kernels before it, reads the source twice, so it can reach two \
         thirds of the copy; scan_lookback reads it once. Both are timed with all the launches that they need."
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::LOOK_BACK]
    }

    fn picture(&self) -> Picture {
        Picture::Bars { by: &[] }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::scan::scan
    }

    fn options(&self) -> &'static [&'static str] {
        &["bytes", "block"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        OF_BLOCKS.iter().map(|(info, _)| *info).chain(WHOLE).chain(BEFORE).collect()
    }

    fn names(&self) -> Vec<&'static str> {
        OF_BLOCKS.iter().map(|(info, _)| info.name).chain(WHOLE.map(|info| info.name)).collect()
    }

    fn unit(&self, _: &Request) -> u64 {
        UNIT
    }

    fn modelled_bytes(&self, beyond_l2: u64) -> u64 {
        beyond_l2.min(4 << 20)
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        check_size(&[self], request)?;
        let bytes = if request.scale == Scale::Small && !request.sized { SMALL } else { request.bytes };
        let mut points = Vec::new();
        for (info, work) in OF_BLOCKS.iter().filter(|(info, _)| request.wants(info.name)) {
            let block = super::shuffle::whole_warps(self.name(), request.block)?;
            if info.name == OF_BLOCKS[1].0.name && !block.is_power_of_two() {
                if request.names(info.name) {
                    bail!("{} takes blocks of a power of two threads: {block} is none", info.name);
                }
                continue;
            }
            points.push(point(bytes, u64::from(block), covering(bytes / SIZE, block, device)?, work()));
        }
        let shape =
            covering((bytes / SIZE).div_ceil(PER_BLOCK as u64) * u64::from(THREADS), THREADS, device)?;
        for info in WHOLE.iter().filter(|info| request.wants(info.name)) {
            points.push(if info.name == WHOLE[0].name {
                three_kernels(bytes, shape)
            } else {
                one_pass(bytes, shape)
            });
        }
        Ok(points)
    }

    fn notes(&self, request: &Request, _: &DeviceInfo) -> Vec<String> {
        let left_out = !request.block.is_power_of_two() && !request.names(OF_BLOCKS[1].0.name);
        let note = "scan_blelloch is left out: it takes blocks of a power of two threads";
        if left_out { vec![note.to_string()] } else { Vec::new() }
    }
}

/// A scan of `bytes` bytes that begins again after every `period` elements.
fn point(bytes: u64, period: u64, shape: Shape, work: Work) -> Point {
    let point = Point::new(Scan.name(), shape, work);
    Point {
        parameters: Parameters { bytes, elements: bytes / SIZE, ..point.parameters },
        bytes: BytesMoved { read: bytes, written: bytes, footprint: 2 * bytes.next_multiple_of(32) },
        buffers: vec![
            Buffer { bytes, place: Place::Device, before: Contents::of(element), after: numbers(element) },
            Buffer {
                bytes,
                place: Place::Device,
                before: Contents::Poison,
                after: numbers(move |index| prefix(index).wrapping_sub(before(index / period * period))),
            },
        ],
        ..point
    }
}

/// The whole array by three kernels: sums, offsets, scans.
fn three_kernels(bytes: u64, shape: Shape) -> Point {
    let apply = Work::kernel::<scan_apply>(|buffers| (buffers.read(0), buffers.read(3), buffers.write(1)));
    let work = apply
        .behind::<scan_sums>(shape, |buffers| (buffers.read(0), buffers.write(2)))
        .behind::<scan_offsets>(Shape::linear(1, OFFSETS_BLOCK), |buffers| {
            (buffers.read(2), buffers.write(3))
        });
    let mut point = point(bytes, u64::MAX, shape, work);
    let (blocks, elements) = (u64::from(shape.grid[0]), bytes / SIZE);
    let buffer =
        |after| Buffer { bytes: blocks * SIZE, place: Place::Device, before: Contents::Poison, after };
    let first = |block: u64| block * PER_BLOCK as u64;
    let sum = move |block| before(first(block + 1).min(elements)).wrapping_sub(before(first(block)));
    point.buffers.push(buffer(numbers(sum)));
    point.buffers.push(buffer(numbers(move |block| before(first(block)))));
    point
}

/// The whole array in one pass, behind a kernel that clears the blocks' states.
fn one_pass(bytes: u64, shape: Shape) -> Point {
    let blocks = u64::from(shape.grid[0]);
    let lookback =
        Work::kernel::<scan_lookback>(|buffers| (buffers.read(0), buffers.write(2), buffers.write(1)));
    let clear = Shape::linear(blocks.div_ceil(u64::from(THREADS)) as u32, THREADS);
    let work = lookback.behind::<scan_clear>(clear, move |buffers| (buffers.write(2), blocks as usize));
    let mut point = point(bytes, u64::MAX, shape, work);
    let elements = bytes / SIZE;
    point.buffers.push(Buffer {
        bytes: blocks * 8,
        place: Place::Device,
        before: Contents::Poison,
        after: Expected::exactly(move |first, _, states: &mut [u64]| {
            for (offset, state) in states.iter_mut().enumerate() {
                let end = (first + offset as u64 + 1) * PER_BLOCK as u64;
                *state = 2 << 32 | u64::from(before(end.min(elements)));
            }
        }),
    });
    point
}

/// The sum of all elements up to an index. It is chosen, any numbers will do, and the elements follow from it: so each result
/// is known without adding, and no two places have the same.
fn prefix(index: u64) -> u32 {
    let mixed = (index as u32).wrapping_mul(2_654_435_761);
    (mixed ^ mixed >> 15).wrapping_add(0x5EED)
}

/// The sum of all elements before an index.
fn before(index: u64) -> u32 {
    index.checked_sub(1).map_or(0, prefix)
}

/// The element at an index.
fn element(index: u64) -> u32 {
    prefix(index).wrapping_sub(before(index))
}

/// A buffer whose elements follow from their index.
fn numbers(number: impl Fn(u64) -> u32 + Send + Sync + 'static) -> Expected {
    Expected::exactly(move |first, _, values: &mut [u32]| {
        for (offset, place) in values.iter_mut().enumerate() {
            *place = number(first + offset as u64);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::tests::h200, experiments::tests::request};
    use cust::memory::bytemuck;

    #[test]
    fn expected_values_are_sums_of_the_elements() {
        let mut sum = 0_u32;
        for index in 0..10_000 {
            sum = sum.wrapping_add(element(index));
            assert_eq!(prefix(index), sum);
        }
    }

    #[test]
    fn blocks_begin_again_and_the_array_does_not() {
        let points = Scan.points(&request(), &h200()).expect("it is a valid request");
        let names: Vec<_> = points.iter().map(|point| point.kernel).collect();
        assert_eq!(
            names,
            ["scan_hillis_steele", "scan_blelloch", "scan_shuffle", "scan_apply", "scan_lookback"]
        );
        let accepts = |point: &Point, at: usize, values: &[u32]| {
            point.buffers[at].after.check(0, 1, bytemuck::cast_slice(values)).is_none()
        };
        let whole: Vec<u32> = (0..300).map(prefix).collect();
        let of_block = |i: u64| prefix(i).wrapping_sub(before(i / 256 * 256));
        let of_blocks: Vec<u32> = (0..300).map(of_block).collect();
        assert!(accepts(&points[3], 1, &whole) && accepts(&points[4], 1, &whole));
        assert!(accepts(&points[0], 1, &of_blocks) && !accepts(&points[0], 1, &whole));
        // The sums of the blocks are the differences of their offsets.
        let offsets: Vec<u32> = (0..4).map(|block| before(block * 4096)).collect();
        let sums: Vec<u32> =
            (0..3).map(|block| before((block + 1) * 4096).wrapping_sub(before(block * 4096))).collect();
        assert!(accepts(&points[3], 3, &offsets) && accepts(&points[3], 2, &sums));
    }

    #[test]
    fn a_tree_takes_a_power_of_two() {
        let odd = |kernels: &[&str]| Request { block: 96, ..crate::experiments::tests::naming(kernels) };
        let all = Request { block: 96, ..request() };
        let points = Scan.points(&all, &h200()).expect("it is a valid request");
        assert!(points.iter().all(|point| point.kernel != "scan_blelloch"));
        assert_eq!(Scan.notes(&all, &h200()).len(), 1);
        let error = Scan.points(&odd(&["scan_blelloch"]), &h200()).err().expect("96 is none").to_string();
        assert!(error.contains("power of two"), "{error}");
    }
}
