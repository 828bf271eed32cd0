//! New instructions in front of one that is there.

use std::ffi::c_int;

use super::api::Raw;
use super::{Context, Value};

/// LLVM's number of the comparison that is true where one side is NaN.
const UNORDERED: c_int = 8;

/// LLVM's number of the comparison of integers and pointers for equality.
const EQUAL: c_int = 32;

/// An owned builder, which inserts instructions before one that is there, with its line.
pub(crate) struct Builder<'c> {
    context: &'c Context,
    raw: Raw,
}

impl<'c> Builder<'c> {
    pub(crate) fn before(instruction: Value<'c>) -> Self {
        let functions = instruction.context.llvm.functions;
        // SAFETY: the callers pass a live instruction; the builder belongs to its context.
        let raw = unsafe {
            let raw = (functions.LLVMCreateBuilderInContext)(instruction.context.raw);
            (functions.LLVMPositionBuilderBefore)(raw, instruction.raw);
            raw
        };
        Self { context: instruction.context, raw }
    }

    fn value(&self, raw: Raw) -> Value<'c> {
        Value { context: self.context, raw }
    }

    /// A call of a function with arguments of its parameters' types.
    pub(crate) fn call(&self, function: Value<'c>, arguments: &[Value<'c>]) -> Value<'c> {
        let functions = self.context.llvm.functions;
        let mut raw: Vec<Raw> = arguments.iter().map(|argument| argument.raw).collect();
        // SAFETY: all values are live, and the callers pass what the function takes.
        self.value(unsafe {
            (functions.LLVMBuildCall2)(
                self.raw,
                function.value_type(),
                function.raw,
                raw.as_mut_ptr(),
                raw.len() as u32,
                c"".as_ptr(),
            )
        })
    }

    /// Whether a float is NaN.
    pub(crate) fn is_nan(&self, float: Value<'c>) -> Value<'c> {
        // SAFETY: the callers pass a live float.
        self.value(unsafe {
            (self.context.llvm.functions.LLVMBuildFCmp)(
                self.raw,
                UNORDERED,
                float.raw,
                float.raw,
                c"".as_ptr(),
            )
        })
    }

    /// One of two values of the same type.
    pub(crate) fn select(&self, condition: Value<'c>, then: Value<'c>, otherwise: Value<'c>) -> Value<'c> {
        // SAFETY: the callers pass live values, and a condition of one bit.
        self.value(unsafe {
            (self.context.llvm.functions.LLVMBuildSelect)(
                self.raw,
                condition.raw,
                then.raw,
                otherwise.raw,
                c"".as_ptr(),
            )
        })
    }

    /// Whether two integers or pointers are equal.
    pub(crate) fn equals(&self, left: Value<'c>, right: Value<'c>) -> Value<'c> {
        let functions = self.context.llvm.functions;
        // SAFETY: the callers pass live values of the same type.
        self.value(unsafe { (functions.LLVMBuildICmp)(self.raw, EQUAL, left.raw, right.raw, c"".as_ptr()) })
    }

    /// What is at an address, as the type of another value.
    pub(crate) fn load(&self, pointer: Value<'c>, like: Value<'c>) -> Value<'c> {
        let functions = self.context.llvm.functions;
        // SAFETY: the callers pass a live pointer, and a value of a type that memory holds.
        self.value(unsafe {
            let kind = (functions.LLVMTypeOf)(like.raw);
            (functions.LLVMBuildLoad2)(self.raw, kind, pointer.raw, c"".as_ptr())
        })
    }

    /// Stores a value.
    pub(crate) fn store(&self, value: Value<'c>, pointer: Value<'c>) {
        // SAFETY: the callers pass a live value and a live pointer.
        unsafe { (self.context.llvm.functions.LLVMBuildStore)(self.raw, value.raw, pointer.raw) };
    }

    /// Two values as a pair, of the type of another pair.
    pub(crate) fn pair(&self, first: Value<'c>, second: Value<'c>, like: Value<'c>) -> Value<'c> {
        let functions = self.context.llvm.functions;
        // SAFETY: the callers pass live values of the types that the pair is made of.
        self.value(unsafe {
            let pair = (functions.LLVMGetUndef)((functions.LLVMTypeOf)(like.raw));
            let pair = (functions.LLVMBuildInsertValue)(self.raw, pair, first.raw, 0, c"".as_ptr());
            (functions.LLVMBuildInsertValue)(self.raw, pair, second.raw, 1, c"".as_ptr())
        })
    }

    /// The address within a memory that a generic pointer points into, as a pointer of the generic type: for assembly, which is
    /// given 64 bits.
    pub(crate) fn address_within(&self, pointer: Value<'c>, space: u32) -> Value<'c> {
        let functions = self.context.llvm.functions;
        // LLVM folds no cast there and back around a constant with an offset.
        let known = if pointer.is_constant_value() { pointer.as_specific() } else { None };
        // SAFETY: the callers pass a live generic pointer; all pointers of the target have 64 bits.
        self.value(unsafe {
            let kind = (functions.LLVMPointerTypeInContext)(self.context.raw, space);
            let specific = known.map_or_else(
                || (functions.LLVMBuildAddrSpaceCast)(self.raw, pointer.raw, kind, c"".as_ptr()),
                |known| known.raw,
            );
            let integer = (functions.LLVMIntTypeInContext)(self.context.raw, 64);
            let address = (functions.LLVMBuildPtrToInt)(self.raw, specific, integer, c"".as_ptr());
            (functions.LLVMBuildIntToPtr)(
                self.raw,
                address,
                (functions.LLVMTypeOf)(pointer.raw),
                c"".as_ptr(),
            )
        })
    }

    /// An integer's low bits, as the type of another value.
    pub(crate) fn truncate(&self, integer: Value<'c>, like: Value<'c>) -> Value<'c> {
        let functions = self.context.llvm.functions;
        // SAFETY: the callers pass live integers, the second of which is narrower.
        self.value(unsafe {
            (functions.LLVMBuildTrunc)(self.raw, integer.raw, (functions.LLVMTypeOf)(like.raw), c"".as_ptr())
        })
    }
}

impl Drop for Builder<'_> {
    fn drop(&mut self) {
        // SAFETY: owned, and disposed of once.
        unsafe { (self.context.llvm.functions.LLVMDisposeBuilder)(self.raw) };
    }
}
