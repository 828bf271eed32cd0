//! Rust kernels with planted faults: each fault is found, at its line, in the right words, and the same kernel without
//! it is found clean.

mod check_lab;

use std::sync::OnceLock;

use check_lab::{Lab, Value, assert_at, mark_at, only, short};
use cuda_builder::{CudaBuilder, NvvmArch};
use simt::check::Check::{Initcheck, Memcheck, Racecheck, Synccheck};
use simt::check::{AccessKind, Check, Checks, Finding, FindingKind, Hazard, Memory, Severity, Shape};

/// The PTX of the kernels in `faulty`, compiled once.
fn ptx() -> &'static str {
    static PTX: OnceLock<String> = OnceLock::new();
    PTX.get_or_init(|| {
        let build = CudaBuilder::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faulty"))
            .arch(NvvmArch::Compute90)
            .target_dir(concat!(env!("CARGO_TARGET_TMPDIR"), "/faulty"))
            .build_all()
            .unwrap_or_else(|error| panic!("the faulty kernels did not become PTX: {error}"));
        std::fs::read_to_string(&build.artifacts[0].ptx).unwrap()
    })
}

fn lab(check: Check) -> Lab {
    Lab::new(ptx(), check.into())
}

/// A device on which all checks are made.
fn all() -> Lab {
    Lab::new(ptx(), Checks::ALL)
}

fn assert_clean(findings: Vec<Finding>, kernel: &str) {
    let texts: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(texts.is_empty(), "{kernel}:\n{}", texts.join("\n"));
}

/// Two blocks of 64 threads with an element each, of four bytes.
const BYTES: u64 = 512;

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
    assert_clean(lab.launch("read_past_end_fixed", 2, &parameters), "read_past_end_fixed");
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
    assert_clean(lab.launch("write_before_begin_fixed", 2, &[data.into()]), "write_before_begin_fixed");
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
    assert_clean(lab.launch("misaligned_fixed", 2, &[data.into(), out.into()]), "misaligned_fixed");
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
    assert_clean(lab.launch("use_after_free_fixed", 2, &[data.into()]), "use_after_free_fixed");
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
    assert_clean(lab.launch("shared_out_of_bounds_fixed", 2, &[out.into()]), "shared_out_of_bounds_fixed");
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
    assert_clean(lab.launch("null_fixed", 2, &[0_u64.into()]), "null_fixed");
    let data = lab.zeros(BYTES);
    assert_clean(lab.launch("atomic_past_end_fixed", 2, &[data.into()]), "atomic_past_end_fixed");
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
    assert_clean(lab.launch("panics_fixed", 2, &parameters), "panics_fixed");
    assert_clean(lab.launch("asserts_fixed", 2, &[64_u32.into(), out.into()]), "asserts_fixed");
}

/// The races of a kernel, which are between its marks: which came first, from which mark to which, and how often. The
/// words are compared with what the finding says of itself.
fn races(
    findings: &[Finding],
    kernel: &str,
    memory: Memory,
    severity: Severity,
) -> Vec<(Hazard, [&'static str; 2], u64)> {
    let race = |finding: &Finding| {
        assert_eq!((finding.check, finding.severity), (Racecheck, severity), "{finding}");
        let FindingKind::Race { hazard, memory: found, first, second, address } = &finding.kind else {
            panic!("{finding}");
        };
        assert_eq!(*found, memory, "{finding}");
        let word = if severity == Severity::Error { "Error" } else { "Warning" };
        let words = |access| match access {
            AccessKind::Read => "Read",
            AccessKind::Write => "Write",
            AccessKind::Atomic => "Atomic",
        };
        let thread = |thread: [u32; 3]| format!("({},{},{})", thread[0], thread[1], thread[2]);
        let (one, other) = (words(first.access), words(second.access));
        let blocks = match (first.thread.block, second.thread.block) {
            (one, other) if one == other => format!("block {}", thread(one)),
            (one, other) => format!("blocks {} and {}", thread(one), thread(other)),
        };
        let mut text = format!(
            "{word}: Race reported between {one} access at {}\n    and {other} access at {} [{} hazards]\n\
             {word}: Potential {} hazard detected at {memory} {address:#x} in {blocks} :\n    \
             {one} Thread {} at {}\n    {other} Thread {} at {}",
            first.place,
            second.place,
            finding.count,
            hazard.name(),
            thread(first.thread.thread),
            first.place,
            thread(second.thread.thread),
            second.place,
        );
        if severity == Severity::Warning {
            text += "\n    The threads are in one warp, which need not run in step";
        }
        assert_eq!(short(finding), text);
        let marks = [mark_at(&first.place, kernel), mark_at(&second.place, kernel)];
        (*hazard, marks, finding.count)
    };
    findings.iter().map(race).collect()
}

/// Of two warps whichever runs first races with the one behind it, so a read and a write without a barrier are found as
/// one or the other order, or as both.
fn assert_unordered(
    findings: &[Finding],
    kernel: &str,
    write: &'static str,
    read: &'static str,
    hazards: u64,
) {
    let found = races(findings, kernel, Memory::Shared, Severity::Error);
    for (hazard, marks, _) in &found {
        let wanted = match hazard {
            Hazard::Raw => [write, read],
            Hazard::War => [read, write],
            Hazard::Waw => panic!("{found:?}"),
        };
        assert_eq!(*marks, wanted, "{found:?}");
    }
    assert_eq!(found.iter().map(|(.., count)| count).sum::<u64>(), hazards, "{found:?}");
}

#[test]
fn racecheck_finds_missing_barriers() {
    let lab = lab(Racecheck);
    let (data, out) = (lab.zeros(BYTES), lab.zeros(BYTES));
    let launch = |kernel, parameters: &[Value]| lab.launch(kernel, 2, parameters);
    // Each of the 64 threads of a block reads what another warp writes.
    let findings = launch("read_after_write", &[data.into(), out.into()]);
    assert_unordered(&findings, "read_after_write", "FAULT", "AND", 2 * 64);
    let findings = launch("write_after_read", &[data.into(), 2_u64.into(), out.into()]);
    assert_unordered(&findings, "write_after_read", "AND", "FAULT", 2 * 64);

    let findings = launch("async_tile_unsynced", &[data.into(), 128_u64.into(), out.into()]);
    assert_unordered(&findings, "async_tile_unsynced", "FAULT", "AND", 2 * 64);

    let findings = launch("write_after_write", &[out.into()]);
    let found = races(&findings, "write_after_write", Memory::Shared, Severity::Error);
    assert_eq!(found, [(Hazard::Waw, ["FAULT", "FAULT"], 2 * 32)]);
    let findings = launch("one_store", &[out.into()]);
    let found = races(&findings, "one_store", Memory::Shared, Severity::Error);
    assert_eq!(found, [(Hazard::Waw, ["FAULT", "FAULT"], 2 * 2)]);
}

#[test]
fn racecheck_warns_of_lanes_that_need_not_run_in_step() {
    let lab = lab(Racecheck);
    let (data, out) = (lab.zeros(BYTES), lab.zeros(BYTES));
    for kernel in ["within_warp", "half_warp"] {
        let findings = lab.launch(kernel, 2, &[data.into(), out.into()]);
        let found = races(&findings, kernel, Memory::Shared, Severity::Warning);
        let hazards: u64 = found.iter().map(|(.., count)| count).sum();
        assert!(found.iter().all(|(hazard, marks, _)| (*hazard, *marks) == (Hazard::Raw, ["FAULT", "AND"])));
        assert_eq!(hazards, 128, "{kernel}: {found:?}");
    }
}

#[test]
fn racecheck_finds_races_between_blocks() {
    let lab = lab(Racecheck);
    let launch = |kernel, parameters: &[Value]| {
        let findings = lab.launch(kernel, 3, parameters);
        races(&findings, kernel, Memory::Global, Severity::Error)
    };
    // The last block reads what the first has written; the others write what a block before them has read.
    let data = lab.zeros(3 * 256);
    let found = launch("between_blocks", &[data.into(), 192_u64.into()]);
    assert_eq!(found, [(Hazard::War, ["FAULT", "AND"], 128), (Hazard::Raw, ["AND", "FAULT"], 64)]);

    let (partial, counter, out) = (lab.zeros(64), lab.zeros(4), lab.zeros(256));
    let found = launch("last_block", &[partial.into(), counter.into(), out.into()]);
    assert_eq!(found, [(Hazard::Raw, ["FAULT", "AND"], 2)]);

    let counter = lab.zeros(4);
    let found = launch("plain_counter", &[counter.into()]);
    assert_eq!(found, [(Hazard::Raw, ["FAULT", "FAULT"], 2), (Hazard::Waw, ["FAULT", "FAULT"], 2)]);
}

#[test]
fn kernels_whose_races_are_repaired_are_clean() {
    let lab = all();
    let (data, out) = (lab.zeros(3 * 256), lab.zeros(3 * 256));
    let clean = |kernel: &str, parameters: &[Value]| assert_clean(lab.launch(kernel, 3, parameters), kernel);
    clean("read_after_write_fixed", &[data.into(), out.into()]);
    clean("write_after_read_fixed", &[data.into(), 3_u64.into(), out.into()]);
    clean("write_after_write_fixed", &[out.into()]);
    clean("one_store_fixed", &[out.into()]);
    clean("within_warp_fixed", &[data.into(), out.into()]);
    clean("half_warp_fixed", &[data.into(), out.into()]);
    clean("between_blocks_fixed", &[data.into(), 192_u64.into(), out.into()]);
    clean("plain_counter_fixed", &[lab.zeros(4).into()]);
    clean("last_block_fixed", &[lab.empty(64).into(), lab.zeros(4).into(), lab.empty(64).into()]);
}

#[test]
fn initcheck_finds_what_the_host_did_not_write() {
    let lab = lab(Initcheck);
    let (data, out) = (lab.empty(BYTES), lab.empty(BYTES));
    assert_eq!(
        only(lab.launch("unwritten", 2, &[data.into(), out.into()]), Initcheck, "unwritten"),
        format!(
            "Uninitialized __global__ memory read of size 4 bytes\n    by thread (0,0,0) in block (0,0,0)\n    \
             Address {data:#x}\n    and 127 more of the same at this place"
        )
    );
    let (data, out) = (lab.empty(2 * BYTES), lab.empty(2 * BYTES));
    lab.memory.write(data, &[1; 804]).unwrap();
    assert_eq!(
        only(lab.launch("partly_written", 2, &[data.into(), out.into()]), Initcheck, "partly_written"),
        format!(
            "Uninitialized __global__ memory read of size 8 bytes\n    by thread (36,0,0) in block (1,0,0)\n    \
             Address {:#x}\n    and 27 more of the same at this place",
            data + 800
        )
    );
    // The same kernels on what has been written, by the host and by the kernel before.
    let lab = all();
    let (data, middle, out) = (lab.zeros(BYTES), lab.empty(BYTES), lab.empty(BYTES));
    assert_clean(lab.launch("unwritten", 2, &[data.into(), middle.into()]), "unwritten");
    assert_clean(lab.launch("unwritten", 2, &[middle.into(), out.into()]), "unwritten");
    let (data, out) = (lab.zeros(2 * BYTES), lab.empty(2 * BYTES));
    assert_clean(lab.launch("partly_written", 2, &[data.into(), out.into()]), "partly_written");
}

#[test]
fn initcheck_finds_what_nobody_wrote_to_shared_memory() {
    let lab = lab(Initcheck);
    let (data, out) = (lab.zeros(BYTES), lab.empty(BYTES));
    assert_eq!(
        only(lab.launch("unwritten_shared", 2, &[out.into()]), Initcheck, "unwritten_shared"),
        "Uninitialized __shared__ memory read of size 4 bytes\n    by thread (0,0,0) in block (0,0,0)\n    \
         Address 0xfc\n    and 63 more of the same at this place"
    );
    let findings = lab.launch("no_halo", 2, &[data.into(), out.into()]);
    let texts: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert_eq!(findings.len(), 2, "{texts:?}");
    for (finding, (thread, address)) in findings.iter().zip([(0, 0), (63, 65 * 4)]) {
        assert_at(finding.place.as_ref().unwrap(), "FAULT", "no_halo");
        assert_eq!(finding.count, 2);
        assert_eq!(finding.thread.unwrap().thread, [thread, 0, 0]);
        let FindingKind::UninitialisedRead { memory: Memory::Shared, bytes: 4, address: at, .. } =
            finding.kind
        else {
            panic!("{finding}");
        };
        assert_eq!(at, address);
    }
    let lab = all();
    let (data, out) = (lab.zeros(BYTES), lab.empty(BYTES));
    assert_clean(lab.launch("unwritten_shared_fixed", 2, &[out.into()]), "unwritten_shared_fixed");
    assert_clean(lab.launch("no_halo_fixed", 2, &[data.into(), 128_u64.into(), out.into()]), "no_halo_fixed");
}

#[test]
fn initcheck_finds_registers_that_steer_branches() {
    let lab = lab(Initcheck);
    let (flags, out) = (lab.empty(BYTES), lab.zeros(8));
    let findings = lab.launch("unwritten_branch", 2, &[flags.into(), out.into()]);
    let kinds: Vec<_> =
        findings.iter().map(|finding| finding.to_string().lines().next().unwrap().to_owned()).collect();
    assert_eq!(
        kinds,
        ["Uninitialized __global__ memory read of size 4 bytes", "Uninitialized register steers a branch"]
    );
    assert_at(findings[1].place.as_ref().unwrap(), "FAULT", "unwritten_branch");
    assert_eq!(findings[1].count, 128);

    assert_eq!(
        only(lab.launch("undefined_register", 2, &[out.into()]), Initcheck, "undefined_register"),
        "Uninitialized register steers a branch\n    by thread (0,0,0) in block (0,0,0)\n    \
         and 127 more of the same at this place"
    );
    let lab = all();
    let (flags, out) = (lab.zeros(BYTES), lab.zeros(8));
    assert_clean(lab.launch("unwritten_branch", 2, &[flags.into(), out.into()]), "unwritten_branch");
    assert_clean(lab.launch("undefined_register_fixed", 2, &[out.into()]), "undefined_register_fixed");
}

#[test]
fn synccheck_finds_barriers_that_not_all_lanes_reach() {
    // Either half of the warp is at a barrier of its own while the other is elsewhere; whichever comes first is found.
    let findings = launch_in(&lab(Synccheck), "divergent_warp", &[In, Out]);
    assert_eq!(findings.len(), 1, "{findings:?}");
    let mark = mark_at(findings[0].place.as_ref().unwrap(), "divergent_warp");
    let (thread, elsewhere) = if mark == "FAULT" { (0, "0xffff0000") } else { (16, "0x0000ffff") };
    let text = short(&findings[0]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "Barrier error detected. Divergent thread(s) in warp.");
    assert_eq!(
        lines[2..],
        [
            format!("    by thread ({thread},0,0) in block (0,0,0)"),
            format!("    while lanes {elsewhere} of its warp are elsewhere"),
            "    and 63 more of the same at this place".to_owned(),
        ]
    );
    // Two blocks of two warps, and half of the lanes in each.
    assert_eq!(
        only(launch_in(&lab(Synccheck), "not_in_mask", &[Out]), Synccheck, "not_in_mask"),
        "Barrier error detected. Invalid arguments.\n    by thread (16,0,0) in block (0,0,0)\n    \
         The mask 0x0000ffff leaves out its callers 0xffff0000\n    and 63 more of the same at this place"
    );
    // Those that do not come wait for the block meanwhile, without the rest of their warp.
    let findings = launch_in(&lab(Synccheck), "never_arrive", &[Out]);
    let headlines: Vec<String> =
        findings.iter().map(|f| f.to_string().lines().next().unwrap().to_owned()).collect();
    assert_eq!(
        headlines,
        [
            "Barrier error detected. Missing thread(s) in warp.",
            "Barrier error detected. Divergent thread(s) in warp."
        ]
    );
    assert_eq!(
        only(findings[..1].to_vec(), Synccheck, "never_arrive"),
        "Barrier error detected. Missing thread(s) in warp.\n    by thread (0,0,0) in block (0,0,0)\n    \
         The mask 0xffffffff names lanes 0xffff0000, which never arrive\n    \
         and 63 more of the same at this place"
    );
    assert_eq!(mark_at(findings[1].place.as_ref().unwrap(), "never_arrive"), "AND");
}

#[test]
fn synccheck_finds_barriers_that_not_all_warps_reach() {
    let findings = launch_in(&lab(Synccheck), "two_barriers", &[Out]);
    let found: Vec<(String, &str)> = findings
        .iter()
        .map(|finding| {
            assert_eq!(finding.check, Synccheck);
            let headline = finding.to_string().lines().next().unwrap().to_owned();
            (headline, mark_at(finding.place.as_ref().unwrap(), "two_barriers"))
        })
        .collect();
    let divergent = "Barrier error detected. Divergent thread(s) in block.".to_owned();
    let deadlock = "Barrier error detected. Deadlock.".to_owned();
    assert_eq!(found, [(divergent.clone(), "FAULT"), (divergent, "AND"), (deadlock, "FAULT")]);
    assert_eq!(findings[0].thread.unwrap().thread, [0, 0, 0]);
    assert_eq!(findings[1].thread.unwrap().thread, [32, 0, 0]);

    let text = only(launch_in(&lab(Synccheck), "wrong_count", &[Out]), Synccheck, "wrong_count");
    assert!(
        text.starts_with("Barrier error detected. Deadlock.\n    by thread (0,0,0) in block (0,0,0)\n    "),
        "{text}"
    );
    assert!(text.contains("barrier 1") && text.contains("96 threads") && text.contains("64 came"), "{text}");
}

#[derive(Clone, Copy)]
enum Parameter {
    In,
    Out,
    Number(u64),
}
use Parameter::{In, Number, Out};

/// Launches two blocks with these parameters.
fn launch_in(lab: &Lab, kernel: &str, parameters: &[Parameter]) -> Vec<Finding> {
    let value = |parameter: &Parameter| match parameter {
        In => lab.zeros(BYTES).into(),
        Out => lab.empty(BYTES).into(),
        Number(number) => (*number).into(),
    };
    lab.launch(kernel, 2, &parameters.iter().map(value).collect::<Vec<Value>>())
}

#[test]
fn kernels_whose_barriers_are_repaired_are_clean() {
    for (kernel, parameters) in [
        ("divergent_warp_fixed", &[In, Out][..]),
        // Barriers wait for those that have not left.
        ("early_return", &[Number(40), Out]),
        ("not_in_mask_fixed", &[Out]),
        ("never_arrive_fixed", &[Out]),
        ("wrong_count_fixed", &[Out]),
        ("two_barriers_fixed", &[Out]),
    ] {
        assert_clean(launch_in(&all(), kernel, parameters), kernel);
    }
}

#[test]
fn kernels_as_they_should_be_are_clean() {
    let lab = all();
    let words = |count: u64, word: u32| {
        let address = lab.empty(count * 4);
        let bytes: Vec<u8> = (0..count as u32).flat_map(|index| (word * index).to_le_bytes()).collect();
        lab.memory.write(address, &bytes).unwrap();
        address
    };
    let read = |address: u64, count: usize| {
        let mut bytes = vec![0; count * 4];
        lab.memory.read(address, &mut bytes).unwrap();
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect::<Vec<_>>()
    };
    let square = Shape { grid: [3, 3, 1], block: [8, 8, 1] };
    let (from, to) = (words(576, 1), lab.empty(576 * 4));
    let parameters = [from.into(), 24_u64.into(), to.into()];
    assert_clean(lab.launch_shape("transpose", square, 0, &parameters), "transpose");
    assert!(read(to, 576).iter().zip(0..).all(|(word, place)| *word == place % 24 * 24 + place / 24));

    let (a, b, c) = (words(576, 0), words(576, 0), lab.empty(576 * 4));
    let parameters = [a.into(), b.into(), 24_u64.into(), c.into()];
    assert_clean(lab.launch_shape("product", square, 0, &parameters), "product");
    assert_eq!(read(c, 576), [0; 576]);

    let (data, out) = (words(150, 1), lab.empty(12));
    assert_clean(lab.launch("sums", 3, &[data.into(), 150_u64.into(), out.into()]), "sums");
    assert_eq!(read(out, 3), [2016, 6112, 128 * 22 + 231]);

    let counts = lab.zeros(64);
    assert_clean(lab.launch("histogram", 3, &[data.into(), 150_u64.into(), counts.into()]), "histogram");
    assert_eq!(read(counts, 16), [10, 10, 10, 10, 10, 10, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]);

    let out = lab.empty(8);
    assert_clean(lab.launch("tree", 2, &[data.into(), out.into()]), "tree");
    assert_eq!(read(out, 2), [2016, 6112]);

    let (lock, counter) = (lab.zeros(4), lab.zeros(4));
    assert_clean(lab.launch("locked", 5, &[lock.into(), counter.into()]), "locked");
    assert_eq!(read(counter, 1), [5]);
}

#[test]
fn kernels_that_copy_beside_the_threads_are_clean() {
    let lab = all();
    let words: Vec<u8> = (0..384_u32).flat_map(|word| (word * 7).to_le_bytes()).collect();
    let backwards = |bytes: &[u8]| -> Vec<u8> {
        bytes
            .chunks(256)
            .flat_map(|tile| tile.chunks(4).rev().flatten().copied().collect::<Vec<_>>())
            .collect()
    };
    let from = lab.empty(384 * 4);
    lab.memory.write(from, &words).unwrap();
    let read = |address: u64, bytes: usize| {
        let mut found = vec![0; bytes];
        lab.memory.read(address, &mut found).unwrap();
        found
    };
    let to = lab.empty(192 * 4);
    assert_clean(lab.launch("async_tile", 3, &[from.into(), 384_u64.into(), to.into()]), "async_tile");
    assert_eq!(read(to, 768), backwards(&words[..768]));

    let to = lab.empty(384 * 4);
    assert_clean(lab.launch("bulk", 2, &[from.into(), 3_u64.into(), to.into()]), "bulk");
    assert_eq!(read(to, 1536), backwards(&words));

    let to = lab.empty(192 * 4);
    assert_clean(lab.launch("phases", 3, &[to.into()]), "phases");
    let sums: Vec<u8> = (0..192_u32).flat_map(|place| (4 * (63 - place % 64) + 6).to_le_bytes()).collect();
    assert_eq!(read(to, 768), sums);
}

/// Faults end a launch; what was found by then stays found.
#[test]
fn findings_survive_a_launch_that_fails() {
    let lab = all();
    let (data, out) = (lab.empty(BYTES), lab.zeros(BYTES));
    let findings = lab.launch("panics", 2, &[data.into(), 128_u64.into(), out.into()]);
    let checks: Vec<Check> = findings.iter().map(|finding| finding.check).collect();
    assert_eq!(checks, [Initcheck, Memcheck]);
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
