//! Both levels give the same bits for any operands, and everything that compilers make of this repository decodes.

use std::path::PathBuf;

use crate::alu_support::{Lanes, Machine, levels};
use proptest::prelude::*;
use simt::ptx;

/// One of each kind of operation: those where the levels' machine instructions differ most.
const INSTRUCTIONS: [&str; 46] = [
    "add.f32 %r0, %r1, %r2;",
    "fma.rn.f32 %r0, %r1, %r2, %r3;",
    "fma.rn.ftz.sat.f32 %r0, %r1, %r2, %r3;",
    "fma.rm.f32 %r0, %r1, %r2, %r3;",
    "div.rn.f32 %r0, %r1, %r2;",
    "sqrt.rn.f32 %r0, %r1;",
    "min.f32 %r0, %r1, %r2;",
    "max.NaN.xorsign.abs.f32 %r0, %r1, %r2;",
    "add.f64 %d0, %d1, %d2;",
    "fma.rn.f64 %d0, %d1, %d2, %d3;",
    "div.rp.f64 %d0, %d1, %d2;",
    "max.f64 %d0, %d1, %d2;",
    "add.f16x2 %r0, %r1, %r2;",
    "mul.bf16x2 %r0, %r1, %r2;",
    "fma.rn.f16x2 %r0, %r1, %r2, %r3;",
    "fma.rn.bf16x2 %r0, %r1, %r2, %r3;",
    "ex2.approx.f32 %r0, %r1;",
    "sin.approx.ftz.f32 %r0, %r1;",
    "mul.hi.s32 %r0, %r1, %r2;",
    "mul.lo.s64 %d0, %d1, %d2;",
    "mul.hi.u64 %d0, %d1, %d2;",
    "mad.wide.s32 %d0, %r1, %r2, %d3;",
    "div.s32 %r0, %r1, %r2;",
    "rem.s64 %d0, %d1, %d2;",
    "sad.s32 %r0, %r1, %r2, %r3;",
    "popc.b64 %r0, %d1;",
    "clz.b32 %r0, %r1;",
    "brev.b32 %r0, %r1;",
    "bfe.s64 %d0, %d1, %r2, %r3;",
    "bfi.b32 %r0, %r1, %r2, %r3, %r4;",
    "prmt.b32 %r0, %r1, %r2, %r3;",
    "shf.l.clamp.b32 %r0, %r1, %r2, %r3;",
    "lop3.b32 %r0, %r1, %r2, %r3, 0x6A;",
    "dp4a.s32.u32 %r0, %r1, %r2, %r3;",
    "setp.gtu.f32 %p0, %r1, %r2;",
    "setp.lt.and.s64 %p0|%p1, %d1, %d2, !%p3;",
    "selp.b64 %d0, %d1, %d2, %p3;",
    "cvt.rzi.s32.f32 %r0, %r1;",
    "cvt.rni.u64.f64 %d0, %d1;",
    "cvt.rn.f32.u64 %r0, %d1;",
    "cvt.rn.f16.f32 %h0, %r1;",
    "cvt.rp.f32.f64 %r0, %d1;",
    "cvt.rmi.f64.f64 %d0, %d1;",
    "cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, %r2;",
    "shfl.sync.bfly.b32 %r0|%p0, %r1, %r2, %r3, -1;",
    "match.any.sync.b32 %r0, %r1, -1;",
];

fn lanes() -> impl Strategy<Value = Vec<u64>> {
    let bits = prop_oneof![
        any::<u64>(),
        any::<f32>().prop_map(|value| u64::from(value.to_bits()) << 32 | u64::from(value.to_bits())),
        any::<f64>().prop_map(f64::to_bits),
        0..64u64,
    ];
    prop::collection::vec(bits, 4 * 32)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn levels_agree(bits in lanes(), mask in any::<u32>()) {
        for text in INSTRUCTIONS {
            let results: Vec<[Lanes; 5]> = levels()
                .into_iter()
                .map(|level| {
                    let mut machine = Machine::new(text, level);
                    for register in 1..5 {
                        let lanes: Lanes = std::array::from_fn(|lane| bits[(register - 1) * 32 + lane].into());
                        machine.set(&format!("%p{register}"), &lanes.map(|bits| bits & 1));
                        machine.set(&format!("%r{register}"), &lanes.map(|bits| bits & 0xFFFF_FFFF));
                        machine.set(&format!("%d{register}"), &lanes);
                    }
                    machine.run(mask);
                    ["%p0", "%p1", "%h0", "%r0", "%d0"].map(|name| machine.get(name))
                })
                .collect();
            for other in &results[1..] {
                prop_assert_eq!(other, &results[0], "{}", text);
            }
        }
    }
}

/// The instructions that `alu` does not decode: memory, control, synchronisation.
#[test]
fn the_corpus_decodes() {
    const OTHERS: [&str; 36] = [
        "ld",
        "st",
        "atom",
        "red",
        "cvta",
        "isspacep",
        "prefetch",
        "createpolicy",
        "fence",
        "membar",
        "cp",
        "mbarrier",
        "bra",
        "brx",
        "call",
        "ret",
        "exit",
        "trap",
        "brkpt",
        "bar",
        "barrier",
        "nanosleep",
        "pmevent",
        "ldu",
        "mapa",
        "getctarank",
        "applypriority",
        "discard",
        "st",
        "multimem",
        "griddepcontrol",
        "setmaxnreg",
        "tex",
        "surf",
        "alloca",
        "stacksave",
    ];
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut decoded = 0;
    for entry in std::fs::read_dir(folder).expect("the corpus") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "ptx") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a corpus file");
        let module = ptx::parse(&text).expect("it parses");
        for body in module.functions().filter_map(|function| function.body.as_ref()) {
            for instruction in &body.instructions {
                let base = instruction.opcode.base();
                if OTHERS.contains(&base) {
                    continue;
                }
                for level in levels() {
                    let found = crate::alu_support::decodes(body, instruction, level);
                    assert_eq!(found, Ok(true), "{}: {}", path.display(), instruction.opcode);
                }
                decoded += 1;
            }
        }
    }
    assert!(decoded > 1000, "{decoded}");
}
