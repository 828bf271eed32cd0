//! A simulated multiprocessor takes as long as its instructions, waits and barriers say.

use simt::cards::{BlockShape, Card, Occupancy, find};
use simt::count::{self, CounterObservation, Finished, L2State, LaunchShape, SiteFacts};
use simt::exec::{Launch, Machine, Program, Tier};
use simt::memory::{Kind, Memory};
use simt::multiprocessor::Simulated;
use std::sync::Arc;

/// Kernels of one pointer. `chain_N` computes N dependent products; `both` waits for two loads together, `follow` for one after the
/// other; `long_and_short` has a warp that computes 1000 products before a barrier, and others that do not; `stream` adds in place, and
/// all blocks of `same` load what the first one loads; `twice_N` loads N lines of 128 bytes two times over. Past L1 each warp of `one_word`
/// loads the first word, and of `own_words` a word of its block, both beside its data.
fn kernels() -> String {
    let chain = |name: &str, products: usize| {
        let product = "fma.rn.f32 %f0, %f0, %f1, %f1;\n".repeat(products);
        entry(
            name,
            &format!("mov.f32 %f1, 0f3F000000;\nmov.f32 %f0, %f1;\n{product}st.global.f32 [%a0], %f0;"),
        )
    };
    let long = "fma.rn.f32 %f0, %f0, %f1, %f1;\n".repeat(1000);
    let both = "ld.global.u64 %a1, [%a0];\nld.global.u64 %a2, [%a0+4096];\n\
                add.u64 %a3, %a1, %a2;\nst.global.u64 [%a0+8192], %a3;";
    let follow = "ld.global.u64 %a1, [%a0];\nadd.u64 %a2, %a0, %a1;\nld.global.u64 %a3, [%a2+4096];\n\
                  st.global.u64 [%a0+8192], %a3;";
    let waits = format!(
        "mov.u32 %r0, %tid.x;\nmov.f32 %f1, 0f3F000000;\nmov.f32 %f0, %f1;\nsetp.ge.u32 %p0, %r0, 32;\n\
         @%p0 bra MEET;\n{long}MEET:\nbar.sync 0;\nst.global.f32 [%a0], %f0;"
    );
    let stream = "mov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %tid.x;\nmad.lo.u32 %r0, %r0, 256, %r1;\n\
                  mad.wide.u32 %a1, %r0, 4, %a0;\nld.global.f32 %f0, [%a1];\nadd.rn.f32 %f0, %f0, 0f3F800000;\n\
                  st.global.f32 [%a1], %f0;";
    let same = "mov.u32 %r1, %tid.x;\nmad.wide.u32 %a1, %r1, 4, %a0;\nld.global.f32 %f0, [%a1];\n\
                add.rn.f32 %f0, %f0, 0f3F800000;\nst.global.f32 [%a1+4096], %f0;";
    let twice = |lines: u32| {
        let body = format!(
            "mov.u32 %r1, %tid.x;\nmad.wide.u32 %a1, %r1, 4, %a0;\nmov.f32 %f1, 0f00000000;\nmov.u32 %r0, 0;\n\
             LOOP:\nrem.u32 %r1, %r0, {lines};\nmad.wide.u32 %a2, %r1, 128, %a1;\nld.global.f32 %f0, [%a2];\n\
             add.rn.f32 %f1, %f1, %f0;\nadd.u32 %r0, %r0, 1;\nsetp.lt.u32 %p0, %r0, {};\n@%p0 bra LOOP;\n\
             st.global.f32 [%a1], %f1;",
            2 * lines
        );
        entry(&format!("twice_{lines}"), &body)
    };
    let past_l1 = |place: &str| {
        format!(
            "mov.u32 %r1, %ctaid.x;\n{place}ld.volatile.global.f32 %f1, [%a1];\nmov.u32 %r0, %tid.x;\n\
             mad.lo.u32 %r0, %r1, 256, %r0;\nmad.wide.u32 %a1, %r0, 4, %a0;\nld.global.f32 %f0, [%a1+65536];\n\
             add.rn.f32 %f0, %f0, %f1;\nst.global.f32 [%a1+65536], %f0;"
        )
    };
    let object = ".shared .align 8 .b64 object;\nmbarrier.init.shared.b64 [object], 1;";
    let parts = [
        chain("chain_1000", 1000),
        chain("chain_2000", 2000),
        entry("both", both),
        entry("follow", follow),
        entry("long_and_short", &waits),
        entry("stream", stream),
        entry("same", same),
        entry("one_word", &past_l1("mov.u64 %a1, %a0;\n")),
        entry("own_words", &past_l1("mad.wide.u32 %a1, %r1, 128, %a0;\n")),
        twice(1000),
        twice(2500),
        entry("has_object", object),
    ];
    format!(".version 8.0\n.target sm_90\n.address_size 64\n{}", parts.concat())
}

fn entry(name: &str, body: &str) -> String {
    format!(
        ".visible .entry {name}(.param .u64 data)\n{{\n.reg .b64 %a<4>;\n.reg .b32 %r<2>;\n.reg .f32 %f<2>;\n.reg .pred %p<1>;\n\
         ld.param.u64 %a0, [data];\n{body}\nret;\n}}\n"
    )
}

struct Bench {
    card: Card,
    memory: Memory,
    program: Program,
    array: u64,
}

impl Bench {
    fn new() -> Self {
        let memory = Memory::new(64 << 20).unwrap();
        let program = Program::load(simt::ptx::parse(&kernels()).unwrap(), &memory).unwrap();
        let array = memory.allocate(32 << 20, Kind::Device).unwrap();
        memory.fill(array, &[0], 32 << 20).unwrap();
        Self { card: find("h200").unwrap().clone(), memory, program, array }
    }

    fn run(&self, name: &str, blocks: u32, threads: u32, records: bool) -> Finished {
        let kernel = self.program.kernel(name).unwrap();
        let block = BlockShape { threads, registers: 16, shared_bytes: 0 };
        let occupancy = Occupancy::new(&self.card.limits(), block).unwrap();
        let launched = Launch {
            kernel,
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            cluster: None,
            dynamic_shared_bytes: 0,
            parameters: &self.array.to_le_bytes(),
            stack_bytes: 1024,
            machine: Machine {
                multiprocessors: self.card.multiprocessors,
                capability: self.card.compute_capability,
                clock_ghz: self.card.clock_mhz / 1e3,
                resident_blocks: u64::from(occupancy.blocks * self.card.multiprocessors),
                shared_bytes_per_block: self.card.limits().shared_bytes_per_block,
                blocks_per_cluster: 8,
            },
            workers: 2,
            instruction_limit: Some(1 << 28),
            patience: None,
            cooperative: false,
        };
        let sites = self.program.sites();
        let shape = LaunchShape {
            records,
            ..LaunchShape::new(launched.grid, launched.block, occupancy, Arc::new(SiteFacts::of(sites)))
        };
        let mut observation = CounterObservation::new(shape, L2State::new(self.card.clone()));
        count::launch(&self.program, &self.memory, &launched, &mut observation).unwrap();
        observation.finish()
    }

    /// Simulates a launch; None if it has an instruction that the simulation does not know.
    fn simulated(&self, name: &str, blocks: u32, threads: u32) -> Option<Simulated> {
        let finished = self.run(name, blocks, threads, true);
        finished.traces.simulated(self.program.sites(), &finished.counters, 0, &self.card)
    }

    /// Clocks of the launch beside its fixed time.
    fn clocks(&self, name: &str, blocks: u32, threads: u32) -> Option<f64> {
        let time = self.simulated(name, blocks, threads)?.time;
        Some((time.seconds - time.launch) * self.card.clock_mhz * 1e6)
    }

    /// Requests of the sampled loads, and those that L1 has all data for.
    fn loads(&self, name: &str, blocks: u32, threads: u32) -> (u64, u64) {
        let loads = self.simulated(name, blocks, threads).unwrap().loads;
        (loads.requests, loads.hits)
    }
}

#[test]
fn a_dependent_product_takes_four_clocks() {
    let bench = Bench::new();
    let [short, long] = ["chain_1000", "chain_2000"].map(|name| bench.clocks(name, 1, 32).unwrap());
    assert!((long - short - 4000.0).abs() < 1.0, "{short} {long}");
    // Four schedulers, each with a warp, and each with four warps that take turns.
    let [four, sixteen] = [128, 512].map(|threads| bench.clocks("chain_2000", 1, threads).unwrap());
    assert!((four - long).abs() < 10.0 && (sixteen - long).abs() < 40.0, "{long} {four} {sixteen}");
    // Eight warps of a scheduler issue in each clock, so that twice as many take twice as long.
    let crowd = bench.clocks("chain_2000", 1, 1024).unwrap();
    assert!((crowd / long - 2.0).abs() < 0.05, "{long} {crowd}");
}

#[test]
fn loads_that_follow_one_another_wait_one_after_the_other() {
    let bench = Bench::new();
    let [both, follow] = ["both", "follow"].map(|name| bench.clocks(name, 1, 32).unwrap());
    // Device memory answers after 655 clocks, and an address is there two clocks later than another operand.
    assert!((follow - both - 655.0).abs() < 20.0, "{both} {follow}");
}

#[test]
fn warps_wait_at_a_barrier_for_the_last() {
    let bench = Bench::new();
    let alone = bench.clocks("long_and_short", 1, 32).unwrap();
    let together = bench.clocks("long_and_short", 1, 256).unwrap();
    assert!(alone > 4000.0 && (together - alone).abs() < 40.0, "{alone} {together}");
}

/// Of 150 blocks, of 3000 and of 30 000, a multiprocessor has two, 23 and 228, of which three rounds of eight are simulated and the
/// first is not counted where more follow.
#[test]
fn loads_find_in_l1_what_other_blocks_have_left() {
    let bench = Bench::new();
    let blocks = [(150, 2), (3000, 23), (30_000, 16)];
    for (launched, counted) in blocks {
        assert_eq!(bench.loads("stream", launched, 256), (8 * counted, 0), "{launched} blocks");
    }
    let hits = blocks.map(|(launched, _)| bench.loads("same", launched, 256));
    assert_eq!(hits, [(8 * 2, 8), (8 * 23, 8 * 22), (8 * 16, 8 * 16)]);
}

/// L1 holds 2016 lines.
#[test]
fn of_more_than_l1_holds_a_part_is_found_again() {
    let bench = Bench::new();
    assert_eq!(bench.loads("twice_1000", 1, 32), (2000, 1000));
    let (requests, found) = bench.loads("twice_2500", 1, 32);
    assert_eq!(requests, 5000);
    assert!((500..2000).contains(&found), "{found}");
}

#[test]
fn loads_past_l1_that_all_blocks_want_are_told_apart() {
    let bench = Bench::new();
    let loads = |name: &str| {
        let loads = bench.simulated(name, 500, 256).unwrap().loads;
        (loads.requests, loads.hottest)
    };
    // Four blocks of eight warps that load twice.
    assert_eq!(loads("one_word"), (64, 32));
    assert_eq!(loads("own_words"), (64, 0));
}

#[test]
fn rounds_of_blocks_follow_one_another() {
    let bench = Bench::new();
    // 8 blocks of 256 threads are resident on each of 132 multiprocessors.
    let [some, more] = [6, 12].map(|rounds| bench.clocks("stream", rounds * 8 * 132, 256).unwrap());
    assert!((more / some - 2.0).abs() < 0.15, "{some} {more}");
}

#[test]
fn what_is_not_recorded_or_not_known_has_no_time() {
    let bench = Bench::new();
    let finished = bench.run("stream", 264, 256, false);
    assert!(finished.traces.simulated(bench.program.sites(), &finished.counters, 0, &bench.card).is_none());
    assert!(bench.clocks("has_object", 1, 32).is_none());
    let old = find("k20x").unwrap();
    let finished = bench.run("stream", 264, 256, true);
    assert!(finished.traces.simulated(bench.program.sites(), &finished.counters, 0, &old).is_none());
}

#[test]
fn recording_changes_no_counter() {
    for tier in [Tier::Interpreted, Tier::Compiled] {
        let [plain, recorded] = [false, true].map(|records| {
            let bench = Bench::new();
            bench.program.set_tier(tier);
            let finished = bench.run("stream", 3000, 256, records);
            let mut bytes = vec![0; 3000 * 1024];
            bench.memory.read(bench.array, &mut bytes).unwrap();
            (finished.counters, bytes)
        });
        assert!(plain == recorded, "{tier:?}");
        assert_eq!(plain.1[..4], 1.0f32.to_le_bytes());
    }
}
