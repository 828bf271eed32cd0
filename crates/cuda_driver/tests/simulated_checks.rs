//! The simulated driver with all checks on: what they find in kernels and in the use of memory.

use std::ffi::{c_int, c_void};
use std::ptr;

use cuda_driver::simulated::{self, Settings, bind_simulated};
use cust_raw as sys;
use simt::check::{Checks, Finding, FindingKind, FreeProblem};

#[path = "support/common.rs"]
mod common;
use common::{function, gives, launch, module, ok};

/// `swap(pointer)`: threads of two warps exchange through shared memory, without a barrier. `copy(from, to)`: an element a
/// thread.
const KERNELS: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry swap(.param .u64 pointer)
{
    .shared .align 4 .b8 tile[256];
    .reg .u32 %r<6>;
    .reg .u64 %rd<4>;
    ld.param.u64 %rd1, [pointer];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, tile;
    add.u32 %r4, %r3, %r2;
    st.shared.u32 [%r4], %r1;
    xor.b32 %r2, %r2, 128;
    add.u32 %r4, %r3, %r2;
    ld.shared.u32 %r5, [%r4];
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd2, %rd2, %rd3;
    st.global.u32 [%rd2], %r5;
    ret;
}
.visible .entry copy(.param .u64 from, .param .u64 to)
{
    .reg .u32 %r<3>;
    .reg .u64 %rd<8>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    mov.u32 %r1, %tid.x;
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    mul.wide.u32 %rd5, %r1, 4;
    add.u64 %rd6, %rd3, %rd5;
    add.u64 %rd7, %rd4, %rd5;
    ld.global.u32 %r2, [%rd6];
    st.global.u32 [%rd7], %r2;
    ret;
}
";

/// A context with all checks; findings are of the whole process, so this file's tests are one.
#[test]
fn checks_find_what_is_wrong_and_nothing_else() {
    let settings = Settings {
        checks: Some(Checks { leakcheck: true, ..Checks::ALL }),
        memory_bytes: Some(1 << 28),
        workers: Some(2),
        ..Settings::default()
    };
    bind_simulated(settings).expect("the simulated driver");
    let mut context = ptr::null_mut();
    // SAFETY: the pointer can be written.
    unsafe {
        ok(sys::cuInit(0));
        ok(sys::cuCtxCreate_v2(&raw mut context, 0, 0));
    }
    let module = module(KERNELS);
    let (swap, copy) = (function(module, "swap"), function(module, "copy"));
    let (mut from, mut to) = (common::allocate(256), common::allocate(256));
    let mut parameters = [(&raw mut from).cast::<c_void>(), (&raw mut to).cast()];
    let kinds = || simulated::findings().into_iter().map(|found| found.kind).collect::<Vec<_>>();

    // SAFETY: kernels have their parameters, and stay within the buffers.
    unsafe {
        // What is copied or filled is initialised.
        ok(sys::cuMemsetD8_v2(from, 1, 256));
        ok(launch(copy, 1, 64, &mut parameters));
    }
    assert_eq!(kinds(), []);

    // SAFETY: as above.
    unsafe {
        ok(sys::cuMemFree_v2(from));
        from = common::allocate(256);
        ok(sys::cuMemsetD8_v2(from, 1, 128));
        let mut parameters = [(&raw mut from).cast::<c_void>(), (&raw mut to).cast()];
        ok(launch(copy, 1, 64, &mut parameters));
    }
    let found = simulated::findings();
    let [Finding { kind: FindingKind::UninitialisedRead { bytes: 4, .. }, count: 32, .. }] = &found[..]
    else {
        panic!("{found:?}")
    };
    assert!(
        found[0].to_string().contains("Uninitialized __global__ memory read of size 4 bytes"),
        "{}",
        found[0]
    );
    simulated::forget();

    // SAFETY: as above.
    unsafe { ok(launch(swap, 1, 64, &mut [(&raw mut to).cast()])) };
    let found = simulated::findings();
    // Warps run one after another: the first reads what the second has not written yet, and is overtaken.
    let [uninitialised, races @ ..] = &found[..] else { panic!("nothing was found") };
    assert!(matches!(uninitialised.kind, FindingKind::UninitialisedRead { .. }), "{uninitialised:?}");
    assert_eq!(races.len(), 2, "{races:?}");
    assert!(races.iter().all(|found| matches!(found.kind, FindingKind::Race { .. })), "{races:?}");
    let report = simulated::report().expect("a report").to_string();
    assert!(report.contains("RACECHECK SUMMARY: "), "{report}");
    simulated::forget();

    overrun(copy, to);
    misused_memory(from);
    leaks(context, to);
}

/// What goes unnoticed without memcheck: a thread too many, within the allocation's granule.
fn overrun(copy: sys::CUfunction, mut to: u64) {
    // Faults break contexts.
    let mut context = ptr::null_mut();
    // SAFETY: the pointer can be written.
    ok(unsafe { sys::cuCtxCreate_v2(&raw mut context, 0, 0) });
    let own = function(module(KERNELS), "copy");
    assert_ne!(own, copy);
    let mut from = common::allocate(252);
    // SAFETY: the kernel has its parameters; what it does wrong is what is tested.
    unsafe {
        ok(sys::cuMemsetD8_v2(from, 1, 252));
        ok(launch(own, 1, 64, &mut [(&raw mut from).cast(), (&raw mut to).cast()]));
        gives(sys::cuCtxSynchronize(), 700);
        ok(sys::cuCtxDestroy_v2(context));
    }
    let found = simulated::findings();
    let text = found.iter().map(ToString::to_string).find(|text| text.contains("is out of bounds"));
    let text = text.expect("a finding");
    assert!(text.contains("Invalid __global__ read of size 4 bytes"), "{text}");
    assert!(text.contains("is 1 bytes after the nearest allocation"), "{text}");
    simulated::forget();
}

fn misused_memory(address: u64) {
    const INVALID_VALUE: c_int = 1;
    // SAFETY: the driver checks what it is to free.
    unsafe {
        gives(sys::cuMemFree_v2(address + 16), INVALID_VALUE);
        ok(sys::cuMemFree_v2(address));
        gives(sys::cuMemFree_v2(address), INVALID_VALUE);
        gives(sys::cuMemFree_v2(0x1234), INVALID_VALUE);
    }
    let problems: Vec<_> = simulated::findings()
        .into_iter()
        .map(|found| match found.kind {
            FindingKind::InvalidFree { address, problem, .. } => (address, problem),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        problems,
        [
            (address + 16, FreeProblem::Inside { allocation: address, bytes: 256 }),
            (address, FreeProblem::AlreadyFreed),
            (0x1234, FreeProblem::NotAllocated),
        ]
    );
    simulated::forget();
}

fn leaks(context: sys::CUcontext, left: u64) {
    let leaked = |found: Finding| match found.kind {
        FindingKind::Leak { address, bytes, allocated_by } => (address, bytes, allocated_by),
        other => panic!("{other:?}"),
    };
    simulated::finish();
    let found: Vec<_> = simulated::findings().into_iter().map(leaked).collect();
    assert_eq!(found, [(left, 256, "cuMemAlloc_v2".to_owned())]);
    simulated::forget();
    // SAFETY: the context is alive.
    ok(unsafe { sys::cuCtxDestroy_v2(context) });
    let found: Vec<_> = simulated::findings().into_iter().map(leaked).collect();
    assert_eq!(found, [(left, 256, "cuMemAlloc_v2".to_owned())]);
    simulated::forget();
    simulated::finish();
    assert_eq!(simulated::findings(), []);
}
