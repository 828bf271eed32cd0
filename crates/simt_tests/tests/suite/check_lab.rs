//! Runs kernels under the checks, as a driver would.
use std::sync::OnceLock;

use cuda_builder::{CudaBuilder, NvvmArch};
use simt::cards::{BlockShape, Occupancy, find};
use simt::check::{self, Check, Checks, Finding, Place, Positions, Shape, Watch};
use simt::coalescing::ComputeCapability;
use simt::count::{CounterObservation, L2State, LaunchShape, SiteFacts};
use simt::exec::{Launch, LaunchFailure, Machine, Program, Tier};
use simt::memory::{Kind, Memory};
use simt::observe::Site;
use std::sync::Arc;

/// A device with a module on it.
pub(crate) struct Lab {
    pub(crate) memory: Memory,
    program: Program,
    positions: Positions,
    checks: Checks,
    workers: usize,
}

/// A parameter of a kernel.
#[derive(Clone, Copy)]
pub(crate) enum Value {
    Word(u32),
    Long(u64),
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Long(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Word(value)
    }
}

impl From<f32> for Value {
    fn from(value: f32) -> Self {
        Self::Word(value.to_bits())
    }
}

impl Lab {
    pub(crate) fn new(ptx: &str, checks: Checks) -> Self {
        let module = simt::ptx::parse(ptx).unwrap();
        let memory = Memory::new(256 << 20).unwrap();
        memory.track_initialisation(checks.initcheck);
        let positions = Positions::new(&module);
        let program = Program::load(module, &memory).unwrap();
        Self { memory, program, positions, checks, workers: 1 }
    }

    pub(crate) fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    pub(crate) fn tier(self, tier: Tier) -> Self {
        self.program.set_tier(tier);
        self
    }

    /// Says why kernels could not be compiled.
    pub(crate) fn not_compiled(&self) -> Vec<(&str, String)> {
        self.program.not_compiled()
    }

    /// Device memory with nothing in it.
    pub(crate) fn empty(&self, bytes: u64) -> u64 {
        self.memory.allocate(bytes, Kind::Device).unwrap()
    }

    /// Device memory with zeros in it.
    pub(crate) fn zeros(&self, bytes: u64) -> u64 {
        let address = self.empty(bytes);
        self.memory.write(address, &vec![0; bytes as usize]).unwrap();
        address
    }

    /// Launches, in blocks of 64 threads, and says what the checks and the launch itself found.
    pub(crate) fn launch(&self, kernel: &str, blocks: u32, parameters: &[Value]) -> Vec<Finding> {
        self.launch_shape(kernel, Shape { grid: [blocks, 1, 1], block: [64, 1, 1] }, 0, parameters)
    }

    pub(crate) fn launch_shape(
        &self,
        kernel: &str,
        shape: Shape,
        dynamic: u32,
        parameters: &[Value],
    ) -> Vec<Finding> {
        let name = kernel;
        let kernel = self.program.kernel(name).unwrap();
        assert_eq!(kernel.parameters.len(), parameters.len(), "{name}");
        let mut bytes = vec![0; kernel.parameter_bytes as usize];
        for (layout, value) in kernel.parameters.iter().zip(parameters) {
            let value = match value {
                Value::Word(value) => value.to_le_bytes().to_vec(),
                Value::Long(value) => value.to_le_bytes().to_vec(),
            };
            assert_eq!(layout.bytes as usize, value.len(), "{name}");
            bytes[layout.offset as usize..][..value.len()].copy_from_slice(&value);
        }
        let machine = Machine {
            multiprocessors: 132,
            capability: ComputeCapability { major: 9, minor: 0 },
            clock_ghz: 1.98,
            resident_blocks: 132 * 32,
            shared_bytes_per_block: 227 << 10,
            blocks_per_cluster: 8,
        };
        let launch = Launch {
            kernel,
            grid: shape.grid,
            block: shape.block,
            cluster: None,
            dynamic_shared_bytes: dynamic,
            parameters: &bytes,
            stack_bytes: 1024,
            machine,
            workers: self.workers,
            instruction_limit: Some(100_000_000),
            patience: None,
            cooperative: false,
        };
        let place = |site| self.place(site);
        let card = find("h200").unwrap();
        let threads =
            BlockShape { threads: shape.block.iter().product(), registers: 16, shared_bytes: dynamic };
        let occupancy = Occupancy::new(&card.limits(), threads).unwrap();
        let counted = LaunchShape::new(
            shape.grid,
            shape.block,
            occupancy,
            Arc::new(SiteFacts::of(self.program.sites())),
        );
        let mut counters = CounterObservation::new(counted, L2State::new(card));
        let watch = Watch { checks: self.checks, kernel: name, place: &place };
        let (outcome, mut findings) =
            check::launch(&self.program, &self.memory, &launch, &mut counters, &watch);
        match outcome {
            Ok(_) => {}
            Err(LaunchFailure::Fault { fault, .. }) => {
                findings.push(Finding::of_fault(&fault, name, Some(self.place(fault.site))));
            }
            Err(failure) => panic!("{name}: {failure}"),
        }
        findings
    }

    pub(crate) fn place(&self, site: Site) -> Place {
        self.positions.place(&self.program.sites()[site.0 as usize])
    }
}

/// The PTX of the kernels in `faulty`, compiled once.
pub(crate) fn faulty() -> &'static str {
    static PTX: OnceLock<String> = OnceLock::new();
    PTX.get_or_init(|| {
        let build = CudaBuilder::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faulty"))
            .arch(NvvmArch::Compute75)
            // Where the host's build script keeps it too: `core` is compiled once for both.
            .target_dir(concat!(env!("CARGO_TARGET_TMPDIR"), "/../cuda-builder"))
            .build_all()
            .unwrap_or_else(|error| panic!("the faulty kernels did not become PTX: {error}"));
        std::fs::read_to_string(&build.artifacts[0].ptx).unwrap()
    })
}

/// A device with the faulty kernels, under one check.
pub(crate) fn lab(check: Check) -> Lab {
    Lab::new(faulty(), check.into())
}

/// A device with the faulty kernels, under all checks.
pub(crate) fn all() -> Lab {
    Lab::new(faulty(), Checks::ALL)
}

pub(crate) fn assert_clean(findings: &[Finding], kernel: &str) {
    let texts: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(texts.is_empty(), "{kernel}:\n{}", texts.join("\n"));
}

/// Two blocks of 64 threads with an element each, of four bytes.
pub(crate) const BYTES: u64 = 512;

/// A finding's words without the lines of libraries that they name.
pub(crate) fn short(finding: &Finding) -> String {
    let text = finding.to_string();
    text.lines().filter(|line| !line.starts_with("        by way of ")).collect::<Vec<_>>().join("\n")
}
