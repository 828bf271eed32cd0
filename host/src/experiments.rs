//! The experiments. Each states what it launches, on which buffers, how many bytes that is and what must come out;
//! it does not time, format or print.
//!
//! Adding a kernel is one function in `gpu-kernels` and one entry in the file here that is named after its lesson.
//! Adding an experiment is a type with [`Experiment`] and a line in [`ALL`].

#![deny(unsafe_code)]

mod articles;
mod atomics;
mod banks;
mod beside;
#[allow(unsafe_code, reason = "lends device memory by its address")]
mod buffers;
mod choices;
mod cluster;
mod coalescing;
mod constant;
mod copy;
mod findings;
mod gather;
mod gemm;
mod histogram;
mod idioms;
mod instructions;
mod l2;
mod latency;
#[allow(unsafe_code, reason = "the one place that hands launches to the driver")]
mod launch;
mod layout;
mod link;
mod maps;
mod matmul;
mod mountain;
mod occupancy;
mod permutation;
mod place;
mod scan;
mod shape;
mod shuffle;
mod staged;
mod starts;
mod stencil;
mod storage;
mod streams;
mod transfer;
mod transpose;
mod unified;

pub(crate) use self::{
    buffers::{Buffers, Part, Written},
    choices::{Choices, Matrices, Pattern, SIZES},
    gemm::Gemm,
    launch::{CardsLaunch, KernelInfo, QueueWork, Work},
    maps::MatrixMap,
    matmul::{Element, types},
    place::{Place, Placement},
    shape::{Block, NO_LAUNCH, Shape, covering, covering_2d},
};
pub(crate) use crate::symbols::Symbol;
use record::Record;
pub(crate) use record::{BytesMoved, Operations, Precision};
use report::{Article, Picture};

use crate::{
    device::{Backend, DeviceInfo},
    sizes::{Bytes, nearest_multiples},
    sweep::Sweep,
    verify::Expected,
};
use anyhow::{Context, Result, bail};
use cust::memory::bytemuck::{self, Pod};
use pattern::wide;
use record::Parameters;
use std::collections::BTreeMap;

/// Every experiment, in the order in which `run` takes them.
pub(crate) static ALL: &[&dyn Experiment] = &[
    &copy::Copy,
    &coalescing::Offset,
    &coalescing::Stride,
    &transpose::Transpose,
    &stencil::Stencil,
    &constant::Constant,
    &shuffle::Shuffle,
    &matmul::Matmul,
    &unified::Unified,
    &storage::Storage,
    &idioms::Idioms,
    &layout::Layout,
    &gather::Gather,
    &scan::Scan,
    &histogram::Histogram,
    &atomics::Atomics,
    &staged::Async,
    &transfer::Transfer,
    &link::Link,
    &starts::Launch,
    &streams::Streams,
    &cluster::Cluster,
    &l2::L2,
    &instructions::Instructions,
    &latency::Latency,
    &mountain::Mountain,
    &occupancy::Occupancy,
    &banks::Banks,
];

/// The driver's own device-to-device copy of `bytes`: the copy ceiling.
pub(crate) fn driver_copy(bytes: u64) -> Point {
    copy::driver_copy(bytes)
}

/// The experiment with this name.
pub(crate) fn by_name(name: &str) -> Option<&'static dyn Experiment> {
    ALL.iter().copied().find(|experiment| experiment.name() == name)
}

/// A question about memory, and the launches that answer it.
pub(crate) trait Experiment: Sync {
    /// The name on the command line and in records.
    fn name(&self) -> &'static str;

    /// One line on what it shows.
    fn summary(&self) -> &'static str;

    /// A sentence or two on how to read its table.
    fn reading(&self) -> &'static str;

    /// The module of gpu-kernels whose comment is the lesson's text.
    fn module(&self) -> &'static str {
        self.name()
    }

    /// The articles and books that it comes from.
    fn articles(&self) -> &'static [Article] {
        &[]
    }

    /// Its picture.
    fn picture(&self) -> Picture {
        Picture::Bars { by: &[] }
    }

    /// The finding of its rows, in a sentence; `None` if the rows that show it are missing.
    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        |_| None
    }

    /// The parameter that it sweeps, if it sweeps one.
    fn swept(&self) -> Option<&'static str> {
        None
    }

    /// The least value of the swept parameter.
    fn least(&self) -> u32 {
        0
    }

    /// The options that it takes, of those that are an experiment's own, by their names: bytes, precision, range and the
    /// fields of [`Choices`], with hyphens. One that no selected experiment takes is an error.
    fn options(&self) -> &'static [&'static str];

    /// Whether its blocks may have two dimensions. One that says so finds all blocks that the user gave in
    /// `request.choices.block`; for any other it is planned once for each of them, with `request.block`.
    fn two_dimensional(&self) -> bool {
        false
    }

    /// Every kernel that it may launch.
    fn kernels(&self) -> Vec<KernelInfo>;

    /// Those of its kernels that it launches only where there are several cards.
    fn of_several_cards(&self) -> &'static [&'static str] {
        &[]
    }

    /// The name under which it records work that the driver does by itself, if it has such work.
    fn driver_work(&self) -> Option<&'static str> {
        None
    }

    /// The names that `--kernel` takes: the driver's own work, and the kernels.
    fn names(&self) -> Vec<&'static str> {
        self.driver_work().into_iter().chain(self.kernels().iter().map(|kernel| kernel.name)).collect()
    }

    /// `request.bytes` has to be a multiple of this for the kernels that the request asks for.
    fn unit(&self, _request: &Request) -> u64 {
        1
    }

    /// The bytes that it reads on a simulated card where the user names none; `beyond_l2` is what measuring takes, at least four
    /// times L2. One whose lesson is about DRAM touches as much, the others take what is soon done.
    fn modelled_bytes(&self, beyond_l2: u64) -> u64 {
        beyond_l2.min(16 << 20)
    }

    /// Notes on the plan, such as kernels that it leaves out and why. Each is printed once, on stderr.
    fn notes(&self, _request: &Request, _device: &DeviceInfo) -> Vec<String> {
        Vec::new()
    }

    /// The points to measure, in order.
    ///
    /// # Errors
    /// The request does not suit the experiment or the device: the error names what would.
    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>>;

    /// The planned points, each held to its kernel's contract and with the dynamic shared memory that this asks for.
    ///
    /// # Errors
    /// As [`plan`](Self::plan); or a launch breaks its kernel's contract.
    fn points(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        self.plan(request, device)?.into_iter().map(|point| point.checked(device)).collect()
    }
}

/// The user's request, where experiments have a choice.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The kernels to run; all where there is none.
    pub kernels: Vec<String>,
    /// Those of them that the user named one by one: one that cannot run is then an error, and else left out.
    pub named: Vec<String>,
    /// The element types to run with, where an experiment has both.
    pub precisions: Vec<Precision>,
    /// The bytes that a kernel is to read, of an experiment that takes the option; see `sized`.
    pub bytes: u64,
    /// Whether the user gave that size; else it is the default of experiments that are about bytes alone.
    pub sized: bool,
    /// Threads a block, of an experiment whose blocks have one dimension.
    pub block: u32,
    /// The values of the swept parameter; `None` leaves them to the experiment.
    pub range: Option<Sweep>,
    /// How large to be where the user does not say.
    pub scale: Scale,
    /// The user's other choices.
    pub choices: Choices,
}

/// How large an experiment is where the user gives no size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Some dozens of blocks, with remainders: for checks, under which each access costs microseconds.
    Small,
    /// Enough to show what the experiment shows, at points that stand for the others: all experiments together take less than
    /// 40 seconds on a GPU, and on a simulated card with two processor cores.
    Quick,
    /// The sizes of the articles, and those beyond L2.
    Full,
}

impl Request {
    /// Whether a kernel is asked for.
    fn wants(&self, kernel: &str) -> bool {
        self.kernels.is_empty() || self.kernels.iter().any(|name| name == kernel)
    }

    /// The request as an experiment can take it: a default size is what the experiment takes on the device, rounded down to a
    /// multiple of its unit, and up to the first one if it is less. A size that the user gave stays, and is refused if it does
    /// not suit.
    pub(crate) fn suiting(&self, experiment: &dyn Experiment, device: &DeviceInfo) -> Request {
        if self.sized {
            return self.clone();
        }
        let bytes = match self.is_modelled(device) {
            true => experiment.modelled_bytes(self.bytes),
            false => self.bytes,
        };
        let unit = experiment.unit(self);
        Request { bytes: (bytes / unit).max(1) * unit, ..self.clone() }
    }

    /// Whether a simulated card is to show what there is to show as soon as it can.
    fn is_modelled(&self, device: &DeviceInfo) -> bool {
        self.scale == Scale::Quick && device.backend() == Backend::Modelled
    }

    /// Whether a kernel is asked for by its name.
    fn names(&self, kernel: &str) -> bool {
        self.named.iter().any(|name| name == kernel)
    }
}

/// Refuses a size that one of the experiments cannot be run with. The sizes that it names suit all of them.
///
/// # Errors
/// The size is no multiple of what the experiments need.
pub(crate) fn check_size(experiments: &[&dyn Experiment], request: &Request) -> Result<()> {
    let unit = experiments.iter().map(|experiment| experiment.unit(request)).fold(1, least_common_multiple);
    let bytes = request.bytes;
    if bytes > 0 && bytes.is_multiple_of(unit) {
        return Ok(());
    }
    let readable = |bytes: u64| match bytes {
        ..1024 => bytes.to_string(),
        _ => format!("{bytes} ({})", Bytes(bytes)),
    };
    let nearest: Vec<String> = nearest_multiples(bytes, unit).into_iter().map(readable).collect();
    let block = match request.block {
        block @ 1.. if unit.is_multiple_of(block.into()) => format!(" with blocks of {block} threads"),
        _ => String::new(),
    };
    bail!(
        "`--bytes {bytes}` is not a multiple of {unit}, which {} {}{block}; the nearest {} {}",
        experiments.iter().map(|experiment| experiment.name()).collect::<Vec<_>>().join(", "),
        if experiments.len() == 1 { "needs" } else { "need together" },
        if nearest.len() == 1 { "is" } else { "are" },
        nearest.join(" and "),
    )
}

/// The least number that is a multiple of both.
pub(crate) fn least_common_multiple(one: u64, other: u64) -> u64 {
    let (mut divisor, mut rest) = (one, other);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    one / divisor * other
}

/// One launch to measure: one row of the result.
pub(crate) struct Point {
    /// The experiment's name.
    pub experiment: &'static str,
    /// The kernel's name in the module, or the name under which the driver's own work is recorded.
    pub kernel: &'static str,
    /// The parameters in which the experiment's points differ.
    pub parameters: Parameters,
    /// The bytes that it is of use to move.
    pub bytes: BytesMoved,
    /// Floating-point operations of one launch, a fused multiplication and addition being two; `None` where they are not
    /// what the experiment is about.
    pub flops: Option<u64>,
    /// The operations of one launch that the row's figure is about; `None` where it is about bytes or arithmetic.
    pub operations: Option<Operations>,
    /// The product that it computes of its buffers, for libraries that compute the same; `None` where it is none.
    pub product: Option<Gemm>,
    /// The buffers that it works on.
    pub buffers: Vec<Buffer>,
    /// Tensor maps of these buffers, for a kernel that takes them.
    pub maps: Vec<MatrixMap>,
    /// Variables of the module, written before the first launch, of a kernel's twin in the twin's module.
    pub symbols: Vec<Symbol>,
    /// The expected values of the module's variables after the last launch.
    pub symbols_after: Vec<(&'static str, Expected)>,
    /// Blocks and threads.
    pub shape: Shape,
    /// Queues the work once.
    pub work: Work,
    /// Done once before the first launch, and not timed; the buffers are filled again after it.
    pub before_all: Option<Box<QueueWork>>,
    /// How a row of launches is handed to the device.
    pub handing: Handing,
    /// Queued before each launch, and not timed: a sample is then one launch by itself.
    pub before_each: Option<Box<QueueWork>>,
    /// Looks at the buffers around the last launch; what it tells goes into the record's `observed`.
    pub observe: Option<Box<Observe>>,
    /// Why a simulated card has no time of it; `None` where the model knows what it is about.
    pub unmodelled: Option<&'static str>,
}

impl Point {
    /// A point without buffers, bytes and the rest, for struct update: `Point { buffers, ..Point::new(..) }`. Its
    /// parameters have the shape.
    pub(crate) fn new(experiment: &'static str, shape: Shape, work: Work) -> Point {
        Point {
            experiment,
            kernel: work.name(),
            parameters: Parameters {
                block: Some(shape.block.into()),
                grid: Some(shape.grid.into()),
                ..Parameters::of_bytes(0)
            },
            bytes: BytesMoved { read: 0, written: 0, footprint: 0 },
            flops: None,
            operations: None,
            product: None,
            buffers: Vec::new(),
            maps: Vec::new(),
            symbols: Vec::new(),
            symbols_after: Vec::new(),
            shape,
            work,
            before_all: None,
            handing: Handing::Usual,
            before_each: None,
            observe: None,
            unmodelled: None,
        }
    }

    /// The same with the dynamic shared memory that its kernel asks for.
    ///
    /// # Errors
    /// The launch breaks the kernel's contract, or the device has less shared memory.
    fn checked(self, device: &DeviceInfo) -> Result<Point> {
        let Work::Kernel(launch) = &self.work else { return Ok(self) };
        let shape = launch
            .shape(self.shape, &Buffers::planned(&self))
            .with_context(|| format!("{} {}", self.kernel, self.parameters))?;
        shape::shared_fits(&shape, device)?;
        Ok(Point { shape, ..self })
    }
}

/// How a row of launches is handed to the device. All but the usual way also measure the time of the host's calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Handing {
    /// One by one, and as a graph if they are too short for that.
    #[default]
    Usual,
    /// One by one, by a call each, however short they are.
    Calls,
    /// As a graph.
    Graph,
}

/// A buffer.
pub(crate) struct Buffer {
    /// Its length in bytes.
    pub bytes: u64,
    /// The memory that it is in.
    pub place: Place,
    /// Its contents before the first launch.
    pub before: Contents,
    /// The expected contents after the last launch.
    pub after: Expected,
}

/// The initial contents of a buffer.
pub(crate) enum Contents {
    /// Values of this type that say where they are (see [`pattern`]).
    Pattern(Precision),
    /// Bytes of 0xFF: no kernel's correct output.
    Poison,
    /// The same contents, on the host.
    Computed(Box<Fill>),
    /// The same where elements are addresses in the buffer itself.
    Addressed(Box<FillAt>),
}

/// Writes bytes of a buffer as [`Fill`] does; it is given the buffer's address as well, first of all.
pub(crate) type FillAt = dyn Fn(u64, u64, &mut [u8]) + Send + Sync;

/// Writes the bytes of a buffer from the one with this number on. It is called for pieces of the buffer in parallel; each
/// piece begins at a multiple of 256 KiB.
pub(crate) type Fill = dyn Fn(u64, &mut [u8]) + Send + Sync;

impl Contents {
    /// Elements that follow from their index.
    pub(crate) fn of<T: Pod>(element: impl Fn(u64) -> T + Send + Sync + 'static) -> Contents {
        Contents::Computed(Box::new(move |start, bytes| {
            let first = start / size_of::<T>() as u64;
            let each = |bytes: &mut [u8]| {
                for (nth, place) in bytes.chunks_exact_mut(size_of::<T>()).enumerate() {
                    place.copy_from_slice(bytemuck::bytes_of(&element(first + nth as u64)));
                }
            };
            wide(each, bytes);
        }))
    }

    /// Elements that `fill` writes: it is given the index of the first of a slice, and the slice.
    pub(crate) fn by_pieces<T: Pod>(fill: impl Fn(u64, &mut [T]) + Send + Sync + 'static) -> Contents {
        Contents::Computed(Box::new(move |start, bytes| {
            wide(|values| fill(start / size_of::<T>() as u64, values), bytemuck::cast_slice_mut(bytes));
        }))
    }
}

/// Looks at a point's buffers before and after its last launch; the device is idle meanwhile.
pub(crate) type Observe = dyn Fn(Moment, &Buffers) -> Result<BTreeMap<String, serde_json::Value>>;

/// When a point's buffers are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Before the last launch.
    Before,
    /// After it.
    After,
}

/// The 32-byte sectors that `count` elements of `size` bytes touch when they lie `stride` elements apart, in bytes.
/// The first one begins `start` bytes into a sector.
fn touched_bytes(start: u64, count: u64, size: u64, stride: u64) -> u64 {
    const SECTOR: u64 = 32;
    if count == 0 {
        return 0;
    }
    if stride * size <= SECTOR {
        let end = start + ((count - 1) * stride + 1) * size;
        (end.div_ceil(SECTOR) - start / SECTOR) * SECTOR
    } else {
        count * SECTOR
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::device::tests::{c870, h200};

    /// 1 MiB of both element types in blocks of 256, and nothing chosen.
    pub(crate) fn request() -> Request {
        Request {
            kernels: Vec::new(),
            named: Vec::new(),
            precisions: vec![Precision::F32, Precision::F64],
            bytes: 1 << 20,
            sized: true,
            block: 256,
            range: None,
            scale: Scale::Quick,
            choices: Choices::default(),
        }
    }

    /// The same for kernels that the user named.
    pub(crate) fn naming(kernels: &[&str]) -> Request {
        let kernels: Vec<String> = kernels.iter().map(|name| name.to_string()).collect();
        Request { kernels: kernels.clone(), named: kernels, ..request() }
    }

    #[test]
    fn names_are_unique_and_found() {
        for experiment in ALL {
            assert_eq!(by_name(experiment.name()).map(|found| found.summary()), Some(experiment.summary()));
        }
        assert!(by_name("nothing").is_none());
    }

    #[test]
    fn a_size_has_to_suit_every_experiment_that_is_asked_for() {
        let refusal = |bytes, block, kernels: &[&str]| {
            let request = Request {
                kernels: kernels.iter().map(|name| name.to_string()).collect(),
                bytes,
                block,
                ..request()
            };
            check_size(&ALL[..3], &request).err().map(|error| error.to_string())
        };
        assert_eq!(
            refusal(1, 256, &[]).as_deref(),
            Some(
                "`--bytes 1` is not a multiple of 2048, which copy, offset, stride need together with blocks of 256 threads; \
                 the nearest is 2048 (2 KiB)"
            )
        );
        assert_eq!(refusal(2048, 256, &[]), None);
        let error = refusal(3000, 256, &["offset_f32"]).expect("a refusal");
        assert!(error.ends_with("the nearest are 2048 (2 KiB) and 3072 (3 KiB)"), "{error}");
        assert_eq!(refusal(3072, 256, &["offset_f32"]), None);
        // Three threads with eight bytes each, and sixteen bytes of a copy: 48.
        let error = refusal(24, 3, &[]).expect("a refusal");
        assert!(error.contains("multiple of 48,") && error.ends_with("the nearest is 48"), "{error}");
    }

    #[test]
    fn a_default_size_is_rounded_and_a_chosen_one_is_not() {
        // Blocks of 96 threads with an f64 each: 768 bytes.
        let request = Request { block: 96, sized: false, ..request() };
        let size = |request: &Request| request.suiting(&coalescing::Offset, &h200()).bytes;
        assert_eq!(size(&request), (1 << 20) / 768 * 768);
        assert_eq!(size(&Request { bytes: 700, ..request.clone() }), 768);
        assert_eq!(size(&Request { sized: true, ..request.clone() }), 1 << 20);
        for experiment in ALL {
            assert!(
                check_size(&[*experiment], &request.suiting(*experiment, &h200())).is_ok(),
                "{}",
                experiment.name()
            );
        }
    }

    #[test]
    fn on_a_simulated_card_only_what_is_about_dram_takes_as_much_as_measuring() {
        let card = DeviceInfo { card: c870().card, ..h200() };
        let size = |name: &str, device: &DeviceInfo| {
            let request = Request { bytes: 256 << 20, sized: false, ..request() };
            request.suiting(by_name(name).expect("an experiment"), device).bytes >> 20
        };
        let names = ["copy", "offset", "stride", "stencil", "shuffle", "layout"];
        assert_eq!(names.map(|name| size(name, &card)), [128, 256, 256, 128, 128, 16]);
        assert_eq!(names.map(|name| size(name, &h200())), [256; 6]);
    }

    #[test]
    fn sectors_are_counted_once_each() {
        // 32 floats: four sectors where aligned, five where not.
        assert_eq!(touched_bytes(0, 32, 4, 1), 128);
        assert_eq!(touched_bytes(4, 32, 4, 1), 160);
        assert_eq!(touched_bytes(32, 32, 4, 1), 128);
        // Up to a stride of a sector everything in between is touched, from there on one sector an element.
        assert_eq!(touched_bytes(0, 32, 4, 2), 256);
        assert_eq!(touched_bytes(0, 32, 4, 8), 1024);
        assert_eq!(touched_bytes(0, 32, 4, 32), 1024);
        assert_eq!(touched_bytes(0, 32, 8, 3), 768);
        assert_eq!(touched_bytes(0, 0, 8, 3), 0);
    }
}
