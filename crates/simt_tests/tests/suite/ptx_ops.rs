//! Typed instructions: every opcode that compilers wrote decodes, and what no instruction has is refused by name.

use simt::ptx::Opcode;
use simt::ptx::ScalarType::{F16, F32, S32, U16, U32, U64};
use simt::ptx::op::arithmetic::{FloatVerb, IntegerVerb};
use simt::ptx::op::control::{BarrierVerb, Reduction};
use simt::ptx::op::memory::{CopyGroup, MbarrierVerb};
use simt::ptx::op::words::{AddressSpace, Comparison, Eviction, Order, Part, Rounding, Scope, Update};
use simt::ptx::op::{Awaits, Op};

fn op(opcode: &str) -> Op {
    Opcode::new(opcode).op().unwrap_or_else(|error| panic!("{error}"))
}

fn error(opcode: &str) -> String {
    Opcode::new(opcode).op().expect_err(opcode).to_string()
}

#[test]
fn every_opcode_of_the_corpus_decodes() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("the corpus is there") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "ptx") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a text");
        let module = simt::ptx::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for function in module.functions() {
            for instruction in function.body.iter().flat_map(|body| &body.instructions) {
                if let Err(error) = instruction.opcode.op() {
                    panic!("{}, line {}: {error}", path.display(), instruction.position.line);
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 1000, "{seen}");
}

#[test]
fn modifiers_become_fields() {
    let Op::Ld(load) = op("ld.acquire.gpu.global.L1::evict_last.L2::128B.v2.u64") else { panic!() };
    assert_eq!((load.order, load.scope), (Some(Order::Acquire), Some(Scope::Device)));
    assert_eq!((load.space, load.elements, load.scalar), (Some(AddressSpace::Global), 2, U64));
    assert_eq!((load.l1, load.l2, load.prefetch), (Some(Eviction::Last), None, Some(128)));
    let Op::Integer(sum) = op("mad.lo.cc.u32") else { panic!() };
    assert_eq!(
        (sum.verb, sum.part, sum.carry_out, sum.carry_in),
        (IntegerVerb::Mad, Some(Part::Low), true, false)
    );
    let Op::Integer(packed) = op("min.relu.s16x2") else { panic!() };
    assert_eq!((packed.packed, packed.relu, packed.scalar), (true, true, simt::ptx::ScalarType::S16));
    let Op::Float(fma) = op("fma.rz.ftz.sat.f32") else { panic!() };
    assert_eq!(
        (fma.verb, fma.rounding, fma.flushes, fma.saturates),
        (FloatVerb::Fma, Some(Rounding::Zero), true, true)
    );
    let Op::Float(mixed) = op("add.rn.f32.f16") else { panic!() };
    assert_eq!((mixed.scalar, mixed.factors), (F32, Some(F16)));
    let Op::Compare(set) = op("set.ltu.and.ftz.u32.f32") else { panic!() };
    assert_eq!((set.test, set.number, set.scalar), (Comparison::LessOrNan, Some(U32), F32));
    let Op::Atomic(atomic) = op("red.release.cta.shared::cta.add.u32") else { panic!() };
    assert_eq!(
        (atomic.gives_back, atomic.update, atomic.space),
        (false, Update::Add, Some(AddressSpace::SharedBlock))
    );
    let Op::Mbarrier(barrier) = op("mbarrier.try_wait.parity.acquire.cta.shared::cta.b64") else { panic!() };
    assert_eq!((barrier.verb, barrier.parity), (MbarrierVerb::TryWait, true));
    let Op::CpBulk(copy) = op("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32") else { panic!() };
    assert_eq!((copy.reduction, copy.counted), (Some((Update::Add, S32)), false));
    assert_eq!(op("cp.async.bulk.wait_group.read"), Op::CopyGroup { group: CopyGroup::Wait, bulk: true });
    assert_eq!(
        op("barrier.cta.red.or.aligned.pred"),
        Op::Barrier { verb: BarrierVerb::Reduce(Reduction::Or), aligned: true }
    );
    let Op::Mma(mma) = op("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") else { panic!() };
    assert_eq!((mma.rows, mma.columns, mma.depth, mma.a), (16, 8, 16, simt::ptx::ScalarType::Bf16));
    let Op::Ldmatrix(load) = op("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16") else { panic!() };
    assert_eq!((load.count, load.transposed), (4, true));
    assert_eq!(op("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32"), Op::Other);
    assert_eq!(op("set.eq.u16.f16"), {
        let Op::Compare(compare) = op("set.eq.u16.f16") else { panic!() };
        assert_eq!(compare.number, Some(U16));
        Op::Compare(compare)
    });
}

#[test]
fn unknown_words_are_refused_by_name() {
    for (opcode, expected) in [
        ("teleport.u32", "unknown instruction teleport.u32"),
        ("add.fast.f32", "add.fast.f32: unknown modifier .fast, or not in this place"),
        ("add.u32.u32", "add.u32.u32: unknown modifier .u32, or not in this place"),
        ("mul.u32", "mul.u32: lacks .lo, .hi or .wide"),
        ("add.rna.f32", "add.rna.f32: unknown modifier .rna, or not in this place"),
        ("min.approx.f32", "min.approx.f32: unknown modifier .approx, or not in this place"),
        ("rcp.full.f32", "rcp.full.f32: unknown modifier .full, or not in this place"),
        ("ld.global", "ld.global: lacks a type"),
        ("ld.pred", "ld.pred: lacks a type"),
        ("bra.fast", "bra.fast: unknown modifier .fast, or not in this place"),
        ("cp.sync.ca.shared.global", "cp.sync.ca.shared.global: lacks .async"),
        ("cp.async.ca.global.shared", "cp.async.ca.global.shared: lacks .shared before .global"),
        ("bar.red.xor.pred", "bar.red.xor.pred: lacks .popc, .and or .or"),
        ("redux.add.u32", "redux.add.u32: lacks .sync"),
        ("atom.global.u32", "atom.global.u32: lacks an operation"),
        ("cvt.pack.u16.s32", "cvt.pack.u16.s32: lacks .sat"),
    ] {
        assert_eq!(error(opcode), expected);
    }
}

#[test]
fn facts_follow_from_opcodes() {
    assert!(op("ld.relaxed.gpu.global.b32").is_strong() && op("ld.mmio.relaxed.sys.u32").is_strong());
    assert!(!op("ld.weak.global.b32").is_strong() && op("atom.add.u32").is_strong());
    assert!(op("atom.add.u32").loads() && !op("red.add.u32").loads() && op("red.add.u32").stores());
    assert_eq!(op("cp.async.wait_all").awaits(), Some(Awaits::Copies));
    assert_eq!(op("bar.sync").awaits(), Some(Awaits::Threads));
    assert_eq!([op("bar.warp.sync").awaits(), op("cp.async.commit_group").awaits()], [None, None]);
    assert!(op("bar.sync").is_aligned() && !op("barrier.sync").is_aligned());
    assert!(op("cp.async.cg.shared.global").starts_copy() && op("ret").is_control());
}
