//! Runs foreign clients of the driver API on the shared library: the crates `cudarc` and `cust`, a C program, Python.
//!
//! Each loads `libcuda.so.1` by name, so the library must be where the loader looks when the client starts: it runs in a
//! process of its own, with `LD_LIBRARY_PATH` set.

mod c;
mod cudarc;
mod cust;
mod python;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The shared library, which cargo builds before these tests and puts beside their program.
fn library() -> PathBuf {
    let program = std::env::current_exe().expect("this test's program");
    let library = program.with_file_name("libcuda.so");
    assert!(library.exists(), "{} is not there: cargo builds it for the tests", library.display());
    library
}

/// A file beside these tests.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name)
}

/// Runs a program with the library in its path.
fn run(mut command: Command, settings: &[(&str, &str)]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(library(), folder.path().join("libcuda.so.1")).expect("a link");
    for name in ["COALESCE_SIMULATE", "COALESCE_CHECK", "CUDA_VISIBLE_DEVICES"] {
        command.env_remove(name);
    }
    command.env("LD_LIBRARY_PATH", folder.path()).envs(settings.iter().copied());
    command.output().expect("a second process")
}

/// The stdout of a client, which must have succeeded.
fn stdout(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", stderr(output));
    text
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
