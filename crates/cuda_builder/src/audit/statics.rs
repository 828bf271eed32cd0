//! Statics that change, in the reach of safe kernels.
//!
//! In a safe kernel, what differs between threads lives in closures, and the types see to it that no closure hands it to the
//! code of the block. A static that can change is a way around them: one thread stores its index in
//! `static FLAG: AtomicBool`, the code of the block reads it and branches, and a barrier in that branch is reached by some threads
//! only. Rust has no bound that keeps a closure from naming a static, so it is refused here, in the linked module before
//! optimisation: the optimiser may have made a plain value of the static afterwards.
//!
//! Constant statics pass, since a write to one is refused elsewhere, and so do tiles: dynamic shared memory, and shared
//! statics without an initial value, which safe code has no way into but through a type of ours. A shared static that was
//! given a value is another matter. The GPU does not give it that value, and safe code could read what is there instead.

use super::reach::Reach;
use super::{Finding, authors_place, instructions_using};
use crate::llvm::{Module, Value};
use crate::markers::{self, DYNAMIC_SHARED, Kernel, Memory};

/// Checks a linked module that still has its markers' sections.
pub(crate) fn statics(module: &Module<'_>, kernels: &[Kernel]) -> Vec<Finding> {
    let mut reach = Reach::default();
    let mut findings = Vec::new();
    for kernel in kernels.iter().filter(|kernel| kernel.safe) {
        let Some(function) = module.function(&kernel.name) else { continue };
        let reached = reach.from(function);
        for variable in reached.iter().filter(|global| carries_values(module, **global)) {
            let uses = instructions_using(*variable).into_iter();
            let mut uses = uses.filter(|user| user.parent_function().is_some_and(|at| reached.contains(&at)));
            findings.push(Finding::MutableStatic {
                kernel: kernel.name.clone(),
                variable: variable.name(),
                place: uses.find_map(authors_place),
            });
        }
    }
    findings
}

/// Whether what a thread writes there, another can read, without a type of ours in between.
fn carries_values(module: &Module<'_>, global: Value<'_>) -> bool {
    let may_change = match markers::memory(global) {
        Ok(Some(Memory::Constant)) => false,
        Ok(Some(Memory::Shared)) => global.initialiser().is_some_and(|value| !value.is_undefined()),
        _ => !global.is_constant(),
    };
    may_change && global.is_variable() && global.name() != DYNAMIC_SHARED && module.size_of(global) > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::refused;

    /// A kernel that calls a function that uses each static of `statics` once.
    fn module(kernel: &str, statics: &[(&str, &str)]) -> String {
        let defined = statics.iter().map(|(name, rest)| format!("@{name} = {rest}\n")).collect::<String>();
        let used = statics
            .iter()
            .map(|(name, _)| format!("store atomic i8 1, ptr @{name} monotonic, align 1\n"))
            .collect::<String>();
        format!(
            r#"
            @d = internal constant [{} x i8] c"{kernel}", section ".cuda.kernel"
            {defined}
            define ptx_kernel void @k() {{ call void @helper() ret void }}
            define internal void @helper() {{
              {used}
              ret void
            }}
            "#,
            kernel.len() - 2 * kernel.matches("\\00").count()
        )
    }

    const SAFE: &str = "k\\000\\000\\00\\00safe";
    const UNSAFE: &str = "k\\000\\000\\00";

    #[test]
    fn a_static_that_can_change_is_refused_in_the_reach_of_a_safe_kernel() {
        for memory in ["", ", section \".cuda.global\"", ", section \".cuda.managed\""] {
            let flag =
                [("_RNvCs6gNbY1t9XKo_7kernels4FLAG", &*format!("internal global i8 0{memory}, align 1"))];
            let found = refused(&module(SAFE, &flag));
            let expected = Finding::MutableStatic {
                kernel: "k".into(),
                variable: "_RNvCs6gNbY1t9XKo_7kernels4FLAG".into(),
                place: None,
            };
            assert_eq!(found, [expected], "{memory}");
            assert!(
                found[0].to_string().starts_with(
                    "the static `kernels::FLAG` can change and is used by the safe kernel `k` (build"
                ),
                "{}",
                found[0]
            );
            assert_eq!(refused(&module(UNSAFE, &flag)), []);
        }
    }

    #[test]
    fn it_is_found_behind_another_static_too() {
        let found = refused(&module(
            SAFE,
            &[("TABLE", "internal constant [1 x ptr] [ptr @FLAG]"), ("FLAG", "internal global i8 0")],
        ));
        assert_eq!(found.len(), 1, "{found:?}");
        let behind = r#"
            @d = internal constant [11 x i8] c"k\000\000\00\00safe", section ".cuda.kernel"
            @TABLE = internal constant [1 x ptr] [ptr @FLAG]
            @FLAG = internal global i8 0
            define ptx_kernel void @k() {
              %flag = load ptr, ptr @TABLE
              store i8 1, ptr %flag
              ret void
            }
        "#;
        let Some(Finding::MutableStatic { variable, .. }) = refused(behind).pop() else { panic!() };
        assert_eq!(variable, "FLAG");
    }

    #[test]
    fn a_shared_static_with_an_initial_value_is_refused() {
        let found = refused(&module(SAFE, &[("FLAG", "internal global i8 0, section \".cuda.shared\"")]));
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn shared_constant_and_unchanging_statics_pass() {
        let statics = [
            ("TILE", "internal global [4 x i8] undef, section \".cuda.shared\""),
            ("_RNvFIXED", "internal constant i8 3"),
            ("NOTHING", "internal global [0 x i8] zeroinitializer"),
            ("__cuda_std_dynamic_shared", "external global i128"),
        ];
        assert_eq!(refused(&module(SAFE, &statics)), []);
        let read = r#"
            @d = internal constant [11 x i8] c"k\000\000\00\00safe", section ".cuda.kernel"
            @COEF = global i32 1, section ".cuda.constant"
            @ELSEWHERE = global i32 1, section ".cuda.global"
            define ptx_kernel void @k() { %c = load volatile i32, ptr @COEF ret void }
        "#;
        assert_eq!(refused(read), []);
    }
}
