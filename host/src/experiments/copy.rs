//! `copy`: the practical limit of every other kernel. The kernels and what to expect of them are in
//! gpu-kernels' `copy.rs`.

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, NO_LAUNCH, Place, Point, Precision, Request, Shape,
    Work, articles, check_size, covering, findings,
};
use crate::{device::DeviceInfo, verify::Expected};
use anyhow::Result;
use cuda_launch::{Slice, SliceMut};
use gpu_kernels::copy::{
    LOADS_IN_FLIGHT, copy_persistent, copy_scalar, copy_streaming, copy_unrolled, copy_vector,
};
use record::{Parameters, Record};
use report::{Article, Picture};

/// Reads each byte once and writes it once.
pub(super) struct Copy;

/// Under this name the driver's own copy is recorded.
pub(super) const DRIVER: &str = "copy_driver";

/// A copy kernel, which takes source and destination.
struct Kernel {
    info: KernelInfo,
    /// Bytes of an element.
    element: u64,
    /// How many threads there are.
    threads: Threads,
    work: fn() -> Work,
}

/// How the grid covers the array.
enum Threads {
    /// One thread for n elements; the hardware schedules the blocks.
    PerElements(u64),
    /// n blocks per SM, which stride through the array until it is done.
    Persistent(u32),
}

/// The kernels. A new one is a line here and a function in gpu-kernels' `copy.rs`.
const KERNELS: [Kernel; 5] = [
    kernel::<copy_scalar, _>(Threads::PerElements(1)),
    kernel::<copy_vector, _>(Threads::PerElements(1)),
    kernel::<copy_unrolled, _>(Threads::PerElements(LOADS_IN_FLIGHT as u64)),
    kernel::<copy_streaming, _>(Threads::PerElements(1)),
    kernel::<copy_persistent, _>(Threads::Persistent(16)),
];

const fn kernel<K, T: std::marker::Copy + 'static>(threads: Threads) -> Kernel
where
    K: for<'a> cuda_launch::Kernel<Arguments<'a> = (Slice<'a, T>, SliceMut<'a, T>)>,
{
    Kernel {
        info: KernelInfo::of::<K>(),
        element: size_of::<T>() as u64,
        threads,
        work: || Work::kernel::<K>(|buffers| (buffers.read(0), buffers.write(1))),
    }
}

/// The widest access of the kernels, in bytes.
const WIDEST: u64 = 16;

impl Experiment for Copy {
    fn name(&self) -> &'static str {
        "copy"
    }

    fn summary(&self) -> &'static str {
        "destination[i] = source[i]: the practical limit of every other kernel"
    }

    fn reading(&self) -> &'static str {
        "copy_driver is the driver's own device-to-device copy at this size. The kernels differ in the bytes that a \
         thread moves per access, in the loads that it has in flight, and in the grid, which covers the array or strides \
         through it."
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::CHAPTER_4]
    }

    fn picture(&self) -> Picture {
        Picture::Bars { by: &[] }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::copy::copy
    }

    fn options(&self) -> &'static [&'static str] {
        &["bytes", "block"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        KERNELS.iter().map(|kernel| kernel.info).collect()
    }

    fn driver_work(&self) -> Option<&'static str> {
        Some(DRIVER)
    }

    fn unit(&self, _: &Request) -> u64 {
        WIDEST
    }

    /// It touches each byte twice: in the source and in the destination.
    fn modelled_bytes(&self, beyond_l2: u64) -> u64 {
        beyond_l2 / 2
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        check_size(&[self], request)?;
        let mut points = Vec::new();
        if request.wants(DRIVER) {
            points.push(driver_copy(request.bytes));
        }
        for kernel in KERNELS.iter().filter(|kernel| request.wants(kernel.info.name)) {
            let elements = request.bytes / kernel.element;
            let shape = match kernel.threads {
                Threads::PerElements(each) => covering(elements.div_ceil(each), request.block, device)?,
                Threads::Persistent(blocks) => {
                    let threads =
                        u64::from(device.multiprocessors) * u64::from(blocks) * u64::from(request.block);
                    covering(threads, request.block, device)?
                }
            };
            let point = copy(request.bytes, shape, (kernel.work)());
            points.push(Point { parameters: Parameters { elements, ..point.parameters }, ..point });
        }
        Ok(points)
    }
}

/// The driver's own copy of `bytes` bytes.
pub(super) fn driver_copy(bytes: u64) -> Point {
    let work = Work::driver(DRIVER, |stream, buffers| buffers.copy(0, 1, stream));
    Point { parameters: Parameters::of_bytes(bytes), ..copy(bytes, NO_LAUNCH, work) }
}

/// A copy of `bytes` bytes, with the buffers that every copy has.
fn copy(bytes: u64, shape: Shape, work: Work) -> Point {
    let place = Place::Device;
    let point = Point::new(Copy.name(), shape, work);
    Point {
        parameters: Parameters { bytes, ..point.parameters },
        bytes: BytesMoved { read: bytes, written: bytes, footprint: 2 * bytes },
        buffers: vec![
            Buffer { bytes, place, before: Contents::Pattern(Precision::F32), after: pattern() },
            Buffer { bytes, place, before: Contents::Poison, after: pattern() },
        ],
        ..point
    }
}

/// The source, before and after, and the destination, after.
pub(super) fn pattern() -> Expected {
    Expected::added(|_, _, _: &mut [f32]| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::tests::h200, experiments};

    fn request(bytes: u64) -> Request {
        Request { bytes, ..experiments::tests::request() }
    }

    #[test]
    fn each_kernel_covers_the_bytes() {
        let points = Copy.points(&request(1 << 20), &h200()).expect("it is a valid request");
        assert_eq!(points.iter().map(|point| point.kernel).collect::<Vec<_>>()[0], DRIVER);
        for point in &points {
            assert_eq!(point.bytes, BytesMoved { read: 1 << 20, written: 1 << 20, footprint: 2 << 20 });
        }
        let grid = |name| points.iter().find(|point| point.kernel == name).map(|point| point.shape.grid[0]);
        assert_eq!(grid("copy_scalar"), Some(1024));
        assert_eq!(grid("copy_vector"), Some(256));
        assert_eq!(grid("copy_unrolled"), Some(64));
        assert_eq!(grid("copy_persistent"), Some(132 * 16));
    }

    #[test]
    fn sizes_between_vectors_name_their_neighbours() {
        let error =
            Copy.points(&request(1000), &h200()).err().expect("1000 is no multiple of 16").to_string();
        assert!(error.contains("the nearest are 992 and 1008"), "{error}");
    }
}
