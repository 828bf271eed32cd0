//! Errors of a build, each with its cause and what to do.

use std::io;
use std::path::PathBuf;

use crate::NvvmArch;

/// A reason why a kernel crate did not become PTX.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CudaBuilderError {
    /// The path given to `CudaBuilder::new` holds no crate.
    #[error(
        "there is no crate at {}: it has no Cargo.toml. `CudaBuilder::new` takes the folder of the kernel crate, \
         relative to the current folder (in a build script: the folder of the package being built).",
        .0.display()
    )]
    CratePathDoesntExist(PathBuf),

    /// The PTX was made but not written where it was asked for.
    #[error(
        "the PTX could not be written to the path given to `copy_to`: {0}. Check that the folder can be written to."
    )]
    FailedToCopyPtxFile(io::Error),

    /// rustc or cargo refused the kernel crate; what they said is on stderr already, word for word.
    #[error("the kernel crate did not compile; the compiler's own messages are above.")]
    BuildFailed,

    /// rustc refused the kernel crate, which has an attribute that rustc no longer has.
    #[error(
        "the kernel crate did not compile; the compiler's own messages are above. {place} has `register_attr`, which rustc \
         removed: delete `feature(register_attr)` and `register_attr(nvvm_internal)` there. `#[kernel]` needs neither."
    )]
    AttributeRemoved {
        /// `file:line`.
        place: String,
    },

    /// cargo or rustc could not be started.
    #[error(
        "`{program}` could not be run: {source}. Install Rust with rustup, or set `{variable}` to its path."
    )]
    CompilerNotRun {
        /// The program.
        program: PathBuf,
        /// The environment variable that names it.
        variable: &'static str,
        /// The system's error.
        source: io::Error,
    },

    /// No source of `core` was found to compile for the device.
    #[error(
        "the source of Rust's `core` library is missing, and it has to be compiled for the GPU. Tried: {tried}. Run \
         `{command}`, or build with COALESCE_INSTALL=1 in the environment, which runs it; without rustup, install your \
         distribution's rust-src package."
    )]
    LibrarySourceMissing {
        /// The command that adds the source.
        command: String,
        /// Each route with what it met.
        tried: String,
    },

    /// `CUDA_BUILDER_LIBRARY_SOURCE` holds something else than a route.
    #[error(
        "CUDA_BUILDER_LIBRARY_SOURCE is `{0}`; it can be `toolchain`, `rustup` or `distribution`, or be unset to try them \
         in that order."
    )]
    UnknownLibrarySource(String),

    /// The compiler's libLLVM is not where compilers keep it.
    #[error(
        "the libLLVM of {compiler} was not found: looked for libLLVM.so.{major}.* in {searched}. This compiler may have \
         LLVM linked in; use a toolchain of rustup's, or a distribution's compiler with its libllvm{major} package."
    )]
    LlvmMissing {
        /// `rustc 1.95.0`.
        compiler: String,
        /// Its LLVM's major version.
        major: u32,
        /// Folders looked in.
        searched: String,
    },

    /// libLLVM was found and does not load.
    #[error("{} does not load: {reason}. Reinstall the toolchain it belongs to.", path.display())]
    LlvmUnusable {
        /// The library.
        path: PathBuf,
        /// The dynamic loader's message.
        reason: String,
    },

    /// libLLVM is of another version than the compiler's bitcode or this crate's declarations.
    #[error(
        "{} is LLVM {found}, but {wanted}",
        path.display()
    )]
    LlvmVersion {
        /// The library.
        path: PathBuf,
        /// The version that it reports.
        found: String,
        /// The version that is needed, why, and what to do.
        wanted: String,
    },

    /// libLLVM lacks a function.
    #[error(
        "{} has no function `{symbol}`: it was built without the NVPTX target or without its C interface. Use a toolchain \
         of rustup's, whose libLLVM has both.",
        path.display()
    )]
    LlvmSymbolMissing {
        /// The library.
        path: PathBuf,
        /// The function.
        symbol: &'static str,
    },

    /// LLVM refused something: what was being done, and its words.
    #[error("LLVM failed while {doing}: {message}")]
    Llvm {
        /// The step.
        doing: String,
        /// LLVM's diagnostics.
        message: String,
    },

    /// The compiler's LLVM has no processor for the architecture.
    #[error(
        "{compiler} cannot make code for {arch}: its LLVM has no processor `{}`. It has: {known}. Ask for one of these, or use \
         a newer toolchain.",
        arch.processor()
    )]
    ArchitectureUnknown {
        /// The architecture that was requested.
        arch: NvvmArch,
        /// `rustc 1.95.0`.
        compiler: String,
        /// The processors that the compiler lists.
        known: String,
    },

    /// The PTX version is too old for the architecture, or unknown to LLVM.
    #[error(
        "PTX version {asked} cannot hold code for {arch}: {reason}. Change `.ptx_version(..)` or leave it out."
    )]
    PtxVersion {
        /// The version, `7.4`.
        asked: String,
        /// The architecture.
        arch: NvvmArch,
        /// The versions that can.
        reason: String,
    },

    /// An option that has no meaning on this path to PTX.
    #[error("`{option}` is not supported: {reason}")]
    UnsupportedOption {
        /// The option as it is written.
        option: &'static str,
        /// The reason, and what to do instead.
        reason: &'static str,
    },

    /// The kernel crate breaks a rule of the markers that this crate acts on.
    #[error("{0}")]
    Marker(String),

    /// The finished code breaks a rule of the audit.
    #[error("the audit of the code for {arch} failed:\n{}", .findings.iter().map(|f| format!("  - {f}")).collect::<Vec<_>>().join("\n"))]
    Audit {
        /// The architecture the code was made for.
        arch: NvvmArch,
        /// The findings of the audit.
        findings: Vec<crate::audit::Finding>,
    },

    /// An rlib of the nested build could not be read.
    #[error("{} could not be used: {reason}. Delete the folder `cuda-builder` in the target folder and build again.", path.display())]
    Rlib {
        /// The file.
        path: PathBuf,
        /// The defect.
        reason: String,
    },

    /// A file or folder could not be read or written.
    #[error(
        "{} could not be {what}: {source}. Check that each folder on the way to it exists and is yours to use, and that the disk is \
         not full; `.target_dir(..)` moves what a build keeps to another folder.",
        path.display()
    )]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The attempt, as a participle: "read", "written", "created".
        what: &'static str,
        /// The system's word on it.
        source: io::Error,
    },
}

/// The same text as `Display`: build scripts end in `.unwrap()`, and its message is for a person.
impl std::fmt::Debug for CudaBuilderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl CudaBuilderError {
    /// For `map_err` on file operations.
    pub(crate) fn file(path: &std::path::Path, what: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, what, source }
    }

    /// For `map_err` on LLVM's messages.
    pub(crate) fn llvm(doing: impl Into<String>) -> impl FnOnce(String) -> Self {
        let doing = doing.into();
        move |message| Self::Llvm { doing, message }
    }
}
