//! Clients of the driver API that are not ours, on the shared library: the crates `cudarc` and `cust`, a C program, Python.
//!
//! Each loads `libcuda.so.1` by name, so the library must be where the loader looks when the client starts: it runs in a
//! process of its own, with `LD_LIBRARY_PATH` set.

mod c;
mod cudarc;
mod cust;
mod python;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// The shared library, built as it is when these tests are built.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let mut command = Command::new(env!("CARGO"));
        command.args(["build", "--offline", "--package", "libcuda", "--message-format", "json"]);
        if !cfg!(debug_assertions) {
            command.arg("--release");
        }
        command.current_dir(env!("CARGO_MANIFEST_DIR")).stderr(Stdio::inherit());
        let output = command.output().expect("cargo");
        assert!(output.status.success(), "the library does not build");
        let files =
            cargo_metadata::Message::parse_stream(output.stdout.as_slice()).filter_map(
                |message| match message.expect("cargo's messages") {
                    cargo_metadata::Message::CompilerArtifact(artifact) if artifact.target.name == "cuda" => {
                        artifact.filenames.into_iter().find(|file| file.extension() == Some("so"))
                    }
                    _ => None,
                },
            );
        files.last().expect("libcuda.so").into_std_path_buf()
    })
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

/// What a client that succeeds prints.
fn stdout(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", stderr(output));
    text
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
