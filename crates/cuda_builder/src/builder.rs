//! [`CudaBuilder`]: the options of a build, and the build.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::build::{self, Build};
use crate::{CudaBuilderError, NvvmArch};

/// Source information in the PTX, for profilers and debuggers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DebugInfo {
    /// Nothing (but see [`CudaBuilder::generate_line_info`]).
    #[default]
    None,
    /// The source line of each instruction.
    LineTables,
}

/// LLVM's code beside the PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EmitOption {
    /// As text, `.ll`.
    LlvmIr,
    /// As bitcode, `.bc`.
    Bitcode,
}

/// Compiles a kernel crate to PTX.
///
/// ```no_run
/// use cuda_builder::{CudaBuilder, NvvmArch};
///
/// let ptx = CudaBuilder::new("kernels").arch(NvvmArch::Compute80).copy_to("kernels.ptx").build().unwrap();
/// ```
///
/// The names and defaults are those of Rust-CUDA's builder, with [few differences](crate#differences-from-rust-cuda).
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `build` or `build_all`"]
pub struct CudaBuilder {
    path_to_crate: PathBuf,
    /// See [`release`](Self::release).
    pub release: bool,
    /// See [`copy_to`](Self::copy_to).
    pub ptx_file_copy_path: Option<PathBuf>,
    /// See [`generate_line_info`](Self::generate_line_info).
    pub generate_line_info: bool,
    /// See [`nvvm_opts`](Self::nvvm_opts).
    pub nvvm_opts: bool,
    /// See [`arch`](Self::arch).
    pub arch: NvvmArch,
    /// See [`arches`](Self::arches); empty means [`arch`](Self::arch) alone.
    pub arches: Vec<NvvmArch>,
    pub(crate) own_kernels: Vec<NvvmArch>,
    /// See [`ftz`](Self::ftz).
    pub ftz: bool,
    /// See [`fast_sqrt`](Self::fast_sqrt).
    pub fast_sqrt: bool,
    /// See [`fast_div`](Self::fast_div).
    pub fast_div: bool,
    /// See [`fma_contraction`](Self::fma_contraction).
    pub fma_contraction: bool,
    /// See [`emit_llvm_ir`](Self::emit_llvm_ir) and [`emit_llvm_bitcode`](Self::emit_llvm_bitcode).
    pub emit: Option<EmitOption>,
    /// See [`optix`](Self::optix).
    pub optix: bool,
    /// See [`override_libm`](Self::override_libm).
    pub override_libm: bool,
    /// See [`use_constant_memory_space`](Self::use_constant_memory_space).
    pub use_constant_memory_space: bool,
    /// See [`debug`](Self::debug).
    pub debug: DebugInfo,
    /// See [`build_args`](Self::build_args).
    pub build_args: Vec<String>,
    /// See [`final_module_path`](Self::final_module_path).
    pub final_module_path: Option<PathBuf>,
    /// See [`ptx_version`](Self::ptx_version).
    pub ptx_version: Option<(u32, u32)>,
    /// See [`target_dir`](Self::target_dir).
    pub target_dir: Option<PathBuf>,
    pub(crate) part: Option<Part>,
}

/// See [`CudaBuilder::only`].
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) arch: NvvmArch,
    pub(crate) kernels: BTreeSet<String>,
}

impl CudaBuilder {
    /// A build of the crate in the folder `path_to_crate_root`, in release mode for compute capability 7.5.
    pub fn new(path_to_crate_root: impl AsRef<Path>) -> Self {
        Self {
            path_to_crate: path_to_crate_root.as_ref().to_owned(),
            release: true,
            ptx_file_copy_path: None,
            generate_line_info: true,
            nvvm_opts: true,
            arch: NvvmArch::default(),
            arches: Vec::new(),
            own_kernels: Vec::new(),
            ftz: false,
            fast_sqrt: false,
            fast_div: false,
            fma_contraction: false,
            emit: None,
            optix: false,
            override_libm: false,
            use_constant_memory_space: false,
            debug: DebugInfo::None,
            build_args: Vec::new(),
            final_module_path: None,
            ptx_version: None,
            target_dir: None,
            part: None,
        }
    }

    /// Arguments for the nested `cargo rustc`: `--features` and the like.
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        self.build_args.extend(args.iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets the source information: line tables, or none after [`generate_line_info(false)`](Self::generate_line_info).
    pub fn debug(mut self, debug: DebugInfo) -> Self {
        self.debug = debug;
        self
    }

    /// Selects the crate's release profile, or its dev profile with overflow checks and debug assertions. Also sets
    /// [`nvvm_opts`](Self::nvvm_opts).
    pub fn release(mut self, release: bool) -> Self {
        self.release = release;
        self.nvvm_opts = release;
        self
    }

    /// Writes the source line of each instruction into the PTX (`.loc`). This costs nothing at run time.
    pub fn generate_line_info(mut self, generate_line_info: bool) -> Self {
        self.generate_line_info = generate_line_info;
        self
    }

    /// Selects LLVM's full optimisation (`O3`) or the least that is needed (`O1`). `O1` is always done: without it,
    /// accesses to shared and constant statics do not reach their memory.
    pub fn nvvm_opts(mut self, optimise: bool) -> Self {
        self.nvvm_opts = optimise;
        self
    }

    /// The architecture to compile for. A device with a lower compute capability cannot load the PTX.
    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self.arch = arch;
        self.arches.clear();
        self
    }

    /// Several architectures, for [`build_all`](Self::build_all).
    ///
    /// The crate is compiled once, and then optimised and written for each. So `cfg(target_feature = "compute_..")` in kernel
    /// code is that of the lowest of them, for all (of its plain form, where an `f` or `a` variant is the lowest and
    /// does not run on the others). Kernels that differ by architecture need a build of their own.
    pub fn arches(mut self, arches: impl IntoIterator<Item = NvvmArch>) -> Self {
        self.arches.clear();
        for arch in arches {
            if !self.arches.contains(&arch) {
                self.arches.push(arch);
            }
        }
        self
    }

    /// Adds PTX for `arch` that holds only the kernels with that architecture in their attribute
    /// (`#[kernel(arch = "90a")]`) and the variables that they use, for [`build_all`](Self::build_all).
    ///
    /// PTX for an architecture of [`arches`](Self::arches) holds every kernel that runs there. This is for programs that
    /// load such kernels beside the others, on the devices which have their instructions, and where nothing else may read
    /// them: what interprets PTX need not know them. A build fails if the architecture is one of `arches` too.
    pub fn own_kernels(mut self, arch: NvvmArch) -> Self {
        if !self.own_kernels.contains(&arch) {
            self.own_kernels.push(arch);
        }
        self
    }

    /// Flushes subnormal `f32` numbers to zero.
    pub fn ftz(mut self, ftz: bool) -> Self {
        self.ftz = ftz;
        self
    }

    /// Approximates `f32` square roots by the hardware instead of rounding them correctly. This covers square roots
    /// that reach LLVM as its intrinsic, not those in inline assembly.
    pub fn fast_sqrt(mut self, fast_sqrt: bool) -> Self {
        self.fast_sqrt = fast_sqrt;
        self
    }

    /// Approximates `f32` divisions by the hardware instead of rounding them correctly.
    pub fn fast_div(mut self, fast_div: bool) -> Self {
        self.fast_div = fast_div;
        self
    }

    /// Contracts `a * b + c` into one fused operation, rounded once, as nvcc does by default. Off by default
    /// [here](crate#differences-from-rust-cuda).
    pub fn fma_contraction(mut self, fma_contraction: bool) -> Self {
        self.fma_contraction = fma_contraction;
        self
    }

    /// Writes the optimised code as LLVM's text beside the PTX: [`Artifact::llvm`](crate::Artifact::llvm).
    pub fn emit_llvm_ir(mut self, emit_llvm_ir: bool) -> Self {
        self.emit = emit_llvm_ir.then_some(EmitOption::LlvmIr);
        self
    }

    /// Writes the optimised code as LLVM's bitcode beside the PTX: [`Artifact::llvm`](crate::Artifact::llvm).
    pub fn emit_llvm_bitcode(mut self, emit_llvm_bitcode: bool) -> Self {
        self.emit = emit_llvm_bitcode.then_some(EmitOption::Bitcode);
        self
    }

    /// Sets the path of the PTX. [`build`](Self::build) writes this very file; [`build_all`](Self::build_all) writes
    /// `kernels.compute_90.ptx` and so on beside it for `kernels.ptx`. A file that would not change is left alone.
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.ptx_file_copy_path = Some(path.as_ref().to_owned());
        self
    }

    /// Requests code for OptiX, which is not supported: the build fails with an error.
    pub fn optix(mut self, optix: bool) -> Self {
        self.optix = optix;
        self
    }

    /// Redirects calls of `libm` to the CUDA toolkit's `libdevice`. No toolkit is used here, so `true` only warns and
    /// the build goes on.
    pub fn override_libm(mut self, override_libm: bool) -> Self {
        self.override_libm = override_libm;
        self
    }

    /// Places immutable statics in constant memory, the smallest first, up to its 64 KiB. This is faster where all
    /// lanes of a warp read the same address at a time, and slower where they do not.
    pub fn use_constant_memory_space(mut self, use_constant_memory_space: bool) -> Self {
        self.use_constant_memory_space = use_constant_memory_space;
        self
    }

    /// Sets a path to which the linked module is written before optimisation, as LLVM's text.
    pub fn final_module_path(mut self, path: impl AsRef<Path>) -> Self {
        self.final_module_path = Some(path.as_ref().to_owned());
        self
    }

    /// The PTX version to write: `(8, 0)`. It decides which drivers take the PTX (8.0 needs CUDA 12.0, driver 525) and which
    /// instructions `asm!` may hold.
    ///
    /// Unless given, it is 7.4 (driver 470) below compute capability 9.0 and 8.0 from there on (8.3 for 9.0a), or the first that has the
    /// architecture, if that is later.
    pub fn ptx_version(mut self, major: u32, minor: u32) -> Self {
        self.ptx_version = Some((major, minor));
        self
    }

    /// The folder for everything that the build keeps. Unless given, `cuda-builder` in the target folder: apart from the host
    /// build's own folder, whose lock a build script's cargo holds.
    pub fn target_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.target_dir = Some(path.as_ref().to_owned());
        self
    }

    /// Builds only these kernels, for one of the architectures, without the crate's others. The code is the same as in
    /// a full build, and available sooner: the crate is compiled for the same [`arches`](Self::arches), and statics
    /// that the host knows by name stay. For tools that run an edited kernel at once.
    ///
    /// It is an error if the architecture is none of them, or if the crate lacks one of the kernels.
    pub fn only(mut self, arch: NvvmArch, kernels: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.part = Some(Part { arch, kernels: kernels.into_iter().map(Into::into).collect() });
        self
    }

    /// Compiles for the one architecture and returns the PTX file: the one given to [`copy_to`](Self::copy_to), if any. In a
    /// build script, also tells cargo which files the PTX depends on.
    pub fn build(self) -> Result<PathBuf, CudaBuilderError> {
        if self.arches.len() > 1 || !self.own_kernels.is_empty() {
            return Err(CudaBuilderError::UnsupportedOption {
                option: if self.own_kernels.is_empty() {
                    "arches(..).build()"
                } else {
                    "own_kernels(..).build()"
                },
                reason: "`build` makes one PTX file; use `build_all` for several architectures",
            });
        }
        let build = build::run(&self, true)?;
        let first = build.artifacts.into_iter().next();
        first.map(|artifact| artifact.ptx).ok_or(CudaBuilderError::BuildFailed)
    }

    /// Compiles for all architectures given to [`arches`](Self::arches), or the one given to [`arch`](Self::arch). In a
    /// build script, also tells cargo which files the PTX depends on.
    pub fn build_all(self) -> Result<Build, CudaBuilderError> {
        build::run(&self, false)
    }

    /// Folder of the crate.
    pub(crate) fn path_to_crate(&self) -> &Path {
        &self.path_to_crate
    }
}
