//! Turns a kernel's description into attributes that LLVM understands.
//!
//! A pointer that nothing writes through during a launch becomes `noalias readonly`. The back end then reads it through
//! the read-only data path (`ld.global.nc`). Launch bounds let ptxas spend registers up to the limit of the stated
//! block size. A kernel with clusters of a fixed shape says so itself (`.reqnctapercluster`): then each launch of it, also one
//! without attributes, has clusters of that shape, and one whose grid is no multiple of them fails. A value that the kernel takes
//! the address of is aligned for whatever reads it there.

use crate::llvm::{AddressSpace, Module};
use crate::markers::{Access, FIRST_WITH_CLUSTERS, Kernel, MOST_BLOCKS_A_CLUSTER};
use crate::{CudaBuilderError, NvvmArch};

/// Alignment in bytes of a parameter that the kernel takes the address of: what a tensor map needs.
const CONSTANT_ALIGNMENT: u64 = 64;

pub(super) fn run(module: &mut Module<'_>, kernels: &[Kernel]) -> Result<(), CudaBuilderError> {
    for kernel in kernels {
        let wrong = |reason: String| {
            CudaBuilderError::Marker(format!(
                "the description of kernel `{}` does not fit: {reason}. Leave descriptions to `#[kernel]`.",
                kernel.name
            ))
        };
        let Some(function) = module.function(&kernel.name).filter(|function| !function.is_declaration())
        else {
            return Err(wrong(String::from("no function of that name is defined")));
        };
        if !function.is_kernel() {
            return Err(wrong(String::from("the function is not `extern \"ptx-kernel\"`")));
        }
        let parameters = function.parameter_count() as usize;
        if kernel.access.len() != parameters {
            return Err(wrong(format!(
                "it has {} parameters, the function {parameters}",
                kernel.access.len()
            )));
        }
        for (index, access) in (0..).zip(&kernel.access) {
            let space = function.parameter(index).and_then(|parameter| parameter.address_space());
            if *access == Access::Constant {
                if space.is_some() {
                    return Err(wrong(format!("parameter {index} is said to be a value and is a pointer")));
                }
                function.add_parameter_number(index, "alignstack", CONSTANT_ALIGNMENT);
            }
            if *access != Access::ReadOnly {
                continue;
            }
            if space != Some(AddressSpace::GENERIC) {
                return Err(wrong(format!(
                    "parameter {index} is said to be a read-only pointer and is no pointer"
                )));
            }
            function.add_parameter_attribute(index, "noalias");
            function.add_parameter_attribute(index, "readonly");
            // A slice's pointer is never null, so `slice.get(i)` differs from `None` without a comparison.
            function.add_parameter_attribute(index, "nonnull");
        }
        if kernel.threads != 0 {
            function.add_attribute("nvvm.maxntid", &kernel.threads.to_string());
        }
        if kernel.blocks != 0 {
            function.add_attribute("nvvm.minctasm", &kernel.blocks.to_string());
        }
        if let Some([x, y, z]) = kernel.cluster {
            let blocks = [x, y, z].into_iter().fold(1, u32::saturating_mul);
            if !(1..=MOST_BLOCKS_A_CLUSTER).contains(&blocks) {
                return Err(CudaBuilderError::Marker(format!(
                    "the kernel `{}` has clusters of {x} x {y} x {z} blocks, and a cluster has 1 to {MOST_BLOCKS_A_CLUSTER} blocks. \
                     Change `cluster(..)` in its `#[kernel(..)]`.",
                    kernel.name
                )));
            }
            function.add_attribute("nvvm.cluster_dim", &format!("{x},{y},{z}"));
        }
    }
    Ok(())
}

/// Refuses a kernel with clusters in PTX for an architecture that has none: LLVM would drop the directive, and its blocks would
/// run alone.
pub(crate) fn check_clusters(kernels: &[&Kernel], arch: NvvmArch) -> Result<(), CudaBuilderError> {
    if arch.capability_value() >= FIRST_WITH_CLUSTERS {
        return Ok(());
    }
    match kernels.iter().find(|kernel| kernel.cluster.is_some()) {
        None => Ok(()),
        Some(kernel) => Err(CudaBuilderError::Marker(format!(
            "the kernel `{}` runs in clusters, which {arch} does not have: they begin with compute_90. Write \
             `#[kernel(arch = \"90\", ..)]`, by which PTX for older architectures leaves the kernel out, or build for compute_90 or \
             later.",
            kernel.name
        ))),
    }
}

#[cfg(test)]
mod tests {
    use crate::NvvmArch::{Compute80, Compute90};
    use crate::pipeline::Target;
    use crate::testing;

    fn module(description: &str, bytes: usize) -> String {
        format!(
            r#"
            @d = internal constant <{{ [{bytes} x i8] }}> <{{ [{bytes} x i8] c"{description}" }}>, section ".cuda.kernel"
            @llvm.compiler.used = appending global [1 x ptr] [ptr @d], section "llvm.metadata"
            define ptx_kernel void @copy(ptr %a, i64 %n, ptr %b) {{
              %v = load float, ptr %a
              store float %v, ptr %b
              ret void
            }}
            define void @plain() {{ ret void }}
            "#
        )
    }

    #[test]
    fn read_only_pointers_are_read_through_the_read_only_path() {
        let ptx = testing::ptx(&module("copy\\000\\000\\00r--", 12));
        assert!(ptx.contains("ld.global.nc.b32"), "{ptx}");
        assert!(!ptx.contains("maxntid") && !ptx.contains("minnctapersm"), "{ptx}");
        assert!(
            !ptx.contains(".cuda") && !ptx.contains(".b8 d["),
            "the description itself must be gone:\n{ptx}"
        );
        let ptx = testing::ptx(&module("copy\\000\\000\\00---", 12));
        assert!(ptx.contains("ld.global.b32"), "{ptx}");
    }

    #[test]
    fn attributes_sit_on_the_parameter_that_was_meant() {
        let text = testing::prepared(&module("copy\\000\\000\\00--r", 12));
        assert!(text.contains("@copy(ptr %a, i64 %n, ptr noalias nonnull readonly %b)"), "{text}");
    }

    #[test]
    fn launch_bounds_reach_the_ptx() {
        let ptx = testing::ptx(&module("copy\\00256\\002\\00---", 14));
        assert!(ptx.contains(".maxntid 256"), "{ptx}");
        assert!(ptx.contains(".minnctapersm 2"), "{ptx}");
    }

    #[test]
    fn a_value_with_an_address_is_aligned() {
        let text = r#"
            @d = internal constant <{ [9 x i8] }> <{ [9 x i8] c"k\000\000\00-c-" }>, section ".cuda.kernel"
            define ptx_kernel void @k([128 x i8] %plain, [128 x i8] %map, i32 %n) { ret void }
        "#;
        let ptx = testing::ptx(text);
        for parameter in [
            ".param .align 1 .b8 k_param_0[128]",
            ".param .align 64 .b8 k_param_1[128]",
            ".param .u32 k_param_2",
        ] {
            assert!(ptx.contains(parameter), "{parameter} in\n{ptx}");
        }
    }

    #[test]
    fn clusters_reach_the_ptx() {
        let hopper = |description: &str, bytes| {
            let target = Target { arch: Compute90, ptx_version: 78, own_kernels: false };
            testing::ptx_for(&module(description, bytes), target)
        };
        let ptx = hopper("copy\\000\\000\\00---\\00cluster=2,1,1", 26);
        assert!(ptx.contains(".explicitcluster\n.reqnctapercluster 2, 1, 1\n"), "{ptx}");
        let ptx = hopper("copy\\000\\000\\00---\\00safe\\00arch=compute_90\\00cluster=02,4,01", 49);
        assert!(ptx.contains(".reqnctapercluster 2, 4, 1\n"), "{ptx}");
        let ptx = hopper("copy\\000\\000\\00---", 12);
        assert!(!ptx.contains("cluster"), "{ptx}");
    }

    #[test]
    fn clusters_are_refused_where_there_are_none() {
        let pair = module("copy\\000\\000\\00---\\00cluster=2,1,1", 26);
        let error = testing::ptx_with(&pair, Default::default()).unwrap_err().to_string();
        assert_eq!(
            error,
            "the kernel `copy` runs in clusters, which compute_75 does not have: they begin with compute_90. Write `#[kernel(arch = \
             \"90\", ..)]`, by which PTX for older architectures leaves the kernel out, or build for compute_90 or later."
        );
        // One that names its architecture is left out.
        let pair = module("copy\\000\\000\\00---\\00arch=compute_90\\00cluster=2,1,1", 42);
        let target = Target { arch: Compute80, ptx_version: 74, own_kernels: false };
        assert!(!testing::ptx_for(&pair, target).contains("copy"));
        for (cluster, shown) in [("4,4,1", "4 x 4 x 1"), ("2,0,1", "2 x 0 x 1")] {
            let text = module(&format!("copy\\000\\000\\00---\\00cluster={cluster}"), 26);
            let error = testing::prepare(&text, Default::default()).unwrap_err().to_string();
            let expected = format!("has clusters of {shown} blocks, and a cluster has 1 to 8 blocks");
            assert!(error.contains(&expected), "{error}");
        }
    }

    #[test]
    fn a_description_that_does_not_fit_is_refused() {
        let cases = [
            ("copy\\000\\000\\00r-", 11, "it has 2 parameters, the function 3"),
            ("copy\\000\\000\\00c--", 12, "parameter 0 is said to be a value and is a pointer"),
            ("copy\\000\\000\\00-r-", 12, "parameter 1 is said to be a read-only pointer and is no pointer"),
            ("cope\\000\\000\\00---", 12, "no function of that name is defined"),
            ("plain\\000\\000\\00", 10, "is not `extern \"ptx-kernel\"`"),
        ];
        for (description, bytes, reason) in cases {
            let error =
                testing::prepare(&module(description, bytes), Default::default()).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
