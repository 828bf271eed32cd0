//! `mountain`: read bandwidth by footprint and stride. The kernel and what to expect of it are in gpu-kernels' `mountain.rs`.

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, Place, Point, Request, Scale, Work, articles,
    check_size, covering, findings, touched_bytes,
};
use crate::{
    device::{Backend, DeviceInfo},
    verify::Expected,
};
use anyhow::{Result, bail};
use gpu_kernels::mountain::{IN_FLIGHT, mountain};
use record::{Parameters, Record};
use report::{Article, Picture};

/// Every stride over every footprint.
pub(super) struct Mountain;

const KERNEL: KernelInfo = KernelInfo::of::<mountain>();

/// Bytes of a vector.
pub(super) const VECTOR: u64 = 16;

/// Threads for each SM on a simulated card, and on a GPU.
const QUICK_THREADS: u64 = 512;
const THREADS: u64 = 2048;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

impl Experiment for Mountain {
    fn name(&self) -> &'static str {
        "mountain"
    }

    fn summary(&self) -> &'static str {
        "read bandwidth of the whole card by footprint and stride"
    }

    fn reading(&self) -> &'static str {
        "GB/s count the vectors of 16 bytes that lanes receive. `stride` counts vectors from lane to lane; all threads share \
         one footprint, so one that fits into L1 is in the L1 of each SM."
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::COMPUTER_SYSTEMS]
    }

    fn picture(&self) -> Picture {
        Picture::Map { x: "stride", y: "footprint" }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::mountain::mountain
    }

    fn swept(&self) -> Option<&'static str> {
        Some("stride")
    }

    fn least(&self) -> u32 {
        1
    }

    fn options(&self) -> &'static [&'static str] {
        &["bytes", "range", "block"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        vec![KERNEL]
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        check_size(&[self], request)?;
        let modelled = device.backend() == Backend::Modelled;
        let footprints = match (request.sized, request.scale) {
            (true, _) => vec![request.bytes],
            (false, Scale::Small) => vec![64 * KIB],
            (false, Scale::Quick) if modelled => vec![64 * KIB, MIB, 16 * MIB, 128 * MIB],
            (false, Scale::Quick) => vec![64 * KIB, MIB, 16 * MIB, 512 * MIB],
            (false, Scale::Full) => (0..=16).map(|power| (16 * KIB) << power).collect(),
        };
        let strides = match (&request.range, request.scale) {
            (Some(range), _) => range.values().to_vec(),
            (None, Scale::Small) => vec![1, 8],
            (None, Scale::Quick) if modelled => vec![1, 2, 8],
            (None, Scale::Quick) => vec![1, 2, 4, 8, 16, 32],
            (None, Scale::Full) => (0..=10).map(|power| 1 << power).collect(),
        };
        let mut points = Vec::new();
        for footprint in footprints {
            if !footprint.is_power_of_two() || footprint < VECTOR {
                bail!("--bytes {footprint}: the footprint has to be a power of two, as in 1MiB");
            }
            for &stride in strides.iter().filter(|stride| footprint / VECTOR >= 2 * u64::from(**stride)) {
                points.push(point(footprint, stride, request, device)?);
            }
        }
        Ok(points)
    }
}

fn point(footprint: u64, stride: u32, request: &Request, device: &DeviceInfo) -> Result<Point> {
    let per_sm = match (request.scale, device.backend()) {
        (Scale::Small, _) => 1,
        (_, Backend::Modelled) => QUICK_THREADS,
        (_, Backend::Measured) => THREADS,
    };
    let shape = covering(u64::from(device.multiprocessors) * per_sm, request.block, device)?;
    let threads = u64::from(shape.grid[0]) * u64::from(request.block);
    let (length, step) = (footprint / VECTOR, u64::from(stride));
    // Different vectors: all multiples of the stride, modulo the length.
    let distinct = length >> u64::from(stride.trailing_zeros());
    let round = distinct.div_ceil(threads);
    let least = if device.backend() == Backend::Measured && request.scale != Scale::Small { 64 } else { 1 };
    let in_flight = u64::from(IN_FLIGHT);
    let reads = round.max(least).next_multiple_of(in_flight);
    let data = Buffer { bytes: footprint, place: Place::Device, before: Contents::of(word), after: still() };
    let sums = Buffer {
        bytes: 4 * threads,
        place: Place::Device,
        before: Contents::Poison,
        after: Expected::exactly(move |first, _, sums: &mut [u32]| {
            for (thread, sum) in (first..).zip(sums) {
                let vectors = (0..reads).map(|read| (thread + read * threads) * step % length);
                *sum = vectors.map(sum_of).fold(0, u32::wrapping_add);
            }
        }),
    };
    let (all, each) = (threads as u32, reads as u32);
    let work =
        Work::kernel::<mountain>(move |buffers| (buffers.read(0), buffers.write(1), stride, all, each));
    let point = Point::new(Mountain.name(), shape, work);
    let touched = touched_bytes(0, distinct, VECTOR, 1 << stride.trailing_zeros());
    Ok(Point {
        parameters: Parameters { bytes: footprint, elements: length, ..point.parameters }
            .with("footprint", footprint)
            .swept("stride", stride),
        bytes: BytesMoved { read: threads * reads * VECTOR, written: 4 * threads, footprint: touched },
        buffers: vec![data, sums],
        ..point
    })
}

/// The word with this index.
pub(super) fn word(index: u64) -> u32 {
    (index as u32).wrapping_add(1).wrapping_mul(2_654_435_761)
}

/// The sum of a vector's four words.
pub(super) fn sum_of(vector: u64) -> u32 {
    (4 * vector..4 * vector + 4).map(word).fold(0, u32::wrapping_add)
}

/// The source after all launches.
pub(super) fn still() -> Expected {
    Expected::exactly(|first, _, words: &mut [u32]| {
        for (index, place) in (first..).zip(words) {
            *place = word(index);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::tests::h200, experiments};

    #[test]
    fn every_footprint_is_read_whole_at_stride_1() {
        let request = Request { sized: false, ..experiments::tests::request() };
        let points = Mountain.points(&request, &h200()).expect("it is a valid request");
        assert_eq!(points.len(), 4 * 6);
        for point in points
            .iter()
            .filter(|point| point.parameters.swept.as_ref().is_some_and(|swept| swept.value == 1))
        {
            assert!(
                point.bytes.read >= point.parameters.bytes && point.bytes.footprint == point.parameters.bytes
            );
        }
        // A stride of 8 vectors touches a sector in each line.
        let last = points
            .iter()
            .rfind(|point| point.parameters.swept.as_ref().is_some_and(|swept| swept.value == 8));
        assert_eq!(last.map(|point| point.bytes.footprint), Some((512 << 20) / 4));
        let odd = Request { bytes: 3 << 20, ..experiments::tests::request() };
        let error = Mountain.points(&odd, &h200()).err().expect("no power of two").to_string();
        assert!(error.contains("a power of two"), "{error}");
    }
}
