//! memcheck: each planted fault is found at its line in the right words, and the kernel without it is clean.

use crate::check_lab::{BYTES, all, assert_clean, lab, only};
use simt::check::Check::Memcheck;
use simt::check::Shape;

#[test]
fn memcheck_finds_reads_past_the_end() {
    let lab = lab(Memcheck);
    let (data, out) = (lab.zeros(BYTES), lab.zeros(BYTES));
    assert_eq!(
        only(lab.launch("read_past_end", 2, &[data.into(), out.into()]), Memcheck, "read_past_end"),
        format!(
            "Invalid __global__ read of size 4 bytes\n    by thread (63,0,0) in block (1,0,0)\n    \
             Address {:#x} is out of bounds\n    \
             and is 1 bytes after the nearest allocation at {data:#x} of size 512 bytes",
            data + 512
        )
    );
    let lab = all();
    let (data, out) = (lab.zeros(BYTES), lab.zeros(BYTES));
    let parameters = [data.into(), 128_u64.into(), out.into()];
    assert_clean(&lab.launch("read_past_end_fixed", 2, &parameters), "read_past_end_fixed");
}

#[test]
fn memcheck_finds_writes_before_the_begin() {
    let lab = lab(Memcheck);
    let data = lab.zeros(2 * BYTES);
    assert_eq!(
        only(lab.launch("write_before_begin", 2, &[data.into()]), Memcheck, "write_before_begin"),
        format!(
            "Invalid __global__ write of size 8 bytes\n    by thread (0,0,0) in block (0,0,0)\n    \
             Address {:#x} is out of bounds\n    \
             and is 8 bytes before the nearest allocation at {data:#x} of size 1024 bytes",
            data - 8
        )
    );
    let lab = all();
    let data = lab.empty(2 * BYTES);
    assert_clean(&lab.launch("write_before_begin_fixed", 2, &[data.into()]), "write_before_begin_fixed");
}

#[test]
fn memcheck_finds_misaligned_accesses() {
    let lab = lab(Memcheck);
    let (data, out) = (lab.zeros(BYTES + 2), lab.zeros(BYTES));
    assert_eq!(
        only(lab.launch("misaligned", 2, &[data.into(), out.into()]), Memcheck, "misaligned"),
        format!(
            "Invalid __global__ read of size 4 bytes\n    by thread (0,0,0) in block (0,0,0)\n    \
             Address {:#x} is misaligned",
            data + 2
        )
    );
    let lab = all();
    let (data, out) = (lab.zeros(BYTES), lab.zeros(BYTES));
    assert_clean(&lab.launch("misaligned_fixed", 2, &[data.into(), out.into()]), "misaligned_fixed");
}

#[test]
fn memcheck_finds_uses_after_free() {
    let lab = lab(Memcheck);
    let data = lab.zeros(BYTES);
    lab.memory.free(data).unwrap();
    assert_eq!(
        only(lab.launch("use_after_free", 2, &[data.into()]), Memcheck, "use_after_free"),
        format!(
            "Invalid __global__ read of size 4 bytes\n    by thread (0,0,0) in block (0,0,0)\n    \
             Address {data:#x} is out of bounds\n    \
             and is 0 bytes inside the nearest allocation at {data:#x} of size 512 bytes, which has been freed"
        )
    );
    let lab = all();
    let data = lab.zeros(BYTES);
    assert_clean(&lab.launch("use_after_free_fixed", 2, &[data.into()]), "use_after_free_fixed");
}

#[test]
fn memcheck_finds_what_lies_outside_of_shared_memory() {
    let lab = lab(Memcheck);
    let out = lab.zeros(BYTES);
    let text = only(
        lab.launch("shared_out_of_bounds", 2, &[2_u64.into(), out.into()]),
        Memcheck,
        "shared_out_of_bounds",
    );
    assert_eq!(
        text.lines().take(3).collect::<Vec<_>>(),
        [
            "Invalid __shared__ write of size 4 bytes",
            "    by thread (32,0,0) in block (0,0,0)",
            "    Address 0x100 is out of bounds"
        ]
    );
    let lab = all();
    let out = lab.zeros(BYTES);
    assert_clean(&lab.launch("shared_out_of_bounds_fixed", 2, &[out.into()]), "shared_out_of_bounds_fixed");
}

#[test]
fn memcheck_finds_null_and_atomics() {
    let lab = lab(Memcheck);
    let text = only(lab.launch("null", 2, &[0_u64.into()]), Memcheck, "null");
    assert_eq!(
        text.lines().take(3).collect::<Vec<_>>(),
        [
            "Invalid __global__ write of size 4 bytes",
            "    by thread (0,0,0) in block (0,0,0)",
            "    Address 0x0 is out of bounds"
        ]
    );
    let data = lab.zeros(BYTES);
    let text = only(lab.launch("atomic_past_end", 2, &[data.into()]), Memcheck, "atomic_past_end");
    assert_eq!(
        text.lines().take(3).collect::<Vec<_>>(),
        [
            "Invalid __global__ atomic of size 4 bytes".to_owned(),
            "    by thread (0,0,0) in block (0,0,0)".to_owned(),
            format!("    Address {:#x} is out of bounds", data + (4 << 20))
        ]
    );
    let lab = all();
    assert_clean(&lab.launch("null_fixed", 2, &[0_u64.into()]), "null_fixed");
    let data = lab.zeros(BYTES);
    assert_clean(&lab.launch("atomic_past_end_fixed", 2, &[data.into()]), "atomic_past_end_fixed");
}

#[test]
fn memcheck_finds_panics() {
    let lab = lab(Memcheck);
    let (data, out) = (lab.zeros(BYTES), lab.zeros(BYTES));
    let findings = lab.launch("panics", 2, &[data.into(), 128_u64.into(), out.into()]);
    let text = findings[0].to_string();
    let way = text.lines().nth(2).unwrap();
    assert!(way.starts_with("        by way of ") && way.contains("core/src/panicking.rs:"), "{text}");
    assert_eq!(
        only(findings, Memcheck, "panics"),
        "Kernel panicked: index out of bounds\n    by thread (63,0,0) in block (1,0,0)"
    );

    let text = only(lab.launch("asserts", 1, &[64_u32.into(), out.into()]), Memcheck, "asserts");
    assert_eq!(text.lines().next(), Some("Kernel panicked"));
    assert_eq!(text.lines().last(), Some("    by thread (0,0,0) in block (0,0,0)"));

    let lab = all();
    let (data, out) = (lab.zeros(BYTES), lab.zeros(BYTES));
    let parameters = [data.into(), 128_u64.into(), out.into()];
    assert_clean(&lab.launch("panics_fixed", 2, &parameters), "panics_fixed");
    assert_clean(&lab.launch("asserts_fixed", 2, &[64_u32.into(), out.into()]), "asserts_fixed");
}

#[test]
fn shapes_of_several_dimensions_name_their_threads() {
    let lab = lab(Memcheck);
    let data = lab.zeros(BYTES);
    lab.memory.free(data).unwrap();
    let shape = Shape { grid: [1, 2, 1], block: [2, 2, 4] };
    let findings = lab.launch_shape("use_after_free", shape, 0, &[data.into()]);
    assert_eq!(findings[0].thread.unwrap().thread, [0, 0, 0]);
    assert_eq!(findings[0].thread.unwrap().block, [0, 0, 0]);
}
