//! Calls: parameters, recursion, addresses of functions, and the functions that the machine brings with it.

use crate::exec_common::{Bench, HEAD, kernel};
use simt::exec::{LaunchFailure, Program};
use simt::fault::{FaultKind, Place};
use simt::memory::{Kind, Memory};
use simt::observe::Space;
use simt::ptx;

/// A call of a function of one 32-bit parameter and one such result.
fn call(target: &str, argument: &str, result: &str, more: &str) -> String {
    format!(
        "{{
	.param .b32 param0;
	st.param.b32 [param0], {argument};
	.param .b32 retval0;
	call (retval0), {target}, (param0){more};
	ld.param.b32 {result}, [retval0];
	}}"
    )
}

const SQUARE: &str = "
.func (.param .b32 result) square(.param .b32 value)
{
	.reg .b32 %r<3>;
	ld.param.b32 %r1, [value];
	mul.lo.u32 %r2, %r1, %r1;
	st.param.b32 [result], %r2;
	ret;
}
.func (.param .b32 result) negate(.param .b32 value)
{
	.reg .b32 %r<3>;
	ld.param.b32 %r1, [value];
	neg.s32 %r2, %r1;
	st.param.b32 [result], %r2;
	ret;
}
";

#[test]
fn calls_of_some_lanes() {
    let body = format!(
        "mov.b32 %r0, 5;
         setp.lt.u32 %p1, %r1, 10;
         @!%p1 bra SKIP;
         {}
        SKIP:
         add.u32 %r0, %r0, 1;",
        call("square", "%r1", "%r0", "")
    );
    let bench = Bench::with_head(&(SQUARE.to_owned() + &kernel("k", "", &body)));
    let wanted: Vec<u32> = (0..32).map(|thread| 1 + if thread < 10 { thread * thread } else { 5 }).collect();
    assert_eq!(bench.results("k", 32), wanted);
    let array = bench.upload(&[0u32; 32]);
    let log = bench.watch("k", 32, &[array.into()]);
    assert_eq!(bench.issued(&log, "mul.lo.u32"), (1, 10));
    assert_eq!(bench.issued(&log, "add.u32"), (1, 32));
}

#[test]
fn guarded_calls_meet_behind() {
    let guarded = call("square", "%r1", "%r0", "").replace("call (", "@%p1 call (");
    let body = format!(
        "mov.b32 %r0, 5;
         setp.lt.u32 %p1, %r1, 10;
         {guarded}
         add.u32 %r0, %r1, 1;",
    );
    let bench = Bench::with_head(&(SQUARE.to_owned() + &kernel("k", "", &body)));
    let array = bench.upload(&[0u32; 32]);
    let log = bench.watch("k", 32, &[array.into()]);
    assert_eq!(bench.issued(&log, "mul.lo.u32"), (1, 10));
    assert_eq!(bench.issued(&log, "add.u32"), (1, 32));
}

#[test]
fn calls_by_address_part_and_meet() {
    let body = format!(
        "and.b32 %r2, %r1, 1;
         mul.wide.u32 %rd1, %r2, 8;
         mov.u64 %rd2, table;
         add.u64 %rd1, %rd1, %rd2;
         ld.global.u64 %rd3, [%rd1];
         {}
         xor.b32 %r0, %r0, 1;",
        call("%rd3", "%r1", "%r0", ", prototype")
            .replace("call (", "prototype: .callprototype (.param .b32 _) _ (.param .b32 _);\n\tcall (")
    );
    let text =
        format!("{SQUARE}.global .align 8 .u64 table[2] = {{square, negate}};\n{}", kernel("k", "", &body));
    let bench = Bench::with_head(&text);
    let value = |thread: u32| 1 ^ if thread & 1 == 0 { thread * thread } else { thread.wrapping_neg() };
    assert_eq!(bench.results("k", 64), (0..64).map(value).collect::<Vec<_>>());
    let array = bench.upload(&[0u32; 64]);
    let log = bench.watch("k", 64, &[array.into()]);
    assert_eq!(bench.issued(&log, "xor.b32"), (2, 64));
    // Something that is no function.
    let table = bench.program.variable("table").expect("the table");
    bench.memory.write(table.address, &0x1234u64.to_le_bytes()).expect("the table");
    let failure = bench.try_run("k", [1; 3], [32, 1, 1], &[array.into()]);
    let Err(LaunchFailure::Fault { fault, .. }) = failure else { panic!("{failure:?}") };
    assert_eq!(
        fault.kind,
        FaultKind::Illegal("a call of 0x1234, which is not a function's address".to_owned())
    );
}

const FACTORIAL: &str = "
.func (.param .b64 result) factorial(.param .b32 value)
{
	.local .align 8 .b8 kept[8];
	.reg .pred %p<2>;
	.reg .b32 %r<4>;
	.reg .b64 %rd<6>;
	ld.param.b32 %r1, [value];
	mov.b64 %rd5, kept;
	cvta.local.u64 %rd4, %rd5;
	cvt.u64.u32 %rd1, %r1;
	st.local.u64 [%rd5], %rd1;
	mov.b64 %rd2, 1;
	setp.le.u32 %p1, %r1, 1;
	@%p1 bra DONE;
	sub.u32 %r2, %r1, 1;
	{
	.param .b32 param0;
	st.param.b32 [param0], %r2;
	.param .b64 retval0;
	call.uni (retval0), factorial, (param0);
	ld.param.b64 %rd2, [retval0];
	}
	ld.u64 %rd3, [%rd4];
	mul.lo.u64 %rd2, %rd2, %rd3;
DONE:
	st.param.b64 [result], %rd2;
	ret;
}
";

#[test]
fn recursion_each_lane_as_deep_as_it_wants() {
    let body = "and.b32 %r2, %r1, 15;
        {
         .param .b32 param0;
         st.param.b32 [param0], %r2;
         .param .b64 retval0;
         call.uni (retval0), factorial, (param0);
         ld.param.b64 %rd1, [retval0];
        }
         cvt.u32.u64 %r0, %rd1;";
    let bench = Bench::with_head(&(FACTORIAL.to_owned() + &kernel("k", "", body)));
    let factorial = |thread: u32| (1..=u64::from(thread & 15)).product::<u64>() as u32;
    assert_eq!(bench.results("k", 64), (0..64).map(factorial).collect::<Vec<_>>());
    // 16 bytes a call, and one more level than fits.
    let array = bench.upload(&[0u32; 32]);
    let run = |stack_bytes| {
        bench.launch_with("k", &[array.into()], &mut (), |launch| launch.stack_bytes = stack_bytes)
    };
    run(15 * 16).expect("fifteen calls fit");
    let Err(LaunchFailure::Fault { fault, .. }) = run(14 * 16) else { panic!("a fault") };
    assert_eq!(fault.kind, FaultKind::StackOverflow { wanted: 15 * 16, limit: 14 * 16 });
    assert_eq!(fault.thread, [15, 0, 0]);
}

#[test]
fn parameters_in_registers_and_structures() {
    let text = "
.func (.reg .b32 sum) add(.reg .b32 a, .reg .b32 b)
{
	add.u32 sum, a, b;
	ret;
}
.func (.param .align 8 .b8 result[16]) swap(.param .align 8 .b8 pair[16])
{
	.reg .b16 %h<2>;
	.reg .b64 %rd<4>;
	.reg .b32 %r<3>;
	ld.param.v2.b32 {%r1, %r2}, [pair+8];
	ld.param.s8 %h1, [pair+1];
	cvt.s64.s16 %rd1, %h1;
	st.param.b64 [result], %rd1;
	st.param.v2.b32 [result+8], {%r2, %r1};
	ret;
}
.func (.param .b32 result) through_memory(.param .align 4 .b8 many[12])
{
	.reg .b64 %rd<3>;
	.reg .b32 %r<4>;
	mov.b64 %rd1, many;
	cvta.local.u64 %rd2, %rd1;
	ld.local.u32 %r1, [%rd1+4];
	ld.u32 %r2, [%rd2+8];
	add.u32 %r3, %r1, %r2;
	st.param.b32 [result], %r3;
	ret;
}
";
    let body = "call (%r2), add, (%r1, 7);
        {
         .param .align 8 .b8 param0[16];
         mov.b64 %rd1, 0x8000;
         st.param.b64 [param0], %rd1;
         st.param.b32 [param0+8], %r2;
         st.param.b32 [param0+12], 1000;
         .param .align 8 .b8 retval0[16];
         call (retval0), swap, (param0);
         ld.param.b64 %rd2, [retval0];
         ld.param.b32 %r3, [retval0+8];
         ld.param.b32 %r4, [retval0+12];
        }
         cvt.u32.u64 %r5, %rd2;
         add.u32 %r0, %r3, %r4;
         add.u32 %r0, %r0, %r5;
        {
         .param .align 4 .b8 param0[12];
         st.param.b32 [param0], 1;
         st.param.b32 [param0+4], %r1;
         st.param.b32 [param0+8], 50000;
         .param .b32 retval0;
         call (retval0), through_memory, (param0);
         ld.param.b32 %r6, [retval0];
        }
         add.u32 %r0, %r0, %r6;";
    let bench = Bench::with_head(&(text.to_owned() + &kernel("k", "", body)));
    let wanted: Vec<u32> = (0..32).map(|thread| (1000 + thread + 7 + thread + 50000) - 128).collect();
    assert_eq!(bench.results("k", 32), wanted);
}

/// Returns in the middle of a divergent function: all go on together behind the call.
#[test]
fn lanes_that_return_differently_meet_behind_the_call() {
    let text = "
.func (.param .b32 result) pick(.param .b32 value)
{
	.reg .pred %p<4>;
	.reg .b32 %r<3>;
	ld.param.b32 %r1, [value];
	setp.gt.u32 %p1, %r1, 20;
	@%p1 bra BIG;
	st.param.b32 [result], 1;
	setp.eq.u32 %p2, %r1, 5;
	@%p2 ret;
	st.param.b32 [result], 2;
	ret;
BIG:
	st.param.b32 [result], 3;
	ret;
}
";
    let body = format!("{}\n xor.b32 %r0, %r0, 8;", call("pick", "%r1", "%r0", ""));
    let bench = Bench::with_head(&(text.to_owned() + &kernel("k", "", &body)));
    let value = |thread: u32| {
        8 ^ if thread > 20 {
            3
        } else if thread == 5 {
            1
        } else {
            2
        }
    };
    assert_eq!(bench.results("k", 32), (0..32).map(value).collect::<Vec<_>>());
    let array = bench.upload(&[0u32; 32]);
    let log = bench.watch("k", 32, &[array.into()]);
    assert_eq!(bench.issued(&log, "xor.b32"), (1, 32));
}

const EXTERNALS: &str = "
.extern .func (.param .b32 status) vprintf (.param .b64 format, .param .b64 arguments);
.extern .func __assertfail (.param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 size) .noreturn;
.extern .func (.param .b64 pointer) malloc (.param .b64 bytes);
.extern .func free (.param .b64 pointer);
";

fn bytes(name: &str, text: &str) -> String {
    let list: Vec<String> = text.bytes().chain([0]).map(|byte| byte.to_string()).collect();
    format!(".global .align 1 .b8 {name}[{}] = {{{}}};\n", list.len(), list.join(", "))
}

#[test]
fn prints_what_c_would() {
    let text = EXTERNALS.to_owned()
        + &bytes("format", "%s: %d %llu [%6.2f] %c %x\n")
        + &bytes("word", "thread")
        + &kernel(
            "k",
            ".local .align 8 .b8 buffer[48];",
            "mov.u64 %rd1, word;
             cvta.global.u64 %rd1, %rd1;
             st.local.u64 [buffer], %rd1;
             neg.s32 %r2, %r1;
             st.local.u32 [buffer+8], %r2;
             mov.b64 %rd2, 0xFFFFFFFFFFFFFFFF;
             st.local.u64 [buffer+16], %rd2;
             st.local.f64 [buffer+24], 0d400921FB54442D18;
             st.local.u32 [buffer+32], 88;
             st.local.u32 [buffer+36], 255;
             mov.u64 %rd3, buffer;
             cvta.local.u64 %rd3, %rd3;
             mov.u64 %rd4, format;
             cvta.global.u64 %rd4, %rd4;
            {
             .param .b64 param0;
             st.param.b64 [param0], %rd4;
             .param .b64 param1;
             st.param.b64 [param1], %rd3;
             .param .b32 retval0;
             call.uni (retval0), vprintf, (param0, param1);
             ld.param.b32 %r0, [retval0];
            }",
        );
    let bench = Bench::with_head(&text);
    let array = bench.upload(&[0u32; 2]);
    let done = bench.run("k", [1; 3], [2, 1, 1], &[array.into()]);
    let line = |thread: i32| format!("thread: {} 18446744073709551615 [  3.14] X ff\n", -thread);
    assert_eq!(String::from_utf8_lossy(&done.printed), line(0) + &line(1));
    assert_eq!(bench.download::<u32>(array, 2), [6, 6]);
}

#[test]
fn a_bad_format_is_a_bad_read() {
    let text = EXTERNALS.to_owned()
        + &kernel(
            "k",
            "",
            "{
             .param .b64 param0;
             st.param.b64 [param0], 64;
             .param .b64 param1;
             st.param.b64 [param1], 0;
             .param .b32 retval0;
             call.uni (retval0), vprintf, (param0, param1);
             ld.param.b32 %r0, [retval0];
            }",
        );
    let bench = Bench::with_head(&text);
    let array = bench.upload(&[0u32; 32]);
    let failure = bench.try_run("k", [1; 3], [32, 1, 1], &[array.into()]);
    let Err(LaunchFailure::Fault { fault, .. }) = failure else { panic!("{failure:?}") };
    let FaultKind::OutOfBounds { space, address, bytes, .. } = fault.kind else { panic!("{fault:?}") };
    assert_eq!((space, address, bytes), (Space::Global, 64, 1));
}

#[test]
fn failed_assertions_say_so() {
    let text = EXTERNALS.to_owned()
        + &bytes("message", "i < n")
        + &bytes("file", "kernel.cu")
        + &bytes("function", "void k(int)")
        + &kernel(
            "k",
            "",
            "mov.b32 %r0, 0;
             setp.ne.u32 %p1, %r1, 3;
             @%p1 bra FINE;
             mov.u64 %rd1, message;
             cvta.global.u64 %rd1, %rd1;
             mov.u64 %rd2, file;
             cvta.global.u64 %rd2, %rd2;
             mov.u64 %rd3, function;
             cvta.global.u64 %rd3, %rd3;
            {
             .param .b64 param0;
             st.param.b64 [param0], %rd1;
             .param .b64 param1;
             st.param.b64 [param1], %rd2;
             .param .b32 param2;
             st.param.b32 [param2], 42;
             .param .b64 param3;
             st.param.b64 [param3], %rd3;
             .param .b64 param4;
             st.param.b64 [param4], 1;
             call.uni __assertfail, (param0, param1, param2, param3, param4);
            }
            FINE:",
        );
    let bench = Bench::with_head(&text);
    let array = bench.upload(&[0u32; 32]);
    let failure = bench.try_run("k", [2, 1, 1], [32, 1, 1], &[array.into()]);
    let Err(LaunchFailure::Fault { fault, printed }) = failure else { panic!("{failure:?}") };
    assert_eq!((fault.kind, fault.thread), (FaultKind::AssertFailed, [3, 0, 0]));
    assert_eq!(
        String::from_utf8_lossy(&printed),
        "kernel.cu:42: void k(int): block: [0,0,0], thread: [3,0,0] Assertion `i < n` failed.\n"
    );
}

#[test]
fn the_device_has_a_heap() {
    let body = "{
         .param .b64 param0;
         st.param.b64 [param0], 16;
         .param .b64 retval0;
         call.uni (retval0), malloc, (param0);
         ld.param.b64 %rd1, [retval0];
        }
         st.u32 [%rd1+12], %r1;
         ld.u32 %r0, [%rd1+12];
         setp.eq.u32 %p1, %r1, 9;
         @%p1 bra KEEP;
        {
         .param .b64 param0;
         st.param.b64 [param0], %rd1;
         call.uni free, (param0);
        }
        KEEP:";
    let bench = Bench::with_head(&(EXTERNALS.to_owned() + &kernel("k", "", body)));
    assert_eq!(bench.results("k", 32), (0..32).collect::<Vec<_>>());
    // Who frees nothing leaks.
    let leaked: Vec<_> =
        bench.memory.allocations().into_iter().filter(|allocation| allocation.kind == Kind::Heap).collect();
    assert_eq!(leaked.iter().map(|allocation| allocation.bytes).collect::<Vec<_>>(), [16]);
    let again = body.replace(
        "@%p1 bra KEEP;",
        "{ .param .b64 param0; st.param.b64 [param0], %rd1; call.uni free, (param0); }",
    );
    let bench = Bench::with_head(&(EXTERNALS.to_owned() + &kernel("k", "", &again)));
    let array = bench.upload(&[0u32; 32]);
    let failure = bench.try_run("k", [1; 3], [32, 1, 1], &[array.into()]);
    let Err(LaunchFailure::Fault { fault, .. }) = failure else { panic!("{failure:?}") };
    let FaultKind::Illegal(what) = fault.kind else { panic!("{:?}", fault.kind) };
    assert!(what.starts_with("free: 0x") && what.ends_with("was freed before"), "{what}");
}

#[test]
fn out_of_bounds_says_what_is_near() {
    let bench = Bench::with_head(&kernel("k", "", "mov.b32 %r0, 1;"));
    let array = bench.upload(&[0u32; 20]);
    let failure = bench.try_run("k", [1; 3], [32, 1, 1], &[array.into()]);
    let Err(LaunchFailure::Fault { fault, .. }) = failure else { panic!("{failure:?}") };
    assert_eq!(fault.thread, [20, 0, 0]);
    let FaultKind::OutOfBounds { address, nearest: Some(nearest), .. } = fault.kind else {
        panic!("{fault:?}")
    };
    assert_eq!((address, nearest.address, nearest.bytes), (array + 80, array, 80));
    // One byte behind the last.
    assert_eq!(nearest.place, Place::After(1));
}

#[test]
fn what_is_loaded_can_be_unloaded() {
    let memory = Memory::new(1 << 30).expect("address space");
    let text =
        format!("{HEAD}.global .b8 big[100000];\n.const .b32 c = 5;\n{}", kernel("k", "", "mov.b32 %r0, 1;"));
    let program = Program::load(ptx::parse(&text).expect("PTX"), &memory).expect("it loads");
    assert_eq!(memory.used(), 100_004);
    program.unload(&memory);
    assert_eq!(memory.used(), 0);
}
