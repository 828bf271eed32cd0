//! `banks`: what an access to shared memory costs by stride and width. The kernels and what to expect of them are in
//! gpu-kernels' `banks.rs`.

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, Moment, Observe, Place, Point, Request, Scale,
    Shape, Work, articles, findings,
};
use crate::{
    device::{Backend, DeviceInfo},
    verify::Expected,
};
use anyhow::{Result, bail};
use gpu_kernels::banks::{THREADS, UNROLLED, banks_4, banks_8, banks_16};
use record::{CYCLES, Operation, Operations, Parameters, Record};
use report::{Article, Picture};
use serde_json::json;

/// Strides and widths in shared memory.
pub(super) struct Banks;

/// A kernel, and the words of its vectors.
struct Kernel {
    info: KernelInfo,
    words: u32,
    work: fn(u32, u32) -> Work,
}

macro_rules! kernel {
    ($kernel:ident, $words:literal) => {
        Kernel {
            info: KernelInfo::of::<$kernel>(),
            words: $words,
            work: |stride, accesses| {
                Work::kernel::<$kernel>(move |buffers| (buffers.write(0), buffers.write(1), stride, accesses))
            },
        }
    };
}

const KERNELS: [Kernel; 3] = [kernel!(banks_4, 1), kernel!(banks_8, 2), kernel!(banks_16, 4)];

/// Strides in a quick run, and the largest of a full one: beyond 33 vectors of 1024 lanes would share words.
const QUICK: [u32; 8] = [0, 1, 2, 3, 4, 8, 16, 32];
const MOST: u32 = 33;

/// Lanes of a warp.
const LANES: u32 = 32;

impl Experiment for Banks {
    fn name(&self) -> &'static str {
        "banks"
    }

    fn summary(&self) -> &'static str {
        "shared memory by stride and width: the wavefronts of bank conflicts"
    }

    fn reading(&self) -> &'static str {
        "One block fills the pipe of one SM, so a row's figure is the time for which an access occupies the banks. `stride` \
         counts vectors of `width` bytes from lane to lane."
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::CHAPTER_5]
    }

    fn picture(&self) -> Picture {
        Picture::Map { x: "stride", y: "width" }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::banks::banks
    }

    fn swept(&self) -> Option<&'static str> {
        Some("stride")
    }

    fn options(&self) -> &'static [&'static str] {
        &["range", "width"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        KERNELS.iter().map(|kernel| kernel.info).collect()
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        let widths = &request.choices.width;
        if let Some(width) = widths.iter().find(|width| ![4, 8, 16].contains(*width)) {
            bail!("--width {width}: an access to shared memory has 4, 8 or 16 bytes per lane");
        }
        let strides = match (&request.range, request.scale) {
            (Some(range), _) => range.values().to_vec(),
            (None, Scale::Full) => (0..=MOST).collect(),
            (None, Scale::Quick) => QUICK.to_vec(),
            (None, Scale::Small) => vec![1, 32],
        };
        if let Some(stride) = strides.iter().find(|stride| **stride > MOST) {
            bail!("--range: a stride of {stride} is too large; 0 to {MOST} are possible");
        }
        let accesses = UNROLLED * if request.scale == Scale::Small { 1 } else { 32 };
        let mut points = Vec::new();
        for kernel in KERNELS.iter().filter(|kernel| {
            request.wants(kernel.info.name) && (widths.is_empty() || widths.contains(&(4 * kernel.words)))
        }) {
            points.extend(strides.iter().map(|stride| point(kernel, *stride, accesses, device)));
        }
        Ok(points)
    }
}

fn point(kernel: &Kernel, stride: u32, accesses: u32, device: &DeviceInfo) -> Point {
    let (threads, words) = (u64::from(THREADS), kernel.words);
    let buffer = |after| Buffer { bytes: 4 * threads, place: Place::Device, before: Contents::Poison, after };
    let sums = Expected::exactly(move |first, _, sums: &mut [u32]| {
        for (thread, sum) in (first as u32..).zip(sums) {
            *sum = sum_of(thread % LANES, stride, accesses, words);
        }
    });
    let point = Point::new(Banks.name(), Shape::linear(1, THREADS), (kernel.work)(stride, accesses));
    let of_warps = u64::from(accesses) * threads / u64::from(LANES);
    let read = u64::from(accesses) * threads * 4 * u64::from(words);
    Point {
        parameters: Parameters { elements: threads, ..point.parameters }
            .with("width", 4 * words)
            .swept("stride", stride),
        bytes: BytesMoved { read, written: 8 * threads, footprint: 8 * threads },
        operations: Some(Operations { kind: Operation::Access, count: of_warps }),
        buffers: vec![buffer(sums), buffer(super::latency::timed())],
        observe: (device.backend() == Backend::Measured).then(|| observe(of_warps)),
        ..point
    }
}

/// The sum that a thread of this lane writes: the kernel's walk, written down a second time.
fn sum_of(lane: u32, stride: u32, accesses: u32, words: u32) -> u32 {
    let vector = |left: u32, nth: u32| ((lane * stride) ^ (32 * left) ^ (32 * nth)) % THREADS + 1;
    let rounds = (1..=accesses / UNROLLED).flat_map(|left| (0..UNROLLED).map(move |nth| vector(left, nth)));
    rounds.fold(0, u32::wrapping_add).wrapping_mul(words * (words + 1) / 2)
}

/// The clock cycles per access: those of the slowest thread, over the accesses of all warps.
fn observe(accesses: u64) -> Box<Observe> {
    Box::new(move |moment, buffers| {
        if moment == Moment::Before {
            return Ok(Default::default());
        }
        let longest = buffers.contents::<u32>(1, THREADS as usize)?.into_iter().max().unwrap_or(0);
        Ok([(CYCLES.to_string(), json!(f64::from(longest) / accesses as f64))].into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::tests::h200, experiments};

    #[test]
    fn sums_are_those_of_the_walk() {
        // Vectors 0, 32, .. 480 hold 1, 33, .. 481: 16 + 32 * 120 = 3856.
        assert_eq!(sum_of(0, 5, 16, 1), 3856);
        assert_eq!(sum_of(1, 5, 32, 1), 2 * (3856 + 16 * 5));
        // Words of a vector are 1, 2, 3 and 4 times its number.
        assert_eq!(sum_of(0, 5, 16, 4), 10 * 3856);
    }

    #[test]
    fn each_width_is_read_at_each_stride() {
        let request = experiments::tests::request();
        let points = Banks.points(&request, &h200()).expect("it is a valid request");
        assert_eq!(points.len(), 3 * QUICK.len());
        let first = &points[0];
        assert_eq!(first.operations.map(|of| of.count), Some(32 * 16 * 32));
        let wide = experiments::Choices { width: vec![16], ..Default::default() };
        let points =
            Banks.points(&Request { choices: wide, ..request.clone() }, &h200()).expect("it is valid");
        assert!(points.len() == QUICK.len() && points.iter().all(|point| point.kernel == "banks_16"));
        let odd = experiments::Choices { width: vec![12], ..Default::default() };
        let error =
            Banks.points(&Request { choices: odd, ..request }, &h200()).err().expect("no such access");
        assert!(error.to_string().starts_with("--width 12: "), "{error}");
    }
}
