//! `name_of_lesson`: a slice times a factor. The kernel and what to expect of it are in gpu-kernels' `name_of_lesson.rs`.

use super::{
    Buffer, BytesMoved, Contents, Experiment, Launch, Place, Point, Precision, Request, Shape, Work, check_size,
};
use crate::{
    device::DeviceInfo,
    pattern::{self, SEED},
    record::Parameters,
    verify::Expected,
};
use anyhow::Result;
use cust::launch;

/// `destination[i] = factor * source[i]`.
pub(super) struct Lesson;

/// Its kernel: `(source: &[f32], destination: *mut f32, factor: f32)`.
const KERNEL: &str = "name_of_lesson_f32";

/// What it multiplies by: the products of the pattern's values, which are whole and below 2^20, are exact.
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

    fn kernels(&self) -> Vec<&'static str> {
        vec![KERNEL]
    }

    fn unit(&self, _: &Request) -> u64 {
        Precision::F32.size()
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        if !request.wants(KERNEL) {
            return Ok(Vec::new());
        }
        check_size(&[self], request)?;
        let bytes = request.bytes;
        let elements = bytes / Precision::F32.size();
        let shape = Shape::covering(elements, request.block, device)?;
        let work = move |&Launch { function, shape, stream, buffers }: &Launch<'_>| {
            let (source, destination) = (buffers[0], buffers[1]);
            let (grid, block) = (shape.grid_size(), shape.block_size());
            // SAFETY: these are the kernel's parameters, and both buffers have that many elements.
            unsafe { launch!(function<<<grid, block, 0, stream>>>(source, elements, destination, FACTOR)) }
        };
        let point = Point::new(self.name(), KERNEL, shape, Work::Kernel(Box::new(work)));
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
