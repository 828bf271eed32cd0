//! Atomic operations on local memory, which PTX does not have: `atom` takes global and shared addresses.
//!
//! Local memory is the thread's own, so a load, a comparison and a store are as good as one step there. LLVM's back end
//! does the same for `atomicrmw`, loads and stores, and leaves `cmpxchg` to be printed as `atom.local.cas`, which ptxas
//! refuses. Run after the optimiser, once address spaces are inferred: before, every pointer is generic.

use crate::llvm::{AddressSpace, Module, Opcode, Value};

pub(super) fn run(module: &mut Module<'_>) {
    for function in module.functions().filter(|function| !function.is_declaration()) {
        let exchanges: Vec<Value<'_>> = function.instructions().filter(|at| is_local(*at)).collect();
        for exchange in exchanges {
            // SAFETY: it is a `cmpxchg`, and the list is not read again.
            unsafe { exchange.split_compare_exchange() };
        }
    }
}

fn is_local(instruction: Value<'_>) -> bool {
    instruction.opcode() == Some(Opcode::CompareExchange)
        && instruction.operands().next().and_then(Value::address_space) == Some(AddressSpace::LOCAL)
}

#[cfg(test)]
mod tests {
    use crate::testing;

    /// A kernel with `operation` on element `%i` of a local array of `kind`, which is written and read around it.
    fn kernel(kind: &str, operation: &str) -> String {
        format!(
            r#"
            define ptx_kernel void @k(ptr %out, i64 %i, {kind} %expected, {kind} %new) {{
              %array = alloca [4 x {kind}], align 8
              %at = getelementptr {kind}, ptr %array, i64 %i
              %given = load [4 x {kind}], ptr %out
              store [4 x {kind}] %given, ptr %array
              {operation}
              %left = load [4 x {kind}], ptr %array
              store [4 x {kind}] %left, ptr %out
              ret void
            }}
            "#
        )
    }

    #[test]
    fn a_compare_exchange_is_a_load_a_selection_and_a_store() {
        for kind in ["i8", "i16", "i32", "i64"] {
            let exchange = format!(
                "%pair = cmpxchg ptr %at, {kind} %expected, {kind} %new acq_rel monotonic
                 %old = extractvalue {{ {kind}, i1 }} %pair, 0
                 %done = extractvalue {{ {kind}, i1 }} %pair, 1
                 %wide = zext i1 %done to i32
                 store {kind} %old, ptr %out
                 %behind = getelementptr i8, ptr %out, i64 64
                 store i32 %wide, ptr %behind"
            );
            let ptx = testing::ptx(&kernel(kind, &exchange));
            assert!(!ptx.contains("atom"), "{ptx}");
            assert!(ptx.contains("ld.local") && ptx.contains("st.local") && ptx.contains("selp"), "{ptx}");
        }
    }

    #[test]
    fn the_back_end_does_the_others() {
        for operation in ["xchg", "add", "sub", "and", "nand", "or", "xor", "max", "umin"] {
            for kind in ["i8", "i16", "i32", "i64"] {
                let operation = format!(
                    "%old = atomicrmw {operation} ptr %at, {kind} %new seq_cst\nstore {kind} %old, ptr %out"
                );
                let ptx = testing::ptx(&kernel(kind, &operation));
                assert!(!ptx.contains("atom") && ptx.contains("ld.local"), "{ptx}");
            }
        }
        let accesses = "store atomic i32 %new, ptr %at seq_cst, align 4
                        %read = load atomic i32, ptr %at acquire, align 4
                        store i32 %read, ptr %out";
        let ptx = testing::ptx(&kernel("i32", accesses));
        for refused in ["ld.acquire", "st.release", "ld.relaxed", "st.relaxed"] {
            assert!(!ptx.contains(refused), "{refused} in {ptx}");
        }
    }

    #[test]
    fn elsewhere_it_stays_one_step() {
        let ptx = testing::ptx(
            r#"
            @SHARED = internal global i32 undef, section ".cuda.shared"
            define ptx_kernel void @k(ptr %out, i32 %new) {
              %a = cmpxchg ptr %out, i32 0, i32 %new acq_rel monotonic
              %b = cmpxchg ptr @SHARED, i32 0, i32 %new acq_rel monotonic
              %old = extractvalue { i32, i1 } %b, 0
              store i32 %old, ptr %out
              ret void
            }
            "#,
        );
        assert!(ptx.contains(".global.cas.b32") && ptx.contains(".shared.cas.b32"), "{ptx}");
    }
}
