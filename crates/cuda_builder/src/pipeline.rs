//! From rlibs to PTX files: link, prepare once; optimise, audit and emit for each architecture.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::link::{Rlib, link};
use crate::llvm::{Context, Llvm, Module, Optimise, TargetMachine};
use crate::markers::Kernel;
use crate::passes::{self, PassOptions, Prepared};
use crate::{CudaBuilderError, EmitOption, NvvmArch, audit, inlined, panics};

/// The outputs to make from the rlibs, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) outputs: Vec<Target>,
    pub(crate) passes: PassOptions,
    pub(crate) optimise: Optimise,
    pub(crate) emit: Option<EmitOption>,
    /// The kernels to keep; all where this is `None`.
    pub(crate) only: Option<BTreeSet<String>>,
}

/// An output that is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) arch: NvvmArch,
    /// The version of the PTX language: 80 for 8.0.
    pub(crate) ptx_version: u32,
    /// True if it holds only the kernels that name this architecture; false if all that run there.
    pub(crate) own_kernels: bool,
}

impl Target {
    fn takes(self, kernel: &Kernel) -> bool {
        if self.own_kernels { kernel.arch == Some(self.arch) } else { kernel.runs_on(self.arch) }
    }
}

/// The result of a request.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// In the order asked for.
    pub(crate) outputs: Vec<Output>,
    /// The module before optimisation as text, if it was wanted.
    pub(crate) linked: Option<String>,
    pub(crate) warnings: Vec<String>,
}

/// PTX for one architecture.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) ptx: String,
    pub(crate) ir: Option<Vec<u8>>,
}

/// Links the rlibs and makes all outputs.
pub(crate) fn run(
    llvm: Llvm,
    rlibs: &[Rlib],
    request: &Request,
    wants_linked: bool,
) -> Result<Outcome, CudaBuilderError> {
    let context = Context::new(llvm);
    let mut module = link(&context, rlibs)?;
    let first = request.outputs.first().copied().unwrap_or_default();
    let machine = machine(llvm, first, request.optimise)?;
    let Prepared { kernels, mut warnings } =
        passes::prepare(&mut module, &machine, first.arch, request.passes, request.only.as_ref())?;
    if passes::has_no_kernels(&module) {
        warnings.push(String::from(
            "the crate has no kernels: the PTX holds no entry point. Mark functions with `#[kernel]` in the crate itself or in a \
             dependency.",
        ));
    }
    warnings.extend(empty(&kernels, &request.outputs));
    let linked = wants_linked.then(|| module.to_text());
    let outputs = match request.outputs[..] {
        [output] => vec![finish(llvm, module, output, &kernels, request)?],
        _ => finish_all(llvm, &module, &kernels, request, &mut warnings)?,
    };
    warnings.extend(context.take_warnings());
    Ok(Outcome { outputs, linked, warnings })
}

/// Makes all outputs, as many at a time as there are processors. LLVM's contexts belong to one thread each, so every output
/// has one of its own, with a copy of the module that passes through bitcode.
fn finish_all(
    llvm: Llvm,
    module: &Module<'_>,
    kernels: &[Kernel],
    request: &Request,
    warnings: &mut Vec<String>,
) -> Result<Vec<Output>, CudaBuilderError> {
    let bitcode = module.to_bitcode();
    let one = |output| {
        let context = Context::new(llvm);
        let module = Module::from_bitcode(&context, &bitcode, "kernels")
            .map_err(CudaBuilderError::llvm("copying the linked module"))?;
        Ok((finish(llvm, module, output, kernels, request)?, context.take_warnings()))
    };
    let next = AtomicUsize::new(0);
    let work = || -> Vec<_> {
        let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        numbers.map_while(|number| Some((number, one(*request.outputs.get(number)?)))).collect()
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(request.outputs.len());
    let mut made: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    made.sort_by_key(|(number, _)| *number);
    let mut outputs = Vec::new();
    for (_, output) in made {
        let (output, said) = output?;
        outputs.push(output);
        warnings.extend(said.filter(|said| !warnings.contains(said)));
    }
    Ok(outputs)
}

/// Warnings about outputs without a kernel, if they hold only kernels of their own.
///
/// A kernel that is in no output is no mistake: a crate with kernels for a newer architecture is also built for older ones.
fn empty(kernels: &[Kernel], outputs: &[Target]) -> Vec<String> {
    let empty = outputs
        .iter()
        .filter(|output| output.own_kernels && !kernels.iter().any(|kernel| output.takes(kernel)));
    let warning = |output: &Target| {
        format!(
            "no kernel has `arch = \"{}\"` in its attribute: the PTX of `own_kernels({:?})` holds no entry point.",
            output.arch.name().trim_start_matches("compute_"),
            output.arch
        )
    };
    empty.map(warning).collect()
}

/// Optimises, audits and emits one architecture, with the kernels that are for it.
pub(crate) fn finish(
    llvm: Llvm,
    mut module: Module<'_>,
    output: Target,
    kernels: &[Kernel],
    request: &Request,
) -> Result<Output, CudaBuilderError> {
    let Target { arch, ptx_version, .. } = output;
    let (taken, left_out): (Vec<&Kernel>, Vec<&Kernel>) =
        kernels.iter().partition(|kernel| output.takes(kernel));
    passes::check_clusters(&taken, arch)?;
    let machine = machine(llvm, output, request.optimise)?;
    let left_out: Vec<&str> = left_out.iter().map(|kernel| kernel.name.as_str()).collect();
    passes::leave_out(&mut module, &machine, &left_out)
        .map_err(CudaBuilderError::llvm(format!("choosing the kernels for {arch}")))?;
    if output.own_kernels {
        passes::leave_out_variables(&mut module, &machine)
            .map_err(CudaBuilderError::llvm(format!("choosing the variables for {arch}")))?;
    }
    let originals = passes::optimise(&mut module, &machine, request.optimise)
        .map_err(CudaBuilderError::llvm(format!("optimising for {arch}")))?;
    let mut findings = audit::module(&module);
    findings.extend(originals.check(&module));
    if !findings.is_empty() {
        return Err(CudaBuilderError::Audit { arch, findings });
    }
    let ir = match request.emit {
        None => None,
        Some(EmitOption::LlvmIr) => Some(module.to_text().into_bytes()),
        Some(EmitOption::Bitcode) => Some(module.to_bitcode()),
    };
    let chains = inlined::mark(&mut module, ptx_version);
    let counts = audit::Counts::of(&module);
    let ptx = machine.emit(module).map_err(CudaBuilderError::llvm(format!("writing PTX for {arch}")))?;
    let ptx = inlined::write_out(&panics::let_lanes_meet(&ptx), &chains);
    let findings = audit::ptx(&ptx, &counts);
    if !findings.is_empty() {
        return Err(CudaBuilderError::Audit { arch, findings });
    }
    Ok(Output { ptx, ir })
}

fn machine(
    llvm: Llvm,
    Target { arch, ptx_version, .. }: Target,
    optimise: Optimise,
) -> Result<TargetMachine, CudaBuilderError> {
    TargetMachine::new(llvm, &arch.processor(), &format!("+ptx{ptx_version}"), optimise)
        .map_err(CudaBuilderError::llvm(format!("preparing for {arch}")))
}

/// Writes `bytes` unless the file holds them already: what includes the file is then not rebuilt.
pub(crate) fn write_if_changed(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if std::fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, bytes)
}

/// `kernels.ptx` for `compute_90` is `kernels.compute_90.ptx`.
pub(crate) fn with_arch(path: &Path, arch: NvvmArch) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension =
        path.extension().map_or_else(|| String::from("ptx"), |text| text.to_string_lossy().into_owned());
    path.with_file_name(format!("{stem}.{arch}.{extension}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_architecture() {
        let name = |path: &str, arch| with_arch(Path::new(path), arch).display().to_string();
        assert_eq!(name("out/kernels.ptx", NvvmArch::Compute90a), "out/kernels.compute_90a.ptx");
        assert_eq!(name("kernels", NvvmArch::Compute75), "kernels.compute_75.ptx");
    }

    #[test]
    fn an_unchanged_file_keeps_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("below/kernels.ptx");
        write_if_changed(&path, b"one").unwrap();
        let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        write_if_changed(&path, b"one").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().modified().unwrap(), old);
        write_if_changed(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
    }
}
