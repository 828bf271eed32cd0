//! How fast kernels are executed: thread instructions a second, bounds checks always on.
//!
//! `cargo bench -p simt --bench execution`. The figures to reach, on one core with AVX2: 1.0 G/s on `saxpy` with an
//! observer, 0.5 G/s at stride 32; two workers 1.8 times one.

use divan::Bencher;
use divan::counter::ItemsCount;
use simt::coalescing::{self, Coalescer, ComputeCapability};
use simt::exec::{Launch, Machine, Program, launch};
use simt::memory::{Kind, Memory};
use simt::observe::{Access, At, Observation, Observer, Operation, Space};
use simt::ptx;

fn main() {
    divan::main();
}

const KERNELS: &str = include_str!("kernels.ptx");

/// Threads a launch.
const THREADS: u32 = 1 << 20;

/// Counts what the counters of a launch need at least: instructions, requests, sectors.
struct Tally {
    rules: Coalescer,
    instructions: u64,
    requests: u64,
    sectors: u64,
}

impl Observer for Tally {
    const ISSUES: bool = true;
    const ACCESSES: bool = true;

    fn issue(&mut self, _: At, _: u32) {
        self.instructions += 1;
    }

    fn access(&mut self, _: At, access: &Access<'_>) {
        if access.space == Space::Global {
            let request = coalescing::Request {
                addresses: access.addresses,
                active: access.active,
                bytes: access.bytes,
                access: match access.operation {
                    Operation::Load => coalescing::Access::Load,
                    _ => coalescing::Access::Store,
                },
            };
            let traffic = self.rules.traffic(&request);
            self.requests += u64::from(traffic.requests);
            self.sectors += u64::from(traffic.sectors);
        }
    }
}

/// Sums up the tallies.
#[derive(Default)]
struct Tallies {
    instructions: u64,
    requests: u64,
    sectors: u64,
}

const CAPABILITY: ComputeCapability = ComputeCapability { major: 9, minor: 0 };

impl Observation for Tallies {
    type Observer = Tally;

    fn run_of_blocks(&self) -> u64 {
        16
    }

    fn begin(&self, _: u64) -> Tally {
        Tally { rules: Coalescer::new(CAPABILITY), instructions: 0, requests: 0, sectors: 0 }
    }

    fn end(&mut self, observer: Tally) {
        self.instructions += observer.instructions;
        self.requests += observer.requests;
        self.sectors += observer.sectors;
    }
}

struct Setting {
    memory: Memory,
    program: Program,
    arrays: [u64; 2],
}

impl Setting {
    fn new() -> Self {
        let memory = Memory::new(4 << 30).expect("address space");
        let program = Program::load(ptx::parse(KERNELS).expect("PTX"), &memory).expect("it loads");
        let bytes = u64::from(THREADS) * 4 * 33;
        let arrays = [(); 2].map(|()| {
            let address = memory.allocate(bytes, Kind::Device).expect("memory");
            memory.fill(address, &[0, 0, 0x80, 0x3F], bytes / 4).expect("it was just allocated");
            address
        });
        Self { memory, program, arrays }
    }

    /// Executes the kernel once; gives back its thread instructions.
    fn run<O: Observation + Send + Sync>(
        &self,
        kernel: &str,
        step: u32,
        workers: usize,
        observation: &mut O,
    ) -> u64 {
        let kernel = self.program.kernel(kernel).expect("the kernel");
        let mut parameters = Vec::new();
        parameters.extend(self.arrays[0].to_le_bytes());
        parameters.extend(self.arrays[1].to_le_bytes());
        parameters.extend(2.5f32.to_le_bytes());
        parameters.extend(step.to_le_bytes());
        parameters.extend(u64::from(THREADS).to_le_bytes());
        let asked = Launch {
            kernel,
            grid: [THREADS / 256, 1, 1],
            block: [256, 1, 1],
            cluster: [1; 3],
            dynamic_shared_bytes: 0,
            parameters: &parameters,
            stack_bytes: 1024,
            machine: Machine {
                multiprocessors: 132,
                capability: CAPABILITY,
                clock_ghz: 1.98,
                resident_blocks: 1056,
                shared_bytes_per_block: 227 << 10,
            },
            workers,
            instruction_limit: None,
        };
        launch(&self.program, &self.memory, &asked, observation).expect("it runs").thread_instructions
    }
}

fn bench(bencher: Bencher<'_, '_>, kernel: &str, step: u32, workers: usize, observed: bool) {
    let setting = Setting::new();
    let run = || match observed {
        true => setting.run(kernel, step, workers, &mut Tallies::default()),
        false => setting.run(kernel, step, workers, &mut ()),
    };
    let instructions = run();
    bencher.counter(ItemsCount::new(instructions)).bench_local(run);
}

#[divan::bench(args = [1, 2], sample_count = 10, sample_size = 1)]
fn saxpy(bencher: Bencher<'_, '_>, workers: usize) {
    bench(bencher, "saxpy", 1, workers, false);
}

#[divan::bench(args = [1, 2], sample_count = 10, sample_size = 1)]
fn saxpy_observed(bencher: Bencher<'_, '_>, workers: usize) {
    bench(bencher, "saxpy", 1, workers, true);
}

#[divan::bench(args = [1, 2], sample_count = 10, sample_size = 1)]
fn stride_32(bencher: Bencher<'_, '_>, workers: usize) {
    bench(bencher, "stride", 32, workers, false);
}

#[divan::bench(args = [1, 2], sample_count = 10, sample_size = 1)]
fn stride_32_observed(bencher: Bencher<'_, '_>, workers: usize) {
    bench(bencher, "stride", 32, workers, true);
}

#[divan::bench(args = [1, 2], sample_count = 5, sample_size = 1)]
fn arithmetic_loop(bencher: Bencher<'_, '_>, workers: usize) {
    bench(bencher, "arithmetic", 100, workers, false);
}

#[divan::bench(args = [1, 2], sample_count = 10, sample_size = 1)]
fn barriers(bencher: Bencher<'_, '_>, workers: usize) {
    bench(bencher, "reduction", 1, workers, false);
}

#[divan::bench(args = [1, 2], sample_count = 10, sample_size = 1)]
fn divergence(bencher: Bencher<'_, '_>, workers: usize) {
    bench(bencher, "divergent", 1, workers, false);
}
