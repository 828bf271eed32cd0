//! Records where the compiler's libLLVM lies, which the compiled tier loads when a launch is worth compiling.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC");
    // A compiler for another kind of computer than this one has a library that the program cannot load.
    let same = std::env::var_os("HOST") == std::env::var_os("TARGET");
    let library = sysroot().filter(|_| same).and_then(|sysroot| library_in(&sysroot.join("lib")));
    let path = library.map_or_else(String::new, |path| path.display().to_string());
    println!("cargo::rustc-env=SIMT_LLVM={path}");
}

fn sysroot() -> Option<PathBuf> {
    let rustc = std::env::var_os("RUSTC")?;
    let output = Command::new(rustc).args(["--print", "sysroot"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(PathBuf::from(text.trim_end()))
}

/// Returns `libLLVM.so.22.1-rust-1.95.0-stable` and the like.
fn library_in(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with("libLLVM.so."))
        })
        .collect();
    found.sort();
    found.pop()
}
