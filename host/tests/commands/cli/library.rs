//! `compare --library` and the card's sensors, on libraries that the tests bring with them.

use super::{close, records};
use crate::support::fake::{coalesce, compiled};
use crate::support::outcome::{Outcome, outcome};
use std::{fs, process::Command};

/// The program beside a fake cuBLAS and a fake NVML, in a folder that is to outlive it.
fn beside_library(arguments: &[&str]) -> (Command, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    compiled("libcublas", folder.path(), "libcublas.so.13");
    compiled("libcublaslt", folder.path(), "libcublasLt.so.13");
    compiled("libnvidia_ml", folder.path(), "libnvidia-ml.so.1");
    let product = ["compare", "--library", "cublas", "--kernel", "matmul_register", "--samples", "6"];
    let mut command = coalesce(&[&product[..], arguments].concat());
    command.env("LD_LIBRARY_PATH", folder.path()).env("FAKE_MEMORY", (512_u64 << 20).to_string());
    (command, folder)
}

#[test]
fn a_kernel_is_interleaved_with_the_library() {
    let (mut command, _folder) = beside_library(&["--size", "64x64x64,40x24x16", "--format", "json"]);
    let Outcome { status, out, err } = outcome(&mut command);
    assert_eq!(status, Some(0), "{err}");
    let rows = records(&out);
    let names: Vec<_> = rows.iter().map(|row| (row["kernel"].as_str(), row["language"].as_str())).collect();
    let pair = [(Some("matmul_register"), Some("rust")), (Some("cublas_sgemm"), Some("library"))];
    assert_eq!(names, [pair, pair].concat());
    for pair in rows.chunks(2) {
        let (own, library) = (&pair[0], &pair[1]);
        assert!(own["verified"] == true && library["verified"] == true);
        // 10 us for a launch and 20 GB/s: 8 bytes for each element of the three matrices, and 4.
        let elements = library["parameters"]["bytes"].as_f64().expect("a number") / 4.0;
        let [ours, theirs] = [8.0, 4.0].map(|bytes| 10.0 + elements * bytes / 20e3);
        close(&own["ratio_to_reference"], ours / theirs);
        assert_eq!((&own["reference"], &own["timing"]["load"]), (&"cublas_sgemm".into(), &"burst".into()));
        assert_eq!(own["ratio_range"].as_array().map(Vec::len), Some(2));
        assert!(library["ratio_to_reference"].is_null() && library["ptx"].is_null());
        assert_eq!(library["observed"]["library"], "cuBLAS 13.1.0");
        for shared in ["m", "n", "k", "types", "b"] {
            assert_eq!(library["parameters"][shared], own["parameters"][shared]);
        }
        assert!(library["parameters"]["block"].is_null());
        assert_eq!(own["conditions"]["power_limit_w"], 700.0);
    }
}

#[test]
fn the_fastest_algorithm_is_found_and_named_and_the_faster_library_is_the_reference() {
    let (mut command, _folder) =
        beside_library(&["--library", "cublaslt", "--size", "40x24x16", "--format", "json"]);
    let Outcome { status, out, err } = outcome(&mut command);
    assert_eq!(status, Some(0), "{err}");
    let rows = records(&out);
    let names: Vec<_> = rows.iter().map(|row| row["kernel"].as_str().expect("a name")).collect();
    assert_eq!(names, ["matmul_register", "cublas_sgemm", "cublaslt_matmul"]);
    assert!(rows.iter().all(|row| row["verified"] == true), "{out}");
    // 2 bytes for each element, where the kernel has 8 and the algorithm that is passed over 16.
    let elements = (40 * 24 + 24 * 16 + 40 * 16) as f64;
    let [ours, theirs] = [8.0, 2.0].map(|bytes| 10.0 + elements * bytes / 20e3);
    close(&rows[0]["ratio_to_reference"], ours / theirs);
    assert_eq!(rows[0]["reference"], "cublaslt_matmul");
    let observed = &rows[2]["observed"];
    assert_eq!((&observed["library"], &observed["algorithm"]), (&"cuBLASLt 13.1.0".into(), &2.into()));
    assert_eq!((&observed["tile_id"], &observed["tile"]), (&23.into(), &"128x256".into()));
    assert_eq!((&observed["candidates"], &observed["workspace_bytes"]), (&2.into(), &256.into()));
    assert!(observed["split_k"].is_null(), "the fake library does not tell it");
}

#[test]
fn what_a_library_does_not_compute_is_left_out_with_the_reason() {
    let fp8 =
        ["--kernel", "matmul_e5m2_promoted", "--library", "cublaslt", "--size", "32", "--format", "json"];
    let (mut command, _folder) = beside_library(&fp8);
    let Outcome { status, out, err } = outcome(command.env("FAKE_SHARED", "232448"));
    assert_eq!(status, Some(0), "{err}");
    let rows = records(&out);
    let names: Vec<_> = rows.iter().map(|row| row["kernel"].as_str().expect("a name")).collect();
    assert_eq!(names, ["matmul_register", "cublas_sgemm", "cublaslt_matmul"]);
    for says in [
        "cublas_gemm_ex is left out in e5m2 to bf16: cublasGemmEx has no FP8",
        "cublaslt_matmul is left out in e5m2 to bf16: cuBLASLt multiplies e5m2 by e4m3 alone",
        "no library computes these products, so they are not compared: matmul_e5m2_promoted at 32",
    ] {
        assert!(err.contains(&format!("note: {says}")), "{err}");
    }
}

#[test]
fn a_comparison_with_a_library_is_a_table() {
    let (mut command, folder) = beside_library(&["--size", "64x64x64", "-v"]);
    let out = folder.path().join("out");
    let Outcome { status, out: text, err } = outcome(command.arg("--out").arg(&out));
    assert_eq!(status, Some(0), "{err}");
    assert!(text.contains("\nclocks, power and temperature by the driver's NVML 580.00\n"), "{text}");
    let row = text.lines().find(|line| line.starts_with("cublas_sgemm ")).expect("the library's row");
    // 2 * 64^3 operations in 12.4576 us.
    assert_eq!(row.split_whitespace().nth(1), Some("0.042"), "{text}");
    let sentence =
        "At 64 x 64 x 64, matmul_register takes 1.197 times as long as cublas_sgemm (1.197 to 1.197).";
    let words = err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(sentence) && words.contains("The libraries: cuBLAS 13.1.0."), "{err}");
    let run = fs::read_to_string(out.join("run.json")).expect("the run's record");
    assert!(run.contains("\"nvml\": \"580.00\""), "{run}");
}

#[test]
fn a_library_that_computes_something_wrong_is_invalid_and_no_reference() {
    let (mut command, _folder) = beside_library(&["--size", "64x64x64", "--format", "json"]);
    let Outcome { status, out, err } = outcome(command.env("FAKE_WRONG", "cublas_sgemm"));
    assert_eq!(status, Some(1), "{err}");
    let rows = records(&out);
    assert!(rows[1]["verified"] == false && rows[1]["time_ms"].is_null(), "{out}");
    assert!(rows[0]["ratio_to_reference"].is_null() && rows[0]["reference"].is_null(), "{out}");
}
