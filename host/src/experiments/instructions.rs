//! `instructions`: latency and throughput of classes of instructions. The kernels and what to expect of them are in gpu-kernels'
//! `unchecked/instructions.rs`.

mod classes;
mod reference;

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, Moment, Observe, Place, Point, Request, Scale,
    Shape, Work, articles, findings,
};
use crate::device::{Backend, DeviceInfo};
use anyhow::Result;
use classes::{KERNELS, QUICK};
use gpu_kernels::unchecked::instructions::{CHAINS, MOST_THREADS};
use record::{CYCLES, Operation, Operations, PER_CLOCK, Parameters, Record};
use report::{Article, Picture};
use serde_json::json;

/// Chains of instructions.
pub(super) struct Instructions;

/// A kernel, and how its result is checked.
struct Kernel {
    info: KernelInfo,
    /// What it measures.
    of: Measured,
    /// Instructions that the chains of a thread take together per round.
    per_round: u32,
    /// Seeds and results of these threads, whose chains go through `passes * rounds` rounds.
    buffers: fn(u64, Loops) -> [Buffer; 2],
    work: fn(Loops) -> Work,
}

/// What a kernel measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measured {
    /// The latency: a chain per thread, and a warp alone.
    Latency,
    /// The time of a barrier, by the warps of a block if it is the block's.
    Barrier,
    /// The throughput: several chains per thread, and a block per SM.
    Throughput,
}

impl Measured {
    /// Chains of a thread.
    const fn chains(self) -> usize {
        match self {
            Measured::Latency | Measured::Barrier => 1,
            Measured::Throughput => CHAINS,
        }
    }
}

/// How often a kernel repeats the steps of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Loops {
    rounds: u32,
    passes: u32,
}

impl Loops {
    /// Two passes of a chain on a GPU, of which the second finds its instructions in the cache; a simulated card has no such cache.
    ///
    /// One pass of many warps: a warp reads the clock behind a barrier before the others have arrived there, and on an H200 the first
    /// of 32 arrives 64000 clocks before the last.
    fn of(measured: Measured, scale: Scale, device: &DeviceInfo) -> Loops {
        match (scale, device.backend(), measured) {
            (Scale::Small, ..) => Loops { rounds: 1, passes: 2 },
            (_, Backend::Modelled, _) => Loops { rounds: 8, passes: 1 },
            (_, Backend::Measured, Measured::Throughput) => Loops { rounds: 128, passes: 1 },
            (_, Backend::Measured, _) => Loops { rounds: 64, passes: 2 },
        }
    }

    /// Rounds of a launch.
    fn all(self) -> u32 {
        self.rounds * self.passes
    }
}

/// Threads of a warp.
const WARP: u32 = 32;

/// Threads of the blocks whose barriers are timed.
const BARRIERS: [u32; 3] = [32, 256, 1024];

impl Experiment for Instructions {
    fn name(&self) -> &'static str {
        "instructions"
    }

    fn summary(&self) -> &'static str {
        "latency and throughput of instructions: arithmetic, conversions, shuffles, votes, barriers"
    }

    fn reading(&self) -> &'static str {
        "`chain_*` is one warp with one chain: `cycles` is the latency of an instruction. `rate_*` fills all SMs with independent \
         chains: `per clock and SM` counts instructions of threads, so 128 is four warps. On a GPU both are by the SM's own clock; \
         on a simulated card they are what the model has for the instruction, and it has none for barriers."
    }

    fn module(&self) -> &'static str {
        "unchecked/instructions"
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::CHASING_HOPPER, articles::DISSECTING_VOLTA]
    }

    fn picture(&self) -> Picture {
        Picture::Bars { by: &["block"] }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::instructions::instructions
    }

    fn options(&self) -> &'static [&'static str] {
        &[]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        KERNELS.iter().map(|kernel| kernel.info).collect()
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        let quick = request.scale == Scale::Quick && request.kernels.is_empty();
        let wanted = |kernel: &&Kernel| match quick {
            true => QUICK.iter().any(|class| class_of(kernel.info.name) == *class),
            false => request.wants(kernel.info.name),
        };
        let mut points = Vec::new();
        for kernel in KERNELS.iter().filter(wanted) {
            let loops = Loops::of(kernel.of, request.scale, device);
            points.extend(
                shapes(kernel, request.scale, device).map(|shape| point(kernel, shape, loops, device)),
            );
        }
        Ok(points)
    }
}

/// The class that a kernel's name ends with.
fn class_of(kernel: &str) -> &str {
    kernel.split_once('_').map_or(kernel, |(_, class)| class)
}

/// The shapes that a kernel is launched in.
fn shapes(kernel: &Kernel, scale: Scale, device: &DeviceInfo) -> impl Iterator<Item = Shape> {
    let most = MOST_THREADS.min(device.max_threads_per_block);
    let of_warp = kernel.info.name == "chain_warp_barrier";
    let (grid, blocks) = match (kernel.of, scale) {
        (Measured::Latency, _) => (1, vec![WARP]),
        (Measured::Barrier, _) if of_warp => (1, vec![WARP]),
        (Measured::Barrier, _) => (1, BARRIERS.into_iter().filter(|threads| *threads <= most).collect()),
        // In a check a few warps are all that there is.
        (Measured::Throughput, Scale::Small) => (2, vec![2 * WARP]),
        (Measured::Throughput, _) => (device.multiprocessors, vec![most / WARP * WARP]),
    };
    blocks.into_iter().map(move |block| Shape::linear(grid, block))
}

fn point(kernel: &Kernel, shape: Shape, loops: Loops, device: &DeviceInfo) -> Point {
    let (blocks, block) = (shape.blocks() as usize, shape.block_threads() as usize);
    let threads = (blocks * block) as u64;
    let instructions = u64::from(loops.all()) * u64::from(kernel.per_round);
    let operations = match kernel.of {
        Measured::Latency => Operations { kind: Operation::Dependent, count: instructions },
        Measured::Barrier => Operations { kind: Operation::Barrier, count: instructions },
        Measured::Throughput => Operations { kind: Operation::Instruction, count: instructions * threads },
    };
    let [seeds, results] = (kernel.buffers)(threads, loops);
    let bytes = seeds.bytes;
    let cycles = Buffer {
        bytes: 4 * threads,
        place: Place::Device,
        before: Contents::Poison,
        after: super::latency::timed(),
    };
    let written = results.bytes + cycles.bytes;
    let point = Point::new(Instructions.name(), shape, (kernel.work)(loops));
    // Of each thread, in the pass that the kernel times.
    let timed = f64::from(loops.rounds) * f64::from(kernel.per_round);
    Point {
        parameters: Parameters { bytes, elements: threads, ..point.parameters },
        bytes: BytesMoved { read: bytes, written, footprint: bytes + written },
        operations: Some(operations),
        buffers: vec![seeds, results, cycles],
        observe: (device.backend() == Backend::Measured).then(|| observe(kernel.of, [blocks, block], timed)),
        ..point
    }
}

/// The clock cycles of an instruction, or the instructions per clock: by the slowest thread of each block, and the median block.
fn observe(of: Measured, [blocks, block]: [usize; 2], timed: f64) -> Box<Observe> {
    Box::new(move |moment, buffers| {
        if moment == Moment::Before {
            return Ok(Default::default());
        }
        let cycles = buffers.contents::<u32>(2, blocks * block)?;
        let longest = cycles.chunks(block).map(|cycles| cycles.iter().copied().max().unwrap_or(0));
        let mut longest: Vec<u32> = longest.collect();
        longest.sort_unstable();
        let clocks = f64::from(longest[longest.len() / 2]);
        Ok(match of {
            Measured::Latency | Measured::Barrier => [(CYCLES.to_string(), json!(clocks / timed))].into(),
            Measured::Throughput => [(PER_CLOCK.to_string(), json!(timed * block as f64 / clocks))].into(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        device::tests::{c870, h200},
        experiments,
    };

    fn points(scale: Scale, kernels: &[&str], device: &DeviceInfo) -> Vec<Point> {
        let request = Request { scale, ..experiments::tests::naming(kernels) };
        Instructions.points(&request, device).expect("it is a valid request")
    }

    #[test]
    fn each_class_has_a_chain_and_a_rate() {
        let names: Vec<&str> = KERNELS.iter().map(|kernel| kernel.info.name).collect();
        let [chains, rates] = ["chain_", "rate_"]
            .map(|kind| names.iter().filter_map(|name| name.strip_prefix(kind)).collect::<Vec<_>>());
        assert_eq!((chains.len(), rates.len()), (33, 31));
        let without: Vec<&&str> = chains.iter().filter(|class| !rates.contains(class)).collect();
        assert_eq!(without, [&"barrier", &"warp_barrier"]);
        assert!(QUICK.iter().all(|class| chains.contains(class)), "{QUICK:?}");
        // Nine classes, of which the barrier has three points and no rate.
        assert_eq!(points(Scale::Quick, &[], &h200()).len(), 8 * 2 + 3);
        assert_eq!(points(Scale::Full, &[], &h200()).len(), 31 * 2 + 1 + 3);
        assert_eq!(points(Scale::Quick, &["rate_vote"], &h200()).len(), 1);
    }

    #[test]
    fn instructions_are_those_of_a_chain_or_of_all_threads() {
        let of = |kernel: &str| {
            let [point] = &points(Scale::Full, &[kernel], &h200())[..] else { panic!("{kernel}: one point") };
            (point.shape, point.operations.expect("it counts instructions"))
        };
        // Two passes of 64 rounds of 128 steps, or one of 128.
        let (shape, chain) = of("chain_fma_f32");
        assert_eq!(
            (shape, chain),
            (Shape::linear(1, 32), Operations { kind: Operation::Dependent, count: 16384 })
        );
        let (shape, rate) = of("rate_fma_f32");
        let count = 16384 * 132 * 1024;
        assert_eq!(
            (shape, rate),
            (Shape::linear(132, 1024), Operations { kind: Operation::Instruction, count })
        );
        // 16 steps of 32 votes per round.
        assert_eq!(of("chain_vote").1.count, 128 * 16 * 32);
        let barriers = points(Scale::Full, &["chain_barrier"], &h200());
        let blocks: Vec<u64> = barriers.iter().map(|point| point.shape.block_threads()).collect();
        assert_eq!(blocks, [32, 256, 1024]);
        assert_eq!(points(Scale::Full, &["chain_barrier"], &c870()).len(), 2);
        assert_eq!(points(Scale::Full, &["rate_popc"], &c870())[0].shape.block_threads(), 512);
    }
}
