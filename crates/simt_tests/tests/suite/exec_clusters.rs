//! Clusters of several blocks: distributed shared memory, barriers across blocks, faults.

use crate::check_lab::Lab;
use crate::exec_common::{Bench, HEAD, Watch, kernel};
use simt::cards::{BlockShape, Occupancy, find};
use simt::check::{Check, Checks, FindingKind, Shape};
use simt::coalescing::ComputeCapability;
use simt::count::{CounterObservation, L2State, LaunchCounters, LaunchShape, SiteFacts};
use simt::exec::{Executed, Launch, LaunchFailure};
use simt::fault::{Fault, FaultKind};
use simt::observe::{Operation, Space};
use std::sync::Arc;

/// All threads of the cluster meet.
const MEET: &str = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";

/// Makes `%r1` the thread's number in the grid, by which the kernel stores `%r0`.
const NUMBER: &str = "mov.u32 %r38, %ctaid.x; mov.u32 %r39, %ntid.x; mad.lo.u32 %r1, %r38, %r39, %r1;";

/// Makes `%r10` the block's number, `%r11` its rank, `%r12` the cluster's size and `%r13` the next rank.
const RANKS: &str = "mov.u32 %r10, %ctaid.x;
    mov.u32 %r11, %cluster_ctarank;
    mov.u32 %r12, %cluster_nctarank;
    add.u32 %r13, %r11, 1;
    rem.u32 %r13, %r13, %r12;";

/// A kernel that knows its ranks, meets at its end and stores `%r0` by the thread's number in the grid.
fn ranked(declarations: &str, body: &str) -> String {
    kernel("k", declarations, &format!("{RANKS}\n{body}\n{MEET}\n{NUMBER}"))
}

/// Sets the shape of a launch.
fn shaped(launch: &mut Launch<'_>, blocks: u32, threads: u32, cluster: u32) {
    launch.grid = [blocks, 1, 1];
    launch.block = [threads, 1, 1];
    launch.cluster = Some([cluster, 1, 1]);
}

/// Runs a kernel on 1 and on 2 workers, and returns one result a thread, the same on both.
fn results(bench: &Bench, blocks: u32, threads: u32, cluster: u32) -> Vec<u32> {
    let count = (blocks * threads) as usize;
    let on = |workers| {
        let array = bench.upload(&vec![0xDEAD_BEEF_u32; count]);
        let outcome = bench.launch_with("k", &[array.into()], &mut (), |launch| {
            shaped(launch, blocks, threads, cluster);
            launch.workers = workers;
        });
        outcome.unwrap_or_else(|failure| panic!("{failure} {failure:?}"));
        bench.download::<u32>(array, count)
    };
    let one = on(1);
    assert_eq!(one, on(2));
    one
}

/// Runs a kernel in one cluster, which faults, and tells the fault.
fn fault(bench: &Bench, blocks: u32, threads: u32) -> Box<Fault> {
    let array = bench.upload(&vec![0u32; (blocks * threads) as usize]);
    let outcome: Result<Executed, _> =
        bench.launch_with("k", &[array.into()], &mut (), |launch| shaped(launch, blocks, threads, blocks));
    match outcome {
        Err(LaunchFailure::Fault { fault, .. }) => fault,
        other => panic!("{other:?}"),
    }
}

/// The next block of a block's cluster.
fn next(block: u32, size: u32) -> u32 {
    block / size * size + (block + 1) % size
}

/// Each block reads its neighbour's tile.
fn ring() -> String {
    ranked(
        ".shared .align 4 .b8 tile[256];",
        &format!(
            "mad.lo.u32 %r2, %r10, 1000, %r1;
             shl.b32 %r3, %r1, 2;
             mov.u32 %r4, tile;
             add.u32 %r4, %r4, %r3;
             st.shared.u32 [%r4], %r2;
             {MEET}
             mapa.shared::cluster.u32 %r5, %r4, %r13;
             ld.shared::cluster.u32 %r0, [%r5];"
        ),
    )
}

#[test]
fn a_ring_of_reads() {
    let bench = Bench::with_head(&ring());
    for size in [1, 2, 4, 8] {
        let wanted: Vec<u32> =
            (0..16 * 64).map(|thread| next(thread / 64, size) * 1000 + thread % 64).collect();
        assert_eq!(results(&bench, 16, 64, size), wanted, "{size}");
    }
}

#[test]
fn generic_addresses_of_several_blocks_in_one_instruction() {
    // Lane k reads from the block of rank k % 4, its own by the window of its rank; then lanes write back.
    let bench = Bench::with_head(&ranked(
        ".shared .align 4 .b8 tile[128];",
        &format!(
            "mad.lo.u32 %r2, %r10, 1000, %r1;
             shl.b32 %r3, %r1, 2;
             mov.u32 %r4, tile;
             add.u32 %r4, %r4, %r3;
             st.shared.u32 [%r4], %r2;
             {MEET}
             cvt.u64.u32 %rd1, %r4;
             cvta.shared.u64 %rd1, %rd1;
             rem.u32 %r6, %r1, %r12;
             mapa.u64 %rd2, %rd1, %r6;
             ld.u32 %r0, [%rd2];
             getctarank.u64 %r7, %rd2;
             mad.lo.u32 %r0, %r7, 1000000, %r0;
             isspacep.shared::cluster %p1, %rd2;
             isspacep.shared::cta %p2, %rd2;
             selp.u32 %r8, 10000000, 0, %p1;
             selp.u32 %r9, 20000000, 0, %p2;
             add.u32 %r0, %r0, %r8;
             add.u32 %r0, %r0, %r9;"
        ),
    ));
    let wanted: Vec<u32> = (0..8 * 32)
        .map(|thread| {
            let (block, lane) = (thread / 32, thread % 32);
            let rank = lane % 4;
            let spaces = if rank == block % 4 { 30_000_000 } else { 10_000_000 };
            spaces + rank * 1_000_000 + (block / 4 * 4 + rank) * 1000 + lane
        })
        .collect();
    assert_eq!(results(&bench, 8, 32, 4), wanted);
}

#[test]
fn remote_atomics_are_summed() {
    // All threads add to a word of the block of rank 0, and one of each block takes a ticket there.
    let bench = Bench::with_head(&ranked(
        ".shared .align 4 .b8 sums[8];",
        &format!(
            "setp.ne.u32 %p1, %r1, 0;
             mov.u32 %r2, sums;
             @!%p1 st.shared.u32 [%r2], 0;
             @!%p1 st.shared.u32 [%r2+4], 0;
             {MEET}
             mapa.shared::cluster.u32 %r3, %r2, 0;
             add.u32 %r4, %r1, %r10;
             red.shared::cluster.add.u32 [%r3], %r4;
             mov.b32 %r5, 0;
             @!%p1 atom.shared::cluster.add.u32 %r5, [%r3+4], 100000;
             {MEET}
             ld.shared::cluster.u32 %r6, [%r3];
             add.u32 %r0, %r6, %r5;"
        ),
    ));
    for size in [2, 4, 8] {
        let values = results(&bench, 8, 64, size);
        for (cluster, of_cluster) in (0..).zip(values.chunks((64 * size) as usize)) {
            let blocks: u32 = (cluster * size..(cluster + 1) * size).sum();
            let sum = size * (63 * 32) + 64 * blocks;
            let mut tickets = (0..size).map(|rank| of_cluster[64 * rank as usize] - sum).collect::<Vec<_>>();
            tickets.sort_unstable();
            assert_eq!(tickets, (0..size).map(|ticket| ticket * 100_000).collect::<Vec<_>>());
            assert!(of_cluster.iter().enumerate().all(|(thread, value)| thread % 64 == 0 || *value == sum));
        }
    }
}

/// A wait for phase 0 of the barrier at `%r20`.
const PHASE: &str = "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p9, [%r20], 0; @!%p9 bra WAIT;";

#[test]
fn a_multicast_arrives_in_each_block() {
    // Each block copies its part of 512 bytes to all blocks of its cluster.
    let bench = Bench::with_head(&kernel(
        "k",
        ".shared .align 16 .b8 tile[512];\n.shared .align 8 .b8 full[8];",
        &format!(
            "{RANKS}
             setp.ne.u32 %p1, %r1, 0;
             mov.u32 %r20, full;
             mov.u32 %r2, tile;
             @!%p1 mbarrier.init.shared::cta.b64 [%r20], 1;
             @!%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r20], 512;
             {MEET}
             mov.b32 %r3, 512;
             div.u32 %r3, %r3, %r12;
             mul.lo.u32 %r4, %r3, %r11;
             add.u32 %r5, %r2, %r4;
             ld.param.u64 %rd1, [out];
             cvt.u64.u32 %rd2, %r4;
             add.u64 %rd1, %rd1, %rd2;
             mov.b32 %r6, 1;
             shl.b32 %r6, %r6, %r12;
             sub.u32 %r6, %r6, 1;
             cvt.u16.u32 %h1, %r6;
             @!%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r5], [%rd1], %r3, [%r20], %h1;
             {PHASE}
             shl.b32 %r7, %r1, 2;
             add.u32 %r7, %r7, %r2;
             ld.shared.u32 %r0, [%r7];
             {MEET}
             {NUMBER}
             add.u32 %r1, %r1, 128;"
        ),
    ));
    for size in [1, 2, 4, 8] {
        let source: Vec<u32> = (0..128).map(|word| word * 7 + size).collect();
        for workers in [1, 2] {
            let array = bench.upload(&[source.clone(), vec![0; 16 * 128]].concat());
            bench
                .launch_with("k", &[array.into()], &mut (), |launch| {
                    shaped(launch, 16, 128, size);
                    launch.workers = workers;
                })
                .expect("a launch");
            let values: Vec<u32> = bench.download(array, 17 * 128);
            assert!(values.chunks(128).all(|block| block == source), "{size}");
        }
    }
}

#[test]
fn a_multicast_leaves_out_blocks_that_it_does_not_name() {
    // Rank 0 copies to ranks 1 and 3, and each block waits for its own barrier, which counts a thread in the others.
    let bench = Bench::with_head(&ranked(".shared .align 16 .b8 tile[128];\n.shared .align 8 .b8 full[8];", &format!("setp.ne.u32 %p1, %r1, 0;
             mov.u32 %r20, full;
             mov.u32 %r2, tile;
             shl.b32 %r7, %r1, 2;
             add.u32 %r7, %r7, %r2;
             st.shared.u32 [%r7], %r10;
             and.b32 %r8, %r11, 1;
             mul.lo.u32 %r8, %r8, 128;
             @!%p1 mbarrier.init.shared::cta.b64 [%r20], 1;
             @!%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r20], %r8;
             {MEET}
             ld.param.u64 %rd1, [out];
             or.b32 %r9, %r1, %r11;
             setp.eq.u32 %p2, %r9, 0;
             mov.b16 %h1, 10;
             @%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r2], [%rd1], 128, [%r20], %h1;
             {PHASE}
             ld.shared.u32 %r0, [%r7];")));
    let array = bench.upload(&vec![77_u32; 4 * 32]);
    bench.launch_with("k", &[array.into()], &mut (), |launch| shaped(launch, 4, 32, 4)).expect("a launch");
    let values: Vec<u32> = bench.download(array, 4 * 32);
    assert_eq!(values.chunks(32).map(|block| block[5]).collect::<Vec<_>>(), [0, 77, 2, 77]);
}

#[test]
fn arrivals_at_the_barrier_of_another_block() {
    // All threads of a cluster of four arrive at the barrier of rank 2, whose block waits for them.
    let bench = Bench::with_head(&ranked(
        ".shared .align 4 .b8 word[4];\n.shared .align 8 .b8 full[8];",
        &format!(
            "setp.ne.u32 %p1, %r1, 0;
             mov.u32 %r20, full;
             mov.u32 %r2, word;
             @!%p1 mbarrier.init.shared::cta.b64 [%r20], 256;
             @!%p1 st.shared.u32 [%r2], 0;
             {MEET}
             mapa.shared::cluster.u32 %r3, %r20, 2;
             mapa.shared::cluster.u32 %r4, %r2, 2;
             red.shared::cluster.add.u32 [%r4], 3;
             mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];
             setp.ne.u32 %p2, %r11, 2;
             mov.b32 %r0, 1;
             @%p2 bra END;
             {PHASE}
             ld.shared.u32 %r0, [%r2];
            END:"
        ),
    ));
    let values = results(&bench, 4, 64, 4);
    assert_eq!(values.chunks(64).map(|block| block[9]).collect::<Vec<_>>(), [1, 1, 768, 1]);
}

#[test]
fn asynchronous_stores_and_copies_to_the_next_block() {
    // A store of each thread, and a copy of 128 bytes from shared memory, both counted by the next block's barrier.
    let bench = Bench::with_head(&ranked(".shared .align 16 .b8 own[128];\n.shared .align 16 .b8 copied[128];\n.shared .align 4 .b8 stored[128];\n.shared .align 8 .b8 full[8];", &format!("setp.ne.u32 %p1, %r1, 0;
             mov.u32 %r20, full;
             shl.b32 %r2, %r1, 2;
             mov.u32 %r3, own;
             add.u32 %r3, %r3, %r2;
             mov.u32 %r4, stored;
             add.u32 %r4, %r4, %r2;
             mov.u32 %r5, copied;
             mad.lo.u32 %r6, %r10, 100, %r1;
             st.shared.u32 [%r3], %r6;
             @!%p1 mbarrier.init.shared::cta.b64 [%r20], 1;
             @!%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r20], 256;
             {MEET}
             mapa.shared::cluster.u32 %r7, %r4, %r13;
             mapa.shared::cluster.u32 %r8, %r20, %r13;
             mapa.shared::cluster.u32 %r9, %r5, %r13;
             st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r7], %r6, [%r8];
             mov.u32 %r14, own;
             @!%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r9], [%r14], 128, [%r8];
             {PHASE}
             ld.shared.u32 %r15, [%r4];
             add.u32 %r5, %r5, %r2;
             ld.shared.u32 %r16, [%r5];
             mad.lo.u32 %r0, %r15, 10000, %r16;")));
    let wanted: Vec<u32> = (0..4 * 32)
        .map(|thread| {
            let from = (0..4).find(|block| next(*block, 2) == thread / 32).expect("a block before");
            (from * 100 + thread % 32) * 10001
        })
        .collect();
    assert_eq!(results(&bench, 4, 32, 2), wanted);
}

#[test]
fn clusters_in_two_dimensions() {
    let value = |register: &str| {
        let bench = Bench::with_head(&kernel(
            "k",
            "",
            &format!(
                "mov.u32 %r0, {register};
                 mov.u32 %r2, %ctaid.y;
                 mov.u32 %r3, %ctaid.x;
                 mad.lo.u32 %r1, %r2, 4, %r3;"
            ),
        ));
        let array = bench.upload(&[0u32; 24]);
        bench
            .launch_with("k", &[array.into()], &mut (), |launch| {
                launch.grid = [4, 6, 1];
                launch.block = [1; 3];
                launch.cluster = Some([2, 3, 1]);
            })
            .expect("a launch");
        bench.download::<u32>(array, 24)
    };
    let of = |wanted: &dyn Fn(u32, u32) -> u32| {
        (0..24).map(|block| wanted(block % 4, block / 4)).collect::<Vec<_>>()
    };
    assert_eq!(value("%cluster_ctaid.x"), of(&|x, _| x % 2));
    assert_eq!(value("%cluster_ctaid.y"), of(&|_, y| y % 3));
    assert_eq!(value("%cluster_ctaid.z"), of(&|_, _| 0));
    assert_eq!(value("%cluster_nctaid.x"), of(&|_, _| 2));
    assert_eq!(value("%cluster_nctaid.y"), of(&|_, _| 3));
    assert_eq!(value("%cluster_ctarank"), of(&|x, y| x % 2 + 2 * (y % 3)));
    assert_eq!(value("%cluster_nctarank"), of(&|_, _| 6));
    assert_eq!(value("%clusterid.x"), of(&|x, _| x / 2));
    assert_eq!(value("%clusterid.y"), of(&|_, y| y / 3));
    assert_eq!(value("%nclusterid.x"), of(&|_, _| 2));
    assert_eq!(value("%nclusterid.y"), of(&|_, _| 2));
    // Each block finds the number of the block with the last rank.
    let last = Bench::with_head(&kernel(
        "k",
        ".shared .align 4 .b8 word[4];",
        &format!(
            "{RANKS}
             mov.u32 %r2, %ctaid.y;
             mad.lo.u32 %r2, %r2, 4, %r10;
             mov.u32 %r3, word;
             st.shared.u32 [%r3], %r2;
             {MEET}
             mapa.shared::cluster.u32 %r4, %r3, 5;
             ld.shared::cluster.u32 %r0, [%r4];
             {MEET}
             mov.u32 %r1, %r2;"
        ),
    ));
    for workers in [1, 2] {
        let array = last.upload(&[0u32; 24]);
        let mut watch = Watch::default();
        last.launch_with("k", &[array.into()], &mut watch, |launch| {
            launch.grid = [4, 6, 1];
            launch.block = [1; 3];
            launch.cluster = Some([2, 3, 1]);
            launch.workers = workers;
        })
        .expect("a launch");
        assert_eq!(last.download::<u32>(array, 24), of(&|x, y| (y / 3 * 3 + 2) * 4 + x / 2 * 2 + 1));
        // Observers come back in the order of blocks, whatever the clusters.
        let begun: Vec<u64> = watch
            .log()
            .blocks
            .iter()
            .filter(|(_, what)| *what == "begins")
            .map(|(block, _)| *block)
            .collect();
        assert_eq!(begun, (0..24).collect::<Vec<_>>());
    }
}

#[test]
fn clusters_are_explicit_where_the_launch_or_the_kernel_states_them() {
    let body = "mov.pred %p1, %is_explicit_cluster; selp.u32 %r0, 1, 0, %p1; mov.u32 %r2, %cluster_nctarank;
         shl.b32 %r2, %r2, 4; or.b32 %r0, %r0, %r2;";
    let text = kernel("open", "", body)
        + &kernel("pairs", "", body).replace("\n{", "\n.reqnctapercluster 2, 1, 1\n{");
    let bench = Bench::with_head(&text);
    let value = |kernel: &str, cluster| {
        let array = bench.upload(&[0u32; 32]);
        bench
            .launch_with(kernel, &[array.into()], &mut (), |launch| {
                launch.grid = [2, 1, 1];
                launch.cluster = cluster;
            })
            .expect("a launch");
        bench.download::<u32>(array, 1)[0]
    };
    assert_eq!(value("open", None), 0x10);
    assert_eq!(value("open", Some([1; 3])), 0x11);
    assert_eq!(value("open", Some([2, 1, 1])), 0x21);
    assert_eq!(value("pairs", None), 0x21);
    assert_eq!(value("pairs", Some([2, 1, 1])), 0x21);
}

#[test]
fn a_barrier_does_not_wait_for_blocks_that_have_ended() {
    // The block of rank 1 ends at once, and half of each other block's warps.
    let bench = Bench::with_head(&kernel(
        "k",
        "",
        &format!(
            "{RANKS}
             mov.b32 %r0, 5;
             setp.eq.u32 %p1, %r11, 1;
             @%p1 bra END;
             setp.ge.u32 %p1, %r1, 32;
             @%p1 bra END;
             {MEET}
             {MEET}
             mov.b32 %r0, 6;
            END:
             {NUMBER}"
        ),
    ));
    let wanted: Vec<u32> =
        (0..4 * 64).map(|thread| if thread / 64 == 1 || thread % 64 >= 32 { 5 } else { 6 }).collect();
    assert_eq!(results(&bench, 4, 64, 4), wanted);
}

#[test]
fn clusters_that_wait_for_each_other() {
    // The first thread of each cluster counts in global memory, and waits until all clusters have; then all blocks go on.
    let bench = Bench::with_head(&format!(
        ".visible .global .align 4 .u32 count;\n{}",
        kernel(
            "k",
            "",
            &format!(
                "{RANKS}
                 or.b32 %r2, %r1, %r11;
                 setp.ne.u32 %p1, %r2, 0;
                 @%p1 bra MEETING;
                 mov.u64 %rd1, count;
                 atom.global.add.u32 %r3, [%rd1], 1;
                SPIN:
                 ld.volatile.global.u32 %r3, [%rd1];
                 rem.u32 %r4, %r3, 4;
                 setp.ne.u32 %p2, %r4, 0;
                 @%p2 bra SPIN;
                MEETING:
                 {MEET}
                 mov.b32 %r0, 9;
                 {NUMBER}"
            )
        )
    ));
    assert_eq!(results(&bench, 8, 32, 2), [9; 256]);
}

/// A kernel of blocks of 32 threads with 64 bytes of shared memory, whose rank 0 does something and rank 1 nothing.
fn only_rank_0(body: &str, before_end: &str) -> Bench {
    Bench::with_head(&kernel(
        "k",
        ".shared .align 16 .b8 tile[64];",
        &format!(
            "{RANKS}
             mov.u32 %r2, tile;
             mov.b32 %r0, 0;
             {MEET}
             setp.ne.u32 %p1, %r11, 0;
             @%p1 bra END;
             {body}
            END:
             {before_end}
             {NUMBER}"
        ),
    ))
}

#[test]
fn accesses_beyond_the_cluster_and_beyond_a_block() {
    let of = |body: &str| fault(&only_rank_0(body, MEET), 2, 32);
    let found = of("mapa.shared::cluster.u32 %r3, %r2, 2;");
    assert_eq!(found.kind, FaultKind::Illegal("mapa to block 2 of a cluster of 2 blocks".to_owned()));
    let found = of(
        "mapa.shared::cluster.u32 %r3, %r2, 1; add.u32 %r3, %r3, 0x1000000; ld.shared::cluster.u32 %r0, [%r3];",
    );
    assert_eq!(found.kind, FaultKind::Illegal("an access to block 2 of a cluster of 2 blocks".to_owned()));
    let found = of(
        "cvt.u64.u32 %rd1, %r2; cvta.shared.u64 %rd1, %rd1; mapa.u64 %rd1, %rd1, 1; add.u64 %rd1, %rd1, 0x7000000; st.u32 [%rd1], %r0;",
    );
    assert_eq!(found.kind, FaultKind::Illegal("an access to block 8 of a cluster of 2 blocks".to_owned()));
    // Lane k at byte 4 k of 64.
    let found = of(
        "shl.b32 %r3, %r1, 2; add.u32 %r3, %r3, %r2; mapa.shared::cluster.u32 %r3, %r3, 1; st.shared::cluster.u32 [%r3], %r0;",
    );
    assert_eq!((found.block, found.thread), ([0; 3], [16, 0, 0]));
    let beyond = |operation, address, bytes| FaultKind::OutOfBounds {
        space: Space::Cluster,
        operation,
        address,
        bytes,
        nearest: None,
    };
    assert_eq!(found.kind, beyond(Operation::Store, 0x200_0040, 4));
    let found = of("mapa.shared::cluster.u32 %r3, %r2, 1; ld.shared::cluster.u32 %r0, [%r3+2];");
    let misaligned = FaultKind::Misaligned {
        space: Space::Cluster,
        operation: Operation::Load,
        address: 0x200_0002,
        bytes: 4,
    };
    assert_eq!(found.kind, misaligned);
    let found = of("mapa.shared::cluster.u32 %r3, %r2, 1; atom.shared::cluster.add.u32 %r0, [%r3+64], 1;");
    assert_eq!(found.kind, beyond(Operation::Atomic, 0x200_0040, 4));
    // `ld.shared` reaches the own block alone.
    let found = of("mapa.shared::cluster.u32 %r3, %r2, 1; ld.shared.u32 %r0, [%r3];");
    let own = FaultKind::OutOfBounds {
        space: Space::Shared,
        operation: Operation::Load,
        address: 0x200_0000,
        bytes: 4,
        nearest: None,
    };
    assert_eq!(found.kind, own);
    // Own memory by the rank's window is in bounds.
    let bench = only_rank_0(
        "mapa.shared::cluster.u32 %r3, %r2, 0; st.shared::cluster.u32 [%r3], 7; ld.shared.u32 %r0, [%r2];",
        MEET,
    );
    assert_eq!(results(&bench, 2, 32, 2)[..33].iter().sum::<u32>(), 32 * 7);
}

#[test]
fn the_shared_memory_of_a_block_that_has_ended_is_gone() {
    // Rank 0 waits until rank 1 has ended: its exit completes the barrier.
    let bench = only_rank_0(
        &format!("{MEET} mapa.shared::cluster.u32 %r3, %r2, 1; ld.shared::cluster.u32 %r0, [%r3];"),
        "",
    );
    let found = fault(&bench, 2, 32);
    let what = "an access to the shared memory of block 1 of its cluster, which has ended: blocks have to wait for each other \
                before they end";
    assert_eq!(found.kind, FaultKind::Illegal(what.to_owned()));
    assert_eq!(found.block, [0; 3]);
}

#[test]
fn a_stuck_cluster_says_who_waits_for_what() {
    // The second warp of rank 1 waits for its first one, which waits for the cluster.
    let bench = Bench::with_head(&ranked(
        "",
        "mov.b32 %r0, 0;
             setp.ne.u32 %p1, %r11, 1;
             @%p1 bra MEETING;
             setp.lt.u32 %p1, %r1, 32;
             @%p1 bra MEETING;
             bar.sync 3, 64;
            MEETING:",
    ));
    let found = fault(&bench, 2, 64);
    assert_eq!(found.block, [1, 0, 0]);
    let FaultKind::Deadlock { waiting } = found.kind else { panic!("{:?}", found.kind) };
    let cluster =
        "waits at the cluster's barrier for all threads, which block 1 of the cluster did not reach";
    assert!(waiting.contains(&format!("warp 0, lanes 0xffffffff, {cluster}")), "{waiting}");
    assert!(
        waiting.contains("warp 1, lanes 0xffffffff, waits at barrier 3 for 64 threads, of which 32 came"),
        "{waiting}"
    );
}

#[test]
fn shapes_that_cannot_be() {
    let text =
        ring() + &kernel("pairs", "", "mov.b32 %r0, 1;").replace("\n{", "\n.reqnctapercluster 2, 1, 1\n{");
    let bench = Bench::with_head(&text);
    let out = bench.upload(&[0u32; 16 * 64]);
    let outcome = |kernel: &str, blocks: u32, cluster: [u32; 3], change: &dyn Fn(&mut Launch<'_>)| {
        bench.launch_with(kernel, &[out.into()], &mut (), |launch| {
            launch.grid = [blocks, 1, 1];
            launch.cluster = Some(cluster);
            change(launch);
        })
    };
    let says = |kernel: &str, blocks: u32, cluster: [u32; 3], change: &dyn Fn(&mut Launch<'_>)| {
        outcome(kernel, blocks, cluster, change).expect_err("it cannot be launched").to_string()
    };
    assert_eq!(
        says("k", 16, [16, 1, 1], &|_| ()),
        "clusters of 16 x 1 x 1 blocks are not possible: a cluster has 1 to 8 blocks, or to 16 if the kernel allows sizes that are not portable"
    );
    outcome("k", 16, [16, 1, 1], &|launch| launch.machine.blocks_per_cluster = 16).expect("a launch");
    assert_eq!(
        says("k", 32, [32, 1, 1], &|launch| launch.machine.blocks_per_cluster = 16),
        "clusters of 32 x 1 x 1 blocks are not possible: a cluster has 1 to 16 blocks"
    );
    assert!(
        says("k", 2, [0, 1, 1], &|_| ()).ends_with(
            "a cluster has 1 to 8 blocks, or to 16 if the kernel allows sizes that are not portable"
        )
    );
    assert_eq!(
        says("k", 6, [4, 1, 1], &|_| ()),
        "clusters of 4 x 1 x 1 blocks are not possible: the grid of 6 x 1 x 1 blocks is not a multiple of them"
    );
    assert_eq!(
        says("pairs", 4, [4, 1, 1], &|_| ()),
        "clusters of 4 x 1 x 1 blocks are not possible: the kernel's `.reqnctapercluster` requires 2 x 1 x 1"
    );
    let older = |launch: &mut Launch<'_>| {
        launch.machine.capability = ComputeCapability { major: 8, minor: 9 };
        launch.machine.blocks_per_cluster = 1;
    };
    assert_eq!(
        says("k", 4, [2, 1, 1], &older),
        "clusters of 2 x 1 x 1 blocks are not possible: this card, of compute capability 8.9, has none of several blocks; they begin at 9.0"
    );
    outcome("k", 4, [1, 1, 1], &older).expect("clusters of one block are blocks");
}

/// The counters of a launch of 8 blocks of 64 threads in clusters.
fn counted(bench: &Bench, cluster: u32, workers: usize) -> LaunchCounters {
    let array = bench.upload(&[0u32; 8 * 64]);
    let card = find("h200").expect("a card");
    let block = BlockShape { threads: 64, registers: 16, shared_bytes: 256 };
    let occupancy = Occupancy::new(&card.limits(), block).expect("it fits");
    let shape =
        LaunchShape::new([8, 1, 1], [64, 1, 1], occupancy, Arc::new(SiteFacts::of(bench.program.sites())));
    let mut counters = CounterObservation::new(shape, L2State::new(card));
    bench
        .launch_with("k", &[array.into()], &mut counters, |launch| {
            shaped(launch, 8, 64, cluster);
            launch.workers = workers;
        })
        .expect("a launch");
    counters.finish().counters
}

#[test]
fn requests_to_other_blocks_are_counted_apart() {
    let bench = Bench::with_head(&ring());
    let alone = counted(&bench, 1, 1);
    // A store and a load of each of 16 warps.
    assert_eq!((alone.total.shared_stores.requests, alone.total.shared_loads.requests), (16, 16));
    assert_eq!(alone.cluster_requests, 0);
    for size in [2, 4, 8] {
        let counters = counted(&bench, size, 1);
        assert_eq!((counters.total.shared_loads.requests, counters.total.shared_loads.wavefronts), (16, 16));
        assert_eq!((counters.cluster_requests, counters.cluster_bytes), (16, 16 * 32 * 4), "{size}");
        assert_eq!((counters.blocks, counters.warps), (8, 16));
        assert_eq!(counters.total.instructions, alone.total.instructions);
        assert_eq!(counters, counted(&bench, size, 2));
    }
}

/// Launches a kernel of 4 blocks of 64 threads, in pairs, under checks, and tells the findings.
fn checked(body: &str, checks: Checks) -> Vec<FindingKind> {
    let text = kernel(
        "k",
        ".shared .align 4 .b8 tile[256];\n.shared .align 8 .b8 full[16];",
        &format!(
            "{RANKS}
             shl.b32 %r3, %r1, 2;
             mov.u32 %r4, tile;
             add.u32 %r4, %r4, %r3;
             xor.b32 %r5, %r1, 32;
             shl.b32 %r5, %r5, 2;
             mov.u32 %r6, tile;
             add.u32 %r6, %r6, %r5;
             {body}
             {NUMBER}"
        ),
    )
    .replace("\n{", "\n.reqnctapercluster 2, 1, 1\n{");
    let lab = Lab::new(&format!("{HEAD}{text}"), checks);
    let out = lab.zeros(4 * 64 * 4);
    let shape = Shape { grid: [4, 1, 1], block: [64, 1, 1] };
    lab.launch_shape("k", shape, 0, &[out.into()]).into_iter().map(|finding| finding.kind).collect()
}

#[test]
fn checks_do_not_report_what_other_blocks_order_and_write() {
    let checks = |check: Check| Checks::from(check);
    // The neighbour writes what the block reads.
    let written = format!(
        "mapa.shared::cluster.u32 %r7, %r4, %r13;
         {MEET}
         st.shared::cluster.u32 [%r7], %r1;
         {MEET}
         ld.shared.u32 %r0, [%r6];"
    );
    // Through global memory, in which the neighbour's half of the results is read before it is written again.
    let global = format!(
        "{NUMBER}
         ld.param.u64 %rd1, [out];
         mad.wide.u32 %rd1, %r1, 4, %rd1;
         st.global.u32 [%rd1], %r1;
         {MEET}
         xor.b32 %r8, %r1, 64;
         ld.param.u64 %rd2, [out];
         mad.wide.u32 %rd2, %r8, 4, %rd2;
         ld.global.u32 %r0, [%rd2];
         {MEET}
         mov.u32 %r1, %tid.x;"
    );
    // Warp 0 writes and tells the neighbour, whose warp 1 tells warp 1 of this block, which reads.
    let handed = format!(
        "setp.ge.u32 %p1, %r1, 32;
         mov.u32 %r20, full;
         setp.ne.u32 %p2, %r1, 0;
         @!%p2 mbarrier.init.shared::cta.b64 [%r20], 32;
         @!%p2 mbarrier.init.shared::cta.b64 [%r20+8], 32;
         {MEET}
         mapa.shared::cluster.u32 %r21, %r20, %r13;
         mov.b32 %r0, 0;
         @%p1 bra SECOND;
         st.shared.u32 [%r4], %r1;
         mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r21];
         bra.uni END;
        SECOND:
         mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p9, [%r20], 0;
         @!%p9 bra SECOND;
         mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r21+8];
        BACK:
         mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p9, [%r20+8], 0;
         @!%p9 bra BACK;
         ld.shared.u32 %r0, [%r6];
        END:
         {MEET}"
    );
    for body in [&written, &global, &handed] {
        for check in [Check::Racecheck, Check::Initcheck, Check::Synccheck] {
            assert_eq!(checked(body, checks(check)), [], "{check} {body}");
        }
    }
}

#[test]
fn checks_report_what_is_wrong_within_a_block_of_a_cluster() {
    // No barrier between a warp's store and the other's load of the same block.
    let racing = format!("{MEET} st.shared.u32 [%r4], %r1; ld.shared.u32 %r0, [%r6]; {MEET}");
    let found = checked(&racing, Check::Racecheck.into());
    assert!(matches!(found[..], [FindingKind::Race { .. }, ..]), "{found:?}");
    let unwritten = format!("{MEET} ld.shared.u32 %r0, [%r4]; {MEET}");
    let found = checked(&unwritten, Check::Initcheck.into());
    assert!(matches!(found[..], [FindingKind::UninitialisedRead { .. }, ..]), "{found:?}");
}
