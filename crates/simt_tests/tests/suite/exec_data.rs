//! Where values come from: parameters, variables, special registers.

use crate::exec_common::{Argument, Bench, HEAD, kernel};
use simt::exec::{SiteInfo, VariableKind};
use simt::internals::count::Slots;
use simt::memory::Kind;

#[test]
fn static_and_dynamic_shared_memory() {
    let text = ".shared .align 16 .b8 first[20];
.shared .align 4 .b8 unused[4096];
.extern .shared .align 16 .b8 dynamic[];
.func (.param .b32 result) place()
{
	.shared .align 8 .b8 second[8];
	.reg .b32 %r<2>;
	mov.u32 %r1, second;
	st.param.b32 [result], %r1;
	ret;
}
"
    .to_owned()
        + &kernel(
            "k",
            ".shared .align 2 .b8 third[2];",
            "mov.u32 %r2, first;
             mov.u32 %r4, third;
             mov.u32 %r5, dynamic;
            {
             .param .b32 retval0;
             call (retval0), place, ();
             ld.param.b32 %r3, [retval0];
            }
             setp.eq.u32 %p1, %r1, 0;
             selp.u32 %r0, %r2, 0, %p1;
             setp.eq.u32 %p1, %r1, 1;
             selp.u32 %r0, %r3, %r0, %p1;
             setp.eq.u32 %p1, %r1, 2;
             selp.u32 %r0, %r4, %r0, %p1;
             setp.eq.u32 %p1, %r1, 3;
             selp.u32 %r0, %r5, %r0, %p1;
             setp.eq.u32 %p1, %r1, 4;
             mov.u32 %r6, %dynamic_smem_size;
             selp.u32 %r0, %r6, %r0, %p1;
             setp.eq.u32 %p1, %r1, 5;
             mov.u32 %r6, %total_smem_size;
             selp.u32 %r0, %r6, %r0, %p1;
             add.u32 %r7, %r5, %r1;
             st.shared.u8 [%r7], %r1;
             mov.u64 %rd5, dynamic;
             cvta.shared.u64 %rd5, %rd5;
             ld.u8 %r8, [%rd5+7];",
        )
        + &kernel("other", "", "mov.b32 %r0, unused;");
    let bench = Bench::with_head(&text);
    let [k, other] = ["k", "other"].map(|name| bench.program.kernel(name).expect("the kernel"));
    // 20 bytes, then 8 at a multiple of 8, then 2: in the order of the functions that declare them.
    let places: Vec<u32> = {
        let array = bench.upload(&[0u32; 32]);
        bench
            .launch_with("k", &[array.into()], &mut (), |launch| launch.dynamic_shared_bytes = 64)
            .expect("it runs");
        bench.download(array, 6)
    };
    assert_eq!((k.static_shared_bytes, other.static_shared_bytes), (34, 4096));
    let mut own = [places[1], places[2]];
    own.sort_unstable();
    assert_eq!((places[0], own), (0, [24, 32]));
    assert_eq!(places[3..], [48, 64, 48 + 64]);
    let array = bench.upload(&[0u32; 32]);
    let failure = bench.launch_with("k", &[array.into()], &mut (), |launch| launch.dynamic_shared_bytes = 16);
    assert!(failure.is_err(), "the last threads write beyond: {failure:?}");
}

#[test]
fn constants_and_addresses_of_variables() {
    let text = ".const .align 4 .f32 factors[4] = {0f3F800000, 2.5, -3, 0f40800000};
.global .align 4 .u32 words[3] = {7, 8, 9};
.global .align 8 .u64 where[2] = {factors, generic(words)+4};
.global .align 2 .u16 parts[4] = {1, 0xFFFF, 3, 4};
.global .align 1 .u8 low = 0xFF(words);
.global .align 1 .u8 next = 0xFF00(words);
.const .align 4 .b32 zeros[2];
.global .attribute(.managed) .align 4 .u32 counter = 7;
.global .align 4 .u32 grid[2][3] = {{1, 2, 3}, {4}};
"
    .to_owned()
        + &kernel(
            "k",
            "",
            "ld.global.u64 %rd1, [where+8];
             ld.u32 %r2, [%rd1];
             and.b32 %r3, %r1, 3;
             mul.wide.u32 %rd2, %r3, 4;
             mov.u64 %rd3, factors;
             add.u64 %rd3, %rd3, %rd2;
             ld.const.f32 %f1, [%rd3];
             cvt.rni.s32.f32 %r4, %f1;
             ld.global.u16 %h1, [parts+2];
             cvt.u32.u16 %r5, %h1;
             atom.global.add.u32 %r6, [counter], 1;
             ld.global.u32 %r7, [grid+12];
             ld.const.u32 %r8, [zeros+4];
             add.s32 %r0, %r2, %r4;
             add.s32 %r0, %r0, %r5;
             mad.lo.s32 %r0, %r7, 1000000, %r0;
             add.s32 %r0, %r0, %r8;",
        );
    let bench = Bench::with_head(&text);
    let factor = |thread: u32| [1i32, 2, -3, 4][thread as usize & 3];
    let wanted: Vec<u32> = (0..32).map(|thread| (4_000_000 + 65535 + 8 + factor(thread)) as u32).collect();
    assert_eq!(bench.results("k", 32), wanted);
    let variable = |name| bench.program.variable(name).unwrap_or_else(|| panic!("{name}"));
    let words = variable("words");
    let bytes = |name| bench.download::<u8>(variable(name).address, 1)[0];
    assert_eq!((bytes("low"), bytes("next")), (words.address as u8, (words.address >> 8) as u8));
    assert_eq!((words.bytes, words.kind), (12, VariableKind::Global));
    assert_eq!(variable("factors").kind, VariableKind::Constant);
    assert_eq!(variable("counter").kind, VariableKind::Managed);
    assert_eq!(bench.download::<u32>(variable("counter").address, 1), [39]);
    assert_eq!(bench.download::<u64>(variable("where").address, 1), [variable("factors").address]);
    assert_eq!(bench.download::<u32>(variable("grid").address, 6), [1, 2, 3, 4, 0, 0]);
    assert_eq!(bench.memory.find(words.address).expect("it is there").kind, Kind::Module);
    assert!(bench.program.variable("nothing").is_none());
    assert_eq!(bench.program.kernel("k").expect("the kernel").constant_bytes, 24);
}

/// One value for each thread of the grid, from one special register.
fn special(register: &str, scalar: &str, grid: [u32; 3], block: [u32; 3]) -> Vec<u64> {
    let text = format!(
        "{HEAD}.visible .entry k(.param .u64 out)
{{
	.reg .b32 %r<20>;
	.reg .b64 %rd<6>;
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %tid.y;
	mov.u32 %r3, %tid.z;
	mov.u32 %r4, %ntid.x;
	mov.u32 %r5, %ntid.y;
	mov.u32 %r6, %ntid.z;
	mad.lo.u32 %r7, %r3, %r5, %r2;
	mad.lo.u32 %r7, %r7, %r4, %r1;
	mov.u32 %r8, %ctaid.x;
	mov.u32 %r9, %ctaid.y;
	mov.u32 %r10, %ctaid.z;
	mov.u32 %r11, %nctaid.x;
	mov.u32 %r12, %nctaid.y;
	mad.lo.u32 %r13, %r10, %r12, %r9;
	mad.lo.u32 %r13, %r13, %r11, %r8;
	mul.lo.u32 %r14, %r4, %r5;
	mul.lo.u32 %r14, %r14, %r6;
	mad.lo.u32 %r7, %r13, %r14, %r7;
	mul.wide.u32 %rd1, %r7, 8;
	ld.param.u64 %rd2, [out];
	add.u64 %rd2, %rd2, %rd1;
	mov.{scalar} %{}3, {register};
	{}
	st.global.u64 [%rd2], %rd3;
	ret;
}}",
        if scalar.ends_with("64") { "rd" } else { "r" },
        if scalar.ends_with("64") { "" } else { "cvt.u64.u32 %rd3, %r3;" }
    );
    let bench = Bench::new(&text);
    let count = grid.iter().chain(&block).product::<u32>() as usize;
    let out = bench.upload(&vec![u64::MAX; count]);
    bench.run("k", grid, block, &[out.into()]);
    bench.download(out, count)
}

#[test]
fn special_registers_in_three_dimensions() {
    let (grid, block) = ([3, 2, 2], [5, 4, 3]);
    let threads = 60u64;
    let wanted = |value: fn(u64, u64) -> u64| -> Vec<u64> {
        (0..12 * threads).map(|index| value(index / threads, index % threads)).collect()
    };
    for (register, value) in [
        ("%tid.x", (|_, thread| thread % 5) as fn(u64, u64) -> u64),
        ("%tid.y", |_, thread| thread / 5 % 4),
        ("%tid.z", |_, thread| thread / 20),
        ("%tid.w", |_, _| 0),
        ("%ntid.x", |_, _| 5),
        ("%ntid.y", |_, _| 4),
        ("%ntid.z", |_, _| 3),
        ("%ctaid.x", |block, _| block % 3),
        ("%ctaid.y", |block, _| block / 3 % 2),
        ("%ctaid.z", |block, _| block / 6),
        ("%nctaid.x", |_, _| 3),
        ("%nctaid.y", |_, _| 2),
        ("%nctaid.z", |_, _| 2),
        ("%laneid", |_, thread| thread % 32),
        ("%warpid", |_, thread| thread / 32),
        ("%nwarpid", |_, _| 2),
        ("%smid", |block, _| block),
        ("%nsmid", |_, _| 132),
        ("%clusterid.y", |block, _| block / 3 % 2),
        ("%nclusterid.x", |_, _| 3),
        ("%cluster_ctaid.x", |_, _| 0),
        ("%cluster_nctaid.x", |_, _| 1),
        ("%cluster_ctarank", |_, _| 0),
        ("%cluster_nctarank", |_, _| 1),
        ("%lanemask_eq", |_, thread| 1 << (thread % 32)),
        ("%lanemask_lt", |_, thread| (1 << (thread % 32)) - 1),
        ("%lanemask_le", |_, thread| (2 << (thread % 32)) - 1),
        ("%lanemask_gt", |_, thread| 0xFFFF_FFFF & !((2 << (thread % 32)) - 1)),
        ("%lanemask_ge", |_, thread| 0xFFFF_FFFF & !((1 << (thread % 32)) - 1)),
        ("%envreg3", |_, _| 0),
        ("%pm0", |_, _| 0),
        ("WARP_SZ", |_, _| 32),
    ] {
        assert_eq!(special(register, "u32", grid, block), wanted(value), "{register}");
    }
    assert_eq!(special("%gridid", "u64", [1; 3], [2, 1, 1]), [1, 1]);
}

#[test]
fn clocks_go_on() {
    let bench = Bench::with_head(&kernel(
        "k",
        "",
        "mov.u64 %rd1, %clock64;
         mov.u32 %r2, %clock;
         mov.u64 %rd2, %globaltimer;
         nanosleep.u32 500;
         mov.u64 %rd3, %clock64;
         mov.u32 %r3, %clock;
         mov.u64 %rd4, %globaltimer;
         sub.u64 %rd4, %rd4, %rd2;
         sub.u64 %rd3, %rd3, %rd1;
         sub.u32 %r3, %r3, %r2;
         setp.ge.u64 %p1, %rd4, 500;
         setp.ge.u64 %p2, %rd3, 990;
         setp.ge.u32 %p3, %r3, 990;
         selp.u32 %r0, 1, 0, %p1;
         @%p2 add.u32 %r0, %r0, 2;
         @%p3 add.u32 %r0, %r0, 4;",
    ));
    assert_eq!(bench.results("k", 32), [7; 32]);
}

#[test]
fn parameters_of_all_sizes() {
    let text = ".visible .entry k(
	.param .u8 a, .param .s16 b, .param .align 8 .b8 pair[16], .param .f64 c, .param .align 16 .b8 four[16], .param .u64 out)
{
	.reg .b16 %h<4>;
	.reg .b32 %r<12>;
	.reg .b64 %rd<12>;
	ld.param.u8 %h1, [a];
	ld.param.s8 %r1, [a];
	ld.param.s16 %r2, [b];
	ld.param.u16 %h2, [b];
	ld.param.b32 %r3, [pair+4];
	ld.param.s32 %rd1, [pair+8];
	ld.param.b64 %rd2, [c];
	ld.param.v4.b32 {%r4, %r5, %r6, %r7}, [four];
	ld.param.v2.b64 {%rd3, %rd4}, [four];
	ld.param.u64 %rd5, [out];
	cvt.u64.u16 %rd6, %h1;
	st.global.u64 [%rd5], %rd6;
	st.global.s32 [%rd5+8], %r1;
	st.global.s32 [%rd5+12], %r2;
	st.global.u16 [%rd5+16], %h2;
	st.global.u32 [%rd5+20], %r3;
	st.global.u64 [%rd5+24], %rd1;
	st.global.u64 [%rd5+32], %rd2;
	st.global.v4.u32 [%rd5+40], {%r7, %r6, %r5, %r4};
	mov.b64 %rd7, pair;
	ld.param.u32 %r8, [%rd7+12];
	cvta.param.u64 %rd8, %rd7;
	ld.u32 %r9, [%rd8+4];
	add.u32 %r10, %r8, %r9;
	st.global.u32 [%rd5+56], %r10;
	st.global.u64 [%rd5+64], %rd4;
	ret;
}
";
    let bench = Bench::with_head(text);
    let kernel = bench.program.kernel("k").expect("the kernel");
    let places: Vec<(u32, u32)> = kernel.parameters.iter().map(|place| (place.offset, place.bytes)).collect();
    assert_eq!(places, [(0, 1), (2, 2), (8, 16), (24, 8), (32, 16), (48, 8)]);
    assert_eq!(kernel.parameter_bytes, 56);
    let pair: Vec<u8> = [1u32, 20, 0xFFFF_FFFE, 400].iter().flat_map(|word| word.to_le_bytes()).collect();
    let four: Vec<u8> = [11u32, 12, 13, 14].iter().flat_map(|word| word.to_le_bytes()).collect();
    // 16-byte vectors want their alignment.
    let out = bench.memory.allocate(128, Kind::Device).expect("memory") + 8;
    let arguments: [Argument; 6] =
        [200u8.into(), (-3i32 as u16).into(), pair.into(), 1.5f64.into(), four.into(), out.into()];
    let before = bench.memory.allocations().len();
    bench.run("k", [1; 3], [1, 1, 1], &arguments);
    assert_eq!(bench.memory.allocations().len(), before, "the parameters' memory is given back");
    assert_eq!(bench.download::<u64>(out, 1), [200]);
    assert_eq!(bench.download::<i32>(out + 8, 2), [-56, -3]);
    assert_eq!(bench.download::<u16>(out + 16, 1), [0xFFFD]);
    assert_eq!(bench.download::<u32>(out + 20, 1), [20]);
    assert_eq!(bench.download::<i64>(out + 24, 1), [-2]);
    assert_eq!(bench.download::<f64>(out + 32, 1), [1.5]);
    assert_eq!(bench.download::<u32>(out + 40, 5), [14, 13, 12, 11, 420]);
    assert_eq!(bench.download::<u64>(out + 64, 1), [14 << 32 | 13]);
}

#[test]
fn vector_registers_and_reuse_of_names() {
    let bench = Bench::with_head(&kernel(
        "k",
        ".shared .align 16 .b8 tile[16];\n.reg .v4 .b32 %v;",
        "mov.b32 %v.x, 1;
         mov.b32 %v.y, 20;
         mov.b32 %v.z, 300;
         mov.b32 %v.w, 4000;
         st.shared.v4.b32 [tile], %v;
         bar.sync 0;
        {
         .reg .b32 %r0;
         mov.b32 %r0, 9;
        }
         ld.shared.v4.b32 {%r2, %r3, _, %r4}, [tile];
         add.u32 %r0, %r2, %r3;
         add.u32 %r0, %r0, %r4;",
    ));
    assert_eq!(bench.results("k", 32), [4021; 32]);
}

#[test]
fn what_kernels_need() {
    let text = ".visible .entry plain(.param .u64 out)
.maxntid 128, 2, 1
{
	.local .align 8 .b8 depot[40];
	.reg .b32 %r<3>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [out];
	ld.global.u32 %r1, [%rd1];
	ld.global.u32 %r2, [%rd1+4];
	add.u32 %r1, %r1, %r2;
	st.global.u32 [%rd1], %r1;
	ret;
}
.visible .entry chained(.param .u64 out)
.reqntid 64
{
	.reg .b32 %r<3>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [out];
	ld.global.u64 %rd2, [%rd1];
	ld.global.u64 %rd3, [%rd2];
	bar.sync 0;
	st.global.u64 [%rd1], %rd3;
	ret;
}
";
    let bench = Bench::with_head(text);
    let [plain, chained] = ["plain", "chained"].map(|name| bench.program.kernel(name).expect("the kernel"));
    assert_eq!((plain.max_threads, plain.required_block, plain.local_bytes), (Some(256), None, 40));
    assert_eq!((chained.max_threads, chained.required_block), (Some(64), Some([64, 1, 1])));
    assert_eq!((plain.round_trips, plain.phased), (1, false));
    assert_eq!((chained.round_trips, chained.phased), (2, true));
    assert_eq!((plain.registers, chained.registers), (16, 16));
    let waits: Vec<&str> =
        bench.program.sites().iter().filter(|site| site.waits_before).map(|site| &*site.opcode).collect();
    assert_eq!(waits, ["add.u32", "ld.global.u64", "st.global.u64"]);
    assert_eq!(bench.program.kernels().len(), 2);
}

/// Sums what it reads, from `%rd1` on, in a loop with something more in it.
fn summing_loop(more: &str) -> String {
    let body = format!(
        "ld.param.u64 %rd1, [out];
mov.b32 %r2, 0;
mov.b32 %r4, 0;
mov.b64 %rd2, 0;
again:
ld.global.u32 %r3, [%rd1];
{more}
add.u32 %r2, %r2, %r3;
add.u64 %rd1, %rd1, 128;
add.u32 %r4, %r4, 1;
setp.lt.u32 %p1, %r4, 64;
@%p1 bra again;
mov.b32 %r0, %r2;"
    );
    kernel("k", "", &body)
}

#[test]
fn loads_of_several_turns_are_waited_for_together_where_ptxas_can_move_them_up() {
    for (more, turns) in [
        // 64 iterations, of which no loop is left.
        ("", 64),
        ("ld.global.u32 %r5, [%rd1+8192];\nadd.u32 %r2, %r2, %r5;", 64),
        ("ld.shared.u32 %r5, [%r4];\nadd.u32 %r2, %r2, %r5;", 64),
        // What stands between a load and the next turn's.
        ("bar.sync 0;", 1),
        ("st.global.u32 [%rd1+4], %r4;", 1),
        ("red.global.add.u32 [%rd1+4], %r4;", 1),
        ("atom.global.add.u32 %r5, [%rd1+4], %r4;", 1),
        ("ld.relaxed.gpu.global.u32 %r5, [%rd2];", 1),
        ("fence.acq_rel.gpu;", 1),
        // Whether there is a load depends on one of the same turn.
        ("setp.ne.u32 %p2, %r3, 0;\n@%p2 ld.global.u32 %r6, [%rd2];", 64),
        // The next address is what was read, and the loop ends by what was read.
        ("cvt.u64.u32 %rd3, %r3;\nadd.u64 %rd1, %rd1, %rd3;", 1),
        ("add.u32 %r4, %r4, %r3;", 1),
        // More than one basic block.
        ("setp.eq.u32 %p2, %r4, 7;\n@%p2 bra inner;\nmov.b32 %r6, 1;\ninner:", 1),
    ] {
        let bench = Bench::with_head(&summing_loop(more));
        let waiting = bench.program.sites().iter().filter(|site| site.waits_before);
        let first = waiting.map(|site| site.turns_together).next();
        assert_eq!(first, Some(turns), "{more}");
    }
}

#[test]
fn each_phase_of_a_copys_barrier_is_waited_for() {
    let ring = |copy: &str| {
        let body = format!(
            "ld.param.u64 %rd1, [out];
mov.b32 %r4, 0;
mbarrier.init.shared.b64 [%r4], 1;
step:
setp.ne.u32 %p2, %r1, 0;
@%p2 bra again;
{copy}
again:
mbarrier.try_wait.parity.shared.b64 %p1, [%r4], 0;
@!%p1 bra again;
add.u32 %r2, %r2, 1;
setp.lt.u32 %p1, %r2, 64;
@%p1 bra step;
mov.b32 %r0, 1;"
        );
        let bench = Bench::with_head(&kernel("k", "", &body));
        let sites = bench.program.sites().iter().filter(|site| site.waits_before);
        sites.map(|site| (site.opcode.to_string(), site.awaits_earlier.len())).collect::<Vec<_>>()
    };
    let bulk = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd1], 64, [%r4];";
    let tensor = "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd1, {%r4}], [%r4];";
    // Although the copies are not in the loop that asks, as often as it asks.
    let wait = ("mbarrier.try_wait.parity.shared.b64".to_owned(), 0);
    assert_eq!((ring(bulk), ring(tensor), ring("")), (vec![wait.clone()], vec![wait], vec![]));
}

#[test]
fn what_was_loaded_before_a_loop_is_waited_for_once() {
    let body = "ld.param.u64 %rd1, [out];
mov.b32 %r4, 0;
ld.global.u32 %r2, [%rd1];
outer:
ld.global.u32 %r3, [%rd1+128];
again:
ld.global.u32 %r5, [%rd1+256];
add.u32 %r2, %r2, %r3;
add.u32 %r2, %r2, %r5;
add.u32 %r4, %r4, 1;
setp.lt.u32 %p1, %r4, 64;
@%p1 bra again;
setp.lt.u32 %p1, %r2, 64;
@%p1 bra outer;
mov.b32 %r0, %r2;";
    let bench = Bench::with_head(&kernel("k", "", body));
    let sites = bench.program.sites();
    let line = |site: u32| sites[site as usize].line;
    let begin = sites.iter().find(|site| &*site.opcode == "ld.global.u32").expect("a load").line;
    let waits = sites.iter().filter(|site| site.waits_before);
    let waits = waits.map(|site| {
        let earlier = site.awaits_earlier.iter().map(|&load| line(load) - begin);
        (site.line - begin, earlier.collect::<Vec<u32>>())
    });
    // The first sum waits for both loads before its loop, and the next for that of the loop, each time.
    assert_eq!(waits.collect::<Vec<_>>(), [(5, vec![0, 2]), (6, vec![])]);
}

/// The instructions of a loop that the machine code has once for four iterations, by opcode.
fn once_a_turn(before: &str, body: &str, decides: &str) -> Vec<String> {
    let text = format!(
        "ld.param.u64 %rd1, [out];
mov.u32 %r5, %ntid.x;
mov.b32 %r2, 0;
{before}
again:
{body}
add.u64 %rd1, %rd1, 128;
add.u32 %r4, %r4, 1;
{decides}
@%p1 bra again;
mov.b32 %r0, %r2;"
    );
    let bench = Bench::with_head(&kernel("k", "", &text));
    let sites = bench.program.sites().iter();
    sites.filter(|site| site.once_a_turn.is_some()).map(|site| site.opcode.to_string()).collect()
}

#[test]
fn loops_with_a_counter_and_loads_are_unrolled_four_times() {
    let (zero, load) = ("mov.b32 %r4, 0;", "ld.global.u32 %r3, [%rd1];\nadd.u32 %r2, %r2, %r3;");
    let less = "setp.lt.u32 %p1, %r4, %r5;";
    let steps = ["add.u64", "add.u32", "setp.lt.u32", "bra"];
    assert_eq!(once_a_turn(zero, load, less), steps);
    // A counter that the loop uses otherwise steps in each iteration.
    assert_eq!(
        once_a_turn(zero, &format!("{load}\nadd.u32 %r2, %r2, %r4;"), less),
        ["add.u64", "setp.lt.u32", "bra"]
    );
    let many = format!("{load}\n{}", "xor.b32 %r2, %r2, %r3;\nadd.u32 %r2, %r2, 7;\n".repeat(40));
    for (begins, body, decides) in [
        // No loads; more instructions than ptxas unrolls; a division, which branches to its rare cases.
        (zero, "add.u32 %r2, %r2, 3;", less),
        (zero, &many, less),
        (zero, &format!("{load}\ndiv.rn.f32 %f1, %f1, %f2;"), less),
        // What another loop has left, and a counter that begins in two ways.
        ("and.b32 %r4, %r5, 7;", load, less),
        ("mov.b32 %r4, 0;\nsetp.eq.u32 %p2, %r5, 3;\n@%p2 bra again;\nmov.b32 %r4, 1;", load, less),
        // The counter steps by what was loaded, and the bound changes.
        (zero, &format!("{load}\nadd.u32 %r4, %r4, %r3;"), less),
        (zero, &format!("{load}\nadd.u32 %r5, %r5, %r3;"), less),
        // 100 iterations: no loop is left.
        (zero, load, "setp.lt.u32 %p1, %r4, 100;"),
    ] {
        assert_eq!(once_a_turn(begins, body, decides), Vec::<String>::new(), "{begins} {body} {decides}");
    }
}

#[test]
fn loops_of_few_known_iterations_leave_no_step() {
    let bench = Bench::with_head(&summing_loop(""));
    let issued = |opcode: &str| {
        let sites = bench.program.sites().iter().filter(|site| &*site.opcode == opcode);
        sites.map(|site| site.slots.issued).collect::<Vec<_>>()
    };
    assert_eq!([issued("add.u64"), issued("setp.lt.u32"), issued("bra")], [[0], [0], [0]]);
    assert_eq!([issued("add.u32"), issued("ld.global.u32")], [vec![1, 0], vec![1]]);
}

#[test]
fn loads_take_registers_by_their_addresses_and_their_width() {
    let weights = |body: &str| {
        let text = format!("ld.param.u64 %rd1, [out];\nmov.b32 %r4, 0;\nmov.b64 %rd2, 0;\n{body}");
        let bench = Bench::with_head(&kernel("k", "", &text));
        let sites = bench.program.sites().iter().map(|site| site.load_weight);
        sites.filter(|weight| *weight > 0.0).collect::<Vec<_>>()
    };
    let looping = |body: &str| format!("again:\n{body}\nsetp.ne.u32 %p1, %r4, %r0;\n@%p1 bra again;");
    let row = "ld.global.u32 %r2, [%rd1];\nld.global.u32 %r3, [%rd1+128];\nadd.u64 %rd1, %rd1, 256;";
    assert_eq!(weights(row), [0.5, 0.5]);
    assert_eq!(weights(&looping(row)), [1.0, 1.0]);
    let column = "ld.global.u32 %r2, [%rd1];\nadd.u64 %rd1, %rd1, %rd2;\nld.global.u32 %r3, [%rd2];";
    assert_eq!(weights(&looping(column)), [1.6, 1.6]);
    assert_eq!(weights(&looping("ld.global.v4.u32 {%r2, %r3, %r5, %r6}, [%rd1];")), [2.0]);
}

/// The slots of each instruction of a kernel's body, behind a move of `%tid.x` into `%r1`.
fn slots_of(body: &str) -> Vec<Slots> {
    let bench = Bench::with_head(&kernel("k", "", body));
    bench.program.sites().iter().skip(1).take(body.lines().count()).map(|site| site.slots).collect()
}

fn issued(body: &str) -> Vec<u8> {
    slots_of(body).iter().map(|slots| slots.issued).collect()
}

#[test]
fn one_machine_instruction_computes_what_follows_from_three_operands() {
    // The majority of three words, and the choice of one of two.
    let majority = "and.b32 %r4, %r1, %r2;\nand.b32 %r5, %r1, %r3;\nxor.b32 %r6, %r4, %r5;\n\
                    and.b32 %r7, %r2, %r3;\nxor.b32 %r8, %r6, %r7;";
    assert_eq!(issued(majority), [0, 0, 0, 0, 1]);
    let choice = "xor.b32 %r4, %r2, %r3;\nand.b32 %r5, %r4, %r1;\nxor.b32 %r6, %r5, %r3;";
    assert_eq!(issued(choice), [0, 0, 1]);
    // Four operands are one too many, and what is read twice is computed.
    let four = "xor.b32 %r4, %r1, %r2;\nxor.b32 %r5, %r3, %r9;\nxor.b32 %r6, %r4, %r5;";
    assert_eq!(issued(four), [0, 1, 1]);
    let twice = "xor.b32 %r4, %r1, %r2;\nxor.b32 %r5, %r4, %r3;\nadd.u32 %r6, %r4, %r5;";
    assert_eq!(issued(twice), [1, 1, 1]);
    // Constants are operands, and the same one is the same operand.
    let masked = |last: u32| {
        issued(&format!("and.b32 %r4, %r1, 15;\nor.b32 %r5, %r4, %r2;\nxor.b32 %r6, %r5, {last};"))
    };
    assert_eq!([masked(15), masked(7)], [[0, 0, 1], [0, 1, 1]]);
    let sums = "add.u32 %r4, %r1, %r2;\nadd.u32 %r5, %r4, %r3;\nadd.u32 %r6, %r5, %r9;";
    assert_eq!(issued(sums), [0, 1, 1]);
}

#[test]
fn each_address_computes_its_product_again() {
    let with = |last: &str| {
        issued(&format!(
            "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nxor.b64 %rd4, %rd3, %rd1;\n{last}"
        ))
    };
    assert_eq!(with("add.s64 %rd5, %rd4, %rd2;"), [0, 1, 2, 1]);
    // Not where something else reads it, or where it changes.
    assert_eq!(with("mul.lo.s64 %rd5, %rd4, %rd2;"), [1, 2, 2, 4]);
    assert_eq!(with("add.s64 %rd2, %rd2, %rd4;"), [1, 2, 2, 2]);
}

#[test]
fn conversions_to_floats_take_bytes_themselves() {
    let with = |piece: &str| {
        let slots = slots_of(&format!("{piece}\ncvt.rn.f32.u32 %f1, %r2;"));
        slots.iter().map(|slots| (slots.issued, slots.special)).collect::<Vec<_>>()
    };
    assert_eq!(with("and.b32 %r2, %r1, 255;"), [(0, 0), (1, 1)]);
    assert_eq!(with("bfe.u32 %r2, %r1, 16, 16;"), [(0, 0), (1, 1)]);
    assert_eq!(with("and.b32 %r2, %r1, 127;"), [(1, 0), (1, 0)]);
    assert_eq!(with("bfe.u32 %r2, %r1, 4, 8;"), [(2, 0), (1, 0)]);
}

#[test]
fn kernels_begin_with_machine_instructions_of_no_other() {
    let issued = |body: &str| -> Vec<u8> {
        let text = format!(
            ".visible .entry k(.param .u64 out) {{ .reg .b32 %r<3>; .reg .b64 %rd<2>; {body} ret; }}"
        );
        Bench::with_head(&text).program.sites().iter().map(|site| site.slots.issued).collect()
    };
    // One for the stack; at the end are the return, and the one that is behind every function.
    assert_eq!(issued("add.u32 %r1, %r2, %r2;"), [2, 1, 1]);
    // Also one for the descriptor of global memory, for a parameter, and for a special register.
    let storing = "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; st.global.u32 [%rd1], %r1;";
    assert_eq!(issued(storing), [3, 1, 1, 1, 1]);
}

#[test]
fn branches_to_what_follows_take_no_instruction() {
    let begin = "setp.eq.u32 %p1, %r1, 3;";
    // The condition is turned round, and the last branch leads to what follows.
    let around = format!(
        "{begin}\n@%p1 bra A;\nbra.uni B;\nA: add.u32 %r2, %r1, 1;\nbra.uni B;\nB: xor.b32 %r3, %r1, %r2;"
    );
    assert_eq!(issued(&around), [1, 1, 0, 1, 0, 1]);
    // Here both lead elsewhere.
    let apart = format!(
        "{begin}\n@%p1 bra B;\nbra.uni C;\nA: add.u32 %r2, %r1, 1;\nB: xor.b32 %r3, %r1, %r2;\nC: xor.b32 %r4, %r1, 5;"
    );
    assert_eq!(issued(&apart), [1, 1, 1, 1, 1, 1]);
}

#[test]
fn halves_of_64_bits_that_are_known_take_no_instruction() {
    let text = "ld.param.u64 %rd1, [out];
cvt.u64.u32 %rd2, %r1;
cvt.u64.u32 %rd3, %r2;
shl.b64 %rd4, %rd3, 32;
or.b64 %rd5, %rd4, %rd2;
and.b64 %rd6, %rd5, 255;
shr.u64 %rd7, %rd5, 40;
and.b64 %rd8, %rd5, %rd1;
cvt.u32.u64 %r0, %rd6;";
    let bench = Bench::with_head(&kernel("k", "", text));
    let sites = bench.program.sites().iter().filter(|site| site.opcode.ends_with("64"));
    let issued: Vec<_> = sites.map(|site| (&*site.opcode, site.slots.issued)).collect();
    let expected = [("shl.b64", 0), ("or.b64", 0), ("and.b64", 1), ("shr.u64", 1), ("and.b64", 2)]
        .map(|(op, of)| (op, of));
    let found: Vec<_> =
        issued.into_iter().filter(|(op, _)| !op.starts_with("ld") && !op.starts_with("cvt")).collect();
    assert_eq!(found, expected);
}

#[test]
fn loads_under_a_condition_wait_for_none_before() {
    let waits = |between: &str, inside: &str| -> Vec<String> {
        let body = format!(
            "ld.global.u32 %r3, [%rd1];\nadd.u32 %r4, %r3, 1;\n{between}setp.eq.u32 %p1, %r1, 3;\n@%p1 bra INSIDE;\nbra.uni JOIN;\n\
             INSIDE:\nld.global.u32 %r5, [%rd1+4];\n{inside}add.u32 %r4, %r4, %r5;\nJOIN:\nld.global.u32 %r6, [%rd1+8];\n\
             mul.lo.u32 %r4, %r4, %r6;\n"
        );
        let bench = Bench::with_head(&kernel("k", "", &body));
        let sites = bench.program.sites().iter().filter(|site| site.waits_before);
        sites.map(|site| site.opcode.to_string()).collect()
    };
    // All three loads are in flight when the first result is wanted.
    assert_eq!(waits("", ""), ["add.u32"]);
    // Loads do not move above a store, in the body or before the branch.
    assert_eq!(waits("st.global.u32 [%rd1], %r1;\n", ""), ["add.u32", "add.u32"]);
    assert_eq!(waits("", "st.global.u32 [%rd1], %r1;\n"), ["add.u32", "mul.lo.u32"]);
    // ptxas keeps the branch around a body with a barrier or an atomic.
    assert_eq!(waits("", "bar.sync 0;\n"), ["add.u32", "add.u32", "mul.lo.u32"]);
    let red = "red.shared.add.u32 [%r1], 1;\n";
    assert_eq!(waits("", red), ["add.u32", "add.u32", "mul.lo.u32"]);
}

#[test]
fn loads_whose_address_was_loaded_follow_a_chain() {
    use simt::internals::exec::Chained::{Global, OnChip};
    for (more, chain) in [
        ("", vec![]),
        ("ld.global.u64 %rd1, [%rd1];", vec![Some(Global); 2]),
        // By arithmetic, too; and what is only summed is no address.
        ("cvt.u64.u32 %rd3, %r3;\nadd.u64 %rd1, %rd1, %rd3;", vec![Some(Global)]),
        ("ld.shared.u32 %r5, [%r5];", vec![Some(OnChip)]),
        ("ld.shared::cta.u32 %r5, [%r5];", vec![Some(OnChip)]),
        ("ld.shared.u32 %r5, [%r6];\nld.const.u32 %r6, [%r5];", vec![Some(OnChip); 2]),
        // An address on the chip that global memory gave is the end of a chain of its own.
        ("ld.shared.u32 %r5, [%r3];", vec![]),
    ] {
        let bench = Bench::with_head(&summing_loop(more));
        let chained: Vec<_> =
            bench.program.sites().iter().map(|site| site.chained).filter(Option::is_some).collect();
        assert_eq!(chained, chain, "{more}");
    }
}

#[test]
fn adjacent_accesses_to_shared_memory_merge_where_they_are_aligned() {
    let four = |base: &str| -> String {
        (0..4).map(|word| format!("ld.shared.b32 %r{}, [{base}+{}];\n", 10 + word, 4 * word)).collect()
    };
    let whole = vec![(0, 16), (4, 0), (8, 0), (12, 0)];
    let halves = vec![(0, 8), (4, 0), (0, 8), (4, 0)];
    for (body, merged) in [
        ("shl.b32 %r3, %r1, 4;\nadd.u32 %r3, %r2, %r3;\n".to_owned() + &four("%r3"), whole.clone()),
        ("mad.lo.u32 %r3, %r1, 48, %r2;\n".to_owned() + &four("%r3"), whole.clone()),
        ("mul.wide.u32 %rd1, %r1, 32;\ncvt.u64.u32 %rd2, %r2;\nadd.u64 %rd1, %rd2, %rd1;\n".to_owned() + &four("%rd1"), whole),
        // Multiples of 8 bytes, of 4, and of a factor that is known only when it runs.
        ("shl.b32 %r3, %r1, 3;\nadd.u32 %r3, %r2, %r3;\n".to_owned() + &four("%r3"), halves),
        ("mad.lo.u32 %r3, %r1, 4, %r2;\n".to_owned() + &four("%r3"), vec![]),
        ("mad.lo.u32 %r3, %r1, %r1, %r2;\n".to_owned() + &four("%r3"), vec![]),
        // In any order; and what is left over of five words.
        (
            "mad.lo.u32 %r3, %r1, 32, %r2;\nld.shared.b32 %r14, [%r3+28];\n".to_owned()
                + "ld.shared.b32 %r15, [%r3+20];\nld.shared.b32 %r16, [%r3+24];\nld.shared.b32 %r17, [%r3+16];\nld.shared.b32 %r18, [%r3];\n",
            vec![(12, 16), (4, 0), (8, 0), (0, 0)],
        ),
        // A store or a barrier between them, and a base that moves.
        (
            "mad.lo.u32 %r3, %r1, 8, %r2;\nld.shared.b32 %r4, [%r3];\nst.shared.b32 [%r3+64], %r4;\nld.shared.b32 %r5, [%r3+4];\n".to_owned(),
            vec![],
        ),
        (
            "mad.lo.u32 %r3, %r1, 8, %r2;\nld.shared.b32 %r4, [%r3];\nbar.sync 0;\nld.shared.b32 %r5, [%r3+4];\n".to_owned(),
            vec![],
        ),
        (
            "mad.lo.u32 %r3, %r1, 8, %r2;\nld.shared.b32 %r4, [%r3];\nadd.u32 %r3, %r3, 8;\nld.shared.b32 %r5, [%r3+4];\n".to_owned(),
            vec![],
        ),
        (
            "mad.lo.u32 %r3, %r1, 16, %r2;\nld.shared.f64 %rd3, [%r3];\nld.shared.f64 %rd4, [%r3+8];\n".to_owned(),
            vec![(0, 16), (8, 0)],
        ),
        // Stores, unless something else is accessed between them, behind another register perhaps.
        (
            "mad.lo.u32 %r3, %r1, 8, %r2;\nst.shared.b32 [%r3], %r1;\nst.shared.b32 [%r3+4], %r1;\n".to_owned(),
            vec![(0, 8), (4, 0)],
        ),
        (
            "mad.lo.u32 %r3, %r1, 8, %r2;\nst.shared.b32 [%r3], %r1;\nld.shared.b32 %r4, [%r2];\nst.shared.b32 [%r3+4], %r1;\n".to_owned(),
            vec![],
        ),
        (
            "mad.lo.u32 %r3, %r1, 8, %r2;\nst.shared.b32 [%r3], %r1;\nst.shared.b32 [%r2], %r1;\nst.shared.b32 [%r3+4], %r1;\n".to_owned(),
            vec![],
        ),
    ] {
        let body = format!("mov.u32 %r2, tile;\n{body}");
        let bench = Bench::with_head(&kernel("k", ".shared .align 4 .b8 tile[4096];", &body));
        let found = bench.program.sites().iter().filter_map(|site| site.merged);
        assert_eq!(found.map(|merged| (merged.back, merged.bytes)).collect::<Vec<_>>(), merged, "{body}");
        let sites = bench.program.sites().iter();
        assert!(sites.filter(|site| site.merged.is_some_and(|merged| merged.bytes == 0)).all(|site| site.slots.issued == 0));
    }
}

#[test]
fn branches_and_addresses_wait_longer_for_a_result() {
    let clocks = |body: &str| -> f32 {
        let products = "mul.lo.u32 %r0, %r0, %r0;\nmul.lo.u32 %r0, %r0, %r0;\n";
        let bench = Bench::with_head(&kernel("k", "", &format!("{body}\n{products}")));
        bench.program.sites().iter().map(|site| site.dependency_clocks).sum()
    };
    let selected = clocks("setp.eq.u32 %p1, %r1, 3;\nselp.b32 %r2, %r1, 4, %p1;\nadd.u32 %r0, %r2, 1;");
    let guarded = clocks("setp.eq.u32 %p1, %r1, 3;\n@%p1 mov.b32 %r2, 4;\n@%p1 add.u32 %r0, %r1, 1;");
    // The selection takes four clocks, the guard nine more for its predicate. A kernel begins with three machine instructions, the
    // move of `%tid.x` among them.
    let begin = 3.0;
    assert_eq!(selected, begin + 4.0 + 4.0 + 4.0 + 8.0 + 1.0);
    assert_eq!(guarded, begin + 4.0 + 9.0 + 4.0 + 8.0 + 1.0);
}

/// Forty values that are all wanted at the end.
#[test]
fn registers_are_estimated_by_what_is_live() {
    let load = |index: usize| format!("ld.global.u32 %r{index}, [%rd1+{}];\n", index * 4);
    let add = |index: usize| format!("add.u32 %r0, %r0, %r{index};\n");
    let body = "ld.param.u64 %rd1, [out];\nmov.b32 %r0, 0;\n".to_owned()
        + &(2..40).map(load).collect::<String>()
        + &(2..40).map(add).collect::<String>();
    let bench = Bench::with_head(&kernel("k", "", &body));
    // 38 values, their sum and the thread's number. The address is a parameter.
    assert_eq!(bench.program.kernel("k").expect("the kernel").registers, 48);
    // What the block's number makes lies in uniform registers.
    let of_block =
        |index: usize| format!("mov.u32 %r{index}, %ctaid.x;\nadd.u32 %r{index}, %r{index}, {index};\n");
    let body = "mov.u32 %r0, %tid.x;\n".to_owned()
        + &(2..40).map(of_block).collect::<String>()
        + &(2..40).map(add).collect::<String>();
    let bench = Bench::with_head(&kernel("k", "", &body));
    assert_eq!(bench.program.kernel("k").expect("the kernel").registers, 16);
}

#[test]
fn accesses_in_a_short_body_of_a_branch_are_issued_with_it() {
    let guarded = |body: &str| -> Vec<(String, String)> {
        let text = format!(
            "ld.param.u64 %rd1, [out];
setp.gt.u32 %p1, %r0, 3;
@%p1 bra join;
{body}
join:
mov.b32 %r0, 1;"
        );
        let bench = Bench::with_head(&kernel("k", "", &text));
        let sites = bench.program.sites();
        let named = |site: usize| sites[site].opcode.to_string();
        let pairs = sites.iter().enumerate().filter_map(|(site, info)| Some((site, info.guarded_by?)));
        pairs.map(|(site, branch)| (named(site), named(branch as usize))).collect()
    };
    let with_branch = |opcode: &str| (opcode.to_owned(), "bra".to_owned());
    assert_eq!(
        guarded("ld.shared.u32 %r2, [%r1];\nadd.u32 %r2, %r2, 1;\nst.shared.u32 [%r1], %r2;"),
        [with_branch("ld.shared.u32"), with_branch("st.shared.u32")]
    );
    // What a guard does not suffice for: a barrier, an atomic, a loop, the end of the kernel; and a long body.
    assert_eq!(guarded("st.shared.u32 [%r1], %r2;\nbar.sync 0;"), []);
    assert_eq!(guarded("st.shared.u32 [%r1], %r2;\natom.shared.add.u32 %r2, [%r1], 1;"), []);
    assert_eq!(guarded("again:\nld.shared.u32 %r1, [%r1];\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 bra again;"), []);
    assert_eq!(guarded("st.shared.u32 [%r1], %r2;\nexit;"), []);
    assert_eq!(guarded(&format!("st.shared.u32 [%r1], %r2;{}", "\nadd.u32 %r2, %r2, %r1;".repeat(16))), []);
}

#[test]
fn accesses_whose_place_a_value_from_memory_tells_are_indexed() {
    let body = "ld.param.u64 %rd1, [out];
ld.global.u32 %r2, [%rd1];
mul.wide.u32 %rd2, %r2, 4;
add.u64 %rd3, %rd1, %rd2;
ld.global.f32 %f1, [%rd3];
st.global.f32 [%rd3+4], %f1;
st.global.f32 [%rd1+4], %f1;
st.shared.u32 [%r2], %r1;
mov.b32 %r0, 1;";
    let bench = Bench::with_head(&kernel("k", "", body));
    let indexed = bench.program.sites().iter().filter(|site| site.indexed);
    let opcodes: Vec<&str> = indexed.map(|site| &*site.opcode).collect();
    assert_eq!(opcodes, ["ld.global.f32", "st.global.f32"]);
}

/// As in the machine code that ptxas 13.5 makes for `sm_90`: `redux` or a population count before these, and nothing before the others.
#[test]
fn ptxas_combines_lanes_of_a_uniform_address() {
    let body = "ld.param.u64 %rd9, [out];
ld.global.u64 %rd1, [%rd9];
ld.global.u32 %r1, [%rd9];
red.global.add.u32 [%rd9], %r1;
atom.global.min.s32 %r5, [%rd9], %r1;
red.global.or.b32 [%rd9], 1;
atom.global.add.u32 %r6, [%rd9], %r1;
red.global.add.u64 [%rd9], 1;
atom.global.max.u32 %r7, [%rd9], %r1;
red.global.add.u64 [%rd9], %rd1;
red.global.max.u64 [%rd9], %rd1;
red.global.or.b64 [%rd9], 1;
red.global.inc.u32 [%rd9], 7;
red.global.add.f32 [%rd9], %f1;
add.u64 %rd2, %rd9, %rd1;
red.global.add.u32 [%rd2], %r1;
st.global.u32 [%rd9], %r6;
st.global.u32 [%rd9], %r7;
mov.b32 %r0, 1;";
    let bench = Bench::with_head(&kernel("k", "", body));
    let atomics = bench.program.sites().iter().filter(|site| site.op.is_atomic());
    let (combined, apart): (Vec<_>, Vec<_>) = atomics.partition(|site| site.combined);
    let opcodes =
        |sites: Vec<&SiteInfo>| sites.iter().map(|site| site.opcode.to_string()).collect::<Vec<_>>();
    // A 64-bit addition of 1 is combined, and that of a loaded number is not; nor is an addition at an address that differs.
    let wanted = ["red.global.add.u32", "atom.global.min.s32", "red.global.or.b32", "atom.global.add.u32"];
    assert_eq!(opcodes(combined), [&wanted[..], &["red.global.add.u64"]].concat());
    let wanted = ["atom.global.max.u32", "red.global.add.u64", "red.global.max.u64", "red.global.or.b64"];
    let others = ["red.global.inc.u32", "red.global.add.f32", "red.global.add.u32"];
    assert_eq!(opcodes(apart), [&wanted[..], &others].concat());
}

/// A block's leader takes numbers from a counter in a loop.
#[test]
fn work_taken_from_a_counter_is_found() {
    let body = "ld.param.u64 %rd9, [out];
atom.global.add.u32 %r5, [%rd9], 1;
NEXT:
atom.global.add.u32 %r6, [%rd9], 1;
setp.lt.u32 %p1, %r6, %r5;
atom.global.add.u32 %r7, [%rd9], 1;
mul.wide.u32 %rd1, %r7, 4;
add.u64 %rd1, %rd9, %rd1;
st.global.u32 [%rd1], %r1;
atom.global.add.u32 %r8, [%rd9], 1;
st.shared.u32 [%r1], %r8;
@%p1 bra NEXT;
mov.b32 %r0, 1;";
    let bench = Bench::with_head(&kernel("k", "", body));
    let takes: Vec<bool> =
        bench.program.sites().iter().filter(|site| site.op.is_atomic()).map(|site| site.takes_work).collect();
    // The third one is a place in a list.
    assert_eq!(takes, [false, true, false, true]);
}

#[test]
fn lanes_look_at_a_barrier_together() {
    let body = "mbarrier.init.shared.b64 [%r1], 32;
mbarrier.arrive.shared.b64 %rd1, [%r1];
mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0;
mbarrier.test_wait.shared.b64 %p1, [%r1], %rd1;
mov.b32 %r0, 1;";
    let bench = Bench::with_head(&kernel("k", "", body));
    let together = bench.program.sites().iter().filter(|site| site.combined);
    let opcodes: Vec<&str> = together.map(|site| &*site.opcode).collect();
    assert_eq!(opcodes, ["mbarrier.try_wait.parity.shared.b64", "mbarrier.test_wait.shared.b64"]);
}
