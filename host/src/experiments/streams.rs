//! `streams`: launches on one stream and on several, by calls and in a graph. The kernel and what to expect of it are in gpu-kernels'
//! `streams.rs`.

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, Operations, Part, Place, Point, Request, Scale,
    Shape, Work, articles,
    beside::Beside,
    findings,
    starts::{self, BLOCK, CALLS, GRAPH},
};
use crate::{
    device::{Backend, DeviceInfo},
    verify::Expected,
};
use anyhow::Result;
use gpu_kernels::streams::{FACTOR, STEPS, stream_chain};
use record::{Operation, Record};
use report::{Article, Picture};
use std::sync::{Arc, OnceLock};

/// The same launches on more and more streams.
pub(super) struct Streams;

const KERNEL: KernelInfo = KernelInfo::of::<stream_chain>();

/// Launches of a row, dealt over its streams.
const LAUNCHES: u32 = 32;

/// How many streams there are.
const STREAMS: [u32; 6] = [1, 2, 4, 8, 16, 32];
const QUICK_STREAMS: [u32; 3] = [1, 4, 32];
const SMALL_STREAMS: [u32; 1] = [4];

/// Steps of a launch in a check.
const SMALL_STEPS: u32 = 16;

impl Experiment for Streams {
    fn name(&self) -> &'static str {
        "streams"
    }

    fn summary(&self) -> &'static str {
        "kernels side by side: the same launches on 1 to 32 streams, by calls and in a graph"
    }

    fn reading(&self) -> &'static str {
        "Each figure is the time of 32 launches, over 32. By calls the host hands over one after the other; a graph has a branch \
         for each stream. `blocks` is the grid of each launch."
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::CONCURRENCY]
    }

    fn picture(&self) -> Picture {
        Picture::Curve { over: "streams", by: &["handed", "blocks"], sectors: false }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::streams::streams
    }

    fn options(&self) -> &'static [&'static str] {
        &["block"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        vec![KERNEL]
    }

    fn notes(&self, _: &Request, device: &DeviceInfo) -> Vec<String> {
        match device.backend() {
            Backend::Modelled => vec![
                "streams: the model starts one kernel at a time and runs them side by side while there is room, the later ones at \
                 what the others leave; the host's calls take no time"
                    .to_string(),
            ],
            Backend::Measured => Vec::new(),
        }
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        let threads = if request.choices.block.is_empty() { BLOCK } else { request.block };
        let streams: &[u32] = match request.scale {
            Scale::Small => &SMALL_STREAMS,
            Scale::Quick => &QUICK_STREAMS,
            Scale::Full => &STREAMS,
        };
        let grids = match request.scale {
            Scale::Small => vec![1],
            Scale::Quick | Scale::Full => vec![1, device.multiprocessors],
        };
        let steps = if request.scale == Scale::Small { SMALL_STEPS } else { STEPS };
        let mut points = Vec::new();
        for blocks in grids {
            let (shape, ends) = (Shape::linear(blocks, threads), Arc::default());
            for handed in [CALLS, GRAPH] {
                let point =
                    |streams: &u32| starts::by(handed, point(shape, steps, *streams, Arc::clone(&ends)));
                points.extend(streams.iter().map(point));
            }
        }
        Ok(points)
    }
}

/// Launches of this shape, dealt over this many streams. Points of one shape share the ends of the threads' chains.
fn point(shape: Shape, steps: u32, streams: u32, ends: Arc<OnceLock<Vec<f32>>>) -> Point {
    let beside = Beside::new(streams as usize);
    let work = Work::in_parts::<stream_chain>(
        move |on, part| (steps, on.write_part(0, part)),
        LAUNCHES,
        move |stream, _, launch| {
            beside.queue(stream, |streams| {
                Part::each(LAUNCHES)
                    .zip(streams.iter().cycle())
                    .try_for_each(|(part, stream)| launch(part, stream))
            })
        },
    );
    let threads = u64::from(shape.grid[0]) * u64::from(shape.block[0]);
    let written = 4 * threads * u64::from(LAUNCHES);
    let after = Expected::exactly(move |first, _, values: &mut [f32]| {
        let ends = ends.get_or_init(|| ends_of(threads, steps));
        for (thread, value) in (first..).zip(values) {
            *value = ends[(thread % threads) as usize];
        }
    });
    let point = Point::new(Streams.name(), shape, work);
    Point {
        parameters: point.parameters.with("streams", streams),
        bytes: BytesMoved { read: 0, written, footprint: written },
        operations: Some(Operations { kind: Operation::Launch, count: u64::from(LAUNCHES) }),
        buffers: vec![Buffer { bytes: written, place: Place::Device, before: Contents::Poison, after }],
        ..point
    }
}

/// The ends of the chains of this many threads.
fn ends_of(threads: u64, steps: u32) -> Vec<f32> {
    let mut values: Vec<f32> = (0..threads).map(|thread| thread as f32).collect();
    for _ in 0..steps {
        values.iter_mut().for_each(|value| *value = *value * FACTOR + 1.0);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        device::tests::h200,
        experiments::{self, Handing, tests::request},
    };

    #[test]
    fn each_grid_is_launched_on_more_and_more_streams_in_both_ways() {
        let points = Streams.points(&request(), &h200()).expect("it is a valid request");
        let of =
            |point: &Point| (point.shape.grid[0], point.handing, point.parameters.more["streams"].clone());
        let mut expected = Vec::new();
        for blocks in [1, 132] {
            for handing in [Handing::Calls, Handing::Graph] {
                expected.extend(QUICK_STREAMS.map(|streams| (blocks, handing, streams.into())));
            }
        }
        assert_eq!(points.iter().map(of).collect::<Vec<_>>(), expected);
        let launches = Some(Operations { kind: Operation::Launch, count: 32 });
        assert!(points.iter().all(|point| point.operations == launches && point.shape.block[0] == 256));
        let full = Streams.points(&Request { scale: Scale::Full, ..request() }, &h200()).expect("points");
        assert_eq!(full.len(), 2 * 2 * STREAMS.len());
    }

    #[test]
    fn a_block_that_the_user_names_is_taken() {
        let request = Request { block: 64, ..experiments::tests::naming(&[KERNEL.name]) };
        let choices = experiments::Choices { block: vec![experiments::Block::linear(64)], ..request.choices };
        let points = Streams.points(&Request { choices, ..request }, &h200()).expect("points");
        assert!(
            points.iter().all(|point| point.shape.block[0] == 64 && point.parameters.more["threads"] == 64)
        );
    }

    #[test]
    fn the_ends_of_chains_tell_threads_apart() {
        let ends = ends_of(256, STEPS);
        assert!(ends.windows(2).all(|pair| pair[0] < pair[1]));
        // All go to 1000; a step leaves 0.999 of what is missing.
        let expected = 1000.0 * (1.0 - 0.999_f64.powi(2048));
        assert!((f64::from(ends[0]) - expected).abs() < 0.1, "{}", ends[0]);
    }
}
