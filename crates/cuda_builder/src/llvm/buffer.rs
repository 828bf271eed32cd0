//! Memory that LLVM reads from or wrote to.

use super::Llvm;
use super::api::Raw;
use super::c_string;

/// An owned LLVM memory buffer.
pub(super) struct Buffer {
    llvm: Llvm,
    raw: Raw,
}

impl Buffer {
    /// Copies `bytes`, which frees the caller of keeping them while LLVM reads lazily.
    pub(super) fn copy(llvm: Llvm, bytes: &[u8], name: &str) -> Self {
        let name = c_string(name);
        // SAFETY: the range is live and is copied before the call returns.
        let raw = unsafe {
            (llvm.functions.LLVMCreateMemoryBufferWithMemoryRangeCopy)(
                bytes.as_ptr().cast(),
                bytes.len(),
                name.as_ptr(),
            )
        };
        Self { llvm, raw }
    }

    /// # Safety
    /// `raw` must be a memory buffer of `llvm` that nothing else owns.
    pub(super) unsafe fn from_raw(llvm: Llvm, raw: Raw) -> Self {
        Self { llvm, raw }
    }

    pub(super) fn as_raw(&self) -> Raw {
        self.raw
    }

    /// Hands the buffer to a function of LLVM's that takes ownership.
    pub(super) fn into_raw(self) -> Raw {
        let raw = self.raw;
        std::mem::forget(self);
        raw
    }

    pub(super) fn to_vec(&self) -> Vec<u8> {
        // SAFETY: start and size describe the buffer's own memory, which lives as long as `self`.
        unsafe {
            let start = (self.llvm.functions.LLVMGetBufferStart)(self.raw);
            let size = (self.llvm.functions.LLVMGetBufferSize)(self.raw);
            std::slice::from_raw_parts(start.cast::<u8>(), size).to_vec()
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: owned, and disposed of once.
        unsafe { (self.llvm.functions.LLVMDisposeMemoryBuffer)(self.raw) };
    }
}
