//! Puts marked statics into their memory.
//!
//! rustc places every static in the generic address space and has no way to say otherwise. Here the static is created again in
//! the memory that its section names, and all uses, in code and in other constants, go through a cast to generic. The
//! optimiser takes that cast away again wherever it can see it, which leaves `ld.shared` and `ld.const`.

use crate::CudaBuilderError;
use crate::llvm::{AddressSpace, Linkage, Module, Value};
use crate::markers::{self, Memory};
use crate::names::readable;

pub(super) fn run(module: &mut Module<'_>, warnings: &mut Vec<String>) -> Result<(), CudaBuilderError> {
    for old in module.variables() {
        let Some(memory) = markers::memory(old)? else { continue };
        if old.is_declaration() {
            return Err(CudaBuilderError::Marker(format!(
                "the static `{}` is declared in an `extern` block and marked for a GPU memory. Declare and mark it where it is \
                 defined; for dynamic shared memory use `cuda_std::shared::dynamic_shared_mem`.",
                readable(&old.name())
            )));
        }
        let space = match memory {
            Memory::Shared => AddressSpace::SHARED,
            Memory::Constant => AddressSpace::CONSTANT,
            Memory::Global | Memory::Managed => AddressSpace::GLOBAL,
        };
        let new = move_to(module, old, space);
        let exported = new.linkage() == Linkage::External;
        match memory {
            Memory::Shared => {
                if module.size_of(new) > 0
                    && old.initialiser().is_some_and(|initialiser| !initialiser.is_undefined())
                {
                    warnings.push(format!(
                        "the shared static `{}` has an initial value, which the GPU does not give it: shared memory holds \
                         anything when a block starts. Make it `MaybeUninit` and write it before reading.",
                        readable(&new.name())
                    ));
                }
                new.leave_uninitialised();
            }
            // A constant that the host can name may be overwritten before a launch: nothing may be folded from its
            // initialiser. One that it cannot name stays as it is.
            Memory::Constant => {
                new.set_constant(true);
                if exported {
                    new.set_externally_initialised();
                }
            }
            Memory::Global => {
                if exported {
                    new.set_externally_initialised();
                }
            }
            Memory::Managed => {
                new.set_externally_initialised();
                module.annotate("nvvm.annotations", new, "managed", 1);
            }
        }
        finish(old);
    }
    Ok(())
}

/// Creates `old` again in `space` with its initialiser, and replaces all its uses.
pub(super) fn move_to<'c>(module: &mut Module<'c>, old: Value<'c>, space: u32) -> Value<'c> {
    let new = module.add_variable_like(old, space);
    if let Some(initialiser) = old.initialiser() {
        new.set_initialiser(initialiser);
    }
    new.set_constant(old.is_constant());
    old.replace_uses(new.as_generic(old));
    new
}

/// Takes the old static out.
pub(super) fn finish(old: Value<'_>) {
    // SAFETY: `move_to` replaced all its uses, and the walks over variables that call this hold the next one already.
    unsafe { old.delete_variable() };
}

#[cfg(test)]
mod tests {
    use crate::testing;

    #[test]
    fn each_section_has_its_memory() {
        let text = testing::prepared(
            r#"
            @TILE = internal global <{ [1024 x i8] }> undef, section ".cuda.shared", align 16
            @COEF = global [4 x float] [float 1.0, float 2.0, float 3.0, float 4.0], section ".cuda.constant", align 4
            @_RNvHIDDEN = global i32 7, section ".cuda.constant", align 4
            @COUNT = global i64 5, section ".cuda.global", align 8
            @SEEN = global i32 0, section ".cuda.managed", align 4
            @TABLE = global [2 x ptr] [ptr @COUNT, ptr getelementptr (i8, ptr @COEF, i64 4)], section ".cuda.global"
            define ptx_kernel void @k(ptr %out) {
              %a = load i8, ptr getelementptr (i8, ptr @TILE, i64 5)
              store i8 %a, ptr %out
              %b = load i32, ptr @_RNvHIDDEN
              store i32 %b, ptr %out
              ret void
            }
            "#,
        );
        for line in [
            "@TILE = internal addrspace(3) global <{ [1024 x i8] }> undef, align 16",
            "@COEF = addrspace(4) externally_initialized constant [4 x float] [float 1.000000e+00, float 2.000000e+00, \
             float 3.000000e+00, float 4.000000e+00], align 4",
            "@_RNvHIDDEN = internal addrspace(4) constant i32 7, align 4",
            "@COUNT = addrspace(1) externally_initialized global i64 5, align 8",
            "@SEEN = addrspace(1) externally_initialized global i32 0, align 4",
            "load i8, ptr getelementptr (i8, ptr addrspacecast (ptr addrspace(3) @TILE to ptr), i64 5)",
            "[ptr addrspacecast (ptr addrspace(1) @COUNT to ptr), \
             ptr getelementptr (i8, ptr addrspacecast (ptr addrspace(4) @COEF to ptr), i64 4)]",
            "!nvvm.annotations = !{!0}",
            "!0 = !{ptr addrspace(1) @SEEN, !\"managed\", i32 1}",
        ] {
            assert!(text.contains(line), "no `{line}` in\n{text}");
        }
        assert!(!text.contains("section"), "{text}");
    }

    #[test]
    fn shared_values_are_undefined_and_that_is_said() {
        let (text, warnings) = testing::prepare(
            r#"
            @TILE = internal global [2 x i32] [i32 1, i32 2], section ".cuda.shared"
            define ptx_kernel void @k() { store i32 0, ptr @TILE ret void }
            "#,
            Default::default(),
        )
        .unwrap();
        assert!(text.contains("@TILE = internal addrspace(3) global [2 x i32] undef"), "{text}");
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].starts_with("the shared static `TILE` has an initial value"), "{warnings:?}");
    }

    #[test]
    fn a_section_nobody_knows_is_refused() {
        let module = r#"
            @TILE = global i32 0, section ".cuda.texture"
            define ptx_kernel void @k() { store i32 0, ptr @TILE ret void }
        "#;
        let error = testing::prepare(module, Default::default()).unwrap_err().to_string();
        assert!(
            error.starts_with("the static `TILE` is in section .cuda.texture, which means nothing here"),
            "{error}"
        );
    }

    #[test]
    fn a_declared_static_cannot_be_placed() {
        let module = r#"
            @TILE = external global i32, section ".cuda.shared"
            define ptx_kernel void @k() { store i32 0, ptr @TILE ret void }
        "#;
        let error = testing::prepare(module, Default::default()).unwrap_err().to_string();
        assert!(error.starts_with("the static `TILE` is declared in an `extern` block"), "{error}");
    }

    #[test]
    fn other_statics_stay_where_they_are() {
        let text = testing::prepared(
            r#"
            @PLAIN = internal constant i32 3
            define ptx_kernel void @k(ptr %out) { %v = load i32, ptr @PLAIN store i32 %v, ptr %out ret void }
            "#,
        );
        assert!(text.contains("@PLAIN = internal constant i32 3"), "{text}");
    }
}
