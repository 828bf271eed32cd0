//! Relaxations of Rust's floating-point rules, on request.
//!
//! Rust rounds each operation by itself, correctly, and keeps subnormal numbers. Each option here gives one of these
//! up, as the nvcc option of the same name does. It is written onto the instructions and functions themselves, so
//! two builds in one process do not disturb each other. Inline assembly is beyond its reach.

use crate::llvm::{FastMath, Module, Opcode};

/// The rules to give up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct FloatOptions {
    /// Subnormal `f32` results and operands become zero (`-ftz=true`).
    pub(crate) flush_subnormals: bool,
    /// `f32` square roots are approximated (`-prec-sqrt=false`).
    pub(crate) fast_square_root: bool,
    /// `f32` divisions are approximated (`-prec-div=false`).
    pub(crate) fast_division: bool,
    /// `a * b + c` is rounded once (`-fmad=true`).
    pub(crate) contract: bool,
}

pub(super) fn run(module: &mut Module<'_>, options: FloatOptions) {
    if options == FloatOptions::default() {
        return;
    }
    for function in module.functions().filter(|function| !function.is_declaration()) {
        if options.flush_subnormals {
            function.add_attribute("denormal-fp-math-f32", "preserve-sign");
        }
        for instruction in function.instructions() {
            let is_square_root =
                || instruction.callee().is_some_and(|callee| callee.name() == "llvm.sqrt.f32");
            let flags = match instruction.opcode() {
                Some(Opcode::FloatAdd | Opcode::FloatSubtract | Opcode::FloatMultiply)
                    if options.contract =>
                {
                    FastMath::CONTRACT
                }
                Some(Opcode::FloatDivide) if options.fast_division => FastMath::APPROXIMATE,
                Some(Opcode::Call) if options.fast_square_root && is_square_root() => FastMath::APPROXIMATE,
                _ => continue,
            };
            instruction.add_fast_math(flags);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::PassOptions;
    use crate::testing;

    const MODULE: &str = r#"
        declare float @llvm.sqrt.f32(float)
        define ptx_kernel void @k(ptr %p, float %a, float %b, float %c, double %d, double %e) {
          %product = fmul float %a, %b
          %sum = fadd float %product, %c
          store volatile float %sum, ptr %p
          %quotient = fdiv float %a, %b
          store volatile float %quotient, ptr %p
          %root = call float @llvm.sqrt.f32(float %a)
          store volatile float %root, ptr %p
          %wide = fdiv double %d, %e
          store volatile double %wide, ptr %p
          ret void
        }
    "#;

    fn ptx(float: FloatOptions) -> String {
        testing::ptx_with(MODULE, PassOptions { float, ..PassOptions::default() }).unwrap()
    }

    /// The arithmetic instructions, in order.
    fn arithmetic(ptx: &str) -> Vec<&str> {
        let names = ptx.lines().filter_map(|line| line.split_whitespace().next());
        names
            .filter(|name| {
                ["mul.", "add.", "fma.", "div.", "sqrt."].iter().any(|kind| name.starts_with(kind))
            })
            .collect()
    }

    #[test]
    fn the_default_is_exact() {
        let exact = ["mul.rn.f32", "add.rn.f32", "div.rn.f32", "sqrt.rn.f32", "div.rn.f64"];
        assert_eq!(arithmetic(&ptx(FloatOptions::default())), exact);
    }

    #[test]
    fn each_option_gives_up_one_rule() {
        let options = FloatOptions { contract: true, ..Default::default() };
        assert_eq!(arithmetic(&ptx(options)), ["fma.rn.f32", "div.rn.f32", "sqrt.rn.f32", "div.rn.f64"]);
        let options = FloatOptions { fast_division: true, ..Default::default() };
        assert_eq!(
            arithmetic(&ptx(options)),
            ["mul.rn.f32", "add.rn.f32", "div.approx.f32", "sqrt.rn.f32", "div.rn.f64"]
        );
        let options = FloatOptions { fast_square_root: true, ..Default::default() };
        assert_eq!(
            arithmetic(&ptx(options)),
            ["mul.rn.f32", "add.rn.f32", "div.rn.f32", "sqrt.approx.f32", "div.rn.f64"]
        );
        let options = FloatOptions { flush_subnormals: true, ..Default::default() };
        assert_eq!(
            arithmetic(&ptx(options)),
            ["mul.rn.ftz.f32", "add.rn.ftz.f32", "div.rn.ftz.f32", "sqrt.rn.ftz.f32", "div.rn.f64"]
        );
    }
}
