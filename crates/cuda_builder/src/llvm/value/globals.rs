//! Functions and variables.

use std::ffi::{CStr, c_int};
use std::iter;

use super::{Block, FUNCTION_INDEX, Value};
use crate::llvm::api::Raw;

/// Visibility of a global: the linkages that the passes tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Linkage {
    External,
    Internal,
    /// Any other, by LLVM's number.
    Other(c_int),
}

/// The number of the `ptx_kernel` calling convention.
const KERNEL_CONVENTION: u32 = 71;

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

    pub(in crate::llvm) fn value_type(self) -> Raw {
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

    /// Adds an attribute that is a word and a number (`alignstack(64)`) to the parameter.
    pub(crate) fn add_parameter_number(self, index: u32, name: &str, number: u64) {
        let kind = self.attribute_kind(name);
        // SAFETY: the context is live, and the index was checked by the callers against the count.
        unsafe {
            let attribute = (self.functions().LLVMCreateEnumAttribute)(self.context.raw, kind, number);
            (self.functions().LLVMAddAttributeAtIndex)(self.raw, index + 1, attribute);
        }
    }

    /// Whether the parameter has an attribute that is a word, with whatever else belongs to it (`byval(T)`).
    pub(crate) fn has_parameter_attribute(self, index: u32, name: &str) -> bool {
        self.attribute_at(index + 1, name).is_some()
    }

    /// Adds an attribute that is a bare word (`convergent`) to the function.
    pub(crate) fn add_word_attribute(self, name: &str) {
        let attribute = self.word_attribute(name);
        // SAFETY: the value is a live function.
        unsafe { (self.functions().LLVMAddAttributeAtIndex)(self.raw, FUNCTION_INDEX, attribute) };
    }

    /// Takes an attribute that is a bare word (`noinline`) from the function, if it is there.
    pub(crate) fn remove_word_attribute(self, name: &str) {
        let kind = self.attribute_kind(name);
        // SAFETY: the value is a live function.
        unsafe { (self.functions().LLVMRemoveEnumAttributeAtIndex)(self.raw, FUNCTION_INDEX, kind) };
    }

    /// Whether the function has an attribute that is a bare word.
    pub(crate) fn has_word_attribute(self, name: &str) -> bool {
        self.attribute_at(FUNCTION_INDEX, name).is_some()
    }

    /// Whether the function neither reads nor writes memory, by its attribute `memory(none)`.
    pub(crate) fn leaves_memory_alone(self) -> bool {
        // The attribute's number has two bits for each kind of memory, all of them 0 in `memory(none)`.
        // SAFETY: the attribute is one with a number.
        self.attribute_at(FUNCTION_INDEX, "memory")
            .is_some_and(|attribute| unsafe { (self.functions().LLVMGetEnumAttributeValue)(attribute) == 0 })
    }

    fn attribute_at(self, index: u32, name: &str) -> Option<Raw> {
        let kind = self.attribute_kind(name);
        // SAFETY: the value is a live function; LLVM has no attributes at an index beyond its parameters.
        let attribute = unsafe { (self.functions().LLVMGetEnumAttributeAtIndex)(self.raw, index, kind) };
        (!attribute.is_null()).then_some(attribute)
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

    /// Whether the function has an attribute `"key"`, whatever its value.
    pub(crate) fn has_attribute(self, key: &str) -> bool {
        let length = u32::try_from(key.len()).unwrap_or(u32::MAX);
        // SAFETY: the value is a live function, and the key is passed with its length.
        let attribute = unsafe {
            (self.functions().LLVMGetStringAttributeAtIndex)(
                self.raw,
                FUNCTION_INDEX,
                key.as_ptr().cast(),
                length,
            )
        };
        !attribute.is_null()
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

    pub(crate) fn blocks(self) -> impl Iterator<Item = Block<'c>> + use<'c> {
        let functions = self.functions();
        let context = self.context;
        // SAFETY: the value is a live function, and each block is one of it.
        let first = unsafe { (functions.LLVMGetFirstBasicBlock)(self.raw) };
        let blocks = iter::successors((!first.is_null()).then_some(first), move |&block| {
            // SAFETY: as above.
            let next = unsafe { (functions.LLVMGetNextBasicBlock)(block) };
            (!next.is_null()).then_some(next)
        });
        blocks.map(move |raw| Block { context, raw })
    }

    pub(crate) fn instructions(self) -> impl Iterator<Item = Value<'c>> + use<'c> {
        self.blocks().flat_map(Block::instructions)
    }
}
