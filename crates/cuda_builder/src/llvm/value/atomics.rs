//! Atomic instructions as plain ones.

use std::ffi::c_int;

use super::Value;

/// LLVM's number of the comparison for equality.
const EQUAL: c_int = 32;

impl Value<'_> {
    /// Replaces a `cmpxchg` by a load, a comparison and a store of the new or the old value.
    ///
    /// The three are no longer one step, so no other thread may reach the memory.
    ///
    /// # Safety
    /// The value is a `cmpxchg`, and no copy of it is used afterwards.
    pub(crate) unsafe fn split_compare_exchange(self) {
        let functions = self.functions();
        let mut operands = self.operands();
        let (Some(pointer), Some(expected), Some(new)) = (operands.next(), operands.next(), operands.next())
        else {
            return;
        };
        // SAFETY: all values are live and of one function; the types are those of the operands, and the result is the pair
        // that a `cmpxchg` returns. It has no uses left when it is erased, and the caller keeps no copy.
        unsafe {
            let kind = (functions.LLVMTypeOf)(expected.raw);
            let pair = (functions.LLVMGetUndef)((functions.LLVMTypeOf)(self.raw));
            let builder = (functions.LLVMCreateBuilderInContext)(self.context.raw);
            (functions.LLVMPositionBuilderBefore)(builder, self.raw);
            let old = (functions.LLVMBuildLoad2)(builder, kind, pointer.raw, c"".as_ptr());
            let equal = (functions.LLVMBuildICmp)(builder, EQUAL, old, expected.raw, c"".as_ptr());
            let stored = (functions.LLVMBuildSelect)(builder, equal, new.raw, old, c"".as_ptr());
            (functions.LLVMBuildStore)(builder, stored, pointer.raw);
            let result = (functions.LLVMBuildInsertValue)(builder, pair, old, 0, c"".as_ptr());
            let result = (functions.LLVMBuildInsertValue)(builder, result, equal, 1, c"".as_ptr());
            (functions.LLVMDisposeBuilder)(builder);
            (functions.LLVMReplaceAllUsesWith)(self.raw, result);
            (functions.LLVMInstructionEraseFromParent)(self.raw);
        }
    }
}
