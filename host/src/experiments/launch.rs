//! The work of a point: a kernel, launched by its own signature, or work of the driver.

use super::{Buffers, Part, Shape};
use crate::symbols;
use anyhow::{Context, Result, bail};
use cuda_driver::ext::{self, LaunchConfig};
use cuda_launch::{Cluster, Kernel, LaunchError, Parameter, Signatures, Words};
use cust::{function::Function, stream::Stream};

/// A kernel as its source describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelInfo {
    /// The name of the entry point.
    pub name: &'static str,
    /// The architecture that it names, where its instructions exist on one alone: `compute_90a`.
    pub arch: Option<&'static str>,
    cluster: fn() -> Option<Cluster>,
    parameters: fn() -> Vec<Parameter>,
    contract: fn() -> Vec<String>,
    check: fn(&Signatures) -> Result<(), LaunchError>,
}

impl KernelInfo {
    /// The description of `K`.
    pub(crate) const fn of<K: Kernel>() -> KernelInfo {
        KernelInfo {
            name: K::NAME,
            arch: K::ARCH,
            cluster: K::cluster,
            parameters: K::parameters,
            contract: K::contract,
            check: Signatures::check::<K>,
        }
    }

    /// Blocks of the clusters that each launch has, in x, y and z: 1 without clusters.
    pub(crate) fn cluster(&self) -> [u32; 3] {
        (self.cluster)().map_or([1; 3], Cluster::blocks)
    }

    /// The parameters that a launch passes, such as `nx: Extent<Nx>`.
    pub(crate) fn parameters(&self) -> Vec<String> {
        (self.parameters)().iter().map(|parameter| format!("{}: {}", parameter.name, parameter.ty)).collect()
    }

    /// The launch contract.
    pub(crate) fn contract(&self) -> Vec<String> {
        (self.contract)()
    }

    /// Compares the module's entry point of this name with the kernel.
    ///
    /// # Errors
    /// There is none, or it has other parameters.
    pub(crate) fn check(&self, module: &Signatures) -> Result<(), LaunchError> {
        (self.check)(module)
    }
}

/// How a point's work is queued.
pub(crate) enum Work {
    /// A kernel, launched with its arguments.
    Kernel(KernelLaunch),
    /// Launches of a kernel on several cards, among other work, in the place of one launch.
    Cards(CardsLaunch),
    /// Something that the driver does by itself, recorded under this name.
    Driver(&'static str, Box<QueueWork>),
}

/// Work of several cards, recorded under the name of one of its kernels.
pub(crate) struct CardsLaunch {
    /// The kernel.
    pub info: KernelInfo,
    /// How many cards there are.
    pub cards: u32,
    queue: Box<QueueWork>,
}

/// Queues something on the point's buffers once.
pub(crate) type QueueWork = dyn Fn(&Stream, &Buffers) -> Result<()>;

/// A kernel with what it is launched with, checked against its contract.
pub(crate) struct KernelLaunch {
    /// The kernel.
    pub info: KernelInfo,
    pass: Box<Pass>,
    /// Kernels of the same module that are queued before it, as a part of the work.
    first: Vec<(KernelLaunch, Shape)>,
    /// Whether a launch may begin before the one ahead of it has ended.
    overlaps: bool,
    /// Blocks of the clusters that a launch asks for by an attribute; 1 without.
    cluster: u32,
    /// The buffer whose lines are to persist in L2.
    persisting: Option<usize>,
    /// Launches on parts of the buffers, among other work, in the place of one launch.
    parts: Option<Parts>,
}

/// A kernel that is launched on one part of its buffers after the other.
struct Parts {
    pass: Box<PassPart>,
    around: Box<Around>,
}

/// The parameters of a launch on a part, and its shape.
type PassPart = dyn Fn(Part, Shape, &Buffers) -> Result<(Words, Shape)>;

/// Queues a launch on a part.
pub(crate) type LaunchPart<'a> = dyn Fn(Part, &Stream) -> Result<()> + 'a;

/// Queues launches on all parts and what belongs to them, so that the stream is behind all of it.
pub(crate) type Around = dyn Fn(&Stream, &Buffers, &LaunchPart<'_>) -> Result<()>;

/// The parameters of a launch, and its shape with the dynamic shared memory that the kernel asks for.
type Pass = dyn Fn(Shape, &Buffers) -> Result<(Words, Shape)>;

impl Work {
    /// Launches of `K`, with these arguments.
    pub(crate) fn kernel<K: Kernel>(
        arguments: impl for<'a> Fn(&'a Buffers) -> K::Arguments<'a> + 'static,
    ) -> Work {
        Work::Kernel(KernelLaunch::of::<K>(arguments))
    }

    /// The same behind a launch of `K` in this shape. Several come in the order in which they are added.
    pub(crate) fn behind<K: Kernel>(
        mut self,
        shape: Shape,
        arguments: impl for<'a> Fn(&'a Buffers) -> K::Arguments<'a> + 'static,
    ) -> Work {
        if let Work::Kernel(launch) = &mut self {
            launch.first.push((KernelLaunch::of::<K>(arguments), shape));
        }
        self
    }

    /// Launches of `K` on parts of the buffers, with these arguments for each; `around` queues them with what belongs to them.
    /// The point's shape is that of one launch.
    pub(crate) fn in_parts<K: Kernel>(
        arguments: impl for<'a> Fn(&'a Buffers, Part) -> K::Arguments<'a> + Clone + 'static,
        of: u32,
        around: impl Fn(&Stream, &Buffers, &LaunchPart<'_>) -> Result<()> + 'static,
    ) -> Work {
        let first = arguments.clone();
        let pass = move |part, shape, buffers: &Buffers| {
            let launch = |buffers| arguments(buffers, part);
            Ok(K::pass(buffers.lend_to(K::NAME, launch)?, shape)?)
        };
        let mut launch = KernelLaunch::of::<K>(move |buffers| first(buffers, Part { nth: 0, of }));
        launch.parts = Some(Parts { pass: Box::new(pass), around: Box::new(around) });
        Work::Kernel(launch)
    }

    /// The same in clusters of this many blocks along x, which the grid is a multiple of.
    pub(crate) fn in_clusters(mut self, blocks: u32) -> Work {
        if let Work::Kernel(launch) = &mut self {
            launch.cluster = blocks;
        }
        self
    }

    /// Blocks of a cluster: 1 without clusters.
    pub(crate) fn cluster(&self) -> u32 {
        match self {
            Work::Kernel(launch) => launch.cluster,
            Work::Cards(_) | Work::Driver(..) => 1,
        }
    }

    /// The same with this buffer's lines persisting in the part of L2 that is set aside.
    pub(crate) fn persisting(mut self, buffer: usize) -> Work {
        if let Work::Kernel(launch) = &mut self {
            launch.persisting = Some(buffer);
        }
        self
    }

    /// The same by launches that begin before the one ahead of them has ended (programmatic dependent launch). This is for kernels
    /// that keep what [`cuda_launch::LaunchOptions::overlapping`] asks of them.
    pub(crate) fn overlapping(mut self) -> Work {
        if let Work::Kernel(launch) = &mut self {
            launch.overlaps = true;
        }
        self
    }

    /// Work of this many cards, `K` among it, which `queue` hands to each card so that the stream is behind all of it.
    pub(crate) fn on_cards<K: Kernel>(
        cards: u32,
        queue: impl Fn(&Stream, &Buffers) -> Result<()> + 'static,
    ) -> Work {
        Work::Cards(CardsLaunch { info: KernelInfo::of::<K>(), cards, queue: Box::new(queue) })
    }

    /// Something that the driver does by itself.
    pub(crate) fn driver(
        name: &'static str,
        queue: impl Fn(&Stream, &Buffers) -> Result<()> + 'static,
    ) -> Work {
        Work::Driver(name, Box::new(queue))
    }

    /// The name under which it is recorded.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Work::Kernel(launch) => launch.info.name,
            Work::Cards(launch) => launch.info.name,
            Work::Driver(name, _) => name,
        }
    }

    /// Queues the work once, with the kernel of whichever module is measured.
    ///
    /// # Safety
    /// The buffers are [placed](Buffers::placed), the stream is the one that all work on them is queued on, and the function
    /// has the kernel's parameters and does what the kernel does.
    ///
    /// # Errors
    /// The launch breaks the kernel's contract, or the driver refuses it.
    pub(crate) unsafe fn queue(
        &self,
        function: Option<&Function<'_>>,
        shape: Shape,
        stream: &Stream,
        buffers: &Buffers,
    ) -> Result<()> {
        let launch = match (self, function) {
            (Work::Driver(_, queue) | Work::Cards(CardsLaunch { queue, .. }), _) => {
                return queue(stream, buffers);
            }
            (Work::Kernel(launch), None) => bail!("no module has the kernel {}", launch.info.name),
            (Work::Kernel(launch), Some(function)) => (launch, function),
        };
        let (KernelLaunch { pass, first, overlaps, cluster, persisting, parts, .. }, function) = launch;
        if let Some(Parts { pass, around }) = parts {
            return around(stream, buffers, &|part, stream| {
                let (words, Shape { grid, block, shared }) = pass(part, shape, buffers)?;
                let ([x, y, z], [across, down, deep]) = (grid, block);
                // SAFETY: as below; the streams are joined to the one that the buffers are promised to.
                unsafe { stream.launch(function, (x, y, z), (across, down, deep), shared, &words.pointers()) }
                    .context("the driver refuses the launch on a part")
            });
        }
        for (KernelLaunch { info, pass, .. }, shape) in first {
            let (words, Shape { grid, block, shared }) = pass(*shape, buffers)?;
            let config = LaunchConfig::new(grid, block, shared, stream.as_inner().cast());
            let before = symbols::kernel(function, info.name)?;
            // SAFETY: as below; the kernel is one of the same module.
            unsafe { ext::launch(before.cast(), &config, &mut words.pointers()) }
                .with_context(|| format!("the driver refuses the launch of {}", info.name))?;
        }
        let (words, shape) = pass(shape, buffers)?;
        if *overlaps || *cluster > 1 || persisting.is_some() {
            let Shape { grid, block, shared } = shape;
            let config = LaunchConfig {
                overlaps_predecessor: *overlaps,
                cluster: (*cluster > 1).then_some([*cluster, 1, 1]),
                persisting: persisting.map(|buffer| buffers.window(buffer)),
                ..LaunchConfig::new(grid, block, shared, stream.as_inner().cast())
            };
            // SAFETY: as below; that the kernel itself waits for the one ahead, its experiment states too.
            return unsafe { ext::launch(function.to_raw().cast(), &config, &mut words.pointers()) }
                .context("the driver refuses the launch with attributes");
        }
        let ([x, y, z], [across, down, deep]) = (shape.grid, shape.block);
        // SAFETY: the words are of the kernel's parameters and live through the call, the contract is kept, and what the
        // words point to stays until the stream has ended its work, as the caller promises. What an unsafe kernel asks for
        // besides, its experiment states by shape and lengths; every element and the bytes behind it are checked after it.
        unsafe { stream.launch(function, (x, y, z), (across, down, deep), shape.shared, &words.pointers()) }
            .context("the driver refuses the launch")
    }
}

impl KernelLaunch {
    fn of<K: Kernel>(arguments: impl for<'a> Fn(&'a Buffers) -> K::Arguments<'a> + 'static) -> KernelLaunch {
        let pass = move |shape, buffers: &Buffers| Ok(K::pass(buffers.lend_to(K::NAME, &arguments)?, shape)?);
        KernelLaunch {
            info: KernelInfo::of::<K>(),
            pass: Box::new(pass),
            first: Vec::new(),
            overlaps: false,
            cluster: 1,
            persisting: None,
            parts: None,
        }
    }

    /// The shape with the dynamic shared memory that the contract asks for, with these buffers.
    ///
    /// # Errors
    /// The launch breaks the contract.
    pub(super) fn shape(&self, shape: Shape, buffers: &Buffers) -> Result<Shape> {
        Ok((self.pass)(shape, buffers)?.1)
    }
}
