//! Safe kernels that compile and must not become PTX. The types of `cuda_safe` cannot rule them out; `cuda_builder`
//! finds them in the linked code.

use std::fs;
use std::path::Path;

use cuda_builder::{CudaBuilder, CudaBuilderError, Finding};

/// The head of each crate of kernels, and a kernel that is sound.
const HEAD: &str = r#"#![no_std]
#![forbid(unsafe_code)]
#![allow(unused_imports)]

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use cuda_safe::shape::Warps;
use cuda_safe::{Block, Each, In, Out, Thread, constant, kernel, names::N};

constant! {
    pub static FACTOR: [f32; 1] = [2.0];
}

#[kernel]
pub fn sound(mut block: Block<Warps>, x: In<f32, Each<N>>, y: Out<f32, Each<N>>) {
    let some = block.each(|thread| thread.x() < 3);
    if block.any(some) {
        block.barrier();
    }
    block.each(|thread| {
        if let Some(i) = thread.index(x) {
            y.put(i, FACTOR.at(0) * x.at(i));
        }
    });
}
"#;

const STATICS: &str = r#"
static FLAG: AtomicBool = AtomicBool::new(false);

#[kernel]
pub fn carried_by_a_static(mut block: Block<Warps>) {
    block.each(|thread| FLAG.store(thread.x() < 3, Relaxed)); // FLAG
    if FLAG.load(Relaxed) { // FLAG
        block.barrier();
    }
}

#[cuda_std::address_space(shared)]
static SHARED: AtomicU32 = AtomicU32::new(0);

#[kernel]
pub fn carried_by_shared_memory(mut block: Block<Warps>) {
    block.each(|thread| SHARED.store(thread.x(), Relaxed)); // SHARED
    if SHARED.load(Relaxed) < 3 { // SHARED
        block.barrier();
    }
}
"#;

const BARRIERS: &str = r#"
#[kernel]
pub fn asked_of_cuda_std(mut block: Block<Warps>) {
    if cuda_std::thread::thread_idx_x() < 3 {
        block.barrier(); // barrier
    }
}

#[kernel]
pub fn barrier_of_cuda_std(thread: Thread<Warps>) {
    if thread.x() < 3 {
        cuda_std::thread::sync_threads(); // barrier
    }
}
"#;

/// Runs the audit on kernels over `cuda_safe` and `cuda_std`.
fn findings(name: &str, kernels: &str) -> Vec<Finding> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap();
    let krate = tempfile::tempdir().unwrap();
    let path = |name: &str| root.join("crates").join(name);
    let manifest = format!(
        "[workspace]\n\n[package]\nname = {name:?}\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[lib]\ncrate-type = [\"rlib\"]\n\n\
         [dependencies]\ncuda_safe = {{ path = {:?} }}\ncuda_std = {{ path = {:?} }}\n",
        path("cuda_safe"),
        path("cuda_std"),
    );
    let write = |name: &str, text: &str| {
        let file = krate.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    write("Cargo.toml", &manifest);
    write("src/lib.rs", &format!("{HEAD}{kernels}"));
    write(".cargo/config.toml", "[net]\noffline = true\n");
    fs::copy(root.join("Cargo.lock"), krate.path().join("Cargo.lock")).unwrap();

    // Where the build script keeps it too: `core` is compiled once for both.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../cuda-builder");
    let error = CudaBuilder::new(krate.path()).target_dir(folder).build_all().unwrap_err();
    let text = error.to_string();
    let CudaBuilderError::Audit { findings, .. } = error else { panic!("{text}") };
    findings
}

/// The lines of such kernels that end with this comment.
fn marked(kernels: &str, comment: &str) -> Vec<usize> {
    let source = format!("{HEAD}{kernels}");
    let lines = source.lines().enumerate().filter(|(_, line)| line.ends_with(&format!("// {comment}")));
    lines.map(|(index, _)| index + 1).collect()
}

/// The line of a place.
fn line(place: Option<&String>) -> usize {
    place.and_then(|place| place.rsplit_once(':')).and_then(|(_, line)| line.parse().ok()).expect("a place")
}

#[test]
fn statics_that_carry_values_between_threads_are_refused() {
    let mut found = Vec::new();
    for finding in findings("statics", STATICS) {
        let Finding::MutableStatic { kernel, variable, place } = finding else { panic!("{finding}") };
        let name = ["FLAG", "SHARED"].into_iter().find(|name| variable.ends_with(name)).expect("a name");
        assert!(marked(STATICS, name).contains(&line(place.as_ref())), "{place:?}");
        found.push((kernel, name));
    }
    found.sort();
    assert_eq!(
        found,
        [("carried_by_a_static".to_owned(), "FLAG"), ("carried_by_shared_memory".to_owned(), "SHARED")]
    );
}

#[test]
fn barriers_that_some_threads_miss_are_refused() {
    let mut found = Vec::new();
    for finding in findings("barriers", BARRIERS) {
        let Finding::DivergentBarrier { function, place, cause, .. } = finding else { panic!("{finding}") };
        assert_eq!(cause, "the thread's index (`tid.x`)");
        found.push((line(place.as_ref()), function));
    }
    found.sort();
    let lines = marked(BARRIERS, "barrier");
    assert_eq!(
        found,
        [(lines[0], "asked_of_cuda_std".to_owned()), (lines[1], "barrier_of_cuda_std".to_owned())]
    );
}
