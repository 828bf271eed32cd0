//! Typed instructions: every opcode that compilers wrote decodes, and what no instruction has is refused by name.

use std::collections::BTreeMap;

use crate::corpus::files;
use ptx::Opcode;
use ptx::ScalarType::{F16, F32, S32, U16, U32, U64};
use ptx::op::arithmetic::{FloatVerb, IntegerVerb};
use ptx::op::control::{BarrierVerb, Reduction};
use ptx::op::copies::{CopyGroup, Copying, TensorAction};
use ptx::op::memory::{MbarrierVerb, Memory};
use ptx::op::wgmma::{Sums, Wgmma};
use ptx::op::words::{
    AddressSpace, Comparison, Eviction, MatrixElement, Order, Part, Rounding, Scope, TensorMode, Update,
};
use ptx::op::{Awaits, Op};

fn op(opcode: &str) -> Op {
    Opcode::new(opcode).op().unwrap_or_else(|error| panic!("{error}"))
}

fn error(opcode: &str) -> String {
    Opcode::new(opcode).op().expect_err(opcode).to_string()
}

/// The opcodes of the corpus, with a file and line for each.
fn corpus() -> BTreeMap<String, String> {
    let mut opcodes = BTreeMap::new();
    for (path, text) in files() {
        let module = ptx::parse(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let bodies = module.functions().filter_map(|function| function.body.as_ref());
        for instruction in bodies.flat_map(|body| &body.instructions) {
            let place = format!("{path}, line {}", instruction.position.line);
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

#[test]
fn modifiers_become_fields() {
    let Op::Memory(Memory::Ld(load)) = op("ld.acquire.gpu.global.L1::evict_last.L2::128B.v2.u64") else {
        panic!()
    };
    assert_eq!((load.order, load.scope), (Some(Order::Acquire), Some(Scope::Device)));
    assert_eq!((load.space, load.elements, load.scalar), (Some(AddressSpace::Global), 2, U64));
    assert_eq!((load.l1, load.l2, load.prefetch), (Some(Eviction::Last), None, Some(128)));
    let Op::Integer(sum) = op("mad.lo.cc.u32") else { panic!() };
    assert_eq!(
        (sum.verb, sum.part, sum.carry_out, sum.carry_in),
        (IntegerVerb::Mad, Some(Part::Low), true, false)
    );
    let Op::Integer(packed) = op("min.relu.s16x2") else { panic!() };
    assert_eq!((packed.packed, packed.relu, packed.scalar), (true, true, ptx::ScalarType::S16));
    let Op::Float(fma) = op("fma.rz.ftz.sat.f32") else { panic!() };
    assert_eq!(
        (fma.verb, fma.rounding, fma.flushes, fma.saturates),
        (FloatVerb::Fma, Some(Rounding::Zero), true, true)
    );
    let Op::Float(mixed) = op("add.rn.f32.f16") else { panic!() };
    assert_eq!((mixed.scalar, mixed.factors), (F32, Some(F16)));
    let Op::Compare(set) = op("set.ltu.and.ftz.u32.f32") else { panic!() };
    assert_eq!((set.test, set.number, set.scalar), (Comparison::LessOrNan, Some(U32), F32));
    let Op::Memory(Memory::Atomic(atomic)) = op("red.release.cta.shared::cta.add.u32") else { panic!() };
    assert_eq!(
        (atomic.gives_back, atomic.update, atomic.space),
        (false, Update::Add, Some(AddressSpace::SharedBlock))
    );
    let Op::Memory(Memory::Mbarrier(barrier)) = op("mbarrier.try_wait.parity.acquire.cta.shared::cta.b64")
    else {
        panic!()
    };
    assert_eq!((barrier.verb, barrier.parity), (MbarrierVerb::TryWait, true));
    let Op::Copy(Copying::Bulk(copy)) = op("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32")
    else {
        panic!()
    };
    assert_eq!((copy.reduction, copy.counted), (Some((Update::Add, S32)), false));
    assert_eq!(
        op("cp.async.bulk.wait_group.read"),
        Op::Copy(Copying::Group { group: CopyGroup::Wait, bulk: true })
    );
    assert_eq!(
        op("barrier.cta.red.or.aligned.pred"),
        Op::Barrier { verb: BarrierVerb::Reduce(Reduction::Or), aligned: true }
    );
    let Op::Mma(mma) = op("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") else { panic!() };
    assert_eq!((mma.rows, mma.columns, mma.depth, mma.a), (16, 8, 16, ptx::ScalarType::Bf16));
    let Op::Ldmatrix(load) = op("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16") else { panic!() };
    assert_eq!((load.count, load.transposed), (4, true));
    let unread = op("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32");
    assert_eq!(unread, Op::Other { collective: true });
    assert_eq!(op("tex.2d.v4.f32.f32"), Op::Other { collective: false });
    let Op::Stmatrix(store) = op("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16") else { panic!() };
    assert_eq!(
        (store.count, store.rows, store.transposed, store.space),
        (2, 8, true, Some(AddressSpace::Shared))
    );
    assert_eq!(op("set.eq.u16.f16"), {
        let Op::Compare(compare) = op("set.eq.u16.f16") else { panic!() };
        assert_eq!(compare.number, Some(U16));
        Op::Compare(compare)
    });
}

#[test]
fn asynchronous_products_and_tensor_copies_become_fields() {
    let Op::Wgmma(Wgmma::Product(product)) = op("wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e5m2")
    else {
        panic!()
    };
    assert_eq!((product.columns, product.depth, product.sums), (128, 32, Sums::F32));
    assert_eq!((product.a, product.b, product.sparse), (MatrixElement::E4m3, MatrixElement::E5m2, false));
    assert_eq!(op("wgmma.wait_group.sync.aligned"), Op::Wgmma(Wgmma::Wait));
    assert_eq!(op("setmaxnreg.inc.sync.aligned.u32"), Op::Setmaxnreg { takes: true });
    let tensor = |opcode: &str| match op(opcode) {
        Op::Copy(Copying::Tensor(copy)) => copy,
        op => panic!("{op:?}"),
    };
    let load = tensor(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster",
    );
    assert_eq!(load.action, TensorAction::Load(AddressSpace::SharedCluster));
    assert_eq!((load.dimensions, load.mode, load.multicast), (3, Some(TensorMode::Tile), true));
    let store = tensor("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint");
    assert_eq!((store.action, store.has_policy, store.blocks), (TensorAction::Store, true, None));
    let reduce = tensor("cp.reduce.async.bulk.tensor.1d.global.shared::cta.max.tile.bulk_group");
    assert_eq!(reduce.action, TensorAction::Reduce(Update::Max));
    assert_eq!(tensor("cp.async.bulk.prefetch.tensor.1d.L2.global").action, TensorAction::Prefetch);
}

/// Every instruction in the inline assembly of `cuda_std`, as far as it is written in one piece.
#[test]
fn the_assembly_of_cuda_std_is_read() {
    let sources = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../cuda_std/src");
    let mut open = vec![sources];
    let mut read = 0;
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(
                std::fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()),
            );
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source");
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for literal in line.split('"').skip(1).step_by(2).filter(|literal| literal.ends_with(';')) {
                for statement in literal.split(['{', '}', ';']).map(str::trim) {
                    let words = statement.split_whitespace().find(|word| !word.starts_with('@'));
                    let opcode = words.filter(|word| word.contains('.') && !word.starts_with(['.', '%']));
                    if let Some(opcode) = opcode {
                        assert!(!matches!(op(opcode), Op::Other { .. }), "{}: {opcode}", path.display());
                        read += 1;
                    }
                }
            }
        }
    }
    assert!(read > 60, "{read}");
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
        ("setmaxnreg.dec.u32", "setmaxnreg.dec.u32: lacks .sync.aligned.u32; found .u32"),
        ("wgmma.fence.aligned", "wgmma.fence.aligned: lacks .sync.aligned; found .aligned"),
        (
            "wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16",
            "wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16: lacks a shape such as .m64n8k16; found .m64n12k16.f32.f16.f16",
        ),
        (
            "wgmma.mma_async.sync.aligned.m64n8k16.f16.bf16.bf16",
            "wgmma.mma_async.sync.aligned.m64n8k16.f16.bf16.bf16: lacks a type of A that fits the sums and the shape; found .bf16.bf16",
        ),
        (
            "cp.async.bulk.tensor.6d.global.shared::cta.tile.bulk_group",
            "cp.async.bulk.tensor.6d.global.shared::cta.tile.bulk_group: lacks .1d to .5d; found .6d.global.shared::cta.tile.bulk_group",
        ),
        (
            "cp.async.bulk.tensor.2d.global.shared::cta.tile::gather4.bulk_group",
            "cp.async.bulk.tensor.2d.global.shared::cta.tile::gather4.bulk_group: unknown modifier .tile::gather4, or not in this place",
        ),
        (
            "stmatrix.sync.aligned.m16n8.x1.shared.b8",
            "stmatrix.sync.aligned.m16n8.x1.shared.b8: lacks .trans; found .shared.b8",
        ),
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
    assert!(op("atom.add.u32").is_atomic() && op("red.add.u32").is_atomic());
    assert!(!op("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32").is_atomic());
    for collective in [
        "activemask.b32",
        "bar.sync",
        "bar.warp.sync",
        "barrier.cluster.arrive",
        "elect.sync",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
        "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32",
        "movmatrix.sync.aligned.m8n8.trans.b16",
        "setmaxnreg.dec.sync.aligned.u32",
        "shfl.sync.bfly.b32",
        "tcgen05.mma.cta_group::1.kind::f16",
        "vote.sync.ballot.b32",
        "wgmma.fence.sync.aligned",
    ] {
        assert!(op(collective).is_collective() && !op(collective).computes(), "{collective}");
    }
    for (barrier, alone) in
        [("barrier.cta.arrive", "bar.warp.sync"), ("barrier.cluster.wait", "mbarrier.init.b64")]
    {
        assert!(op(barrier).is_barrier() && !op(alone).is_barrier(), "{barrier}, {alone}");
    }
    for pure in ["add.cc.u32", "cvta.to.global.u64", "div.full.f32", "mov.b64", "setp.lt.f32", "mapa.u64"] {
        assert!(op(pure).computes() && !op(pure).is_collective(), "{pure}");
    }
    for effect in ["addc.u32", "ld.global.b32", "st.global.b32", "prefetch.global.L1", "ret", "membar.gl"] {
        assert!(!op(effect).computes() && !op(effect).is_collective(), "{effect}");
    }
}
