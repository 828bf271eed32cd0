//! One build, from the options to the files.

use std::path::{Component, Path, PathBuf};

use crate::cargo::{self, Compile, Compiled};
use crate::llvm::Optimise;
use crate::passes::{FloatOptions, PassOptions};
use crate::pipeline::{self, Outcome, Request, Target, with_arch, write_if_changed};
use crate::stamp::Stamp;
use crate::toolchain::{self, Toolchain, processors::Processors};
use crate::{CudaBuilder, CudaBuilderError, DebugInfo, EmitOption, NvvmArch, crate_attributes, environment};

/// The result of [`CudaBuilder::build_all`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Build {
    /// One for each architecture, in the order asked for, those of [`own_kernels`](CudaBuilder::own_kernels) last.
    pub artifacts: Vec<Artifact>,
    /// True if nothing changed since the last build, so that linking and optimising was skipped.
    pub fresh: bool,
    /// Warnings about likely mistakes; they are also printed.
    pub warnings: Vec<String>,
    /// Files and folders of the kernel crate and of its dependencies by path.
    pub sources: Vec<PathBuf>,
    /// The toolchain that made it.
    pub toolchain: Toolchain,
}

/// PTX for one architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Artifact {
    /// The architecture.
    pub arch: NvvmArch,
    /// The PTX file.
    pub ptx: PathBuf,
    /// LLVM's code after optimisation, if it was asked for.
    pub llvm: Option<PathBuf>,
}

/// Builds. `single` gives the one PTX file exactly the name asked for.
pub(crate) fn run(options: &CudaBuilder, single: bool) -> Result<Build, CudaBuilderError> {
    refuse_unsupported(options)?;
    let krate = options.path_to_crate();
    if !krate.join("Cargo.toml").is_file() {
        return Err(CudaBuilderError::CratePathDoesntExist(krate.to_owned()));
    }
    // Relative paths are the caller's; cargo runs in the crate's folder.
    let krate = &krate.canonicalize().map_err(CudaBuilderError::file(krate, "found"))?;
    let arches = if options.arches.is_empty() { vec![options.arch] } else { options.arches.clone() };
    let metadata = crate_attributes::metadata(&toolchain::cargo(), krate, &options.build_args)?;
    let folder = match &options.target_dir {
        Some(folder) => std::path::absolute(folder).map_err(CudaBuilderError::file(folder, "found"))?,
        None => default_folder(metadata.target_directory.as_std_path()),
    };
    std::fs::create_dir_all(&folder).map_err(CudaBuilderError::file(&folder, "created"))?;
    let toolchain = toolchain::find(krate, &folder)?;
    let processors = Processors::ask(&toolchain)?;
    if options.own_kernels.iter().any(|arch| arches.contains(arch)) {
        return Err(CudaBuilderError::UnsupportedOption {
            option: "own_kernels(..)",
            reason: "its architecture is also given to `arch` or `arches`, whose PTX has these kernels already; name it in one of \
                     the two",
        });
    }
    let wanted = arches.iter().map(|arch| (*arch, false));
    let wanted = wanted.chain(options.own_kernels.iter().map(|arch| (*arch, true)));
    let outputs = wanted.map(|(arch, own_kernels)| {
        Ok(Target { arch, ptx_version: processors.check(arch, options.ptx_version)?, own_kernels })
    });
    let outputs = outputs.collect::<Result<Vec<_>, CudaBuilderError>>()?;
    let outputs: Vec<Target> = match &options.part {
        None => outputs,
        Some(part) => outputs.into_iter().filter(|output| output.arch == part.arch).collect(),
    };
    if outputs.is_empty() {
        return Err(CudaBuilderError::UnsupportedOption {
            option: "only(..)",
            reason: "its architecture is none of those given to `arch`, `arches` or `own_kernels`; name one of them",
        });
    }
    let compiled = cargo::compile(
        &toolchain,
        &Compile {
            krate,
            target_dir: &folder,
            arch: compile_arch(&[arches, options.own_kernels.clone()].concat()),
            release: options.release,
            line_info: options.generate_line_info || options.debug == DebugInfo::LineTables,
            arguments: &options.build_args,
            attributes: &crate_attributes::missing(&metadata, &krate.join("Cargo.toml")),
        },
    );
    let compiled = compiled.map_err(|error| match crate_attributes::register_attr(&metadata) {
        Some(place) if matches!(error, CudaBuilderError::BuildFailed) => {
            CudaBuilderError::AttributeRemoved { place }
        }
        _ => error,
    })?;
    let request = Request {
        outputs,
        passes: PassOptions {
            float: FloatOptions {
                flush_subnormals: options.ftz,
                fast_square_root: options.fast_sqrt,
                fast_division: options.fast_div,
                contract: options.fma_contraction,
            },
            constant_memory: options.use_constant_memory_space,
            leave_unmarked: false,
        },
        optimise: if options.nvvm_opts { Optimise::Most } else { Optimise::Less },
        emit: options.emit,
        only: options.part.as_ref().map(|part| part.kernels.clone()),
    };
    let files = Files::new(&folder, &compiled.name, options, &request);
    let (fresh, mut warnings) = make(&toolchain, &compiled, &request, &files)?;
    if options.override_libm {
        warnings.push(String::from(
            "`override_libm(true)` overrides nothing: there is no `libdevice` here, and `libm` is compiled from its source like \
             any other crate. Leave the option out.",
        ));
    }
    for warning in &warnings {
        warn(warning);
    }
    let mut artifacts = files.artifacts;
    if let Some(to) = &options.ptx_file_copy_path {
        for artifact in &mut artifacts {
            let to = if single { to.clone() } else { with_arch(to, artifact.arch) };
            copy(&artifact.ptx, &to)?;
            if let Some(llvm) = &mut artifact.llvm {
                let to = to.with_extension(llvm.extension().unwrap_or_default());
                copy(llvm, &to)?;
                *llvm = to;
            }
            artifact.ptx = to;
        }
    }
    if let (Some(to), Some(from)) = (&options.final_module_path, &files.linked) {
        let text = std::fs::read(from).map_err(CudaBuilderError::file(from, "read"))?;
        write_if_changed(to, &text).map_err(CudaBuilderError::file(to, "written"))?;
    }
    tell_cargo(&compiled.sources);
    Ok(Build { artifacts, fresh, warnings, sources: compiled.sources, toolchain })
}

/// Copies to the path that the user gave.
fn copy(from: &Path, to: &Path) -> Result<(), CudaBuilderError> {
    let bytes = std::fs::read(from).map_err(CudaBuilderError::file(from, "read"))?;
    // The variant holds an error and no path, as in Rust-CUDA; so the error has to name it.
    write_if_changed(to, &bytes).map_err(|error| {
        let error = std::io::Error::new(error.kind(), format!("{}: {error}", to.display()));
        CudaBuilderError::FailedToCopyPtxFile(error)
    })
}

/// The files kept between builds, in a folder of its own for each crate and set of options.
struct Files {
    stamp: PathBuf,
    warnings: PathBuf,
    linked: Option<PathBuf>,
    artifacts: Vec<Artifact>,
}

impl Files {
    fn new(folder: &Path, name: &str, options: &CudaBuilder, request: &Request) -> Self {
        // Builds of one crate with other options (another target, a debug build) do not overwrite each other.
        let key = fnv1a(format!("{request:?} {} {:?}", options.release, options.path_to_crate()).as_bytes());
        let folder = folder.join("ptx").join(format!("{name}-{key:016x}"));
        let artifact = |arch: NvvmArch| {
            let ptx = folder.join(format!("{name}.{arch}.ptx"));
            let llvm = match options.emit {
                None => None,
                Some(EmitOption::LlvmIr) => Some(ptx.with_extension("ll")),
                Some(EmitOption::Bitcode) => Some(ptx.with_extension("bc")),
            };
            Artifact { arch, ptx, llvm }
        };
        Self {
            stamp: folder.join("stamp"),
            warnings: folder.join("warnings"),
            linked: options.final_module_path.as_ref().map(|_| folder.join(format!("{name}.linked.ll"))),
            artifacts: request.outputs.iter().map(|output| artifact(output.arch)).collect(),
        }
    }

    fn stamp(&self, toolchain: &Toolchain, compiled: &Compiled, request: &Request) -> Stamp {
        let mut stamp = Stamp::default();
        stamp.value("cuda_builder", env!("CARGO_PKG_VERSION"));
        // A change of the builder itself makes a build run again.
        if let Ok(program) = std::env::current_exe() {
            stamp.file(&program);
        }
        stamp.value("request", request);
        stamp.value("compiler", &toolchain.version);
        stamp.file(&toolchain.llvm.path);
        for rlib in &compiled.rlibs {
            stamp.value("role", rlib.role);
            stamp.file(&rlib.path);
        }
        let outputs =
            self.artifacts.iter().flat_map(|artifact| [Some(&artifact.ptx), artifact.llvm.as_ref()]);
        for output in outputs.chain([Some(&self.warnings), self.linked.as_ref()]).flatten() {
            stamp.file(output);
        }
        stamp
    }
}

/// Links, optimises and writes, unless that was done already. Returns whether it was, and warnings.
fn make(
    toolchain: &Toolchain,
    compiled: &Compiled,
    request: &Request,
    files: &Files,
) -> Result<(bool, Vec<String>), CudaBuilderError> {
    if files.stamp(toolchain, compiled, request).matches(&files.stamp) {
        let warnings = std::fs::read_to_string(&files.warnings).unwrap_or_default();
        return Ok((true, warnings.lines().map(String::from).collect()));
    }
    let llvm = toolchain::open_llvm(&toolchain.llvm.path)?;
    let Outcome { outputs, linked, warnings } =
        pipeline::run(llvm, &compiled.rlibs, request, files.linked.is_some())?;
    let write = |path: &Path, bytes: &[u8]| {
        write_if_changed(path, bytes).map_err(CudaBuilderError::file(path, "written"))
    };
    for (artifact, output) in files.artifacts.iter().zip(&outputs) {
        write(&artifact.ptx, output.ptx.as_bytes())?;
        if let (Some(path), Some(code)) = (&artifact.llvm, &output.ir) {
            write(path, code)?;
        }
    }
    if let (Some(path), Some(text)) = (&files.linked, &linked) {
        write(path, text.as_bytes())?;
    }
    write(&files.warnings, warnings.join("\n").as_bytes())?;
    files.stamp(toolchain, compiled, request).keep(&files.stamp);
    Ok((false, warnings))
}

/// The architecture that rustc is told: one whose code all others run.
fn compile_arch(arches: &[NvvmArch]) -> NvvmArch {
    let lowest = arches.iter().copied().min().unwrap_or_default();
    if arches.iter().all(|arch| lowest.is_contained_in(*arch)) { lowest } else { lowest.base_architecture() }
}

fn refuse_unsupported(options: &CudaBuilder) -> Result<(), CudaBuilderError> {
    if options.optix {
        return Err(CudaBuilderError::UnsupportedOption {
            option: "optix(true)",
            reason: "OptiX modules need entry points and calls that this path to PTX does not make",
        });
    }
    Ok(())
}

/// The folder `cuda-builder` in the target folder of the build that runs us, or else in the crate's own. A build script
/// cannot ask cargo for it, but its output folder is inside.
fn default_folder(of_crate: &Path) -> PathBuf {
    let output = environment::build_script_output();
    // cargo marks the root of its target folder so that backups leave it out.
    let root = output.as_deref().map(|output| {
        output.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file()).unwrap_or(output)
    });
    root.unwrap_or(of_crate).join("cuda-builder")
}

/// In a build script: what to watch.
fn tell_cargo(sources: &[PathBuf]) {
    if environment::build_script_output().is_none() {
        return;
    }
    // From the package's folder on: where a checkout was moved, or another one builds into the same target folder, cargo then
    // looks at the sources that it is asked to build, and not at those it built the last time.
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    for source in sources {
        let source = package.as_deref().and_then(|folder| relative(source, folder)).unwrap_or(source.clone());
        println!("cargo:rerun-if-changed={}", source.display());
    }
    for variable in [toolchain::ROUTE_VARIABLE, toolchain::INSTALL_VARIABLE, "RUSTUP_TOOLCHAIN"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
}

/// `path` as seen from `folder`: `../gpu-kernels/src`. `None` if they share no folder but the root, or if a link on the way
/// leads elsewhere.
fn relative(path: &Path, folder: &Path) -> Option<PathBuf> {
    let shared = path.components().zip(folder.components()).take_while(|(one, other)| one == other).count();
    if shared < 2 {
        return None;
    }
    let up = folder.components().skip(shared).map(|_| Component::ParentDir);
    let relative: PathBuf =
        [Component::CurDir].into_iter().chain(up).chain(path.components().skip(shared)).collect();
    let leads_there = folder.join(&relative).canonicalize().ok()? == path.canonicalize().ok()?;
    leads_there.then_some(relative)
}

fn warn(text: &str) {
    if environment::build_script_output().is_some() {
        println!("cargo:warning={text}");
    } else {
        eprintln!("warning: {text}");
    }
}

/// A hash that stays the same between compilers, for names of folders.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use NvvmArch::*;

    #[test]
    fn the_crate_is_compiled_for_what_all_can_run() {
        assert_eq!(compile_arch(&[Compute90]), Compute90);
        assert_eq!(compile_arch(&[Compute90a]), Compute90a);
        assert_eq!(compile_arch(&[Compute120, Compute75, Compute90a]), Compute75);
        assert_eq!(compile_arch(&[Compute90a, Compute100]), Compute90);
        assert_eq!(compile_arch(&[Compute100f, Compute103a]), Compute100f);
        assert_eq!(compile_arch(&[Compute100f, Compute120]), Compute100);
    }

    #[test]
    fn sources_are_named_from_the_package_on_as_long_as_that_leads_to_them() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let (host, sources) = (root.join("host"), root.join("kernels/src"));
        std::fs::create_dir_all(&host).unwrap();
        std::fs::create_dir_all(&sources).unwrap();
        assert_eq!(relative(&sources, &host), Some(PathBuf::from("./../kernels/src")));
        assert_eq!(relative(&host, &host), Some(PathBuf::from(".")));
        assert_eq!(relative(Path::new("/proc/self"), &host), None);
        // Through a link, `..` is the folder above what the link leads to.
        std::fs::create_dir_all(root.join("far/away")).unwrap();
        std::os::unix::fs::symlink(root.join("far/away"), root.join("link")).unwrap();
        assert_eq!(relative(&sources, &root.join("link")), None);
    }

    #[test]
    fn what_cannot_be_done_is_refused_before_anything_runs() {
        let error = CudaBuilder::new("nowhere").optix(true).build().unwrap_err().to_string();
        assert!(error.starts_with("`optix(true)` is not supported: "), "{error}");
        let error =
            CudaBuilder::new("nowhere").arches([Compute75, Compute90]).build().unwrap_err().to_string();
        assert!(error.contains("use `build_all`"), "{error}");
        let error = CudaBuilder::new("nowhere").build().unwrap_err();
        assert!(
            matches!(&error, CudaBuilderError::CratePathDoesntExist(path) if path == Path::new("nowhere"))
        );
    }
}
