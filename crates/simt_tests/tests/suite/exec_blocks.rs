//! Blocks: barriers, blocks that wait for each other, workers.

use crate::exec_common::{Bench, HEAD, Watch, kernel};
use simt::exec::LaunchFailure;
use simt::fault::FaultKind;
use simt::observe::Misuse;

#[test]
fn a_barrier_in_a_loop() {
    // Sums up all threads' numbers by halves, in shared memory.
    let bench = Bench::with_head(&kernel(
        "k",
        ".shared .align 4 .b8 tile[1024];",
        "shl.b32 %r2, %r1, 2;
         mov.u32 %r3, tile;
         add.u32 %r3, %r3, %r2;
         st.shared.u32 [%r3], %r1;
         mov.u32 %r4, %ntid.x;
        LOOP:
         shr.u32 %r4, %r4, 1;
         bar.sync 0;
         setp.ge.u32 %p1, %r1, %r4;
         @%p1 bra SKIP;
         shl.b32 %r5, %r4, 2;
         add.u32 %r5, %r5, %r3;
         ld.shared.u32 %r6, [%r5];
         ld.shared.u32 %r7, [%r3];
         add.u32 %r7, %r7, %r6;
         st.shared.u32 [%r3], %r7;
        SKIP:
         setp.gt.u32 %p2, %r4, 1;
         @%p2 bra LOOP;
         bar.sync 0;
         ld.shared.u32 %r0, [tile];",
    ));
    assert_eq!(bench.results("k", 256), vec![255 * 128; 256]);
    let array = bench.upload(&[0u32; 256]);
    let log = bench.watch("k", 256, &[array.into()]);
    assert_eq!(log.barriers, vec![(0, u64::MAX); 9]);
    assert_eq!(log.misuses, []);
}

/// Each block writes its number, waits for all, and reads what the next one wrote; the third word is what the barrier says.
const GRID_SYNC: &str = ".extern .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope);
.extern .func (.param .b32 error) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);
.visible .entry k(.param .u64 out)
{
    .reg .b32 %r<12>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd0, [out];
    mov.u32 %r0, %ctaid.x;
    mad.wide.u32 %rd1, %r0, 4, %rd0;
    add.u32 %r1, %r0, 100;
    st.global.u32 [%rd1], %r1;
    {
        .param .b32 a;
        .param .b64 b;
        st.param.b32 [a], 1;
        call.uni (b), cudaCGGetIntrinsicHandle, (a);
        ld.param.b64 %rd2, [b];
    }
    {
        .param .b64 a;
        .param .b32 b;
        .param .b32 c;
        st.param.b64 [a], %rd2;
        st.param.b32 [b], 0;
        call.uni (c), cudaCGSynchronize, (a, b);
        ld.param.b32 %r2, [c];
    }
    mov.u32 %r3, %nctaid.x;
    add.u32 %r4, %r0, 1;
    rem.u32 %r4, %r4, %r3;
    mad.wide.u32 %rd3, %r4, 4, %rd0;
    ld.global.u32 %r5, [%rd3];
    mad.wide.u32 %rd4, %r3, 4, %rd1;
    st.global.u32 [%rd4], %r5;
    mad.wide.u32 %rd5, %r3, 4, %rd4;
    st.global.u32 [%rd5], %r2;
    ret;
}
";

#[test]
fn blocks_of_a_cooperative_launch_wait_for_each_other() {
    const BLOCKS: u32 = 20;
    let bench = Bench::with_head(GRID_SYNC);
    for workers in [1, 3] {
        let array = bench.upload(&[0u32; 60]);
        let used = bench.memory.used();
        let launched = bench.launch_with("k", &[array.into()], &mut (), |launch| {
            (launch.grid, launch.block) = ([BLOCKS, 1, 1], [64, 1, 1]);
            (launch.workers, launch.cooperative) = (workers, true);
        });
        launched.expect("all blocks come to the barrier");
        let found: Vec<u32> = bench.download(array, 60);
        let read: Vec<u32> = (0..BLOCKS).map(|block| 100 + (block + 1) % BLOCKS).collect();
        assert_eq!(found[20..40], read);
        assert_eq!(found[40..], [0; 20], "cudaSuccess");
        assert_eq!(bench.memory.used(), used, "the barrier's memory is given back");
    }
}

#[test]
fn without_a_cooperative_launch_there_is_no_grid_to_wait_for() {
    let bench = Bench::with_head(GRID_SYNC);
    let array = bench.upload(&[0u32; 6]);
    bench.run("k", [2, 1, 1], [32, 1, 1], &[array.into()]);
    let found: Vec<u32> = bench.download(array, 6);
    assert_eq!(found[4..], [1, 1], "cudaErrorInvalidValue");
}

#[test]
fn barriers_that_combine_predicates() {
    let bench = Bench::with_head(&kernel(
        "k",
        "",
        "setp.lt.u32 %p1, %r1, 40;
         bar.red.popc.u32 %r2, 0, %p1;
         bar.red.and.pred %p2, 1, %p1;
         bar.red.or.pred %p3, 2, %p1;
         bar.red.and.pred %p4, 3, 96, !%p1;
         selp.u32 %r3, 1000, 0, %p2;
         selp.u32 %r4, 2000, 0, %p3;
         selp.u32 %r5, 4000, 0, %p4;
         add.u32 %r0, %r2, %r3;
         add.u32 %r0, %r0, %r4;
         add.u32 %r0, %r0, %r5;",
    ));
    assert_eq!(bench.results("k", 96), vec![2040; 96]);
    // All of a block of 32 are below 40.
    let one = bench.upload(&[0u32; 32]);
    let failure = bench.try_run("k", [1; 3], [32, 1, 1], &[one.into()]);
    let Err(LaunchFailure::Fault { fault, .. }) = failure else { panic!("{failure:?}") };
    let FaultKind::Deadlock { waiting } = fault.kind else { panic!("{:?}", fault.kind) };
    assert!(waiting.contains("waits at barrier 3 for 96 threads, of which 32 came"), "{waiting}");
}

/// One warp fills a buffer that another empties, three times, with a barrier for "full" and one for "empty".
#[test]
fn producer_and_consumer() {
    let bench = Bench::with_head(&kernel(
        "k",
        ".shared .align 4 .b8 buffer[128];",
        "and.b32 %r2, %r1, 31;
         shl.b32 %r3, %r2, 2;
         mov.u32 %r4, buffer;
         add.u32 %r3, %r3, %r4;
         mov.b32 %r0, 0;
         mov.b32 %r5, 0;
         setp.ge.u32 %p1, %r1, 32;
         @%p1 bra CONSUMER;
        PRODUCER:
         bar.sync 2, 64;
         mad.lo.u32 %r6, %r5, 100, %r2;
         st.shared.u32 [%r3], %r6;
         bar.arrive 1, 64;
         add.u32 %r5, %r5, 1;
         setp.lt.u32 %p2, %r5, 3;
         @%p2 bra PRODUCER;
         bra.uni END;
        CONSUMER:
         bar.arrive 2, 64;
         bar.sync 1, 64;
         ld.shared.u32 %r7, [%r3];
         add.u32 %r0, %r0, %r7;
         add.u32 %r5, %r5, 1;
         setp.lt.u32 %p2, %r5, 3;
         @%p2 bra CONSUMER;
        END:",
    ));
    let wanted: Vec<u32> =
        (0..64).map(|thread| if thread < 32 { 0 } else { 300 + 3 * (thread - 32) }).collect();
    assert_eq!(bench.results("k", 64), wanted);
    let array = bench.upload(&[0u32; 64]);
    let log = bench.watch("k", 64, &[array.into()]);
    assert_eq!(log.barriers, vec![(2, 3), (1, 3), (2, 3), (1, 3), (2, 3), (1, 3)]);
}

#[test]
fn warps_that_have_left_are_not_waited_for() {
    let bench = Bench::with_head(&kernel(
        "k",
        "",
        "mov.b32 %r0, 1;
         setp.ge.u32 %p1, %r1, 64;
         @%p1 exit;
         bar.sync 0;
         barrier.cluster.arrive.aligned;
         barrier.cluster.wait.aligned;
         add.u32 %r0, %r0, 1;",
    ));
    let wanted: Vec<u32> = (0..128).map(|thread| if thread < 64 { 2 } else { 0xDEAD_BEEF }).collect();
    assert_eq!(bench.results("k", 128), wanted);
}

#[test]
fn parts_of_a_warp_at_a_barrier() {
    // One way to the barrier for half of the warp, another for the rest.
    let two_ways = Bench::with_head(&kernel(
        "k",
        "",
        "mov.b32 %r0, 1;
         setp.lt.u32 %p1, %r1, 16;
         @%p1 bra LOW;
         bar.sync 0;
         bra.uni END;
        LOW:
         bar.sync 0;
         add.u32 %r0, %r0, 1;
        END:",
    ));
    let array = two_ways.upload(&[0u32; 64]);
    let log = two_ways.watch("k", 64, &[array.into()]);
    let misuses: Vec<Misuse> = log.misuses.iter().map(|(_, misuse)| *misuse).collect();
    assert_eq!(misuses, [Misuse::DivergentWarp { elsewhere: 0xFFFF }]);
    let after: Vec<u32> = two_ways.download(array, 64);
    assert_eq!(after, (0..64).map(|thread| if thread < 16 { 2 } else { 1 }).collect::<Vec<_>>());
    // Half of the warp waits, and the others leave only then.
    let one_way = Bench::with_head(&kernel(
        "k",
        "",
        "mov.b32 %r0, 1;
         setp.ge.u32 %p1, %r1, 16;
         @%p1 bra END;
         bar.sync 0;
        END:
         add.u32 %r0, %r0, 1;",
    ));
    let array = one_way.upload(&[0u32; 32]);
    let log = one_way.watch("k", 32, &[array.into()]);
    let misuses: Vec<Misuse> = log.misuses.iter().map(|(_, misuse)| *misuse).collect();
    assert_eq!(misuses, [Misuse::DivergentWarp { elsewhere: 0xFFFF_0000 }]);
    let after: Vec<u32> = one_way.download(array, 32);
    assert_eq!(after, [2; 32]);
}

/// A warp waits for another of its block without any barrier.
#[test]
fn a_warp_spins_on_another() {
    let bench = Bench::with_head(&kernel(
        "k",
        "",
        "ld.param.u64 %rd1, [out];
         mov.b32 %r0, 4;
         setp.ge.u32 %p1, %r1, 32;
         @%p1 bra SET;
        WAIT:
         ld.relaxed.gpu.global.u32 %r2, [%rd1+160];
         setp.ne.u32 %p2, %r2, 77;
         @%p2 bra WAIT;
         bra.uni END;
        SET:
         st.relaxed.gpu.global.u32 [%rd1+160], 77;
         nanosleep.u32 100;
         bar.warp.sync 0xffffffff;
        END:
         bar.sync 0;",
    ));
    assert_eq!(bench.results("k", 64), vec![4; 64]);
}

const CHAIN: &str = "
.visible .entry chain(.param .u64 flags, .param .u32 reverse)
{
	.reg .pred %p<4>;
	.reg .b32 %r<10>;
	.reg .b64 %rd<6>;
	ld.param.u64 %rd1, [flags];
	ld.param.u32 %r1, [reverse];
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r3, %nctaid.x;
	setp.eq.u32 %p1, %r1, 0;
	@%p1 bra HAVE;
	sub.u32 %r2, %r3, %r2;
	sub.u32 %r2, %r2, 1;
HAVE:
	mul.wide.u32 %rd2, %r2, 4;
	add.u64 %rd3, %rd1, %rd2;
	mov.u32 %r4, %tid.x;
	setp.ne.u32 %p2, %r4, 0;
	@%p2 bra JOIN;
WAIT:
	ld.acquire.gpu.global.u32 %r5, [%rd3];
	setp.eq.u32 %p3, %r5, 0;
	@%p3 bra WAIT;
	add.u32 %r6, %r5, 1;
	st.release.gpu.global.u32 [%rd3+4], %r6;
JOIN:
	bar.sync 0;
	ret;
}
";

/// Each block waits for what the one before it writes; in the other direction too, so that all must have begun.
#[test]
fn blocks_wait_for_each_other() {
    let bench = Bench::with_head(CHAIN);
    let blocks = 50u32;
    for reverse in [0u32, 1] {
        for workers in [1, 2, 3] {
            let mut start = vec![0u32; blocks as usize + 1];
            start[0] = 1;
            let flags = bench.upload(&start);
            let mut watch = Watch::default();
            bench
                .launch_with("chain", &[flags.into(), reverse.into()], &mut watch, |launch| {
                    launch.grid = [blocks, 1, 1];
                    launch.block = [64, 1, 1];
                    launch.workers = workers;
                })
                .unwrap_or_else(|failure| panic!("{failure} {failure:?}"));
            let after: Vec<u32> = bench.download(flags, start.len());
            assert_eq!(after, (1..=blocks + 1).collect::<Vec<_>>(), "reverse {reverse}, {workers} workers");
            // Observers see one block after another, and are handed back in the order of the blocks.
            let wanted: Vec<_> =
                (0..u64::from(blocks)).flat_map(|block| [(block, "begins"), (block, "ends")]).collect();
            assert_eq!(watch.log().blocks, wanted);
        }
    }
}

#[test]
fn more_blocks_than_the_card_holds_cannot_wait_for_each_other() {
    let bench = Bench::with_head(CHAIN);
    let mut start = vec![0u32; 9];
    start[0] = 1;
    let flags = bench.upload(&start);
    let failure = bench.launch_with("chain", &[flags.into(), 1u32.into()], &mut (), |launch| {
        launch.grid = [8, 1, 1];
        launch.machine.resident_blocks = 4;
        launch.instruction_limit = Some(100_000);
    });
    let Err(LaunchFailure::Fault { fault, .. }) = failure else { panic!("{failure:?}") };
    assert!(
        matches!(fault.kind, FaultKind::Endless { instructions: 100_000..200_000, patience: None }),
        "{fault:?}"
    );
}

const PRINT: &str = "
.extern .func (.param .b32 status) vprintf (.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 format[12] = {98, 108, 111, 99, 107, 32, 37, 100, 10, 0};
.visible .entry report(.param .u32 bad)
{
	.local .align 8 .b8 buffer[8];
	.reg .pred %p<2>;
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	mov.u32 %r1, %ctaid.x;
	mov.u64 %rd1, buffer;
	st.local.u32 [%rd1], %r1;
	cvta.local.u64 %rd1, %rd1;
	mov.u64 %rd2, format;
	cvta.global.u64 %rd2, %rd2;
	{
	.param .b64 param0;
	st.param.b64 [param0], %rd2;
	.param .b64 param1;
	st.param.b64 [param1], %rd1;
	.param .b32 retval0;
	call.uni (retval0), vprintf, (param0, param1);
	ld.param.b32 %r2, [retval0];
	}
	ld.param.u32 %r3, [bad];
	setp.ge.u32 %p1, %r1, %r3;
	@%p1 trap;
	ret;
}
";

#[test]
fn prints_come_in_the_order_of_blocks() {
    let bench = Bench::with_head(PRINT);
    for workers in [1, 4] {
        let run = |bad: u32| {
            bench.launch_with("report", &[bad.into()], &mut Watch::default(), |launch| {
                launch.grid = [40, 1, 1];
                launch.block = [1, 1, 1];
                launch.workers = workers;
            })
        };
        let lines = |count: u32| (0..count).map(|block| format!("block {block}\n")).collect::<String>();
        let done = run(100).expect("nothing is bad");
        assert_eq!(String::from_utf8_lossy(&done.printed), lines(40));
        let Err(LaunchFailure::Fault { fault, printed }) = run(13) else { panic!("a fault") };
        assert_eq!((&fault.kind, fault.block), (&FaultKind::Trap, [13, 0, 0]));
        assert_eq!(String::from_utf8_lossy(&printed), lines(14));
    }
}

/// The same counts and results whatever the number of workers.
#[test]
fn workers_change_nothing() {
    let text = format!(
        "{HEAD}{}",
        "
.visible .entry fill(.param .u64 out)
{
	.reg .pred %p<2>;
	.reg .b32 %r<6>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ctaid.y;
	mov.u32 %r3, %tid.x;
	mov.u32 %r4, %nctaid.x;
	mad.lo.u32 %r1, %r2, %r4, %r1;
	mov.u32 %r4, %ntid.x;
	mad.lo.u32 %r1, %r1, %r4, %r3;
	mul.wide.u32 %rd2, %r1, 4;
	add.u64 %rd1, %rd1, %rd2;
	st.global.u32 [%rd1], %r1;
	ret;
}
"
    );
    let bench = Bench::new(&text);
    let threads = 7 * 9 * 96;
    let mut executed = Vec::new();
    for workers in [1, 2, 5, 100] {
        let out = bench.upload(&vec![0u32; threads]);
        let done = bench
            .launch_with("fill", &[out.into()], &mut (), |launch| {
                launch.grid = [7, 9, 1];
                launch.block = [96, 1, 1];
                launch.workers = workers;
            })
            .expect("it runs");
        assert_eq!(bench.download::<u32>(out, threads), (0..threads as u32).collect::<Vec<_>>());
        executed.push((done.warp_instructions, done.thread_instructions));
    }
    assert_eq!(executed, vec![(12 * 7 * 9 * 3, 12 * threads as u64); 4]);
}
