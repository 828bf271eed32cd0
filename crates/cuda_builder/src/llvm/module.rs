//! A module of LLVM IR.

use std::iter;
use std::ptr;

use super::api::Raw;
use super::buffer::Buffer;
use super::value::Value;
use super::{Context, TargetMachine, c_string};

/// An owned module, alive no longer than its context.
pub(crate) struct Module<'c> {
    pub(super) context: &'c Context,
    pub(super) raw: Raw,
}

impl<'c> Module<'c> {
    /// A module with nothing in it.
    pub(crate) fn empty(context: &'c Context, name: &str) -> Self {
        let name = c_string(name);
        // SAFETY: the name is a C string and the context is live.
        let raw =
            unsafe { (context.llvm.functions.LLVMModuleCreateWithNameInContext)(name.as_ptr(), context.raw) };
        Self { context, raw }
    }

    /// Reads bitcode whole.
    pub(crate) fn from_bitcode(context: &'c Context, bitcode: &[u8], name: &str) -> Result<Self, String> {
        let buffer = Buffer::copy(context.llvm, bitcode, name);
        let mut raw = ptr::null_mut();
        // SAFETY: context and buffer are live; the buffer stays ours.
        let failed = unsafe {
            (context.llvm.functions.LLVMParseBitcodeInContext2)(context.raw, buffer.as_raw(), &mut raw)
        };
        if failed != 0 {
            return Err(context.take_errors().unwrap_or_else(|| String::from("unreadable bitcode")));
        }
        Ok(Self { context, raw })
    }

    /// Reads bitcode's globals now and function bodies when they are asked for: enough to see what is defined.
    pub(crate) fn from_bitcode_lazily(
        context: &'c Context,
        bitcode: &[u8],
        name: &str,
    ) -> Result<Self, String> {
        let buffer = Buffer::copy(context.llvm, bitcode, name).into_raw();
        let mut raw = ptr::null_mut();
        // SAFETY: context and buffer are live; the buffer becomes the module's.
        let failed =
            unsafe { (context.llvm.functions.LLVMGetBitcodeModuleInContext2)(context.raw, buffer, &mut raw) };
        if failed != 0 {
            return Err(context.take_errors().unwrap_or_else(|| String::from("unreadable bitcode")));
        }
        Ok(Self { context, raw })
    }

    /// Reads the text form.
    pub(crate) fn from_text(context: &'c Context, text: &str) -> Result<Self, String> {
        let buffer = Buffer::copy(context.llvm, text.as_bytes(), "text").into_raw();
        let mut raw = ptr::null_mut();
        let mut message = ptr::null_mut();
        // SAFETY: context and buffer are live; the buffer is LLVM's from here.
        let failed = unsafe {
            (context.llvm.functions.LLVMParseIRInContext)(context.raw, buffer, &mut raw, &mut message)
        };
        if failed != 0 {
            // SAFETY: on failure the message is ours.
            return Err(unsafe { context.llvm.take_message(message) });
        }
        Ok(Self { context, raw })
    }

    /// A copy, in the same context.
    pub(crate) fn duplicate(&self) -> Self {
        // SAFETY: the module is live.
        let raw = unsafe { (self.context.llvm.functions.LLVMCloneModule)(self.raw) };
        Self { context: self.context, raw }
    }

    /// Moves everything in `other` into this module.
    pub(crate) fn link(&mut self, other: Module<'c>) -> Result<(), String> {
        let raw = other.raw;
        std::mem::forget(other);
        // SAFETY: both modules are live and in one context; linking takes `other` over, success or not.
        let failed = unsafe { (self.context.llvm.functions.LLVMLinkModules2)(self.raw, raw) };
        match self.context.take_errors() {
            Some(errors) => Err(errors),
            None if failed != 0 => Err(String::from("the modules do not link")),
            None => Ok(()),
        }
    }

    /// Gives the module the target's triple and data layout.
    pub(crate) fn set_target(&mut self, machine: &TargetMachine) {
        let functions = self.context.llvm.functions;
        let triple = c_string(super::target_machine::TRIPLE);
        // SAFETY: module, machine and string are live; the layout is disposed of after the module copied it.
        unsafe {
            (functions.LLVMSetTarget)(self.raw, triple.as_ptr());
            let layout = (functions.LLVMCreateTargetDataLayout)(machine.raw);
            (functions.LLVMSetModuleDataLayout)(self.raw, layout);
            (functions.LLVMDisposeTargetData)(layout);
        }
    }

    /// Gives the module the triple and data layout of another, as modules that are linked should share them.
    pub(crate) fn adopt_target(&mut self, other: &Module<'c>) {
        let functions = self.context.llvm.functions;
        // SAFETY: both modules are live; both strings are copied.
        unsafe {
            (functions.LLVMSetTarget)(self.raw, (functions.LLVMGetTarget)(other.raw));
            (functions.LLVMSetDataLayout)(self.raw, (functions.LLVMGetDataLayoutStr)(other.raw));
        }
    }

    /// LLVM's own check of the module's rules.
    pub(crate) fn verify(&self) -> Result<(), String> {
        const RETURN_STATUS: i32 = 2;
        let mut message = ptr::null_mut();
        // SAFETY: the module is live.
        let broken =
            unsafe { (self.context.llvm.functions.LLVMVerifyModule)(self.raw, RETURN_STATUS, &mut message) };
        // SAFETY: the message is ours, whatever the outcome.
        let message = unsafe { self.context.llvm.take_message(message) };
        if broken != 0 { Err(message) } else { Ok(()) }
    }

    /// The text form.
    pub(crate) fn to_text(&self) -> String {
        // SAFETY: the module is live and the text is ours.
        unsafe {
            let text = (self.context.llvm.functions.LLVMPrintModuleToString)(self.raw);
            self.context.llvm.take_message(text)
        }
    }

    /// The bitcode form.
    pub(crate) fn to_bitcode(&self) -> Vec<u8> {
        // SAFETY: the module is live and the buffer is ours.
        let buffer = unsafe {
            let raw = (self.context.llvm.functions.LLVMWriteBitcodeToMemoryBuffer)(self.raw);
            Buffer::from_raw(self.context.llvm, raw)
        };
        buffer.to_vec()
    }

    pub(crate) fn functions(&self) -> impl Iterator<Item = Value<'c>> + use<'c> {
        let functions = self.context.llvm.functions;
        self.walk(functions.LLVMGetFirstFunction, functions.LLVMGetNextFunction)
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = Value<'c>> + use<'c> {
        let functions = self.context.llvm.functions;
        self.walk(functions.LLVMGetFirstGlobal, functions.LLVMGetNextGlobal)
    }

    pub(crate) fn aliases(&self) -> impl Iterator<Item = Value<'c>> + use<'c> {
        let functions = self.context.llvm.functions;
        self.walk(functions.LLVMGetFirstGlobalAlias, functions.LLVMGetNextGlobalAlias)
    }

    /// The iterator holds the next element already, so the current one may be deleted while walking.
    fn walk(
        &self,
        first: unsafe extern "C" fn(Raw) -> Raw,
        next: unsafe extern "C" fn(Raw) -> Raw,
    ) -> impl Iterator<Item = Value<'c>> + use<'c> {
        // SAFETY: the module is live.
        let start = unsafe { first(self.raw) };
        let context = self.context;
        let list = iter::successors((!start.is_null()).then_some(start), move |&at| {
            // SAFETY: `at` is an element of the module's list.
            let at = unsafe { next(at) };
            (!at.is_null()).then_some(at)
        });
        list.map(move |raw| Value { context, raw })
    }

    pub(crate) fn function(&self, name: &str) -> Option<Value<'c>> {
        let name = c_string(name);
        // SAFETY: module and string are live.
        let raw = unsafe { (self.context.llvm.functions.LLVMGetNamedFunction)(self.raw, name.as_ptr()) };
        (!raw.is_null()).then_some(Value { context: self.context, raw })
    }

    pub(crate) fn variable(&self, name: &str) -> Option<Value<'c>> {
        let name = c_string(name);
        // SAFETY: module and string are live.
        let raw = unsafe { (self.context.llvm.functions.LLVMGetNamedGlobal)(self.raw, name.as_ptr()) };
        (!raw.is_null()).then_some(Value { context: self.context, raw })
    }

    /// The function of this name that takes these arguments and returns an integer of `bits` bits, declared if it is not there.
    pub(crate) fn integer_function(&mut self, name: &str, bits: u32, arguments: &[Value<'c>]) -> Value<'c> {
        if let Some(function) = self.function(name) {
            return function;
        }
        let functions = self.context.llvm.functions;
        let name = c_string(name);
        // SAFETY: module, context, string and arguments are live, and so are their types.
        let raw = unsafe {
            let integer = (functions.LLVMIntTypeInContext)(self.context.raw, bits);
            let mut types: Vec<Raw> =
                arguments.iter().map(|argument| (functions.LLVMTypeOf)(argument.raw)).collect();
            let kind = (functions.LLVMFunctionType)(integer, types.as_mut_ptr(), types.len() as u32, 0);
            (functions.LLVMAddFunction)(self.raw, name.as_ptr(), kind)
        };
        Value { context: self.context, raw }
    }

    /// A new variable like `old` (type, linkage, alignment, name) in `space`, without an initialiser; `old` loses its name.
    pub(crate) fn add_variable_like(&mut self, old: Value<'c>, space: u32) -> Value<'c> {
        let value_type = old.value_type();
        self.add_variable(old, value_type, space)
    }

    /// As [`add_variable_like`](Self::add_variable_like), but with the type `[0 x i8]`: memory of a size that only the
    /// launch knows.
    pub(crate) fn add_unsized_variable_like(&mut self, old: Value<'c>, space: u32) -> Value<'c> {
        let functions = self.context.llvm.functions;
        // SAFETY: the context is live.
        let value_type =
            unsafe { (functions.LLVMArrayType2)((functions.LLVMInt8TypeInContext)(self.context.raw), 0) };
        self.add_variable(old, value_type, space)
    }

    fn add_variable(&mut self, old: Value<'c>, value_type: Raw, space: u32) -> Value<'c> {
        let name = old.name();
        old.set_name("");
        let c_name = c_string(&name);
        let functions = self.context.llvm.functions;
        // SAFETY: module, type and string are live.
        let raw =
            unsafe { (functions.LLVMAddGlobalInAddressSpace)(self.raw, value_type, c_name.as_ptr(), space) };
        let new = Value { context: self.context, raw };
        new.set_linkage(old.linkage());
        new.set_alignment(old.alignment());
        new
    }

    /// Size in bytes of a variable's type.
    pub(crate) fn size_of(&self, variable: Value<'c>) -> u64 {
        let functions = self.context.llvm.functions;
        // SAFETY: the layout is the module's own, the type that of a variable in it.
        unsafe {
            (functions.LLVMABISizeOfType)(
                (functions.LLVMGetModuleDataLayout)(self.raw),
                variable.value_type(),
            )
        }
    }

    /// Adds `!{ptr value, !"key", i32 number}` to the named metadata `list`.
    pub(crate) fn annotate(&mut self, list: &str, value: Value<'c>, key: &str, number: u32) {
        let functions = self.context.llvm.functions;
        let list = c_string(list);
        // SAFETY: all parts belong to the module's context.
        unsafe {
            let integer = (functions.LLVMInt32TypeInContext)(self.context.raw);
            let mut operands = [
                (functions.LLVMValueAsMetadata)(value.raw),
                (functions.LLVMMDStringInContext2)(self.context.raw, key.as_ptr().cast(), key.len()),
                (functions.LLVMValueAsMetadata)((functions.LLVMConstInt)(integer, number.into(), 0)),
            ];
            let node =
                (functions.LLVMMDNodeInContext2)(self.context.raw, operands.as_mut_ptr(), operands.len());
            let node = (functions.LLVMMetadataAsValue)(self.context.raw, node);
            (functions.LLVMAddNamedMetadataOperand)(self.raw, list.as_ptr(), node);
        }
    }

    pub(crate) fn context(&self) -> &'c Context {
        self.context
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: owned, and disposed of once.
        unsafe { (self.context.llvm.functions.LLVMDisposeModule)(self.raw) };
    }
}
