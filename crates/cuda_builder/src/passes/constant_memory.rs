//! Puts immutable statics into constant memory, for those who ask for it (`use_constant_memory_space`).
//!
//! Constant memory is 64 KiB a module and fast only where all lanes of a warp read the same address, so this is no
//! default: a lookup table indexed by the thread is better off in global memory.

use super::memories::{finish, move_to};
use crate::audit::CONSTANT_CAPACITY;
use crate::llvm::{AddressSpace, Module};
use crate::names::readable;

pub(super) fn run(module: &mut Module<'_>, warnings: &mut Vec<String>) {
    let space = AddressSpace::CONSTANT;
    let placed: u64 = module
        .variables()
        .filter(|variable| variable.address_space() == Some(space))
        .map(|variable| module.size_of(variable))
        .sum();
    let mut candidates: Vec<_> = module
        .variables()
        .filter(|variable| {
            variable.is_constant()
                && variable.address_space() == Some(AddressSpace::GENERIC)
                && !variable.is_declaration()
                && !variable.name().starts_with("llvm.")
        })
        .map(|variable| (module.size_of(variable), variable))
        .collect();
    // Smallest first, so that one large table does not keep out all others.
    candidates.sort_by_key(|(size, _)| *size);
    let mut left = CONSTANT_CAPACITY.saturating_sub(placed);
    let mut kept_out = Vec::new();
    for (size, old) in candidates {
        // Each is counted with the padding that its alignment may cost.
        let cost = size + u64::from(old.alignment().max(1)) - 1;
        if cost > left {
            kept_out.push(readable(&old.name()));
            continue;
        }
        left -= cost;
        let _ = move_to(module, old, space);
        finish(old);
    }
    if !kept_out.is_empty() {
        warnings.push(format!(
            "constant memory is full (64 KiB): {} stay in global memory: {}.",
            kept_out.len(),
            kept_out.join(", ")
        ));
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::PassOptions;
    use crate::testing;

    const MODULE: &str = r#"
        @SMALL = internal constant [4 x i32] [i32 1, i32 2, i32 3, i32 4], align 4
        @LARGE = internal constant [70000 x i8] zeroinitializer, align 1
        @CHANGING = internal global i32 0
        define ptx_kernel void @k(ptr %out, i64 %i) {
          %at = getelementptr i32, ptr @SMALL, i64 %i
          %v = load i32, ptr %at
          store i32 %v, ptr %out
          store i32 %v, ptr @CHANGING
          %far = getelementptr i8, ptr @LARGE, i64 %i
          %w = load i8, ptr %far
          store i8 %w, ptr %out
          ret void
        }
    "#;

    #[test]
    fn what_fits_moves() {
        let options = PassOptions { constant_memory: true, ..PassOptions::default() };
        let (text, warnings) = testing::prepare(MODULE, options).unwrap();
        assert!(text.contains("@SMALL = internal addrspace(4) constant"), "{text}");
        assert!(text.contains("@LARGE = internal constant"), "{text}");
        assert!(text.contains("@CHANGING = internal global"), "{text}");
        assert_eq!(warnings, ["constant memory is full (64 KiB): 1 stay in global memory: LARGE."]);
    }

    #[test]
    fn nothing_moves_unasked() {
        let text = testing::prepared(MODULE);
        assert!(text.contains("@SMALL = internal constant"), "{text}");
    }
}
