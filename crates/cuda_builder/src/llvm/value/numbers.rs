//! Numbers that instructions carry through optimisation, as metadata: a copy of an instruction has the number of its original.

use super::Value;
use crate::llvm::api::Raw;

/// The kind of the metadata.
const KIND: &str = "coalesce.number";

impl Value<'_> {
    /// Gives an instruction a number.
    pub(crate) fn set_number(self, number: u32) {
        let functions = self.functions();
        // SAFETY: the callers number instructions only; all parts belong to their context.
        unsafe {
            let integer = (functions.LLVMInt32TypeInContext)(self.context.raw);
            let mut operand =
                (functions.LLVMValueAsMetadata)((functions.LLVMConstInt)(integer, number.into(), 0));
            let node = (functions.LLVMMDNodeInContext2)(self.context.raw, &mut operand, 1);
            let node = (functions.LLVMMetadataAsValue)(self.context.raw, node);
            (functions.LLVMSetMetadata)(self.raw, self.kind(), node);
        }
    }

    /// Takes the number off an instruction, and returns it if it had one.
    pub(crate) fn take_number(self) -> Option<u32> {
        let functions = self.functions();
        // SAFETY: the callers ask this of instructions only; metadata of this kind is a node of one integer.
        unsafe {
            let node = (functions.LLVMGetMetadata)(self.raw, self.kind());
            if node.is_null() {
                return None;
            }
            let mut operand: Raw = std::ptr::null_mut();
            (functions.LLVMGetMDNodeOperands)(node, &mut operand);
            let number = (functions.LLVMConstIntGetZExtValue)(operand);
            (functions.LLVMSetMetadata)(self.raw, self.kind(), std::ptr::null_mut());
            u32::try_from(number).ok()
        }
    }

    /// LLVM's number of the kind in this context.
    fn kind(self) -> u32 {
        // SAFETY: the name is passed with its length.
        unsafe {
            (self.functions().LLVMGetMDKindIDInContext)(
                self.context.raw,
                KIND.as_ptr().cast(),
                KIND.len() as u32,
            )
        }
    }
}
