//! The reductions: sums of each warp, of each block, of everything.

use super::{
    super::{Buffer, BytesMoved, Contents, Experiment, KernelInfo, Place, Point, Request, Work, covering},
    LANES, SIZE, Shuffle, integer, unchanged,
};
use crate::{device::DeviceInfo, verify::Expected};
use anyhow::Result;
use cuda_launch::{Slice, SliceMut};
use gpu_kernels::shuffle::reduction::{
    IN_FLIGHT, reduce_block_shared, reduce_block_shuffle, reduce_persistent, reduce_vector,
    reduce_warp_shared, reduce_warp_shuffle,
};
use record::Parameters;
use std::{num::NonZeroUsize, sync::OnceLock, thread};

/// A kernel, which takes source and destination.
struct Kernel {
    info: KernelInfo,
    sums: Sums,
    /// `i32` of an element of the source: four of a vector.
    width: u64,
    work: fn() -> Work,
}

const fn kernel<K, T: Copy + 'static>(sums: Sums) -> Kernel
where
    K: for<'a> cuda_launch::Kernel<Arguments<'a> = (Slice<'a, T>, SliceMut<'a, i32>)>,
{
    Kernel {
        info: KernelInfo::of::<K>(),
        sums,
        width: size_of::<T>() as u64 / SIZE,
        work: || Work::kernel::<K>(|buffers| (buffers.read(0), buffers.write(1))),
    }
}

/// The groups of elements that are summed.
#[derive(Clone, Copy)]
enum Sums {
    /// Each warp's elements, one per thread.
    Warp,
    /// Each block's elements, one per thread.
    Block,
    /// All elements. The hardware schedules the blocks.
    All,
    /// All elements. As many blocks as the card holds at a time go through them.
    Persistent,
}

/// The kernels. A new one is a line here and a function in gpu-kernels' `shuffle/reduction.rs`.
const KERNELS: [Kernel; 6] = [
    kernel::<reduce_warp_shuffle, _>(Sums::Warp),
    kernel::<reduce_warp_shared, _>(Sums::Warp),
    kernel::<reduce_block_shuffle, _>(Sums::Block),
    kernel::<reduce_block_shared, _>(Sums::Block),
    kernel::<reduce_vector, _>(Sums::All),
    kernel::<reduce_persistent, _>(Sums::Persistent),
];

/// Threads that an SM has room for.
const RESIDENT: u32 = 2048;

/// The initial value to which the total is added.
const START: i32 = 7;

/// The kernels.
pub(super) fn kernels() -> impl Iterator<Item = KernelInfo> {
    KERNELS.iter().map(|kernel| kernel.info)
}

/// Bytes that the size of the source has to be a multiple of, for the kernels that the request asks for.
pub(super) fn unit(request: &Request) -> u64 {
    let wanted = KERNELS.iter().filter(|kernel| request.wants(kernel.info.name));
    SIZE * wanted.map(|kernel| kernel.width).max().unwrap_or(1)
}

/// A point for each kernel that the request asks for, over a source of `bytes`.
pub(super) fn plan(request: &Request, bytes: u64, block: u32, device: &DeviceInfo) -> Result<Vec<Point>> {
    let wanted = KERNELS.iter().filter(|kernel| request.wants(kernel.info.name));
    wanted.map(|kernel| point(kernel, bytes, block, device)).collect()
}

fn point(kernel: &Kernel, bytes: u64, block: u32, device: &DeviceInfo) -> Result<Point> {
    let elements = bytes / SIZE;
    let vectors = (elements / kernel.width).div_ceil(IN_FLIGHT as u64);
    let threads = match kernel.sums {
        Sums::Warp | Sums::Block => elements,
        Sums::All => vectors,
        Sums::Persistent => {
            vectors.min(u64::from(device.multiprocessors) * u64::from(RESIDENT / block * block))
        }
    };
    let shape = covering(threads, block, device)?;
    let (before, after, sums) = match kernel.sums {
        Sums::Warp | Sums::Block => {
            let each = u64::from(if matches!(kernel.sums, Sums::Warp) { LANES } else { block });
            (Contents::Poison, sums_of_each(each, elements), elements.div_ceil(each))
        }
        Sums::All | Sums::Persistent => (Contents::of(|_| START), sum_of_all(elements), 1),
    };
    let written = sums * SIZE;
    let point = Point::new(Shuffle.name(), shape, (kernel.work)());
    Ok(Point {
        parameters: Parameters { bytes, elements, ..point.parameters },
        bytes: BytesMoved {
            read: bytes,
            written,
            footprint: bytes.next_multiple_of(32) + written.next_multiple_of(32),
        },
        buffers: vec![
            Buffer { bytes, place: Place::Device, before: Contents::of(integer), after: unchanged(integer) },
            Buffer { bytes: written, place: Place::Device, before, after },
        ],
        ..point
    })
}

/// The sums of groups of `each` elements; the last group may be shorter.
fn sums_of_each(each: u64, elements: u64) -> Expected {
    Expected::exactly(move |first, _, values: &mut [i32]| {
        for (offset, value) in values.iter_mut().enumerate() {
            let from = (first + offset as u64) * each;
            *value = sum(from, (from + each).min(elements));
        }
    })
}

/// The sum of all elements, which each launch adds.
fn sum_of_all(elements: u64) -> Expected {
    let all = OnceLock::new();
    Expected::exactly(move |_, launches, values: &mut [i32]| {
        let all = *all.get_or_init(|| sum_in_parallel(elements));
        values.fill(START.wrapping_add(all.wrapping_mul(launches as i32)));
    })
}

/// The sum of the elements from `first` up to `end`.
fn sum(first: u64, end: u64) -> i32 {
    (first..end).map(integer).fold(0, i32::wrapping_add)
}

/// The sum of all elements, on all processors.
///
/// The threads are its own: a task of a pool that is made to wait here could be what this waits for.
fn sum_in_parallel(elements: u64) -> i32 {
    let share = elements.div_ceil(thread::available_parallelism().map_or(1, NonZeroUsize::get) as u64).max(1);
    thread::scope(|scope| {
        let shares = (0..elements).step_by(share as usize);
        let tasks: Vec<_> =
            shares.map(|first| scope.spawn(move || sum(first, (first + share).min(elements)))).collect();
        let sums = tasks.into_iter().map(|task| task.join().expect("a sum that wraps does not panic"));
        sums.fold(0, i32::wrapping_add)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::tests::h200, experiments};
    use cust::memory::bytemuck;

    fn bytes(values: &[i32]) -> Vec<u8> {
        bytemuck::cast_slice(values).to_vec()
    }

    #[test]
    fn sums_are_those_of_the_elements() {
        assert_eq!(sum(5, 8), integer(5).wrapping_add(integer(6)).wrapping_add(integer(7)));
        for elements in [1, 2, 1000, 100_003] {
            assert_eq!(sum_in_parallel(elements), sum(0, elements), "{elements}");
        }
        assert_ne!(sum(0, 1000), 0);
    }

    #[test]
    fn a_last_warp_that_is_not_full_sums_what_there_is() {
        let expected = sums_of_each(32, 70);
        let right = [sum(0, 32), sum(32, 64), sum(64, 70)];
        assert_eq!(expected.check(0, 1, &bytes(&right)), None);
        assert!(expected.check(0, 1, &bytes(&[right[0], right[1], sum(64, 71)])).is_some());
    }

    #[test]
    fn each_launch_adds_the_sum_of_everything() {
        let (expected, all) = (sum_of_all(1000), sum(0, 1000));
        assert_eq!(expected.check(0, 0, &bytes(&[START])), None);
        assert_eq!(expected.check(0, 3, &bytes(&[START.wrapping_add(all.wrapping_mul(3))])), None);
        assert!(expected.check(0, 2, &bytes(&[START.wrapping_add(all)])).is_some());
    }

    #[test]
    fn grids_are_as_the_kernels_want_them() {
        let request = experiments::tests::request();
        let planned = |bytes| -> Vec<Point> {
            let points = plan(&request, bytes, 256, &h200()).expect("it is a valid request");
            points.into_iter().map(|point| point.checked(&h200()).expect("it keeps the contract")).collect()
        };
        let points = planned(64 << 20);
        let of = |name: &str| {
            let point = points.iter().find(|point| point.kernel == name).expect("a point for each kernel");
            (point.shape.grid[0], point.shape.shared, point.bytes.written)
        };
        assert_eq!(of("reduce_warp_shuffle"), (65536, 0, 2 << 20));
        assert_eq!(of("reduce_warp_shared"), (65536, 1024, 2 << 20));
        assert_eq!(of("reduce_block_shuffle"), (65536, 0, 256 << 10));
        assert_eq!(of("reduce_block_shared"), (65536, 1024, 256 << 10));
        assert_eq!(of("reduce_vector"), (4096, 0, 4));
        assert_eq!(of("reduce_persistent"), (132 * 8, 0, 4));
        // No more blocks than there is work for.
        let points = planned(64 << 10);
        assert_eq!(points.last().map(|point| point.shape.grid[0]), Some(4));
    }
}
