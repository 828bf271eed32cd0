//! What the model says that it does not know of a launch.

use simt::cards::find;
use simt::count::{Counts, LaunchCounters};
use simt::exec::SiteInfo;
use simt::model::{LaunchTime, Unknown};
use simt::ptx::op::Op;

/// An instruction by itself.
fn site(opcode: &str) -> SiteInfo {
    SiteInfo::alone("kernel".into(), opcode, Op::read(opcode).expect("an opcode"), 1)
}

/// What is unknown of a launch of 100 us that issues each of these instructions so often.
fn unknown(key: &str, instructions: &[(&str, u64)], change: impl Fn(&mut LaunchCounters)) -> Option<String> {
    let sites: Vec<SiteInfo> = instructions.iter().map(|(opcode, _)| site(opcode)).collect();
    let of_site = |(number, (_, issued)): (usize, &(&str, u64))| {
        let counts = Counts { instructions: *issued, ..Counts::default() };
        simt::internals::count::SiteCounts { site: number as u32, counts }
    };
    let slots =
        instructions.iter().zip(&sites).map(|((_, issued), site)| issued * u64::from(site.slots.issued));
    let mut counters = LaunchCounters {
        issue_slots: slots.sum(),
        sites: instructions.iter().enumerate().map(of_site).collect(),
        ..LaunchCounters::default()
    };
    change(&mut counters);
    let card = find(key).expect("a card");
    // Device memory takes as much of the time as sectors are read from it.
    let dram = counters.dram_read.granules as f64 * 1e-6;
    let time = LaunchTime { seconds: 100e-6, dram, ..LaunchTime::new(&Default::default(), &card) };
    Unknown::of(&counters, &sites, &time, &card).map(|unknown| unknown.to_string())
}

#[test]
fn double_precision_is_unknown_where_few_units_have_it() {
    // 2 results per clock of each of 128 SMs at 2.52 GHz: 64512 warps in 3.2 us, or a million in 49.6 us.
    let fma = |issued| [("fma.rn.f64", issued), ("ld.global.f64", 64_512)];
    assert_eq!(unknown("rtx4090", &fma(1_000_000), |_| ()), None);
    assert_eq!(
        unknown("rtx4090", &fma(2_016_000), |_| ()).as_deref(),
        Some(
            "no modelled time: double precision alone takes 0.100 ms at 2 results per clock and SM, of which nothing has been measured"
        )
    );
    assert_eq!(unknown("rtx4090", &[("fma.rn.f32", 2_016_000)], |_| ()), None);
    assert_eq!(unknown("h200", &fma(2_016_000), |_| ()), None);
    assert!(unknown("t4", &[("setp.lt.f64", 2_016_000)], |_| ()).is_some());
}

#[test]
fn tensor_cores_are_known_of_hopper_alone() {
    let product = [("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 10), ("bar.sync", 700)];
    assert_eq!(unknown("h200", &product, |_| ()), None);
    assert_eq!(
        unknown("b200", &product, |_| ()).as_deref(),
        Some("no modelled time: tensor cores of compute capability 10.0 have not been measured")
    );
    assert_eq!(unknown("b200", &[product[0], ("bar.sync", 800)], |_| ()), None);
}

#[test]
fn contested_swaps_are_unknown() {
    let swap = [("atom.global.cas.b32", 32_768), ("ld.global.b32", 32_768)];
    let hottest = |operations: u64| {
        move |counters: &mut LaunchCounters| {
            let [swaps, _] = &mut counters.sites[..] else { panic!("two sites") };
            swaps.counts.thread_instructions = 1 << 20;
            counters.total.atomics.bytes_requested = 4 << 20;
            counters.hottest.operations = operations;
        }
    };
    // A million words, of which the table counts sixteen together; and one that 100 threads more want, for 25 us of 100.
    assert_eq!(unknown("h200", &swap, hottest(32)), None);
    assert_eq!(
        unknown("h200", &swap, hottest(132)).as_deref(),
        Some(
            "no modelled time: threads contest for words by compare-and-swap, and how often they fail is not simulated"
        )
    );
    // The hottest word is that of additions.
    assert_eq!(unknown("h200", &[("atom.global.add.u32", 32_768), swap[1]], hottest(132)), None);
    // In shared memory: 264 blocks in two rounds, of 25 and of 50 threads for a word.
    let shared = |operations: u64| {
        move |counters: &mut LaunchCounters| {
            (counters.blocks, counters.resident_blocks, counters.shared_swaps) = (264, 1, 264 * operations);
        }
    };
    assert_eq!(unknown("h200", &[("atom.shared.cas.b32", 1)], shared(25)), None);
    assert!(unknown("h200", &[("atom.shared.cas.b32", 1)], shared(50)).is_some());
}

#[test]
fn the_network_between_the_blocks_of_a_cluster_is_known_of_hopper_and_not_of_atomics() {
    let requests = |others: u64| {
        move |counters: &mut LaunchCounters| {
            counters.total.shared_loads.requests = 60;
            counters.total.loads.requests = 40;
            counters.cluster_requests = others;
        }
    };
    let loads = [("ld.shared::cluster.u32", 60)];
    assert_eq!(unknown("h200", &loads, requests(60)), None);
    assert_eq!(unknown("b200", &loads, requests(10)), None);
    let why = "no modelled time: blocks access each other's shared memory by atomics or on a card whose network has not been \
               measured";
    assert_eq!(unknown("b200", &loads, requests(11)).as_deref(), Some(why));
    let atomics = [("atom.shared::cluster.add.u32", 60)];
    assert_eq!(unknown("h200", &atomics, requests(11)).as_deref(), Some(why));
    assert_eq!(unknown("h200", &atomics, requests(10)), None);
}

#[test]
fn policies_of_l2_are_unknown_where_device_memory_takes_part() {
    let of = |access: &str, fetched: u64| {
        let accesses = [(access, 12), ("ld.global.b32", 88), ("ld.shared.b32", 1000)];
        unknown("h200", &accesses, |counters| counters.dram_read.granules = fetched)
    };
    let says = "no modelled time: accesses say what L2 is to keep, whose policies are not modelled, and device memory takes part";
    assert_eq!(of("ld.global.L2::cache_hint.b32", 11).as_deref(), Some(says));
    assert_eq!(of("st.global.L2::cache_hint.b32", 11).as_deref(), Some(says));
    assert_eq!(of("ld.global.L2::cache_hint.b32", 9), None);
    assert_eq!(of("ld.global.cs.b32", 11), None);
    let few = [("ld.global.L2::cache_hint.b32", 9), ("ld.global.b32", 91)];
    assert_eq!(unknown("h200", &few, |counters| counters.dram_read.granules = 11), None);
}

#[test]
fn instructions_that_nobody_measured_are_unknown_where_they_are_many() {
    let of = |opcode: &str, others: u64| {
        let class = unknown("b200", &[(opcode, 10), ("add.s32", others)], |_| ())?;
        let class = class.strip_prefix("no modelled time: a tenth or more of the instructions are ");
        Some(class.expect("a class").trim_end_matches(", which have not been measured").to_string())
    };
    for (opcode, class) in [
        ("mul24.lo.u32", "products of 24 bits"),
        ("min.s16x2", "two integers of 16 bits at once"),
        ("fma.rn.f32x2", "two floats of 32 bits at once"),
        ("add.rn.f32.f16", "floating-point arithmetic of two precisions"),
        ("cvt.rn.f16x2.e4m3x2", "conversions of floats of 4, 6, 8 or 19 bits"),
        ("fns.b32", "`fns`"),
        ("cnot.b32", "`cnot`"),
    ] {
        assert_eq!(of(opcode, 89).as_deref(), Some(class), "{opcode}");
        assert_eq!(of(opcode, 91), None, "{opcode}");
    }
    assert_eq!([of("sad.u32", 0), of("fma.rn.f16x2", 0), of("prmt.b32", 0)], [None, None, None]);
}
