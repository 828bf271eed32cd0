//! Matrix multiplication on a simulated card: any size, factors as BLAS has them, and tiles that cannot be.

use crate::support::coalesce;
use crate::support::outcome::outcome;
use crate::support::records::{number, records, refusal};

#[test]
fn any_size_verifies() {
    // One of everything, remainders on every side, whole squares of the kernel with registers, a row, a column.
    let sizes = "1x1x1,70x133x37,128x256x16,1x300x5,140x1x9";
    let records = records(&["matmul", "--size", sizes, "--tile", "16,7,32"]);
    // And `matmul_mma`, of which rows are whole units in one of the sizes.
    assert_eq!(records.len(), 5 * 8 + 1);
    let record = records.iter().find(|record| record["parameters"]["tile"] == 7).expect("tiles of 7");
    assert_eq!(record["parameters"]["block"], "7x7");
}

#[test]
fn factors_are_those_of_blas() {
    for (alpha, beta) in [("1", "1"), ("-0.5", "0.25"), ("0", "2"), ("3", "0"), ("0.1", "-0.3")] {
        let records = records(&["matmul", "--size", "70x33x20,128x128x8", "--alpha", alpha, "--beta", beta]);
        assert_eq!(records.len(), 14);
        let read = number(&records[0], "bytes.read");
        let of_c = if beta == "0" { 0.0 } else { 4.0 * 70.0 * 33.0 };
        assert_eq!(read, 8.0 * 70.0 * 33.0 * 20.0 + of_c);
    }
}

#[test]
fn intensity_grows_with_the_tile() {
    let records = records(&["matmul", "--size", "128"]);
    let of = |kernel: &str, field: &str| {
        let record = records.iter().find(|record| record["kernel"] == kernel).expect("one of each");
        number(record, field)
    };
    let bytes = |width: f64| (8.0 * 128_f64.powi(3) / width) + 4.0 * 128.0 * 128.0;
    let flops = 2.0 * 128_f64.powi(3);
    for (kernel, width) in [
        ("matmul_naive", 1.0),
        ("matmul_tiled_16", 16.0),
        ("matmul_tiled_32", 32.0),
        ("matmul_register", 128.0),
        ("matmul_register_wide", 128.0),
    ] {
        let intensity = of(kernel, "arithmetic_intensity");
        assert!((intensity - flops / bytes(width)).abs() < 1e-6 * intensity, "{kernel}: {intensity}");
        let rate = flops / 1e6 / of(kernel, "time_ms.median");
        assert!((of(kernel, "gflop_per_s") - rate).abs() < 1e-6 * rate, "{kernel}");
    }
}

#[test]
fn a_tile_that_cannot_launch_says_why() {
    let error = refusal(&["matmul", "--tile", "1024"]);
    for says in ["1048576 threads", "8 MiB of shared memory", "1024 threads and 227 KiB", "widest tile is 32"]
    {
        assert!(error.contains(says), "{error}");
    }
    let error = refusal(&["matmul", "--kernel", "matmul_tiled_32", "--device", "sim:c870"]);
    assert!(error.contains("1024 threads") && error.contains("512 threads"), "{error}");
}

#[test]
fn a_card_with_smaller_blocks_leaves_the_wide_tile_out() {
    let records = records(&["matmul", "--size", "20", "--device", "sim:c870"]);
    let kernels: Vec<_> =
        records.iter().map(|record| record["kernel"].as_str().unwrap_or_default()).collect();
    assert_eq!(kernels, ["matmul_naive", "matmul_tiled_16", "matmul_tiled_dynamic", "matmul_register"]);
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    for (size, says) in [
        ("0", "'0' is not a whole number"),
        ("-4", "'-4' is not a whole number"),
        ("3x5", "or three, as in 512x768x1024"),
        ("2147483648", "more than 2^64 bytes"),
        ("1000000x1000000x1", "NVIDIA H200 has"),
        ("1x1x16777216", "k goes up to 16777215"),
    ] {
        let error = refusal(&["matmul", "--size", size]);
        assert!(error.contains(says), "{error}");
    }
    let error = refusal(&["matmul", "--alpha", "nan"]);
    assert!(error.contains("'nan' is not a number"), "{error}");
}

#[test]
fn kernels_for_tensor_cores_are_left_out_and_named() {
    let out = outcome(&mut coalesce(&[
        "run", "matmul", "--size", "64", "--device", "sim:h200", "--format", "json",
    ]));
    assert_eq!(out.status, Some(0), "{}", out.err);
    assert!(out.out.contains("matmul_mma") && !out.out.contains("matmul_wgmma"), "{}", out.out);
    let is_note = |line: &&str| {
        line.starts_with("note: matmul_wgmma, ")
            && line.ends_with(
                " are left out: kernels for compute_90a are not simulated, and run on GPUs of compute capability 9.0 alone",
            )
    };
    assert_eq!(out.err.lines().filter(is_note).count(), 1, "{}", out.err);

    let error = refusal(&["matmul", "--kernel", "matmul_naive,matmul_overlapped"]);
    assert!(
        error.contains(
            "error: matmul_overlapped cannot be launched: kernels for compute_90a are not simulated"
        ),
        "{error}"
    );
    let explain = outcome(&mut coalesce(&["explain", "matmul_wgmma"]));
    assert_eq!(explain.status, Some(1));
    assert!(explain.err.contains("`cargo xtask ptx matmul_wgmma` prints its PTX"), "{}", explain.err);
    assert!(explain.err.contains("gpu-kernels/src/unchecked/tensor/warpgroup.rs"), "{}", explain.err);

    let list = outcome(&mut coalesce(&["list"])).out;
    let says = "matmul_register_wide\n    for compute_90a alone: matmul_mma\n    for compute_90a alone, not simulated: \
                matmul_wgmma, ";
    assert!(list.contains(says), "{list}");
}

#[test]
fn a_check_of_the_experiment_leaves_them_out_too() {
    let check = outcome(&mut coalesce(&["check", "matmul", "--size", "20x24x8"]));
    assert_eq!(check.status, Some(0), "{}", check.err);
    assert!(check.out.contains("no findings of 7 kernels in 8 launches"), "{}", check.out);
    assert!(check.err.contains(" are left out: kernels for compute_90a are not simulated"), "{}", check.err);
}
