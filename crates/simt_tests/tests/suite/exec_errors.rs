//! What cannot be loaded or launched, and what is said about it.

use crate::exec_common::{Bench, HEAD, kernel};
use simt::exec::{LaunchFailure, LoadError, Program};
use simt::memory::Memory;
use simt::ptx;

fn load(text: &str) -> Result<Program, LoadError> {
    let memory = Memory::new(1 << 28).expect("address space");
    let module = ptx::parse(&format!("{HEAD}{text}")).unwrap_or_else(|error| panic!("{error}"));
    let outcome = Program::load(module, &memory);
    if outcome.is_err() {
        assert_eq!(memory.allocations(), [], "nothing is left");
    }
    outcome
}

fn complaint(text: &str) -> String {
    load(text).expect_err("it does not load").to_string()
}

#[test]
fn unsupported_instructions_by_name_and_place() {
    let text = ".global .b32 taken;
.visible .entry k()
{
	.loc 1 12 9
	tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [1], [2], 128;
	ret;
}
.file 1 \"src/copy.rs\"
";
    let name = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned";
    assert_eq!(complaint(text), format!("unsupported instruction {name}, line 8 (src/copy.rs:12:9) in `k`"));
    assert_eq!(
        complaint(".visible .entry k()\n{\n\t.reg .b32 %r<2>;\n\tfrobnicate.b32 %r0, %r1;\n\tret;\n}"),
        "unknown instruction frobnicate.b32, line 7 in `k`"
    );
}

/// What `ptx` reads and the simulator does not execute.
#[test]
fn instructions_of_tensor_cores_and_convolutions_by_name_and_place() {
    for (opcode, operands) in [
        ("wgmma.fence.sync.aligned", ""),
        ("wgmma.wait_group.sync.aligned", "0"),
        (
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16",
            "{%r0, %r0, %r0, %r0}, %rd0, %rd0, %p0, 1, 1, 0, 0",
        ),
        (
            "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group",
            "[%rd0, {%r0, %r0, %r0}], [%r0]",
        ),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16", "[%r0], {%r0}"),
        ("movmatrix.sync.aligned.m8n8.trans.b16", "%r0, %r0"),
    ] {
        let registers = ".reg .b32 %r<1>; .reg .b64 %rd<1>; .reg .pred %p<1>;";
        let text = format!(".visible .entry k()\n{{\n\t{registers}\n\t{opcode} {operands};\n\tret;\n}}");
        assert_eq!(complaint(&text), format!("unsupported instruction {opcode}, line 7 in `k`"));
    }
    let unknown = complaint(".visible .entry k()\n{\n\twgmma.fence.sync.unaligned;\n\tret;\n}");
    assert_eq!(
        unknown,
        "wgmma.fence.sync.unaligned: lacks .sync.aligned; found .sync.unaligned, line 6 in `k`"
    );
}

#[test]
fn what_no_kernel_reaches_is_not_looked_at() {
    let helper = ".func helper()\n{\n\tfrobnicate;\n\tret;\n}\n";
    let quiet = format!("{helper}.visible .entry k()\n{{\n\tret;\n}}");
    assert_eq!(load(&quiet).expect("it loads").sites().len(), 2);
    let caller = format!("{helper}.visible .entry k()\n{{\n\tcall helper;\n\tret;\n}}");
    assert_eq!(complaint(&caller), "unknown instruction frobnicate, line 6 in `helper`");
    let by_address =
        format!("{helper}.visible .entry k()\n{{\n\t.reg .b64 %rd<2>;\n\tmov.u64 %rd0, helper;\n\tret;\n}}");
    assert_eq!(complaint(&by_address), "unknown instruction frobnicate, line 6 in `helper`");
    let in_table = format!(
        "{helper}.global .u64 table[1] = {{helper}};\n.visible .entry k()\n{{\n\t.reg .b64 %rd<2>;\n\tld.global.u64 %rd0, [table];\n\
         p: .callprototype _ ();\n\tcall %rd0, (), p;\n\tret;\n}}"
    );
    assert_eq!(complaint(&in_table), "unknown instruction frobnicate, line 6 in `helper`");
}

#[test]
fn what_only_another_module_defines() {
    let text = ".extern .func other();\n.visible .entry k()\n{\n\tcall other;\n\tret;\n}";
    assert_eq!(
        complaint(text),
        "`other` is declared, but not defined: called on line 7 in `k`; link the module that defines it"
    );
    let text = ".extern .global .align 4 .b32 elsewhere;\n.visible .entry k()\n{\n\tret;\n}";
    assert_eq!(
        complaint(text),
        "the variable `elsewhere` is declared `.extern`, line 4, but not defined; link the module that defines it"
    );
}

#[test]
fn variables_that_cannot_be() {
    let wrong = |declaration: &str| complaint(&format!("{declaration}\n.visible .entry k()\n{{\n\tret;\n}}"));
    assert_eq!(wrong(".global .u32 x[2] = {1, 2, 3};"), "the variable `x`, line 4: 3 values for 2 elements");
    assert_eq!(wrong(".global .u32 x = 1.5;"), "the variable `x`, line 4: a floating-point number for .u32");
    assert_eq!(
        wrong(".shared .b32 s;\n.global .u64 x = s;"),
        "the variable `x`, line 5: the address of `s` is not known before a kernel runs"
    );
    let huge = wrong(".global .b8 x[1000000000000];");
    assert!(
        huge.starts_with("no memory for the variable `x` of 1000000000000 bytes: out of device memory"),
        "{huge}"
    );
    assert_eq!(
        wrong(".global .b64 x[18446744073709551615];"),
        "the variable `x`, line 4: its size has no number"
    );
}

#[test]
fn operands_that_do_not_fit() {
    let wrong = |body: &str| complaint(&kernel("k", "", body));
    let says = |text: &str, part: &str| assert!(text.contains(part), "{text}");
    says(&wrong("bar.sync;"), "bar.sync: not the operands of a barrier, line 13 in `k`");
    says(&wrong("bar.frob 0;"), "bar.frob: lacks .sync, .arrive or .red; found .frob");
    says(&wrong("ld.param.u64 %rd1, [out+4];"), "beyond the kernel's parameters");
    says(&wrong("st.param.u64 [out], %rd1;"), "`out` is not in parameter space");
    says(&wrong("nanosleep.u32 %rd1;"), "an operand that is not a 32-bit value");
}

#[test]
fn calls_that_do_not_fit() {
    let function = ".func (.param .b32 r) f(.param .b32 a)\n{\n\tret;\n}\n";
    let wrong = |body: &str| complaint(&(function.to_owned() + &kernel("k", "", body)));
    let says = |text: &str, part: &str| assert!(text.contains(part), "{text}");
    says(&wrong("call f;"), "0 arguments and 0 results, where the function has 1 and 1");
    says(&wrong("call (%rd1), f, (%r1);"), "an argument of another size than the parameter");
    says(
        &wrong("{ .param .b64 p; .param .b32 q; call (q), f, (p); }"),
        "an argument of 8 bytes for the parameter `a` of 4",
    );
    says(&wrong("call %rd1, ();"), "a call through a register needs a prototype");
}

#[test]
fn launches_that_cannot_be() {
    let text = kernel("k", ".shared .align 4 .b8 tile[1000];", "mov.b32 %r0, tile;")
        + &kernel("fixed", "", "mov.b32 %r0, 1;").replace("\n{", "\n.reqntid 8, 8, 1\n{")
        + &kernel("clustered", "", "mov.b32 %r0, 1;").replace("\n{", "\n.reqnctapercluster 2, 1, 1\n{");
    let bench = Bench::with_head(&text);
    let out = bench.upload(&[0u32; 64]);
    let say = |kernel: &str, change: &dyn Fn(&mut simt::exec::Launch<'_>)| {
        let outcome = bench.launch_with(kernel, &[out.into()], &mut (), |launch| change(launch));
        outcome.expect_err("it cannot be launched").to_string()
    };
    assert_eq!(
        say("k", &|launch| launch.block = [0, 1, 1]),
        "a block of 0 x 1 x 1 threads is not possible: it must have 1 to 1024 threads, at most 64 in z"
    );
    assert_eq!(
        say("k", &|launch| launch.block = [32, 33, 1]),
        "a block of 32 x 33 x 1 threads is not possible: it must have 1 to 1024 threads, at most 64 in z"
    );
    assert_eq!(
        say("k", &|launch| launch.block = [1, 1, 65]),
        "a block of 1 x 1 x 65 threads is not possible: it must have 1 to 1024 threads, at most 64 in z"
    );
    assert_eq!(
        say("k", &|launch| launch.grid = [1, 0, 1]),
        "a grid of 1 x 0 x 1 blocks is not possible: it must have 1 to 2147483647 blocks in x, and 1 to 65535 in y and in z"
    );
    assert_eq!(
        say("k", &|launch| launch.grid = [1, 65536, 1]),
        "a grid of 1 x 65536 x 1 blocks is not possible: it must have 1 to 2147483647 blocks in x, and 1 to 65535 in y and in z"
    );
    assert_eq!(
        say("fixed", &|launch| launch.block = [64, 1, 1]),
        "a block of 64 x 1 x 1 threads does not fit the kernel: its `.reqntid` requires 8 x 8 x 1"
    );
    assert_eq!(
        say("clustered", &|_| {}),
        "clusters of 2 x 1 x 1 blocks are not possible: the grid of 1 x 1 x 1 blocks is not a multiple of them"
    );
    assert_eq!(
        say("k", &|launch| launch.cluster = Some([1, 2, 1])),
        "clusters of 1 x 2 x 1 blocks are not possible: the grid of 1 x 1 x 1 blocks is not a multiple of them"
    );
    assert_eq!(
        say("k", &|launch| launch.parameters = &[1, 2, 3]),
        "the launch passes 3 bytes of parameters, but the kernel takes 8"
    );
    assert_eq!(
        say("k", &|launch| launch.dynamic_shared_bytes = 1 << 20),
        "a block needs 1049576 bytes of shared memory, 1048576 of them dynamic, but this card allows 232448"
    );
    let other = Bench::with_head(&kernel("another", "", "mov.b32 %r0, 1;"));
    let foreign: &_ = Box::leak(Box::new(other.program.kernel("another").expect("the kernel").clone()));
    let failure = bench.launch_with("k", &[out.into()], &mut (), |launch| launch.kernel = foreign);
    assert_eq!(failure, Err(LaunchFailure::OtherProgram { kernel: "another".to_owned() }));
}

#[test]
fn no_such_entry() {
    let bench = Bench::with_head(&kernel("k", "", "mov.b32 %r0, 1;"));
    let error = bench.program.kernel("kernel").expect_err("there is none");
    assert_eq!(error.to_string(), "the module has no entry `kernel`; it has k");
}
