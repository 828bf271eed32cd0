//! Typed instructions: every opcode that compilers wrote decodes, and what no instruction has is refused by name.

use std::collections::BTreeMap;

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

/// The opcodes of the corpus, with a file and line for each.
fn corpus() -> BTreeMap<String, String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut opcodes = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("the corpus is there") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "ptx") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a text");
        let module = simt::ptx::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let bodies = module.functions().filter_map(|function| function.body.as_ref());
        for instruction in bodies.flat_map(|body| &body.instructions) {
            let place = format!("{}, line {}", path.display(), instruction.position.line);
            opcodes.insert(instruction.opcode.to_string(), place);
        }
    }
    assert!(opcodes.len() > 100, "{}", opcodes.len());
    opcodes
}

#[test]
fn every_opcode_of_the_corpus_decodes() {
    for (opcode, place) in corpus() {
        if let Err(error) = Opcode::new(&opcode).op() {
            panic!("{place}: {error}");
        }
    }
}

/// Wherever a word is put in, or in another's stead, the refusal names it.
#[test]
fn an_unknown_word_is_named_wherever_it_stands() {
    let more = [
        "add.rn.ftz.sat.f32",
        "atom.acq_rel.gpu.global.cas.b64",
        "bar.red.and.pred",
        "barrier.cluster.arrive.release.aligned",
        "barrier.cta.sync.aligned",
        "bfind.shiftamt.u32",
        "bmsk.clamp.b32",
        "brx.idx",
        "copysign.f32",
        "cp.async.bulk.commit_group",
        "cp.async.bulk.prefetch.L2.global",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
        "cp.async.ca.shared.global.L2::128B",
        "cp.async.mbarrier.arrive.noinc.shared.b64",
        "createpolicy.fractional.L2::evict_first.b64",
        "cvt.pack.sat.u8.s32.b32",
        "cvt.rn.satfinite.e4m3x2.f32",
        "cvta.to.global.u64",
        "div.full.ftz.f32",
        "dp2a.lo.u32.s32",
        "elect.sync",
        "fence.proxy.async.global",
        "fma.rn.relu.bf16x2",
        "getctarank.shared::cluster.u32",
        "griddepcontrol.wait",
        "isspacep.shared::cta",
        "ld.relaxed.sys.global.L1::no_allocate.L2::256B.v4.f32",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
        "lop3.or.b32",
        "madc.hi.cc.u32",
        "match.all.sync.b32",
        "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64",
        "prefetch.global.L2::evict_last",
        "prmt.b32.f4e",
        "red.async.relaxed.cluster.mbarrier::complete_tx::bytes.shared::cluster.add.u32",
        "redux.sync.min.abs.NaN.f32",
        "selp.b32",
        "set.lt.and.ftz.f32.f32",
        "shf.l.wrap.b32",
        "shfl.sync.bfly.b32",
        "slct.ftz.f32.f32",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32",
        "st.bulk.weak.shared::cta",
        "testp.finite.f32",
        "vote.sync.ballot.b32",
    ];
    let mut refused = 0;
    for opcode in corpus().keys().map(String::as_str).chain(more) {
        let words: Vec<&str> = opcode.split('.').collect();
        if matches!(op(opcode), Op::Other | Op::BulkTensor) {
            continue;
        }
        for place in 1..=words.len() {
            for replaced in 0..=usize::from(place < words.len()) {
                let (before, behind) = (&words[..place], &words[place + replaced..]);
                let changed = [before, &["wrong"], behind].concat().join(".");
                match Opcode::new(&changed).op() {
                    // A form of which this crate does not read the modifiers.
                    Ok(Op::Other | Op::BulkTensor) => {}
                    Ok(op) => panic!("{changed} is {op:?}"),
                    Err(error) => {
                        let message = error.to_string();
                        let reason = message.strip_prefix(&*changed).unwrap_or_else(|| panic!("{message}"));
                        assert!(reason.contains(".wrong"), "{message}");
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(refused > 1000, "{refused}");
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
        ("mul.u32", "mul.u32: lacks .lo, .hi or .wide; found .u32"),
        ("add.rna.f32", "add.rna.f32: unknown modifier .rna, or not in this place"),
        ("min.approx.f32", "min.approx.f32: unknown modifier .approx, or not in this place"),
        ("rcp.full.f32", "rcp.full.f32: unknown modifier .full, or not in this place"),
        ("ld.global", "ld.global: lacks a type"),
        ("ld.pred", "ld.pred: lacks a type; found .pred"),
        ("ld.global.b33", "ld.global.b33: lacks a type; found .b33"),
        ("bra.fast", "bra.fast: unknown modifier .fast, or not in this place"),
        ("cp.sync.ca.shared.global", "cp.sync.ca.shared.global: lacks .async; found .sync.ca.shared.global"),
        (
            "cp.async.ca.global.shared",
            "cp.async.ca.global.shared: lacks .shared before .global; found .global.shared",
        ),
        ("bar.red.xor.pred", "bar.red.xor.pred: lacks .popc, .and or .or; found .xor.pred"),
        ("redux.add.u32", "redux.add.u32: lacks .sync; found .add.u32"),
        ("atom.global.u32", "atom.global.u32: lacks an operation; found .global.u32"),
        ("cvt.pack.u16.s32", "cvt.pack.u16.s32: lacks .sat; found .u16.s32"),
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
