//! Hides every symbol that the host does not ask for, so that the optimiser may inline, change or drop it.
//!
//! The markers and LLVM's lists of used symbols have been read by now and go first: they would keep things alive.

use std::collections::HashSet;

use crate::llvm::{Linkage, Module, Value};
use crate::markers::{self, USED_LISTS};

pub(super) fn run<'c>(module: &mut Module<'c>, roots: &[Value<'c>]) {
    for list in USED_LISTS.iter().filter_map(|list| module.variable(list)) {
        // SAFETY: nothing can refer to these lists, and nothing here does afterwards.
        unsafe { list.delete_variable() };
    }
    for carrier in markers::carriers(module) {
        if carrier.users().is_empty() {
            // SAFETY: it has no uses; the walk holds the next variable already.
            unsafe { carrier.delete_variable() };
        }
    }
    let roots: HashSet<Value<'c>> = roots.iter().copied().collect();
    for global in module.functions().chain(module.variables()).chain(module.aliases()) {
        if global.is_declaration() || global.name().starts_with("llvm.") {
            continue;
        }
        if roots.contains(&global) {
            global.set_linkage(Linkage::External);
        } else {
            global.set_linkage(Linkage::Internal);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;

    const MODULE: &str = r#"
        @name = internal constant [7 x i8] c"visible", section ".cuda.export"
        @USED = global i32 1
        @KEPT = global i32 1, section ".cuda.global"
        @_RNvMANGLED = global i32 1, section ".cuda.global"
        @DROPPED = global i32 1
        @llvm.used = appending global [2 x ptr] [ptr @USED, ptr @name], section "llvm.metadata"
        define ptx_kernel void @kernel() { call void @helper() ret void }
        define hidden void @helper() noinline { call void asm sideeffect "bar.sync 0;", ""() ret void }
        define void @visible() { ret void }
        define void @unused() { ret void }
    "#;

    #[test]
    fn what_the_host_names_stays_and_the_rest_is_hidden_or_gone() {
        let text = testing::prepared(MODULE);
        for line in [
            "@USED = global i32 1",
            "@KEPT = addrspace(1) externally_initialized global i32 1",
            "define ptx_kernel void @kernel()",
            "define internal void @helper()",
            "define void @visible()",
        ] {
            assert!(text.contains(line), "no `{line}` in\n{text}");
        }
        for name in ["DROPPED", "MANGLED", "@unused", "llvm.used", "@name"] {
            assert!(!text.contains(name), "{name} is left in\n{text}");
        }
    }

    #[test]
    fn the_ptx_shows_the_same() {
        let ptx = testing::ptx(MODULE);
        assert!(ptx.contains(".visible .entry kernel("), "{ptx}");
        assert!(ptx.contains(".visible .func visible("), "{ptx}");
        assert!(ptx.contains(".visible .global .align 4 .u32 KEPT = 1;"), "{ptx}");
        assert!(!ptx.contains(".visible .func helper"), "{ptx}");
    }
}
