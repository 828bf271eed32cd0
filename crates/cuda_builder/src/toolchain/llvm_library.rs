//! The libLLVM that belongs to a compiler.
//!
//! It is looked for where the compiler itself has it, never on a search path: bitcode can be newer than any other
//! LLVM on the machine.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::Compiler;
use crate::CudaBuilderError;
use crate::llvm::{self, Llvm, OpenError};

/// A libLLVM that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LlvmLibrary {
    /// Its file.
    pub path: PathBuf,
    /// The version that it reports: 22.1.2.
    pub version: String,
}

/// Finds and opens the compiler's libLLVM.
pub(crate) fn find(compiler: &Compiler) -> Result<LlvmLibrary, CudaBuilderError> {
    let (major, minor) = compiler.llvm_version;
    let folders = folders(compiler);
    let Some(path) = folders.iter().find_map(|folder| in_folder(folder, major)) else {
        let searched: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        return Err(CudaBuilderError::LlvmMissing {
            compiler: compiler.version.clone(),
            major,
            searched: searched.join(", "),
        });
    };
    let llvm = open(&path)?;
    let found = llvm.version();
    if (found.0, found.1) != (major, minor) {
        return Err(CudaBuilderError::LlvmVersion {
            path,
            found: text(found),
            wanted: format!(
                "{} says that it runs on LLVM {major}.{minor}, and only LLVM of the same major and minor version is sure to read its \
                 bitcode. Install the toolchain again, so that the two fit together.",
                compiler.version
            ),
        });
    }
    Ok(LlvmLibrary { path, version: text(found) })
}

/// Opens a libLLVM, with errors that name it.
pub(crate) fn open(path: &Path) -> Result<Llvm, CudaBuilderError> {
    let path = path.to_owned();
    Llvm::open(&path).map_err(|error| match error {
        OpenError::Load(reason) => CudaBuilderError::LlvmUnusable { path, reason },
        OpenError::Symbol(symbol) => CudaBuilderError::LlvmSymbolMissing { path, symbol },
        OpenError::Version(found) => CudaBuilderError::LlvmVersion {
            path,
            found: text(found),
            wanted: format!(
                "LLVM {major} is needed, of any minor version: `cuda_builder` was written for its C interface. Use a Rust \
                 toolchain with LLVM {major} (`rustc -vV` says which it has; 1.95 has it).",
                major = llvm::MAJOR
            ),
        },
    })
}

fn text((major, minor, patch): (u32, u32, u32)) -> String {
    format!("{major}.{minor}.{patch}")
}

/// rustup keeps it in `lib`; Debian in `lib/x86_64-linux-gnu`, Fedora in `lib64`, others below `lib/llvm`.
fn folders(compiler: &Compiler) -> Vec<PathBuf> {
    let root = &compiler.sysroot;
    let major = compiler.llvm_version.0;
    let mut folders = vec![root.join("lib")];
    // `x86_64-unknown-linux-gnu` is `x86_64-linux-gnu` to Debian.
    let parts: Vec<&str> = compiler.host.split('-').collect();
    if let [machine, _, system, library] = parts[..] {
        folders.push(root.join("lib").join(format!("{machine}-{system}-{library}")));
    }
    folders.extend([
        root.join("lib64"),
        root.join(format!("lib/llvm-{major}/lib")),
        root.join(format!("lib/llvm/{major}/lib")),
    ]);
    folders.extend(compiler.library_path.iter().cloned());
    folders
}

/// `libLLVM.so.22.1-rust-1.95.0-stable`, `libLLVM.so.22.1`, `libLLVM-22.so`: a real library among them, the name first in
/// order. (rustup also has a linker script under such a name, which no loader takes.)
fn in_folder(folder: &Path, major: u32) -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            is_named(name, major) && is_elf(path)
        })
        .collect();
    found.sort();
    found.pop()
}

fn is_named(name: &str, major: u32) -> bool {
    let version = name.strip_prefix("libLLVM.so.").or_else(|| name.strip_prefix("libLLVM-"));
    version
        .and_then(|version| version.strip_prefix(&major.to_string()))
        .is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
}

fn is_elf(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == *b"\x7fELF"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn names_of_one_major_version() {
        for name in
            ["libLLVM.so.22.1-rust-1.95.0-stable", "libLLVM.so.22.1", "libLLVM-22.so", "libLLVM.so.22"]
        {
            assert!(is_named(name, 22), "{name}");
        }
        for name in ["libLLVM.so.2", "libLLVM.so.221", "libLLVM.so.21.1", "libLLVMCore.so.22", "libLLVM.a"] {
            assert!(!is_named(name, 22), "{name}");
        }
    }

    #[test]
    fn the_error_names_every_folder() {
        let root = tempfile::tempdir().unwrap();
        let error = find(&testing::compiler(root.path())).unwrap_err().to_string();
        for part in ["rustc 1.95.0 (fake)", "libLLVM.so.22.*", "lib/x86_64-linux-gnu", "lib64", "libllvm22"] {
            assert!(error.contains(part), "no {part} in {error}");
        }
    }

    #[test]
    fn linker_scripts_are_passed_over_and_broken_libraries_are_named() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("lib/x86_64-linux-gnu");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("libLLVM-22-rust.so"), "INPUT(libLLVM.so.22.1)").unwrap();
        assert_eq!(in_folder(&folder, 22), None);
        let broken = folder.join("libLLVM.so.22.1");
        std::fs::write(&broken, b"\x7fELF and no more").unwrap();
        let error = find(&testing::compiler(root.path())).unwrap_err();
        assert!(matches!(&error, CudaBuilderError::LlvmUnusable { path, .. } if *path == broken), "{error}");
    }

    #[test]
    fn another_library_is_told_by_the_missing_function() {
        // Any shared library will do; the C library is loaded in this process.
        let error = open(Path::new("libc.so.6")).unwrap_err();
        assert!(
            matches!(&error, CudaBuilderError::LlvmSymbolMissing { symbol: "LLVMGetVersion", .. }),
            "{error}"
        );
        assert!(error.to_string().starts_with("libc.so.6 has no function `LLVMGetVersion`"), "{error}");
    }

    #[test]
    fn the_compilers_own_library_opens() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let compiler = Compiler::active(here).unwrap();
        let library = find(&compiler).unwrap();
        assert!(library.path.starts_with(&compiler.sysroot), "{library:?}");
        assert!(library.version.starts_with("22."), "{library:?}");
    }

    #[test]
    fn a_library_of_another_version_than_the_compilers_is_refused() {
        let mut compiler = Compiler::active(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        compiler.llvm_version.1 += 1;
        let error = find(&compiler).unwrap_err().to_string();
        assert!(error.contains("is LLVM 22.1.") && error.contains("but rustc 1.95.0"), "{error}");
        assert!(
            error.contains("runs on LLVM 22.2, and only LLVM of the same major and minor version"),
            "{error}"
        );
    }
}
