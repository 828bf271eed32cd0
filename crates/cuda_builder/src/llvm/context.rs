//! The owner of modules, types and diagnostics.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};

use super::Llvm;
use super::api::Raw;

/// An LLVM context. Its diagnostics are collected, so that they end in an error's text rather than on stderr.
pub(crate) struct Context {
    pub(super) llvm: Llvm,
    pub(super) raw: Raw,
    diagnostics: Box<RefCell<Diagnostics>>,
}

struct Diagnostics {
    llvm: Llvm,
    messages: Vec<(Severity, String)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Severity {
    Error,
    Warning,
    Other,
}

impl Context {
    pub(crate) fn new(llvm: Llvm) -> Self {
        let diagnostics = Box::new(RefCell::new(Diagnostics { llvm, messages: Vec::new() }));
        // SAFETY: the handler's data is boxed, so its address stays while `self`, which owns the context too, lives.
        let raw = unsafe {
            let raw = (llvm.functions.LLVMContextCreate)();
            let data: *const RefCell<Diagnostics> = &*diagnostics;
            (llvm.functions.LLVMContextSetDiagnosticHandler)(
                raw,
                Some(on_diagnostic),
                data.cast_mut().cast(),
            );
            raw
        };
        Self { llvm, raw, diagnostics }
    }

    pub(crate) fn llvm(&self) -> Llvm {
        self.llvm
    }

    /// The error diagnostics since the last call, a line each; `None` when there were none.
    pub(crate) fn take_errors(&self) -> Option<String> {
        self.take(Severity::Error)
    }

    /// The warnings since the last call, a line each.
    pub(crate) fn take_warnings(&self) -> Option<String> {
        self.take(Severity::Warning)
    }

    fn take(&self, wanted: Severity) -> Option<String> {
        let messages = &mut self.diagnostics.borrow_mut().messages;
        let taken: Vec<String> =
            messages.extract_if(.., |(severity, _)| *severity == wanted).map(|(_, text)| text).collect();
        (!taken.is_empty()).then(|| taken.join("\n"))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: modules borrow the context, so none is left.
        unsafe { (self.llvm.functions.LLVMContextDispose)(self.raw) };
    }
}

unsafe extern "C" fn on_diagnostic(info: Raw, data: *mut c_void) {
    // SAFETY: `data` is what `Context::new` registered, and outlives the context that calls this.
    let diagnostics = unsafe { &*data.cast::<RefCell<Diagnostics>>() };
    let mut diagnostics = diagnostics.borrow_mut();
    let llvm = diagnostics.llvm;
    // SAFETY: `info` lives through the call; the description is ours to dispose of.
    let (severity, text): (c_int, String) = unsafe {
        let severity = (llvm.functions.LLVMGetDiagInfoSeverity)(info);
        (severity, llvm.take_message((llvm.functions.LLVMGetDiagInfoDescription)(info)).trim_end().to_owned())
    };
    let severity = match severity {
        0 => Severity::Error,
        1 => Severity::Warning,
        _ => Severity::Other,
    };
    diagnostics.messages.push((severity, text));
}
