//! The NVPTX back end for one architecture: runs passes and writes PTX.

use std::ffi::{CStr, c_char};
use std::ptr;

use super::api::{Functions, Raw};
use super::buffer::Buffer;
use super::{Llvm, Module, Value, c_string, fatal};

/// The only target there is here.
pub(super) const TRIPLE: &str = "nvptx64-nvidia-cuda";

/// The optimisation level of the back end, in LLVM's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Optimise {
    /// `-O1`.
    Less = 1,
    /// `-O3`.
    Most = 3,
}

/// An owned target machine.
pub(crate) struct TargetMachine {
    llvm: Llvm,
    processor: String,
    pub(super) raw: Raw,
}

impl TargetMachine {
    /// `processor` as `sm_90a`, `features` as `+ptx80`. LLVM only warns about a processor it does not know, so callers
    /// check that before.
    pub(crate) fn new(
        llvm: Llvm,
        processor: &str,
        features: &str,
        optimise: Optimise,
    ) -> Result<Self, String> {
        const RELOCATION_DEFAULT: i32 = 0;
        const CODE_MODEL_DEFAULT: i32 = 0;
        let triple = c_string(TRIPLE);
        let c_processor = c_string(processor);
        let features = c_string(features);
        let mut target = ptr::null_mut();
        let mut message = ptr::null_mut();
        // SAFETY: the string and both out-pointers are live.
        let failed =
            unsafe { (llvm.functions.LLVMGetTargetFromTriple)(triple.as_ptr(), &mut target, &mut message) };
        if failed != 0 {
            // SAFETY: on failure the message is ours.
            return Err(unsafe { llvm.take_message(message) });
        }
        // SAFETY: the target was just found and the strings are live.
        let raw = unsafe {
            (llvm.functions.LLVMCreateTargetMachine)(
                target,
                triple.as_ptr(),
                c_processor.as_ptr(),
                features.as_ptr(),
                optimise as i32,
                RELOCATION_DEFAULT,
                CODE_MODEL_DEFAULT,
            )
        };
        if raw.is_null() {
            return Err(format!("no target machine for {TRIPLE}"));
        }
        Ok(Self { llvm, processor: processor.to_owned(), raw })
    }

    /// Runs a pipeline, in the text form that `opt -passes=` takes.
    pub(crate) fn run(&self, module: &mut Module<'_>, pipeline: &str) -> Result<(), String> {
        // SAFETY: module and machine are live.
        self.run_with(module, pipeline, |functions, text, options| unsafe {
            (functions.LLVMRunPasses)(module.raw, text, self.raw, options)
        })
    }

    /// Runs a pipeline over one function of the module: for this target, or as if for none, whose threads do not diverge.
    pub(crate) fn run_on(
        &self,
        module: &Module<'_>,
        function: Value<'_>,
        pipeline: &str,
        for_target: bool,
    ) -> Result<(), String> {
        let machine = if for_target { self.raw } else { ptr::null_mut() };
        // SAFETY: function and machine are live; without a machine, LLVM knows of no target.
        self.run_with(module, pipeline, |functions, text, options| unsafe {
            (functions.LLVMRunPassesOnFunction)(function.raw, text, machine, options)
        })
    }

    fn run_with(
        &self,
        module: &Module<'_>,
        pipeline: &str,
        run: impl FnOnce(&Functions, *const c_char, Raw) -> Raw,
    ) -> Result<(), String> {
        fatal::working_for(&self.processor);
        let text = c_string(pipeline);
        let functions = self.llvm.functions;
        // SAFETY: the options are disposed of after the run.
        let error = unsafe {
            let options = (functions.LLVMCreatePassBuilderOptions)();
            let error = run(functions, text.as_ptr(), options);
            (functions.LLVMDisposePassBuilderOptions)(options);
            error
        };
        if !error.is_null() {
            // SAFETY: reading the message consumes the error; the message is freed by its own function.
            let text = unsafe {
                let message = (functions.LLVMGetErrorMessage)(error);
                let text = CStr::from_ptr(message).to_string_lossy().into_owned();
                (functions.LLVMDisposeErrorMessage)(message);
                text
            };
            return Err(format!("the passes `{pipeline}` did not run: {text}"));
        }
        module.context().take_errors().map_or(Ok(()), Err)
    }

    /// The module as PTX. The back end changes the module while it works, so it is used up.
    pub(crate) fn emit(&self, module: Module<'_>) -> Result<String, String> {
        const ASSEMBLY_FILE: i32 = 0;
        fatal::working_for(&self.processor);
        let mut message = ptr::null_mut();
        let mut buffer = ptr::null_mut();
        // SAFETY: module, machine and both out-pointers are live.
        let failed = unsafe {
            (self.llvm.functions.LLVMTargetMachineEmitToMemoryBuffer)(
                self.raw,
                module.raw,
                ASSEMBLY_FILE,
                &mut message,
                &mut buffer,
            )
        };
        if failed != 0 {
            // SAFETY: on failure the message is ours.
            return Err(unsafe { self.llvm.take_message(message) });
        }
        // SAFETY: on success the buffer is ours.
        let buffer = unsafe { Buffer::from_raw(self.llvm, buffer) };
        if let Some(errors) = module.context().take_errors() {
            return Err(errors);
        }
        String::from_utf8(buffer.to_vec()).map_err(|error| error.to_string())
    }
}

impl Drop for TargetMachine {
    fn drop(&mut self) {
        // SAFETY: owned, and disposed of once.
        unsafe { (self.llvm.functions.LLVMDisposeTargetMachine)(self.raw) };
    }
}
