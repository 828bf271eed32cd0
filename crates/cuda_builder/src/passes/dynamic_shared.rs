//! Dynamic shared memory: one external symbol without a size, the same for all that use it.
//!
//! The source can only declare it as an ordinary external static. In PTX it is
//! `.extern .shared .align 16 .b8 name[]`, whose size each launch states.

use super::memories::finish;
use crate::llvm::{AddressSpace, Linkage, Module};
use crate::markers::DYNAMIC_SHARED;

/// The alignment that any ordinary type needs at most; wider needs (128 bytes for bulk copies) are aligned by hand.
const ALIGNMENT: u32 = 16;

pub(super) fn run(module: &mut Module<'_>) {
    let Some(old) = module.variable(DYNAMIC_SHARED).filter(|old| old.is_declaration()) else { return };
    let new = module.add_unsized_variable_like(old, AddressSpace::SHARED);
    new.set_linkage(Linkage::External);
    new.set_alignment(ALIGNMENT);
    old.replace_uses(new.as_generic(old));
    finish(old);
}

#[cfg(test)]
mod tests {
    use crate::testing;

    const MODULE: &str = r#"
        @__cuda_std_dynamic_shared = external global i128
        define ptx_kernel void @k(i32 %v) { store i32 %v, ptr @__cuda_std_dynamic_shared ret void }
    "#;

    #[test]
    fn the_declaration_moves_to_shared_memory() {
        let text = testing::prepared(MODULE);
        assert!(
            text.contains("@__cuda_std_dynamic_shared = external addrspace(3) global [0 x i8], align 16"),
            "{text}"
        );
        assert!(
            text.contains("addrspacecast (ptr addrspace(3) @__cuda_std_dynamic_shared to ptr)"),
            "{text}"
        );
    }

    #[test]
    fn the_ptx_leaves_its_size_open() {
        let ptx = testing::ptx(MODULE);
        assert!(ptx.contains(".extern .shared .align 16 .b8 __cuda_std_dynamic_shared[];"), "{ptx}");
        assert!(ptx.contains("st.shared.b32"), "{ptx}");
    }
}
