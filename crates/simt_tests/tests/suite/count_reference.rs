//! Random launches are counted as the plainest model of the same rules counts them.

mod model;

use crate::count_drive::{Block, launch, shape};
use model::{Expected, L2, Model};
use proptest::prelude::*;
use simt::cards::{Card, find};
use simt::coalescing::Addresses;
use simt::count::{Finished, L2State};
use simt::internals::count::MemoryCounts;
use simt::observe::{Access, Observer, Operation, Space};

const BASE: u64 = 0x7_0000_0000;

/// A memory instruction of the kernel, by how its lanes' addresses come about.
#[derive(Clone, Debug)]
struct Instruction {
    operation: Operation,
    pattern: Pattern,
    past_l1: bool,
    bytes: u32,
    mask: Mask,
}

#[derive(Clone, Copy, Debug)]
enum Pattern {
    /// Anywhere in as many bytes.
    Scattered { span: u64 },
    /// Anywhere in a few KiB of two arrays whose groups agree in the lower half of their numbers.
    FarApart,
    /// Lanes as far apart, warps one after another in as many bytes.
    Row { step: u64, span: u64 },
    /// Eight lanes side by side, anywhere in as many bytes: words that are further apart than the largest span count together.
    Eights { span: u64 },
}

#[derive(Clone, Copy, Debug)]
enum Mask {
    All,
    First(u32),
    Some,
}

fn instructions() -> impl Strategy<Value = Instruction> {
    let operations = prop::sample::select(vec![
        Operation::Load,
        Operation::Load,
        Operation::Load,
        Operation::Store,
        Operation::Atomic,
        Operation::Reduction,
    ]);
    let spans = || prop::sample::select(vec![64, 1 << 10, 3 << 10, 1 << 13, 1 << 16, 1 << 18]);
    let pattern = prop_oneof![
        4 => spans().prop_map(|span| Pattern::Scattered { span }),
        1 => Just(Pattern::FarApart),
        2 => (prop::sample::select(vec![0, 4, 8, 32, 128, 256, 1000, 4096]), spans())
            .prop_map(|(step, span)| Pattern::Row { step, span }),
        1 => spans().prop_map(|span| Pattern::Eights { span }),
    ];
    let mask =
        prop_oneof![3 => Just(Mask::All), 1 => (1..32_u32).prop_map(Mask::First), 1 => Just(Mask::Some)];
    let bytes = prop::sample::select(vec![1_u32, 2, 4, 4, 4, 8, 16]);
    (operations, pattern, prop::bool::weighted(0.2), bytes, mask).prop_map(
        |(operation, pattern, past_l1, bytes, mask)| Instruction { operation, pattern, past_l1, bytes, mask },
    )
}

/// Numbers that look random, the same for the same seed.
fn noise(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 20
    }
}

/// Returns the addresses and the active lanes of a warp's request.
fn request(instruction: &Instruction, seed: u64, warp: u64) -> (Addresses, u32) {
    let mut random = noise(seed ^ warp << 20);
    random();
    let row = random();
    let bytes = u64::from(instruction.bytes);
    let addresses = std::array::from_fn(|lane| {
        let lane = lane as u64;
        let offset = match instruction.pattern {
            Pattern::Scattered { span } => random() % span,
            Pattern::FarApart => ((random() % 2) << 42) + random() % 4096,
            Pattern::Row { step, span } => (warp * 32 + lane) * step % span,
            Pattern::Eights { span } => {
                (row.rotate_left(lane as u32 / 8 * 9) % span + lane % 8 * bytes) % span
            }
        };
        (BASE + offset) / bytes * bytes
    });
    let active = match instruction.mask {
        Mask::All => u32::MAX,
        Mask::First(lanes) => (1 << lanes) - 1,
        Mask::Some => random() as u32,
    };
    (addresses, active)
}

#[derive(Clone, Debug)]
struct Kernel {
    instructions: Vec<Instruction>,
    blocks: u64,
    warps: u32,
    times: u64,
    seed: u64,
}

impl Kernel {
    /// Calls for each access of a block, with its warp and site.
    fn accesses(&self, block: u64, mut each: impl FnMut(u32, u32, &Access<'_>)) {
        for time in 0..self.times {
            for warp in 0..self.warps {
                for (site, instruction) in (0..).zip(&self.instructions) {
                    let seed = self.seed + time * 64 + u64::from(site);
                    let number = block * u64::from(self.warps) + u64::from(warp);
                    let (addresses, active) = request(instruction, seed, number);
                    let access = Access {
                        space: Space::Global,
                        operation: instruction.operation,
                        addresses: &addresses,
                        active,
                        bytes: instruction.bytes,
                        read_only: false,
                        past_l1: instruction.past_l1,
                        strong: false,
                    };
                    each(warp, site, &access);
                }
            }
        }
    }
}

/// A card whose L2 holds as much, and on which all blocks are resident at once.
fn card(key: &str, l2_bytes: u64) -> Card {
    Card { l2_bytes, multiprocessors: 1 << 20, ..find(key).unwrap() }
}

/// What the model knows of, in the same form.
fn of_model(finished: &Finished) -> Expected {
    let counters = &finished.counters;
    let known = |counts: MemoryCounts| MemoryCounts { straddling: 0, ..counts };
    let total = counters.total;
    Expected {
        loads: known(total.loads),
        stores: known(total.stores),
        atomics: known(total.atomics),
        conflicts: [total.conflicts.addresses, total.conflicts.rounds],
        read: counters.dram_read,
        written: counters.dram_written,
        hottest: counters.hottest,
    }
}

fn compare(card: &Card, kernels: &[Kernel]) -> Result<(), TestCaseError> {
    let (mut l2, mut expected_l2) = (L2State::new(card.clone()), L2::new(card));
    for kernel in kernels {
        let shape = shape(card, kernel.blocks, kernel.warps * 32);
        let l1_bytes: u64 = if card.compute_capability.major == 9 { 256 << 10 } else { 128 << 10 };
        let resident = kernel.blocks.div_ceil(card.multiprocessors.into());
        let share = l1_bytes.max(28 << 10) / resident.clamp(1, shape.occupancy.blocks.into()) / 32;
        let part = 1 << (128 / kernel.warps).clamp(1, 64).ilog2();
        let mut model = Model::new(&mut expected_l2, share, part);
        for block in 0..kernel.blocks {
            model.begin_block(block);
            kernel.accesses(block, |warp, _, access| model.access(warp, access));
        }
        let expected = model.finish();
        let finished = launch(shape, l2, &[], |block: &mut Block<'_>| {
            kernel.accesses(block.block, |warp, site, access| {
                let at = block.at(warp, site);
                block.observer.access(at, access);
            });
        });
        prop_assert_eq!(of_model(&finished), expected, "{:?}", kernel);
        l2 = finished.l2;
    }
    Ok(())
}

fn kernels() -> impl Strategy<Value = Kernel> {
    (
        prop::collection::vec(instructions(), 1..4),
        1..40_u64,
        prop::sample::select(vec![1_u32, 2, 4, 8]),
        1..6_u64,
        any::<u32>(),
    )
        .prop_map(|(instructions, blocks, warps, times, seed)| Kernel {
            instructions,
            blocks,
            warps,
            times,
            seed: u64::from(seed),
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn launches_count_as_in_the_plainest_model(
        kernels in prop::collection::vec(kernels(), 1..4),
        key in prop::sample::select(vec!["h200", "v100"]),
        l2_kib in prop::sample::select(vec![16_u64, 64, 256, 6 << 10]),
    ) {
        compare(&card(key, l2_kib << 10), &kernels)?;
    }
}

#[test]
fn a_gather_evicts_from_l1_and_from_l2() {
    // Blocks of eight warps that load 10 times as much as they have of L1, and store it in rows.
    let load = Instruction {
        operation: Operation::Load,
        pattern: Pattern::Scattered { span: 1 << 20 },
        past_l1: false,
        bytes: 4,
        mask: Mask::All,
    };
    let store =
        Instruction { operation: Operation::Store, pattern: Pattern::Row { step: 4, span: 1 << 18 }, ..load };
    let kernel = Kernel { instructions: vec![load, store], blocks: 20, warps: 8, times: 40, seed: 1 };
    compare(&card("h200", 1 << 18), &[kernel.clone(), kernel]).unwrap();
}
