//! A thin layer over libLLVM's C interface: one owned handle a file.
//!
//! [`Llvm`] is an opened library, [`Context`] owns everything made in it, [`Module`] is a bitcode module,
//! [`Value`] a function, variable, instruction or constant inside one, [`TargetMachine`] runs passes and writes PTX.
//! Everything above this folder is policy and is written in safe code.

mod api;
mod buffer;
mod builder;
mod context;
mod fatal;
mod module;
mod target_machine;
mod value;

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

pub(crate) use builder::Builder;
pub(crate) use context::Context;
pub(crate) use module::Module;
pub(crate) use target_machine::{Optimise, TargetMachine};
pub(crate) use value::{AddressSpace, Assembly, Block, FastMath, Linkage, Location, Opcode, Position, Value};

use api::Functions;

/// The major version that the declarations in `api` and the rules in `passes` were written and tried for.
pub(crate) const MAJOR: u32 = 22;

/// An opened libLLVM. It stays loaded until the process ends: LLVM registers process-wide state when it starts and does
/// not support being unloaded, so handles to it are plain copies of a reference.
#[derive(Clone, Copy)]
pub(crate) struct Llvm {
    functions: &'static Functions,
    version: (u32, u32, u32),
}

/// A reason why a file could not be used as libLLVM.
#[derive(Clone, Debug)]
pub(crate) enum OpenError {
    /// The dynamic loader refused it.
    Load(String),
    /// It lacks a function.
    Symbol(&'static str),
    /// It is another LLVM than the compiler's, or one this crate was not written for.
    Version((u32, u32, u32)),
}

impl std::fmt::Debug for Llvm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Llvm({:?})", self.version)
    }
}

impl Llvm {
    /// Opens the library at `path` and checks that it is LLVM [`MAJOR`].
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        static OPEN: Mutex<Option<HashMap<PathBuf, Llvm>>> = Mutex::new(None);
        let mut open = OPEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let open = open.get_or_insert_with(HashMap::new);
        if let Some(llvm) = open.get(path) {
            return Ok(*llvm);
        }
        // SAFETY: loading runs the library's initialisers; the path is the compiler's own libLLVM, which rustc runs
        // them from as well.
        let library = unsafe { libloading::Library::new(path) }.map_err(|error| {
            let words = std::error::Error::source(&error).map(ToString::to_string);
            OpenError::Load(words.unwrap_or_else(|| error.to_string()))
        })?;
        let version = Self::version_of(&library)?;
        if version.0 != MAJOR {
            return Err(OpenError::Version(version));
        }
        // SAFETY: the major version was just checked, and the library is leaked below, so it is never unloaded.
        let functions = unsafe { Functions::load(&library) }.map_err(OpenError::Symbol)?;
        let functions: &'static Functions = Box::leak(Box::new(functions));
        Box::leak(Box::new(library));
        // SAFETY: the initialisers take no arguments and may be called once a process and library, as here.
        unsafe {
            (functions.LLVMInstallFatalErrorHandler)(fatal::on_fatal_error);
            (functions.LLVMInitializeNVPTXTargetInfo)();
            (functions.LLVMInitializeNVPTXTarget)();
            (functions.LLVMInitializeNVPTXTargetMC)();
            (functions.LLVMInitializeNVPTXAsmPrinter)();
        }
        let llvm = Self { functions, version };
        open.insert(path.to_owned(), llvm);
        Ok(llvm)
    }

    /// Its version, from the library itself.
    pub(crate) fn version(self) -> (u32, u32, u32) {
        self.version
    }

    /// Reads only the version. A library of another major version is then reported by its version, not by the first
    /// function that it lacks.
    fn version_of(library: &libloading::Library) -> Result<(u32, u32, u32), OpenError> {
        type GetVersion = unsafe extern "C" fn(*mut u32, *mut u32, *mut u32);
        // SAFETY: this function has had this type since it was added in LLVM 16.
        let get = unsafe { library.get::<GetVersion>("LLVMGetVersion") };
        let get = get.map_err(|_| OpenError::Symbol("LLVMGetVersion"))?;
        let (mut major, mut minor, mut patch) = (0, 0, 0);
        // SAFETY: all three pointers are to live integers.
        unsafe { get(&mut major, &mut minor, &mut patch) };
        Ok((major, minor, patch))
    }

    /// Takes over a message that LLVM allocated.
    ///
    /// # Safety
    /// `message` must be null or a string that LLVM says is freed by `LLVMDisposeMessage`, and is not used again.
    unsafe fn take_message(self, message: *mut c_char) -> String {
        if message.is_null() {
            return String::from("(LLVM gave no message)");
        }
        // SAFETY: not null, and a C string by the contract above.
        let text = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
        // SAFETY: the caller hands it over.
        unsafe { (self.functions.LLVMDisposeMessage)(message) };
        text
    }
}

/// Rust text as the C string LLVM wants. Names here come from Rust symbols and from this crate: none holds a NUL; one that
/// did would be cut there.
fn c_string(text: &str) -> CString {
    let upto = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..upto]).unwrap_or_default()
}
