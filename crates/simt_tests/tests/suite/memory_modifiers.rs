//! What the modifiers of loads and stores come to, and which are not known.

use crate::memory_support::{ALL, Machine, device};
use simt::memory::Kind;
use simt::observe::Space;

#[test]
fn modifiers_say_what_the_observer_is_told() {
    let memory = device();
    let buffer = memory.allocate(128, Kind::Device).expect("memory");
    // (read only, past L1, strong, fences)
    for (modifiers, expected) in [
        ("", (false, false, false, 0)),
        (".weak", (false, false, false, 0)),
        (".ca", (false, false, false, 0)),
        (".cs", (false, false, false, 0)),
        (".lu", (false, false, false, 0)),
        (".cg", (false, true, false, 0)),
        (".cv", (false, true, false, 0)),
        (".nc", (true, false, false, 0)),
        (".nc.L1::no_allocate.L2::128B", (true, false, false, 0)),
        (".L1::evict_last", (false, false, false, 0)),
        (".L2::64B", (false, false, false, 0)),
    ] {
        let mut machine = Machine::new(&memory);
        machine.set("%rd1", |lane| buffer + 4 * lane);
        machine.ok(&format!("ld.global{modifiers}.b32 %r1, [%rd1];"), ALL);
        let seen = &machine.recorder.seen[0];
        let found = (seen.read_only, seen.past_l1, seen.strong, machine.recorder.fences.len());
        assert_eq!(found, expected, "{modifiers}");
    }
    for (opcode, expected) in [
        ("ld.volatile.global", (false, true, true, 0)),
        ("ld.relaxed.cta.global", (false, false, true, 0)),
        ("ld.relaxed.gpu.global", (false, true, true, 0)),
        ("ld.relaxed.sys", (false, true, true, 0)),
        ("ld.acquire.gpu.global", (false, true, true, 1)),
        ("ld.mmio.relaxed.sys.global", (false, true, true, 0)),
        ("st.volatile", (false, true, true, 0)),
        ("st.relaxed.sys.global", (false, true, true, 0)),
        ("st.release.gpu.global", (false, true, true, 1)),
        ("st.global.cg", (false, true, false, 0)),
        ("st.global.wb", (false, false, false, 0)),
        ("st.global.cs", (false, false, false, 0)),
        ("st.global.wt", (false, true, false, 0)),
    ] {
        let mut machine = Machine::new(&memory);
        machine.set("%rd1", |lane| buffer + 4 * lane);
        let operands = if opcode.starts_with("ld") { "%r1, [%rd1]" } else { "[%rd1], %r1" };
        machine.ok(&format!("{opcode}.b32 {operands};"), ALL);
        let seen = &machine.recorder.seen[0];
        let found = (seen.read_only, seen.past_l1, seen.strong, machine.recorder.fences.len());
        assert_eq!(found, expected, "{opcode}");
        assert_eq!(seen.addresses, Vec::from_iter((0..32).map(|lane| buffer + 4 * lane)));
        assert_eq!((seen.bytes, seen.active, seen.space), (4, ALL, Space::Global));
    }
    let mut machine = Machine::new(&memory);
    machine.set("%rd1", |lane| buffer + 4 * lane);
    machine.ok("ld.global.L2::cache_hint.b32 %r1, [%rd1], %rd2; st.global.L1::no_allocate.L2::cache_hint.b32 [%rd1], %r1, %rd2; ldu.global.b32 %r1, [%rd1];", ALL);
}

#[test]
fn what_cannot_be_decoded_says_why() {
    let memory = device();
    let mut machine = Machine::new(&memory);
    for (code, message) in [
        (
            "ld.global.wrong.b32 %r1, [%rd1];",
            "ld.global.wrong.b32: unknown modifier .wrong, or not in this place",
        ),
        ("ld.release.gpu.b32 %r1, [%rd1];", "unsupported instruction ld.release.gpu.b32"),
        ("st.const.b32 [%rd1], %r1;", "unsupported instruction st.const.b32"),
        ("st.acquire.gpu.b32 [%rd1], %r1;", "unsupported instruction st.acquire.gpu.b32"),
        (
            "ld.global.v8.b64 {%rd1, %rd2, %rd3, %rd4, %rd5, %rd6, %rd7, %rd8}, [%rd1];",
            "unsupported instruction ld.global.v8.b64",
        ),
        ("ld.global.v4.b32 {%r1, %r2}, [%rd1];", "ld.global.v4.b32: 4 elements are wanted, 2 given"),
        ("ld.global.b32 %r1, [%rd1], %rd2;", "ld.global.b32: 3 operands, 2 at most"),
        ("ld.global.b32 %r1;", "ld.global.b32: operand 2 is missing; there are 1"),
        ("ld.global.b32 %r1, %rd1;", "ld.global.b32: operand 2 is no address"),
        (
            "atom.global.add.u64 %r1, [%rd1], %rd1;",
            "atom.global.add.u64: a register is Word wide, too narrow for .u64",
        ),
        (
            "multimem.ld_reduce.global.add.f32 %r1, [%rd1];",
            "unsupported instruction multimem.ld_reduce.global.add.f32",
        ),
        (
            "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], [%r2];",
            "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes: operand 2 has no coordinates of a box",
        ),
        (
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r3}], [%r2];",
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes: 2 elements are wanted, 1 given",
        ),
        (
            "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r3, %r3, %r3, %r3, %r3}], [%r2];",
            "unsupported instruction cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes",
        ),
    ] {
        let error = machine.decode(code).expect_err(code);
        assert_eq!(error.to_string(), message, "{code}");
    }
}
