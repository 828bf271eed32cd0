//! `name_of_lesson`: a slice times a factor. The kernel and what to expect of it are in gpu-kernels' `name_of_lesson.rs`.

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, Place, Point, Precision, Request, Work, check_size,
    covering,
};
use crate::{device::DeviceInfo, verify::Expected};
use anyhow::Result;
use gpu_kernels::name_of_lesson::name_of_lesson_f32;
use pattern::SEED;
use record::Parameters;

/// `destination[i] = factor * source[i]`.
pub(super) struct Lesson;

const KERNEL: KernelInfo = KernelInfo::of::<name_of_lesson_f32>();

/// The factor. Products with the pattern's values, which are whole and below 2^20, are exact.
const FACTOR: f32 = 2.5;

impl Experiment for Lesson {
    fn name(&self) -> &'static str {
        "name_of_lesson"
    }

    fn summary(&self) -> &'static str {
        "destination[i] = factor * source[i]: say in a line what this shows"
    }

    fn reading(&self) -> &'static str {
        "Every byte of every sector is used, so this is a copy, and as fast as copy_scalar."
    }

    fn options(&self) -> &'static [&'static str] {
        &["bytes", "block"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        vec![KERNEL]
    }

    fn unit(&self, _: &Request) -> u64 {
        Precision::F32.size()
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        if !request.wants(KERNEL.name) {
            return Ok(Vec::new());
        }
        check_size(&[self], request)?;
        let bytes = request.bytes;
        let elements = bytes / Precision::F32.size();
        let shape = covering(elements, request.block, device)?;
        // The kernel's own parameters: rustc checks them, and the kernel's contract is checked before each launch.
        let work = Work::kernel::<name_of_lesson_f32>(|buffers| (buffers.read(0), buffers.write(1), FACTOR));
        let point = Point::new(self.name(), shape, work);
        let (before, place) = (Contents::Pattern(Precision::F32), Place::Device);
        Ok(vec![Point {
            parameters: Parameters { bytes, elements, precision: Some(Precision::F32), ..point.parameters },
            bytes: BytesMoved { read: bytes, written: bytes, footprint: 2 * bytes },
            buffers: vec![
                Buffer { bytes, place, before, after: times(1.0) },
                Buffer { bytes, place, before: Contents::Poison, after: times(FACTOR) },
            ],
            ..point
        }])
    }
}

/// The pattern times a factor: the source, before and after, with a factor of one.
fn times(factor: f32) -> Expected {
    Expected::exactly(move |first, _launches, values: &mut [f32]| {
        pattern::fill(first, SEED, values);
        for value in values {
            *value *= factor;
        }
    })
}
