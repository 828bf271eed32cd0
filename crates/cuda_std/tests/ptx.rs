//! Tests of the PTX of the device functions: builds tests/kernels, which calls each at least once, and reads the PTX.
//!
//! The kernels are compiled once; LLVM writes PTX for three architectures.

use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;

use cuda_builder::{CudaBuilder, NvvmArch};

const ARCHES: [NvvmArch; 3] = [NvvmArch::Compute75, NvvmArch::Compute80, NvvmArch::Compute90];

/// The architecture whose own kernels are built apart: `wgmma` exists there alone.
const HOPPER: NvvmArch = NvvmArch::Compute90a;

/// The PTX for each of [`ARCHES`] and for [`HOPPER`], and each kernel's part of it by name.
static MODULES: LazyLock<Vec<Module>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let build = CudaBuilder::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels"))
        .arches(ARCHES)
        .own_kernels(HOPPER)
        .generate_line_info(false)
        // Where the device tests' build script keeps it too: `core` is compiled once for both.
        .target_dir(folder.join("../cuda-builder"))
        .copy_to(folder.join("kernels.ptx"))
        .build_all()
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(build.warnings, [""; 0]);
    build.artifacts.iter().map(|artifact| Module::read(&artifact.ptx)).collect()
});

struct Module {
    text: String,
    kernels: HashMap<String, String>,
}

impl Module {
    fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).expect("the builder wrote the file");
        let kernels = text
            .split(".visible .entry ")
            .skip(1)
            .map(|rest| {
                let name = rest.split('(').next().unwrap_or_default();
                (name.to_owned(), rest[..end_of_body(rest)].to_owned())
            })
            .collect();
        Self { text, kernels }
    }

    /// A kernel's instructions: one per line, operands separated by single spaces.
    fn kernel(&self, name: &str) -> Vec<String> {
        let text = self.kernels.get(name).unwrap_or_else(|| panic!("no kernel {name}"));
        let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        lines.filter(|line| !line.is_empty() && !line.starts_with("//")).collect()
    }
}

/// The end of the first block in braces. Inline assembly and vector operands have braces of their own.
fn end_of_body(text: &str) -> usize {
    let mut depth = 0;
    for (place, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 1 => return place,
            '}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

fn module(arch: NvvmArch) -> &'static Module {
    &MODULES[ARCHES.iter().chain([&HOPPER]).position(|&other| other == arch).expect("one that is built")]
}

/// Fails unless the kernel's lines contain the expected texts in this order.
#[track_caller]
fn expect_in_order(arch: NvvmArch, kernel: &str, expected: &[&str]) {
    let lines = module(arch).kernel(kernel);
    let mut rest = lines.iter();
    for text in expected {
        assert!(
            rest.any(|line| line.contains(text)),
            "{kernel} for {arch}: no `{text}` after what was found before it, in\n{}",
            lines.join("\n")
        );
    }
}

/// The same for all architectures, in a kernel without calls or local memory.
#[track_caller]
fn expect(kernel: &str, expected: &[&str]) {
    for arch in ARCHES {
        expect_in_order(arch, kernel, expected);
        let lines = module(arch).kernel(kernel);
        let wasteful = lines.iter().find(|line| line.starts_with("call") || line.contains("local"));
        assert_eq!(wasteful, None, "{kernel} for {arch}");
    }
}

fn count(arch: NvvmArch, kernel: &str, text: &str) -> usize {
    module(arch).kernel(kernel).iter().filter(|line| line.contains(text)).count()
}

#[test]
fn launch_bounds_are_directives() {
    for arch in ARCHES {
        expect_in_order(arch, "launch_literal", &[".maxntid 256", ".minnctapersm 2"]);
        expect_in_order(arch, "launch_constant", &[".maxntid 256"]);
        assert_eq!(count(arch, "launch_constant", ".minnctapersm"), 0);
        assert_eq!(count(arch, "slices", ".maxntid"), 0);
    }
}

#[test]
fn a_slice_is_a_pointer_and_a_length() {
    let text = &module(NvvmArch::Compute75).kernels["slices"];
    let parameters: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix(".param ")).collect();
    let types: Vec<&str> =
        parameters.iter().map(|parameter| parameter.split(' ').next().unwrap_or("")).collect();
    assert_eq!(types, [".u64", ".u64", ".u64", ".u64", ".u64", ".u64", ".f32", ".u64"], "{parameters:?}");
}

#[test]
fn only_frozen_slices_are_read_only() {
    // The slice, then the slice of cells, then the reference.
    expect("slices", &["ld.global.nc.b32", "ld.global.b32", "ld.global.nc.b32", "st.global.b32"]);
}

#[test]
fn vectors_move_as_one_access() {
    expect("vectors", &["ld.global.nc.v4.b32", "st.global.v4.b32"]);
    expect("vector_components", &["ld.global.nc.v4.b32", "add.rn.f32"]);
    assert_eq!(count(NvvmArch::Compute75, "vectors", "ld.global"), 1);
    assert_eq!(count(NvvmArch::Compute75, "vector_components", "ld.global"), 1);
}

#[test]
fn an_index_is_read_once() {
    expect("index_1d", &["%ctaid.x", "%ntid.x", "%tid.x", "mad.lo.s32", "st.global.b32"]);
    assert_eq!(count(NvvmArch::Compute75, "index_1d", "%tid.x"), 1);
    for register in ["%tid", "%ctaid", "%ntid", "%nctaid"] {
        for axis in ["x", "y", "z"] {
            assert_eq!(
                count(NvvmArch::Compute90, "indices", &format!("{register}.{axis};")),
                1,
                "{register}.{axis}"
            );
        }
    }
}

#[test]
fn barriers_and_fences() {
    expect("barriers", &["bar.sync 0;", "bar.red.popc.u32", "bar.red.and.pred", "bar.red.or.pred"]);
    let stores = "st.global.b32";
    expect(
        "fences",
        &[stores, "membar.cta;", stores, "membar.gl;", stores, "membar.sys;", "nanosleep.u32 100;", stores],
    );
}

#[test]
fn a_barrier_stays_in_its_branch() {
    for arch in ARCHES {
        assert_eq!(count(arch, "barrier_in_both_branches", "bar.sync"), 2, "{arch}");
    }
}

#[test]
fn shuffles_have_the_clamp_of_their_mode() {
    // The control operand is (32 - width) << 8, plus 31 except for `up`.
    expect("shuffle_up", &[", 1, 0, -1;", ", 2, 6144, -1;"]);
    expect("shuffle_down", &[", 16, 31, -1;", ", 4, 4127, -1;"]);
    expect("shuffle_idx", &[", 3, 7199, -1;"]);
    expect("shuffle_xor", &[", 1, 31, -1;", ", 1, 31, -1;", ", 2, 31, -1;"]);
    for (kernel, instruction, times) in [
        ("shuffle_up", "shfl.sync.up.b32", 2),
        ("shuffle_down", "shfl.sync.down.b32", 2),
        ("shuffle_idx", "shfl.sync.idx.b32", 1),
        ("shuffle_xor", "shfl.sync.bfly.b32", 6),
    ] {
        assert_eq!(count(NvvmArch::Compute75, kernel, instruction), times, "{kernel}");
    }
}

#[test]
fn votes_and_matches() {
    let expected = [
        "vote.sync.all.pred",
        "vote.sync.any.pred",
        "vote.sync.ballot.b32",
        "activemask.b32",
        "%laneid",
        "bar.warp.sync 255;",
    ];
    expect("votes", &expected);
    expect(
        "matches",
        &["match.any.sync.b32", "match.any.sync.b64", "match.all.sync.b32", "match.all.sync.b64"],
    );
}

#[test]
fn a_reduction_is_one_instruction_where_there_is_one() {
    let expected = [
        "redux.sync.add.s32",
        "redux.sync.min.u32",
        "redux.sync.max.u32",
        "redux.sync.and.b32",
        "redux.sync.or.b32",
        "redux.sync.xor.b32",
        "redux.sync.min.s32",
        "redux.sync.max.s32",
    ];
    expect_in_order(NvvmArch::Compute80, "reductions", &expected);
    expect_in_order(NvvmArch::Compute90, "reductions", &expected);
    expect_in_order(NvvmArch::Compute75, "reductions", &["shfl.sync.idx.b32"]);
    assert_eq!(count(NvvmArch::Compute75, "reductions", "redux"), 0);
    assert_eq!(count(NvvmArch::Compute90, "reductions", "shfl"), 0);
}

#[test]
fn loads_carry_their_hint() {
    for (kernel, instruction) in [
        ("load_read_only", "ld.global.nc"),
        ("load_read_only_evict_first", "ld.global.nc.L1::evict_first"),
        ("load_read_only_evict_last", "ld.global.nc.L1::evict_last"),
        ("load_read_only_no_allocate", "ld.global.nc.L1::no_allocate"),
        ("load_read_only_l2_128", "ld.global.nc.L2::128B"),
        ("load_read_only_no_allocate_l2_128", "ld.global.nc.L1::no_allocate.L2::128B"),
        ("load_cached_all", "ld.global.ca"),
        ("load_cached_global", "ld.global.cg"),
        ("load_streaming", "ld.global.cs"),
        ("load_last_use", "ld.global.lu"),
        ("load_volatile", "ld.global.cv"),
        ("load_evict_first", "ld.global.L1::evict_first"),
        ("load_evict_last", "ld.global.L1::evict_last"),
        ("load_no_allocate", "ld.global.L1::no_allocate"),
        ("load_l2_128", "ld.global.L2::128B"),
    ] {
        expect(kernel, &[&format!("{instruction}.v4.b32 {{"), "st.global.v4.b32"]);
    }
    for (kernel, instruction) in [
        ("load_read_only_l2_256", "ld.global.nc.L2::256B"),
        ("load_read_only_no_allocate_l2_256", "ld.global.nc.L1::no_allocate.L2::256B"),
        ("load_l2_256", "ld.global.L2::256B"),
        ("load_no_allocate_l2_256", "ld.global.L1::no_allocate.L2::256B"),
    ] {
        expect_in_order(
            NvvmArch::Compute80,
            kernel,
            &[&format!("{instruction}.v4.b32 {{"), "st.global.v4.b32"],
        );
        assert_eq!(count(NvvmArch::Compute75, kernel, "ld.global"), 0, "{kernel} needs sm_80");
    }
}

#[test]
fn stores_carry_their_hint() {
    for (kernel, instruction) in [
        ("store_write_back", "st.global.wb"),
        ("store_cached_global", "st.global.cg"),
        ("store_streaming", "st.global.cs"),
        ("store_write_through", "st.global.wt"),
        ("store_evict_first", "st.global.L1::evict_first"),
        ("store_evict_last", "st.global.L1::evict_last"),
        ("store_no_allocate", "st.global.L1::no_allocate"),
    ] {
        expect(kernel, &["ld.global.v4.b32", &format!("{instruction}.v4.b32 [")]);
    }
}

#[test]
fn each_width_has_its_access() {
    for (kernel, shape) in [
        ("shape_u8", ".b8"),
        ("shape_i16", ".b16"),
        ("shape_f32", ".b32"),
        ("shape_f64", ".b64"),
        ("shape_f32x2", ".v2.b32"),
        ("shape_f32x4", ".v4.b32"),
        ("shape_f64x2", ".v2.b64"),
    ] {
        expect(kernel, &[&format!("ld.global.nc{shape} "), &format!("st.global.cs{shape} ")]);
    }
}

#[test]
fn a_read_only_load_leaves_the_loop() {
    let lines = module(NvvmArch::Compute75).kernel("read_only_in_a_loop");
    let load = lines.iter().position(|line| line.starts_with("ld.global.nc")).expect("a load");
    let first_store = lines.iter().position(|line| line.starts_with("st.global")).expect("a store");
    let backward = lines.iter().rposition(|line| line.contains("bra")).expect("a loop");
    assert!(load < first_store && first_store < backward, "{lines:#?}");
    assert_eq!(count(NvvmArch::Compute75, "read_only_in_a_loop", "ld.global.nc"), 1);
}

#[test]
fn prefetches_and_policies() {
    expect("prefetches", &["prefetch.global.L1 [", "prefetch.global.L2 ["]);
    expect_in_order(NvvmArch::Compute80, "prefetches", &["prefetch.global.L2::evict_last ["]);
    expect_in_order(
        NvvmArch::Compute90,
        "policies",
        &[
            "ld.global.L1::no_allocate.L2::cache_hint.v4.b32 {",
            "st.global.L1::no_allocate.L2::cache_hint.v4.b32 [",
        ],
    );
    for policy in ["evict_first", "evict_last", "evict_unchanged"] {
        assert_eq!(
            count(NvvmArch::Compute80, "policies", &format!("createpolicy.fractional.L2::{policy}.b64")),
            1
        );
    }
}

#[test]
fn atomics_have_their_ordering_and_scope() {
    expect(
        "atomic_floats",
        &[
            "atom.relaxed.gpu.global.add.f32",
            "atom.acq_rel.cta.global.add.f32",
            "fence.sc.sys;",
            "atom.acq_rel.sys.global.add.f64",
            "atom.acquire.gpu.global.and.b32",
            "atom.release.sys.global.or.b64",
            "atom.relaxed.gpu.global.xor.b32",
        ],
    );
    expect(
        "atomic_loads",
        &[
            "ld.acquire.gpu.global.b64",
            "fence.sc.sys;",
            "ld.acquire.sys.global.b32",
            "st.release.gpu.global.b64",
            "fence.sc.sys;",
            "st.relaxed.sys.global.b32",
        ],
    );
    expect(
        "atomic_mid",
        &[
            "fence.acq_rel.cta;",
            "fence.sc.gpu;",
            "fence.acq_rel.sys;",
            "atom.relaxed.cta.global.min.s64",
            "atom.release.sys.global.max.u32",
            "atom.acq_rel.gpu.global.cas.b32",
            "atom.acquire.gpu.global.exch.b32",
            "neg.s32",
            "atom.relaxed.gpu.global.add.u32",
            "ld.relaxed.cta.global.b32",
            "st.relaxed.sys.global.b32",
        ],
    );
    expect(
        "atomic_intrinsics",
        &[
            "atom.cta.global.add.u32",
            "atom.relaxed.sys.global.add.u32",
            "st.volatile.global.b32",
            "ld.volatile.global.b32",
            "atom.release.cta.global.cas.b32",
            "membar.gl;",
            "fence.acq_rel.cta;",
            "fence.sc.sys;",
        ],
    );
    expect(
        "atomic_shared",
        &["st.relaxed.cta.shared.b32", "atom.acq_rel.cta.shared.add.u32", "ld.acquire.cta.shared.b32"],
    );
    for arch in ARCHES {
        assert_eq!(count(arch, "atomic_shared", "cvta.shared"), 0, "the array's address stays its own");
    }
    expect("atomic_of_core", &["add.u32"]);
}

#[test]
fn float_functions_are_instructions_where_there_are_some() {
    for (kernel, instruction) in [
        ("floor_f32", "cvt.rmi.f32.f32"),
        ("ceil_f32", "cvt.rpi.f32.f32"),
        ("round_ties_even_f32", "cvt.rni.f32.f32"),
        ("trunc_f64", "cvt.rzi.f64.f64"),
        ("round_f32", "cvt.rzi.f32.f32"),
        ("fract_f64", "sub.rn.f64"),
        ("sqrt_f32", "sqrt.rn.f32"),
        ("sqrt_f64", "sqrt.rn.f64"),
        ("mul_add_f32", "fma.rn.f32"),
        ("mul_add_f64", "fma.rn.f64"),
        ("abs_f32", "abs.f32"),
        ("copysign_f32", "copysign.f32"),
        ("signum_f32", "copysign.f32"),
        ("saturate_f32", "cvt.sat.f32.f32"),
        ("min_f32", "min.f32"),
        ("approx_sin", "sin.approx.f32"),
        ("approx_cos", "cos.approx.f32"),
        ("approx_exp2", "ex2.approx.f32"),
        ("approx_exp", "ex2.approx.f32"),
        ("approx_log2", "lg2.approx.f32"),
        ("approx_ln", "lg2.approx.f32"),
        ("approx_sqrt", "sqrt.approx.f32"),
        ("approx_reciprocal_sqrt", "rsqrt.approx.f32"),
        ("approx_reciprocal", "rcp.approx.f32"),
        ("approx_divide", "div.approx.f32"),
        ("approx_tanh", "tanh.approx.f32"),
    ] {
        expect(kernel, &["ld.global", instruction, "st.global"]);
    }
    for kernel in ["sin_f32", "powf_f64", "norm_f64"] {
        assert_eq!(count(NvvmArch::Compute75, kernel, ".approx"), 0, "{kernel} is no approximation");
    }
}

#[test]
fn a_rounding_to_an_integer_is_one_conversion() {
    for (kernel, instruction) in [
        ("cast_f32", "cvt.rzi.s32.f32"),
        ("float2int_rn", "cvt.rni.s32.f32"),
        ("float2uint_rd", "cvt.rmi.u32.f32"),
        ("double2ll_ru", "cvt.rpi.s64.f64"),
    ] {
        expect(kernel, &["ld.global", instruction, "st.global"]);
        for arch in ARCHES {
            assert_eq!(count(arch, kernel, "cvt.r"), 1, "{kernel}");
            // Only an integer of 64 bits is wrong for NaN.
            assert_eq!(count(arch, kernel, "selp"), usize::from(kernel == "double2ll_ru"), "{kernel}");
        }
    }
}

#[test]
fn brain_floats_are_one_conversion_where_there_is_one() {
    for (kernel, instruction) in [("bfloat16", "cvt.rn.bf16.f32"), ("bfloat162", "cvt.rn.bf16x2.f32")] {
        expect_in_order(NvvmArch::Compute80, kernel, &["ld.global", instruction, "st.global"]);
        assert_eq!(count(NvvmArch::Compute75, kernel, ".bf16"), 0, "{kernel} needs sm_80");
        expect(kernel, &["ld.global", "st.global"]);
    }
}

#[test]
fn exponential_functions_are_short() {
    // The load, the store, and what moves the parameter and returns are five.
    for (kernel, approximations, others) in [
        ("exp_f32", &["ex2.approx.ftz.f32"][..], 10),
        ("exp2_f32", &["ex2.approx.f32"], 0),
        ("tanh_f32", &["ex2.approx.ftz.f32", "rcp.approx.ftz.f32"], 14),
    ] {
        expect(kernel, approximations);
        for arch in ARCHES {
            let lines = module(arch).kernel(kernel);
            let instructions =
                lines.iter().filter(|line| line.ends_with(';') && !line.starts_with('.')).count();
            assert!(
                instructions <= 5 + approximations.len() + others,
                "{instructions} instructions:\n{}",
                lines.join("\n")
            );
            assert_eq!(count(arch, kernel, "bra"), 0, "{kernel}");
        }
    }
}

#[test]
fn statics_lie_in_their_memory() {
    expect("shared_static", &["st.shared.b32", "bar.sync 0;", "ld.shared.b32", "ld.const.b32"]);
    expect("shared_macro", &["st.shared.b32", "bar.sync 0;", "ld.shared.b32"]);
    expect("shared_dynamic", &["st.shared.b32", "bar.sync 0;", "ld.shared.b32"]);
    expect("global_statics", &["ld.global.b32", "ld.global.b32"]);
    let text = &module(NvvmArch::Compute75).text;
    for declaration in [
        ".extern .shared .align 16 .b8 __cuda_std_dynamic_shared[]",
        ".visible .const .align 4 .b8 COEFFICIENTS[20]",
        ".visible .global .align 4 .b8 COUNTER[4] = {7}",
        ".visible .global .attribute(.managed) .align 4 .b8 MANAGED[4] = {8}",
        ".visible .global .align 4 .b8 TABLE[12]",
        "device_function(",
    ] {
        assert!(text.contains(declaration), "no `{declaration}`");
    }
}

#[test]
fn spaces_sizes_and_clocks() {
    for space in ["global", "shared", "const", "local"] {
        let lines = module(NvvmArch::Compute75).kernel("spaces").join("\n");
        for instruction in ["isspacep", "cvta.to", "cvta"] {
            let ending = if instruction == "isspacep" { "" } else { ".u64" };
            assert!(
                lines.contains(&format!("{instruction}.{space}{ending}")),
                "{instruction}.{space}: {lines}"
            );
        }
    }
    let expected =
        ["%dynamic_smem_size", "%total_smem_size", "%clock64", "%globaltimer", "pmevent 3;", "brkpt;"];
    expect("sizes_and_clocks", &expected);
}

#[test]
fn the_architecture_is_that_of_each_output() {
    for (arch, number) in
        [(NvvmArch::Compute75, "750"), (NvvmArch::Compute80, "800"), (NvvmArch::Compute90, "900")]
    {
        expect_in_order(arch, "architecture", &[&format!("st.global.b32 [%rd2], {number};")]);
    }
    assert_eq!(count(NvvmArch::Compute80, "architecture", "fence.mbarrier_init"), 0);
    assert_eq!(count(NvvmArch::Compute90, "architecture", "fence.mbarrier_init"), 1);
}

#[test]
fn element_copies_are_asynchronous() {
    for arch in [NvvmArch::Compute80, NvvmArch::Compute90] {
        expect_in_order(
            arch,
            "element_copies",
            &[
                "cp.async.cg.shared.global [",
                "cp.async.commit_group;",
                "cp.async.ca.shared.global [",
                "cp.async.cg.shared.global [",
            ],
        );
        expect_in_order(
            arch,
            "element_copies",
            &[
                "], 16;",
                "], 4;",
                "], 16, %r",
                "], 16, %r",
                "cp.async.commit_group;",
                "cp.async.wait_group 1;",
                "cp.async.wait_all;",
                "bar.sync 0;",
            ],
        );
    }
    assert_eq!(count(NvvmArch::Compute75, "element_copies", "cp.async"), 0);
}

#[test]
fn bulk_copies_are_asynchronous() {
    expect_in_order(
        NvvmArch::Compute90,
        "bulk_copies",
        &[
            "mbarrier.init.shared.b64 [",
            "fence.mbarrier_init.release.cluster;",
            "bar.sync 0;",
            "mbarrier.arrive.expect_tx.shared::cta.b64",
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64",
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [",
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [",
            "cp.async.bulk.prefetch.L2.global [",
            "mbarrier.arrive.shared.b64",
            "mbarrier.test_wait.shared.b64",
            "mbarrier.try_wait.parity.shared::cta.b64",
            "fence.proxy.async.shared::cta;",
            "bar.sync 0;",
            "cp.async.bulk.global.shared::cta.bulk_group [",
            "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [",
            "cp.async.bulk.commit_group;",
            "cp.async.bulk.wait_group.read 0;",
            "cp.async.bulk.wait_group 0;",
            "mbarrier.inval.shared.b64 [",
        ],
    );
    assert_eq!(count(NvvmArch::Compute80, "bulk_copies", "mbarrier"), 0);
}

#[test]
fn kernels_are_where_their_instructions_are() {
    let has = |kernel: &str| {
        [NvvmArch::Compute75, NvvmArch::Compute80, NvvmArch::Compute90, HOPPER]
            .map(|arch| module(arch).kernels.contains_key(kernel))
    };
    assert_eq!(has("bulk_copies"), [true, true, true, false]);
    assert_eq!(has("fragments"), [false, true, true, false]);
    for kernel in ["stages", "clusters"] {
        assert_eq!(has(kernel), [false, false, false, true], "{kernel}");
    }
    assert!(module(HOPPER).text.contains(".target sm_90a"));
}

#[test]
fn fragments_are_loaded_and_multiplied_by_warps() {
    for arch in [NvvmArch::Compute80, NvvmArch::Compute90] {
        expect_in_order(
            arch,
            "fragments",
            &[
                "bar.sync 0;",
                "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r",
                "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r",
                "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r",
                "cvt.rn.bf16x2.f32 %r",
            ],
        );
    }
}

#[test]
fn stages_are_filled_read_multiplied_and_stored() {
    // The two branches of the kernel may come in either order.
    expect_in_order(
        HOPPER,
        "stages",
        &["mbarrier.init.shared.b64 [", "fence.mbarrier_init.release.cluster;", "bar.sync 0;"],
    );
    expect_in_order(
        HOPPER,
        "stages",
        &[
            "setmaxnreg.dec.sync.aligned.u32 24;",
            "fence.proxy.tensormap::generic.acquire.gpu [%rd",
            "mbarrier.try_wait.parity.shared::cta.b64",
            "mbarrier.arrive.expect_tx.shared::cta.b64 %rd",
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r",
        ],
    );
    expect_in_order(
        HOPPER,
        "stages",
        &[
            "setmaxnreg.inc.sync.aligned.u32 160;",
            "mbarrier.try_wait.parity.shared::cta.b64",
            "wgmma.fence.sync.aligned;",
            "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%r",
            "wgmma.commit_group.sync.aligned;",
            "wgmma.wait_group.sync.aligned 0; }",
            "mbarrier.arrive.shared.b64 _, [%r",
            "wgmma.wait_group.sync.aligned 0;",
            "cvt.rn.bf16x2.f32 %r",
            "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r",
            "fence.proxy.async.shared::cta;",
            "bar.sync %r",
            "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd",
            "cp.async.bulk.commit_group; }",
            "cp.async.bulk.wait_group.read 0;",
            "cp.async.bulk.wait_group 0;",
        ],
    );
    for (text, times) in [("wgmma.mma_async", 4), ("stmatrix", 4), ("setmaxnreg", 2), ("bar.sync", 2)] {
        assert_eq!(count(HOPPER, "stages", text), times, "{text}");
    }
    for text in ["local", "trap"] {
        assert_eq!(count(HOPPER, "stages", text), 0, "{text}");
    }
}

#[test]
fn a_tensor_map_among_the_parameters_needs_no_fence() {
    expect_in_order(
        HOPPER,
        "mapped",
        &[
            ".param .u64 .ptr .align 1 mapped_param_0",
            ".param .u64 mapped_param_1",
            ".param .align 64 .b8 mapped_param_2[128]",
            ".param .align 64 .b8 mapped_param_3[12]",
            "mov.b64 %at, mapped_param_2; cvta.param.u64 %rd",
            "cp.async.bulk.tensor.2d",
        ],
    );
    assert_eq!(count(HOPPER, "mapped", "mov.b64 %at, mapped_param_3; cvta.param.u64 %rd"), 1);
    for text in ["fence.proxy", "local"] {
        assert_eq!(count(HOPPER, "mapped", text), 0, "{text}");
    }
}

#[test]
fn blocks_of_a_cluster_meet_and_share() {
    expect_in_order(
        HOPPER,
        "clusters",
        &[
            ".explicitcluster",
            ".reqnctapercluster 2, 1, 1",
            "mov.u32 %r",
            "barrier.cluster.arrive.release.aligned;",
            "barrier.cluster.wait.acquire.aligned;",
            "elect.sync _|%elected, 0xffffffff;",
            ".multicast::cluster [%r",
            "mapa.shared::cluster.u32 %r",
            "mbarrier.arrive.shared::cluster.b64 _, [%r",
            "mapa.shared::cluster.u32 %r",
        ],
    );
    assert_eq!(count(HOPPER, "clusters", "trap;"), 1);
}

#[test]
fn an_accumulator_is_finished_before_another() {
    expect_in_order(
        HOPPER,
        "halves",
        &[
            ".reqnctapercluster 1, 2, 1",
            "prefetch.tensormap [%rd",
            "barrier.cluster.arrive.relaxed.aligned;",
            "barrier.cluster.wait.acquire.aligned;",
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%r",
            "wgmma.wait_group.sync.aligned 1;",
            "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r",
            "wgmma.wait_group.sync.aligned 0;",
            "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r",
            "ld.shared.v4.b32 {%r",
        ],
    );
    assert_eq!(count(HOPPER, "halves", "wgmma.mma_async"), 8);
    assert_eq!(count(HOPPER, "halves", "local"), 0);
}

#[test]
fn a_dependent_launch_waits_before_it_reads() {
    expect_in_order(
        NvvmArch::Compute90,
        "overlapping",
        &[
            "ld.global.nc.b32",
            "griddepcontrol.wait;",
            "ld.global.b32",
            "st.global.b32",
            "griddepcontrol.launch_dependents;",
            "st.global.b32",
        ],
    );
    assert!(!module(NvvmArch::Compute80).kernels.contains_key("overlapping"));
}

#[test]
fn every_kind_of_product_has_its_instruction() {
    expect_in_order(
        HOPPER,
        "kinds",
        &[
            // The first of all adds to nothing; B is transposed.
            "setp.ne.u32 %first, 0, 0;",
            ", %first, 1, 1, 0, 1;",
            ", %add, 1, 1, 0, 1;",
            ", %add, 1, 1;",
            "wgmma.wait_group.sync.aligned 1; }",
            "wgmma.wait_group.sync.aligned 2; }",
            "wgmma.wait_group.sync.aligned 3; }",
            "wgmma.wait_group.sync.aligned 0;",
            "add.rn.f32",
            "mul.rn.f32",
        ],
    );
    for elements in ["k16.f32.bf16.bf16", "k32.f32.e4m3.e4m3", "k32.f32.e5m2.e5m2", "k8.f32.tf32.tf32"] {
        let instruction = format!("wgmma.mma_async.sync.aligned.m64n128{elements} {{%r");
        assert_eq!(count(HOPPER, "kinds", &instruction), 4, "{instruction}");
    }
    assert_eq!(count(HOPPER, "kinds", "local"), 0);
}

#[test]
fn a_box_of_a_stack_has_three_coordinates() {
    expect_in_order(HOPPER, "stacked", &["cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%rd"]);
}

#[test]
fn text_and_heap_are_the_drivers() {
    for arch in ARCHES {
        expect_in_order(arch, "heap", &["call.uni (retval0), malloc,", "free,"]);
        let text = &module(arch).text;
        for function in ["vprintf", "__assertfail", "malloc", "free"] {
            let declared = text.split(".extern .func").skip(1).any(|rest| {
                let declaration = rest.split(';').next().unwrap_or("");
                declaration
                    .split(|character: char| !character.is_alphanumeric() && character != '_')
                    .any(|word| word == function)
            });
            assert!(declared, "{function} for {arch}");
        }
        // `%s`, so that no text is ever a format.
        assert!(text.contains("[3] = {37, 115, 0}") || text.contains("[3] = {37, 115}"), "{arch}");
    }
}
