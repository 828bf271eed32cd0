//! Takes local arrays apart whose loops LLVM leaves as they are, since it optimises for a target whose threads diverge.
//!
//! `for distance in [16, 8, 4, 2, 1]` asks an iterator for an `Option` in each round: one branch tells whether there is an element, and
//! after both of its sides have met, another one with the same condition whether the loop ends. Elsewhere LLVM lets the first
//! branch jump where the second will (*jump threading*), finds that the loop has five rounds, unrolls it, and the array is gone. For
//! NVIDIA GPUs it never threads jumps, so that diverged lanes meet early. Then the array stays in local memory:
//!
//! ```text
//! before                            threaded
//! next: %no = icmp eq %i, 5         next: %no = icmp eq %i, 5
//!       br %no, both, some                br %no, end, some
//! some: %x = load %i                some: %x = load %i
//!       br both                           ... br next
//! both: br %no, end, body
//! ```
//!
//! So jumps are threaded in those functions alone that still have an array after optimisation, and these are optimised once more, if
//! a trial shows that they lose one by that: otherwise more branches are all that comes of it. LLVM never copies instructions that
//! lanes have to execute together (`convergent`) for that.
//!
//! On an H200, in one run with the program before: a product sampled at the entries of a sparse matrix, whose warps sum up by that
//! loop for each entry, 169 and 45 us; the eight greatest of 512 numbers in a row 21.9 and 13.3 us; a group norm 6.2 and 4.2 us.

use crate::llvm::{Module, Opcode, TargetMachine, Value};

/// Simplifies loops whose exits are known by now, and unrolls them.
const SIMPLIFY: &str = "simplifycfg,instcombine,loop-simplify,lcssa,loop(loop-rotate,indvars,loop-unroll-full),sroa,early-cse,\
    instcombine,gvn,simplifycfg,sroa,instcombine,infer-alignment,adce,simplifycfg";

pub(super) fn run(module: &mut Module<'_>, machine: &TargetMachine) -> Result<(), String> {
    let with_arrays: Vec<(String, usize)> = module
        .functions()
        .map(|function| (function.name(), arrays(function)))
        .filter(|(_, arrays)| *arrays > 0)
        .collect();
    if with_arrays.is_empty() {
        return Ok(());
    }
    let trial = module.duplicate();
    for (name, before) in with_arrays {
        if let Some(tried) = trial.function(&name)
            && let Some(function) = module.function(&name)
        {
            simplify(&trial, tried, machine)?;
            if arrays(tried) < before {
                simplify(module, function, machine)?;
            }
        }
    }
    Ok(())
}

fn simplify(module: &Module<'_>, function: Value<'_>, machine: &TargetMachine) -> Result<(), String> {
    machine.run_on(module, function, "jump-threading", false)?;
    machine.run_on(module, function, SIMPLIFY, true)
}

/// Returns the number of a function's local variables.
fn arrays(function: Value<'_>) -> usize {
    function.instructions().filter(|instruction| instruction.opcode() == Some(Opcode::Alloca)).count()
}

#[cfg(test)]
mod tests {
    use crate::testing;

    /// For each of `%n` elements, a loop over an array of five distances as Rust's iterators lead to: `%x` is the distance that
    /// `element` reads.
    fn sums(element: &str) -> String {
        format!(
            r#"
            declare {{ i32, i1 }} @llvm.nvvm.shfl.sync.bfly.i32p(i32, i32, i32, i32) convergent
            define ptx_kernel void @k(i32 %n, ptr %in, ptr %out) {{
              %array = alloca [5 x i32], align 4
              br label %each
            each:
              %e = phi i32 [ 0, %0 ], [ %e1, %after ]
              %wide = zext i32 %e to i64
              %from = getelementptr i32, ptr %in, i64 %wide
              %own = load i32, ptr %from
              %p1 = getelementptr i32, ptr %array, i64 1
              %p2 = getelementptr i32, ptr %array, i64 2
              %p3 = getelementptr i32, ptr %array, i64 3
              %p4 = getelementptr i32, ptr %array, i64 4
              store i32 16, ptr %array
              store i32 8, ptr %p1
              store i32 4, ptr %p2
              store i32 2, ptr %p3
              store i32 1, ptr %p4
              br label %next
            next:
              %i = phi i64 [ 0, %each ], [ %i1, %body ]
              %sum = phi i32 [ %own, %each ], [ %sum1, %body ]
              %no = icmp eq i64 %i, 5
              br i1 %no, label %both, label %some
            some:
              %plus = add nuw nsw i64 %i, 1
              {element}
              br label %both
            both:
              %i1 = phi i64 [ %plus, %some ], [ 5, %next ]
              %distance = phi i32 [ %x, %some ], [ undef, %next ]
              br i1 %no, label %after, label %body
            body:
              %pair = call {{ i32, i1 }} @llvm.nvvm.shfl.sync.bfly.i32p(i32 -1, i32 %sum, i32 %distance, i32 31) convergent
              %other = extractvalue {{ i32, i1 }} %pair, 0
              %sum1 = add i32 %sum, %other
              br label %next
            after:
              %to = getelementptr i32, ptr %out, i64 %wide
              store i32 %sum, ptr %to
              %e1 = add i32 %e, 1
              %more = icmp ult i32 %e1, %n
              br i1 %more, label %each, label %done
            done:
              ret void
            }}
            "#
        )
    }

    #[test]
    fn a_loop_over_an_array_is_unrolled_and_the_array_gone() {
        let ptx = testing::ptx(&sums("%at = getelementptr i32, ptr %array, i64 %i\n%x = load i32, ptr %at"));
        assert!(!ptx.contains("local"), "{ptx}");
        for distance in [16, 8, 4, 2, 1] {
            assert_eq!(ptx.matches(&format!(", {distance}, 31, -1;")).count(), 1, "{distance} in {ptx}");
        }
    }

    #[test]
    fn an_array_that_stays_leaves_its_loop_as_it_is() {
        // Which element it is, only the data tell.
        let ptx = testing::ptx(&sums(
            "%step = add i32 %sum, %e\n%some5 = urem i32 %step, 5\n%far = zext i32 %some5 to i64\n\
             %at = getelementptr i32, ptr %array, i64 %far\n%x = load i32, ptr %at",
        ));
        assert!(ptx.contains("ld.local"), "{ptx}");
        assert_eq!(ptx.matches("shfl.sync.bfly").count(), 1, "{ptx}");
    }
}
