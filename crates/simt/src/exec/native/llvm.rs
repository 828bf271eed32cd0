//! Turns LLVM's text form into machine code, through the C interface of the Rust toolchain's own libLLVM.
//!
//! The library is loaded when the first kernel is compiled. Its path is the one that the build script found; the
//! variable `COALESCE_LLVM` names another file, or none if it is empty. A program carried to another computer has no
//! such file, and interprets.
//!
//! LLVM ends the process where it cannot select an instruction, so the caller emits a closed set of operations.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::OnceLock;

use super::code_cache::code_cache;
use crate::decode::Level;

type Raw = *mut c_void;

macro_rules! functions {
    ($($name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        #[allow(non_snake_case, reason = "the names are LLVM's")]
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Functions {
            fn load(library: &libloading::Library) -> Result<Self, String> {
                Ok(Self { $($name: {
                    let name = concat!(stringify!($name), "\0");
                    // SAFETY: the signature is that of LLVM's C interface, 22.
                    let symbol = unsafe { library.get(name.as_bytes()) };
                    *symbol.map_err(|_| format!("it has no function `{}`", stringify!($name)))?
                },)* })
            }
        }
    };
}

functions! {
    LLVMGetVersion(*mut u32, *mut u32, *mut u32);
    LLVMGetHostCPUName() -> *mut c_char;
    LLVMGetHostCPUFeatures() -> *mut c_char;
    LLVMDisposeMessage(*mut c_char);
    LLVMContextCreate() -> Raw;
    LLVMContextDispose(Raw);
    LLVMCreateMemoryBufferWithMemoryRangeCopy(*const c_char, usize, *const c_char) -> Raw;
    LLVMGetBufferStart(Raw) -> *const u8;
    LLVMGetBufferSize(Raw) -> usize;
    LLVMParseIRInContext(Raw, Raw, *mut Raw, *mut *mut c_char) -> c_int;
    LLVMDisposeModule(Raw);
    LLVMSetTarget(Raw, *const c_char);
    LLVMCreateTargetDataLayout(Raw) -> Raw;
    LLVMDisposeTargetData(Raw);
    LLVMSetModuleDataLayout(Raw, Raw);
    LLVMGetTargetFromTriple(*const c_char, *mut Raw, *mut *mut c_char) -> c_int;
    LLVMCreateTargetMachine(Raw, *const c_char, *const c_char, *const c_char, c_int, c_int, c_int) -> Raw;
    LLVMDisposeTargetMachine(Raw);
    LLVMTargetMachineEmitToMemoryBuffer(Raw, Raw, c_int, *mut *mut c_char, *mut Raw) -> c_int;
    LLVMCreatePassBuilderOptions() -> Raw;
    LLVMDisposePassBuilderOptions(Raw);
    LLVMRunPasses(Raw, *const c_char, Raw, Raw) -> Raw;
    LLVMGetErrorMessage(Raw) -> *mut c_char;
    LLVMDisposeErrorMessage(*mut c_char);
    LLVMOrcCreateLLJITBuilder() -> Raw;
    LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(Raw, Raw);
    LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(Raw) -> Raw;
    LLVMOrcCreateLLJIT(*mut Raw, Raw) -> Raw;
    LLVMOrcDisposeLLJIT(Raw) -> Raw;
    LLVMOrcLLJITGetMainJITDylib(Raw) -> Raw;
    LLVMOrcLLJITAddObjectFile(Raw, Raw, Raw) -> Raw;
    LLVMOrcLLJITLookup(Raw, *mut u64, *const c_char) -> Raw;
}

/// The major version that the declarations were written for.
const MAJOR: u32 = 22;

/// The processors that kernels are compiled for, in LLVM's names: a triple, and the target's functions to call first.
#[cfg(not(target_arch = "aarch64"))]
const TRIPLE: &CStr = c"x86_64-unknown-linux-gnu";
#[cfg(not(target_arch = "aarch64"))]
const INITIALISERS: [&str; 4] = [
    "LLVMInitializeX86TargetInfo",
    "LLVMInitializeX86Target",
    "LLVMInitializeX86TargetMC",
    "LLVMInitializeX86AsmPrinter",
];
#[cfg(target_arch = "aarch64")]
const TRIPLE: &CStr = c"aarch64-unknown-linux-gnu";
#[cfg(target_arch = "aarch64")]
const INITIALISERS: [&str; 4] = [
    "LLVMInitializeAArch64TargetInfo",
    "LLVMInitializeAArch64Target",
    "LLVMInitializeAArch64TargetMC",
    "LLVMInitializeAArch64AsmPrinter",
];

/// Passes over a kernel: registers out of memory, then the cheap cleaning that the emitter relies on. The whole O1
/// pipeline gives code of the same speed and takes ten times as long.
const PASSES: &CStr =
    c"sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),early-cse,simplifycfg";

/// `LLVMCodeGenLevelDefault`: the levels below halve the speed of vector code.
const CODEGEN_LEVEL: c_int = 2;
/// `LLVMRelocPIC`
const PIC: c_int = 2;
/// `LLVMCodeModelSmall`: with it, the linker's stubs reach functions of the process.
const SMALL: c_int = 3;
/// `LLVMObjectFile`
const OBJECT: c_int = 1;

/// The loaded library, and the processor that it makes code for.
pub(crate) struct Llvm {
    functions: Functions,
    version: [u32; 3],
    processor: CString,
    features: CString,
    /// Bits of the vectors that code should use.
    vector_bits: u32,
}

// SAFETY: the functions are plain addresses, and LLVM is reentrant with a context per compilation.
unsafe impl Send for Llvm {}
// SAFETY: as above.
unsafe impl Sync for Llvm {}

/// Machine code that stays loaded as long as this lives.
pub(super) struct Code {
    llvm: &'static Llvm,
    jit: Raw,
    /// Address of the entry function.
    pub(super) address: u64,
}

// SAFETY: the code is not changed once it is linked; the handle is used by `drop` alone.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: the handle is this value's own. An error is of no use here.
        unsafe {
            let error = (self.llvm.functions.LLVMOrcDisposeLLJIT)(self.jit);
            let _ = self.llvm.outcome(error);
        }
    }
}

/// Says why a library could not be loaded: what the loader said, which the error keeps as its source.
fn in_words(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// Returns the toolchain's LLVM, loaded at the first call.
///
/// # Errors
/// Says why there is none that can be used.
pub(crate) fn llvm() -> Result<&'static Llvm, &'static str> {
    static LLVM: OnceLock<Result<Llvm, String>> = OnceLock::new();
    LLVM.get_or_init(Llvm::open).as_ref().map_err(String::as_str)
}

impl Llvm {
    fn open() -> Result<Self, String> {
        if !cfg!(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux")) {
            return Err("kernels are compiled on Linux alone, for x86-64 and AArch64".to_owned());
        }
        if cfg!(target_arch = "x86_64") && Level::detect() != Level::Avx2 {
            return Err("of x86-64 processors, kernels are compiled for those with AVX2 alone".to_owned());
        }
        let path = match std::env::var("COALESCE_LLVM") {
            Ok(path) if path.is_empty() => return Err("COALESCE_LLVM is empty".to_owned()),
            Ok(path) => path,
            Err(_) => env!("SIMT_LLVM").to_owned(),
        };
        if path.is_empty() || !Path::new(&path).exists() {
            return Err(format!("the Rust toolchain's libLLVM is not at {path:?}"));
        }
        let named = |what: String| format!("{path}: {what}");
        // SAFETY: LLVM's initialisers have no preconditions. The library is never unloaded.
        let library = unsafe { libloading::Library::new(&path) }.map_err(|error| named(in_words(&error)))?;
        let functions = Functions::load(&library).map_err(named)?;
        let mut version = [0; 3];
        let [major, minor, patch] = &mut version;
        // SAFETY: the functions are those of the library; the strings are LLVM's, and are given back to it.
        unsafe {
            (functions.LLVMGetVersion)(major, minor, patch);
            if version[0] != MAJOR {
                return Err(named(format!("it is LLVM {}, and {MAJOR} is needed", version[0])));
            }
            for name in INITIALISERS {
                let initialise = library.get::<unsafe extern "C" fn()>(name);
                initialise.map_err(|_| named(format!("it has no function `{name}`")))?();
            }
            std::mem::forget(library);
            let taken = |text: *mut c_char| {
                let owned = CStr::from_ptr(text).to_owned();
                (functions.LLVMDisposeMessage)(text);
                owned
            };
            let (processor, features) =
                (taken((functions.LLVMGetHostCPUName)()), taken((functions.LLVMGetHostCPUFeatures)()));
            let has_512 = features.to_str().is_ok_and(|features| {
                ["+avx512f", "+avx512vl", "+avx512bw", "+avx512dq"]
                    .iter()
                    .all(|name| features.split(',').any(|feature| feature == *name))
            });
            let vector_bits = if cfg!(target_arch = "aarch64") {
                128
            } else if has_512 {
                512
            } else {
                256
            };
            Ok(Self { functions, version, processor, features, vector_bits })
        }
    }

    /// Describes the library, the vectors and where code is kept: `LLVM 22.1.2, AVX2, code kept in /home/me/.cache/coalesce/code`.
    pub(crate) fn describe(&self) -> String {
        let [major, minor, patch] = self.version;
        let vectors = match self.vector_bits {
            128 => "NEON",
            256 => "AVX2",
            _ => "AVX-512",
        };
        let kept = match code_cache() {
            Ok(cache) => format!("code kept in {}", cache.folder().display()),
            Err(why) => format!("no code kept: {why}"),
        };
        format!("LLVM {major}.{minor}.{patch}, {vectors}, {kept}")
    }

    /// Returns the attributes that functions need so that vectors of this width are used.
    pub(super) fn attributes(&self) -> String {
        let bits = self.vector_bits;
        format!("nounwind \"min-legal-vector-width\"=\"{bits}\" \"prefer-vector-width\"=\"{bits}\"")
    }

    /// Compiles a module in text form and returns the code of its function `entry`.
    ///
    /// # Errors
    /// LLVM's message.
    pub(super) fn compile(&'static self, text: &str, entry: &CStr) -> Result<Code, String> {
        let object = self.kept_object(text)?;
        let functions = &self.functions;
        // SAFETY: each handle is used as LLVM's documentation says, once; the linker takes the object.
        unsafe {
            let builder = (functions.LLVMOrcCreateLLJITBuilder)();
            let machine = self.machine()?;
            let of_machine = (functions.LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine)(machine);
            (functions.LLVMOrcLLJITBuilderSetJITTargetMachineBuilder)(builder, of_machine);
            let mut jit = null_mut();
            self.outcome((functions.LLVMOrcCreateLLJIT)(&mut jit, builder))?;
            let mut code = Code { llvm: self, jit, address: 0 };
            let library = (functions.LLVMOrcLLJITGetMainJITDylib)(jit);
            self.outcome((functions.LLVMOrcLLJITAddObjectFile)(jit, library, object))?;
            self.outcome((functions.LLVMOrcLLJITLookup)(jit, &mut code.address, entry.as_ptr()))?;
            Ok(code)
        }
    }

    /// Returns a memory buffer with the object file of a module, which is made unless the user's cache has it.
    fn kept_object(&self, text: &str) -> Result<Raw, String> {
        let Ok(cache) = code_cache() else { return self.object(text) };
        let [major, minor, patch] = self.version;
        let (processor, features) = (self.processor.to_string_lossy(), self.features.to_string_lossy());
        let source = format!(
            "; LLVM {major}.{minor}.{patch}, {TRIPLE:?}, {processor}, {features}\n\
             ; {PASSES:?}, {CODEGEN_LEVEL}, {PIC}, {SMALL}\n{text}"
        );
        if let Some(object) = cache.find(&source) {
            return Ok(self.buffer(&object));
        }
        let object = self.object(text)?;
        let functions = &self.functions;
        // SAFETY: the buffer is there, and nothing changes it.
        let bytes = unsafe {
            std::slice::from_raw_parts(
                (functions.LLVMGetBufferStart)(object),
                (functions.LLVMGetBufferSize)(object),
            )
        };
        cache.keep(&source, bytes);
        Ok(object)
    }

    /// Returns a memory buffer with a copy of these bytes.
    fn buffer(&self, bytes: &[u8]) -> Raw {
        // SAFETY: the bytes are copied before this returns.
        unsafe {
            let copy = self.functions.LLVMCreateMemoryBufferWithMemoryRangeCopy;
            copy(bytes.as_ptr().cast(), bytes.len(), c"kernel".as_ptr())
        }
    }

    /// Returns a memory buffer with the object file of a module.
    fn object(&self, text: &str) -> Result<Raw, String> {
        let functions = &self.functions;
        // SAFETY: each handle is used as LLVM's documentation says, and disposed of once; parsing takes the buffer.
        unsafe {
            let context = (functions.LLVMContextCreate)();
            let buffer = self.buffer(text.as_bytes());
            let (mut module, mut message) = (null_mut(), null_mut());
            let failed = (functions.LLVMParseIRInContext)(context, buffer, &mut module, &mut message) != 0;
            let outcome = if failed { Err(self.message(message)) } else { self.object_of(module) };
            if !failed {
                (functions.LLVMDisposeModule)(module);
            }
            (functions.LLVMContextDispose)(context);
            outcome
        }
    }

    /// # Safety
    /// `module` is a module that nothing else uses.
    unsafe fn object_of(&self, module: Raw) -> Result<Raw, String> {
        let functions = &self.functions;
        // SAFETY: as in `object`.
        unsafe {
            let machine = self.machine()?;
            (functions.LLVMSetTarget)(module, TRIPLE.as_ptr());
            let layout = (functions.LLVMCreateTargetDataLayout)(machine);
            (functions.LLVMSetModuleDataLayout)(module, layout);
            (functions.LLVMDisposeTargetData)(layout);
            let options = (functions.LLVMCreatePassBuilderOptions)();
            let passed = self.outcome((functions.LLVMRunPasses)(module, PASSES.as_ptr(), machine, options));
            (functions.LLVMDisposePassBuilderOptions)(options);
            let (mut object, mut message) = (null_mut(), null_mut());
            let outcome = passed.and_then(|()| {
                let emit = functions.LLVMTargetMachineEmitToMemoryBuffer;
                match emit(machine, module, OBJECT, &mut message, &mut object) {
                    0 => Ok(object),
                    _ => Err(self.message(message)),
                }
            });
            (functions.LLVMDisposeTargetMachine)(machine);
            outcome
        }
    }

    /// Returns a new machine, which belongs to the caller.
    fn machine(&self) -> Result<Raw, String> {
        let functions = &self.functions;
        // SAFETY: the strings live through the calls.
        unsafe {
            let (mut target, mut message) = (null_mut(), null_mut());
            if (functions.LLVMGetTargetFromTriple)(TRIPLE.as_ptr(), &mut target, &mut message) != 0 {
                return Err(self.message(message));
            }
            let (processor, features) = (self.processor.as_ptr(), self.features.as_ptr());
            let machine = (functions.LLVMCreateTargetMachine)(
                target,
                TRIPLE.as_ptr(),
                processor,
                features,
                CODEGEN_LEVEL,
                PIC,
                SMALL,
            );
            if machine.is_null() {
                return Err("LLVM makes no code for this computer".to_owned());
            }
            Ok(machine)
        }
    }

    /// # Safety
    /// `error` is an error of LLVM that nothing has consumed, or null.
    unsafe fn outcome(&self, error: Raw) -> Result<(), String> {
        if error.is_null() {
            return Ok(());
        }
        // SAFETY: the caller's promise; the message is copied before it is freed.
        unsafe {
            let text = (self.functions.LLVMGetErrorMessage)(error);
            let owned = CStr::from_ptr(text).to_string_lossy().into_owned();
            (self.functions.LLVMDisposeErrorMessage)(text);
            Err(owned)
        }
    }

    /// # Safety
    /// `message` is a message of LLVM that nothing has freed.
    unsafe fn message(&self, message: *mut c_char) -> String {
        // SAFETY: the caller's promise.
        unsafe {
            let owned = CStr::from_ptr(message).to_string_lossy().into_owned();
            (self.functions.LLVMDisposeMessage)(message);
            owned
        }
    }
}
