//! Helpers of the tests: IR text in, IR or PTX text out, and fake toolchains. They use the libLLVM of the toolchain
//! that runs the tests.

use std::collections::BTreeSet;
use std::path::Path;

use crate::llvm::{Context, Llvm, Module, Optimise, TargetMachine};
use crate::passes::{self, PassOptions};
use crate::pipeline::{self, Request, Target};
use crate::toolchain::{self, Compiler};
use crate::{CudaBuilderError, Finding, NvvmArch, audit};

fn llvm() -> Llvm {
    let compiler = Compiler::active(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    toolchain::open_llvm(&toolchain::find_llvm(&compiler).unwrap().path).unwrap()
}

/// Reads IR and shows it to `look`.
pub(crate) fn with_module<T>(text: &str, look: impl FnOnce(&Module<'_>) -> T) -> T {
    let context = Context::new(llvm());
    let module = Module::from_text(&context, text).unwrap();
    module.verify().unwrap();
    look(&module)
}

/// Runs the audit on a module as it stands, without optimisation.
pub(crate) fn findings(text: &str) -> Vec<Finding> {
    with_module(text, audit::module)
}

/// The module after the passes and before optimisation, with their warnings.
pub(crate) fn prepare(text: &str, options: PassOptions) -> Result<(String, Vec<String>), CudaBuilderError> {
    let llvm = llvm();
    let context = Context::new(llvm);
    let mut module = Module::from_text(&context, text).unwrap();
    let machine = TargetMachine::new(llvm, "sm_75", "+ptx74", Optimise::Most).unwrap();
    let prepared = passes::prepare(&mut module, &machine, NvvmArch::Compute75, options, None)?;
    Ok((module.to_text(), prepared.warnings))
}

/// Runs the audits on the linked module before optimisation; empty if it passes them.
pub(crate) fn refused(text: &str) -> Vec<Finding> {
    match prepare(text, PassOptions::default()) {
        Ok(_) => Vec::new(),
        Err(CudaBuilderError::Audit { findings, .. }) => findings,
        Err(other) => panic!("{other}"),
    }
}

/// The module after the passes, with default options.
pub(crate) fn prepared(text: &str) -> String {
    prepare(text, PassOptions::default()).unwrap().0
}

/// The output of tests that ask for no other.
const OLDEST: Target = Target { arch: NvvmArch::Compute75, ptx_version: 74, own_kernels: false };

/// PTX for this output, of the kernels `only` where that is given.
fn ptx_of(
    text: &str,
    output: Target,
    options: PassOptions,
    only: Option<&BTreeSet<String>>,
) -> Result<String, CudaBuilderError> {
    let llvm = llvm();
    let context = Context::new(llvm);
    let mut module = Module::from_text(&context, text).unwrap();
    let machine = TargetMachine::new(llvm, "sm_75", "+ptx74", Optimise::Most).unwrap();
    let prepared = passes::prepare(&mut module, &machine, NvvmArch::Compute75, options, only)?;
    let request =
        Request { outputs: vec![output], passes: options, optimise: Optimise::Most, emit: None, only: None };
    Ok(pipeline::finish(llvm, module, output, &prepared.kernels, &request)?.ptx)
}

/// PTX for compute capability 7.5.
pub(crate) fn ptx_with(text: &str, options: PassOptions) -> Result<String, CudaBuilderError> {
    ptx_of(text, OLDEST, options, None)
}

/// PTX for another output.
pub(crate) fn ptx_for(text: &str, output: Target) -> String {
    ptx_of(text, output, PassOptions::default(), None).unwrap()
}

/// PTX for compute capability 7.5 of these kernels alone.
pub(crate) fn ptx_of_only(text: &str, kernels: &[&str]) -> Result<String, CudaBuilderError> {
    let only = kernels.iter().map(|name| name.to_string()).collect();
    ptx_of(text, OLDEST, PassOptions::default(), Some(&only))
}

/// PTX for compute capability 7.5, with default options.
pub(crate) fn ptx(text: &str) -> String {
    ptx_with(text, PassOptions::default()).unwrap()
}

/// A compiler that is not there, with its root at `root`.
pub(crate) fn compiler(root: &Path) -> Compiler {
    Compiler {
        cargo: root.join("bin/cargo"),
        rustc: root.join("bin/rustc"),
        version: String::from("rustc 1.95.0 (fake)"),
        host: String::from("x86_64-unknown-linux-gnu"),
        llvm_version: (22, 1),
        sysroot: root.to_owned(),
        library_path: Vec::new(),
    }
}

/// Files as a toolchain with rust-src has them, at `root`.
pub(crate) fn library_source(root: &Path) {
    let library = root.join("lib/rustlib/src/rust/library");
    for file in ["core/src/lib.rs", "alloc/src/lib.rs", "Cargo.lock"] {
        let file = library.join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
    }
}
