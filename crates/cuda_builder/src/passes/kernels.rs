//! Turns a kernel's description into attributes that LLVM understands.
//!
//! A pointer that nothing writes through during a launch becomes `noalias readonly`. The back end then reads it through
//! the read-only data path (`ld.global.nc`). Launch bounds let ptxas spend registers up to the limit of the stated
//! block size.

use crate::CudaBuilderError;
use crate::llvm::{AddressSpace, Module};
use crate::markers::Kernel;

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
        if kernel.read_only.len() != parameters {
            return Err(wrong(format!(
                "it has {} parameters, the function {parameters}",
                kernel.read_only.len()
            )));
        }
        for index in (0..function.parameter_count()).filter(|index| kernel.read_only[*index as usize]) {
            let space = function.parameter(index).and_then(|parameter| parameter.address_space());
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
    }
    Ok(())
}

#[cfg(test)]
mod tests {
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
    fn a_description_that_does_not_fit_is_refused() {
        let cases = [
            ("copy\\000\\000\\00r-", 11, "it has 2 parameters, the function 3"),
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
