//! `occupancy`: read bandwidth by the bytes that each SM has in flight. The kernels and what to expect of them are in
//! gpu-kernels' `occupancy.rs`.

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, Place, Point, Request, Scale, Shape, Work,
    articles, check_size, findings, mountain,
};
use crate::{
    device::{Backend, DeviceInfo},
    verify::Expected,
};
use anyhow::Result;
use gpu_kernels::occupancy::{WORDS, in_flight_1, in_flight_2, in_flight_4, in_flight_8, in_flight_words};
use record::{Parameters, Record};
use report::{Article, Picture};

/// Little's law.
pub(super) struct Occupancy;

/// A kernel: the bytes of a load, and the loads that each thread has in flight.
struct Kernel {
    info: KernelInfo,
    width: u64,
    loads: u64,
    work: fn() -> Work,
}

macro_rules! kernel {
    ($kernel:ident, $width:literal, $loads:expr) => {
        Kernel {
            info: KernelInfo::of::<$kernel>(),
            width: $width,
            loads: $loads as u64,
            work: || Work::kernel::<$kernel>(|buffers| (buffers.read(0), buffers.write(1))),
        }
    };
}

const KERNELS: [Kernel; 5] = [
    kernel!(in_flight_1, 16, 1),
    kernel!(in_flight_2, 16, 2),
    kernel!(in_flight_4, 16, 4),
    kernel!(in_flight_8, 16, 8),
    kernel!(in_flight_words, 4, WORDS),
];

/// Those of a quick run on a simulated card.
const QUICK: [&str; 2] = ["in_flight_1", "in_flight_4"];

/// Threads of each SM.
const THREADS: [u32; 9] = [64, 128, 192, 256, 384, 512, 1024, 1536, 2048];
const QUICK_THREADS: [u32; 4] = [64, 256, 1024, 2048];
const MODELLED_THREADS: [u32; 3] = [64, 512, 2048];

/// Threads of a block: so many that 32 blocks fill an SM.
const BLOCK: u32 = 64;

impl Experiment for Occupancy {
    fn name(&self) -> &'static str {
        "occupancy"
    }

    fn summary(&self) -> &'static str {
        "read bandwidth by bytes in flight: threads, loads per thread, bytes per load"
    }

    fn reading(&self) -> &'static str {
        "`in_flight` is the product of the threads of an SM, the loads that each has in flight and the bytes of a load. Where \
         curves of different kernels coincide, it makes no difference which of the three the bytes come from."
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::LATENCY_HIDING]
    }

    fn picture(&self) -> Picture {
        Picture::Curve { over: "in_flight", by: &[], sectors: false }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::occupancy::occupancy
    }

    fn options(&self) -> &'static [&'static str] {
        &["bytes"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        KERNELS.iter().map(|kernel| kernel.info).collect()
    }

    fn unit(&self, _: &Request) -> u64 {
        mountain::VECTOR
    }

    /// It reads from device memory.
    fn modelled_bytes(&self, beyond_l2: u64) -> u64 {
        beyond_l2 / 4
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        check_size(&[self], request)?;
        let quick = request.scale == Scale::Quick && device.backend() == Backend::Modelled;
        let bytes = if request.scale == Scale::Small && !request.sized { 1 << 20 } else { request.bytes };
        let threads: &[u32] = match request.scale {
            Scale::Small => &[64],
            Scale::Quick if quick => &MODELLED_THREADS,
            Scale::Quick => &QUICK_THREADS,
            Scale::Full => &THREADS,
        };
        let mut points = Vec::new();
        for kernel in KERNELS.iter().filter(|kernel| match request.kernels.is_empty() {
            true => !quick || QUICK.contains(&kernel.info.name),
            false => request.wants(kernel.info.name),
        }) {
            points
                .extend(threads.iter().map(|threads| point(kernel, bytes, *threads, request.scale, device)));
        }
        Ok(points)
    }
}

fn point(kernel: &Kernel, bytes: u64, per_sm: u32, scale: Scale, device: &DeviceInfo) -> Point {
    // In a check a few blocks are all that there is.
    let sms = if scale == Scale::Small { 2 } else { device.multiprocessors };
    let shape = Shape::linear(sms * (per_sm / BLOCK), BLOCK);
    let threads = u64::from(shape.grid[0]) * u64::from(BLOCK);
    let (length, loads, words) = (bytes / kernel.width, kernel.loads, kernel.width / 4);
    let sums = Buffer {
        bytes: 4 * threads,
        place: Place::Device,
        before: Contents::Poison,
        after: Expected::exactly(move |first, _, sums: &mut [u32]| {
            for (thread, sum) in (first..).zip(sums) {
                *sum = sum_of(thread, threads, loads, length, words);
            }
        }),
    };
    let data = Buffer {
        bytes,
        place: Place::Device,
        before: Contents::of(mountain::word),
        after: mountain::still(),
    };
    let point = Point::new(Occupancy.name(), shape, (kernel.work)());
    Point {
        parameters: Parameters { bytes, elements: length, ..point.parameters }
            .with("in_flight", u64::from(per_sm) * loads * kernel.width),
        bytes: BytesMoved { read: bytes, written: 4 * threads, footprint: bytes + 4 * threads },
        buffers: vec![data, sums],
        ..point
    }
}

/// The sum that a thread writes: a warp takes 32 neighbours for each load in flight, and all warps together stride through the
/// source.
fn sum_of(thread: u64, threads: u64, loads: u64, length: u64, words: u64) -> u32 {
    let first = thread / 32 * 32 * loads + thread % 32;
    let rounds = (first..length).step_by((threads * loads) as usize);
    let elements = rounds.flat_map(|start| (0..loads).map(move |load| start + 32 * load));
    let words = elements.take_while(|element| *element < length).map(|element| match words {
        1 => mountain::word(element),
        _ => mountain::sum_of(element),
    });
    words.fold(0, u32::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::tests::h200, experiments};

    #[test]
    fn all_threads_together_read_each_element_once() {
        for (threads, loads, length) in [(64, 1, 1000), (64, 4, 1000), (96, 2, 64), (32, 8, 4096)] {
            let sums = (0..threads).map(|thread| sum_of(thread, threads, loads, length, 1));
            let all = (0..length).map(mountain::word).fold(0, u32::wrapping_add);
            assert_eq!(sums.fold(0, u32::wrapping_add), all, "{threads} threads, {loads} loads, {length}");
        }
    }

    #[test]
    fn bytes_in_flight_are_a_product() {
        let points =
            Occupancy.points(&experiments::tests::request(), &h200()).expect("it is a valid request");
        assert_eq!(points.len(), 5 * 4);
        let words = points.iter().rfind(|point| point.kernel == "in_flight_words").expect("a point");
        assert_eq!(words.shape, Shape::linear(132 * 32, 64));
        assert_eq!(words.parameters.more["in_flight"], 2048 * 4 * 4);
    }
}
