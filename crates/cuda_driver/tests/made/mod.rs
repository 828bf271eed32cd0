//! Makes driver libraries for tests, with the compiler that the tests were made with.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A driver library of CUDA 13.0 with 3 devices whose `cuInit` returns `code`; with 34, as the toolkit's stub
/// does, so does `cuDriverGetVersion`.
pub(crate) fn library(folder: &Path, name: &str, code: i32) -> PathBuf {
    let version = if code == 34 { "34" } else { "{ unsafe { *version = 13000 }; 0 }" };
    let source = format!(
        "#[unsafe(no_mangle)] pub extern \"C\" fn cuInit(_flags: u32) -> i32 {{ {code} }}
         #[unsafe(no_mangle)] pub extern \"C\" fn cuDriverGetVersion(version: *mut i32) -> i32 {{ {version} }}
         #[unsafe(no_mangle)] pub extern \"C\" fn cuDeviceGetCount(count: *mut i32) -> i32 {{
             unsafe {{ *count = 3 }};
             0
         }}"
    );
    let source_file = folder.join("driver.rs");
    std::fs::write(&source_file, source).expect("a file");
    let library = folder.join(name);
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition=2024", "--crate-type=cdylib", "-Aunused_variables", "-o"])
        .args([&library, &source_file])
        .output()
        .expect("rustc");
    assert!(output.status.success(), "{output:?}");
    library
}
