//! The kernels that benches execute, and how they are launched.

use simt::coalescing::ComputeCapability;
use simt::exec::{Executed, Launch, Machine, Program, Tier};
use simt::memory::{Kind, Memory};
use simt::ptx;

pub(crate) const KERNELS: &str = include_str!("../kernels.ptx");

/// Threads a launch.
pub(crate) const THREADS: u32 = 1 << 20;

const CAPABILITY: ComputeCapability = ComputeCapability { major: 9, minor: 0 };

pub(crate) const BLOCKS: u32 = THREADS / 256;
pub(crate) const BLOCK: [u32; 3] = [256, 1, 1];

/// The loaded kernels, and two arrays that they work on.
pub(crate) struct Setting {
    pub(crate) memory: Memory,
    pub(crate) program: Program,
    arrays: [u64; 2],
}

impl Setting {
    /// Loads the kernels. `checked` says whether the memory tells which of its bytes are initialised.
    pub(crate) fn new(checked: bool) -> Self {
        let memory = Memory::new(4 << 30).expect("address space");
        memory.track_initialisation(checked);
        let module = ptx::parse(KERNELS).expect("PTX");
        let program = Program::load(module, &memory).expect("it loads");
        if std::env::var_os("COALESCE_TIER").is_none() {
            program.set_tier(Tier::Compiled);
        }
        let bytes = u64::from(THREADS) * 4 * 33;
        let arrays = [(); 2].map(|()| {
            let address = memory.allocate(bytes, Kind::Device).expect("memory");
            memory.fill(address, &[0, 0, 0x80, 0x3F], bytes / 4).expect("it was just allocated");
            address
        });
        Self { memory, program, arrays }
    }

    /// Executes the kernel once; returns its thread instructions.
    pub(crate) fn run(
        &self,
        kernel: &str,
        step: u32,
        (blocks, workers): (u32, usize),
        execute: impl FnOnce(&Launch<'_>) -> Executed,
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
            grid: [blocks, 1, 1],
            block: BLOCK,
            cluster: None,
            dynamic_shared_bytes: 0,
            parameters: &parameters,
            stack_bytes: 1024,
            machine: Machine {
                multiprocessors: 132,
                capability: CAPABILITY,
                clock_ghz: 1.98,
                resident_blocks: 1056,
                shared_bytes_per_block: 227 << 10,
                blocks_per_cluster: 8,
            },
            workers,
            instruction_limit: None,
            patience: None,
            cooperative: false,
        };
        execute(&asked).thread_instructions
    }
}
