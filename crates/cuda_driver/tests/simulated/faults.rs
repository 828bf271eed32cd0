//! Kernels that go wrong on the simulated driver: what the context gives from then on.

use std::ffi::{c_int, c_void};
use std::ptr;

use cuda_driver::simulated;
use cust_raw as sys;

use crate::common::{KERNELS, OwnContext, allocate, bind, function, gives, launch, module, ok};

/// Everything that a broken context refuses.
fn expect_broken(code: c_int, address: u64, kernel: sys::CUfunction) {
    let mut other = 0;
    let mut word = 0_u32;
    // SAFETY: pointers can be written.
    unsafe {
        gives(sys::cuCtxSynchronize(), code);
        gives(sys::cuCtxSynchronize(), code);
        gives(sys::cuStreamSynchronize(ptr::null_mut()), code);
        gives(sys::cuMemAlloc_v2(&raw mut other, 64), code);
        gives(sys::cuMemcpyDtoH_v2((&raw mut word).cast(), address, 4), code);
        gives(sys::cuMemFree_v2(address), code);
        gives(launch(kernel, 1, 1, &mut []), code);
    }
}

#[test]
fn a_bad_address_breaks_its_context_alone() {
    let simulated = bind();
    let healthy = OwnContext::new();
    let fine = allocate(64);
    {
        let _context = OwnContext::new();
        let module = module(KERNELS);
        let (read, few) = (function(module, "read"), function(module, "few"));
        // It ends in its second granule of 256 bytes, behind which there are 256 that are nobody's.
        let address = allocate(300);
        // Behind what a GPU lets kernels touch, by one.
        let mut beyond = if simulated { address + 512 } else { 0x10 };
        // SAFETY: the kernel reads where nothing is, which the test is about.
        ok(unsafe { launch(read, 1, 1, &mut [(&raw mut beyond).cast::<c_void>()]) });
        expect_broken(700, address, few);
    }
    if simulated {
        let found = simulated::findings();
        let text: Vec<String> = found.iter().map(ToString::to_string).collect();
        let text = text.iter().find(|text| text.contains("is out of bounds"));
        let text = text.expect("a finding");
        assert!(text.contains("Invalid __global__ read of size 4 bytes"), "{text}");
        assert!(text.contains("is 213 bytes after the nearest allocation at"), "{text}");
        assert!(text.contains("of size 300 bytes"), "{text}");
        assert!(text.contains("by thread (0,0,0) in block (0,0,0)"), "{text}");
        // SAFETY: the context is alive.
        ok(unsafe { sys::cuCtxSetCurrent(healthy.0) });
        let mut word = 0_u32;
        // SAFETY: the pointer can be written.
        ok(unsafe { sys::cuMemcpyDtoH_v2((&raw mut word).cast(), fine, 4) });
    }
}

#[test]
fn an_overrun_within_a_granule_goes_unnoticed() {
    bind();
    let _context = OwnContext::new();
    let read = function(module(KERNELS), "read");
    for bytes in [4, 64, 508] {
        let address = allocate(bytes);
        let mut last = address + 508;
        // SAFETY: the kernel reads and writes the last word of the granule that the allocation is in, as a GPU lets it.
        ok(unsafe { launch(read, 1, 1, &mut [(&raw mut last).cast::<c_void>()]) });
        // SAFETY: no pointers.
        ok(unsafe { sys::cuCtxSynchronize() });
    }
}

#[test]
fn a_misaligned_address_has_a_code_of_its_own() {
    let _context = OwnContext::new();
    let module = module(KERNELS);
    let (read, few) = (function(module, "read"), function(module, "few"));
    let address = allocate(64);
    let mut odd = address + 2;
    // SAFETY: the kernel reads at an odd address, which the test is about.
    ok(unsafe { launch(read, 1, 1, &mut [(&raw mut odd).cast::<c_void>()]) });
    expect_broken(716, address, few);
}

#[test]
fn a_trap_is_a_failed_launch() {
    let _context = OwnContext::new();
    let module = module(KERNELS);
    let (trap, few) = (function(module, "trap"), function(module, "few"));
    let address = allocate(64);
    // SAFETY: the kernel takes nothing.
    ok(unsafe { launch(trap, 1, 1, &mut []) });
    expect_broken(719, address, few);
}

/// Barriers of a block that never all come.
const STUCK: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry stuck()
{
    .reg .pred %p<2>;
    .reg .u32 %r<2>;
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 32;
    @%p1 bra first;
    bar.sync 1, 64;
    ret;
first:
    bar.sync 2, 64;
    ret;
}
";

#[test]
fn threads_that_wait_for_each_other_end_in_an_error() {
    if !bind() {
        return;
    }
    let _context = OwnContext::new();
    let (stuck, few) = (function(module(STUCK), "stuck"), function(module(KERNELS), "few"));
    let address = allocate(64);
    // SAFETY: the kernel takes nothing.
    ok(unsafe { launch(stuck, 1, 64, &mut []) });
    expect_broken(702, address, few);
}

#[test]
fn the_primary_context_is_sound_again_after_a_reset() {
    // On NVIDIA's driver the process has lost the device for good.
    if !bind() {
        return;
    }
    let mut context = ptr::null_mut();
    // SAFETY: pointers can be written, and the kernel takes nothing.
    unsafe {
        ok(sys::cuInit(0));
        ok(sys::cuDevicePrimaryCtxRetain(&raw mut context, 0));
        ok(sys::cuCtxSetCurrent(context));
        let trap = function(module(KERNELS), "trap");
        ok(launch(trap, 1, 1, &mut []));
        gives(sys::cuCtxSynchronize(), 719);
        ok(sys::cuDevicePrimaryCtxReset_v2(0));
        ok(sys::cuDevicePrimaryCtxRetain(&raw mut context, 0));
        ok(sys::cuCtxSetCurrent(context));
        ok(sys::cuCtxSynchronize());
        let few = function(module(KERNELS), "few");
        ok(launch(few, 1, 1, &mut []));
        ok(sys::cuCtxSynchronize());
        ok(sys::cuDevicePrimaryCtxRelease_v2(0));
    }
}
