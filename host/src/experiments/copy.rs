//! `copy`: the ceiling that everything else is held against. The kernels and what to expect of them are in
//! gpu-kernels' `copy.rs`.

use super::{
    Buffer, BytesMoved, Contents, Experiment, Launch, Place, Point, Precision, Request, Shape, Work,
    check_size,
};
use crate::{
    device::DeviceInfo,
    pattern::{self, SEED},
    record::Parameters,
    verify::Expected,
};
use anyhow::Result;
use cust::{
    launch,
    memory::{AsyncCopyDestination, DeviceSlice},
};

/// Reads each byte once and writes it once.
pub(super) struct Copy;

/// Under this name the driver's own copy is recorded.
pub(super) const DRIVER: &str = "copy_driver";

/// A copy kernel: `(source: &[Element], destination: *mut Element)`.
struct Kernel {
    name: &'static str,
    /// Bytes of an element.
    element: u64,
    /// How many threads there are.
    threads: Threads,
    /// Bytes of dynamic shared memory a block.
    shared: u32,
}

/// Who hands out the work.
enum Threads {
    /// A thread for each so many elements; the hardware hands out the blocks.
    PerElements(u64),
    /// So many blocks an SM, which stride through the array until it is done.
    Persistent(u32),
}

/// The kernels. A new one is a line here and a function in gpu-kernels' `copy.rs`.
const KERNELS: [Kernel; 5] = [
    Kernel { name: "copy_scalar", element: 4, threads: Threads::PerElements(1), shared: 0 },
    Kernel { name: "copy_vector", element: 16, threads: Threads::PerElements(1), shared: 0 },
    Kernel { name: "copy_unrolled", element: 16, threads: Threads::PerElements(4), shared: 0 },
    Kernel { name: "copy_streaming", element: 16, threads: Threads::PerElements(1), shared: 0 },
    Kernel { name: "copy_persistent", element: 16, threads: Threads::Persistent(16), shared: 0 },
];

/// The widest access of the kernels, in bytes.
const WIDEST: u64 = 16;

impl Experiment for Copy {
    fn name(&self) -> &'static str {
        "copy"
    }

    fn summary(&self) -> &'static str {
        "destination[i] = source[i]: how much bandwidth there is to have"
    }

    fn reading(&self) -> &'static str {
        "copy_driver is the driver's own device-to-device copy at this size. What a kernel can choose is how many \
         bytes a thread moves at a time, how many loads it has in flight, and who hands out the work."
    }

    fn options(&self) -> &'static [&'static str] {
        &["bytes", "block"]
    }

    fn kernels(&self) -> Vec<&'static str> {
        KERNELS.iter().map(|kernel| kernel.name).chain([DRIVER]).collect()
    }

    fn unit(&self, _: &Request) -> u64 {
        WIDEST
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        check_size(&[self], request)?;
        let mut points = Vec::new();
        if request.wants(DRIVER) {
            points.push(driver_copy(request.bytes));
        }
        for kernel in KERNELS.iter().filter(|kernel| request.wants(kernel.name)) {
            let elements = request.bytes / kernel.element;
            let shape = match kernel.threads {
                Threads::PerElements(each) => {
                    Shape::covering(elements.div_ceil(each), request.block, device)?
                }
                Threads::Persistent(blocks) => {
                    let threads =
                        u64::from(device.multiprocessors) * u64::from(blocks) * u64::from(request.block);
                    Shape::covering(threads, request.block, device)?
                }
            };
            let shape = Shape { shared: kernel.shared, ..shape };
            points.push(Point {
                kernel: kernel.name,
                parameters: Parameters {
                    elements,
                    block: Some(shape.block.into()),
                    grid: Some(shape.grid.into()),
                    ..Parameters::of_bytes(request.bytes)
                },
                shape,
                work: Work::Kernel(Box::new(move |Launch { function, shape, stream, buffers }| {
                    let (source, destination) = (buffers[0], buffers[1]);
                    // SAFETY: the kernels take a slice, as pointer and 64-bit length, and a pointer; both buffers
                    // have that many elements.
                    unsafe {
                        launch!(function<<<shape.grid_size(), shape.block_size(), shape.shared, stream>>>(
                            source, elements, destination
                        ))
                    }
                })),
                ..driver_copy(request.bytes)
            });
        }
        Ok(points)
    }
}

/// The driver's own copy of `bytes` bytes, with the buffers that every copy has.
pub(super) fn driver_copy(bytes: u64) -> Point {
    let work = Work::Driver(Box::new(move |stream, buffers| {
        // SAFETY: both buffers have that many bytes, they do not overlap, and they live until the stream is synchronised.
        unsafe {
            let source = DeviceSlice::from_raw_parts(buffers[0], bytes as usize);
            DeviceSlice::from_raw_parts_mut(buffers[1], bytes as usize).async_copy_from(&source, stream)
        }
    }));
    let place = Place::Device;
    Point {
        parameters: Parameters::of_bytes(bytes),
        bytes: BytesMoved { read: bytes, written: bytes, footprint: 2 * bytes },
        buffers: vec![
            Buffer { bytes, place, before: Contents::Pattern(Precision::F32), after: pattern() },
            Buffer { bytes, place, before: Contents::Poison, after: pattern() },
        ],
        ..Point::new(Copy.name(), DRIVER, Shape::NONE, work)
    }
}

/// The source, before and after, and the destination, after.
pub(super) fn pattern() -> Expected {
    Expected::exactly(|first, _, values: &mut [f32]| pattern::fill(first, SEED, values))
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
        let points = Copy.plan(&request(1 << 20), &h200()).expect("it is a valid request");
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
        let error = Copy.plan(&request(1000), &h200()).err().expect("1000 is no multiple of 16").to_string();
        assert!(error.contains("992 B and 1008 B"), "{error}");
    }
}
