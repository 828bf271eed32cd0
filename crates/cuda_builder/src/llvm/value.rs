//! Functions, variables, instructions and constants of a module.

use std::ffi::{CStr, c_char, c_int};
use std::iter;
use std::ptr;

use super::Context;
use super::api::Raw;

/// A value inside a module: a plain copy of its address. It must not be used once the value, or its module, was deleted;
/// [`delete_variable`](Value::delete_variable) is the one way to do that here, and is unsafe for that reason.
#[derive(Clone, Copy)]
pub(crate) struct Value<'c> {
    pub(super) context: &'c Context,
    pub(super) raw: Raw,
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
}

/// Who may see a global: the linkages that the passes tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Linkage {
    External,
    Internal,
    /// Any other, by LLVM's number.
    Other(c_int),
}

/// What an instruction or constant expression does: the ones that the passes tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opcode {
    Load,
    Store,
    AtomicReadModifyWrite,
    CompareExchange,
    Call,
    ElementPointer,
    Phi,
    Select,
    AddressSpaceCast,
    BitCast,
    Freeze,
    Return,
    FloatAdd,
    FloatSubtract,
    FloatMultiply,
    FloatDivide,
    Other(c_int),
}

impl Opcode {
    fn from_number(number: c_int) -> Self {
        match number {
            1 => Self::Return,
            9 => Self::FloatAdd,
            11 => Self::FloatSubtract,
            13 => Self::FloatMultiply,
            16 => Self::FloatDivide,
            27 => Self::Load,
            28 => Self::Store,
            29 => Self::ElementPointer,
            41 => Self::BitCast,
            44 => Self::Phi,
            45 => Self::Call,
            46 => Self::Select,
            56 => Self::CompareExchange,
            57 => Self::AtomicReadModifyWrite,
            60 => Self::AddressSpaceCast,
            68 => Self::Freeze,
            other => Self::Other(other),
        }
    }
}

/// What a floating-point instruction may be turned into, as LLVM's flags.
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
    /// Whether it does more than compute its outputs.
    pub(crate) has_effects: bool,
}

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) file: String,
    pub(crate) line: u32,
}

/// LLVM's index for a function's own attributes; parameters count from 1.
const FUNCTION_INDEX: u32 = u32::MAX;

/// The number of the `ptx_kernel` calling convention.
const KERNEL_CONVENTION: u32 = 71;

impl<'c> Value<'c> {
    fn functions(self) -> &'static super::Functions {
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

    /// What an instruction or constant expression does; `None` for anything else.
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

    /// The bytes of a constant that is an array of `i8`, or one wrapped in a structure of one field (as rustc does).
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

    /// Puts `new`, of the same type, wherever this value is used: instructions and constants.
    pub(crate) fn replace_uses(self, new: Value<'c>) {
        // SAFETY: both are live and of one type (LLVM asserts it).
        unsafe { (self.functions().LLVMReplaceAllUsesWith)(self.raw, new.raw) };
    }
}

/// Functions and variables alike.
impl Value<'_> {
    pub(crate) fn is_declaration(self) -> bool {
        // SAFETY: the value is a live global.
        unsafe { (self.functions().LLVMIsDeclaration)(self.raw) != 0 }
    }

    pub(crate) fn linkage(self) -> Linkage {
        // SAFETY: the value is a live global.
        match unsafe { (self.functions().LLVMGetLinkage)(self.raw) } {
            0 => Linkage::External,
            8 => Linkage::Internal,
            other => Linkage::Other(other),
        }
    }

    /// Sets who may see it; a global that only this module sees has default visibility by LLVM's rules.
    pub(crate) fn set_linkage(self, linkage: Linkage) {
        let number = match linkage {
            Linkage::External => 0,
            Linkage::Internal => 8,
            Linkage::Other(other) => other,
        };
        // SAFETY: the value is a live global; 0 is the default visibility.
        unsafe {
            (self.functions().LLVMSetVisibility)(self.raw, 0);
            (self.functions().LLVMSetLinkage)(self.raw, number);
        }
    }

    pub(crate) fn section(self) -> Option<String> {
        // SAFETY: the value is a live global; the section is a C string or null.
        let section = unsafe {
            let start = (self.functions().LLVMGetSection)(self.raw);
            if start.is_null() {
                return None;
            }
            CStr::from_ptr(start).to_string_lossy().into_owned()
        };
        (!section.is_empty()).then_some(section)
    }

    pub(crate) fn alignment(self) -> u32 {
        // SAFETY: the value is a live global.
        unsafe { (self.functions().LLVMGetAlignment)(self.raw) }
    }

    pub(crate) fn set_alignment(self, bytes: u32) {
        if bytes != 0 {
            // SAFETY: the value is a live global; LLVM's own alignments are powers of two.
            unsafe { (self.functions().LLVMSetAlignment)(self.raw, bytes) };
        }
    }

    pub(super) fn value_type(self) -> Raw {
        // SAFETY: the value is a live global.
        unsafe { (self.functions().LLVMGlobalGetValueType)(self.raw) }
    }
}

/// Variables.
impl<'c> Value<'c> {
    pub(crate) fn initialiser(self) -> Option<Value<'c>> {
        // SAFETY: the value is a live variable.
        self.optional(unsafe { (self.functions().LLVMGetInitializer)(self.raw) })
    }

    pub(crate) fn set_initialiser(self, value: Value<'c>) {
        // SAFETY: both are live; the callers pass a constant of the variable's type.
        unsafe { (self.functions().LLVMSetInitializer)(self.raw, value.raw) };
    }

    /// Gives the variable no particular value, as shared memory has none.
    pub(crate) fn leave_uninitialised(self) {
        // SAFETY: the value is a live variable, and undef exists for each type.
        unsafe {
            let undefined = (self.functions().LLVMGetUndef)(self.value_type());
            (self.functions().LLVMSetInitializer)(self.raw, undefined);
        }
    }

    pub(crate) fn is_constant(self) -> bool {
        // SAFETY: the value is a live variable.
        unsafe { (self.functions().LLVMIsGlobalConstant)(self.raw) != 0 }
    }

    pub(crate) fn set_constant(self, constant: bool) {
        // SAFETY: the value is a live variable.
        unsafe { (self.functions().LLVMSetGlobalConstant)(self.raw, constant.into()) };
    }

    /// Says that the initialiser may be overwritten before a kernel runs, so that nothing is folded from it.
    pub(crate) fn set_externally_initialised(self) {
        // SAFETY: the value is a live variable.
        unsafe { (self.functions().LLVMSetExternallyInitialized)(self.raw, 1) };
    }

    /// Takes the variable out of its module.
    ///
    /// # Safety
    /// It must have no uses left, and no copy of this value may be used afterwards.
    pub(crate) unsafe fn delete_variable(self) {
        // SAFETY: by the contract above.
        unsafe { (self.functions().LLVMDeleteGlobal)(self.raw) };
    }
}

/// Functions.
impl<'c> Value<'c> {
    pub(crate) fn is_kernel(self) -> bool {
        // SAFETY: the value is a live function.
        unsafe { (self.functions().LLVMGetFunctionCallConv)(self.raw) == KERNEL_CONVENTION }
    }

    pub(crate) fn parameter_count(self) -> u32 {
        // SAFETY: the value is a live function.
        unsafe { (self.functions().LLVMCountParams)(self.raw) }
    }

    pub(crate) fn parameter(self, index: u32) -> Option<Value<'c>> {
        if index >= self.parameter_count() {
            return None;
        }
        // SAFETY: the index is below the count.
        self.optional(unsafe { (self.functions().LLVMGetParam)(self.raw, index) })
    }

    /// Adds an attribute that is a bare word (`noalias`) to the parameter.
    pub(crate) fn add_parameter_attribute(self, index: u32, name: &str) {
        let attribute = self.word_attribute(name);
        // SAFETY: the index was checked by the callers against the count.
        unsafe { (self.functions().LLVMAddAttributeAtIndex)(self.raw, index + 1, attribute) };
    }

    /// Adds an attribute that is a bare word (`convergent`) to the function.
    pub(crate) fn add_word_attribute(self, name: &str) {
        let attribute = self.word_attribute(name);
        // SAFETY: the value is a live function.
        unsafe { (self.functions().LLVMAddAttributeAtIndex)(self.raw, FUNCTION_INDEX, attribute) };
    }

    fn word_attribute(self, name: &str) -> Raw {
        let functions = self.functions();
        // SAFETY: the name is passed with its length, and the context is live.
        unsafe {
            let kind = (functions.LLVMGetEnumAttributeKindForName)(name.as_ptr().cast(), name.len());
            (functions.LLVMCreateEnumAttribute)(self.context.raw, kind, 0)
        }
    }

    /// Adds `"key"="value"` to the function.
    pub(crate) fn add_attribute(self, key: &str, value: &str) {
        let functions = self.functions();
        let length = |text: &str| u32::try_from(text.len()).unwrap_or(u32::MAX);
        // SAFETY: both texts are passed with their lengths and copied.
        unsafe {
            let attribute = (functions.LLVMCreateStringAttribute)(
                self.context.raw,
                key.as_ptr().cast(),
                length(key),
                value.as_ptr().cast(),
                length(value),
            );
            (functions.LLVMAddAttributeAtIndex)(self.raw, FUNCTION_INDEX, attribute);
        }
    }

    /// Removes `"key"` from the function, if it is there.
    pub(crate) fn remove_attribute(self, key: &str) {
        let length = u32::try_from(key.len()).unwrap_or(u32::MAX);
        // SAFETY: the key is passed with its length.
        unsafe {
            (self.functions().LLVMRemoveStringAttributeAtIndex)(
                self.raw,
                FUNCTION_INDEX,
                key.as_ptr().cast(),
                length,
            );
        }
    }

    pub(crate) fn instructions(self) -> impl Iterator<Item = Value<'c>> + use<'c> {
        let functions = self.functions();
        let context = self.context;
        let next = |at: Raw, step: unsafe extern "C" fn(Raw) -> Raw| {
            // SAFETY: `at` is live and of the kind that `step` walks.
            let at = unsafe { step(at) };
            (!at.is_null()).then_some(at)
        };
        let blocks = iter::successors(next(self.raw, functions.LLVMGetFirstBasicBlock), move |&block| {
            next(block, functions.LLVMGetNextBasicBlock)
        });
        blocks.flat_map(move |block| {
            iter::successors(next(block, functions.LLVMGetFirstInstruction), move |&instruction| {
                next(instruction, functions.LLVMGetNextInstruction)
            })
            .map(move |raw| Value { context, raw })
        })
    }
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

    /// What a call calls.
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
            let mut length = 0;
            let start = (functions.LLVMGetInlineAsmAsmString)(self.raw, &mut length);
            let bytes = std::slice::from_raw_parts(start.cast::<u8>(), length);
            Some(Assembly {
                text: String::from_utf8_lossy(bytes).into_owned(),
                has_effects: (functions.LLVMGetInlineAsmHasSideEffects)(self.raw) != 0,
            })
        }
    }

    /// The arguments of a call.
    pub(crate) fn arguments(self) -> impl Iterator<Item = Value<'c>> + use<'c> {
        // SAFETY: the callers ask this of calls only.
        let count = unsafe { (self.functions().LLVMGetNumArgOperands)(self.raw) };
        self.operands().take(count as usize)
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

    /// Where in the source the instruction comes from: from the innermost inlined function outwards, `[]` when the module
    /// has no line information.
    pub(crate) fn positions(self) -> Vec<Position> {
        type Text = unsafe extern "C" fn(Raw, *mut u32) -> *const c_char;
        let functions = self.functions();
        let text = |file: Raw, get: Text| {
            let mut length = 0;
            // SAFETY: `file` is live; LLVM returns that many bytes, or null.
            unsafe {
                let start = get(file, &mut length);
                if start.is_null() {
                    return String::new();
                }
                let bytes = std::slice::from_raw_parts(start.cast::<u8>(), length as usize);
                String::from_utf8_lossy(bytes).into_owned()
            }
        };
        // SAFETY: the value is a live instruction; locations, scopes and files are checked for null before use.
        unsafe {
            let innermost = (functions.LLVMInstructionGetDebugLoc)(self.raw);
            let locations = iter::successors((!innermost.is_null()).then_some(innermost), |&at| {
                let at = (functions.LLVMDILocationGetInlinedAt)(at);
                (!at.is_null()).then_some(at)
            });
            locations
                .filter_map(|location| {
                    let scope = (functions.LLVMDILocationGetScope)(location);
                    let file =
                        if scope.is_null() { ptr::null_mut() } else { (functions.LLVMDIScopeGetFile)(scope) };
                    if file.is_null() {
                        return None;
                    }
                    let name = text(file, functions.LLVMDIFileGetFilename);
                    let directory = text(file, functions.LLVMDIFileGetDirectory);
                    let file = if name.starts_with('/') || directory.is_empty() {
                        name
                    } else {
                        format!("{directory}/{name}")
                    };
                    Some(Position { file, line: (functions.LLVMDILocationGetLine)(location) })
                })
                .collect()
        }
    }
}

impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Value({})", self.name())
    }
}
