//! `occupancy`: read bandwidth by the bytes that each SM has in flight. The kernels and what to expect of them are in
//! gpu-kernels' `occupancy.rs`.

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, Place, Point, Request, Scale, Shape, Work,
    articles, check_size, findings, mountain, staged,
};
use crate::{
    device::{Backend, DeviceInfo},
    kernels::own,
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

/// Stages of a ring and blocks of an SM, for the kernels of `async`: 2 to 128 KiB in flight by stages of 2 KiB.
const RINGS: [(u32, u32); 7] = [(1, 1), (2, 1), (4, 1), (8, 1), (8, 2), (8, 4), (8, 8)];
const QUICK_RINGS: [(u32, u32); 4] = [RINGS[0], RINGS[2], RINGS[4], RINGS[6]];
const SMALL_RINGS: [(u32, u32); 1] = [RINGS[0]];

/// Threads of a ring's block.
const RING_BLOCK: u32 = 128;

/// Those of `async` whose bytes are in flight without registers: `cp.async`, bulk copies and copies by tensor map.
const COPIES: &[staged::Kernel] = staged::KERNELS.split_at(1).1;

/// Those of a quick run, as many as one picture has curves, and those on a simulated card.
const QUICK: [&str; 6] =
    ["in_flight_1", "in_flight_2", "in_flight_8", "in_flight_words", "async_copy", "async_bulk"];
const MODELLED: [&str; 2] = ["in_flight_1", "in_flight_4"];

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
        "read bandwidth by bytes in flight: threads, loads per thread, bytes per load, asynchronous copies"
    }

    fn reading(&self) -> &'static str {
        "`in_flight` is the product of the threads of an SM, the loads that each has in flight and the bytes of a load. Where \
         curves of different kernels coincide, it makes no difference which of the three the bytes come from. The rings of \
         `async` have in flight what their blocks on an SM have stages for, in shared memory."
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
        KERNELS.iter().map(|kernel| kernel.info).chain(COPIES.iter().map(|kernel| kernel.info)).collect()
    }

    /// A multiple of a vector's bytes too.
    fn unit(&self, _: &Request) -> u64 {
        staged::UNIT
    }

    fn notes(&self, request: &Request, device: &DeviceInfo) -> Vec<String> {
        let kernels = self.kernels();
        let names = || kernels.iter().map(|kernel| kernel.name);
        let mut notes = own::left_out(names().filter(|name| is_wanted(name, request, device)), device);
        let others: Vec<&str> = names().filter(|name| !is_wanted(name, request, device)).collect();
        if request.kernels.is_empty()
            && let [rest @ .., last] = &others[..]
        {
            let all = rest.join(", ");
            notes.push(format!("{all} and {last} are left out of a quick run: `--full` has them"));
        }
        notes
    }

    /// It reads from device memory.
    fn modelled_bytes(&self, beyond_l2: u64) -> u64 {
        beyond_l2 / 4
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        check_size(&[self], request)?;
        let bytes = if request.scale == Scale::Small && !request.sized { 1 << 20 } else { request.bytes };
        let threads: &[u32] = match request.scale {
            Scale::Small => &[64],
            Scale::Quick if device.backend() == Backend::Modelled => &MODELLED_THREADS,
            Scale::Quick => &QUICK_THREADS,
            Scale::Full => &THREADS,
        };
        let mut points = Vec::new();
        for kernel in KERNELS.iter().filter(|kernel| is_wanted(kernel.info.name, request, device)) {
            points
                .extend(threads.iter().map(|threads| point(kernel, bytes, *threads, request.scale, device)));
        }
        let rings: &[(u32, u32)] = match request.scale {
            Scale::Small => &SMALL_RINGS,
            Scale::Quick => &QUICK_RINGS,
            Scale::Full => &RINGS,
        };
        for kernel in COPIES.iter().filter(|kernel| is_wanted(kernel.info.name, request, device)) {
            if !own::runs(kernel.info.name, device, request.names(kernel.info.name))? {
                continue;
            }
            let request = Request { bytes, ..request.clone() };
            for &(stages, blocks) in rings {
                let ring = staged::Ring { stages, block: RING_BLOCK, blocks };
                points.push(staged::point(Occupancy.name(), kernel, &ring, &request, device)?);
            }
        }
        Ok(points)
    }
}

/// True for a kernel of the run.
fn is_wanted(kernel: &str, request: &Request, device: &DeviceInfo) -> bool {
    if !request.kernels.is_empty() || request.scale != Scale::Quick {
        return request.wants(kernel);
    }
    match device.backend() {
        Backend::Modelled => MODELLED.contains(&kernel),
        Backend::Measured => QUICK.contains(&kernel),
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
        let request = experiments::tests::request();
        let points = Occupancy.points(&request, &h200()).expect("it is a valid request");
        assert_eq!(points.len(), 6 * 4);
        let notes = Occupancy.notes(&request, &h200());
        assert_eq!(notes, ["in_flight_4 and async_tensor are left out of a quick run: `--full` has them"]);
        let in_flight = |point: &Point| point.parameters.more["in_flight"].as_u64().expect("a number");
        let words = points.iter().rfind(|point| point.kernel == "in_flight_words").expect("a point");
        assert_eq!(words.shape, Shape::linear(132 * 32, 64));
        assert_eq!(words.parameters.more["in_flight"], 2048 * 4 * 4);
        let copies: Vec<u64> =
            points.iter().filter(|point| point.kernel == "async_bulk").map(in_flight).collect();
        assert_eq!(copies, [2 << 10, 8 << 10, 32 << 10, 128 << 10]);
        assert!(
            points[16..]
                .iter()
                .all(|point| point.experiment == "occupancy" && point.shape.block == [128, 1, 1])
        );
    }
}
