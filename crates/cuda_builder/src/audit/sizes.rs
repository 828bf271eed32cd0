//! Statics that do not fit into their memory. ptxas, or the driver in its place, would refuse the whole module for them.
//!
//! Shared memory is counted for each kernel, over what it and the functions that it reaches name; constant memory for the
//! module. Padding is left out, so that nothing is refused here which would have fitted.

use super::Finding;
use super::reach::Reach;
use crate::llvm::{AddressSpace, Module, Value};

/// Bytes of static shared memory that a kernel can have, on any GPU.
pub(super) const SHARED: u64 = 48 * 1024;

/// Bytes of constant memory that a module can have.
pub(crate) const CONSTANT: u64 = 64 * 1024;

/// Checks an optimised module.
pub(super) fn module(module: &Module<'_>) -> Vec<Finding> {
    let sized = |space: u32, variables: &mut dyn Iterator<Item = Value<'_>>| {
        let of_space = variables
            .filter(|variable| variable.address_space() == Some(space) && !variable.is_declaration());
        let mut sized: Vec<(String, u64)> =
            of_space.map(|variable| (variable.name(), module.size_of(variable))).collect();
        // What has to be changed comes first.
        sized.sort_by(|(name, size), (other_name, other_size)| {
            other_size.cmp(size).then_with(|| name.cmp(other_name))
        });
        sized
    };
    let too_large =
        |statics: &[(String, u64)], limit: u64| statics.iter().map(|(_, size)| size).sum::<u64>() > limit;
    let mut findings = Vec::new();
    let mut reach = Reach::default();
    for kernel in module.functions().filter(|function| function.is_kernel() && !function.is_declaration()) {
        let statics = sized(
            AddressSpace::SHARED,
            &mut reach.from(kernel).into_iter().filter(|global| global.is_variable()),
        );
        if too_large(&statics, SHARED) {
            findings.push(Finding::SharedSize { kernel: kernel.name(), statics });
        }
    }
    let statics = sized(AddressSpace::CONSTANT, &mut module.variables());
    if too_large(&statics, CONSTANT) {
        findings.push(Finding::ConstantSize { statics });
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::findings;

    #[test]
    fn shared_statics_are_summed_for_each_kernel_over_what_it_reaches() {
        let found = findings(
            r#"
            @_RNvCs6gNbY1t9XKo_7kernels4TILE = internal addrspace(3) global [262144 x i8] undef
            @HALF = internal addrspace(3) global [6144 x i32] undef
            @OTHER_HALF = internal addrspace(3) global [6144 x i32] undef
            @ONE_MORE = internal addrspace(3) global i8 undef
            @__cuda_std_dynamic_shared = external addrspace(3) global [0 x i8]
            define ptx_kernel void @large() {
              store i8 1, ptr addrspace(3) @_RNvCs6gNbY1t9XKo_7kernels4TILE
              ret void
            }
            define ptx_kernel void @fits() {
              store i32 1, ptr addrspace(3) getelementptr (i32, ptr addrspace(3) @HALF, i64 5)
              store i32 1, ptr addrspace(3) @HALF
              store i8 1, ptr addrspace(3) @__cuda_std_dynamic_shared
              call void @other_half()
              ret void
            }
            define ptx_kernel void @one_too_many() {
              call void @other_half()
              store i32 1, ptr addrspace(3) @HALF
              store i8 1, ptr addrspace(3) @ONE_MORE
              ret void
            }
            define internal void @other_half() noinline {
              store i32 1, ptr addrspace(3) @OTHER_HALF
              ret void
            }
            "#,
        );
        let sized = |name: &str, size| (String::from(name), size);
        let large = Finding::SharedSize {
            kernel: "large".into(),
            statics: vec![sized("_RNvCs6gNbY1t9XKo_7kernels4TILE", 262_144)],
        };
        let one_too_many = Finding::SharedSize {
            kernel: "one_too_many".into(),
            statics: vec![sized("HALF", 24_576), sized("OTHER_HALF", 24_576), sized("ONE_MORE", 1)],
        };
        assert_eq!(found, [large.clone(), one_too_many.clone()]);
        let text = large.to_string();
        assert!(
            text.starts_with(
                "the kernel `large` has 262144 bytes of static shared memory (`kernels::TILE`: 262144), and 49152 is the most"
            ),
            "{text}"
        );
        assert!(text.contains("dynamic shared memory"), "{text}");
        assert!(
            one_too_many.to_string().contains(
                "49153 bytes of static shared memory (`HALF`: 24576, `OTHER_HALF`: 24576, `ONE_MORE`: 1)"
            ),
            "{one_too_many}"
        );
    }

    #[test]
    fn constant_statics_are_summed_for_the_module() {
        let module = |bytes: u32| {
            format!(
                "@TABLE = addrspace(4) constant [{bytes} x i8] zeroinitializer\n\
                 @UNUSED = addrspace(4) externally_initialized constant [4 x i32] zeroinitializer\n\
                 @FAR = addrspace(1) constant [80000 x i8] zeroinitializer\n"
            )
        };
        assert_eq!(findings(&module(65_520)), []);
        let found = findings(&module(65_521));
        let statics = vec![(String::from("TABLE"), 65_521), (String::from("UNUSED"), 16)];
        assert_eq!(found, [Finding::ConstantSize { statics }]);
        let text = found[0].to_string();
        assert!(
            text.starts_with(
                "the constant statics take 65537 bytes (`TABLE`: 65521, `UNUSED`: 16), and 65536 is the most"
            ),
            "{text}"
        );
    }
}
