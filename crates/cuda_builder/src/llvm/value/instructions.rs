//! Instructions, and what is asked of constant expressions as of them.

use std::ffi::{c_char, c_int};

use super::{FUNCTION_INDEX, Value};
use crate::llvm::api::Raw;

/// The operation of an instruction or constant expression: the ones that the passes tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opcode {
    Alloca,
    Load,
    Store,
    AtomicReadModifyWrite,
    CompareExchange,
    Call,
    Invoke,
    CallBranch,
    ElementPointer,
    Phi,
    Select,
    AddressSpaceCast,
    BitCast,
    Freeze,
    Return,
    Unreachable,
    IntegerCompare,
    VariadicArgument,
    FloatAdd,
    FloatSubtract,
    FloatMultiply,
    FloatDivide,
    Other(c_int),
}

impl Opcode {
    pub(super) fn from_number(number: c_int) -> Self {
        match number {
            1 => Self::Return,
            5 => Self::Invoke,
            7 => Self::Unreachable,
            9 => Self::FloatAdd,
            11 => Self::FloatSubtract,
            13 => Self::FloatMultiply,
            16 => Self::FloatDivide,
            26 => Self::Alloca,
            27 => Self::Load,
            28 => Self::Store,
            29 => Self::ElementPointer,
            41 => Self::BitCast,
            42 => Self::IntegerCompare,
            44 => Self::Phi,
            45 => Self::Call,
            46 => Self::Select,
            49 => Self::VariadicArgument,
            56 => Self::CompareExchange,
            57 => Self::AtomicReadModifyWrite,
            60 => Self::AddressSpaceCast,
            67 => Self::CallBranch,
            68 => Self::Freeze,
            other => Self::Other(other),
        }
    }
}

/// LLVM's flags for rewriting a floating-point instruction.
pub(crate) struct FastMath;

impl FastMath {
    /// `a * b + c` may be fused into one rounding.
    pub(crate) const CONTRACT: u32 = 1 << 5;
    /// The operation may be replaced by the hardware's approximation.
    pub(crate) const APPROXIMATE: u32 = 1 << 6;
}

/// Inline assembly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assembly {
    pub(crate) text: String,
    /// LLVM's constraints, separated by commas: outputs, inputs, and what else it changes.
    pub(crate) constraints: String,
    /// Whether it does more than compute its outputs.
    pub(crate) has_effects: bool,
}

/// Instructions.
impl<'c> Value<'c> {
    /// The function that the instruction is in.
    pub(crate) fn parent_function(self) -> Option<Value<'c>> {
        // SAFETY: the value is a live instruction, which sits in a block, which sits in a function.
        self.optional(unsafe {
            let block = (self.functions().LLVMGetInstructionParent)(self.raw);
            (self.functions().LLVMGetBasicBlockParent)(block)
        })
    }

    /// Whether the instruction calls something: also as a terminator, which goes on elsewhere if the callee unwinds.
    pub(crate) fn is_call(self) -> bool {
        matches!(self.opcode(), Some(Opcode::Call | Opcode::Invoke | Opcode::CallBranch))
    }

    /// The callee of a call.
    pub(crate) fn callee(self) -> Option<Value<'c>> {
        // SAFETY: the callers ask this of calls only.
        self.optional(unsafe { (self.functions().LLVMGetCalledValue)(self.raw) })
    }

    /// Adds an attribute that is a bare word (`convergent`) to the call.
    pub(crate) fn add_call_attribute(self, name: &str) {
        let attribute = self.word_attribute(name);
        // SAFETY: the callers ask this of calls only.
        unsafe { (self.functions().LLVMAddCallSiteAttribute)(self.raw, FUNCTION_INDEX, attribute) };
    }

    /// The inline assembly that a callee is, if it is that.
    pub(crate) fn assembly(self) -> Option<Assembly> {
        let functions = self.functions();
        // SAFETY: the value is live, and is asked for text only once it is known to be assembly; LLVM returns that many bytes.
        unsafe {
            if (functions.LLVMIsAInlineAsm)(self.raw).is_null() {
                return None;
            }
            let string = |get: unsafe extern "C" fn(Raw, *mut usize) -> *const c_char| {
                let mut length = 0;
                let start = get(self.raw, &mut length);
                let bytes = std::slice::from_raw_parts(start.cast::<u8>(), length);
                String::from_utf8_lossy(bytes).into_owned()
            };
            Some(Assembly {
                text: string(functions.LLVMGetInlineAsmAsmString),
                constraints: string(functions.LLVMGetInlineAsmConstraintString),
                has_effects: (functions.LLVMGetInlineAsmHasSideEffects)(self.raw) != 0,
            })
        }
    }

    /// This inline assembly with another text.
    pub(crate) fn with_assembly_text(self, text: &str) -> Value<'c> {
        let functions = self.functions();
        // SAFETY: the callers ask this of inline assembly only; everything but the text is its own.
        let raw = unsafe {
            let mut length = 0;
            let constraints = (functions.LLVMGetInlineAsmConstraintString)(self.raw, &mut length);
            (functions.LLVMGetInlineAsm)(
                (functions.LLVMGetInlineAsmFunctionType)(self.raw),
                text.as_ptr().cast(),
                text.len(),
                constraints,
                length,
                (functions.LLVMGetInlineAsmHasSideEffects)(self.raw),
                (functions.LLVMGetInlineAsmNeedsAlignedStack)(self.raw),
                (functions.LLVMGetInlineAsmDialect)(self.raw),
                (functions.LLVMGetInlineAsmCanUnwind)(self.raw),
            )
        };
        Value { context: self.context, raw }
    }

    /// Has a call go to another callee of the same type.
    pub(crate) fn set_callee(self, callee: Value<'c>) {
        // SAFETY: the callers ask this of calls only, whose last operand is the callee.
        unsafe {
            let last = (self.functions().LLVMGetNumOperands)(self.raw).cast_unsigned() - 1;
            (self.functions().LLVMSetOperand)(self.raw, last, callee.raw);
        }
    }

    /// Puts another value of the same type in the place of an argument.
    pub(crate) fn set_argument(self, index: usize, argument: Value<'c>) {
        // SAFETY: the callers ask this of calls that have the argument; arguments are the first operands.
        unsafe { (self.functions().LLVMSetOperand)(self.raw, index as u32, argument.raw) };
    }

    /// The arguments of a call.
    pub(crate) fn arguments(self) -> impl Iterator<Item = Value<'c>> + use<'c> {
        // SAFETY: the callers ask this of calls only.
        let count = unsafe { (self.functions().LLVMGetNumArgOperands)(self.raw) };
        self.operands().take(count as usize)
    }

    /// Whether other threads may write what the load reads while it does: it is atomic or volatile.
    pub(crate) fn reads_what_changes(self) -> bool {
        // SAFETY: the callers ask this of loads only; 0 is the ordering of what is not atomic.
        unsafe {
            (self.functions().LLVMGetOrdering)(self.raw) != 0
                || (self.functions().LLVMGetVolatile)(self.raw) != 0
        }
    }

    /// Adds fast-math flags where the instruction can carry any.
    pub(crate) fn add_fast_math(self, flags: u32) {
        // SAFETY: the flags are set only on instructions that LLVM says can carry them.
        unsafe {
            if (self.functions().LLVMCanValueUseFastMathFlags)(self.raw) != 0 {
                let before = (self.functions().LLVMGetFastMathFlags)(self.raw);
                (self.functions().LLVMSetFastMathFlags)(self.raw, before | flags);
            }
        }
    }
}
