//! The words of findings and reports.

use crate::check_events::{Events, GLOBAL, SHARED};
use simt::check::{Check, Checks, Finding, FreeProblem, Place, Positions, Report, SourceLine};
use simt::coalescing::Addresses;
use simt::fault::{self, Fault, FaultKind, Nearest};
use simt::internals::check::Initialisation;
use simt::observe::Operation::{self, Atomic, Load, Store};
use simt::observe::{Misuse, Site, Space};

fn line(file: &str, line: u32) -> SourceLine {
    SourceLine { file: file.to_owned(), line, column: 9, function: None }
}

fn place(source: Vec<SourceLine>) -> Place {
    Place {
        function: "copy".to_owned(),
        ptx_line: 57,
        instruction: "ld.global.b32".to_owned(),
        source,
        leads_there: None,
    }
}

fn fault(kind: FaultKind) -> Finding {
    let fault = Fault { kind, site: Site(3), block: [1, 0, 2], thread: [31, 4, 0] };
    Finding::of_fault(&fault, "copy", Some(place(vec![line("src/copy.rs", 12)])))
}

fn out_of_bounds(space: Space, operation: Operation, nearest: Option<(fault::Place, bool)>) -> String {
    let nearest =
        nearest.map(|(place, freed)| Nearest { address: 0x7f00_0000_0100, bytes: 64, place, freed });
    fault(FaultKind::OutOfBounds { space, operation, address: 0x7f00_0000_0140, bytes: 4, nearest })
        .to_string()
}

#[test]
fn accesses_out_of_bounds() {
    assert_eq!(
        out_of_bounds(Space::Global, Load, Some((fault::Place::After(1), false))),
        "Invalid __global__ read of size 4 bytes\n    \
         at copy+line 57 of the PTX in src/copy.rs:12:9\n    \
         by thread (31,4,0) in block (1,0,2)\n    \
         Address 0x7f0000000140 is out of bounds\n    \
         and is 1 bytes after the nearest allocation at 0x7f0000000100 of size 64 bytes"
    );
    let last = |text: String| text.lines().last().unwrap().to_owned();
    assert_eq!(
        last(out_of_bounds(Space::Global, Store, Some((fault::Place::Before(8), false)))),
        "    and is 8 bytes before the nearest allocation at 0x7f0000000100 of size 64 bytes"
    );
    assert_eq!(
        last(out_of_bounds(Space::Global, Store, Some((fault::Place::Inside(62), false)))),
        "    and is 62 bytes inside the nearest allocation at 0x7f0000000100 of size 64 bytes"
    );
    assert_eq!(
        last(out_of_bounds(Space::Global, Load, Some((fault::Place::Inside(0), true)))),
        "    and is 0 bytes inside the nearest allocation at 0x7f0000000100 of size 64 bytes, which has been freed"
    );
    assert_eq!(
        last(out_of_bounds(Space::Shared, Store, None)),
        "    Address 0x7f0000000140 is out of bounds"
    );
    let first = |text: String| text.lines().next().unwrap().to_owned();
    assert_eq!(first(out_of_bounds(Space::Shared, Store, None)), "Invalid __shared__ write of size 4 bytes");
    assert_eq!(first(out_of_bounds(Space::Local, Load, None)), "Invalid __local__ read of size 4 bytes");
    assert_eq!(
        first(out_of_bounds(Space::Global, Atomic, None)),
        "Invalid __global__ atomic of size 4 bytes"
    );
    assert_eq!(
        first(out_of_bounds(Space::Global, Operation::Reduction, None)),
        "Invalid __global__ atomic of size 4 bytes"
    );
}

#[test]
fn other_faults() {
    let second_part = |kind: FaultKind| {
        let text = fault(kind).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "    at copy+line 57 of the PTX in src/copy.rs:12:9");
        assert_eq!(lines[2], "    by thread (31,4,0) in block (1,0,2)");
        (lines[0].to_owned(), lines[3..].join("\n"))
    };
    let misaligned =
        FaultKind::Misaligned { space: Space::Global, operation: Load, address: 0x7f02, bytes: 4 };
    assert_eq!(
        second_part(misaligned),
        ("Invalid __global__ read of size 4 bytes".into(), "    Address 0x7f02 is misaligned".into())
    );
    assert_eq!(
        second_part(FaultKind::ReadOnly { address: 0x7f00, bytes: 8 }),
        ("Invalid __constant__ write of size 8 bytes".into(), "    Address 0x7f00 is read-only".into())
    );
    assert_eq!(second_part(FaultKind::Trap), ("Kernel panicked".into(), String::new()));
    assert_eq!(second_part(FaultKind::AssertFailed), ("Device-side assert".into(), String::new()));
    assert_eq!(second_part(FaultKind::Breakpoint), ("Breakpoint without a debugger".into(), String::new()));
    assert_eq!(
        second_part(FaultKind::StackOverflow { wanted: 4096, limit: 1024 }),
        ("Stack overflow".into(), "    A thread needs 4096 bytes of stack, but has 1024 bytes".into())
    );
    assert_eq!(
        second_part(FaultKind::Illegal("brx.idx 7 of 4".into())),
        ("Illegal instruction: brx.idx 7 of 4".into(), String::new())
    );
    assert_eq!(
        second_part(FaultKind::Endless { instructions: 4096, patience: None }),
        ("Endless loop, or a very long one".into(), "    No warp has ended for 4096 instructions".into())
    );
    let deadlock = FaultKind::Deadlock { waiting: "warp 0 waits at barrier 1".into() };
    assert_eq!(fault(deadlock.clone()).check, Check::Synccheck);
    assert_eq!(
        second_part(deadlock),
        ("Barrier error detected. Deadlock.".into(), "    warp 0 waits at barrier 1".into())
    );
}

#[test]
fn a_panic_says_which_and_shows_the_kernels_line_first() {
    let library = "/rust/library/core/src/panicking.rs";
    let mut trap = place(vec![line(library, 268)]);
    trap.leads_there = Some(line("src/copy.rs", 30));
    let of = |place: Place| {
        let fault = Fault { kind: FaultKind::Trap, site: Site(0), block: [0; 3], thread: [0; 3] };
        Finding::of_fault(&fault, "copy", Some(place)).to_string()
    };
    assert_eq!(
        of(trap),
        "Kernel panicked: index out of bounds\n    \
         at copy+line 57 of the PTX in src/copy.rs:30:9\n        \
         by way of /rust/library/core/src/panicking.rs:268:9\n    \
         by thread (0,0,0) in block (0,0,0)"
    );
    // A chain of inlined calls, as nvcc writes it: the author's line, then down to the panic, then who called.
    let unwrap = SourceLine {
        function: Some("_ZN4core6option13unwrap_failed17h0E".into()),
        ..line("/rust/library/core/src/option.rs", 2236)
    };
    let chain = vec![line(library, 62), unwrap, line("src/copy.rs", 30), line("src/lib.rs", 4)];
    assert_eq!(
        of(place(chain)),
        "Kernel panicked: unwrap of a value that is not there\n    \
         at copy+line 57 of the PTX in src/copy.rs:30:9\n        \
         by way of /rust/library/core/src/option.rs:2236:9\n        \
         by way of /rust/library/core/src/panicking.rs:62:9\n        \
         called at src/lib.rs:4:9\n    \
         by thread (0,0,0) in block (0,0,0)"
    );
}

/// The lines by which panics are told apart are those of the toolchain that is pinned.
#[test]
fn the_lines_of_panicking_are_those_of_the_toolchain() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = std::process::Command::new(rustc).args(["--print", "sysroot"]).output().unwrap();
    let sysroot = String::from_utf8(output.stdout).unwrap();
    let file =
        std::path::Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/core/src/panicking.rs");
    let text = std::fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{}: {error}; `rustup component add rust-src`", file.display()));
    let lines: Vec<&str> = text.lines().collect();
    for (first, last, name, _) in simt::internals::check::PANICKING {
        let head = lines[first as usize - 1];
        assert!(head.contains(&format!("fn {name}(")), "{name} does not begin in line {first}: {head}");
        let indent = head.len() - head.trim_start().len();
        let end =
            (first as usize..).find(|line| lines[*line] == format!("{}}}", " ".repeat(indent))).unwrap();
        assert_eq!(end + 1, last as usize, "{name} does not end in line {last}");
    }
}

#[test]
fn what_the_host_did() {
    assert_eq!(
        Finding::leak(0x7f00, 4096, "cuMemAlloc_v2").to_string(),
        "Leaked 4096 bytes at 0x7f00\n    allocated by cuMemAlloc_v2"
    );
    assert_eq!(
        Finding::api_error("cuMemAlloc_v2", "CUDA_ERROR_INVALID_VALUE", 1, "invalid argument").to_string(),
        "Program hit CUDA_ERROR_INVALID_VALUE (error 1) due to \"invalid argument\" on CUDA API call to cuMemAlloc_v2."
    );
    assert_eq!(
        Finding::invalid_free("cuMemFree_v2", 0x7f00, FreeProblem::AlreadyFreed).to_string(),
        "Malloc/Free error encountered : Double free\n    Address 0x7f00\n    on CUDA API call to cuMemFree_v2"
    );
    assert_eq!(
        Finding::invalid_free("cuMemFree_v2", 0x7f10, FreeProblem::Inside { allocation: 0x7f00, bytes: 64 })
            .to_string(),
        "Malloc/Free error encountered : Invalid pointer to free\n    \
         Address 0x7f10 is 16 bytes inside the allocation at 0x7f00 of size 64 bytes\n    \
         on CUDA API call to cuMemFree_v2"
    );
}

#[test]
fn memory_that_was_never_written() {
    let finding = Finding::unused(0x7f00, 4096, 1024, 3072);
    assert_eq!(finding.check, Check::Initcheck);
    assert_eq!(
        finding.to_string(),
        "Unused __global__ memory in allocation 0x7f00 of size 4096 bytes\n    \
         Not written 3072 bytes at offset 0x400\n    \
         75.0000% of allocation were unused."
    );
    let mut report = Report::new(Checks::ALL);
    report.api(finding);
    assert_eq!((report.errors(), report.is_clean()), (0, false));
}

#[test]
fn races() {
    let mut events = Events::new(Check::Racecheck.into(), [2, 1, 1], [8, 8, 1]);
    events.access(0, 0, 1, SHARED, Store, 4, |lane| lane * 4);
    events.access(0, 1, 2, SHARED, Load, 4, |lane| lane * 4);
    events.some(1).access(0, 1, 3, GLOBAL, Load, 8, |_| 0x1000);
    events.end(0);
    events.some(4).access(1, 0, 4, GLOBAL, Store, 4, |_| 0x1004);
    events.access(1, 0, 5, SHARED, Store, 4, |lane| lane * 4);
    events.access(1, 0, 6, SHARED, Atomic, 4, |lane| (31 - lane) * 4);
    let findings = events.findings();
    let texts: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "Error: Race reported between Write access at kernel+line 1 of the PTX in src/lib.rs:10:5\n    \
             and Read access at kernel+line 2 of the PTX in src/lib.rs:20:5 [32 hazards]\n\
             Error: Potential RAW hazard detected at __shared__ 0x0 in block (0,0,0) :\n    \
             Write Thread (0,0,0) at kernel+line 1 of the PTX in src/lib.rs:10:5\n    \
             Read Thread (0,4,0) at kernel+line 2 of the PTX in src/lib.rs:20:5",
            "Error: Race reported between Read access at kernel+line 3 of the PTX in src/lib.rs:30:5\n    \
             and Write access at kernel+line 4 of the PTX in src/lib.rs:40:5 [1 hazards]\n\
             Error: Potential WAR hazard detected at __global__ 0x1004 in blocks (0,0,0) and (1,0,0) :\n    \
             Read Thread (0,4,0) at kernel+line 3 of the PTX in src/lib.rs:30:5\n    \
             Write Thread (2,0,0) at kernel+line 4 of the PTX in src/lib.rs:40:5",
            "Warning: Race reported between Write access at kernel+line 5 of the PTX in src/lib.rs:50:5\n    \
             and Atomic access at kernel+line 6 of the PTX in src/lib.rs:60:5 [32 hazards]\n\
             Warning: Potential WAW hazard detected at __shared__ 0x7c in block (1,0,0) :\n    \
             Write Thread (7,3,0) at kernel+line 5 of the PTX in src/lib.rs:50:5\n    \
             Atomic Thread (0,0,0) at kernel+line 6 of the PTX in src/lib.rs:60:5\n    \
             The threads are in one warp, which need not run in step",
        ]
    );
    let mut report = Report::new(Check::Racecheck.into());
    report.show_all();
    report.launch(findings.clone());
    report.launch(findings);
    let text = report.to_string();
    assert!(
        text.starts_with("========= COMPUTE-SANITIZER (simulated: racecheck)\n========= Error: Race"),
        "{text}"
    );
    assert!(
        text.contains("[64 hazards]") && text.contains("=========     in 2 launches, launch 1 first\n"),
        "{text}"
    );
    assert!(
        text.ends_with("=========\n========= RACECHECK SUMMARY: 3 hazards displayed (2 errors, 1 warning)\n"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.starts_with("=========")), "{text}");
}

/// Only every second word has been written.
struct EverySecond;

impl Initialisation for EverySecond {
    fn uninitialised_lanes(&self, addresses: &Addresses, active: u32, bytes: u32) -> u32 {
        (0..32).filter(|lane| active >> lane & 1 != 0).fold(0, |lanes, lane| {
            let (first, last) = (addresses[lane] / 4, (addresses[lane] + u64::from(bytes) - 1) / 4);
            lanes | u32::from((first..=last).any(|word| word % 2 == 1)) << lane
        })
    }
}

#[test]
fn uninitialised_reads_and_registers() {
    let mut events = Events::new(Check::Initcheck.into(), [2, 1, 1], [64, 1, 1]);
    events.access_leaves(0, 0, 1, GLOBAL, Load, 4, |lane| 0x1000 + lane * 4, 0xaaaa_aaaa);
    events.access_leaves(0, 1, 1, GLOBAL, Load, 8, |lane| 0x1000 + lane * 8, u32::MAX);
    events.access_leaves(0, 1, 2, GLOBAL, Store, 4, |lane| 0x1000 + lane * 4, 0);
    events.some(0xffff).access(0, 0, 3, SHARED, Store, 4, |lane| lane * 4);
    events.access_leaves(0, 1, 4, SHARED, Load, 4, |lane| lane * 4, 0xffff_0000);
    events.some(1).access_leaves(0, 1, 4, SHARED, Load, 16, |_| 48, 0);
    events.some(1).access_leaves(0, 1, 5, SHARED, Atomic, 4, |_| 4096, 1);
    events.some(1).access_leaves(0, 1, 5, SHARED, Atomic, 4, |_| 4096, 0);
    events.opcode(6, "bra");
    events.undefined(0, 1, 6, 0xf0);
    events.undefined(0, 1, 7, 1);
    events.end(0);
    events.some(1).access_leaves(1, 0, 4, SHARED, Load, 4, |_| 0, 1);
    let texts: Vec<String> = events.findings_with(&EverySecond).iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "Uninitialized __global__ memory read of size 4 bytes\n    \
             at kernel+line 1 of the PTX in src/lib.rs:10:5\n    \
             by thread (1,0,0) in block (0,0,0)\n    \
             Address 0x1004\n    \
             and 47 more of the same at this place",
            "Uninitialized __shared__ memory atomic of size 4 bytes\n    \
             at kernel+line 5 of the PTX in src/lib.rs:50:5\n    \
             by thread (32,0,0) in block (0,0,0)\n    \
             Address 0x1000",
            "Uninitialized register used as an address\n    \
             at kernel+line 7 of the PTX in src/lib.rs:70:5\n    \
             by thread (32,0,0) in block (0,0,0)",
            "Uninitialized register steers a branch\n    \
             at kernel+line 6 of the PTX in src/lib.rs:60:5\n    \
             by thread (36,0,0) in block (0,0,0)\n    \
             and 3 more of the same at this place",
            "Uninitialized __shared__ memory read of size 4 bytes\n    \
             at kernel+line 4 of the PTX in src/lib.rs:40:5\n    \
             by thread (48,0,0) in block (0,0,0)\n    \
             Address 0x40\n    \
             and 16 more of the same at this place",
        ]
    );
}

#[test]
fn barriers() {
    let mut events = Events::new(Check::Synccheck.into(), [2, 1, 1], [48, 1, 1]);
    events.misuse(0, 0, 1, Misuse::DivergentWarp { elsewhere: 0x0000_ffff });
    events.misuse(0, 1, 2, Misuse::DivergentBlock);
    events.misuse(0, 1, 3, Misuse::NotInMask { mask: 0xff, callers: 0xff00 });
    events.misuse(1, 1, 4, Misuse::NeverArrive { mask: 0xffff, missing: 0xff00 });
    let texts: Vec<String> = events.findings().iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "Barrier error detected. Divergent thread(s) in warp.\n    \
             at kernel+line 1 of the PTX in src/lib.rs:10:5\n    \
             by thread (16,0,0) in block (0,0,0)\n    \
             while lanes 0x0000ffff of its warp are elsewhere\n    \
             and 15 more of the same at this place",
            "Barrier error detected. Divergent thread(s) in block.\n    \
             at kernel+line 2 of the PTX in src/lib.rs:20:5\n    \
             by thread (32,0,0) in block (0,0,0)\n    \
             and 15 more of the same at this place",
            "Barrier error detected. Invalid arguments.\n    \
             at kernel+line 3 of the PTX in src/lib.rs:30:5\n    \
             by thread (40,0,0) in block (0,0,0)\n    \
             The mask 0x000000ff leaves out its callers 0x0000ff00\n    \
             and 7 more of the same at this place",
            "Barrier error detected. Missing thread(s) in warp.\n    \
             at kernel+line 4 of the PTX in src/lib.rs:40:5\n    \
             by thread (32,0,0) in block (1,0,0)\n    \
             The mask 0x0000ffff names lanes 0x0000ff00, which never arrive\n    \
             and 7 more of the same at this place",
        ]
    );
}

#[test]
fn a_check_that_is_off_finds_nothing() {
    for check in Check::ALL {
        let mut events = Events::new(check.into(), [1, 1, 1], [64, 1, 1]);
        events.access(0, 0, 1, SHARED, Store, 4, |lane| lane * 4);
        events.some(1).access_leaves(0, 1, 2, SHARED, Load, 4, |_| 512, u32::from(check == Check::Initcheck));
        events.access(0, 1, 3, SHARED, Load, 4, |lane| lane * 4);
        events.undefined(0, 1, 6, 0xf0);
        events.misuse(0, 1, 2, Misuse::DivergentBlock);
        let found = events.findings();
        assert!(found.iter().all(|finding| finding.check == check), "{check}: {found:?}");
        assert_eq!(found.len(), [0, 1, 2, 1, 0][check as usize], "{check}: {found:?}");
    }
}

#[test]
fn checks_are_read_and_written() {
    let read = |text: &str| text.parse::<Checks>();
    assert_eq!(read("memcheck,racecheck").unwrap().to_string(), "memcheck,racecheck");
    assert_eq!(read(" synccheck , initcheck ").unwrap().to_string(), "initcheck,synccheck");
    assert_eq!(read("all"), Ok(Checks::ALL));
    assert_eq!(read("none"), Ok(Checks::NONE));
    assert_eq!(Checks::NONE.to_string(), "none");
    // Leaks are asked for by name: many programs leave freeing to the end of the process.
    assert!(!read("all").unwrap().has(Check::Leakcheck));
    assert_eq!(
        read("leakcheck,all").unwrap().to_string(),
        "memcheck,racecheck,initcheck,synccheck,leakcheck"
    );
    assert_eq!(
        read("memcheck,heapcheck").unwrap_err().to_string(),
        "there is no check \"heapcheck\"; there are memcheck, racecheck, initcheck, synccheck and leakcheck, separated by \
         commas, `all` of them but leakcheck, and `none`"
    );
    assert!(read("").is_err());
}

#[test]
fn reports_count_all_and_show_some() {
    let mut report = Report::new(Checks::ALL);
    assert!(report.is_clean());
    assert_eq!(
        report.to_string(),
        "========= COMPUTE-SANITIZER (simulated: memcheck,racecheck,initcheck,synccheck)\n\
         ========= ERROR SUMMARY: 0 errors\n\
         ========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
    );
    report.launch([fault(FaultKind::Trap)]);
    report.api(Finding::leak(0x7f00, 100, "cuMemAlloc_v2"));
    report.api(Finding::leak(0x8f00, 24, "cuMemAlloc_v2"));
    report.show(1);
    assert!(!report.is_clean());
    assert_eq!((report.errors(), report.leaks(), report.races()), (3, (124, 2), (0, 0)));
    assert_eq!(
        report.to_string(),
        "========= COMPUTE-SANITIZER (simulated: memcheck,racecheck,initcheck,synccheck)\n\
         ========= Kernel panicked\n\
         =========     at copy+line 57 of the PTX in src/copy.rs:12:9\n\
         =========     by thread (31,4,0) in block (1,0,2)\n\
         =========\n\
         ========= 2 of 3 findings were not printed.\n\
         ========= LEAK SUMMARY: 124 bytes leaked in 2 allocations\n\
         ========= ERROR SUMMARY: 3 errors\n\
         ========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
    );
    let record = serde_json::to_value(&report).unwrap();
    assert_eq!(record["findings"][0]["kind"]["kind"], "panicked");
    assert_eq!(record["findings"][0]["place"]["source"][0]["line"], 12);
    assert_eq!(record["findings"][1]["kind"]["bytes"], 100);
    assert_eq!(record["findings"][1]["check"], "leakcheck");
}

#[test]
fn places_are_found_in_the_code_around() {
    let module = simt::ptx::parse(
        r#".version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
	.reg .pred %p<2>;
	.reg .b64 %rd<3>;
	.loc 1 10 0
	ld.param.b64 %rd1, [p];
	.loc 1 12 5
	setp.eq.b64 %p1, %rd1, 0;
	@%p1 bra $L__bad;
	.loc 2 77 1
	st.global.b64 [%rd1], %rd1;
	ret;
$L__bad:
	.loc 3 268 9
	trap; exit;
}
	.file 1 "/home/me/src/lib.rs"
	.file 2 "/rust/library/core/src/ptr/mod.rs"
	.file 3 "/rust/library/core/src/panicking.rs"
"#,
    )
    .unwrap();
    let positions = Positions::new(&module);
    let shown = |line| positions.at_line(line).unwrap().to_string();
    assert_eq!(shown(9), "k+line 9 of the PTX in /home/me/src/lib.rs:10");
    assert_eq!(shown(12), "k+line 12 of the PTX in /home/me/src/lib.rs:12:5");
    assert_eq!(shown(14), "k+line 14 of the PTX in /home/me/src/lib.rs:12:5");
    assert_eq!(shown(18), "k+line 18 of the PTX in /home/me/src/lib.rs:12:5");
    assert_eq!(positions.at_line(17), None);
    let trap = positions.at_line(18).unwrap();
    assert_eq!(trap.instruction, "trap");
    assert_eq!(trap.source, [SourceLine { line: 268, ..line("/rust/library/core/src/panicking.rs", 268) }]);
}
