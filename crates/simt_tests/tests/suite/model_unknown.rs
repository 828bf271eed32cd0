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
    let time = LaunchTime { seconds: 100e-6, ..LaunchTime::new(&Default::default(), &card) };
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
fn the_network_between_the_blocks_of_a_cluster_is_unknown() {
    let requests = |others: u64| {
        move |counters: &mut LaunchCounters| {
            counters.total.shared_loads.requests = 60;
            counters.total.loads.requests = 40;
            counters.cluster_requests = others;
        }
    };
    assert_eq!(unknown("h200", &[("ld.shared::cluster.u32", 60)], requests(10)), None);
    assert_eq!(
        unknown("h200", &[("ld.shared::cluster.u32", 60)], requests(11)).as_deref(),
        Some(
            "no modelled time: blocks access each other's shared memory, and the network between them is not modelled"
        )
    );
}
