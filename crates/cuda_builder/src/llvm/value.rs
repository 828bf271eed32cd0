//! Functions, variables, instructions and constants of a module: what can be asked of any of them.

mod atomics;
mod blocks;
mod globals;
mod instructions;
mod locations;
mod numbers;

use std::ffi::{c_int, c_uint};
use std::iter;

use super::api::Raw;
use super::{Context, Functions};

pub(crate) use blocks::Block;
pub(crate) use globals::Linkage;
pub(crate) use instructions::{Assembly, FastMath, Opcode};
pub(crate) use locations::{Location, Position};

/// A value inside a module: a plain copy of its address. It must not be used once the value, or its module, was deleted;
/// [`delete_variable`](Value::delete_variable) is the one way to do that here, and is unsafe for that reason.
#[derive(Clone, Copy)]
pub(crate) struct Value<'c> {
    pub(in crate::llvm) context: &'c Context,
    pub(in crate::llvm) raw: Raw,
}

impl PartialEq for Value<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl Eq for Value<'_> {}

impl std::hash::Hash for Value<'_> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.raw.hash(state);
    }
}

/// The address spaces of LLVM's NVPTX target.
pub(crate) struct AddressSpace;

impl AddressSpace {
    pub(crate) const GENERIC: u32 = 0;
    pub(crate) const GLOBAL: u32 = 1;
    pub(crate) const SHARED: u32 = 3;
    pub(crate) const CONSTANT: u32 = 4;
    pub(crate) const LOCAL: u32 = 5;
}

/// LLVM's index for a function's or call's own attributes; parameters count from 1.
const FUNCTION_INDEX: u32 = u32::MAX;

impl<'c> Value<'c> {
    fn functions(self) -> &'static Functions {
        self.context.llvm.functions
    }

    fn optional(self, raw: Raw) -> Option<Self> {
        (!raw.is_null()).then_some(Value { context: self.context, raw })
    }

    pub(crate) fn name(self) -> String {
        let mut length = 0;
        // SAFETY: the value is live; LLVM returns that many bytes.
        let bytes = unsafe {
            let start = (self.functions().LLVMGetValueName2)(self.raw, &mut length);
            std::slice::from_raw_parts(start.cast::<u8>(), length)
        };
        String::from_utf8_lossy(bytes).into_owned()
    }

    pub(crate) fn set_name(self, name: &str) {
        // SAFETY: the value is live and the bytes are copied.
        unsafe { (self.functions().LLVMSetValueName2)(self.raw, name.as_ptr().cast(), name.len()) };
    }

    pub(crate) fn is_function(self) -> bool {
        // SAFETY: the value is live.
        !unsafe { (self.functions().LLVMIsAFunction)(self.raw) }.is_null()
    }

    pub(crate) fn is_instruction(self) -> bool {
        // SAFETY: the value is live.
        !unsafe { (self.functions().LLVMIsAInstruction)(self.raw) }.is_null()
    }

    pub(crate) fn is_variable(self) -> bool {
        // SAFETY: the value is live.
        !unsafe { (self.functions().LLVMIsAGlobalVariable)(self.raw) }.is_null()
    }

    /// Whether this is a constant of any kind: globals are.
    pub(crate) fn is_constant_value(self) -> bool {
        // SAFETY: the value is live.
        !unsafe { (self.functions().LLVMIsAConstant)(self.raw) }.is_null()
    }

    /// Whether this is LLVM's `undef` or `poison`.
    pub(crate) fn is_undefined(self) -> bool {
        // SAFETY: the value is live.
        unsafe { (self.functions().LLVMIsUndef)(self.raw) != 0 }
    }

    /// The address space that this value points into; `None` if it is no pointer.
    pub(crate) fn address_space(self) -> Option<u32> {
        const POINTER_KIND: c_int = 12;
        // SAFETY: the value is live, and the space is asked of pointer types only.
        unsafe {
            let kind = (self.functions().LLVMTypeOf)(self.raw);
            ((self.functions().LLVMGetTypeKind)(kind) == POINTER_KIND)
                .then(|| (self.functions().LLVMGetPointerAddressSpace)(kind))
        }
    }

    /// Whether an instruction has a result.
    pub(crate) fn has_result(self) -> bool {
        const VOID_KIND: c_int = 0;
        // SAFETY: the value is live.
        unsafe { (self.functions().LLVMGetTypeKind)((self.functions().LLVMTypeOf)(self.raw)) != VOID_KIND }
    }

    /// The operation of an instruction or constant expression; `None` for anything else.
    pub(crate) fn opcode(self) -> Option<Opcode> {
        // SAFETY: the value is live, and each opcode is asked of its own kind only.
        unsafe {
            if self.is_instruction() {
                return Some(Opcode::from_number((self.functions().LLVMGetInstructionOpcode)(self.raw)));
            }
            if !(self.functions().LLVMIsAConstantExpr)(self.raw).is_null() {
                return Some(Opcode::from_number((self.functions().LLVMGetConstOpcode)(self.raw)));
            }
        }
        None
    }

    /// Operands of an instruction or constant, in order.
    pub(crate) fn operands(self) -> impl Iterator<Item = Value<'c>> + use<'c> {
        // SAFETY: the value is live; LLVM counts no operands for values that have none.
        let count = unsafe { (self.functions().LLVMGetNumOperands)(self.raw) };
        (0..count.max(0).cast_unsigned()).filter_map(move |index| {
            // SAFETY: the index is below the count.
            self.optional(unsafe { (self.functions().LLVMGetOperand)(self.raw, index) })
        })
    }

    /// Everything that has this value as an operand; once for each time.
    pub(crate) fn users(self) -> Vec<Value<'c>> {
        let functions = self.functions();
        // SAFETY: the value is live, and so is its list of uses.
        let first = unsafe { (functions.LLVMGetFirstUse)(self.raw) };
        let uses = iter::successors((!first.is_null()).then_some(first), |&at| {
            // SAFETY: `at` is a use in the list.
            let at = unsafe { (functions.LLVMGetNextUse)(at) };
            (!at.is_null()).then_some(at)
        });
        // SAFETY: each use has a user.
        uses.map(|at| Value { context: self.context, raw: unsafe { (functions.LLVMGetUser)(at) } }).collect()
    }

    /// The bytes of a constant array of `i8`, or of one wrapped in a structure of one field (as rustc does).
    pub(crate) fn bytes(self) -> Option<Vec<u8>> {
        // SAFETY: the value is live; the string is asked of constant strings only.
        unsafe {
            if (self.functions().LLVMIsConstantString)(self.raw) != 0 {
                let mut length = 0;
                let start = (self.functions().LLVMGetAsString)(self.raw, &mut length);
                return Some(std::slice::from_raw_parts(start.cast::<u8>(), length).to_vec());
            }
        }
        let mut fields = self.operands();
        match (fields.next(), fields.next()) {
            (Some(only), None) if !only.is_variable() && !only.is_function() => only.bytes(),
            _ => None,
        }
    }

    /// This constant pointer seen from the generic address space.
    pub(crate) fn as_generic(self, like: Value<'c>) -> Value<'c> {
        // SAFETY: both are pointers, and NVPTX casts every space to the generic one.
        let raw = unsafe {
            (self.functions().LLVMConstAddrSpaceCast)(self.raw, (self.functions().LLVMTypeOf)(like.raw))
        };
        Value { context: self.context, raw }
    }

    /// Returns the pointer into one memory that this constant generic pointer was cast from, with the offsets that were added
    /// since; `None` if it is no such cast.
    pub(super) fn as_specific(self) -> Option<Value<'c>> {
        match self.opcode()? {
            Opcode::AddressSpaceCast => self.operands().next(),
            Opcode::ElementPointer => {
                let base = self.operands().next()?.as_specific()?;
                let mut indices: Vec<Raw> = self.operands().skip(1).map(|index| index.raw).collect();
                // SAFETY: the callers ask this of constants only; the offsets' types and numbers are those of the same expression.
                let raw = unsafe {
                    (self.functions().LLVMConstGEP2)(
                        (self.functions().LLVMGetGEPSourceElementType)(self.raw),
                        base.raw,
                        indices.as_mut_ptr(),
                        indices.len() as u32,
                    )
                };
                Some(Value { context: self.context, raw })
            }
            _ => None,
        }
    }

    /// Puts `new`, of the same type, wherever this value is used: instructions and constants.
    pub(crate) fn replace_uses(self, new: Value<'c>) {
        // SAFETY: both are live and of one type (LLVM asserts it).
        unsafe { (self.functions().LLVMReplaceAllUsesWith)(self.raw, new.raw) };
    }

    /// A constant of this integer's type, by its bits.
    pub(crate) fn constant_like(self, bits: u64) -> Value<'c> {
        // SAFETY: the callers ask this of integers only; the bits beyond the type's width are dropped.
        let raw =
            unsafe { (self.functions().LLVMConstInt)((self.functions().LLVMTypeOf)(self.raw), bits, 0) };
        Value { context: self.context, raw }
    }

    /// Takes an instruction out and puts another value of its type wherever it is used.
    ///
    /// # Safety
    /// No copy of the instruction is used afterwards.
    pub(crate) unsafe fn become_value(self, new: Value<'c>) {
        self.replace_uses(new);
        // SAFETY: it has no uses left, and the caller keeps no copy.
        unsafe { (self.functions().LLVMInstructionEraseFromParent)(self.raw) };
    }

    /// An attribute that is a bare word.
    fn word_attribute(self, name: &str) -> Raw {
        let kind = self.attribute_kind(name);
        // SAFETY: the context is live.
        unsafe { (self.functions().LLVMCreateEnumAttribute)(self.context.raw, kind, 0) }
    }

    /// LLVM's number of an attribute that is a word.
    fn attribute_kind(self, name: &str) -> c_uint {
        // SAFETY: the name is passed with its length.
        unsafe { (self.functions().LLVMGetEnumAttributeKindForName)(name.as_ptr().cast(), name.len()) }
    }
}

impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Value({})", self.name())
    }
}
