//! Whole builds: small kernel crates, written by the tests, to PTX. They need nothing but `core`: what `#[kernel]` and
//! `#[address_space]` would write is written by hand.
//!
//! All builds share one folder, so that `core` is compiled once, and run one after the other, as cargo's lock on that
//! folder would have it anyway.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cuda_builder::ptx::outline::{Header, Outline};
use cuda_builder::{Build, CudaBuilder, CudaBuilderError, Finding, NvvmArch};

/// A crate in a folder of its own, and the right to build.
struct Krate {
    folder: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

const PANIC_HANDLER: &str =
    "#[panic_handler]\nfn panic(_: &core::panic::PanicInfo<'_>) -> ! {\n    loop {}\n}\n";

impl Krate {
    /// A crate with this library source, a panic handler added.
    fn new(name: &str, source: &str) -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let krate = Self { folder: tempfile::tempdir().unwrap(), _turn: turn };
        krate.write(
            "Cargo.toml",
            &format!(
                "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
                 [lib]\ncrate-type = [\"cdylib\", \"rlib\"]\n\n[dependencies]\n\n[workspace]\n"
            ),
        );
        krate.write("src/lib.rs", &format!("{source}\n{PANIC_HANDLER}"));
        krate
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, file: &str, text: &str) {
        let file = self.path().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    fn replace(&self, file: &str, old: &str, new: &str) {
        let text = std::fs::read_to_string(self.path().join(file)).unwrap();
        assert!(text.contains(old), "no `{old}` in\n{text}");
        self.write(file, &text.replace(old, new));
    }

    fn builder(&self) -> CudaBuilder {
        CudaBuilder::new(self.path()).target_dir(shared_folder())
    }

    fn build(&self) -> Result<Build, CudaBuilderError> {
        self.builder().build_all()
    }

    fn ptx(&self) -> String {
        std::fs::read_to_string(&self.build().unwrap().artifacts[0].ptx).unwrap()
    }
}

/// The folder in which build scripts keep it too: `core` is compiled once for all.
fn shared_folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("../cuda-builder")
}

/// One kernel's PTX.
fn entry(ptx: &str, name: &str) -> String {
    Outline::of(ptx).extract(name).unwrap_or_else(|| panic!("no kernel {name} in\n{ptx}"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

const MEMORIES: &str = r#"
#![no_std]
#![feature(stdarch_nvptx)]
use core::arch::nvptx::{_syncthreads, _thread_idx_x};
use core::mem::MaybeUninit;

#[unsafe(link_section = ".cuda.shared")]
static mut TILE: [MaybeUninit<f32>; 256] = [MaybeUninit::uninit(); 256];

#[unsafe(link_section = ".cuda.constant")]
#[unsafe(no_mangle)]
pub static mut COEFFICIENTS: [f32; 4] = [1.0, 2.0, 3.0, 4.0];

#[unsafe(link_section = ".cuda.kernel")]
#[used]
static REVERSE: [u8; 17] = *b"reverse\x00256\x002\x00r--";

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn reverse(from: *const f32, length: usize, to: *mut f32) {
    unsafe {
        let i = _thread_idx_x() as usize;
        if i >= length || i >= 256 {
            core::hint::unreachable_unchecked();
        }
        TILE[i].write(*from.add(i));
        _syncthreads();
        *to.add(i) = TILE[255 - i].assume_init() * COEFFICIENTS[i & 3];
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn plain(from: *const f32, to: *mut f32) {
    unsafe { *to = *from * 5.0 + 1.0 }
}
"#;

#[test]
fn statics_parameters_and_launch_bounds_reach_the_ptx() {
    let krate = Krate::new("memories", MEMORIES);
    let ptx = krate.ptx();
    let outline = Outline::of(&ptx);
    assert_eq!((outline.header.target, outline.header.version), (Some("sm_75"), Some((7, 4))));
    let mut entries: Vec<&str> = outline.entries().collect();
    entries.sort();
    assert_eq!(entries, ["plain", "reverse"]);
    let reverse = entry(&ptx, "reverse");
    for part in [
        "ld.shared.b32",
        "st.shared.b32",
        "ld.const.b32",
        "ld.global.nc.b32",
        "st.global.b32",
        ".maxntid 256",
        ".minnctapersm 2",
        "bar.sync",
        ".loc\t",
        ".visible .const .align 4 .b8 COEFFICIENTS[16] = {0, 0, 128, 63,",
    ] {
        assert!(reverse.contains(part), "no `{part}` in\n{reverse}");
    }
    for part in ["call", ".local", "trap", "\tld.b32", "\tst.b32"] {
        assert!(!reverse.contains(part), "`{part}` in\n{reverse}");
    }
    // Without a description nothing is known of the pointers, and Rust does not fuse.
    let plain = entry(&ptx, "plain");
    assert!(plain.contains("ld.global.b32") && !plain.contains("maxntid"), "{plain}");
    assert!(
        plain.contains("mul.rn.f32") && plain.contains("add.rn.f32") && !plain.contains("fma"),
        "{plain}"
    );
    assert!(!ptx.contains(".cuda"), "{ptx}");
}

#[test]
fn several_architectures_come_from_one_compile_and_nothing_is_done_twice() {
    let krate = Krate::new("several", MEMORIES);
    let out = krate.path().join("out/kernels.ptx");
    let arches = [NvvmArch::Compute90a, NvvmArch::Compute75, NvvmArch::Compute120];
    let build = || krate.builder().arches(arches).copy_to(&out).build_all().unwrap();
    let first = build();
    assert!(!first.fresh);
    let made: Vec<NvvmArch> = first.artifacts.iter().map(|artifact| artifact.arch).collect();
    assert_eq!(made, arches);
    for (artifact, (target, version)) in
        first.artifacts.iter().zip([("sm_90a", (8, 3)), ("sm_75", (7, 4)), ("sm_120", (8, 7))])
    {
        assert_eq!(artifact.ptx, out.with_file_name(format!("kernels.{}.ptx", artifact.arch)));
        let text = read(&artifact.ptx);
        let header = Header::of(&text);
        assert_eq!((header.target, header.version), (Some(target), Some(version)));
        assert!(entry(&text, "reverse").contains("ld.shared.b32"));
    }
    let second = build();
    assert!(second.fresh);
    assert_eq!(second.artifacts, first.artifacts);

    krate.replace("src/lib.rs", "* 5.0", "* 3.0");
    let before = read(&first.artifacts[0].ptx);
    let third = build();
    assert!(!third.fresh);
    assert_ne!(read(&third.artifacts[0].ptx), before);

    // A file of ours that someone took away is made again, and so is one for other options.
    let options = krate.builder().arches(arches).fma_contraction(true).build_all().unwrap();
    assert!(!options.fresh);
    assert!(entry(&read(&options.artifacts[0].ptx), "plain").contains("fma.rn.f32"));
    std::fs::remove_file(&options.artifacts[1].ptx).unwrap();
    assert!(!krate.builder().arches(arches).fma_contraction(true).build_all().unwrap().fresh);
}

#[test]
fn one_architecture_is_written_where_it_was_asked_for() {
    let krate = Krate::new("single", MEMORIES);
    let out = krate.path().join("kernels.ptx");
    let linked = krate.path().join("linked.ll");
    let written =
        krate.builder().copy_to(&out).final_module_path(&linked).emit_llvm_ir(true).build().unwrap();
    assert_eq!(written, out);
    assert_eq!(Outline::of(&read(&out)).entries().count(), 2);
    assert!(read(&out.with_extension("ll")).contains("define ptx_kernel void @reverse("));
    // Before optimisation the accesses still go through casts; after it they do not.
    assert!(read(&linked).contains("addrspacecast (ptr addrspace(3)"));
    let optimised = krate.builder().emit_llvm_ir(true).final_module_path(&linked).build_all().unwrap();
    let text = read(optimised.artifacts[0].llvm.as_deref().unwrap());
    assert!(
        text.contains("load float, ptr addrspace(3)") && !text.contains("addrspacecast (ptr addrspace(3)"),
        "{text}"
    );
}

#[test]
fn a_crate_written_for_rust_cuda_needs_no_attributes() {
    // No `no_std`, no feature gates, another edition, inline PTX, a feature of the crate's own and one of the architecture's.
    let krate = Krate::new(
        "bare",
        r#"
        #[no_mangle]
        pub unsafe extern "ptx-kernel" fn identify(to: *mut u32) {
            let lane: u32;
            core::arch::asm!("mov.u32 {}, %laneid;", out(reg32) lane);
            let hopper = if cfg!(target_feature = "compute_90") { 1 } else { 2 };
            let turing = if cfg!(target_feature = "compute_75") { 10 } else { 20 };
            let asked = if cfg!(feature = "asked") { 100 } else { 200 };
            *to = lane + hopper + turing + asked;
        }
        "#,
    );
    krate.replace("Cargo.toml", "2024", "2021");
    krate.replace("Cargo.toml", "[dependencies]", "[features]\nasked = []\n");
    let build = krate.builder().build_args(&["--features", "asked"]).build_all().unwrap();
    let ptx = read(&build.artifacts[0].ptx);
    assert!(ptx.contains("mov.u32 %r1, %laneid;") && ptx.contains(", 112;"), "{ptx}");
    assert_eq!(build.warnings, [""; 0]);
}

#[test]
fn kernels_and_statics_of_a_dependency_come_along() {
    let krate = Krate::new(
        "user",
        "#![no_std]\n#[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn own(to: *mut u32) {\n    unsafe { *to = dependency::used(*to) }\n}",
    );
    krate.replace("Cargo.toml", "[dependencies]", "[dependencies]\ndependency = { path = \"dependency\" }");
    krate.write(
        "dependency/Cargo.toml",
        "[package]\nname = \"dependency\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    );
    krate.write(
        "dependency/src/lib.rs",
        r#"
        #![no_std]
        #![feature(abi_ptx)]
        #[inline(never)]
        pub fn used(value: u32) -> u32 { value.pow(3) }
        #[inline(never)]
        pub fn unused(value: u32) -> u32 { value + 1 }
        #[unsafe(link_section = ".cuda.global")]
        #[unsafe(no_mangle)]
        pub static mut COUNT: u32 = 7;
        #[unsafe(link_section = ".cuda.kernel")]
        #[used]
        static LIBRARY: [u8; 13] = *b"library\x000\x000\x00r";
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn library(from: *const u32) { unsafe { COUNT = *from } }
        "#,
    );
    let build = krate.build().unwrap();
    let ptx = read(&build.artifacts[0].ptx);
    let outline = Outline::of(&ptx);
    let mut entries: Vec<&str> = outline.entries().collect();
    entries.sort();
    assert_eq!(entries, ["library", "own"]);
    assert!(
        ptx.contains(".visible .global .align 4 .b8 COUNT[4] = {7")
            || ptx.contains(".visible .global .align 4 .u32 COUNT = 7;"),
        "{ptx}"
    );
    assert!(entry(&ptx, "library").contains("ld.global.nc.b32"), "{ptx}");
    assert!(!ptx.contains("unused"), "{ptx}");
    let sources: Vec<PathBuf> = build.sources.iter().map(|path| path.canonicalize().unwrap()).collect();
    let root = krate.path().canonicalize().unwrap();
    for file in ["Cargo.toml", "src", "src/lib.rs", "dependency/Cargo.toml", "dependency/src"] {
        assert!(sources.contains(&root.join(file)), "no {file} in {sources:?}");
    }
    assert!(!sources.iter().any(|path| path.ends_with("library/core/Cargo.toml")), "{sources:?}");
}

#[test]
fn a_dependency_that_is_a_cdylib_too_builds_once() {
    let krate = Krate::new(
        "owner",
        "#![no_std]\n#[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn own(to: *mut u32) {\n    unsafe { *to = gpu::twice(*to) }\n}",
    );
    krate.replace("Cargo.toml", "[dependencies]", "[dependencies]\ngpu = { path = \"gpu\" }");
    krate.write(
        "gpu/Cargo.toml",
        "[package]\nname = \"gpu\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[lib]\ncrate-type = [\"cdylib\", \"rlib\"]\n",
    );
    krate.write(
        "gpu/src/lib.rs",
        "#![no_std]\n#[inline(never)]\npub fn twice(value: u32) -> u32 { value * 2 }\n\
         #[panic_handler]\nfn panic(_: &core::panic::PanicInfo<'_>) -> ! {\n    loop {}\n}\n",
    );
    let source = read(&krate.path().join("src/lib.rs")).replace(PANIC_HANDLER, "");
    krate.write("src/lib.rs", &source);
    let build = krate.build().unwrap();
    let ptx = read(&build.artifacts[0].ptx);
    assert_eq!(Outline::of(&ptx).entries().collect::<Vec<_>>(), ["own"]);
    // Without a hash in its name, as cargo names what could be installed.
    let rlib = shared_folder().join("nvptx64-nvidia-cuda/release/deps/libgpu.rlib");
    let compiled = || std::fs::metadata(&rlib).unwrap().modified().unwrap();
    let first = compiled();
    assert!(krate.build().unwrap().fresh);
    assert_eq!(compiled(), first, "the dependency was compiled again");
}

#[test]
fn an_attribute_that_rustc_removed_is_named_with_what_to_delete() {
    let source = "#![cfg_attr(\n    target_os = \"cuda\",\n    no_std,\n    feature(register_attr),\n    \
                  register_attr(nvvm_internal)\n)]\npub fn nothing() {}";
    let error = Krate::new("registered", source).build().unwrap_err();
    let CudaBuilderError::AttributeRemoved { place } = &error else { panic!("{error}") };
    assert!(place.ends_with("src/lib.rs:4"), "{place}");
    assert!(error.to_string().contains("delete `feature(register_attr)`"), "{error}");
}

#[test]
fn a_program_that_allocates_and_formats_is_whole() {
    let source = r#"
        extern crate alloc;
        use core::alloc::{GlobalAlloc, Layout};
        unsafe extern "C" {
            fn malloc(size: usize) -> *mut u8;
            fn free(pointer: *mut u8);
        }
        struct Device;
        unsafe impl GlobalAlloc for Device {
            unsafe fn alloc(&self, layout: Layout) -> *mut u8 { unsafe { malloc(layout.size()) } }
            unsafe fn dealloc(&self, pointer: *mut u8, _: Layout) { unsafe { free(pointer) } }
        }
        #[global_allocator]
        static DEVICE: Device = Device;
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn length(value: f32, to: *mut usize) {
            unsafe { *to = alloc::format!("{value}").len() }
        }
    "#;
    let krate = Krate::new("allocates", source);
    let ptx = krate.ptx();
    let outline = Outline::of(&ptx);
    let mut externals: Vec<&str> = outline.external_functions().collect();
    externals.sort();
    assert_eq!(externals, ["free", "malloc"]);

    krate.replace("src/lib.rs", "#[global_allocator]", "");
    let error = krate.build().unwrap_err();
    assert!(error.to_string().contains("It is Rust's allocator: define a `#[global_allocator]`"), "{error}");
}

#[test]
fn a_function_that_nothing_defines_is_named_with_its_line() {
    let krate = Krate::new(
        "unresolved",
        "#![no_std]\nunsafe extern \"C\" {\n    fn no_such_function(x: f32) -> f32;\n}\n#[unsafe(no_mangle)]\n\
         pub unsafe extern \"ptx-kernel\" fn wave(to: *mut f32) {\n    unsafe { *to = no_such_function(*to) }\n}",
    );
    let error = krate.build().unwrap_err();
    let CudaBuilderError::Audit { arch: NvvmArch::Compute75, findings } = &error else { panic!("{error}") };
    let [Finding::Unresolved { symbol, users, place: Some(place) }] = &findings[..] else {
        panic!("{error}")
    };
    assert_eq!((symbol.as_str(), users.as_slice()), ("no_such_function", &[String::from("wave")][..]));
    assert!(place.ends_with("src/lib.rs:7"), "{place}");
    // What a build script's `unwrap` prints is for a person.
    assert_eq!(format!("{error:?}"), error.to_string());
}

#[test]
fn a_pointer_that_can_go_to_two_memories_is_named_with_its_line() {
    let krate = Krate::new(
        "mixed",
        "#![no_std]\n#[unsafe(link_section = \".cuda.shared\")]\nstatic mut TILE: core::mem::MaybeUninit<[u32; 8]> = core::mem::MaybeUninit::uninit();\n\
         #[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn mixed(to: *mut u32, which: u32) {\n    unsafe {\n        \
         let at = if which == 0 { &raw mut TILE as *mut u32 } else { to };\n        \
         at.add(which as usize & 7).write_volatile(which);\n    }\n}",
    );
    let error = krate.build().unwrap_err();
    let CudaBuilderError::Audit { findings, .. } = &error else { panic!("{error}") };
    let [Finding::GenericAccess { function, variable, memory, access, place: Some(place) }] = &findings[..]
    else {
        panic!("{error}")
    };
    assert_eq!((function.as_str(), *memory, *access), ("mixed", "shared", "store"));
    assert!(variable.ends_with("TILE"), "{variable}");
    assert!(place.ends_with("src/lib.rs:8"), "{place}");
}

/// Set for the process that [`child`] is to act in.
const CHILD: &str = "CUDA_BUILDER_TEST_CRATE";

/// Set to the architecture that [`child`] is to build for, if not the default.
const CHILD_ARCH: &str = "CUDA_BUILDER_TEST_ARCH";

/// No test: builds the crate that the environment names, so that another test sees all that a build prints.
#[test]
fn child() {
    let Some(krate) = std::env::var_os(CHILD) else { return };
    let mut builder = CudaBuilder::new(krate).target_dir(shared_folder());
    if let Ok(arch) = std::env::var(CHILD_ARCH) {
        builder = builder.arch(arch.parse().unwrap());
    }
    println!("outcome: {:?}", builder.build());
}

fn build_in_child(krate: &Krate, change: impl FnOnce(&mut Command)) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).env(CHILD, krate.path()).env_remove("CARGO_TERM_COLOR");
    change(&mut command);
    command.output().unwrap()
}

#[test]
fn compile_errors_are_rustcs_own_words() {
    let krate =
        Krate::new("wrong", "#![no_std]\npub fn wrong() -> u32 {\n    let text = \"seven\";\n    text\n}");
    let output = build_in_child(&krate, |_| {});
    let said = String::from_utf8(output.stderr).unwrap();
    let expected = "error[E0308]: mismatched types\n --> src/lib.rs:4:5\n  |\n2 | pub fn wrong() -> u32 {\n  |                   \
                    --- expected `u32` because of return type\n3 |     let text = \"seven\";\n4 |     text\n  |     ^^^^ expected `u32`, \
                    found `&str`\n";
    assert!(said.contains(expected), "{said}");
    let outcome = String::from_utf8(output.stdout).unwrap();
    assert!(outcome.contains("outcome: Err(the kernel crate did not compile"), "{outcome}");
}

#[test]
fn a_build_script_tells_cargo_what_to_watch_and_keeps_its_own_flags_to_itself() {
    let krate = Krate::new("watched", MEMORIES);
    let output = build_in_child(&krate, |command| {
        command
            .envs([("OPT_LEVEL", "0"), ("TARGET", "x86_64-unknown-linux-gnu"), ("PROFILE", "debug")])
            .env("OUT_DIR", krate.path())
            .env("CARGO_MANIFEST_DIR", krate.path().canonicalize().unwrap().join("src"))
            .env("RUSTFLAGS", "--no-such-flag")
            .env("CARGO_ENCODED_RUSTFLAGS", "--no-such-flag")
            .env("RUSTC_WORKSPACE_WRAPPER", "/no/such/wrapper")
            .env("CARGO_BUILD_TARGET", "no-such-target")
            .env("CARGO_TERM_COLOR", "always");
    });
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("outcome: Ok("), "{said}{}", String::from_utf8_lossy(&output.stderr));
    // Seen from the package whose build script it is, so that a checkout may be moved with what was built from it.
    for file in ["./../Cargo.toml", ".", "./lib.rs"] {
        let line = format!("cargo:rerun-if-changed={file}\n");
        assert!(said.contains(&line), "no {line} in\n{said}");
    }
    assert!(said.contains("cargo:rerun-if-env-changed=CUDA_BUILDER_LIBRARY_SOURCE\n"), "{said}");
    assert!(!output.stderr.contains(&0x1b), "colours in {}", String::from_utf8_lossy(&output.stderr));

    let elsewhere = build_in_child(&krate, |command| {
        command.env_remove("OPT_LEVEL");
    });
    assert!(!String::from_utf8_lossy(&elsewhere.stdout).contains("cargo:"));
}

#[test]
fn an_architecture_that_llvm_lacks_is_refused() {
    // NVIDIA names 7.3, LLVM never had it.
    let krate = Krate::new("lacking", MEMORIES);
    let error = krate.builder().arch(NvvmArch::Compute73).build().unwrap_err();
    assert!(
        matches!(error, CudaBuilderError::ArchitectureUnknown { arch: NvvmArch::Compute73, .. }),
        "{error}"
    );
    let error = krate.builder().ptx_version(6, 0).build().unwrap_err().to_string();
    assert!(error.starts_with("PTX version 6.0 cannot hold code for compute_75"), "{error}");
}

#[test]
fn what_llvm_gives_up_on_ends_the_build_with_a_reason() {
    let krate = Krate::new(
        "sleeps",
        "#![no_std]\n#![feature(link_llvm_intrinsics)]\nunsafe extern \"C\" {\n    #[link_name = \"llvm.nvvm.nanosleep\"]\n    \
         fn nanosleep(nanoseconds: u32);\n}\n#[unsafe(no_mangle)]\n\
         pub unsafe extern \"ptx-kernel\" fn sleeps() {\n    unsafe { nanosleep(7) }\n}",
    );
    assert!(krate.ptx().contains("nanosleep.u32"));
    let output = build_in_child(&krate, |command| {
        command.env(CHILD_ARCH, "compute_53");
    });
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("error: LLVM gave up making PTX for compute_53: Cannot select: intrinsic %llvm.nvvm.nanosleep. The"),
        "{said}"
    );
    assert!(said.contains("raise `.arch(..)`"), "{said}");
}

#[test]
fn what_the_optimiser_does_not_finish_in_one_round_builds() {
    // `fmod` of `compiler_builtins` is such a function: `instcombine` run by its bare name gives up on it.
    let krate = Krate::new(
        "remainder",
        "#![no_std]\nunsafe extern \"C\" {\n    fn fmod(x: f64, y: f64) -> f64;\n}\n#[unsafe(no_mangle)]\n\
         pub unsafe extern \"ptx-kernel\" fn remainder(x: f64, y: f64, to: *mut f64) {\n    unsafe { *to = fmod(x, y) }\n}",
    );
    let remainder = entry(&krate.ptx(), "remainder");
    assert!(remainder.contains("rem.u64") || remainder.contains("div.u64"), "{remainder}");
    assert!(remainder.contains("st.global"), "{remainder}");
}

#[test]
fn a_constant_table_is_read_from_where_it_is() {
    // Indexed at run time, and read by reference too: the copy on the stack becomes the table itself.
    let krate = Krate::new(
        "table",
        "#![no_std]\n#[inline]\nfn pick(table: &[f64; 8], at: usize, other: &mut f64) -> f64 {\n    *other = table[at / 3 % 8];\n    \
         table[at % 8]\n}\n#[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn table(at: *const u32, to: *mut f64) {\n    \
         const TABLE: [f64; 8] = [1.0, 1.25, 1.5, 7.0, 8.0, 9.0, 10.0, 11.0];\n    let table = TABLE;\n    let mut other = 0.0;\n    \
         unsafe {\n        let at = *at as usize;\n        *to = pick(&table, at, &mut other) + table[at / 2 % 8] + other;\n    }\n}",
    );
    let table = entry(&krate.ptx(), "table");
    assert!(table.contains("ld.global"), "{table}");
    assert!(!table.contains("ld.local") && !table.contains(".local"), "{table}");
}

#[test]
fn a_barrier_between_two_branches_stays_one() {
    // Both branches ask the same, and a compiler for one thread would copy what is between into either of them.
    let krate = Krate::new(
        "between",
        "#![no_std]\n#![feature(stdarch_nvptx)]\nuse core::arch::nvptx::{_syncthreads, _thread_idx_x};\n#[unsafe(no_mangle)]\n\
         pub unsafe extern \"ptx-kernel\" fn between(a: *mut u32, b: *mut u32, n: u32) {\n    unsafe {\n        \
         let there = _thread_idx_x() < n;\n        let value = if there { *a } else { 0 };\n        _syncthreads();\n        \
         if there {\n            *b = value;\n        }\n    }\n}",
    );
    let between = entry(&krate.ptx(), "between");
    assert_eq!(between.matches("bar.sync").count(), 1, "{between}");
}

/// A crate for safe kernels, without the types that would refuse most of the kernels below.
const BLOCK: &str = r#"
#![no_std]
#![feature(stdarch_nvptx)]
use core::arch::nvptx::{_syncthreads, _thread_idx_x};
pub struct Block(());
impl Block {
    pub fn new() -> Self { Self(()) }
    pub fn each<R>(&mut self, mut code: impl FnMut(u32) -> R) -> R {
        code(unsafe { _thread_idx_x() as u32 })
    }
    pub fn sync(&mut self) { unsafe { _syncthreads() } }
}
"#;

/// The prelude of the kernels below.
const SAFE: &str = r#"
#![no_std]
use block::Block;

macro_rules! kernel {
    ($name:ident, $carrier:ident, $descriptor:literal, |$block:ident, $data:ident, $n:ident| $code:block) => {
        #[unsafe(link_section = ".cuda.kernel")]
        #[used]
        static $carrier: [u8; $descriptor.len()] = *$descriptor;

        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(from: *mut u32, $n: u32) {
            let $data = unsafe { core::slice::from_raw_parts_mut(from, $n as usize) };
            let mut $block = Block::new();
            $code
        }
    };
}
"#;

/// Kernels with barriers, some of which not all threads reach. The end of such a barrier's line says so, and that of
/// the line that decides it.
const BARRIERS: &str = r#"
use core::cell::Cell;

kernel!(fine, A, b"fine\x000\x000\0--\0safe", |block, data, n| {
    let mut sums = [0; 4];
    for (turn, count) in (0..n).step_by(7).zip([1, 2, 3, 4]) {
        block.each(|t| data[(t + turn) as usize] += count);
        block.sync();
        sums[(turn & 3) as usize] += count;
    }
    if sums[(n & 3) as usize] > 3 && data[0] == n {
        block.sync();
    }
    block.each(|t| for step in t..n { data[step as usize] = t });
    block.sync();
});

kernel!(cell, B, b"cell\x000\x000\0--\0safe", |block, _data, _n| {
    let some = Cell::new(false);
    block.each(|t| some.set(t < 3)); // decides
    if some.get() {
        block.sync(); // barrier
    }
});

kernel!(local, C, b"local\x000\x000\0--\0safe", |block, _data, n| {
    let mut turns = 0;
    block.each(|t| turns = t % n); // decides
    for _ in 0..turns {
        block.sync(); // barrier
    }
});

kernel!(early, D, b"early\x000\x000\0--\0safe", |block, data, _n| {
    if block.each(|t| data[t as usize] == 7) { // decides
        return;
    }
    block.sync(); // barrier
    data[0] = 1;
});

kernel!(not_safe, E, b"not_safe\x000\x000\0--", |block, _data, _n| {
    if block.each(|t| t < 3) {
        block.sync();
    }
});
"#;

const FLAG: &str = r#"
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
static FLAG: AtomicBool = AtomicBool::new(false);

kernel!(flag, A, b"flag\x000\x000\0--\0safe", |block, _data, _n| {
    block.each(|t| FLAG.store(t < 3, Relaxed)); // static
    if FLAG.load(Relaxed) { // static
        block.sync();
    }
});

kernel!(not_safe, B, b"not_safe\x000\x000\0--", |block, _data, _n| {
    block.each(|t| FLAG.store(t < 3, Relaxed));
});
"#;

/// Builds kernels over [`BLOCK`] and [`SAFE`]; gives what the audit finds, and its text.
fn safe_findings(kernels: &str) -> (Vec<Finding>, String) {
    let krate = Krate::new("safe", &format!("{SAFE}{kernels}"));
    krate.replace("Cargo.toml", "[dependencies]", "[dependencies]\nblock = { path = \"block\" }");
    krate.write("block/Cargo.toml", "[package]\nname = \"block\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    krate.write("block/src/lib.rs", BLOCK);
    let error = krate.build().unwrap_err();
    let text = error.to_string();
    let CudaBuilderError::Audit { findings, .. } = error else { panic!("{text}") };
    (findings, text)
}

/// The lines of such kernels that end with that comment.
fn marked(kernels: &str, comment: &str) -> Vec<usize> {
    let source = format!("{SAFE}{kernels}");
    let lines = source.lines().enumerate().filter(|(_, line)| line.ends_with(comment));
    lines.map(|(index, _)| index + 1).collect()
}

/// The line of a place in the kernel crate.
fn line(place: Option<&String>) -> usize {
    let (file, line) = place.unwrap().rsplit_once(':').unwrap();
    assert!(file.ends_with("src/lib.rs") && !file.contains("block/"), "{file}");
    line.parse().unwrap()
}

#[test]
fn barriers_of_safe_kernels_that_not_all_threads_reach_are_named_with_their_lines() {
    let (findings, text) = safe_findings(BARRIERS);
    let (mut functions, mut barriers, mut decide) = (Vec::new(), Vec::new(), Vec::new());
    for finding in &findings {
        let Finding::DivergentBarrier { function, place, cause, cause_place, .. } = finding else {
            panic!("{text}")
        };
        functions.push(function.as_str());
        barriers.push(line(place.as_ref()));
        decide.push(line(cause_place.as_ref()));
        assert_eq!(cause, "the thread's index (`tid.x`)");
    }
    for lines in [&mut barriers, &mut decide] {
        lines.sort_unstable();
    }
    functions.sort_unstable();
    assert_eq!(functions, ["cell", "early", "local"], "{text}");
    assert_eq!(barriers, marked(BARRIERS, "// barrier"), "{text}");
    assert_eq!(decide, marked(BARRIERS, "// decides"), "{text}");
}

#[test]
fn a_static_that_can_change_is_refused_in_safe_kernels() {
    let (findings, text) = safe_findings(FLAG);
    let [Finding::MutableStatic { kernel, variable, place }] = &findings[..] else { panic!("{text}") };
    assert_eq!(kernel, "flag");
    assert!(variable.ends_with("4FLAG"), "{variable}");
    assert!(marked(FLAG, "// static").contains(&line(place.as_ref())), "{text}");
}

#[test]
fn override_libm_is_taken_and_told_to_be_without_effect() {
    let krate = Krate::new("overrides", MEMORIES);
    let build = krate.builder().override_libm(true).build_all().unwrap();
    let [warning] = &build.warnings[..] else { panic!("{:?}", build.warnings) };
    assert!(warning.starts_with("`override_libm(true)` overrides nothing"), "{warning}");
    let plain = krate.build().unwrap();
    assert_eq!(plain.warnings, [""; 0]);
    assert_eq!(read(&plain.artifacts[0].ptx), read(&build.artifacts[0].ptx));
}

#[test]
fn paths_that_cannot_be_written_are_named_with_what_to_do() {
    let krate = Krate::new("unwritable", MEMORIES);
    // No folder can be made below a file, not even by root.
    let below_a_file = krate.path().join("Cargo.toml/kernels.ptx");
    let error = krate.builder().copy_to(&below_a_file).build().unwrap_err();
    assert!(matches!(error, CudaBuilderError::FailedToCopyPtxFile(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains(&format!("`copy_to`: {}: ", below_a_file.display())), "{text}");
    let error = CudaBuilder::new(krate.path()).target_dir(&below_a_file).build().unwrap_err().to_string();
    assert!(error.starts_with(&format!("{} could not be created: ", below_a_file.display())), "{error}");
    assert!(error.contains("Check that") && error.contains("`.target_dir(..)`"), "{error}");
}

#[test]
fn statics_larger_than_their_memory_are_named() {
    let krate = Krate::new(
        "large",
        "#![no_std]\n#[unsafe(link_section = \".cuda.shared\")]\n\
         static mut TILE: core::mem::MaybeUninit<[u32; 65536]> = core::mem::MaybeUninit::uninit();\n\
         #[unsafe(link_section = \".cuda.constant\")]\n#[unsafe(no_mangle)]\npub static mut TABLE: [f32; 20000] = [1.0; 20000];\n\
         #[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn large(to: *mut f32, at: usize) {\n    unsafe {\n        \
         let tile = &raw mut TILE as *mut u32;\n        tile.add(at).write_volatile(1);\n        \
         *to = TABLE[at % 20000] + tile.add(at + 1).read_volatile() as f32;\n    }\n}",
    );
    let error = krate.build().unwrap_err().to_string();
    for part in [
        "the kernel `large` has 262144 bytes of static shared memory (`large::TILE`: 262144), and 49152 is the most",
        "the constant statics take 80000 bytes (`TABLE`: 80000), and 65536 is the most",
    ] {
        assert!(error.contains(part), "no `{part}` in\n{error}");
    }
}
