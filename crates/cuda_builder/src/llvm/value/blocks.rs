//! Basic blocks, and the edges between them.

use std::iter;

use super::Value;
use crate::llvm::Context;
use crate::llvm::api::Raw;

/// A basic block of a function: a plain copy of its address, valid no longer than the function.
#[derive(Clone, Copy)]
pub(crate) struct Block<'c> {
    pub(super) context: &'c Context,
    pub(super) raw: Raw,
}

impl PartialEq for Block<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl Eq for Block<'_> {}

impl std::hash::Hash for Block<'_> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.raw.hash(state);
    }
}

impl<'c> Block<'c> {
    pub(crate) fn instructions(self) -> impl Iterator<Item = Value<'c>> + use<'c> {
        let functions = self.context.llvm.functions;
        let context = self.context;
        // SAFETY: the block is live.
        let first = unsafe { (functions.LLVMGetFirstInstruction)(self.raw) };
        let instructions = iter::successors((!first.is_null()).then_some(first), move |&instruction| {
            // SAFETY: `instruction` is one of the block.
            let next = unsafe { (functions.LLVMGetNextInstruction)(instruction) };
            (!next.is_null()).then_some(next)
        });
        instructions.map(move |raw| Value { context, raw })
    }

    /// The instruction that the block ends with; every block of a verified function has one.
    pub(crate) fn terminator(self) -> Option<Value<'c>> {
        // SAFETY: the block is live.
        let raw = unsafe { (self.context.llvm.functions.LLVMGetBasicBlockTerminator)(self.raw) };
        (!raw.is_null()).then_some(Value { context: self.context, raw })
    }

    /// The blocks that the terminator can go to, once for each way to go there.
    pub(crate) fn successors(self) -> Vec<Block<'c>> {
        let Some(terminator) = self.terminator() else { return Vec::new() };
        let functions = self.context.llvm.functions;
        // SAFETY: the value is a terminator, and each index is below the count.
        unsafe {
            let count = (functions.LLVMGetNumSuccessors)(terminator.raw);
            let successor = |index| (functions.LLVMGetSuccessor)(terminator.raw, index);
            (0..count).map(|index| Block { context: self.context, raw: successor(index) }).collect()
        }
    }
}

/// Instructions and the blocks they are in.
impl<'c> Value<'c> {
    /// The block that the instruction is in.
    pub(crate) fn parent_block(self) -> Block<'c> {
        // SAFETY: the callers ask this of instructions only, each of which sits in a block.
        let raw = unsafe { (self.functions().LLVMGetInstructionParent)(self.raw) };
        Block { context: self.context, raw }
    }

    /// The values that a phi takes, each with the block at the other end of its edge.
    pub(crate) fn incoming(self) -> Vec<(Value<'c>, Block<'c>)> {
        let functions = self.functions();
        let context = self.context;
        // SAFETY: the callers ask this of phis only, and each index is below the count.
        unsafe {
            let count = (functions.LLVMCountIncoming)(self.raw);
            let value = |index| Value { context, raw: (functions.LLVMGetIncomingValue)(self.raw, index) };
            let block = |index| Block { context, raw: (functions.LLVMGetIncomingBlock)(self.raw, index) };
            (0..count).map(|index| (value(index), block(index))).collect()
        }
    }
}
