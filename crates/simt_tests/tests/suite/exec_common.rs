//! What the tests of execution share: a memory, a program, launches.

use simt::coalescing::ComputeCapability;
use simt::exec::{Executed, Launch, LaunchFailure, Machine, Program, launch};
use simt::memory::{Kind, Memory};
use simt::observe::Observation;
use simt::ptx;
use std::sync::Mutex;

/// A program in a memory of its own.
pub(crate) struct Bench {
    pub(crate) memory: Memory,
    pub(crate) program: Program,
}

/// An argument of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Argument(Vec<u8>);

macro_rules! argument {
    ($($number:ty),*) => {
        $(impl From<$number> for Argument {
            fn from(value: $number) -> Self {
                Self(value.to_le_bytes().to_vec())
            }
        })*
    };
}

argument!(u8, i8, u16, u32, i32, f32, u64, i64, f64);

impl From<Vec<u8>> for Argument {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

/// What can be copied to and from a device.
pub(crate) trait Plain: Copy {
    fn bytes(self) -> Vec<u8>;
    fn from_bytes(bytes: &[u8]) -> Self;
}

macro_rules! plain {
    ($($number:ty),*) => {
        $(impl Plain for $number {
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn from_bytes(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("as many bytes as the number has"))
            }
        })*
    };
}

plain!(u8, i8, u16, u32, i32, f32, u64, i64, f64);

/// A card like an H200, as far as kernels can see.
pub(crate) fn machine() -> Machine {
    Machine {
        multiprocessors: 132,
        capability: ComputeCapability { major: 9, minor: 0 },
        clock_ghz: 1.98,
        resident_blocks: 132 * 8,
        shared_bytes_per_block: 227 << 10,
        blocks_per_cluster: 8,
    }
}

/// The head of a module.
pub(crate) const HEAD: &str = ".version 8.7\n.target sm_90\n.address_size 64\n";

/// PTX under construction.
#[derive(Default)]
pub(crate) struct Text {
    pub(crate) lines: String,
    /// Labels so far.
    pub(crate) labels: u32,
}

impl Text {
    pub(crate) fn line(&mut self, line: &str) {
        self.lines.push_str(line);
        self.lines.push('\n');
    }

    /// A label that is not yet in use.
    pub(crate) fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }
}

impl Bench {
    pub(crate) fn new(text: &str) -> Self {
        let memory = Memory::new(1 << 30).expect("address space");
        let module = ptx::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let program = Program::load(module, &memory).unwrap_or_else(|error| panic!("{error}"));
        Self { memory, program }
    }

    /// With the head of a module before the text.
    pub(crate) fn with_head(text: &str) -> Self {
        Self::new(&format!("{HEAD}{text}"))
    }

    pub(crate) fn upload<T: Plain>(&self, values: &[T]) -> u64 {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.bytes()).collect();
        let address = self.memory.allocate(bytes.len() as u64, Kind::Device).expect("device memory");
        self.memory.write(address, &bytes).expect("it was just allocated");
        address
    }

    pub(crate) fn download<T: Plain>(&self, address: u64, count: usize) -> Vec<T> {
        let mut bytes = vec![0; count * size_of::<T>()];
        self.memory.read(address, &mut bytes).expect("what was allocated");
        bytes.chunks_exact(size_of::<T>()).map(T::from_bytes).collect()
    }

    /// The bytes of arguments, laid out as the kernel wants them.
    pub(crate) fn parameters(&self, kernel: &str, arguments: &[Argument]) -> Vec<u8> {
        let kernel = self.program.kernel(kernel).expect("the kernel");
        let mut bytes = vec![0; kernel.parameter_bytes as usize];
        assert_eq!(kernel.parameters.len(), arguments.len(), "arguments of {}", kernel.name);
        for (layout, argument) in kernel.parameters.iter().zip(arguments) {
            assert_eq!(layout.bytes as usize, argument.0.len(), "an argument of {}", kernel.name);
            bytes[layout.offset as usize..][..argument.0.len()].copy_from_slice(&argument.0);
        }
        bytes
    }

    /// Launches as the closure says.
    pub(crate) fn launch_with<O: Observation + Send + Sync>(
        &self,
        kernel: &str,
        arguments: &[Argument],
        observation: &mut O,
        change: impl FnOnce(&mut Launch<'_>),
    ) -> Result<Executed, LaunchFailure> {
        let parameters = self.parameters(kernel, arguments);
        let mut asked = Launch {
            kernel: self.program.kernel(kernel).expect("the kernel"),
            grid: [1; 3],
            block: [32, 1, 1],
            cluster: None,
            dynamic_shared_bytes: 0,
            parameters: &parameters,
            stack_bytes: 1024,
            machine: machine(),
            workers: 1,
            instruction_limit: Some(1 << 28),
            patience: None,
            cooperative: false,
        };
        change(&mut asked);
        launch(&self.program, &self.memory, &asked, observation)
    }

    pub(crate) fn try_run(
        &self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        arguments: &[Argument],
    ) -> Result<Executed, LaunchFailure> {
        self.launch_with(kernel, arguments, &mut (), |launch| {
            launch.grid = grid;
            launch.block = block;
        })
    }

    pub(crate) fn run(
        &self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        arguments: &[Argument],
    ) -> Executed {
        self.try_run(kernel, grid, block, arguments)
            .unwrap_or_else(|failure| panic!("{kernel}: {failure} {failure:?}"))
    }
}

/// What an observer of tests was told, as text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// Instructions issued, by site: how often, and for how many threads.
    pub(crate) issued: std::collections::BTreeMap<u32, (u64, u64)>,
    pub(crate) branches: Vec<(u32, u32, u32)>,
    pub(crate) barriers: Vec<(u32, u64)>,
    pub(crate) warp_barriers: Vec<u32>,
    pub(crate) misuses: Vec<(u32, Misuse)>,
    pub(crate) undefined: Vec<(u32, u32)>,
    pub(crate) blocks: Vec<(u64, &'static str)>,
    pub(crate) requests: u64,
}

/// Watches everything.
#[derive(Debug, Default)]
pub(crate) struct Watch(Mutex<Log>);

impl Watch {
    /// Returns what was seen.
    pub(crate) fn log(self) -> Log {
        self.0.into_inner().expect("no launch panicked")
    }
}

/// One run of blocks.
#[derive(Debug, Default)]
pub(crate) struct Watcher(Log);

impl Observation for Watch {
    type Observer = Watcher;

    fn run_of_blocks(&self) -> u64 {
        4
    }

    fn begin(&self, _: u64) -> Watcher {
        Watcher::default()
    }

    fn end(&self, Watcher(log): Watcher) {
        let mut all = self.0.lock().expect("no launch panicked");
        for (site, (warps, threads)) in log.issued {
            let entry = all.issued.entry(site).or_default();
            entry.0 += warps;
            entry.1 += threads;
        }
        all.branches.extend(log.branches);
        all.barriers.extend(log.barriers);
        all.warp_barriers.extend(log.warp_barriers);
        all.misuses.extend(log.misuses);
        all.undefined.extend(log.undefined);
        all.blocks.extend(log.blocks);
        all.requests += log.requests;
    }
}

use simt::observe::{Access, At, Misuse, Observer};

impl Observer for Watcher {
    const ISSUES: bool = true;
    const ACCESSES: bool = true;
    const BRANCHES: bool = true;
    const SYNCHRONISATION: bool = true;
    const REGISTERS: bool = true;

    fn block_begins(&mut self, block: u64, _: u32) {
        self.0.blocks.push((block, "begins"));
    }
    fn block_ends(&mut self, block: u64) {
        self.0.blocks.push((block, "ends"));
    }
    fn issue(&mut self, at: At, active: u32) {
        let entry = self.0.issued.entry(at.site().0).or_default();
        entry.0 += 1;
        entry.1 += u64::from(active.count_ones());
    }
    fn access(&mut self, _: At, _: &Access<'_>) {
        self.0.requests += 1;
    }
    fn branch(&mut self, at: At, jump: u32, go_on: u32) {
        self.0.branches.push((at.site().0, jump, go_on));
    }
    fn barrier(&mut self, _: At, barrier: u32, warps: u64) {
        self.0.barriers.push((barrier, warps));
    }
    fn warp_barrier(&mut self, _: At, lanes: u32) {
        self.0.warp_barriers.push(lanes);
    }
    fn undefined(&mut self, at: At, lanes: u32) {
        self.0.undefined.push((at.site().0, lanes));
    }
    fn misuse(&mut self, at: At, misuse: Misuse) {
        self.0.misuses.push((at.site().0, misuse));
    }
}

impl Bench {
    /// Runs one block and tells what was seen.
    pub(crate) fn watch(&self, kernel: &str, threads: u32, arguments: &[Argument]) -> Log {
        let mut watch = Watch::default();
        self.launch_with(kernel, arguments, &mut watch, |launch| launch.block = [threads, 1, 1])
            .unwrap_or_else(|failure| panic!("{kernel}: {failure} {failure:?}"));
        watch.log()
    }

    /// How often warps issued the instruction of an opcode, of which the program has just one.
    pub(crate) fn issued(&self, log: &Log, opcode: &str) -> (u64, u64) {
        let mut sites = self.program.sites().iter().zip(0..).filter(|(site, _)| &*site.opcode == opcode);
        let (_, site) = sites.next().unwrap_or_else(|| panic!("no {opcode}"));
        assert!(sites.next().is_none(), "several {opcode}");
        log.issued.get(&site).copied().unwrap_or_default()
    }

    /// Runs a kernel of one block whose only parameter is an array of results, one a thread.
    pub(crate) fn results(&self, kernel: &str, threads: u32) -> Vec<u32> {
        let array = self.upload(&vec![0xDEAD_BEEFu32; threads as usize]);
        self.run(kernel, [1; 3], [threads, 1, 1], &[array.into()]);
        self.download(array, threads as usize)
    }
}

/// A kernel that computes `%r0` from `%r1`, the thread's number, and stores it. `%r`, `%rd`, `%f` and `%p` are there.
pub(crate) fn kernel(name: &str, declarations: &str, body: &str) -> String {
    format!(
        ".visible .entry {name}(.param .u64 out)
{{
	.reg .pred %p<10>;
	.reg .b16 %h<10>;
	.reg .b32 %r<40>;
	.reg .f32 %f<10>;
	.reg .b64 %rd<20>;
{declarations}
	mov.u32 %r1, %tid.x;
{body}
	ld.param.u64 %rd0, [out];
	mad.wide.u32 %rd0, %r1, 4, %rd0;
	st.global.u32 [%rd0], %r0;
	ret;
}}
"
    )
}
