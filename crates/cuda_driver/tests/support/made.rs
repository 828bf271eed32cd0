//! Makes driver libraries for tests, with the compiler that the tests were made with.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A driver library of CUDA 13.0 with 3 devices whose `cuInit` returns `code`; with 34, as the toolkit's stub
/// does, so does `cuDriverGetVersion`. `cuLaunchKernel` wants the numbers from 1 to 11, `cuTexRefSetMipmapLevelClamp` 1, 0.25
/// and -2.5.
pub(crate) fn library(folder: &Path, name: &str, code: i32) -> PathBuf {
    let version = if code == 34 { "34" } else { "{ unsafe { *version = 13000 }; 0 }" };
    let source = format!(
        "#[unsafe(no_mangle)] pub extern \"C\" fn cuInit(_flags: u32) -> i32 {{ {code} }}
         #[unsafe(no_mangle)] pub extern \"C\" fn cuDriverGetVersion(version: *mut i32) -> i32 {{ {version} }}
         #[unsafe(no_mangle)] pub extern \"C\" fn cuDeviceGetCount(count: *mut i32) -> i32 {{
             unsafe {{ *count = 3 }};
             0
         }}
         #[unsafe(no_mangle)] pub extern \"C\" fn cuLaunchKernel(
             f: usize, a: u32, b: u32, c: u32, d: u32, e: u32, g: u32, h: u32, i: usize, j: usize, k: usize,
         ) -> i32 {{
             if [a, b, c, d, e, g, h] == [2, 3, 4, 5, 6, 7, 8] && [f, i, j, k] == [1, 9, 10, 11] {{ 0 }} else {{ 1 }}
         }}
         #[unsafe(no_mangle)] pub extern \"C\" fn cuTexRefSetMipmapLevelClamp(f: usize, a: f32, b: f32) -> i32 {{
             if (f, a, b) == (1, 0.25, -2.5) {{ 0 }} else {{ 1 }}
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
