//! Forgets which processor rustc compiled for.
//!
//! rustc writes its own target processor onto every function. The same bitcode is used for several architectures here,
//! and functions with differing processors would not be inlined into each other; what counts is the target machine.

use crate::llvm::Module;

pub(super) fn run(module: &mut Module<'_>) {
    for function in module.functions() {
        function.remove_attribute("target-cpu");
        function.remove_attribute("target-features");
        function.remove_attribute("tune-cpu");
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;

    #[test]
    fn functions_forget_their_processor() {
        let text = testing::prepared(
            r#"define ptx_kernel void @k() "target-cpu"="sm_30" "target-features"="+ptx60" "other"="stays" { ret void }"#,
        );
        assert!(!text.contains("target-cpu") && !text.contains("target-features"), "{text}");
        assert!(text.contains("\"other\"=\"stays\""), "{text}");
    }
}
