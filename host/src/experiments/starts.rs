//! `launch`: the time of launches by the size of the grid, by the bytes of parameters and by how they are handed over. The kernels
//! and what to expect of them are in gpu-kernels' `launch.rs`.

use super::{
    Buffer, BytesMoved, Contents, Experiment, Handing, KernelInfo, Operations, Place, Point, Request, Scale,
    Shape, Work, articles, covering, findings,
};
use crate::{
    device::{Backend, DeviceInfo},
    kernels::own,
    verify::Expected,
};
use anyhow::Result;
use cuda_launch::{Kernel, Slice};
use gpu_kernels::{
    launch::launch_empty,
    unchecked::launch::{
        Words, launch_dependent, launch_parameters_64, launch_parameters_512, launch_parameters_4080,
    },
};
use record::{Operation, Record};
use report::{Article, Picture};
use std::cell::Cell;

/// Kernels that do next to nothing.
pub(super) struct Launch;

const EMPTY: KernelInfo = KernelInfo::of::<launch_empty>();
const DEPENDENT: KernelInfo = KernelInfo::of::<launch_dependent>();

/// The ways to hand over a row of launches, by their names in records.
pub(super) const CALLS: &str = "calls";
pub(super) const GRAPH: &str = "graph";
const OVERLAPPING: &str = "overlapping calls";

/// Threads of a block where the user names none, and of the others in a full run.
pub(super) const BLOCK: u32 = 256;
const BLOCKS: [u32; 3] = [32, 256, 1024];

/// Blocks of a grid, per multiprocessor.
const GRIDS: [u32; 6] = [1, 4, 16, 64, 256, 1024];
const QUICK_GRIDS: [u32; 3] = [1, 16, 256];
const SMALL_GRIDS: [u32; 1] = [1];

/// Bytes of a word of the parameters.
const WORD: u64 = 8;

impl Experiment for Launch {
    fn name(&self) -> &'static str {
        "launch"
    }

    fn summary(&self) -> &'static str {
        "kernels that do nothing: by blocks, by bytes of parameters, by calls, graphs and dependent launches"
    }

    fn reading(&self) -> &'static str {
        "Each figure is the time per launch in a row of them. By calls the slower of host and device decides; a graph is handed \
         over at once, so the device alone does. host_us_per_launch, in the records, is the time of the host's calls."
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::LAUNCHES]
    }

    fn picture(&self) -> Picture {
        Picture::Curve { over: "blocks", by: &["handed", "threads"], sectors: false }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::starts::launch
    }

    fn options(&self) -> &'static [&'static str] {
        &["block"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        vec![
            EMPTY,
            KernelInfo::of::<launch_parameters_64>(),
            KernelInfo::of::<launch_parameters_512>(),
            KernelInfo::of::<launch_parameters_4080>(),
            DEPENDENT,
        ]
    }

    fn notes(&self, request: &Request, device: &DeviceInfo) -> Vec<String> {
        let mut notes =
            own::left_out([DEPENDENT.name].into_iter().filter(|name| request.wants(name)), device);
        if device.backend() == Backend::Modelled {
            notes.push(
                "launch: the model knows one fixed time of a launch, that of a graph; the host's calls take no time in it, so \
                 launches by calls have none"
                .to_string(),
            );
        }
        notes
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        let blocks = match (&request.choices.block[..], request.scale) {
            ([], Scale::Full) => BLOCKS.to_vec(),
            ([], _) => vec![BLOCK],
            _ => vec![request.block],
        };
        let grids: &[u32] = match request.scale {
            Scale::Small => &SMALL_GRIDS,
            Scale::Quick => &QUICK_GRIDS,
            Scale::Full => &GRIDS,
        };
        let mut points = Vec::new();
        let mut add = |shape, handed, point: fn(Shape) -> Point| points.push(by(handed, point(shape)));
        for &threads in &blocks {
            let one = covering(threads.into(), threads, device)?;
            if request.wants(EMPTY.name) {
                add(one, CALLS, empty::<launch_empty>);
                add(one, GRAPH, empty::<launch_empty>);
                for &each in grids {
                    let count = u64::from(each) * u64::from(device.multiprocessors) * u64::from(threads);
                    add(covering(count, threads, device)?, GRAPH, empty::<launch_empty>);
                }
            }
        }
        let one = covering(blocks[0].into(), blocks[0], device)?;
        for (kernel, point) in [
            (self.kernels()[1], passing::<launch_parameters_64, 8> as fn(Shape) -> Point),
            (self.kernels()[2], passing::<launch_parameters_512, 64>),
            (self.kernels()[3], passing::<launch_parameters_4080, 510>),
        ] {
            if request.wants(kernel.name) {
                add(one, CALLS, point);
                add(one, GRAPH, point);
            }
        }
        let is_named = request.names(DEPENDENT.name);
        if own::runs(DEPENDENT.name, device, is_named)? && request.wants(DEPENDENT.name) {
            for handed in [CALLS, GRAPH, OVERLAPPING] {
                add(one, handed, empty::<launch_dependent>);
            }
        }
        Ok(points)
    }
}

/// The point, its launches handed over in this way.
pub(super) fn by(handed: &'static str, point: Point) -> Point {
    let Point { parameters, shape, work, .. } = point;
    Point {
        parameters: parameters
            .with("handed", handed)
            .with("blocks", shape.grid[0])
            .with("threads", shape.block[0]),
        work: if handed == OVERLAPPING { work.overlapping() } else { work },
        handing: if handed == GRAPH { Handing::Graph } else { Handing::Calls },
        unmodelled: (handed != GRAPH)
            .then_some("the host's calls limit it, and they take no time in the model"),
        operations: point.operations.or(Some(Operations { kind: Operation::Launch, count: 1 })),
        ..point
    }
}

/// A launch of a kernel that takes nothing.
fn empty<K: for<'a> Kernel<Arguments<'a> = ()>>(shape: Shape) -> Point {
    Point::new(Launch.name(), shape, Work::kernel::<K>(|_| ()))
}

/// A launch of a kernel that takes this many words, and writes the last.
fn passing<K, const WORDS: usize>(shape: Shape) -> Point
where
    K: for<'a> Kernel<Arguments<'a> = (Words<WORDS>, Slice<'a, Cell<u64>>)>,
{
    let work = Work::kernel::<K>(|buffers| (Words(words::<WORDS>()), buffers.write(0)));
    let point = Point::new(Launch.name(), shape, work);
    Point {
        parameters: point.parameters.with("parameter_bytes", WORDS as u64 * WORD),
        bytes: BytesMoved { read: 0, written: WORD, footprint: 32 },
        buffers: vec![Buffer {
            bytes: WORD,
            place: Place::Device,
            before: Contents::Poison,
            after: Expected::exactly(|_, _, written: &mut [u64]| written.fill(words::<WORDS>()[WORDS - 1])),
        }],
        ..point
    }
}

/// Words that say where they are.
fn words<const WORDS: usize>() -> [u64; WORDS] {
    std::array::from_fn(|nth| (nth as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        device::tests::{c870, h200},
        experiments::{self, tests::request},
    };

    #[test]
    fn every_way_to_hand_over_is_a_point_of_one_launch() {
        let points = Launch.points(&request(), &h200()).expect("it is a valid request");
        let of = |point: &Point| {
            let handed = point.parameters.more["handed"].as_str().unwrap_or("").to_string();
            (point.kernel, handed, point.shape.grid[0])
        };
        let expected = [
            ("launch_empty", CALLS, 1),
            ("launch_empty", GRAPH, 1),
            ("launch_empty", GRAPH, 132),
            ("launch_empty", GRAPH, 132 * 16),
            ("launch_empty", GRAPH, 132 * 256),
            ("launch_parameters_64", CALLS, 1),
            ("launch_parameters_64", GRAPH, 1),
            ("launch_parameters_512", CALLS, 1),
            ("launch_parameters_512", GRAPH, 1),
            ("launch_parameters_4080", CALLS, 1),
            ("launch_parameters_4080", GRAPH, 1),
            ("launch_dependent", CALLS, 1),
            ("launch_dependent", GRAPH, 1),
            ("launch_dependent", OVERLAPPING, 1),
        ];
        assert_eq!(
            points.iter().map(of).collect::<Vec<_>>(),
            expected.map(|(kernel, handed, blocks)| (kernel, handed.to_string(), blocks))
        );
        let launch = Some(Operations { kind: Operation::Launch, count: 1 });
        assert!(points.iter().all(|point| point.operations == launch && point.shape.block[0] == 256));
        let handing: Vec<_> = points[11..].iter().map(|point| point.handing).collect();
        assert_eq!(handing, [Handing::Calls, Handing::Graph, Handing::Calls]);
    }

    #[test]
    fn the_last_word_differs_from_every_other() {
        let words = words::<510>();
        assert!(words[..509].iter().all(|word| *word != words[509]));
    }

    #[test]
    fn cards_without_dependent_launches_leave_them_out() {
        let points = Launch.points(&request(), &c870()).expect("the others");
        assert!(points.iter().all(|point| point.kernel != "launch_dependent") && points.len() == 11);
        let notes = Launch.notes(&request(), &c870());
        assert!(notes[0].starts_with("launch_dependent is left out: "), "{notes:?}");
        let named = experiments::tests::naming(&["launch_dependent"]);
        assert!(Launch.points(&named, &c870()).is_err());
    }
}
