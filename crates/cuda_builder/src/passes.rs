//! The passes over the linked module, one per file.
//!
//! Everything here happens before optimisation, because optimisation is what makes use of it: a shared array that is
//! moved to its address space afterwards would leave generic accesses behind, and a `static mut` that only
//! the host writes would have been folded to its initialiser.

mod assembly_memories;
mod constant_memory;
mod convergence;
mod dynamic_shared;
mod float;
mod float_to_integer;
mod internalise;
mod kernels;
mod local_arrays;
mod local_atomics;
mod memories;
mod processor;

pub(crate) use convergence::{instructions as assembly_instructions, is_collective};
pub(crate) use float::FloatOptions;
pub(crate) use kernels::check_clusters;

use std::collections::BTreeSet;

use crate::llvm::{Linkage, Module, Optimise, TargetMachine, Value};
use crate::markers::{self, Kernel};
use crate::{CudaBuilderError, NvvmArch, audit};

/// The user's options for the passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct PassOptions {
    pub(crate) float: FloatOptions,
    pub(crate) constant_memory: bool,
    /// Leaves out the pass that tells LLVM which code lanes run together, for tests of the audit that looks for the damage.
    pub(crate) leave_unmarked: bool,
}

/// The result of [`prepare`].
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    /// The kernels that have a description and are still there.
    pub(crate) kernels: Vec<Kernel>,
    /// Warnings about likely mistakes.
    pub(crate) warnings: Vec<String>,
}

/// Runs the passes that are the same for every architecture: acts on the markers and strips the module to the PTX's
/// contents. Keeps only the kernels in `only`, if that is given.
pub(crate) fn prepare(
    module: &mut Module<'_>,
    machine: &TargetMachine,
    arch: NvvmArch,
    options: PassOptions,
    only: Option<&BTreeSet<String>>,
) -> Result<Prepared, CudaBuilderError> {
    let mut warnings = Vec::new();
    module.set_target(machine);
    let mut kernels = markers::kernels(module)?;
    let mut roots = markers::roots(module);
    if let Some(only) = only {
        all_are_there(only, &kernels)?;
        kernels.retain(|kernel| only.contains(&kernel.name));
        roots.retain(|root| !root.is_kernel() || only.contains(&root.name()));
    }
    kernels::run(module, &kernels)?;
    internalise::run(module, &roots);
    machine.run(module, "globaldce").map_err(CudaBuilderError::llvm("removing what no kernel uses"))?;
    let mut findings = audit::constant_writes(module, machine)?;
    findings.extend(audit::statics(module, &kernels));
    if !findings.is_empty() {
        return Err(CudaBuilderError::Audit { arch, findings });
    }
    dynamic_shared::run(module);
    memories::run(module, &mut warnings)?;
    if options.constant_memory {
        constant_memory::run(module, &mut warnings);
    }
    processor::run(module);
    if !options.leave_unmarked {
        convergence::run(module);
    }
    float::run(module, options.float);
    module.verify().map_err(CudaBuilderError::llvm("checking the module before optimisation"))?;
    let findings = audit::uniformity(module, machine, &kernels)?;
    if !findings.is_empty() {
        return Err(CudaBuilderError::Audit { arch, findings });
    }
    Ok(Prepared { kernels, warnings })
}

/// Removes these kernels, and what nothing else uses.
pub(crate) fn leave_out(
    module: &mut Module<'_>,
    machine: &TargetMachine,
    kernels: &[&str],
) -> Result<(), String> {
    if kernels.is_empty() {
        return Ok(());
    }
    for kernel in kernels.iter().filter_map(|name| module.function(name)) {
        kernel.set_linkage(Linkage::Internal);
    }
    machine.run(module, "globaldce")
}

/// Removes the variables that no kernel uses, though the host can see them.
///
/// This is for PTX that is loaded beside that of the other kernels, where the host finds them. Constants that nobody reads cost each
/// launch of any kernel in the module 0.2 us on an H200.
pub(crate) fn leave_out_variables(module: &mut Module<'_>, machine: &TargetMachine) -> Result<(), String> {
    // Not by its users: those that stood in kernels which are gone leave constant expressions behind, and LLVM's pass alone knows
    // that nothing needs them.
    let is_seen =
        |variable: &Value<'_>| !variable.is_declaration() && matches!(variable.linkage(), Linkage::External);
    let seen: Vec<Value<'_>> = module.variables().filter(is_seen).collect();
    let names: Vec<String> = seen.iter().map(|variable| variable.name()).collect();
    seen.into_iter().for_each(|variable| variable.set_linkage(Linkage::Internal));
    machine.run(module, "globaldce")?;
    names
        .iter()
        .filter_map(|name| module.variable(name))
        .for_each(|variable| variable.set_linkage(Linkage::External));
    Ok(())
}

/// Checks that the module has each kernel of `only`.
fn all_are_there(only: &BTreeSet<String>, kernels: &[Kernel]) -> Result<(), CudaBuilderError> {
    let names: BTreeSet<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    match only.iter().find(|wanted| !names.contains(wanted.as_str())) {
        None => Ok(()),
        Some(missing) => Err(CudaBuilderError::Marker(format!(
            "`only(..)` names the kernel `{missing}`, which the crate does not have; it has {}.",
            names.into_iter().collect::<Vec<_>>().join(", ")
        ))),
    }
}

/// Optimises the prepared module for the machine's architecture. Returns the instructions that lanes execute together, as they were
/// before: the audit compares them with what has become of them.
///
/// What must be inlined is inlined first, so that the optimiser sees a kernel whole. Which memory an access goes to is inferred
/// after it, not before: the inference also moves local arrays to their own address space, and instcombine, which
/// replaces a local copy of a constant table by the table itself, would then cast the global's address to that space, which is no
/// address at all.
pub(crate) fn optimise(
    module: &mut Module<'_>,
    machine: &TargetMachine,
    level: Optimise,
) -> Result<audit::Originals, String> {
    let level = match level {
        Optimise::Less => "default<O1>",
        Optimise::Most => "default<O3>",
    };
    machine.run(module, "always-inline,function(sroa,early-cse)")?;
    let originals = audit::Originals::number(module);
    // Alignment is inferred again once loops are unrolled and state spaces known: with it the target joins neighbouring
    // accesses into vectors, as ptxas would, and PTX shows what will run.
    machine.run(module, level)?;
    local_arrays::run(module, machine)?;
    assembly_memories::run(module);
    machine.run(module, "function(infer-address-spaces,early-cse,infer-alignment),globaldce,verify")?;
    local_atomics::run(module);
    float_to_integer::run(module);
    machine.run(module, "verify")?;
    Ok(originals)
}

/// Whether the module has no entry point.
pub(crate) fn has_no_kernels(module: &Module<'_>) -> bool {
    !module.functions().any(|function| function.is_kernel() && !function.is_declaration())
}

#[cfg(test)]
mod tests {
    use crate::NvvmArch::{Compute75, Compute80, Compute90, Compute90a};
    use crate::pipeline::Target;
    use crate::testing;

    /// A row of four elements of an aligned tile, summed up in a loop that is unrolled.
    const ROW: &str = r#"
        @TILE = internal global <{ [1024 x i8] }> undef, section ".cuda.shared", align 16
        declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
        define ptx_kernel void @row(ptr %out, float %first) {
        entry:
          store float %first, ptr @TILE
          call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
          %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
          %start = shl nuw nsw i32 %y, 2
          br label %next
        next:
          %k = phi i32 [ 0, %entry ], [ %k1, %next ]
          %sum = phi float [ 0.0, %entry ], [ %sum1, %next ]
          %at = add nuw nsw i32 %start, %k
          %wide = zext nneg i32 %at to i64
          %from = getelementptr inbounds float, ptr @TILE, i64 %wide
          %value = load float, ptr %from, align 4
          %sum1 = fadd float %sum, %value
          %k1 = add nuw nsw i32 %k, 1
          %more = icmp ult i32 %k1, 4
          br i1 %more, label %next, label %done
        done:
          store float %sum1, ptr %out
          ret void
        }
        declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
    "#;

    /// Two kernels with descriptions, a static that the host knows by name, and one that a single kernel uses.
    const TWO: &str = r#"
        @d1 = internal constant <{ [15 x i8] }> <{ [15 x i8] c"one\000\000\00r-\00safe" }>, section ".cuda.kernel"
        @d2 = internal constant <{ [15 x i8] }> <{ [15 x i8] c"two\000\000\00r-\00safe" }>, section ".cuda.kernel"
        @TABLE = global i32 7, section ".cuda.constant"
        define ptx_kernel void @one(ptr %in, ptr %out) {
          %v = load i32, ptr %in
          %w = call i32 @twice(i32 %v)
          store i32 %w, ptr %out
          ret void
        }
        define ptx_kernel void @two(ptr %in, ptr %out) {
          %v = load i32, ptr %in
          %c = load i32, ptr @TABLE
          %w = add i32 %v, %c
          store i32 %w, ptr %out
          ret void
        }
        define internal i32 @twice(i32 %v) {
          %w = add i32 %v, %v
          ret i32 %w
        }
    "#;

    #[test]
    fn a_part_holds_its_kernels_as_the_whole_does() {
        let kernel = |ptx: &str, name: &str| {
            let start = ptx.find(&format!(".visible .entry {name}("))?;
            Some(ptx[start..start + ptx[start..].find("\n}\n")?].to_owned())
        };
        let (whole, part) = (testing::ptx(TWO), testing::ptx_of_only(TWO, &["one"]).unwrap());
        assert!(kernel(&whole, "one").is_some() && kernel(&whole, "two").is_some(), "{whole}");
        assert_eq!(kernel(&part, "one"), kernel(&whole, "one"));
        assert_eq!(kernel(&part, "two"), None);
        assert!(part.contains(".visible .const .align 4 .u32 TABLE = 7;"), "{part}");
        let error = testing::ptx_of_only(TWO, &["one", "three"]).unwrap_err().to_string();
        assert_eq!(
            error,
            "`only(..)` names the kernel `three`, which the crate does not have; it has one, two."
        );
    }

    #[test]
    fn a_kernel_is_in_the_ptx_of_architectures_that_run_it() {
        let text = r#"
            @OF_ONE = global i32 7, section ".cuda.constant"
            @OF_TWO = global i32 7, section ".cuda.constant"
            @d1 = internal constant <{ [8 x i8] }> <{ [8 x i8] c"one\000\000\00" }>, section ".cuda.kernel"
            @d2 = internal constant <{ [25 x i8] }> <{ [25 x i8] c"two\000\000\00\00arch=compute_90a" }>, section ".cuda.kernel"
            define ptx_kernel void @one() { %v = load volatile i32, ptr @OF_ONE ret void }
            define ptx_kernel void @two() { %v = load volatile i32, ptr @OF_TWO ret void }
        "#;
        let ptx = |arch, own_kernels| testing::ptx_for(text, Target { arch, ptx_version: 83, own_kernels });
        let kernels = |arch, own_kernels| {
            let ptx = ptx(arch, own_kernels);
            ["one", "two"].map(|name| ptx.contains(&format!(".entry {name}(")))
        };
        // Variables that the host sees are in the PTX that holds every kernel, and where a kernel uses them that is there.
        let variables =
            |own_kernels| ["OF_ONE", "OF_TWO"].map(|name| ptx(Compute90a, own_kernels).contains(name));
        assert_eq!(variables(false), [true, true]);
        assert_eq!(variables(true), [false, true]);
        assert_eq!(kernels(Compute75, false), [true, false]);
        assert_eq!(kernels(Compute90, false), [true, false]);
        assert_eq!(kernels(Compute90a, false), [true, true]);
        assert_eq!(kernels(Compute90a, true), [false, true]);
        assert_eq!(kernels(Compute80, true), [false, false]);
    }

    #[test]
    fn neighbours_in_an_aligned_tile_are_loaded_together() {
        let ptx = testing::ptx(ROW);
        assert_eq!(ptx.matches("ld.shared.v4.b32").count(), 1, "{ptx}");
        assert!(!ptx.contains("ld.shared.b32"), "{ptx}");
        // Accesses to a tile without alignment are not joined.
        let ptx = testing::ptx(&ROW.replace("align 16", "align 4"));
        assert_eq!(ptx.matches("ld.shared.b32").count(), 4, "{ptx}");
    }
}
